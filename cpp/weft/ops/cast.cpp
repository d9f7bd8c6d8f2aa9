// Copies: to another dtype, and as they are.
#include "ops.h"
#include "weft/kernels/map.h"

namespace weft::ops {
using namespace graph;

OP(cast) {
  .signature = "cast(input: Tensor, dtype: dtype) -> Tensor",
  .doc = "Copies a tensor into another dtype. Floats lose their fraction on the way to integers, "
         "which keep their low bits when they are too large.",
  .shape = [](Call& call) { call.add_output(call.in(0).sizes, call.dtype("dtype")); },
  .run = kernel([](Call& call) { kernels::copy(call.in(0), call.out()); }),
  // The engine brings a gradient to its input's dtype.
  .gradient = [](Gradient& g) -> Values { return {g.grad()}; },
  .shown_as = "ToCopyBackward0",
};

OP(clone) {
  .signature = "clone(input: Tensor) -> Tensor",
  .doc = "Copies a tensor into memory of its own.",
  .shape = [](Call& call) { call.add_output(call.in(0).sizes, call.in(0).dtype); },
  .run = kernel([](Call& call) { kernels::copy(call.in(0), call.out()); }),
  .gradient = [](Gradient& g) -> Values { return {g.grad()}; },
};

OP(contiguous) {
  .signature = "contiguous(input: Tensor) -> Tensor",
  .doc = "Returns the tensor itself if its elements lie in a row, otherwise a copy.",
  .shape = of_parts(),
  .run = composite([](const Call& call) -> Values {
    return {call.in(0).is_contiguous() ? call[0] : clone(call[0])};
  }),
  .gradient = of_parts(),
};

}  // namespace weft::ops
