// Backward: walks the graph from results to leaves in reverse order of creation.
#pragma once

#include <vector>

#include "weft/graph/node.h"
#include "weft/graph/tensor.h"

namespace weft::autograd {

using graph::Node;
using graph::Value;
using graph::Values;

struct Request {
  std::vector<Value> roots;
  std::vector<Value> gradients;  // one per root, of its shape
  std::vector<Value> inputs;     // of which gradients are wanted; empty: every leaf
  bool accumulate = true;        // into leaves' .grad (with inputs: only into those)
  bool retain_graph = false;
  bool create_graph = false;
};

// Returns the gradients of `inputs` (empty Values for unreachable ones).
std::vector<Value> run_backward(const Request& request);

}  // namespace weft::autograd
