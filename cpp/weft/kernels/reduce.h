// Reductions over any dimensions, positions of extremes, and running sums.
#pragma once

#include <cstdint>

#include "weft/tensor/array.h"

namespace weft::kernels {

enum class Reduction : uint8_t {
  sum,
  product,
  largest,      // a NaN wins
  smallest,     // a NaN wins
  nonzero,      // how many are not zero
  sum_squares,  // of (x - shift)^2
};
inline constexpr int reduction_count = 6;

// Which dimensions of an array are reduced: bit i stands for dimension i.
using DimMask = uint64_t;

// Reduces `in` (any strides and dtype) over `dims`. `out` is contiguous, of in's lane (f32, f64 or
// i64) or f64, and has the kept dimensions in order, with or without the reduced ones as ones.
// `shift` is like `out`, or null for none. float32 is added up in short blocks and those in
// float64, in an order that does not depend on the number of threads.
struct ReduceOptions {
  const tensor::Array* shift = nullptr;
  double divisor = 1;  // of floats only
};
void reduce(Reduction kind, const tensor::Array& in, DimMask dims, const tensor::Array& out,
            const ReduceOptions& options = {});

// The first position of the largest (or smallest) element along `dim`, and the element itself; a
// NaN wins. `in` is contiguous, of a lane's dtype, `indices` int64, `values` like `in` or null.
void extreme_positions(const tensor::Array& in, int64_t dim, bool largest,
                       const tensor::Array* values, const tensor::Array& indices);

// Running results along `dim`. `in` and `out` are contiguous, of one lane's dtype.
enum class Scan : uint8_t { sum, product };
void scan(Scan kind, const tensor::Array& in, int64_t dim, const tensor::Array& out);

}  // namespace weft::kernels
