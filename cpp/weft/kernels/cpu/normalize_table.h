// What normalize_isa.cpp gives for each instruction set. Functions work on ranges of rows.
#pragma once

#include "weft/kernels/normalize.h"

namespace weft::kernels {

template <class T>
struct Normalizers {
  void (*softmax_rows)(const T* in, int64_t rows, int64_t size, bool logarithm, T* out);
  // Along a dimension with stride `inner`, for `count` neighbouring columns, at most 64.
  void (*softmax_columns)(const T* in, int64_t size, int64_t inner, int64_t count, bool logarithm,
                          T* out);
  void (*softmax_backward_columns)(const T* grad, const T* out, int64_t size, int64_t inner,
                                   int64_t count, bool logarithm, T* grad_in);
  void (*softmax_backward_rows)(const T* grad, const T* out, int64_t rows, int64_t size,
                                bool logarithm, T* grad_in);
  void (*layer_norm)(const T* in, const T* weight, const T* bias, double epsilon, int64_t rows,
                     int64_t size, T* out);
  // Adds to the sums of the weight's and bias's gradients.
  void (*layer_norm_backward)(const T* grad, const T* in, const T* weight, double epsilon,
                              int64_t rows, int64_t size, T* grad_in, T* grad_weight, T* grad_bias);
  // log(sum(exp(row)))
  double (*log_sum)(const T* in, int64_t size);
  // out = exp(in - shift) * factor
  void (*exponentials)(const T* in, int64_t size, T shift, T factor, T* out);
  void (*gates[6])(T* const* arrays, int64_t rows, int64_t size);  // in the order of Gates
};

struct NormalizeTable {
  Normalizers<float> f32;
  Normalizers<double> f64;
};

}  // namespace weft::kernels
