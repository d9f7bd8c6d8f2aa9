#include "weft/tensor/array.h"

#include <algorithm>

namespace weft::tensor {

bool Array::is_non_overlapping() const {
  Dims order;
  for (int64_t i = 0; i < rank(); ++i) {
    if (sizes[i] == 0) return true;
    if (sizes[i] > 1) order.push_back(i);
  }
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return std::abs(strides[a]) < std::abs(strides[b]); });
  int64_t reach = 0;
  for (int64_t i : order) {
    if (std::abs(strides[i]) <= reach) return false;
    reach += (sizes[i] - 1) * std::abs(strides[i]);
  }
  return true;
}

std::pair<int64_t, int64_t> Array::extent() const {
  if (count() == 0) return {offset, offset};
  int64_t low = offset, high = offset;
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t& end = strides[i] < 0 ? low : high;
    int64_t reach;  // strides may be anything that a user wrote
    if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) ||
        __builtin_add_overflow(end, reach, &end)) {
      end = strides[i] < 0 ? INT64_MIN : INT64_MAX - 1;
    }
  }
  return {low, high + 1};
}

Array Array::expand(std::span<const int64_t> target) const {
  const size_t shift = target.size() - sizes.size();
  Dims new_strides(target.size(), 0);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == target[i + shift]) new_strides[i + shift] = strides[i];
  }
  return view(Dims(target.begin(), target.end()), std::move(new_strides), offset);
}

Array Array::permute(std::span<const int64_t> order) const {
  Dims new_sizes, new_strides;
  for (int64_t i : order) {
    new_sizes.push_back(sizes[i]);
    new_strides.push_back(strides[i]);
  }
  return view(std::move(new_sizes), std::move(new_strides), offset);
}

std::optional<Array> Array::reshape(std::span<const int64_t> target) const {
  const Dims new_sizes(target.begin(), target.end());
  if (count() == 0 || is_contiguous()) return view(new_sizes, contiguous_strides(target), offset);
  // Walk both shapes from the right, matching groups of old dimensions that are contiguous among
  // themselves with groups of new ones of the same count.
  Dims new_strides(target.size());
  int64_t next = static_cast<int64_t>(target.size()) - 1;
  int64_t group_stride = 1, group_count = 1, placed = 1;
  for (int64_t i = rank() - 1; i >= 0; --i) {
    if (group_count == 1) group_stride = strides[i];
    group_count *= sizes[i];
    const bool group_ends =
        i == 0 || (sizes[i - 1] != 1 && strides[i - 1] != group_count * group_stride);
    if (!group_ends) continue;
    while (next >= 0 && (placed < group_count || target[next] == 1)) {
      new_strides[next] = placed * group_stride;
      placed *= target[next--];
    }
    if (placed != group_count) return std::nullopt;
    group_count = placed = 1;
  }
  return view(new_sizes, std::move(new_strides), offset);
}

Array Array::meta(Dims sizes, DType dtype) {
  Dims strides = contiguous_strides(sizes);
  return {nullptr, std::move(sizes), std::move(strides), 0, dtype};
}

Array Array::allocate(Dims sizes, DType dtype) {
  Array result = meta(std::move(sizes), dtype);
  result.storage = Storage::allocate(result.count() * item_size(dtype));
  return result;
}

Array Array::allocate_like(const Array& other) {
  if (other.is_contiguous()) return allocate(other.sizes, other.dtype);
  Dims order;
  for (int64_t i = 0; i < other.rank(); ++i) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return std::abs(other.strides[a]) > std::abs(other.strides[b]);
  });
  Array result{nullptr, other.sizes, other.strides, 0, other.dtype};
  int64_t count = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const int64_t dim = order[i];
    if (other.strides[dim] == 0) continue;
    result.strides[dim] = count;
    count *= other.sizes[dim];
  }
  result.storage = Storage::allocate(count * item_size(other.dtype));
  return result;
}

bool allows_views_of(const Array& array, const Dims& strides) {
  if (array.strides == strides || array.is_contiguous()) return true;
  int64_t inner = -1;  // the next dimension inwards of more than one element
  for (int64_t i = array.rank() - 1; i >= 0; --i) {
    if (array.sizes[i] == 1) continue;
    const auto joins = [&](const Dims& given) {
      return given[i] == (inner < 0 ? 1 : array.sizes[inner] * given[inner]);
    };
    if (joins(strides) && !joins(array.strides)) return false;
    inner = i;
  }
  return true;
}

Array without_repeats(const Array& array, const Dims& strides) {
  Array result = array;
  for (size_t i = 0; i < strides.size(); ++i) {
    if (strides[i] == 0) result.sizes[i] = std::min<int64_t>(result.sizes[i], 1);
  }
  return result;
}

bool may_overlap(const Array& a, const Array& b) {
  if (a.storage != b.storage) return false;
  const auto [a_low, a_high] = a.extent();
  const auto [b_low, b_high] = b.extent();
  const int64_t a_size = item_size(a.dtype), b_size = item_size(b.dtype);
  return a_low * a_size < b_high * b_size && b_low * b_size < a_high * a_size;
}

Array row_of(const Array& array, int64_t row) {
  Dims sizes = array.sizes, strides = array.strides;
  sizes.erase(0);
  strides.erase(0);
  return array.view(sizes, strides, array.offset + row * array.strides[0]);
}

}  // namespace weft::tensor
