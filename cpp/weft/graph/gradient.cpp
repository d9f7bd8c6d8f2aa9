// Finds out, once for each op and set of inputs that need gradients, what its gradient rule reads
// and whether it is one element-wise Program.
#include <algorithm>

#include "weft/graph/modes.h"
#include "weft/graph/program.h"
#include "weft/graph/record.h"
#include "weft/graph/rule.h"

namespace weft::graph {
namespace {

// Runs nothing: shape rules have already said all there is to know.
struct MetaExecutor : Executor {
  void run(Call& call) const override {
    if (call.op.run.kind == Run::Kind::by_value) {
      base::bug("a gradient rule uses ", call.op.name, ", whose shape depends on values");
    }
  }
  void run_fused(const Program&, std::span<const Array* const>,
                 std::span<const Array* const>) const override {}
};
Value meta_of(const Value& value) {
  if (!value) return {};
  if (value->is_number) {
    // Not the number itself: it is shared, and the rule may use an equal one as a constant.
    Value number(value.array());
    number->is_number = true;
    return number;
  }
  const Array& array = value.array();
  return Value(Array{nullptr, array.sizes, array.strides, array.offset, array.dtype});
}

// One Program if every step is element-wise in one lane over the output's shape.
bool can_fuse(const Program& program, DType dtype) {
  if (program.slot_count > 250) return false;
  return std::all_of(program.instructions.begin(), program.instructions.end(),
                     [&](const Instruction& instruction) {
                       return instruction.op->pointwise() && instruction.inputs.size() <= 4 &&
                              tensor::lane_of(instruction.compute) == tensor::lane_of(dtype);
                     });
}

}  // namespace

const Executor& meta_executor() {
  static const MetaExecutor executor;
  return executor;
}

Gradient::Gradient(const Node& node, const Values& gradients, const Values& inputs,
                   const Values& outputs)
    : Arguments(*node.op, node.attributes),
      gradients_(gradients),
      inputs_(inputs),
      outputs_(outputs),
      needs_(node.plan->needs),
      defined_(node.plan->defined) {
  for (size_t i = 0; i < node.input_count; ++i) metas_.push_back(node.input_meta(i));
  for (const Meta& meta : node.outputs) output_metas_.push_back(meta);
}

Gradient::Gradient(const Op& op, const Attributes& attributes, const Values& gradients,
                   const Values& inputs, const Values& outputs, GradientPlan* plan)
    : Arguments(op, attributes),
      gradients_(gradients),
      inputs_(inputs),
      outputs_(outputs),
      needs_(plan->needs),
      defined_(plan->defined),
      plan_(plan) {
  for (const Value& input : inputs) {
    metas_.push_back(input ? Meta{input.sizes(), input.dtype()} : Meta{{}, DType::f32});
  }
  for (const Value& output : outputs) output_metas_.push_back({output.sizes(), output.dtype()});
}

const Value& Gradient::input(size_t i) {
  if (plan_) plan_->saved_inputs |= bit_of(i);
  if (!inputs_[i] && was_given(i)) {
    base::bug("the gradient of ", op.name, " reads input ", i, " only for some attributes");
  }
  return inputs_[i];
}

const Value& Gradient::output(size_t i) {
  if (plan_) plan_->saved_outputs |= bit_of(i);
  if (!outputs_[i]) {
    base::bug("the gradient of ", op.name, " reads output ", i, " only for some attributes");
  }
  return outputs_[i];
}

static GradientPlan make_plan(const Op& op, const Attributes& attributes,
                              std::span<const Value> given, std::span<const Value> made,
                              uint32_t needs, uint32_t defined) {
  GradientPlan plan{.needs = needs,
                    .defined = defined,
                    .dtype = made[0].dtype(),
                    .fused = nullptr,
                    .fused_results = {},
                    .passed_on = {}};
  ModesGuard guard;
  ProgramBuilder builder;
  modes = Modes{.grad = false, .executor = &meta_executor(), .tracer = &builder, .position = 1};
  Values gradients, inputs, outputs;
  for (const Value& value : made) {
    gradients.push_back(Value(Array::meta(value.sizes(), value.dtype())));
    outputs.push_back(Value(Array::meta(value.sizes(), value.dtype())));
  }
  for (const Value& input : given) inputs.push_back(meta_of(input));
  for (const Value& value : gradients) builder.add_input(value);
  for (const Value& value : inputs)
    builder.add_input(value ? value : Value(Array::meta({}, DType::f32)));
  for (const Value& value : outputs) builder.add_input(value);

  Gradient g(op, attributes, gradients, inputs, outputs, &plan);
  const Values results = op.gradient.function(g);
  if (results.size() != given.size()) {
    base::bug("the gradient of ", op.name, " gives ", results.size(), " results for ", given.size(),
              " inputs");
  }
  if (!op.pointwise()) return plan;
  Values wanted;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i] || !(needs & bit_of(i))) continue;
    if (results[i] == gradients[0]) {
      plan.passed_on.push_back(static_cast<uint8_t>(i));
      continue;
    }
    wanted.push_back(results[i]);
    plan.fused_results.push_back(static_cast<uint8_t>(i));
  }
  Program program = builder.finish(wanted);
  if (!wanted.empty() && can_fuse(program, plan.dtype)) {
    plan.fused = std::make_shared<const Program>(std::move(program));
  }
  return plan;
}

const GradientPlan& plan_gradient(const Op& op, const Attributes& attributes,
                                  std::span<const Value> inputs, std::span<const Value> outputs,
                                  uint32_t needs, uint32_t defined) {
  const DType dtype = outputs[0].dtype();
  for (const GradientPlan& plan : op.plans) {
    if (plan.needs == needs && plan.defined == defined && plan.dtype == dtype) return plan;
  }
  // The plan is made before the list is touched: making it records other ops.
  GradientPlan plan = make_plan(op, attributes, inputs, outputs, needs, defined);
  op.plans.push_back(std::move(plan));
  return op.plans.back();
}

}  // namespace weft::graph
