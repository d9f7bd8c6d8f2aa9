// What gemm_isa.cpp gives for each instruction set.
#pragma once

#include "weft/kernels/gemm.h"

namespace weft::kernels {

template <class T>
using Product = void(const GemmShape& shape, const T* a, int64_t lda, const T* b, int64_t ldb, T* c,
                     int64_t ldc);
// The same, where row i of b as stored begins at b + offsets[i].
template <class T>
using ProductAt = void(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b,
                       const int64_t* offsets, bool accumulate, T* c, int64_t ldc);

template <class T>
struct Products {
  Product<T>* product;
  ProductAt<T>* columns_at;  // b is k x n
  ProductAt<T>* dots_at;     // b is n x k, and multiplied transposed
};

struct GemmTable {
  Products<float> f32;
  Products<double> f64;
  Products<int64_t> i64;  // only `product`
};

// For the processor at hand.
const GemmTable& gemm_table();

}  // namespace weft::kernels
