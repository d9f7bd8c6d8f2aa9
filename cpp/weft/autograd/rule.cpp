#include "weft/autograd/rule.h"

#include <algorithm>

#include "ops.h"
#include "weft/autograd/row_rule.h"
#include "weft/autograd/saved.h"
#include "weft/graph/modes.h"
#include "weft/graph/pending.h"
#include "weft/graph/program.h"
#include "weft/graph/rule.h"

namespace weft::autograd {

using base::Ref;
using graph::GradientPlan;
using graph::modes;
using graph::Node;
using graph::Value;
using graph::Values;
using tensor::Array;

Unpacked unpack(Node& node) {
  refuse_second_backward(node);
  Unpacked result;
  result.inputs.resize(node.input_count);
  result.outputs.resize(node.outputs.size());
  for (size_t i = 0; i < node.saved.size(); ++i) {
    const auto [is_output, index] = std::pair(node.saved[i].is_output, node.saved[i].index);
    (is_output ? result.outputs : result.inputs)[index] = restore(node, i);
  }
  refuse_second_backward(node);  // an unpack hook may have freed it
  return result;
}

namespace {

Value empty_like(const Value& value, tensor::DType dtype) {
  const Array& array = value.array();
  if (array.dtype != dtype || !array.is_contiguous())
    return Value(Array::allocate(array.sizes, dtype));
  return Value(Ref<graph::ValueData>(new graph::ValueData(
      tensor::Storage::allocate(array.count() * tensor::item_size(dtype)), array)));
}

// The rule as one element-wise Program, straight over the saved memory.
Values run_fused(Node& node, const GradientPlan& plan, const Values& gradients) {
  base::SmallVector<const Array*, 8> inputs(1 + node.input_count + node.outputs.size());
  inputs[0] = &gradients[0].array();
  for (const graph::Saved& saved : node.saved) {
    refuse_if_changed(node, saved);
    inputs[1 + saved.index + (saved.is_output ? node.input_count : 0)] = &saved.value.array();
  }
  Values results(node.input_count);
  base::SmallVector<const Array*, 4> outputs;
  for (uint8_t i : plan.fused_results) {
    results[i] = empty_like(gradients[0], plan.dtype);
    outputs.push_back(&results[i].array());
  }
  const graph::Executor& executor = modes.executor ? *modes.executor : *graph::host.eager;
  executor.run_fused(*plan.fused, inputs, outputs);
  for (uint8_t i : plan.passed_on) results[i] = gradients[0];
  return results;
}

bool was_packed(const Node& node) {
  return std::any_of(node.saved.begin(), node.saved.end(),
                     [](const auto& saved) { return !saved.value; });
}

}  // namespace

Values apply_rule(const Node& node, const Values& gradients, const Values& inputs,
                  const Values& outputs) {
  if (!node.op) return static_cast<RowRule&>(*node.extras->custom).run(gradients, inputs);
  graph::Gradient g(node, gradients, inputs, outputs);
  try {
    return node.op->gradient.function(g);
  } catch (const base::Error& error) {
    base::fail(error.kind(), error.message(), " (in the gradient of ", place(node), ")");
  }
}

Values run_rule(Node& node, const Values& gradients) {
  if (!node.op) {
    Values results = node.extras->custom->backward(node, gradients);
    graph::settle(results);
    return results;
  }
  const GradientPlan& plan = *node.plan;
  if (plan.fused && graph::may_leave_unrecorded() && !was_packed(node)) {
    refuse_second_backward(node);
    return run_fused(node, plan, gradients);
  }
  const Unpacked saved = unpack(node);
  return apply_rule(node, gradients, saved.inputs, saved.outputs);
}

Value fit_other(Value gradient, const graph::Meta& meta) {
  if (gradient.sizes() != meta.sizes) {
    const int64_t extra = gradient.rank() - static_cast<int64_t>(meta.sizes.size());
    tensor::Dims dims;
    for (int64_t i = 0; i < gradient.rank(); ++i) {
      if (i < extra || (meta.sizes[i - extra] == 1 && gradient.size(i) != 1)) dims.push_back(i);
    }
    if (!dims.empty()) gradient = ops::sum(gradient, dims, true);
    if (gradient.sizes() != meta.sizes) gradient = ops::reshape(gradient, meta.sizes);
  }
  if (gradient.dtype() != meta.dtype) gradient = ops::cast(gradient, meta.dtype);
  return gradient;
}

}  // namespace weft::autograd
