// Ties: tensors that must share memory which is not there yet. `y.detach()` of what is pending is
// computed like any other op, maybe elsewhere; who writes either of the two makes them share first.
#pragma once

#include "weft/graph/tensor.h"

namespace weft::graph {

// Detaches a tensor's value, as a tensor that shares its memory, now or when there is some.
TensorRef detach(TensorData& tensor);
// Before memory is written or shown to others: makes those that are tied to the tensor share its
// memory. They are computed for that.
void share_memory(TensorData& tensor);

}  // namespace weft::graph
