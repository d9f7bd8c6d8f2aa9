// Tensors that nodes saved for their gradients: how backward gets them back, and why it may not.
#pragma once

#include <string>

#include "weft/graph/node.h"

namespace weft::autograd {

// "mul at model.py:12", for messages.
std::string place(const graph::Node& node);

// Raises because an earlier backward freed what was saved at that place. 0: nobody knows where it
// was called.
[[noreturn]] void fail_second_backward(const std::string& place, graph::Position freed_at);
// Raises if an earlier backward freed what the node had saved.
void refuse_second_backward(const graph::Node& node);

// Raises if a saved tensor that is still here was written since, unless it is empty.
void refuse_changed(const graph::Node& node, const graph::Saved& saved);
inline void refuse_if_changed(const graph::Node& node, const graph::Saved& saved) {
  const tensor::Storage* storage = saved.value.array().storage.get();
  if (storage && storage->version != saved.version) [[unlikely]] {
    if (saved.version != graph::Saved::any_version) refuse_changed(node, saved);
  }
}

// The node's saved tensor of that number, as it was; raises if it was changed or freed since.
graph::Value restore(graph::Node& node, size_t number);

// A saved tensor takes part in the graph again, as what has its gradients sent along the edge.
graph::Value connect(const graph::Value& value, const graph::Edge& edge);

}  // namespace weft::autograd
