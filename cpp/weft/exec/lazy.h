// The lazy executor: runs what is pending, many applications at a time.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "weft/graph/pending.h"

namespace weft::exec {

// One batch that ran, for people who want to know why it took so long.
struct RanBatch {
  std::string op;
  int64_t rows;
  int64_t bytes_copied;  // to bring rows together
  double seconds;
  graph::Position position;  // of the first row
  std::string note;          // why it ran row by row, or apart from batches like it
  int64_t equal = 0;         // others that were equal to one of the rows, and did not run
};
struct RanPlan {
  std::vector<RanBatch> batches;
  int64_t nodes = 0;
  double seconds_planning = 0;
  double seconds = 0;
  graph::Position position = 0;  // of the demand
};

// What this thread's plans have run until now; tells what batching is worth.
struct RanCounts {
  int64_t ops = 0;     // equal ones and those inside strands and cells, each
  int64_t runs = 0;    // batches, and single ones
  int64_t spared = 0;  // bytes that rows need not read: shared inputs, and all of equal ops
  int64_t copied = 0;  // bytes, to bring rows together
  int64_t plans = 0;
  int64_t waits = 0;    // of examples for a plan
  int64_t kernels = 0;  // ops that ran, for however many rows
};
RanCounts& ran_counts();

// The last plans that ran, oldest first.
const std::deque<RanPlan>& last_plans();
void forget_plans();

// Computes the values that are pending. The plan is the last one; null: there was nothing to do.
const RanPlan* run_pending(std::span<const graph::Value> values);

}  // namespace weft::exec
