#include "weft/autograd/lazy.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "ops.h"
#include "weft/autograd/rule.h"
#include "weft/autograd/saved.h"
#include "weft/graph/marks.h"
#include "weft/graph/modes.h"
#include "weft/graph/pending.h"
#include "weft/graph/program.h"
#include "weft/graph/record.h"
#include "weft/graph/rule.h"
#include "weft/graph/strand.h"

namespace weft::autograd {

using base::Ref;
using graph::bit_of;
using graph::modes;
using graph::Pending;
using graph::ValueData;
using tensor::Array;

namespace {

// One op between the roots and the inputs; values go by number, -1 for one that is missing.
struct Applied {
  const graph::Op* op;
  graph::Attributes attributes;
  graph::Position position;
  std::vector<int> inputs;
  std::vector<int> outputs;
};

class Walk {
 public:
  explicit Walk(const Request& request) : request_(request) {
    for (const Value& input : request.inputs) requested_.insert(input.get());
  }

  std::vector<Value> run() {
    graph::close_strand();
    for (const Ref<Pending>& pending : reached()) add(*pending);
    graph::ModesGuard guard;
    modes.grad = request_.create_graph;
    modes.save_hooks = nullptr;
    for (size_t i = 0; i < request_.roots.size(); ++i)
      arrive(number_of(request_.roots[i]), request_.gradients[i]);
    for (size_t i = applied_.size(); i-- > 0;) visit(applied_[i]);
    return results();
  }

 private:
  // The pending ops that the roots are computed from, in order of creation.
  std::vector<Ref<Pending>> reached() const {
    std::unordered_set<Pending*> seen;
    std::vector<Ref<Pending>> found;
    const auto visit = [&](const Value& value) {
      Pending* pending = value ? value->pending.get() : nullptr;
      if (pending && seen.insert(pending).second) found.emplace_back(pending);
    };
    for (const Value& root : request_.roots) visit(root);
    for (size_t i = 0; i < found.size(); ++i) {
      for (const Value& input : found[i]->inputs) visit(input);
    }
    std::sort(found.begin(), found.end(),
              [](const auto& a, const auto& b) { return a->number < b->number; });
    return found;
  }

  int new_number(const Value& value, bool wanted) {
    values_.push_back(value);
    gradients_.emplace_back();
    wanted_.push_back(wanted);
    return static_cast<int>(values_.size()) - 1;
  }

  // One number for one place in the graph.
  int number_of(const Value& value) {
    if (!value) return -1;
    if (value->pending) return numbers_.at(value.get());
    if (!value->requires_grad) return new_number(value, false);
    const auto [found, is_new] =
        computed_.try_emplace({value->producer.get(), value->output, value->row}, 0);
    if (is_new) {
      found->second = new_number(value, is_requested(value) || !is_plain_leaf(value));
      ends_.push_back(found->second);
    }
    return found->second;
  }
  bool is_requested(const Value& value) const {
    return std::any_of(request_.inputs.begin(), request_.inputs.end(), [&](const Value& input) {
      return input->producer == value->producer && input->output == value->output &&
             input->row == value->row && !input->pending;
    });
  }
  // Nothing is behind it, and nobody wants to hear of its gradient but the caller.
  static bool is_plain_leaf(const Value& value) {
    const Node& node = *value->producer;
    return node.is_leaf() && node.extras->hooks.empty();
  }

  bool any_wanted(const std::vector<int>& numbers) const {
    return std::any_of(numbers.begin(), numbers.end(),
                       [&](int number) { return number >= 0 && wanted_[number]; });
  }

  // Whether a cell's body reads tensors of its own that lead to an input.
  bool reads_wanted(const Pending& pending) {
    if (!pending.op->is_program()) return false;
    const auto& constants = static_cast<const graph::ProgramOp&>(*pending.op).program.constants;
    return std::any_of(constants.begin(), constants.end(), [&](const Value& constant) {
      return constant->requires_grad && wanted_[number_of(constant)];
    });
  }

  void add(Pending& pending) {
    if (pending.ran) return;  // meanwhile, because too much was pending
    std::vector<int> inputs, results;
    for (const Value& input : pending.inputs) inputs.push_back(number_of(input));
    const bool is_requested =
        std::any_of(pending.outputs.begin(), pending.outputs.end(),
                    [&](const graph::Held& held) { return requested_.contains(held.value); });
    if (any_wanted(inputs) || is_requested || reads_wanted(pending)) {
      results = !pending.op->is_program() ? add_op(pending, inputs)
                : pending.step            ? add_strand(pending, inputs)
                                          : add_cell(pending, inputs);
    }
    for (const graph::Held& held : pending.outputs) {
      if (!held.value) continue;
      const Value value{Ref<ValueData>(held.value)};
      const int number = results.empty() ? new_number(value, false) : results[held.number];
      // A cell may return what it was given, and what is computed already stays as it is.
      if (values_[number]->pending) values_[number] = value;
      if (requested_.contains(held.value)) wanted_[number] = true;
      numbers_[held.value] = number;
    }
  }

