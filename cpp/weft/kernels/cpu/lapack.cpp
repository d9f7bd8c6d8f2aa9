#include "weft/kernels/lapack.h"

#include <dlfcn.h>

#include <type_traits>

namespace weft::kernels {
namespace {

std::string blas_path;

void* load_library() {
  if (blas_path.empty()) return nullptr;
  for (const char* file : {"/libscipy_openblas.so", "/libscipy_openblas.dylib", ""}) {
    void* library = dlopen((blas_path + file).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    using SetThreads = void(int);
    auto* set_threads =
        reinterpret_cast<SetThreads*>(dlsym(library, "scipy_openblas_set_num_threads"));
    if (set_threads == nullptr) return nullptr;
    // Our pool splits the work, so that one setting rules all threads and fork stays safe.
    set_threads(1);
    return library;
  }
  return nullptr;
}

void* library() {
  static void* const loaded = load_library();
  return loaded;
}

template <class Function>
void find(Function*& function, const std::string& name) {
  function = reinterpret_cast<Function*>(library() ? dlsym(library(), name.c_str()) : nullptr);
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

void set_blas_path(std::string path) { blas_path = std::move(path); }

template <class T>
const Lapack<T>& lapack() {
  static const Lapack<T> loaded = load<T>();
  return loaded;
}
template const Lapack<float>& lapack();
template const Lapack<double>& lapack();

}  // namespace weft::kernels
