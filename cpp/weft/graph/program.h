// Program: a straight line of ops over slots, as plain data. Gradient rules, composites and fused
// chains are Programs. Slots: inputs first, then constants, then results in order.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/graph/op.h"

namespace weft::graph {

class Call;

struct Instruction {
  const Op* op;
  Attributes attributes;
  base::SmallVector<int, 3> inputs;  // slots; -1 for an optional input that is missing
  int first_output;
  int output_count;
  DType compute;  // element-wise ops: in which dtype
  Position position;
  uint32_t shown_as = 0;  // what its node goes by
  bool is_needed(const std::vector<bool>& slots) const;
};

struct Program {
  int input_count = 0;
  std::vector<Value> constants;
  std::vector<Instruction> instructions;
  std::vector<int> outputs;  // slots; -1 for none
  int slot_count = 0;
  mutable std::shared_ptr<const void> compiled;  // the executor's form of it, made on first use

  std::string to_string() const;
  // The slots that are read on the way to these of its outputs, and those outputs.
  std::vector<bool> needed_slots(const std::vector<bool>& wanted) const;
  // Applies it through record, op by op: results have a history if gradients are on.
  Values apply(std::span<const Value> inputs) const;
};

// A Program that is recorded as one op: a cell's body for inputs of certain shapes and dtypes.
struct ProgramOp : Op {
  // `inputs` are metas, or those of all slots; `weights` of them are the parameters that it reads.
  ProgramOp(std::string cell_name, Program given, std::span<const Value> inputs, uint32_t weights,
            BatchRule rule);
  Program program;
  std::vector<Value> metas;    // by slot
  std::vector<Array> results;  // without memory
  std::vector<bool> reads;     // of each result: whether an op of the program reads it, or another
                               // result of the same op
  int64_t bytes = 0;           // of the results
  bool has_weights = false;    // it reads tensors of its own that need gradients
  bool gives_floats = false;
  // Of each result: by the bits of inputs, which of them its gradient reaches; and whether it
  // reaches tensors of the op's own.
  std::vector<uint32_t> reaches;
  std::vector<bool> reaches_weights;
  // After each instruction: slots that nothing reads any more.
  std::vector<base::SmallVector<int, 2>> dead;
  // Applies the Program as its ops would be, each at its own line; what is no longer needed goes.
  Values apply_at_lines(std::span<const Value> inputs) const;
  mutable std::shared_ptr<void> notes;    // the executor's, on how it runs for rows
  mutable std::shared_ptr<void> kernels;  // and at once, where nothing is recorded

 private:
  void infer_metas();
  void find_reads();
  void find_dead();
  void find_reached();
};

// An executor that runs nothing: shape rules alone say what there is to know.
const struct Executor& meta_executor();

// Notes what is recorded while it is modes.tracer.
class ProgramBuilder {
 public:
  void add_input(const Value& value);
  void note(const Call& call, std::span<const Value> outputs, Position position);
  // What made a value goes by that name.
  void show_as(const Value& value, uint32_t shown);
  // Another name for a value: both stand for one slot.
  void alias(const Value& other, const Value& value);
  Program finish(std::span<const Value> outputs);  // drops what no output needs
  std::span<const Value> seen() const { return kept_; }
  std::vector<Value> made_values() const;  // results of what was noted, in order

  std::string refusal;  // why what was noted is not all that happened

 private:
  int slot_of(const Value& value);
  int new_slot(const Value& value);
  Program program_;
  std::vector<Value> kept_;  // by slot; keeps addresses unique while they are keys
  std::vector<Value> aliases_;
  std::unordered_map<const ValueData*, int> slots_;
};

// Before what a Program cannot repeat: while one is made of a cell's body, it is refused.
void refuse_in_program(const char* why);

}  // namespace weft::graph
