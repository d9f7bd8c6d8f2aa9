#include "weft/schedule/fuse.h"

#include <algorithm>

#include "weft/graph/validate.h"

namespace weft::schedule {
namespace {

using graph::Instruction;
using graph::Value;

constexpr size_t most_instructions = 24, most_inputs = 12;

bool is_float(tensor::DType dtype) {
  return dtype == tensor::DType::f32 || dtype == tensor::DType::f64;
}

// Whether it computes in the dtype that its operands have and its result gets.
bool can_fuse(const Instruction& instruction, const std::vector<Value>& metas) {
  if (!instruction.op->pointwise() || instruction.attributes.size() > 0 ||
      instruction.inputs.size() > 4 || !is_float(instruction.compute)) {
    return false;
  }
  const auto is_of_dtype = [&](const Value& value) {
    return value && (value->is_number || value.dtype() == instruction.compute);
  };
  return is_of_dtype(metas[instruction.first_output]) &&
         std::all_of(instruction.inputs.begin(), instruction.inputs.end(),
                     [&](int slot) { return slot >= 0 && is_of_dtype(metas[slot]); });
}

}  // namespace

std::vector<size_t> fuse(const graph::ProgramOp& op, const std::vector<bool>& needed) {
  const std::vector<Instruction>& all = op.program.instructions;
  std::vector<size_t> ends(all.size());
  for (size_t begin = 0; begin < all.size(); ++begin) {
    size_t end = begin, count = 0, inputs = 0;
    const Instruction* first = nullptr;
    for (; end < all.size() && count < most_instructions; ++end) {
      const Instruction& next = all[end];
      if (!next.is_needed(needed)) continue;
      if (!can_fuse(next, op.metas)) break;
      if (!first) first = &next;
      inputs += next.inputs.size() - (count > 0);
      if (next.compute != first->compute || inputs > most_inputs ||
          op.metas[next.first_output].sizes() != op.metas[first->first_output].sizes()) {
        break;
      }
      ++count;
    }
    ends[begin] = count > 1 ? end : begin + 1;
  }
  return ends;
}

Stretch cut_out(const graph::Program& program, size_t begin, size_t end,
                const std::vector<bool>& needed, const std::vector<int>& outputs) {
  Stretch stretch;
  stretch.outputs = outputs;
  std::vector<int> renamed(program.slot_count, -1);
  std::vector<bool> made(program.slot_count);
  for (size_t k = begin; k < end; ++k) {
    const Instruction& instruction = program.instructions[k];
    if (!instruction.is_needed(needed)) continue;
    for (int slot : instruction.inputs) {
      if (made[slot] || renamed[slot] >= 0) continue;
      renamed[slot] = static_cast<int>(stretch.inputs.size());
      stretch.inputs.push_back(slot);
    }
    made[instruction.first_output] = true;
    stretch.program.instructions.push_back(instruction);
  }
  int next = stretch.program.input_count = static_cast<int>(stretch.inputs.size());
  for (Instruction& instruction : stretch.program.instructions) {
    for (int& slot : instruction.inputs) slot = renamed[slot];
    renamed[instruction.first_output] = next;
    instruction.first_output = next++;
  }
  for (int slot : outputs) stretch.program.outputs.push_back(renamed[slot]);
  stretch.program.slot_count = next;
  graph::expect_valid(stretch.program);
  return stretch;
}

}  // namespace weft::schedule
