// Copies: what in-place writes are made of, to another dtype, and as they are.
#include "ops.h"
#include "weft/kernels/map.h"
#include "weft/ops/batching.h"

namespace weft::ops {
using namespace graph;
using base::ErrorKind;

namespace {

void like_first(Call& call) {
  call.compute = call[0].dtype();
  call.add_output(call[0].sizes(), call[0].dtype());
}

void copy_second(Call& call) { kernels::copy(call.in(1).expand(call.out().sizes), call.out()); }

Values copy_rows(const Batched& b) {
  return {copy(b.with_rows(0), rows_in_dtype(b, 1, b.rank(0), b.dtype(0)))};
}

}  // namespace

OP(copy, "(input: Tensor, source: Tensor|Number) -> Tensor") {
  .doc = "Returns source broadcast to input's shape and cast to its dtype. `x.copy_(y)` and `x[i] = y` "
         "are its in-place form.",
  .shape = [](Call& call) {
    const auto both = tensor::broadcast(call[0].sizes(), call[1].sizes());
    call.require(both && *both == call[0].sizes(), ErrorKind::shape,
                 "source must broadcast to input; input is ", call[0].sizes(), ", source is ",
                 call[1].sizes());
    like_first(call);
  },
  .run = kernel(copy_second),
  .gradient = [](Gradient& g) -> Values { return {Value(), g.grad()}; },
  .batch = copy_rows,
};

OP(fill, "(input: Tensor, value: Tensor|Number) -> Tensor") {
  .doc = "Returns a tensor like input with every element equal to value.",
  .shape = [](Call& call) {
    call.require(call[1].rank() == 0, ErrorKind::shape,
                 "value must be a number or a 0-d tensor; value is ", call[1].sizes());
    like_first(call);
  },
  .run = kernel(copy_second),
  .gradient = [](Gradient& g) -> Values { return {Value(), g.grad()}; },
  .batch = copy_rows,
};

OP(zero, "(input: Tensor) -> Tensor") {
  .doc = "Returns a tensor of zeros like input; `x.zero_()` is its in-place form.",
  .shape = [](Call& call) { call.add_output(call[0].sizes(), call[0].dtype()); },
  .run = kernel([](Call& call) { kernels::fill(call.out(), int64_t{0}); }),
  .gradient = [](Gradient&) -> Values { return {Value()}; },
  .batch = rows_alike,
};

OP(cast, "(input: Tensor, dtype: dtype) -> Tensor") {
  .doc = "Copies a tensor into another dtype. Floats lose their fraction on the way to integers, "
         "which keep their low bits when they are too large.",
  .shape = [](Call& call) { call.add_output(call.in(0).sizes, call.dtype("dtype")); },
  .run = kernel([](Call& call) { kernels::copy(call.in(0), call.out()); }),
  // The engine brings a gradient to its input's dtype.
  .gradient = [](Gradient& g) -> Values { return {g.grad()}; },
  .batch = rows_alike,
  .shown_as = "ToCopyBackward0",
};

OP(clone, "(input: Tensor) -> Tensor") {
  .doc = "Copies a tensor into memory of its own.",
  .shape = [](Call& call) { call.add_output(call.in(0).sizes, call.in(0).dtype); },
  .run = kernel([](Call& call) { kernels::copy(call.in(0), call.out()); }),
  .gradient = [](Gradient& g) -> Values { return {g.grad()}; },
  .batch = rows_alike,
};

OP(contiguous, "(input: Tensor) -> Tensor") {
  .doc = "Returns the tensor itself if its elements lie in a row, otherwise a copy.",
  .run = composite([](const Call& call) -> Values {
    return {call.in(0).is_contiguous() ? call[0] : clone(call[0])};
  }),
};

}  // namespace weft::ops
