// One op applied to many rows: brings their inputs together, and runs the op's batch rule.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/graph/batch.h"
#include "weft/graph/node.h"
#include "weft/graph/pending.h"

namespace weft::exec {

// The batch rule of Programs: each instruction's own, one after the other.
graph::Values run_program_rows(const graph::Batched& batch);

class RowBatch : public graph::Batched {
 public:
  // `wanted` says which outputs of a Program somebody holds; empty: all.
  RowBatch(std::span<graph::Pending* const> rows, std::vector<bool> wanted);

  // Whether there is a rule; `note` says why not.
  bool can_run(std::string& note) const;
  // The outputs, with rows in dimension 0; nothing if the rule does not cover this case.
  graph::Values run();
  int64_t bytes_copied() const { return bytes_copied_; }

  const graph::Attributes& row_attributes(int64_t row) const override {
    return pending_[row]->attributes;
  }
  bool wants(size_t output) const override { return wanted_.empty() || wanted_[output]; }
  void at(const graph::Instruction& instruction, size_t number) const override;
  void skip() const override { graph::count_dropped(rows()); }

 protected:
  graph::Value stack(size_t i, int64_t rank) const override;

 private:
  graph::Value stack_numbers(size_t i, int64_t rank) const;

  std::shared_ptr<const graph::RowTable> make_table(
      const std::function<graph::Position(const graph::Pending&)>& position) const;
  void forbid_instruction() const;

  std::span<graph::Pending* const> pending_;
  std::vector<bool> wanted_;
  mutable std::shared_ptr<const graph::RowTable> table_;
  bool one_line_;                   // strands of the same steps: each op has one position
  mutable size_t instruction_ = 0;  // of a strand: which one runs
  mutable int64_t bytes_copied_ = 0;
};

}  // namespace weft::exec
