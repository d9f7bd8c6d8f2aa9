// Optimizer steps: one fused pass over each parameter, its gradient and its state. The memory is
// contiguous and of one floating dtype per parameter; arithmetic is done in the dtype's lane.
#pragma once

#include <cstdint>
#include <span>

#include "weft/tensor/dtype.h"

namespace weft::kernels {

struct AdamSettings {
  int64_t step;  // counts from 1
  double learning_rate;
  double beta1;
  double beta2;
  double epsilon;
  double weight_decay;
  bool decoupled;  // AdamW: decay shrinks the parameter and stays out of the gradient
  bool maximize;
};

struct AdamTensors {
  tensor::DType dtype;
  int64_t count;
  void* parameter;
  const void* gradient;
  void* average;
  void* square_average;
  void* largest_square_average;  // null without amsgrad
};

void adam(const AdamSettings& settings, std::span<const AdamTensors> tensors);

struct SgdSettings {
  double learning_rate;
  double momentum;
  double dampening;
  double weight_decay;
  bool nesterov;
  bool maximize;
  bool first;  // the momentum buffers hold nothing yet: they become the gradients
};

struct SgdTensors {
  tensor::DType dtype;
  int64_t count;
  void* parameter;
  const void* gradient;
  void* momentum;  // null without momentum
};

void sgd(const SgdSettings& settings, std::span<const SgdTensors> tensors);

}  // namespace weft::kernels
