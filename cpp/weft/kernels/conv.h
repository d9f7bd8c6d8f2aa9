// Convolution over one or two spatial dimensions (one has a height of 1), and its two gradients.
// All three are linear in each operand, so each is also a gradient of the others.
#pragma once

#include <cstdint>

#include "weft/tensor/array.h"

namespace weft::kernels {

// Sizes along one spatial dimension.
struct ConvAxis {
  int64_t in = 1, kernel = 1, out = 1;
  int64_t stride = 1, padding = 0, dilation = 1;
};

// input (batch, groups * in_channels, y.in, x.in), weight (groups * out_channels, in_channels,
// y.kernel, x.kernel), output (batch, groups * out_channels, y.out, x.out). Arrays are contiguous,
// all float32 or all float64.
struct ConvShape {
  int64_t batch = 1, groups = 1;
  int64_t in_channels = 1, out_channels = 1;  // of one group
  ConvAxis y, x;
};

// `bias` (one for each output channel) may be null.
void convolve(const ConvShape& shape, const tensor::Array& input, const tensor::Array& weight,
              const tensor::Array& bias, const tensor::Array& output);
// The gradient of the input: each output element spread over the window it was made from.
void convolve_transposed(const ConvShape& shape, const tensor::Array& output,
                         const tensor::Array& weight, const tensor::Array& bias,
                         const tensor::Array& input);
// The gradient of the weight.
void convolve_weight(const ConvShape& shape, const tensor::Array& input,
                     const tensor::Array& output, const tensor::Array& weight);

}  // namespace weft::kernels
