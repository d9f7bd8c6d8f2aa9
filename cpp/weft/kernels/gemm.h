// Matrix products, by loops of our own (docs/decisions/0029).
#pragma once

#include <cstdint>

#include "weft/tensor/array.h"

namespace weft::kernels {

// c (m x n) = op(a) (m x k) times op(b) (k x n), added to the m x n values at `start` if there are
// any: a bias, whose `start_row` is 0, or c itself. Row-major; a leading dimension is the distance
// between rows as stored. With `transpose_a`, a is stored k x m; with `transpose_b`, b is stored n
// x k. c overlaps neither a nor b.
struct GemmShape {
  int64_t m, n, k;
  bool transpose_a = false, transpose_b = false;
  const void* start = nullptr;
  int64_t start_row = 0;
  bool turn_b = false;  // set by gemm: see gemm_isa.cpp
};
void gemm(tensor::Lane lane, const GemmShape& shape, const void* a, int64_t lda, const void* b,
          int64_t ldb, void* c, int64_t ldc);

// On the calling thread, for work that is split over threads already.
void gemm_serial(tensor::Lane lane, const GemmShape& shape, const void* a, int64_t lda,
                 const void* b, int64_t ldb, void* c, int64_t ldc);

// out = a times b over their last two dimensions; the dimensions before them are equal (an operand
// may repeat itself by strides of 0). All of one dtype, any strides; out is contiguous. The product
// is added to `start`, which has out's sizes.
void matmul(const tensor::Array& a, const tensor::Array& b, const tensor::Array& out,
            const tensor::Array* start = nullptr);

}  // namespace weft::kernels
