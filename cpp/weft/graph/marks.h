// What recording an op says of its results, whether it runs now or later. For record.cpp and
// strand.cpp.
#pragma once

#include <span>

#include "weft/graph/op.h"

namespace weft::graph {

struct Need {
  uint32_t needs = 0;  // bit i: input i needs a gradient
  uint32_t defined = 0;
};

Need need_of(std::span<const Value> inputs);
bool needs_gradient(const Call& call, Need need, std::span<const Value> outputs);

// The op's shape rule: adds the outputs, as metas, or says what is wrong.
void infer(Call& call);
// Where gradients ended, what is a view, what has rows.
void mark_outputs(const Call& call, std::span<Value> outputs, Need need);

}  // namespace weft::graph
