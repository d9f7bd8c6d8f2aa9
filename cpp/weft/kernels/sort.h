// Ordering along rows. The order is PyTorch's: NaN is the largest value, -0 equals 0, ties keep
// their order. Inputs are contiguous and of any dtype; indices are int64.
#pragma once

#include <cstdint>

#include "weft/tensor/array.h"

namespace weft::kernels {

using tensor::Array;

// The first `k` of each of `rows` rows of `length` elements and their positions; without `sorted`
// only the last of them is sure to be in its place.
void select_rows(const Array& in, int64_t rows, int64_t length, int64_t k, bool descending,
                 bool sorted, const Array& values, const Array& indices);
// For each value the position in its sorted row before which (`right`: behind equal ones) it
// belongs. A single row of one dimension serves all values. Both inputs have the same lane's dtype.
void search_sorted(const Array& sorted, const Array& values, bool right, const Array& positions);

}  // namespace weft::kernels
