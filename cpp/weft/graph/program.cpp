#include "weft/graph/program.h"

#include <algorithm>
#include <sstream>

#include "weft/graph/batch.h"
#include "weft/graph/gradient.h"
#include "weft/graph/modes.h"
#include "weft/graph/node.h"
#include "weft/graph/op.h"
#include "weft/graph/record.h"
#include "weft/graph/validate.h"

namespace weft::graph {

int ProgramBuilder::new_slot(const Value& value) {
  kept_.push_back(value);
  const int slot = static_cast<int>(kept_.size()) - 1;
  slots_[value.get()] = slot;
  return slot;
}

void ProgramBuilder::add_input(const Value& value) {
  new_slot(value);
  ++program_.input_count;
}

void ProgramBuilder::alias(const Value& other, const Value& value) {
  const int slot = slot_of(value);
  aliases_.push_back(other);
  slots_[other.get()] = slot;
}

int ProgramBuilder::slot_of(const Value& value) {
  if (!value) return -1;
  if (auto found = slots_.find(value.get()); found != slots_.end()) return found->second;
  return new_slot(value);  // a constant; `finish` puts constants after the inputs
}

void ProgramBuilder::note(const Call& call, std::span<const Value> outputs, Position position) {
  Instruction instruction{&call.op,     call.attributes, {}, 0, static_cast<int>(outputs.size()),
                          call.compute, position};
  for (const Value& input : call.inputs) instruction.inputs.push_back(slot_of(input));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int slot = new_slot(outputs[i]);
    if (i == 0) instruction.first_output = slot;
  }
  program_.instructions.push_back(std::move(instruction));
}

void ProgramBuilder::show_as(const Value& value, uint32_t shown) {
  const auto found = slots_.find(value.get());
  if (found == slots_.end()) return;
  for (Instruction& instruction : program_.instructions) {
    const int number = found->second - instruction.first_output;
    if (number >= 0 && number < instruction.output_count) instruction.shown_as = shown;
  }
}

std::vector<Value> ProgramBuilder::made_values() const {
  std::vector<Value> made;
  for (const Instruction& instruction : program_.instructions) {
    const auto first = kept_.begin() + instruction.first_output;
    made.insert(made.end(), first, first + instruction.output_count);
  }
  return made;
}

Program ProgramBuilder::finish(std::span<const Value> outputs) {
  const int inputs = program_.input_count;
  std::vector<int> wanted;
  for (const Value& output : outputs) wanted.push_back(slot_of(output));

  std::vector<bool> needed(kept_.size()), produced(kept_.size());
  for (int slot : wanted) {
    if (slot >= 0) needed[slot] = true;
  }
  std::vector<Instruction> kept;
  for (size_t i = program_.instructions.size(); i-- > 0;) {
    Instruction& instruction = program_.instructions[i];
    bool used = false;
    for (int k = 0; k < instruction.output_count; ++k) {
      used = used || needed[instruction.first_output + k];
    }
    if (!used) continue;
    for (int k = 0; k < instruction.output_count; ++k)
      produced[instruction.first_output + k] = true;
    for (int slot : instruction.inputs) {
      if (slot >= 0) needed[slot] = true;
    }
    kept.push_back(std::move(instruction));
  }
  program_.instructions.assign(std::make_move_iterator(kept.rbegin()),
                               std::make_move_iterator(kept.rend()));

  // Renumber: inputs, constants, results.
  std::vector<int> renamed(kept_.size(), -1);
  int next = 0;
  for (; next < inputs; ++next) renamed[next] = next;
  for (size_t slot = inputs; slot < kept_.size(); ++slot) {
    if (!needed[slot] || produced[slot]) continue;
    renamed[slot] = next++;
    program_.constants.push_back(kept_[slot]);
  }
  for (Instruction& instruction : program_.instructions) {
    const int first = next;
    for (int k = 0; k < instruction.output_count; ++k)
      renamed[instruction.first_output + k] = next++;
    for (int& slot : instruction.inputs) slot = slot < 0 ? -1 : renamed[slot];
    instruction.first_output = first;
  }
  for (int slot : wanted) program_.outputs.push_back(slot < 0 ? -1 : renamed[slot]);
  program_.slot_count = next;
  expect_valid(program_);
  return std::move(program_);
}

