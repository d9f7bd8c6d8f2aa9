// Where a batch finds the rows of its inputs: which inputs all rows share, and which rows lie in
// memory as the batch needs them already. Pure functions: nothing is copied here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/graph/pending.h"

namespace weft::schedule {

using PendingRows = std::span<graph::Pending* const>;

// The inputs, as bits, that are not one and the same for all rows. At least one of an op whose
// rows would have no place otherwise.
uint32_t stacked_inputs(PendingRows rows);

// Rows by what they read, where bringing it together would cost more than running them in parts:
// `x[t]` of each example for many t would copy x for each of them. Empty: they run together.
std::vector<std::vector<graph::Pending*>> parts_by_source(PendingRows rows);

// The distance between rows of an input that lie at equal distances in one storage: a view of it
// is all of them. 0: they do not, and must be copied together.
int64_t step_in_place(PendingRows rows, size_t input);

// Whether the rows of an input are all rows of one batch's output, in their order: then that output
// is what this batch reads, as far as gradients are concerned, too.
bool is_whole_output(PendingRows rows, size_t input, const tensor::Dims& sizes);

}  // namespace weft::schedule
