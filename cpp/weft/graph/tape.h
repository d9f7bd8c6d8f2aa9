// What is pending, as plain arrays that a plan can be made from without looking at each op again.
// Filled while ops are recorded, when all they refer to is at hand.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/graph/pending.h"

namespace weft::graph {

struct Tape {
  std::vector<Pending*> pending;  // in order of creation; null once it ran or is gone
  std::vector<int32_t> types;     // those of one type can run together
  std::vector<int32_t> firsts;    // the first that computes the same: mostly itself
  std::vector<int32_t> starts = {0};
  std::vector<int32_t> needs;  // i reads results of needs[starts[i]] .. needs[starts[i + 1]]
  std::vector<bool> shared;    // computed from parameters alone
  int64_t alive = 0;

  size_t size() const { return pending.size(); }
  std::span<const int32_t> needs_of(int32_t i) const {
    return std::span(needs).subspan(starts[i], starts[i + 1] - starts[i]);
  }
};

const Tape& tape();

// How many types there have been; their numbers are below it.
int32_t type_count();

// For Pending alone.
void add_to_tape(Pending& pending);
void take_from_tape(const Pending& pending);

// Why two applications of one op are of different types, as a sentence; for people.
std::string difference(const Pending& a, const Pending& b);

}  // namespace weft::graph
