// What tests of recorded ops have in common.
#pragma once

#include <initializer_list>
#include <vector>

#include "ops.h"
#include "weft/graph/modes.h"
#include "weft/graph/op.h"
#include "weft/graph/pending.h"

// So that tests find them by the type of their operands.
namespace weft::graph {
using ops::operator+;
using ops::operator*;
}  // namespace weft::graph

namespace weft::tests {

using graph::Value;
using graph::Values;

inline constexpr int64_t never = INT64_MAX;

// Connects the core, and leaves all modes as they were. Without gradients, at line 1.
struct Recording {
  Recording();
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  graph::ModesGuard guard_;
};

// The same where ops wait. Strands begin after so many recordings at one line: never, mostly. In
// the end nothing may be left.
struct Lazily : Recording {
  explicit Lazily(int64_t strand_threshold = never);
  ~Lazily();

 private:
  const int64_t threshold_before_;
};
struct WithStrands : Lazily {
  WithStrands();
};

// From here on ops are recorded at this line.
inline void at_line(graph::Position line) { graph::modes.position = line; }

const graph::Op& op(std::string_view name);
Value floats(graph::Dims sizes, std::initializer_list<float> numbers);
// 0, 1, 2 and so on, times `step`.
Value counting(graph::Dims sizes, float step = 1);
// A parameter: a leaf that needs a gradient.
Value parameter(graph::Dims sizes);
std::vector<float> numbers_of(const Value& value);
// Demands it first.
std::vector<float> computed(const Value& value);

inline const graph::Pending& pending_of(const Value& value) { return *value->pending; }

}  // namespace weft::tests
