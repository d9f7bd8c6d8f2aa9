// Random tensors drawn one number after the other from a Mersenne Twister, in PyTorch's order.
#include "weft/kernels/cpu/drawn.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace weft::kernels::drawn {
namespace {

using base::Mersenne;

template <class T>
T unit(Mersenne& engine) {
  if constexpr (std::is_same_v<T, double>) {
    return engine.unit();
  } else {
    return engine.unit_float();
  }
}

constexpr int64_t group = 16;

// Sixteen uniform numbers to normal ones: the first half gives lengths, the second angles.
template <class T>
void to_normal(T* data, T mean, T deviation) {
  for (int64_t i = 0; i < group / 2; ++i) {
    const T radius = std::sqrt(T{-2} * std::log(T{1} - data[i]));
    const T angle = T{2} * std::numbers::pi_v<T> * data[i + group / 2];
    data[i] = radius * std::cos(angle) * deviation + mean;
    data[i + group / 2] = radius * std::sin(angle) * deviation + mean;
  }
}

double one_normal(Mersenne& engine) {
  std::optional<double>& second = engine.state.second_normal;
  if (second) {
    const double result = *second;
    second.reset();
    return result;
  }
  const double angle = 2 * std::numbers::pi * engine.unit();
  const double radius = std::sqrt(-2 * std::log1p(-engine.unit()));
  second = radius * std::sin(angle);
  return radius * std::cos(angle);
}

}  // namespace

template <class T>
void uniform(Mersenne& engine, T* out, int64_t count, double low, double high) {
  const T from = static_cast<T>(low), width = static_cast<T>(high) - static_cast<T>(low);
  for (int64_t i = 0; i < count; ++i) out[i] = unit<T>(engine) * width + from;
}

// `in_groups`: the rest is not drawn twice, as for short floats in PyTorch.
template <class T>
void normal(Mersenne& engine, T* out, int64_t count, double mean, double deviation,
            bool in_groups) {
  if (count < group) {
    for (int64_t i = 0; i < count; ++i)
      out[i] = static_cast<T>(one_normal(engine) * deviation + mean);
    return;
  }
  const int64_t first = in_groups ? count - count % group : count;
  for (int64_t i = 0; i < first; ++i) out[i] = unit<T>(engine);
  const T m = static_cast<T>(mean), d = static_cast<T>(deviation);
  int64_t done = 0;
  for (; done + group <= count; done += group) to_normal(out + done, m, d);
  if (done == count) return;
  // The rest is drawn anew, together with what stands before it.
  T* last = out + count - group;
  for (int64_t i = 0; i < group; ++i) last[i] = unit<T>(engine);
  to_normal(last, m, d);
}

void integers(Mersenne& engine, uint64_t* out, int64_t count, int64_t low, uint64_t range) {
  const bool is_wide = range == 0 || range >= 1ull << 32;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t bits = is_wide ? engine.long_bits() : engine.bits();
    out[i] = static_cast<uint64_t>(low) + (range == 0 ? bits : bits % range);
  }
}

void permutation(Mersenne& engine, int64_t* out, int64_t count) {
  std::iota(out, out + count, 0);
  for (int64_t i = 0; i + 1 < count; ++i)
    std::swap(out[i], out[i + engine.bits() % static_cast<uint64_t>(count - i)]);
}

template void uniform(Mersenne&, float*, int64_t, double, double);
template void uniform(Mersenne&, double*, int64_t, double, double);
template void normal(Mersenne&, float*, int64_t, double, double, bool);
template void normal(Mersenne&, double*, int64_t, double, double, bool);

}  // namespace weft::kernels::drawn
