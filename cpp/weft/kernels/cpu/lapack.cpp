#include "weft/kernels/lapack.h"

#include <string>
#include <type_traits>

#include "weft/kernels/gemm.h"

namespace weft::kernels {
namespace {

template <class Function>
void find(Function*& function, const std::string& name) {
  function = reinterpret_cast<Function*>(blas_symbol(name.c_str()));
  if (function == nullptr) {
    base::fail(base::ErrorKind::unsupported, "linear algebra needs ", name,
               " of OpenBLAS: install scipy-openblas32 0.3.27 or newer");
  }
}

template <class T>
Lapack<T> load() {
  const std::string letter = std::is_same_v<T, float> ? "s" : "d";
  const std::string prefix = "scipy_LAPACKE_" + letter;
  using SetCheck = void(int);
  SetCheck* set_nan_check = nullptr;
  Lapack<T> routines{};
  find(routines.potrf, prefix + "potrf");
  find(routines.getrf, prefix + "getrf");
  find(routines.gesv, prefix + "gesv");
  find(routines.geqrf, prefix + "geqrf");
  find(routines.orgqr, prefix + "orgqr");
  find(routines.syevd, prefix + "syevd");
  find(routines.gesdd, prefix + "gesdd");
  find(routines.trsm, "scipy_cblas_" + letter + "trsm");
  find(set_nan_check, "scipy_LAPACKE_set_nancheck");
  set_nan_check(0);  // a NaN is no mistake of the call; where it would not end, the ops look
  return routines;
}

}  // namespace

template <class T>
const Lapack<T>& lapack() {
  static const Lapack<T> loaded = load<T>();
  return loaded;
}
template const Lapack<float>& lapack();
template const Lapack<double>& lapack();

}  // namespace weft::kernels
