#include "weft/exec/unrecorded.h"

#include <algorithm>

#include "weft/graph/marks.h"
#include "weft/graph/modes.h"
#include "weft/graph/tape.h"

namespace weft::exec {
namespace {

using graph::Call;
using graph::Instruction;
using graph::modes;
using graph::ProgramOp;
using graph::Run;
using graph::Value;
using graph::ValueData;
using graph::Values;
using tensor::Array;

constexpr int64_t most_kept = 1 << 16;  // bytes in between

// One op with its operands in place. Those that are given have theirs only while it runs.
struct Step {
  const Instruction* instruction;
  std::vector<Value> inputs;
  std::vector<Value> outputs;
  std::vector<int64_t> offsets;  // of a view's results, beyond the first input's
  tensor::DType compute{};
};

class KernelPlan {
 public:
  explicit KernelPlan(const ProgramOp& op) : program_(op.program), made_(program_.slot_count) {
    const auto is_simple = [](const Instruction& instruction) {
      const Run::Kind kind = instruction.op->run.kind;
      return (kind == Run::Kind::formula || kind == Run::Kind::kernel || kind == Run::Kind::view) &&
             !instruction.op->random;
    };
    can_run_ = std::all_of(program_.instructions.begin(), program_.instructions.end(), is_simple);
    const int first_made = program_.input_count + static_cast<int>(program_.constants.size());
    for (int slot : program_.outputs) can_run_ = can_run_ && slot >= first_made;
  }

  Values run(std::span<const Value> inputs) {
    if (!can_run_ || is_running_) return {};
    const Guard guard(*this);
    for (const auto& [step, operand, input] : given_) steps_[step].inputs[operand] = inputs[input];
    for (Step& step : steps_) compute(step);
    for (size_t k = steps_.size(); k < program_.instructions.size(); ++k)
      learn(program_.instructions[k], inputs);
    Values results;
    for (int slot : program_.outputs) results.push_back(take(slot, results));
    return results;
  }

 private:
  struct Given {
    size_t step, operand;
    int input;
  };
  // What was given is let go of, whatever happens.
  class Guard {
   public:
    explicit Guard(KernelPlan& plan) : plan_(plan) { plan.is_running_ = true; }
    ~Guard() {
      for (const auto& [step, operand, input] : plan_.given_)
        plan_.steps_[step].inputs[operand] = Value();
      for (Step& step : plan_.steps_) {
        if (!step.instruction->op->is_view() && plan_.kept_ <= most_kept) continue;
        for (Value& output : step.outputs) output->array.storage.reset();
      }
      plan_.is_running_ = false;
    }
    Guard(const Guard&) = delete;

   private:
    KernelPlan& plan_;
    const graph::ModesGuard modes_;
  };

  const Value& constant(int slot) const {
    return program_.constants[static_cast<size_t>(slot - program_.input_count)];
  }

  // The first time: as it would be recorded, but for the record.
  void learn(const Instruction& instruction, std::span<const Value> inputs) {
    Step step{&instruction, {}, {}, {}, {}};
    std::vector<Given> given;
    const int constants_end = program_.input_count + static_cast<int>(program_.constants.size());
    for (int slot : instruction.inputs) {
      if (slot >= 0 && slot < program_.input_count) {
        given.push_back({steps_.size(), step.inputs.size(), slot});
        step.inputs.push_back(inputs[slot]);
      } else {
        step.inputs.push_back(slot < 0               ? Value()
                              : slot < constants_end ? constant(slot)
                                                     : made_[slot]);
      }
    }
    modes.position = instruction.position;
    Call call(*instruction.op, instruction.attributes, step.inputs);
    graph::infer(call);
    step.compute = call.compute;
    const bool is_view = instruction.op->is_view();
    for (size_t i = 0; i < call.outputs.size(); ++i) {
      if (is_view) step.offsets.push_back(call.outputs[i].offset - call.in(0).offset);
      step.outputs.emplace_back(call.outputs[i]);
      if (!is_view) kept_ += call.outputs[i].count() * tensor::item_size(call.outputs[i].dtype);
      made_[static_cast<size_t>(instruction.first_output) + i] = step.outputs.back();
    }
    given_.insert(given_.end(), given.begin(), given.end());
    steps_.push_back(std::move(step));
    try {
      compute(steps_.back());
    } catch (...) {
      steps_.pop_back();
      std::erase_if(given_, [&](const Given& operand) { return operand.step == steps_.size(); });
      throw;
    }
  }

  void compute(Step& step) {
    const Instruction& instruction = *step.instruction;
    modes.position = instruction.position;
    if (instruction.op->is_view()) {
      const Value& from = step.inputs[0];
      for (size_t i = 0; i < step.outputs.size(); ++i) {
        ValueData& to = *step.outputs[i].get();
        to.array.storage = from.array().storage;
        to.array.offset = from.array().offset + step.offsets[i];
        to.cut = from->cut;
        to.cut_at = from->cut_at;
      }
      return;
    }
    Call call(*instruction.op, instruction.attributes, step.inputs);
    call.compute = step.compute;
    for (const Value& output : step.outputs) call.outputs.push_back(output.array());
    graph::host.eager->run(call);
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      ValueData& to = *step.outputs[i].get();
      to.array.storage = std::move(call.outputs[i].storage);
      to.array.offset = call.outputs[i].offset;
      to.cut = graph::Cut::none;
    }
    graph::mark_outputs(call, std::span(step.outputs.data(), step.outputs.size()),
                        graph::need_of(step.inputs));
  }

  // A result leaves with its memory; of one that stands twice, both are one value.
  Value take(int slot, const Values& taken) {
    for (size_t i = 0; i < taken.size(); ++i) {
      if (program_.outputs[i] == slot) return taken[i];
    }
    ValueData& made = *made_[slot].get();
    Value result(made.array);
    result->cut = made.cut;
    result->cut_at = made.cut_at;
    result->inference = made.inference;
    made.array.storage.reset();
    return result;
  }

  const graph::Program& program_;
  bool can_run_ = false, is_running_ = false;
  std::vector<Step> steps_;
  std::vector<Given> given_;
  std::vector<Value> made_;  // by slot
  int64_t kept_ = 0;
};

}  // namespace

bool leaves_no_record(const ProgramOp& op, std::span<const Value> inputs) {
  if (!modes.grad) return true;
  return !op.has_weights && std::none_of(inputs.begin(), inputs.end(), [](const Value& input) {
    return input && input->requires_grad;
  });
}

Values run_unrecorded(const ProgramOp& op, std::span<const Value> inputs) {
  if (!op.kernels) op.kernels = std::make_shared<KernelPlan>(op);
  for (const Value& input : inputs) graph::demand(input);
  return static_cast<KernelPlan*>(op.kernels.get())->run(inputs);
}

}  // namespace weft::exec
