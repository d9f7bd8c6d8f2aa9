// Kernels compute in a lane's dtype: inputs are converted before them, outputs after them.
#pragma once

#include "ops.h"
#include "weft/kernels/map.h"

namespace weft::ops {

using tensor::lane_dtype;

// Input i as contiguous memory of the lane's dtype; empty where it was not given.
inline tensor::Array lane_input(const graph::Call& call, size_t i, DType lane) {
  return call[i] ? call.contiguous(i, lane) : tensor::Array();
}

inline tensor::Array lane_input(const graph::Call& call, size_t i) {
  return lane_input(call, i, lane_dtype(call.in(i).dtype));
}

// Runs a kernel on an output of its lane's dtype, and converts if the output is of a narrower one.
template <class Kernel>
void into(const tensor::Array& out, Kernel kernel) {
  kernels::made_as(lane_dtype(out.dtype), out, kernel);
}

// The same for several outputs: kernel(arrays).
template <class Kernel>
void into_all(graph::Call& call, Kernel kernel) {
  base::SmallVector<tensor::Array, 3> arrays;
  for (const tensor::Array& out : call.outputs) {
    const DType lane = lane_dtype(out.dtype);
    arrays.push_back(out.dtype == lane ? out : tensor::Array::allocate(out.sizes, lane));
  }
  kernel(arrays);
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].dtype != call.out(i).dtype) kernels::copy(arrays[i], call.out(i));
  }
}

}  // namespace weft::ops