std::vector<bool> Program::needed_slots(const std::vector<bool>& wanted) const {
  std::vector<bool> needed(slot_count);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (wanted[i] && outputs[i] >= 0) needed[outputs[i]] = true;
  }
  for (size_t i = instructions.size(); i-- > 0;) {
    if (!instructions[i].is_needed(needed)) continue;
    for (int slot : instructions[i].inputs) {
      if (slot >= 0) needed[slot] = true;
    }
  }
  return needed;
}

bool Instruction::is_needed(const std::vector<bool>& slots) const {
  for (int i = 0; i < output_count; ++i) {
    if (slots[first_output + i]) return true;
  }
  return false;
}

Values Program::apply(std::span<const Value> inputs) const {
  std::vector<Value> slots(inputs.begin(), inputs.end());
  slots.insert(slots.end(), constants.begin(), constants.end());
  for (const Instruction& instruction : instructions) {
    Values arguments;
    for (int slot : instruction.inputs) arguments.push_back(slot < 0 ? Value() : slots[slot]);
    Values results = record(*instruction.op, arguments, instruction.attributes);
    if (instruction.shown_as) show_as(results[0], instruction.shown_as);
    slots.insert(slots.end(), results.begin(), results.end());
  }
  Values results;
  for (int slot : outputs) results.push_back(slot < 0 ? Value() : slots[slot]);
  return results;
}

namespace {

void add_program_outputs(Call& call) {
  for (const Array& result : static_cast<const ProgramOp&>(call.op).results)
    call.outputs.push_back(result);
}

Declaration declaration_of_program(BatchRule rule) {
  return {.signature = "cell(inputs: Tensor[]) -> Tensor[]",
          .doc = "A cell's body.",
          .shape = add_program_outputs,
          .run = Run::of(Run::Kind::program, nullptr),
          .gradient = [](Gradient&) -> Values { return {}; },  // of its parts
          .batch = rule};
}

}  // namespace

ProgramOp::ProgramOp(std::string cell_name, Program given, std::span<const Value> inputs,
                     uint32_t weights, BatchRule rule)
    : Op("cell", declaration_of_program(rule), false),
      program(std::move(given)),
      metas(inputs.begin(), inputs.end()) {
  name = std::move(cell_name);
  batch.weights = weights;
  infer_metas();
  find_reads();
  find_dead();
  find_reached();
  for (int slot : program.outputs) {
    const Array& result =
        results.emplace_back(Array::meta(metas[slot].sizes(), metas[slot].dtype()));
    bytes += result.count() * tensor::item_size(result.dtype);
    gives_floats = gives_floats || tensor::is_floating(result.dtype);
  }
  has_weights = std::any_of(program.constants.begin(), program.constants.end(),
                            [](const Value& constant) { return constant->requires_grad; });
  expect_valid(*this);
}

void ProgramOp::find_reads() {
  std::vector<bool> is_read(program.slot_count);
  for (const Instruction& instruction : program.instructions) {
    for (int slot : instruction.inputs) {
      if (slot >= 0) is_read[slot] = true;
    }
  }
  for (const Instruction& instruction : program.instructions) {
    const auto first = is_read.begin() + instruction.first_output;
    const auto end = first + instruction.output_count;
    if (std::find(first, end, true) != end) std::fill(first, end, true);
  }
  for (int slot : program.outputs) reads.push_back(slot >= 0 && is_read[slot]);
}

void ProgramOp::find_dead() {
  std::vector<bool> is_needed(program.slot_count);
  for (int slot : program.outputs) {
    if (slot >= 0) is_needed[slot] = true;
  }
  dead.resize(program.instructions.size());
  for (size_t i = program.instructions.size(); i-- > 0;) {
    const Instruction& instruction = program.instructions[i];
    const auto note = [&](int slot) {
      if (slot < 0 || is_needed[slot]) return;
      is_needed[slot] = true;
      dead[i].push_back(slot);
    };
    for (int slot : instruction.inputs) note(slot);
    for (int k = 0; k < instruction.output_count; ++k) note(instruction.first_output + k);
  }
}

