// The gradient of a Program is a Program.
#pragma once

#include "weft/graph/node.h"
#include "weft/graph/program.h"

namespace weft::autograd {

// Inputs of the result: the Program's inputs, then a gradient for each of its outputs. Outputs: the
// gradients of the inputs whose flag is set. Shapes are those of `inputs`.
graph::Program gradient_of(const graph::Program& program, std::span<const graph::Meta> inputs,
                           const std::vector<bool>& needed);

}  // namespace weft::autograd
