// A small pool for large kernels. Work is split into ranges whose results do not depend on the
// number of threads. Safe after fork: a child starts its own threads when it first needs them.
#pragma once

#include <cstdint>
#include <type_traits>

namespace weft::base {

int thread_count();
void set_thread_count(int count);  // the calling thread included; at least 1

// Whether work is enough to wake threads that sleep, which takes longer than a few grains do; those
// that are awake join in anyway.
enum class Wake { by_grain, yes, no };

using RangeFunction = void (*)(void* state, int64_t begin, int64_t end);
void run_parallel(int64_t count, int64_t grain, RangeFunction function, void* state, Wake wake);

// Calls body(begin, end) over disjoint ranges that cover [0, count), each of at least `grain`
// items. Runs inline when there is one range or when called from inside a parallel region.
template <class Body>
void parallel_for(int64_t count, int64_t grain, Body&& body, Wake wake = Wake::by_grain) {
  if (count <= grain || thread_count() == 1) {
    if (count > 0) body(int64_t{0}, count);
    return;
  }
  using Plain = std::remove_reference_t<Body>;
  run_parallel(
      count, grain,
      [](void* state, int64_t begin, int64_t end) { (*static_cast<Plain*>(state))(begin, end); },
      &body, wake);
}

}  // namespace weft::base
