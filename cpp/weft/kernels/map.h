// Element-wise work: a straight line of formulas over tiles that stay in the cache. One op is a
// line of one; gradients and fused chains are longer ones.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "weft/tensor/array.h"

namespace weft::kernels {

using tensor::Array;
using tensor::DType;
using tensor::Lane;

// A compiled formula over contiguous tiles of one lane type.
using BlockFunction = void (*)(void* out, const void* const* in, int64_t count);

// Number of the formula with this name among those compiled, or -1.
int find_formula(std::string_view name);
// Its block loop for the processor at hand; null when it is not compiled for that lane.
BlockFunction block_function(int formula, Lane lane);

struct MapStep {
  int16_t formula;
  uint8_t inputs[4];  // slots; the program's inputs come first, then each step's result in order
  uint8_t input_count;
};

// Every value of a map program has the lane's type; dtypes matter only at its borders.
struct MapProgram {
  Lane lane = Lane::f32;
  uint8_t input_count = 0;
  std::vector<MapStep> steps;
  std::vector<uint8_t> outputs;  // slots
};

// Runs over the broadcast of the inputs. Outputs are allocated, all of one shape; inputs are of any
// dtype and strides and have been expanded to that shape. An output may be the very same view as
// an input (in-place); other overlaps are the caller's to avoid.
void run_map(const MapProgram& program, std::span<const Array> inputs,
             std::span<const Array> outputs);
// The same for one formula, without building a program: the path of eager element-wise ops.
void run_formula(int formula, Lane lane, std::span<const Array> inputs, const Array& output);

// out[...] = in[...] with conversion of dtype; shapes are equal, strides are free, no overlap
// unless identical.
void copy(const Array& in, const Array& out);
// The same elements in a row and of a dtype: the array itself, or a copy.
Array converted(const Array& array, DType dtype);
// Calls make(array) with an array of a dtype: `out` itself, or one that is then copied to it.
template <class Make>
void made_as(DType dtype, const Array& out, Make make) {
  if (out.dtype == dtype) return make(out);
  const Array made = Array::allocate(out.sizes, dtype);
  make(made);
  copy(made, out);
}
void fill(const Array& out, double value);
void fill(const Array& out, int64_t value);

}  // namespace weft::kernels
