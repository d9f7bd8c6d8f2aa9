#include "weft/exec/program.h"

#include <algorithm>
#include <list>

#include "weft/graph/modes.h"
#include "weft/graph/node.h"
#include "weft/graph/strand.h"
#include "weft/schedule/fuse.h"

namespace weft::exec {

using graph::Instruction;
using graph::modes;
using graph::Value;
using graph::Values;
using tensor::Array;

namespace {

// Below it, a pass over memory costs less than what surrounds it. Tests look at small ones too.
int64_t least_count() { return graph::strand_threshold() == 0 ? 0 : 4096; }

// For each slot the instruction that reads it last; -1 for what is wanted in the end.
std::vector<int> last_uses(const graph::Program& program, const std::vector<bool>& wanted) {
  std::vector<int> last(program.slot_count, -1);
  for (size_t k = 0; k < program.instructions.size(); ++k) {
    for (int slot : program.instructions[k].inputs) {
      if (slot >= 0) last[slot] = static_cast<int>(k);
    }
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) last[program.outputs[i]] = -1;
  }
  return last;
}

// Ones put after the rows until there are `rank` dimensions, so that it broadcasts.
Array widened(const Value& value, size_t rank) {
  Array array = value.array();
  while (value->has_rows && array.sizes.size() < rank) {
    array.sizes.insert(1, 1);
    array.strides.insert(1, 0);
  }
  return array;
}

}  // namespace

// What is known of a Program of which these outputs are wanted.
struct ProgramRun::Notes {
  std::vector<bool> wanted, needed;
  std::vector<int> last_use;
  std::vector<size_t> ends;  // of the stretches that begin with each instruction
  std::list<std::pair<size_t, schedule::Stretch>> stretches;  // by where they begin

  const schedule::Stretch& stretch(const graph::Program& program, size_t begin, size_t end,
                                   const std::vector<int>& outputs) {
    for (const auto& [at, known] : stretches) {
      if (at == begin && known.outputs == outputs) return known;
    }
    stretches.emplace_back(begin, schedule::cut_out(program, begin, end, needed, outputs));
    return stretches.back().second;
  }
};

std::shared_ptr<ProgramRun::Notes> ProgramRun::notes_on(const graph::ProgramOp& op,
                                                        const std::vector<bool>& wanted) {
  constexpr size_t most_kinds = 16;
  using Kinds = std::list<std::shared_ptr<Notes>>;
  if (!op.notes) op.notes = std::make_shared<Kinds>();
  auto& kinds = *static_cast<Kinds*>(op.notes.get());
  for (const auto& known : kinds) {
    if (known->wanted == wanted) return known;
  }
  if (kinds.size() == most_kinds) kinds.pop_front();
  std::vector<bool> needed = op.program.needed_slots(wanted);
  std::vector<size_t> ends = schedule::fuse(op, needed);
  return kinds.emplace_back(std::make_shared<Notes>(
      Notes{wanted, std::move(needed), last_uses(op.program, wanted), std::move(ends), {}}));
}

ProgramRun::ProgramRun(const graph::ProgramOp& op, const std::vector<bool>& wanted, int64_t rows)
    : op_(op),
      program_(op.program),
      rows_(rows),
      notes_(notes_on(op, wanted)),
      slots_(program_.slot_count) {
  std::copy(program_.constants.begin(), program_.constants.end(),
            slots_.begin() + program_.input_count);
}

bool ProgramRun::reads(size_t input) const { return notes_->needed[input]; }

Values ProgramRun::run() {
  for (size_t k = 0; k < program_.instructions.size();) {
    size_t end = notes_->ends[k];
    const Value& meta = op_.metas[program_.instructions[k].first_output];
    if (end > k + 1 && meta.count() * rows_ < least_count()) end = k + 1;
    if (end > k + 1 ? !apply_stretch(k, end) : !apply_one(k)) return {};
    release_after(k, end);
    k = end;
  }
  Values outputs;
  for (size_t i = 0; i < notes_->wanted.size(); ++i)
    outputs.push_back(notes_->wanted[i] ? slots_[program_.outputs[i]] : Value());
  return outputs;
}

void ProgramRun::release_after(size_t begin, size_t end) {
  for (size_t k = begin; k < end; ++k) {
    for (int slot : program_.instructions[k].inputs) {
      if (slot >= 0 && notes_->last_use[slot] >= 0 &&
          notes_->last_use[slot] < static_cast<int>(end))
        slots_[slot] = Value();
    }
  }
}

bool ProgramRun::apply_one(size_t k) {
  const Instruction& instruction = program_.instructions[k];
  if (!instruction.is_needed(notes_->needed)) {
    skip();
    return true;
  }
  Values given;
  for (int slot : instruction.inputs) given.push_back(slot < 0 ? Value() : slots_[slot]);
  at(k);
  Values results = apply(instruction, given);
  if (instruction.shown_as && !results.empty()) graph::show_as(results[0], instruction.shown_as);
  std::move(results.begin(), results.end(), slots_.begin() + instruction.first_output);
  return !results.empty();
}

// First all is recorded, without memory; then one pass computes what somebody reads later. If the
// shapes turn out to differ, each is computed by itself after all.
bool ProgramRun::apply_stretch(size_t begin, size_t end) {
  {
    graph::ModesGuard guard;
    modes.executor = &graph::meta_executor();
    for (size_t k = begin; k < end; ++k) {
      if (!apply_one(k)) return false;
    }
  }
  if (compute(begin, end)) return true;
  for (size_t k = begin; k < end; ++k) {
    if (!apply_one(k)) return false;
  }
  return true;
}

bool ProgramRun::compute(size_t begin, size_t end) {
  std::vector<size_t> parts;
  for (size_t k = begin; k < end; ++k) {
    if (program_.instructions[k].is_needed(notes_->needed)) parts.push_back(k);
  }
  const auto result = [&](size_t k) -> Value& {
    return slots_[program_.instructions[k].first_output];
  };
  const Value& first = result(parts[0]);
  std::vector<int> kept;
  for (size_t k : parts) {
    if (result(k).sizes() != first.sizes()) return false;
    const int slot = program_.instructions[k].first_output;
    bool is_kept = notes_->last_use[slot] < 0 || notes_->last_use[slot] >= static_cast<int>(end);
    for (size_t reader : parts) {
      const graph::Node* node = result(reader)->producer.get();
      if (!node || !modes.grad) continue;
      for (const graph::Saved& saved : node->saved)
        is_kept = is_kept || saved.value == result(k) || (saved.is_output && reader == k);
    }
    if (is_kept) kept.push_back(slot);
  }
  const schedule::Stretch& stretch = notes_->stretch(program_, begin, end, kept);
  std::vector<Array> inputs;
  std::vector<const Array*> input_pointers, output_pointers;
  for (int slot : stretch.inputs) inputs.push_back(widened(slots_[slot], first.sizes().size()));
  for (const Array& input : inputs) input_pointers.push_back(&input);
  for (int slot : kept) {
    Array& array = slots_[slot]->array;
    array.storage = tensor::Storage::allocate(array.count() * tensor::item_size(array.dtype));
    output_pointers.push_back(&array);
  }
  graph::host.eager->run_fused(stretch.program, input_pointers, output_pointers);
  for (size_t k : parts) {
    graph::Node* node = result(k)->producer.get();
    if (!node || !modes.grad) continue;
    for (graph::Saved& saved : node->saved) {
      if (saved.is_output) saved.value->array = result(k).array();
    }
  }
  return true;
}

}  // namespace weft::exec