void ProgramOp::find_reached() {
  std::vector<uint32_t> bits(program.slot_count);
  std::vector<bool> weights(program.slot_count);
  for (int i = 0; i < program.input_count; ++i) bits[i] = bit_of(i);
  for (size_t i = 0; i < program.constants.size(); ++i)
    weights[program.input_count + i] = program.constants[i].requires_grad();
  for (const Instruction& instruction : program.instructions) {
    if (!instruction.op->differentiable()) continue;
    uint32_t reached = 0;
    bool weight = false;
    for (int slot : instruction.inputs) {
      if (slot < 0) continue;
      reached |= bits[slot];
      weight = weight || weights[slot];
    }
    for (int k = 0; k < instruction.output_count; ++k) {
      const int slot = instruction.first_output + k;
      if (!tensor::is_floating(metas[slot].dtype())) continue;
      bits[slot] = reached;
      weights[slot] = weight;
    }
  }
  for (int slot : program.outputs) {
    reaches.push_back(slot < 0 ? 0 : bits[slot]);
    reaches_weights.push_back(slot >= 0 && weights[slot]);
  }
}

Values ProgramOp::apply_at_lines(std::span<const Value> inputs) const {
  const ModesGuard guard;
  base::SmallVector<Value, 32> slots;
  slots.reserve(program.slot_count);
  for (const Value& input : inputs) slots.push_back(input);
  for (const Value& value : program.constants) slots.push_back(value);
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction& instruction = program.instructions[i];
    modes.position = instruction.position;
    Values arguments;
    for (int slot : instruction.inputs) arguments.push_back(slot < 0 ? Value() : slots[slot]);
    if (instruction.output_count == 1 && instruction.op->pointwise() &&
        instruction.attributes.size() == 0) {
      slots.push_back(record_pointwise(*instruction.op, arguments));
      if (instruction.shown_as) show_as(slots[instruction.first_output], instruction.shown_as);
    } else {
      Values results = record(*instruction.op, arguments, instruction.attributes);
      if (instruction.shown_as) show_as(results[0], instruction.shown_as);
      for (Value& result : results) slots.push_back(std::move(result));
    }
    for (int slot : dead[i]) slots[slot] = Value();
  }
  Values results;
  for (int slot : program.outputs) results.push_back(slot < 0 ? Value() : slots[slot]);
  return results;
}

void ProgramOp::infer_metas() {
  if (metas.size() == static_cast<size_t>(program.slot_count)) return;
  ModesGuard guard;
  modes = Modes{.grad = false, .executor = &meta_executor(), .position = 1};
  metas.insert(metas.end(), program.constants.begin(), program.constants.end());
  for (const Instruction& instruction : program.instructions) {
    Values arguments;
    for (int slot : instruction.inputs) arguments.push_back(slot < 0 ? Value() : metas[slot]);
    const Values results = record(*instruction.op, arguments, instruction.attributes);
    metas.insert(metas.end(), results.begin(), results.end());
  }
}

std::string Program::to_string() const {
  std::ostringstream out;
  auto slot_text = [](int slot) {
    return slot < 0 ? std::string("-") : "%" + std::to_string(slot);
  };
  for (const Instruction& instruction : instructions) {
    out << slot_text(instruction.first_output) << " = " << instruction.op->name << "(";
    for (size_t i = 0; i < instruction.inputs.size(); ++i) {
      out << (i ? ", " : "") << slot_text(instruction.inputs[i]);
    }
    for (size_t i = 0; i < instruction.attributes.size(); ++i) {
      out << ", " << attribute_text(instruction.attributes[i]);
    }
    out << ")\n";
  }
  out << "return";
  for (int slot : outputs) out << " " << slot_text(slot);
  out << "\n";
  return out.str();
}

void refuse_in_program(const char* why) {
  if (!modes.tracer) return;
  modes.tracer->refusal = why;
  base::fail(base::ErrorKind::value, "a cell's body ", why, ", but it is run once for all");
}

}  // namespace weft::graph
