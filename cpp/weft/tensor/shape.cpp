#include "weft/tensor/shape.h"

#include <algorithm>

namespace weft::tensor {

using base::ErrorKind;
using base::fail;

int64_t checked_count(std::string_view op, std::span<const int64_t> sizes) {
  if (sizes.size() > max_rank) {
    fail(ErrorKind::shape, op, ": a tensor has at most ", max_rank, " dimensions, got ",
         sizes.size());
  }
  int64_t count = 1;
  bool overflow = false;
  bool empty = false;
  for (int64_t size : sizes) {
    if (size < 0)
      fail(ErrorKind::shape, op, ": sizes must not be negative, got ", shape_text(sizes));
    empty = empty || size == 0;
    overflow = __builtin_mul_overflow(count, std::max<int64_t>(size, 1), &count) || overflow;
  }
  // 2**59 elements of 8 bytes still fit in 63 bits; nothing larger can be addressed.
  if (overflow || count > (int64_t{1} << 59)) {
    fail(ErrorKind::memory, op, ": a tensor of shape ", shape_text(sizes), " is too large");
  }
  return empty ? 0 : count;
}

Dims contiguous_strides(std::span<const int64_t> sizes) {
  Dims strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(sizes[i], 1);
  }
  return strides;
}

std::string shape_text(std::span<const int64_t> sizes) {
  return base::text(Dims(sizes.begin(), sizes.end()));
}

std::optional<Dims> broadcast(std::span<const int64_t> a, std::span<const int64_t> b) {
  if (a.size() < b.size()) std::swap(a, b);
  Dims result(a.begin(), a.end());
  const size_t shift = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    int64_t& size = result[i + shift];
    if (size == b[i] || b[i] == 1) continue;
    if (size != 1) return std::nullopt;
    size = b[i];
  }
  return result;
}

int64_t wrap_dim(std::string_view op, int64_t dim, int64_t rank) {
  const int64_t range = std::max<int64_t>(rank, 1);
  if (dim < -range || dim >= range) {
    fail(ErrorKind::index, op, ": Dimension out of range (expected to be in range of [", -range,
         ", ", range - 1, "], but got ", dim, ")");
  }
  return dim < 0 ? dim + range : dim;
}

Split split_at(std::span<const int64_t> sizes, int64_t dim) {
  Split split;
  for (int64_t i = 0; i < static_cast<int64_t>(sizes.size()); ++i) {
    (i < dim ? split.outer : i == dim ? split.size : split.inner) *= sizes[i];
  }
  return split;
}

}  // namespace weft::tensor
