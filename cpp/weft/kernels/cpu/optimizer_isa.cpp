// The loops of the optimizers, compiled once per instruction set.
#include <cmath>
#include <type_traits>

#include "weft/kernels/cpu/optimizer_table.h"

namespace weft::kernels::WEFT_ISA {

namespace {

using tensor::BFloat16;
using tensor::Half;

template <class T>
using LaneOf = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T>
inline LaneOf<T> load(const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    return value;
  } else {
    return tensor::to_float(value);
  }
}

inline void store(float& to, float value) { to = value; }
inline void store(double& to, double value) { to = value; }
inline void store(Half& to, float value) { to = tensor::to_half(value); }
inline void store(BFloat16& to, float value) { to = tensor::to_bfloat16(value); }

template <class T, bool amsgrad>
void adam_loop(const AdamSettings& settings, const AdamTensors& tensors, int64_t begin,
               int64_t end) {
  using Lane = LaneOf<T>;
  T* __restrict parameter = static_cast<T*>(tensors.parameter);
  const T* __restrict gradient = static_cast<const T*>(tensors.gradient);
  T* __restrict average = static_cast<T*>(tensors.average);
  T* __restrict square_average = static_cast<T*>(tensors.square_average);
  T* __restrict largest = static_cast<T*>(tensors.largest_square_average);

  const auto step = static_cast<double>(settings.step);
  const double correction1 = 1 - std::pow(settings.beta1, step);
  const double correction2 = 1 - std::pow(settings.beta2, step);
  const auto sign = static_cast<Lane>(settings.maximize ? -1 : 1);
  const auto shrink = static_cast<Lane>(
      settings.decoupled ? 1 - settings.learning_rate * settings.weight_decay : 1.0);
  const auto decay = static_cast<Lane>(settings.decoupled ? 0.0 : settings.weight_decay);
  const auto beta2 = static_cast<Lane>(settings.beta2);
  const auto new_share = static_cast<Lane>(1 - settings.beta1);
  const auto new_square_share = static_cast<Lane>(1 - settings.beta2);
  const auto step_size = static_cast<Lane>(settings.learning_rate / correction1);
  const auto root_scale = static_cast<Lane>(1 / std::sqrt(correction2));
  const auto epsilon = static_cast<Lane>(settings.epsilon);

  for (int64_t i = begin; i < end; ++i) {
    const Lane value = load(parameter[i]);
    const Lane slope = sign * load(gradient[i]) + decay * value;
    const Lane old_average = load(average[i]);
    const Lane new_average = old_average + new_share * (slope - old_average);
    Lane square = beta2 * load(square_average[i]) + new_square_share * slope * slope;
    store(average[i], new_average);
    store(square_average[i], square);
    if constexpr (amsgrad) {
      const Lane seen = load(largest[i]);
      square = seen >= square ? seen : square;
      store(largest[i], square);
    }
    const Lane root = std::sqrt(square) * root_scale + epsilon;
    store(parameter[i], shrink * value - step_size * new_average / root);
  }
}

template <class T, bool momentum>
void sgd_loop(const SgdSettings& settings, const SgdTensors& tensors, int64_t begin, int64_t end) {
  using Lane = LaneOf<T>;
  T* __restrict parameter = static_cast<T*>(tensors.parameter);
  const T* __restrict gradient = static_cast<const T*>(tensors.gradient);
  T* __restrict buffer = static_cast<T*>(tensors.momentum);

  const auto sign = static_cast<Lane>(settings.maximize ? -1 : 1);
  const auto decay = static_cast<Lane>(settings.weight_decay);
  const auto rate = static_cast<Lane>(settings.learning_rate);
  const auto factor = static_cast<Lane>(settings.momentum);
  // A first step takes the gradient as it is and reads nothing of the buffer, not even a NaN.
  const auto share = static_cast<Lane>(settings.first ? 1 : 1 - settings.dampening);
  const bool first = settings.first;
  const bool nesterov = settings.nesterov;

  for (int64_t i = begin; i < end; ++i) {
    const Lane value = load(parameter[i]);
    Lane slope = sign * load(gradient[i]) + decay * value;
    if constexpr (momentum) {
      const Lane kept = first ? Lane{0} : factor * load(buffer[i]);
      const Lane moved = kept + share * slope;
      store(buffer[i], moved);
      slope = nesterov ? slope + factor * moved : moved;
    }
    store(parameter[i], value - rate * slope);
  }
}

void adam(const AdamSettings& settings, const AdamTensors& one, int64_t begin, int64_t end) {
  tensor::dispatch(one.dtype, [&]<class T>(T*) {
    if constexpr (!std::is_integral_v<T>) {
      auto* const loop = one.largest_square_average ? adam_loop<T, true> : adam_loop<T, false>;
      loop(settings, one, begin, end);
    }
  });
}

void sgd(const SgdSettings& settings, const SgdTensors& one, int64_t begin, int64_t end) {
  tensor::dispatch(one.dtype, [&]<class T>(T*) {
    if constexpr (!std::is_integral_v<T>) {
      auto* const loop = one.momentum ? sgd_loop<T, true> : sgd_loop<T, false>;
      loop(settings, one, begin, end);
    }
  });
}

}  // namespace

extern const OptimizerTable optimizer_table;
const OptimizerTable optimizer_table{.adam = adam, .sgd = sgd};

}  // namespace weft::kernels::WEFT_ISA
