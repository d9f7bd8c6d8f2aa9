// In-place ops: a new Value takes the place of the old one, in the same memory; through a view the
// base gets a new Value too, and its views are made again from it when they are next used.
#pragma once

#include <string_view>

#include "weft/graph/op.h"
#include "weft/graph/tensor.h"

namespace weft::autograd {

// `inputs[0]` is the tensor's own value.
void apply_in_place(graph::TensorData& tensor, const graph::Op& op, graph::Values inputs,
                    graph::Attributes attributes);

// The part after the writing: makes `written`, over the tensor's memory, its value, and gives its
// base (if it is a view) the history of that write.
void take_written(graph::TensorData& tensor, graph::Value written);
void refuse_what_would_be_wrong(graph::TensorData& tensor, std::string_view name);

}  // namespace weft::autograd
