// Softmax and normalisations. Their gradients are kernels of their own; where gradients of gradients
// are wanted, the rules are written with plain ops instead.
#include <algorithm>
#include <numeric>

#include "ops.h"
#include "weft/kernels/map.h"
#include "weft/kernels/normalize.h"
#include "weft/tensor/promotion.h"

namespace weft::ops {
using namespace graph;
using base::ErrorKind;

namespace {

DType lane_dtype(DType dtype) { return tensor::dtype_of(tensor::lane_of(dtype)); }

// Runs a kernel on an output of its lane's dtype, and converts if the output is of a narrower one.
template <class Kernel>
void into(const Array& out, Kernel kernel) {
  if (out.dtype == lane_dtype(out.dtype)) return kernel(out);
  const Array wide = Array::allocate(out.sizes, lane_dtype(out.dtype));
  kernel(wide);
  kernels::copy(wide, out);
}

// The dimension as the shape rule has checked it.
tensor::Split split_of(const Call& call) {
  const Dims& sizes = call.in(0).sizes;
  const int64_t dim = call.integer("dim"), rank = std::max<int64_t>(1, sizes.size());
  return tensor::split_at(sizes, dim < 0 ? dim + rank : dim);
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

void run_softmax(Call& call, bool logarithm) {
  const Array in = call.contiguous(0, lane_dtype(call.out().dtype));
  into(call.out(),
       [&](const Array& out) { kernels::softmax(in, split_of(call), logarithm, out); });
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

void run_softmax_backward(Call& call, bool logarithm) {
  const DType lane = lane_dtype(call.out().dtype);
  const Array grad = call.contiguous(0, lane), output = call.contiguous(1, lane);
  into(call.out(), [&](const Array& out) {
    kernels::softmax_backward(grad, output, split_of(call), logarithm, out);
  });
}

// The last dimensions, as many as `shape` has.
Dims last_dims(int64_t rank, size_t count) {
  Dims dims(count);
  std::iota(dims.begin(), dims.end(), rank - static_cast<int64_t>(count));
  return dims;
}

void require_normalized(const Call& call, const Dims& shape) {
  const Dims& sizes = call.in(0).sizes;
  call.require(!shape.empty() && sizes.size() >= shape.size() &&
                   std::equal(shape.begin(), shape.end(), sizes.end() - shape.size()),
               ErrorKind::shape, "input's last sizes must be normalized_shape ", shape,
               "; input is ", sizes);
  call.require(tensor::is_floating(call.in(0).dtype), ErrorKind::dtype,
               "input must be floating point, got ", tensor::name_of(call.in(0).dtype));
}

// Weight and bias, where given, have one value for each of `sizes`.
void require_parameters(const Call& call, size_t first, const Dims& sizes) {
  for (size_t i = first; i < first + 2 && i < call.inputs.size(); ++i) {
    if (!call[i]) continue;
    call.require(call.in(i).sizes == sizes, ErrorKind::shape, i == first ? "weight" : "bias",
                 " must be of shape ", sizes, "; ", i == first ? "weight" : "bias", " is ",
                 call.in(i).sizes, ", input is ", call.in(0).sizes);
  }
}

// A value for each channel, shaped to broadcast against (N, C, ...).
Value for_channels(const Value& value, int64_t rank) {
  Dims sizes(static_cast<size_t>(rank), 1);
  sizes[1] = value.count();
  return reshape(value, sizes);
}

// (input - mean) * scale * weight + bias, where all but the input broadcast: one factor and one addend
// leave a single pass over the large tensor.
Value normalized(const Value& input, const Value& mean, const Value& scale, const Value& weight,
                 const Value& bias) {
  const Value factor = weight ? scale * weight : scale;
  const Value shift = bias ? bias - mean * factor : -(mean * factor);
  return addcmul(shift, input, factor);
}

}  // namespace

// --- softmax ----------------------------------------------------------------------------------------

OP(softmax) {
  .signature = "softmax(input: Tensor, dim: int, *, dtype: dtype? = None) -> Tensor",
  .doc = "Returns the exponentials along a dimension, divided by their sum.",
  .shape = softmax_shape,
  .run = kernel([](Call& call) { run_softmax(call, false); }),
  .gradient = [](Gradient& g) -> Values {
    return {softmax_backward(g.grad(), g.output(), g.integer("dim"))};
  },
};

OP(log_softmax) {
  .signature = "log_softmax(input: Tensor, dim: int, *, dtype: dtype? = None) -> Tensor",
  .doc = "Returns the logarithm of `softmax`, without overflow.",
  .shape = softmax_shape,
  .run = kernel([](Call& call) { run_softmax(call, true); }),
  .gradient = [](Gradient& g) -> Values {
    return {log_softmax_backward(g.grad(), g.output(), g.integer("dim"))};
  },
};

OP(softmax_backward) {
  .signature = "softmax_backward(grad: Tensor, output: Tensor, dim: int) -> Tensor",
  .doc = "Returns the gradient of softmax's input: output * (grad - sum(grad * output)).",
  .shape = softmax_backward_shape,
  .run = kernel([](Call& call) { run_softmax_backward(call, false); }),
  .gradient = [](Gradient& g) -> Values {
    const Value &grad = g.input(0), &output = g.input(1), &v = g.grad();
    const Dims dim = {g.integer("dim")};
    return {softmax_backward(v, output, g.integer("dim")),
            v * (grad - sum(grad * output, dim, true)) - grad * sum(v * output, dim, true)};
  },
};

OP(log_softmax_backward) {
  .signature = "log_softmax_backward(grad: Tensor, output: Tensor, dim: int) -> Tensor",
  .doc = "Returns the gradient of log_softmax's input: grad - exp(output) * sum(grad).",
  .shape = softmax_backward_shape,
  .run = kernel([](Call& call) { run_softmax_backward(call, true); }),
  .gradient = [](Gradient& g) -> Values {
    const Value &grad = g.input(0), &v = g.grad();
    const Value weighted = v * exp(g.input(1));
    const Dims dim = {g.integer("dim")};
    return {v - sum(weighted, dim, true), -weighted * sum(grad, dim, true)};
  },
};

// --- normalisation ----------------------------------------------------------------------------------

OP(layer_norm) {
  .signature = "layer_norm(input: Tensor, normalized_shape: int[], weight: Tensor? = None, "
               "bias: Tensor? = None, eps: float = 1e-05) -> Tensor",
  .doc = "Brings the last dimensions, of sizes `normalized_shape`, to mean 0 and variance 1, then "
         "multiplies by `weight` and adds `bias`.",
  .shape = [](Call& call) {
    const Dims& shape = call.integers("normalized_shape");
    require_normalized(call, shape);
    require_parameters(call, 1, shape);
    call.add_output(call.in(0).sizes, call.in(0).dtype);
  },
  .run = kernel([](Call& call) {
    const DType lane = lane_dtype(call.out().dtype);
    const Array in = call.contiguous(0, lane);
    const Array weight = call[1] ? call.contiguous(1, lane) : Array();
    const Array bias = call[2] ? call.contiguous(2, lane) : Array();
    const int64_t size = tensor::count_of(call.integers("normalized_shape"));
    into(call.out(), [&](const Array& out) {
      kernels::layer_norm(in, call[1] ? &weight : nullptr, call[2] ? &bias : nullptr,
                          call.real("eps"), size, out);
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
  .shown_as = "NativeLayerNormBackward0",
};

OP(layer_norm_backward) {
  .signature = "layer_norm_backward(grad: Tensor, input: Tensor, weight: Tensor? = None, "
               "size: int = 1, eps: float = 1e-05, wanted: int = 7) -> "
               "(grad_input: Tensor, grad_weight: Tensor, grad_bias: Tensor)",
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
    const Array weight = call[2] ? call.contiguous(2, lane) : Array();
    Array results[3];
    const Array* wanted[3] = {};
    for (int i = 0; i < 3; ++i) {
      const Array& out = call.out(i);
      if (!(call.integer("wanted") >> i & 1)) continue;
      results[i] = out.dtype == lane ? out : Array::allocate(out.sizes, lane);
      wanted[i] = &results[i];
    }
    kernels::layer_norm_backward(grad, input, call[2] ? &weight : nullptr, call.real("eps"),
                                 call.integer("size"), wanted[0], wanted[1], wanted[2]);
    for (int i = 0; i < 3; ++i) {
      if (wanted[i] && call.out(i).dtype != lane) kernels::copy(results[i], call.out(i));
    }
  }),
  .gradient = no_gradient("layer_norm's rule uses plain ops where gradients of gradients are wanted"),
};

OP(rms_norm) {
  .signature = "rms_norm(input: Tensor, normalized_shape: int[], weight: Tensor? = None, "
               "eps: float? = None) -> Tensor",
  .doc = "Divides the last dimensions, of sizes `normalized_shape`, by their root mean square, then "
         "multiplies by `weight`.",
  .shape = of_parts(),
  .run = composite([](const Call& call) -> Values {
    const Dims& shape = call.integers("normalized_shape");
    require_normalized(call, shape);
    require_parameters(call, 1, shape);
    const Value& input = call[0];
    const double epsilon = call.has("eps")               ? call.real("eps")
                           : input.dtype() == DType::f64 ? 0x1p-52
                           : input.dtype() == DType::f32 ? 0x1p-23
                           : input.dtype() == DType::f16 ? 0x1p-10
                                                         : 0x1p-7;
    const Value power = mean(square(input), last_dims(input.rank(), shape.size()), true);
    const Value result = input * rsqrt(power + epsilon);
    return {call[1] ? result * call[1] : result};
  }),
  .gradient = of_parts(),
};

OP(group_norm) {
  .signature = "group_norm(input: Tensor, num_groups: int, weight: Tensor? = None, "
               "bias: Tensor? = None, eps: float = 1e-05) -> Tensor",
  .doc = "Brings each group of channels of (N, C, ...) to mean 0 and variance 1, then multiplies by "
         "`weight` and adds `bias`, one for each channel.",
  .shape = of_parts(),
  .run = composite([](const Call& call) -> Values {
    const Value& input = call[0];
    const int64_t groups = call.integer("num_groups");
    call.require(input.rank() >= 2, ErrorKind::shape,
                 "input must have at least 2 dimensions (N, C, ...); input is ", input.sizes());
    call.require(groups > 0 && input.size(1) % groups == 0, ErrorKind::shape,
                 "input's channels must be divisible by num_groups ", groups, "; input is ",
                 input.sizes());
    require_parameters(call, 1, {input.size(1)});
    if (input.count() == 0) return {alias(input)};
    // Statistics of (N, groups), parameters of (groups, channels of one), all against the input as
    // (N, groups, channels of one, rest).
    const int64_t batch = input.size(0), channels = input.size(1) / groups;
    const Dims parameter = {groups, channels, 1};
    const Value grouped = reshape(input, {batch, groups, channels, -1});
    const Values moments = var_mean(grouped, Dims{2, 3}, int64_t{0}, true);
    const Value scale = rsqrt(moments[0] + call.real("eps"));
    const Value result =
        normalized(grouped, moments[1], scale, call[1] ? reshape(call[1], parameter) : Value(),
                   call[2] ? reshape(call[2], parameter) : Value());
    return {reshape(result, input.sizes())};
  }),
  .gradient = of_parts(),
};

OP(normalize_channels) {
  .signature = "normalize_channels(input: Tensor, mean: Tensor, var: Tensor, weight: Tensor? = None, "
               "bias: Tensor? = None, eps: float = 1e-05) -> Tensor",
  .doc = "Returns (input - mean) / sqrt(var + eps) * weight + bias for channels of (N, C, ...): batch "
         "normalisation by given statistics.",
  .shape = of_parts(),
  .run = composite([](const Call& call) -> Values {
    const Value& input = call[0];
    call.require(input.rank() >= 2, ErrorKind::shape,
                 "input must have at least 2 dimensions (N, C, ...); input is ", input.sizes());
    const Dims channels = {input.size(1)};
    for (size_t i = 1; i < call.inputs.size(); ++i) {
      call.require(!call[i] || call[i].sizes() == channels, ErrorKind::shape,
                   "statistics and parameters must be of shape ", channels, ", got ",
                   call[i] ? call[i].sizes() : Dims(), "; input is ", input.sizes());
    }
    const auto shaped = [&](const Value& value) {
      return value ? for_channels(value, input.rank()) : Value();
    };
    return {normalized(input, shaped(call[1]), shaped(rsqrt(call[2] + call.real("eps"))),
                       shaped(call[3]), shaped(call[4]))};
  }),
  .gradient = of_parts(),
};

OP(batch_norm_train) {
  .signature = "batch_norm_train(input: Tensor, weight: Tensor? = None, bias: Tensor? = None, "
               "eps: float = 1e-05) -> (output: Tensor, mean: Tensor, var: Tensor)",
  .doc = "Normalises channels of (N, C, ...) by their own statistics, and returns those too: the mean "
         "and the variance without correction.",
  .shape = of_parts(),
  .run = composite([](const Call& call) -> Values {
    const Value& input = call[0];
    call.require(input.rank() >= 2, ErrorKind::shape,
                 "input must have at least 2 dimensions (N, C, ...); input is ", input.sizes());
    require_parameters(call, 1, {input.size(1)});
    Dims dims = {0};
    for (int64_t i = 2; i < input.rank(); ++i) dims.push_back(i);
    const Values moments = var_mean(input, dims, int64_t{0});
    return {normalize_channels(input, moments[1], moments[0], call[1], call[2], call.real("eps")),
            moments[1], moments[0]};
  }),
  .gradient = of_parts(),
};

}  // namespace weft::ops
