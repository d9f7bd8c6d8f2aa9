// Softmax and normalisations. Their gradients are kernels of their own; where gradients of gradients
// are wanted, the rules are written with plain ops instead.
#include <algorithm>
#include <numeric>

#include "weft/kernels/normalize.h"
#include "weft/ops/batching.h"
#include "weft/ops/lanes.h"

namespace weft::ops {
using namespace graph;
using base::ErrorKind;

namespace {

int64_t dim_of(const Call& call) {
  const int64_t dim = call.integer("dim");
  return dim < 0 ? dim + std::max<int64_t>(call.in(0).rank(), 1) : dim;
}

void require_dim(const Call& call) {
  const int64_t dim = call.integer("dim"), rank = std::max<int64_t>(1, call.in(0).rank());
  if (dim < -rank || dim >= rank) call.dim("dim", call.in(0).rank());
}

void softmax_shape(Call& call) {
  const DType dtype = call.has("dtype") ? call.dtype("dtype") : call.in(0).dtype;
  call.require(tensor::is_floating(dtype), ErrorKind::dtype,
               "input must be floating point (or dtype must be given), got ",
               tensor::name_of(dtype));
  require_dim(call);
  call.add_output(call.in(0).sizes, dtype);
}

template <bool logarithm>
void run_softmax(Call& call) {
  const Array in = call.contiguous(0, lane_dtype(call.out().dtype));
  into(call.out(), [&](const Array& out) { kernels::softmax(in, dim_of(call), logarithm, out); });
}

void softmax_backward_shape(Call& call) {
  call.require(call.in(0).sizes == call.in(1).sizes, ErrorKind::shape,
               "grad and output must have the same shape; grad is ", call.in(0).sizes,
               ", output is ", call.in(1).sizes);
  call.require(tensor::is_floating(call.in(1).dtype), ErrorKind::dtype,
               "output must be floating point, got ", tensor::name_of(call.in(1).dtype));
  require_dim(call);
  call.add_output(call.in(1).sizes, call.in(1).dtype);
}

template <bool logarithm>
void run_softmax_backward(Call& call) {
  const DType lane = lane_dtype(call.out().dtype);
  const Array grad = call.contiguous(0, lane), result = call.contiguous(1, lane);
  into(call.out(), [&](const Array& out) {
    kernels::softmax_backward(grad, result, dim_of(call), logarithm, out);
  });
}

// The last dimensions, as many as `shape` has.
Dims last_dims(int64_t rank, size_t count) {
  Dims dims(count);
  std::iota(dims.begin(), dims.end(), rank - static_cast<int64_t>(count));
  return dims;
}

}  // namespace

// --- softmax ----------------------------------------------------------------------------------------

OP(softmax, "(input: Tensor, dim: int, *, dtype: dtype? = None) -> Tensor") {
  .doc = "Returns the exponentials along a dimension, divided by their sum.",
  .shape = softmax_shape,
  .run = kernel(run_softmax<false>),
  .gradient = [](Gradient& g) -> Values {
    return {softmax_backward(g.grad(), g.output(), g.integer("dim"))};
  },
  .batch = rows_along,
};

OP(log_softmax, "(input: Tensor, dim: int, *, dtype: dtype? = None) -> Tensor") {
  .doc = "Returns the logarithm of `softmax`, without overflow.",
  .shape = softmax_shape,
  .run = kernel(run_softmax<true>),
  .gradient = [](Gradient& g) -> Values {
    return {log_softmax_backward(g.grad(), g.output(), g.integer("dim"))};
  },
  .batch = rows_along,
};

OP(softmax_backward, "(grad: Tensor, output: Tensor, dim: int) -> Tensor") {
  .doc = "Returns the gradient of softmax's input: output * (grad - sum(grad * output)).",
  .shape = softmax_backward_shape,
  .run = kernel(run_softmax_backward<false>),
  .gradient = [](Gradient& g) -> Values {
    const Value &grad = g.input(0), &output = g.input(1), &v = g.grad();
    const Dims dim = {g.integer("dim")};
    return {softmax_backward(v, output, g.integer("dim")),
            v * (grad - sum(grad * output, dim, true)) - grad * sum(v * output, dim, true)};
  },
  .batch = rows_along,
};

OP(log_softmax_backward, "(grad: Tensor, output: Tensor, dim: int) -> Tensor") {
  .doc = "Returns the gradient of log_softmax's input: grad - exp(output) * sum(grad).",
  .shape = softmax_backward_shape,
  .run = kernel(run_softmax_backward<true>),
  .gradient = [](Gradient& g) -> Values {
    const Value &grad = g.input(0), &v = g.grad();
    const Value weighted = v * exp(g.input(1));
    const Dims dim = {g.integer("dim")};
    return {v - sum(weighted, dim, true), -weighted * sum(grad, dim, true)};
  },
  .batch = rows_along,
};

// --- normalisation ----------------------------------------------------------------------------------

OP(layer_norm,
   "(input: Tensor, normalized_shape: int[], weight: Tensor? = None, bias: Tensor? = None, "
   "eps: float = 1e-05) -> Tensor") {
  .doc = "Brings the last dimensions, of sizes `normalized_shape`, to mean 0 and variance 1, then "
         "multiplies by `weight` and adds `bias`.",
  .shape = [](Call& call) {
    const Dims &shape = call.integers("normalized_shape"), &sizes = call.in(0).sizes;
    call.require(!shape.empty() && sizes.size() >= shape.size() &&
                     std::equal(shape.begin(), shape.end(), sizes.end() - shape.size()),
                 ErrorKind::shape, "input's last sizes must be normalized_shape ", shape,
                 "; input is ", sizes);
    call.require(tensor::is_floating(call.in(0).dtype), ErrorKind::dtype,
                 "input must be floating point, got ", tensor::name_of(call.in(0).dtype));
    for (size_t i = 1; i < 3; ++i) {
      const char* name = i == 1 ? "weight" : "bias";
      call.require(!call[i] || call.in(i).sizes == shape, ErrorKind::shape, name,
                   " must be of shape ", shape, "; ", name, " is ",
                   call[i] ? call.in(i).sizes : Dims(), ", input is ", sizes);
    }
    call.add_output(sizes, call.in(0).dtype);
  },
  .run = kernel([](Call& call) {
    const DType lane = lane_dtype(call.out().dtype);
    const Array in = call.contiguous(0, lane);
    const Array weight = lane_input(call, 1, lane), bias = lane_input(call, 2, lane);
    const int64_t size = tensor::count_of(call.integers("normalized_shape"));
    into(call.out(), [&](const Array& out) {
      kernels::layer_norm(in, weight, bias, call.real("eps"), size, out);
    });
  }),
  .gradient = [](Gradient& g) -> Values {
    const Value &grad = g.grad(), &input = g.input(0);
    const Value weight = g.was_given(1) ? g.input(1) : Value();
    const Dims& shape = g.integers("normalized_shape");
    if (!modes.grad) {
      const Values parts = layer_norm_backward(
          grad, input, weight, tensor::count_of(shape), g.real("eps"),
          (g.needs(0) ? 1 : 0) + (g.needs(1) ? 2 : 0) + (g.needs(2) ? 4 : 0));
      return {g.needs(0) ? parts[0] : Value(), g.needs(1) ? reshape(parts[1], shape) : Value(),
              g.needs(2) ? reshape(parts[2], shape) : Value()};
    }
    const Dims dims = last_dims(input.rank(), shape.size());
    const Value away = input - mean(input, dims, true);
    const Value scale = rsqrt(mean(away * away, dims, true) + g.real("eps"));
    const Value normal = away * scale;
    const Value u = weight ? grad * weight : grad;
    // The engine adds up the parameters' gradients over the rows.
    return {scale * (u - mean(u, dims, true) - normal * mean(u * normal, dims, true)),
            g.needs(1) ? grad * normal : Value(), g.needs(2) ? grad : Value()};
  },
  .batch = with_weights({1, 2}, [](const Batched& b) -> Values {
    const bool shared = !b.is_stacked(1) && !b.is_stacked(2);
    const auto given = [&](size_t i) { return shared && b.was_given(i) ? b.in(i) : Value(); };
    Value result = layer_norm(b.with_rows(0), b.integers("normalized_shape"), given(1), given(2),
                              b.real("eps"));
    if (!shared && b.was_given(1)) result = result * b.with_rows(1, b.rank(0));
    if (!shared && b.was_given(2)) result = result + b.with_rows(2, b.rank(0));
    return {result};
  }),
  .shown_as = "NativeLayerNormBackward0",
};

OP(layer_norm_backward,
   "(grad: Tensor, input: Tensor, weight: Tensor? = None, size: int = 1, eps: float = 1e-05, "
   "wanted: int = 7) -> (grad_input: Tensor, grad_weight: Tensor, grad_bias: Tensor)") {
  .doc = "Returns the gradients of layer_norm over rows of `size`; those whose bit in `wanted` is not "
         "set are empty.",
  .shape = [](Call& call) {
    const int64_t size = call.integer("size"), wanted = call.integer("wanted");
    const Array& input = call.in(1);
    call.require(call.in(0).sizes == input.sizes, ErrorKind::shape,
                 "grad and input must have the same shape; grad is ", call.in(0).sizes,
                 ", input is ", input.sizes);
    call.require(size >= 0 && (size == 0 ? input.count() == 0 : input.count() % size == 0) &&
                     (!call[2] || call.in(2).count() == size),
                 ErrorKind::shape, "rows of ", size, " elements do not fit; input is ", input.sizes);
    call.require(tensor::is_floating(input.dtype), ErrorKind::dtype,
                 "input must be floating point, got ", tensor::name_of(input.dtype));
    call.add_output(wanted & 1 ? input.sizes : Dims{0}, input.dtype);
    call.add_output({wanted & 2 ? size : 0}, input.dtype);
    call.add_output({wanted & 4 ? size : 0}, input.dtype);
  },
  .run = kernel([](Call& call) {
    const DType lane = lane_dtype(call.in(1).dtype);
    const Array grad = call.contiguous(0, lane), input = call.contiguous(1, lane);
    const Array weight = lane_input(call, 2, lane);
    const auto wanted = [&](int i, const Array& out) {
      return call.integer("wanted") >> i & 1 ? out : Array();
    };
    into_all(call, [&](const auto& out) {
      kernels::layer_norm_backward(grad, input, weight, call.real("eps"), call.integer("size"),
                                   wanted(0, out[0]), wanted(1, out[1]), wanted(2, out[2]));
    });
  }),
  .gradient = no_gradient("layer_norm's rule uses plain ops where gradients of gradients are wanted"),
  .batch = [](const Batched& b) -> Values {
    const int64_t wanted = b.integer("wanted");
    if (wanted != 1 || b.is_stacked(2)) return {};  // sums over rows of one example
    const Value weight = b.was_given(2) ? b.in(2) : Value();
    const Value result = layer_norm_backward(b.with_rows(0), b.with_rows(1), weight,
                                             b.integer("size"), b.real("eps"), wanted)[0];
    const Value none = zeros({b.rows(), 0}, result.dtype());
    return {result, none, none};
  },
};

}  // namespace weft::ops
