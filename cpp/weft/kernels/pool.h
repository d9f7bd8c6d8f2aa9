// Largest elements and averages of windows that slide over planes.
#pragma once

#include <cstdint>
#include <span>

#include "weft/tensor/array.h"

namespace weft::kernels {

// Elements begin, begin + step, ... before end, all inside the plane; `size` is what an average
// counts them as (it may count padding).
struct Window {
  int64_t begin, end, step, size;
};

// Windows along both dimensions of a plane. Inputs are planes of height x width, outputs planes
// with one element for each pair of windows.
struct PoolShape {
  int64_t planes, height, width;
  std::span<const Window> y, x;
};

// Arrays are contiguous; `in` and `out` are of one dtype, `indices` (int64) count along a plane.
// NaN wins.
void pool_largest(const PoolShape& shape, const tensor::Array& in, const tensor::Array& out,
                  const tensor::Array& indices);
// Sums over windows (float32 or float64), divided by `divisor` or, when that is 0, by the windows'
// sizes.
void pool_average(const PoolShape& shape, double divisor, const tensor::Array& in,
                  const tensor::Array& out);
void pool_average_backward(const PoolShape& shape, double divisor, const tensor::Array& grad,
                           const tensor::Array& grad_in);

}  // namespace weft::kernels
