// What a gradient rule sees: the gradients of the op's outputs, and those inputs and outputs that
// it asks for. What it asks for is what gets saved: on first use the rule runs once over metas only
// (no kernels) and its reads are noted; element-wise rules become one fused Program there.
#pragma once

#include <cstdint>
#include <memory>

#include "weft/graph/attributes.h"
#include "weft/graph/value.h"

namespace weft::graph {

class Node;
struct Op;
struct Program;
class Gradient;

// How the gradient of an op runs when a given set of inputs needs gradients.
struct GradientPlan {
  uint32_t needs = 0;        // bit i: input i needs a gradient
  uint32_t defined = 0;      // bit i: input i was given (optional inputs may be missing)
  DType dtype = DType::f32;  // of the first output; element-wise Programs are made for one dtype
  uint32_t saved_inputs = 0;
  uint32_t saved_outputs = 0;
  std::shared_ptr<const Program> fused;  // for element-wise rules
  std::vector<uint8_t> fused_results;    // which inputs the Program's outputs are gradients of
  std::vector<uint8_t> passed_on;        // inputs whose gradient is the output's, unchanged
};

// Inputs and outputs beyond the 31st share the last bit.
inline uint32_t bit_of(size_t i) { return 1u << (i < 31 ? i : 31); }

}  // namespace weft::graph
