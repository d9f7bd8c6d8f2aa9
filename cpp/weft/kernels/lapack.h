// LAPACK, which comes with OpenBLAS: factorisations of one matrix.
#pragma once

#include <string>

#include "weft/base/errors.h"

namespace weft::kernels {

// Routines for elements of type T, with row-major matrices: what LAPACKE_dgetrf is to double.
// They give 0, a positive number with a meaning of their own, or a negative one for a mistake.
template <class T>
struct Lapack {
  int (*potrf)(int layout, char triangle, int n, T* a, int lda);
  int (*getrf)(int layout, int m, int n, T* a, int lda, int* pivots);
  int (*gesv)(int layout, int n, int columns, T* a, int lda, int* pivots, T* b, int ldb);
  int (*geqrf)(int layout, int m, int n, T* a, int lda, T* tau);
  int (*orgqr)(int layout, int m, int n, int k, T* a, int lda, const T* tau);
  int (*syevd)(int layout, char vectors, char triangle, int n, T* a, int lda, T* values);
  int (*gesdd)(int layout, char vectors, int m, int n, T* a, int lda, T* s, T* u, int ldu, T* vh,
               int ldvh);
  void (*trsm)(int layout, int side, int triangle, int transposed, int unit, int m, int n, T alpha,
               const T* a, int lda, T* b, int ldb);
};

// What BLAS and LAPACK call these.
inline constexpr int row_major = 101, as_stored = 111, upper_triangle = 121, lower_triangle = 122,
                     general_diagonal = 131, unit_diagonal = 132, left_side = 141, right_side = 142;

// The folder that has OpenBLAS's shared library (or the file itself); it is loaded when first
// needed.
void set_blas_path(std::string path);

// For float and double; raises where the library is missing or too old.
template <class T>
const Lapack<T>& lapack();

}  // namespace weft::kernels
