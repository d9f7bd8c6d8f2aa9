// The extension module weft._core.
#include "weft/base/blocking.h"
#include "weft/base/thread_pool.h"
#include "weft/bind/binding.h"
#include "weft/exec/connect.h"
#include "weft/graph/kept_rows.h"
#include "weft/kernels/instruction_set.h"
#include "weft/kernels/lapack.h"
#include "weft/tensor/failing.h"

namespace weft::bind {
namespace {

#ifdef __clang__
constexpr const char* compiler = "clang " __clang_version__;
#else
constexpr const char* compiler = "g++ " __VERSION__;
#endif

void connect_core() {
  exec::connect();
  base::blocking_hooks = {
      []() -> void* { return PyEval_SaveThread(); },
      [](void* state) { PyEval_RestoreThread(static_cast<PyThreadState*>(state)); }};
}

void define_memory(nb::module_& module) {
  module.def("live_bytes", tensor::live_bytes, "Return the bytes of live tensor memory.");
  module.def("peak_bytes", tensor::peak_bytes,
             "Return the most bytes of tensor memory at one time.");
  module.def("reset_peak_bytes", tensor::reset_peak_bytes, "Start measuring the peak anew.");
  module.def("cached_bytes", tensor::cached_bytes, "Return the bytes kept for reuse.");
  module.def("fail_allocations", tensor::fail_allocations, nb::arg("after"), nb::arg("count"),
             "After so many allocations, let so many fail; return how many were still to fail.");
  module.def("release_cached_memory", tensor::release_cached_memory, "Give kept memory back.");
  module.def("trim_batches", graph::trim_batches,
             "Let go of what was saved for rows of batches that nobody can reach any more.");
}

void define_threads(nb::module_& module) {
  module.def("get_num_threads", base::thread_count, "Return how many threads large kernels use.");
  module.def(
      "set_num_threads",
      [](int count) {
        if (count < 1)
          throw nb::value_error("set_num_threads(): expects a positive number of threads");
        base::set_thread_count(count);
      },
      "Set how many threads large kernels use.");
  module.def(
      "set_blas_path", [](const char* path) { kernels::set_blas_path(path); },
      "Name the OpenBLAS library, whose LAPACK linear algebra uses.");
  module.def("instruction_set", kernels::instruction_set,
             "Return the instruction set whose kernels run on this processor.");
  module.def("compiler", [] { return compiler; }, "Return the compiler that built this module.");
}

}  // namespace
}  // namespace weft::bind

NB_MODULE(_core, module) {
  using namespace weft::bind;
  nb::set_leak_warnings(false);  // the interpreter's end frees everything
  try {
    connect_core();
    PyObject* m = module.ptr();
    define_errors(m);
    define_dtypes(module);
    define_tensor_type(m);
    define_op_functions(m);
    define_stacks(m);
    define_lazy(m);
    define_waiting(m);
    define_cells(m);
    define_calls(m);
  } catch (const PythonError&) {
    throw nb::python_error();
  } catch (const weft::base::Error& error) {
    throw std::runtime_error(error.what());
  }
  translate_errors();
  define_reading(module);
  define_positions(module);
  define_exchange(module);
  define_random(module);
  define_optimizers(module);
  define_nodes(module);
  define_hooks(module);
  define_functions(module);
  define_autograd(module);
  define_traces(module);
  define_vmap(module);
  define_routines(module);
  define_tasks(module);
  define_memory(module);
  define_threads(module);
}
