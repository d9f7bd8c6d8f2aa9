// PyTorch's result types: tensors with dimensions outrank 0-d ones, those outrank Python numbers,
// as long as the lower one is not of a higher category (bool < integer < float).
#pragma once

#include <algorithm>

#include "weft/tensor/dtype.h"

namespace weft::tensor {

inline DType default_dtype = DType::f32;

constexpr int category_of(DType dtype) {
  return is_floating(dtype) ? 2 : dtype == DType::boolean ? 0 : 1;
}

constexpr DType promote(DType a, DType b) {
  if (a == b) return a;
  if (category_of(a) != category_of(b)) return category_of(a) > category_of(b) ? a : b;
  if (is_floating(a)) {
    if (a == DType::f64 || b == DType::f64) return DType::f64;
    return DType::f32;  // float32 with a 16-bit float, or float16 with bfloat16
  }
  if (a == DType::u8 || b == DType::u8) {
    const DType other = a == DType::u8 ? b : a;
    return other == DType::i8 ? DType::i16 : other;
  }
  return std::max(a, b);  // signed integers are declared in order of size
}

// Collects operands and answers with their common dtype.
class Promotion {
 public:
  enum Rank { number = 0, zero_dim = 1, tensor = 2 };
  void add(DType dtype, Rank rank) {
    if (rank == number && is_floating(dtype)) dtype = default_dtype;
    present_[rank] = seen_[rank] ? promote(present_[rank], dtype) : dtype;
    seen_[rank] = true;
  }
  DType result() const {
    DType result = DType::boolean;
    bool any = false;
    for (int rank = tensor; rank >= number; --rank) {
      if (!seen_[rank]) continue;
      if (!any || category_of(present_[rank]) > category_of(result)) {
        result = present_[rank];
      }
      any = true;
    }
    return result;
  }

 private:
  DType present_[3] = {};
  bool seen_[3] = {};
};

}  // namespace weft::tensor
