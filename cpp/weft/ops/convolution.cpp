// Convolutions over one or two dimensions. The convolution, its transpose and the gradient of its
// weight are each linear in both operands, and each is a gradient of the others.
#include <algorithm>

#include "weft/kernels/conv.h"
#include "weft/ops/batching.h"
#include "weft/ops/lanes.h"

namespace weft::ops {
using namespace graph;
using base::ErrorKind;
using kernels::ConvShape;

namespace {

constexpr int64_t largest_step = int64_t{1} << 31;  // of strides, paddings and dilations

// A list with one entry for each spatial dimension; one entry alone stands for all.
Dims spatial(const Call& call, std::string_view name, int64_t count, int64_t least) {
  Dims list = call.integers(name);
  if (list.size() == 1) list = Dims(static_cast<size_t>(count), list[0]);
  call.require(static_cast<int64_t>(list.size()) == count, ErrorKind::value, name, " must have 1 or ",
               count, " entries, got ", list);
  for (int64_t value : list) {
    call.require(value >= least && value < largest_step, ErrorKind::value, name, " must be at least ",
                 least, ", got ", list);
  }
  return list;
}

struct Settings {
  Dims stride, padding, dilation;
  int64_t groups;
  Settings(const Call& call, int64_t count)
      : stride(spatial(call, "stride", count, 1)),
        padding(spatial(call, "padding", count, 0)),
        dilation(spatial(call, "dilation", count, 1)),
        groups(call.integer("groups")) {}
};

// Checks that all sizes of user-given products stay small enough to be multiplied.
int64_t span_of(const Call& call, int64_t kernel, int64_t dilation) {
  int64_t span = 0;
  call.require(!__builtin_mul_overflow(kernel - 1, dilation, &span) && span < largest_step * 1024,
               ErrorKind::shape, "the kernel with its dilation is too large");
  return span + 1;
}

void require_operands(const Call& call, bool transposed) {
  const Array &input = call.in(0), &weight = call.in(1);
  const int64_t rank = weight.rank();
  call.require(rank == 3 || rank == 4, ErrorKind::shape, "weight must have 3 or 4 dimensions; weight is ",
               weight.sizes);
  call.require(input.rank() == rank, ErrorKind::shape,
               "input must have as many dimensions as weight; input is ", input.sizes, ", weight is ",
               weight.sizes);
  call.require(tensor::is_floating(input.dtype) && input.dtype == weight.dtype, ErrorKind::dtype,
               "input and weight must be of one floating-point dtype; input is ",
               tensor::name_of(input.dtype), ", weight is ", tensor::name_of(weight.dtype));
  const int64_t groups = call.integer("groups");
  call.require(groups > 0 && weight.sizes[0] % groups == 0, ErrorKind::shape,
               "groups must be positive and divide weight's first size; weight is ", weight.sizes,
               ", groups is ", groups);
  const int64_t wanted = transposed ? weight.sizes[0] : weight.sizes[1] * groups;
  call.require(input.sizes[1] == wanted, ErrorKind::shape, "input must have ", wanted,
               " channels for this weight and groups; input is ", input.sizes, ", weight is ",
               weight.sizes, ", groups is ", groups);
  const int64_t out = transposed ? weight.sizes[1] * groups : weight.sizes[0];
  if (call.inputs.size() > 2 && call[2]) {
    call.require(call.in(2).sizes == Dims{out} && call.in(2).dtype == input.dtype, ErrorKind::shape,
                 "bias must have ", out, " elements of input's dtype; bias is ", call.in(2).sizes,
                 ", weight is ", weight.sizes);
  }
}

Dims convolved_sizes(const Call& call) {
  require_operands(call, false);
  const Array &input = call.in(0), &weight = call.in(1);
  const int64_t count = weight.rank() - 2;
  const Settings settings(call, count);
  Dims sizes = {input.sizes[0], weight.sizes[0]};
  for (int64_t i = 0; i < count; ++i) {
    const int64_t span = span_of(call, weight.sizes[2 + i], settings.dilation[i]);
    const int64_t room = input.sizes[2 + i] + 2 * settings.padding[i];
    call.require(weight.sizes[2 + i] > 0 && room >= span, ErrorKind::shape,
                 "the kernel must fit into the padded input; input is ", input.sizes, ", weight is ",
                 weight.sizes, ", padding is ", settings.padding, ", dilation is ",
                 settings.dilation);
    sizes.push_back((room - span) / settings.stride[i] + 1);
  }
  return sizes;
}

Dims transposed_sizes(const Call& call) {
  require_operands(call, true);
  const Array &input = call.in(0), &weight = call.in(1);
  const int64_t count = weight.rank() - 2;
  const Settings settings(call, count);
  const Dims extra = spatial(call, "output_padding", count, 0);
  Dims sizes = {input.sizes[0], weight.sizes[1] * settings.groups};
  for (int64_t i = 0; i < count; ++i) {
    call.require(extra[i] < std::max(settings.stride[i], settings.dilation[i]), ErrorKind::value,
                 "output_padding must be smaller than stride or dilation; output_padding is ", extra);
    const int64_t span = span_of(call, weight.sizes[2 + i], settings.dilation[i]);
    int64_t steps = 0;
    call.require(!__builtin_mul_overflow(input.sizes[2 + i] - 1, settings.stride[i], &steps) &&
                     steps < int64_t{1} << 50,
                 ErrorKind::memory, "the result is too large");
    const int64_t size = steps - 2 * settings.padding[i] + span + extra[i];
    call.require(size > 0 && input.sizes[2 + i] > 0 && weight.sizes[2 + i] > 0, ErrorKind::shape,
                 "the result would have no elements; input is ", input.sizes, ", weight is ",
                 weight.sizes, ", padding is ", settings.padding);
    sizes.push_back(size);
  }
  tensor::checked_count(call.heading(), sizes);
  return sizes;
}

// The kernels' view of it: `image` is what windows are taken of, `out` has one element a window.
ConvShape shape_of(const Settings& settings, const Dims& image, const Dims& weight, const Dims& out) {
  ConvShape shape;
  shape.batch = image[0];
  shape.groups = settings.groups;
  shape.in_channels = weight[1];
  shape.out_channels = weight[0] / settings.groups;
  const size_t count = weight.size() - 2;
  for (size_t i = 0; i < count; ++i) {
    (i + 1 == count ? shape.x : shape.y) = {image[2 + i],       weight[2 + i],       out[2 + i],
                                            settings.stride[i], settings.padding[i], settings.dilation[i]};
  }
  return shape;
}

// With nothing to multiply the result is the bias, or zero.
bool is_trivial(const Call& call, const Array& out) {
  if (call.in(0).count() != 0 && call.in(1).count() != 0 && out.count() != 0) return false;
  if (out.count() == 0) return true;
  if (call.inputs.size() > 2 && call[2]) {
    const Array& bias = call.in(2);
    Dims strides(out.sizes.size(), 0);
    strides[1] = bias.strides[0];
    kernels::copy(bias.view(out.sizes, strides, bias.offset), out);
  } else {
    kernels::fill(out, 0.0);
  }
  return true;
}

// Runs a kernel over windows of `image`, of which `small` has one element each.
template <class Kernel>
void run_over(Call& call, const Dims& image, const Dims& weight, const Dims& small, Kernel kernel) {
  if (is_trivial(call, call.out())) return;
  const DType lane = lane_dtype(call.out().dtype);
  const Settings settings(call, static_cast<int64_t>(weight.size()) - 2);
  const Array first = call.contiguous(0, lane), second = call.contiguous(1, lane);
  const Array bias = call.inputs.size() > 2 ? lane_input(call, 2, lane) : Array();
  const ConvShape shape = shape_of(settings, image, weight, small);
  into(call.out(), [&](const Array& out) { kernel(shape, first, second, bias, out); });
}

Dims without_first_two(const Dims& sizes) { return Dims(sizes.begin() + 2, sizes.end()); }

// Everything but the channels.
Dims bias_dims(const Value& grad) {
  Dims dims = {0};
  for (int64_t i = 2; i < grad.rank(); ++i) dims.push_back(i);
  return dims;
}

// What a transposed convolution must add so that its result has the wanted sizes.
Dims missing_sizes(const Arguments& a, const Dims& wanted, const Dims& small, const Dims& kernel) {
  Dims extra;
  const auto at = [&](std::string_view name, size_t i) {
    const Dims& list = a.integers(name);
    return list[list.size() == 1 ? 0 : i];
  };
  for (size_t i = 0; i + 2 < wanted.size(); ++i) {
    extra.push_back(wanted[2 + i] - ((small[2 + i] - 1) * at("stride", i) - 2 * at("padding", i) +
                                     at("dilation", i) * (kernel[i] - 1) + 1));
  }
  return extra;
}

// Drops what lies past the wanted sizes: a convolution may find more windows than there were.
Value cut(Value value, const Dims& sizes) {
  for (int64_t i = 2; i < value.rank(); ++i) {
    if (value.size(i) > sizes[i]) value = slice(value, i, 0, sizes[i]);
  }
  return value;
}

Value convolved(const Arguments& a, const Value& input, const Value& weight) {
  return convolution(input, weight, {}, a.integers("stride"), a.integers("padding"),
                     a.integers("dilation"), a.integer("groups"));
}

// The transpose, with a result of the given sizes.
Value spread(const Arguments& a, const Value& small, const Value& weight, const Dims& sizes) {
  return convolution_transpose(
      small, weight, {}, a.integers("stride"), a.integers("padding"),
      missing_sizes(a, sizes, small.sizes(), without_first_two(weight.sizes())),
      a.integers("dilation"), a.integer("groups"));
}

Value weight_of(const Arguments& a, const Value& image, const Value& small, const Dims& weight_sizes) {
  return convolution_weight(image, small, without_first_two(weight_sizes), a.integers("stride"),
                            a.integers("padding"), a.integers("dilation"), a.integer("groups"));
}

// A dimension and the next one as one, and a dimension as two, of which the first has `count`.
Value joined(const Value& value, int64_t dim) {
  Dims sizes = value.sizes();
  sizes[dim] *= sizes[dim + 1];
  sizes.erase(dim + 1);
  return reshape(value, sizes);
}
Value parted(const Value& value, int64_t dim, int64_t count) {
  Dims sizes = value.sizes();
  sizes[dim] /= count;
  sizes.insert(dim, count);
  return reshape(value, sizes);
}

// Kernels of each row's own: the rows are groups, (rows, N, C, ...) is (N, rows * C, ...). Only
// where no single row is asked for later, because they are not in dimension 0 on the way.
Values rows_as_groups(const Batched& b) {
  if (modes.rows) return {};
  std::vector<Attribute> attributes;
  for (size_t i = 0; i < b.attributes.size(); ++i) attributes.push_back(b.attributes[i]);
  attributes[b.op.sig.find("groups")->index] = b.integer("groups") * b.rows();
  const auto in_channels = [&](size_t i) { return joined(transpose(b.with_rows(i), 0, 1), 1); };
  const bool makes_kernels = b.op.name == "convolution_weight";
  Values inputs{in_channels(0), makes_kernels ? in_channels(1) : joined(b.with_rows(1), 0)};
  if (!makes_kernels) inputs.push_back(b.was_given(2) ? joined(b.with_rows(2), 0) : Value());
  const Value result = graph::record(b.op, inputs, Attributes(std::move(attributes)))[0];
  if (makes_kernels) return {parted(result, 0, b.rows())};
  return {transpose(parted(result, 1, b.rows()), 0, 1)};
}

// Images one by one: the rows take the place of N, which is 1, or come before it.
Values image_rows(const Batched& b) {
  if (b.is_stacked(1) || b.is_stacked(2)) return rows_as_groups(b);
  const bool several = b.sizes(0)[0] != 1;
  if (several && modes.rows) return {};
  const Value bias = b.was_given(2) ? b.in(2) : Value();
  if (several) {
    const Values inputs{joined(b.with_rows(0), 0), b.in(1), bias};
    return {parted(graph::record(b.op, inputs, b.attributes)[0], 0, b.rows())};
  }
  const Values inputs{squeeze(b.with_rows(0), {{1}}), b.in(1), bias};
  return {unsqueeze(graph::record(b.op, inputs, b.attributes)[0], 1)};
}

}  // namespace

OP(convolution,
   "(input: Tensor, weight: Tensor, bias: Tensor? = None, stride: int[] = [1], padding: int[] "
   "= [0], dilation: int[] = [1], groups: int = 1) -> Tensor") {
  .doc = "Slides a kernel over the last one or two dimensions of (N, C, ...): each output is a window's "
         "products with `weight` (out, C / groups, ...), added up over the window.",
  .shape = [](Call& call) { call.add_output(convolved_sizes(call), call.in(0).dtype); },
  .run = kernel([](Call& call) {
    run_over(call, call.in(0).sizes, call.in(1).sizes, call.out().sizes, kernels::convolve);
  }),
  .gradient = [](Gradient& g) -> Values {
    const Value& grad = g.grad();
    return {g.needs(0) ? spread(g, grad, g.input(1), g.input_sizes(0)) : Value(),
            g.needs(1) ? weight_of(g, g.input(0), grad, g.input_sizes(1)) : Value(),
            g.needs(2) ? sum(grad, bias_dims(grad)) : Value()};
  },
  .batch = with_weights({1, 2}, image_rows),
};

OP(convolution_transpose,
   "(input: Tensor, weight: Tensor, bias: Tensor? = None, stride: int[] = [1], padding: int[] "
   "= [0], output_padding: int[] = [0], dilation: int[] = [1], groups: int = 1) -> Tensor") {
  .doc = "Spreads each element of (N, C, ...) over a window, times `weight` (C, out / groups, ...), "
         "and adds up where windows overlap: the gradient of a convolution's input.",
  .shape = [](Call& call) { call.add_output(transposed_sizes(call), call.in(0).dtype); },
  .run = kernel([](Call& call) {
    run_over(call, call.out().sizes, call.in(1).sizes, call.in(0).sizes,
             kernels::convolve_transposed);
  }),
  .gradient = [](Gradient& g) -> Values {
    const Value& grad = g.grad();
    return {g.needs(0) ? cut(convolved(g, grad, g.input(1)), g.input_sizes(0)) : Value(),
            g.needs(1) ? weight_of(g, grad, g.input(0), g.input_sizes(1)) : Value(),
            g.needs(2) ? sum(grad, bias_dims(grad)) : Value()};
  },
  .batch = with_weights({1, 2}, image_rows),
  .shown_as = "ConvolutionBackward0",
};

OP(convolution_weight,
   "(input: Tensor, grad: Tensor, kernel_size: int[], stride: int[] = [1], padding: int[] = "
   "[0], dilation: int[] = [1], groups: int = 1) -> Tensor") {
  .doc = "Returns the gradient of a convolution's weight from its input and its output's gradient.",
  .shape = [](Call& call) {
    const Array &input = call.in(0), &grad = call.in(1);
    const int64_t count = input.rank() - 2, groups = call.integer("groups");
    call.require((count == 1 || count == 2) && grad.rank() == input.rank() &&
                     grad.sizes[0] == input.sizes[0],
                 ErrorKind::shape, "input and grad must be batches of the same size; input is ",
                 input.sizes, ", grad is ", grad.sizes);
    call.require(tensor::is_floating(input.dtype) && input.dtype == grad.dtype, ErrorKind::dtype,
                 "input and grad must be of one floating-point dtype; input is ",
                 tensor::name_of(input.dtype), ", grad is ", tensor::name_of(grad.dtype));
    const Settings settings(call, count);
    const Dims kernel = spatial(call, "kernel_size", count, 1);
    call.require(groups > 0 && input.sizes[1] % groups == 0 && grad.sizes[1] % groups == 0,
                 ErrorKind::shape, "groups must divide the channels; input is ", input.sizes,
                 ", grad is ", grad.sizes, ", groups is ", groups);
    Dims sizes = {grad.sizes[1], input.sizes[1] / groups};
    for (int64_t i = 0; i < count; ++i) {
      const int64_t span = span_of(call, kernel[i], settings.dilation[i]);
      const int64_t room = input.sizes[2 + i] + 2 * settings.padding[i];
      call.require(grad.sizes[2 + i] <= (room - span) / settings.stride[i] + 1 && room >= span,
                   ErrorKind::shape, "grad has more windows than input; input is ", input.sizes,
                   ", grad is ", grad.sizes, ", kernel_size is ", kernel);
      sizes.push_back(kernel[i]);
    }
    tensor::checked_count(call.heading(), sizes);
    call.add_output(std::move(sizes), input.dtype);
  },
  .run = kernel([](Call& call) {
    run_over(call, call.in(0).sizes, call.out().sizes, call.in(1).sizes,
             [](const ConvShape& shape, const Array& image, const Array& grad, const Array&,
                const Array& out) { kernels::convolve_weight(shape, image, grad, out); });
  }),
  .gradient = [](Gradient& g) -> Values {
    const Value& v = g.grad();
    return {g.needs(0) ? spread(g, g.input(1), v, g.input_sizes(0)) : Value(),
            g.needs(1) ? cut(convolved(g, g.input(0), v), g.input_sizes(1)) : Value()};
  },
  .batch = rows_as_groups,
};

}  // namespace weft::ops