  // The result of that number; one that nobody holds is held from now on.
  Value result_of(Pending& pending, uint32_t number, const Array& meta, bool requires_grad) {
    for (const graph::Held& held : pending.outputs) {
      if (held.value && held.number == number) return Value(Ref<ValueData>(held.value));
    }
    const Value value(Array(nullptr, meta.sizes, meta.strides, 0, meta.dtype));
    value->requires_grad = requires_grad;
    pending.add_output(value, number);
    return value;
  }

  // Adds an op over numbers; its outputs lead on if any of its inputs does.
  std::vector<int> apply(const graph::Op& op, const graph::Attributes& attributes,
                         graph::Position position, std::vector<int> inputs, const Values& outputs) {
    std::vector<int> made;
    const bool leads_on = any_wanted(inputs);
    for (const Value& output : outputs) {
      const bool is_requested = requested_.contains(output.get());
      made.push_back(new_number(output, is_requested || (leads_on && output->requires_grad)));
    }
    if (leads_on && any_wanted(made))
      applied_.push_back({&op, attributes, position, std::move(inputs), made});
    return made;
  }

  std::vector<int> add_op(Pending& pending, const std::vector<int>& inputs) {
    graph::Call call(*pending.op, pending.attributes, pending.inputs);
    graph::infer(call);
    const bool needs = pending.grad && graph::need_of(pending.inputs).needs;
    Values outputs;
    for (uint32_t i = 0; i < call.outputs.size(); ++i) {
      const Array& meta = call.outputs[i];
      outputs.push_back(
          result_of(pending, i, meta,
                    needs && pending.op->differentiable() && tensor::is_floating(meta.dtype)));
    }
    return apply(*pending.op, pending.attributes, pending.position, inputs, outputs);
  }

  // All results of a strand can be had.
  std::vector<int> add_strand(Pending& pending, const std::vector<int>& inputs) {
    const auto& op = static_cast<const graph::ProgramOp&>(*pending.op);
    return add_program(op.program, inputs, [&](const graph::Instruction& instruction) {
      Values outputs;
      for (int i = 0; i < instruction.output_count; ++i) {
        const int slot = instruction.first_output + i;
        const Value& meta = op.metas[slot];
        outputs.push_back(result_of(pending, static_cast<uint32_t>(slot - op.program.input_count),
                                    meta.array(), meta->requires_grad));
      }
      return outputs;
    });
  }

  // What is inside a cell is recorded again.
  std::vector<int> add_cell(const Pending& pending, const std::vector<int>& inputs) {
    const auto& program = static_cast<const graph::ProgramOp&>(*pending.op).program;
    graph::ModesGuard guard;
    modes.grad = pending.grad;
    return add_program(program, inputs, [&](const graph::Instruction& instruction) {
      modes.position = instruction.position;
      Values given;
      for (int slot : instruction.inputs)
        given.push_back(slot < 0 ? Value() : values_[slots_[slot]]);
      Values outputs = graph::record(*instruction.op, given, instruction.attributes);
      for (const graph::Held& held : pending.outputs) {
        const int place = program.outputs[held.number] - instruction.first_output;
        if (requested_.contains(held.value) && place >= 0 && place < instruction.output_count)
          requested_.insert(outputs[place].get());
      }
      return outputs;
    });
  }

  template <class Outputs>
  std::vector<int> add_program(const graph::Program& program, const std::vector<int>& inputs,
                               const Outputs& outputs_of) {
    slots_ = inputs;
    for (const Value& constant : program.constants) slots_.push_back(number_of(constant));
    for (const graph::Instruction& instruction : program.instructions) {
      std::vector<int> given;
      for (int slot : instruction.inputs) given.push_back(slot < 0 ? -1 : slots_[slot]);
      const Values outputs = outputs_of(instruction);
      const std::vector<int> made =
          apply(*instruction.op, instruction.attributes, instruction.position, given, outputs);
      slots_.insert(slots_.end(), made.begin(), made.end());
    }
    std::vector<int> results;
    for (int slot : program.outputs) results.push_back(slots_[slot]);
    return results;
  }

