// Ordering along rows. The order is PyTorch's: NaN is the largest value, -0 equals 0, ties keep
// their order. Inputs are contiguous and of any dtype; indices are int64.
#pragma once

#include <cstdint>

#include "weft/tensor/array.h"

namespace weft::kernels {

using tensor::Array;

// Positions that sort each of `rows` rows of `length` elements.
void sort_rows(const Array& in, int64_t rows, int64_t length, bool descending,
               const Array& indices);
// Positions of the first `k` elements of each sorted row; with `sorted` false only the last of them
// is sure to be in its place.
void select_rows(const Array& in, int64_t rows, int64_t length, int64_t k, bool descending,
                 bool sorted, const Array& indices);
// Positions that sort the rows themselves, compared from their first element on.
void sort_whole_rows(const Array& in, int64_t rows, int64_t length, const Array& indices);
// starts[i]: whether row order[i] differs from row order[i - 1]; without an order, rows stay as
// they are. NaN differs from everything. Returns how many do; the first one always does.
int64_t mark_starts(const Array& in, int64_t rows, int64_t length, const int64_t* order,
                    bool* starts);
// For each value the position in its sorted row before which (`right`: behind equal ones) it
// belongs. One row of `sorted` serves all values when `shared`. Both inputs have the same lane's
// dtype; `order` (may be null) are positions that sort each row.
void search_sorted(const Array& sorted, int64_t length, bool shared, const int64_t* order,
                   const Array& values, int64_t values_length, bool right, int64_t* positions);

}  // namespace weft::kernels
