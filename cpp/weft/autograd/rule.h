// Runs the gradient rule of one node.
#pragma once

#include "weft/graph/node.h"

namespace weft::autograd {

// The gradients of the node's inputs, from those of its outputs. An element-wise rule runs as one
// fused Program unless it is to be recorded itself.
graph::Values run_rule(graph::Node& node, const graph::Values& gradients);

// The same from what it reads.
graph::Values apply_rule(const graph::Node& node, const graph::Values& gradients,
                         const graph::Values& inputs, const graph::Values& outputs);

// The tensors that the node's rule asked for, in their places.
struct Unpacked {
  graph::Values inputs, outputs;
};
Unpacked unpack(graph::Node& node);

// Sums a gradient over broadcast dimensions and casts it: the shape and dtype of the input.
graph::Value fit_other(graph::Value gradient, const graph::Meta& meta);
inline graph::Value fit(graph::Value gradient, const graph::Meta& meta) {
  if (gradient.sizes() == meta.sizes && gradient.dtype() == meta.dtype) [[likely]]
    return gradient;
  return fit_other(std::move(gradient), meta);
}

}  // namespace weft::autograd
