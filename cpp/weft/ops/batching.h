// Batch rules that many ops have in common (graph/batch.h).
#pragma once

#include "weft/graph/batch.h"

namespace weft::ops {

using graph::Batched;

// The same op over all inputs with rows, attributes as they are: for ops that look at elements, or
// count dimensions from the end.
graph::Values rows_alike(const Batched& batch);
// The same, with the attributes that name dimensions moved up by one. A missing `dim` means all of
// a row's dimensions.
graph::Values rows_along(const Batched& batch);
// The first input has rows, the others are shared by all; dimensions as above.
graph::Values rows_of_first(const Batched& batch);
// Views with a `size`, which gets the number of rows before it.
graph::Values rows_sized(const Batched& batch);

void set_batch_rules();

// An op whose rows each draw their own random numbers.
inline graph::BatchRule::Reason random_rows() { return {"each row draws its own random numbers"}; }

}  // namespace weft::ops
