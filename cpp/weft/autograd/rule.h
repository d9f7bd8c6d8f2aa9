// Runs the gradient rule of one node.
#pragma once

#include "weft/graph/node.h"

namespace weft::autograd {

// The gradients of the node's inputs, from those of its outputs. An element-wise rule runs as one
// fused Program unless it is to be recorded itself.
graph::Values run_rule(graph::Node& node, const graph::Values& gradients);

// The tensors that the node's rule asked for, in their places.
struct Unpacked {
  graph::Values inputs, outputs;
};
Unpacked unpack(graph::Node& node);

}  // namespace weft::autograd
