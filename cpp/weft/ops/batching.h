// Batch rules that many ops have in common (graph/batch.h). Every op of a rule keeps the rows in
// dimension 0 of what it gives, so that a gradient can go to some of them only.
#pragma once

#include "ops.h"
#include "weft/graph/batch.h"

namespace weft::ops {

using graph::Batched;

// The same op over all inputs with rows, attributes as they are: for ops that look at elements, or
// count dimensions from the end.
Values rows_alike(const Batched& batch);
// The same, with the attributes that name dimensions moved up by one. A missing `dim` means all of
// a row's dimensions.
Values rows_along(const Batched& batch);
// Views with a `size`, which gets the number of rows before it.
Values rows_sized(const Batched& batch);

// Each row's slices of dimension `dim` of input 0 by its own indices (rows, ...).
Value pick_rows(const Batched& batch, int64_t dim, const Value& indices);
// Indices (rows, ...) for `gather` and `scatter` along `dim` of a tensor of these sizes.
Value spread_rows(const Value& indices, int64_t dim, Dims sizes);
// Input i, which may be a number, with rows of `rank` dimensions and of a dtype.
Value rows_in_dtype(const Batched& batch, size_t i, int64_t rank, DType dtype);

}  // namespace weft::ops
