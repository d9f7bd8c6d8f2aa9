// Sizes and strides, broadcasting, and how both are printed.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <string>

#include "weft/base/errors.h"
#include "weft/base/small_vector.h"

namespace weft::tensor {

using Dims = base::SmallVector<int64_t, 4>;
inline constexpr int max_rank = 64;

// Number of elements. Callers have checked the sizes with `checked_count` when they came from
// users.
inline int64_t count_of(std::span<const int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  return count;
}

// Refuses negative sizes, more than `max_rank` of them, and counts whose bytes overflow.
int64_t checked_count(std::string_view op, std::span<const int64_t> sizes);

Dims contiguous_strides(std::span<const int64_t> sizes);

std::string shape_text(std::span<const int64_t> sizes);  // "(2, 3)"

// Where the element with this number, in row-major order, lies.
inline int64_t offset_at(int64_t index, std::span<const int64_t> sizes,
                         std::span<const int64_t> strides) {
  int64_t offset = 0;
  for (size_t i = sizes.size(); i-- > 0;) {
    offset += index % sizes[i] * strides[i];
    index /= sizes[i];
  }
  return offset;
}

// The common shape, or nothing when two sizes differ and neither is 1.
std::optional<Dims> broadcast(std::span<const int64_t> a, std::span<const int64_t> b);

// A dimension as the user wrote it (maybe negative) to 0..rank-1; a 0-d tensor accepts 0 and -1.
int64_t wrap_dim(std::string_view op, int64_t dim, int64_t rank);

// Splits a shape around a dimension: outer * size * inner elements.
struct Split {
  int64_t outer = 1, size = 1, inner = 1;
};
Split split_at(std::span<const int64_t> sizes, int64_t dim);

}  // namespace weft::tensor
