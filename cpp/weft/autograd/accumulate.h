// Where gradients end up: the .grad of leaves.
#pragma once

#include "weft/graph/node.h"

namespace weft::autograd {

// sum += addend, in place; both have one shape.
void add_into(const tensor::Array& sum, const tensor::Array& addend);

// Adds to the leaf's .grad and calls its post-accumulate hooks.
void accumulate(graph::Node& leaf, const graph::Value& gradient, bool create_graph);

}  // namespace weft::autograd
