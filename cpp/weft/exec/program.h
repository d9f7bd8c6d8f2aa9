// Runs a Program's instructions one after the other, and element-wise neighbours in one pass over
// memory. What an instruction is applied to, one row or many, is the caller's.
#pragma once

#include <memory>
#include <vector>

#include "weft/graph/program.h"

namespace weft::exec {

class ProgramRun {
 public:
  ProgramRun(const graph::ProgramOp& op, const std::vector<bool>& wanted, int64_t rows);
  virtual ~ProgramRun() = default;

  bool reads(size_t input) const;
  void set_input(size_t input, graph::Value value) { slots_[input] = std::move(value); }
  // The outputs, empty where they are not wanted; nothing if an instruction did not run.
  graph::Values run();

 protected:
  virtual graph::Values apply(const graph::Instruction& instruction,
                              const graph::Values& given) = 0;
  virtual void at(size_t instruction) = 0;
  virtual void skip() = 0;  // an instruction that nobody needs

  const graph::ProgramOp& op_;

 private:
  struct Notes;
  static std::shared_ptr<Notes> notes_on(const graph::ProgramOp& op,
                                         const std::vector<bool>& wanted);
  bool apply_one(size_t k);
  bool apply_stretch(size_t begin, size_t end);
  bool compute(size_t begin, size_t end);
  void release_after(size_t begin, size_t end);

  const graph::Program& program_;
  const int64_t rows_;
  const std::shared_ptr<Notes> notes_;
  std::vector<graph::Value> slots_;
};

}  // namespace weft::exec