  void arrive(int number, const Value& gradient) {
    Value& sum = gradients_[number];
    sum = sum ? ops::add(sum, gradient) : gradient;
  }

  Values values_at(const std::vector<int>& numbers) const {
    Values found;
    for (int number : numbers) found.push_back(number < 0 ? Value() : values_[number]);
    return found;
  }

  void visit(const Applied& applied) {
    Values reached;
    bool any = false;
    for (int number : applied.outputs) {
      reached.push_back(gradients_[number]);
      any = any || reached.back();
    }
    if (!any) return;
    const Values inputs = values_at(applied.inputs), outputs = values_at(applied.outputs);
    uint32_t needs = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] && inputs[i]->requires_grad && wanted_[applied.inputs[i]]) needs |= bit_of(i);
    }
    Node node(applied.op, applied.position);  // as if it had run
    node.attributes = applied.attributes;
    node.plan = &graph::plan_gradient(*applied.op, applied.attributes, inputs, outputs, needs,
                                      graph::need_of(inputs).defined);
    node.input_count = static_cast<uint32_t>(inputs.size());
    for (const Value& input : inputs)
      node.inputs.push_back(input ? graph::Meta{input.sizes(), input.dtype()} : graph::Meta{});
    for (const Value& output : outputs) node.outputs.emplace_back(output.sizes(), output.dtype());
    modes.position = applied.position;
    graph::Gradient g(node, reached, inputs, outputs);
    Values gradients;
    try {
      gradients = applied.op->gradient.function(g);
    } catch (const base::Error& error) {
      base::fail(error.kind(), error.message(), " (in the gradient of ", place(node), ")");
    }
    for (size_t i = 0; i < gradients.size(); ++i) {
      if ((needs & bit_of(i)) && inputs[i] && inputs[i]->requires_grad && gradients[i])
        arrive(applied.inputs[i], fit(std::move(gradients[i]), node.inputs[i]));
    }
  }

  std::vector<Value> results() {
    Request rest;
    rest.accumulate = false;
    rest.retain_graph = request_.retain_graph;
    rest.create_graph = request_.create_graph;
    std::vector<Value> found(request_.inputs.size());
    std::vector<size_t> left;  // inputs whose gradients the engine knows
    bool is_more = false;      // behind what is computed already
    for (int number : ends_) {
      if (!gradients_[number] || !wanted_[number]) continue;
      is_more = is_more || !is_plain_leaf(values_[number]);
      rest.roots.push_back(values_[number]);
      rest.gradients.push_back(gradients_[number]);
    }
    for (size_t i = 0; i < found.size(); ++i) {
      const Value& input = request_.inputs[i];
      if (!input->pending && is_more) {
        left.push_back(i);
        rest.inputs.push_back(input);
      } else if (const int number = known(input); number >= 0) {
        found[i] = gradients_[number];
      }
    }
    if (left.empty()) return found;
    graph::demand(rest.gradients);
    const std::vector<Value> computed = run_backward(rest);
    for (size_t i = 0; i < left.size(); ++i) found[left[i]] = computed[i];
    return found;
  }

  // -1: the roots do not depend on it.
  int known(const Value& input) const {
    if (input->pending) {
      const auto found = numbers_.find(input.get());
      return found == numbers_.end() ? -1 : found->second;
    }
    const auto found = computed_.find({input->producer.get(), input->output, input->row});
    return found == computed_.end() ? -1 : found->second;
  }

  const Request& request_;
  std::unordered_set<const ValueData*> requested_;
  std::vector<Value> values_, gradients_;              // by number
  std::vector<bool> wanted_;                           // whether it is an input, or leads to one
  std::unordered_map<const ValueData*, int> numbers_;  // of what is pending
  std::map<std::tuple<Node*, uint32_t, int32_t>, int> computed_;
  std::vector<int> ends_;  // the same in order
  std::vector<Applied> applied_;
  std::vector<int> slots_;  // of the Program that is being added
};

}  // namespace

bool gradients_can_wait(const Request& request) {
  return modes.lazy && modes.park && !modes.observer && !modes.executor && !modes.tracer &&
         !modes.vmap && !modes.save_hooks && !request.accumulate && !request.inputs.empty() &&
         std::any_of(request.roots.begin(), request.roots.end(),
                     [](const Value& root) { return static_cast<bool>(root->pending); });
}

std::vector<Value> record_backward(const Request& request) { return Walk(request).run(); }

}  // namespace weft::autograd
