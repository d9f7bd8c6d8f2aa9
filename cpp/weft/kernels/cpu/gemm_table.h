// What gemm_isa.cpp gives for each instruction set.
#pragma once

#include "weft/kernels/gemm.h"

namespace weft::kernels {

struct GemmTable {
  template <class T>
  using Function = void(const GemmShape& shape, const T* a, int64_t lda, const T* b, int64_t ldb,
                        T* c, int64_t ldc);
  Function<float>* f32;
  Function<double>* f64;
  Function<int64_t>* i64;
};

}  // namespace weft::kernels
