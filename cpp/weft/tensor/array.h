// A strided view of a storage. Knows nothing of graphs. Empty storage means: meta only, not
// computed.
#pragma once

#include <cstdint>
#include <span>

#include "weft/base/ref.h"
#include "weft/tensor/dtype.h"
#include "weft/tensor/shape.h"
#include "weft/tensor/storage.h"

namespace weft::tensor {

struct Array {
  base::Ref<Storage> storage;
  Dims sizes;
  Dims strides;        // in elements
  int64_t offset = 0;  // in elements
  DType dtype = DType::f32;

  // Not an aggregate: g++ clears one before filling it, which costs as much as a small op.
  Array() = default;
  Array(base::Ref<Storage> storage, const Dims& sizes, const Dims& strides, int64_t offset,
        DType dtype)
      : storage(std::move(storage)), sizes(sizes), strides(strides), offset(offset), dtype(dtype) {}

  int64_t rank() const { return static_cast<int64_t>(sizes.size()); }
  int64_t count() const { return count_of(sizes); }
  char* data() const { return storage->data() + offset * item_size(dtype); }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data());
  }
  template <class T>
  T* as_or_null() const {
    return storage ? as<T>() : nullptr;
  }
  bool is_contiguous() const {
    int64_t expected = 1;
    for (size_t i = sizes.size(); i-- > 0;) {
      if (sizes[i] == 1) continue;
      if (sizes[i] == 0) return true;
      if (strides[i] != expected) return false;
      expected *= sizes[i];
    }
    return true;
  }
  // Every element has its own place in memory.
  bool is_non_overlapping() const;
  // First and one past the last element of the storage that this view reaches.
  std::pair<int64_t, int64_t> extent() const;

  // The same memory seen with other sizes and strides.
  Array view(const Dims& new_sizes, const Dims& new_strides, int64_t new_offset) const {
    return {storage, new_sizes, new_strides, new_offset, dtype};
  }
  // Stretches to `target` with strides of 0; the shapes must broadcast.
  Array expand(std::span<const int64_t> target) const;
  // Dimensions in another order: result's dimension i is this one's order[i].
  Array permute(std::span<const int64_t> order) const;
  // A view with these sizes, when strides allow it without a copy.
  std::optional<Array> reshape(std::span<const int64_t> target) const;

  static Array meta(Dims sizes, DType dtype);      // contiguous, without storage
  static Array allocate(Dims sizes, DType dtype);  // contiguous, contents undefined
  // Without gaps, contents undefined: dimensions lie in the order of the other's, and stretched
  // ones stay so. What is a view of the other without a copy is one of this.
  static Array allocate_like(const Array& other);
};

// Whether what can be seen without a copy in memory of these strides can be seen in the array too.
bool allows_views_of(const Array& array, const Dims& strides);

// The array without its stretched dimensions: of each of their elements, the first.
Array without_repeats(const Array& array, const Dims& strides);

// Whether two views may touch a common byte (by extent; exact for contiguous ones).
bool may_overlap(const Array& a, const Array& b);

// The part of an array that is one row of it.
Array row_of(const Array& array, int64_t row);

}  // namespace weft::tensor
