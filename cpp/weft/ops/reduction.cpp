// Reductions: sums, extremes, moments, and running results.
#include <algorithm>
#include <cmath>

#include "weft/kernels/reduce.h"
#include "weft/ops/batching.h"
#include "weft/ops/lanes.h"
#include "weft/tensor/promotion.h"

namespace weft::ops {
using namespace graph;
using base::ErrorKind;
using kernels::DimMask;
using kernels::Reduction;

namespace {

// A dimension as the user wrote it, wrapped; only a wrong one costs the text of the error.
int64_t wrapped(const Arguments& arguments, const Call* call, int64_t dim, int64_t rank) {
  const int64_t range = std::max<int64_t>(rank, 1);
  if (dim < -range || dim >= range) {
    tensor::wrap_dim(call ? call->heading() : arguments.op.name, dim, rank);
  }
  return dim < 0 ? dim + range : dim;
}

// The attribute `dim`: None, an integer or a list; None and an empty list mean all dimensions.
DimMask reduced_dims(const Arguments& arguments, const Call* call, int64_t rank) {
  if (rank > 64) base::fail(ErrorKind::shape, arguments.op.name, ": more than 64 dimensions");
  const DimMask all = rank >= 64 ? ~DimMask{0} : (DimMask{1} << rank) - 1;
  const Attribute& given = arguments.attribute("dim");
  if (const auto* one = std::get_if<int64_t>(&given)) {
    return DimMask{1} << wrapped(arguments, call, *one, rank);
  }
  const auto* list = std::get_if<Dims>(&given);
  if (list == nullptr || list->empty()) return all;
  DimMask mask = 0;
  for (int64_t dim : *list) {
    const DimMask bit = DimMask{1} << wrapped(arguments, call, dim, rank);
    if (mask & bit) {
      base::fail(ErrorKind::shape, call ? call->heading() : arguments.op.name, ": dim ", dim,
                 " appears multiple times in the list of dims ", *list);
    }
    mask |= bit;
  }
  return mask;
}
DimMask reduced_dims(const Call& call) { return reduced_dims(call, &call, call.in(0).rank()); }
DimMask reduced_dims(const Gradient& g) {
  return reduced_dims(g, nullptr, static_cast<int64_t>(g.input_sizes().size()));
}

Dims reduced_sizes(const Dims& sizes, DimMask dims, bool keepdim) {
  Dims result;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!(dims >> i & 1)) {
      result.push_back(sizes[i]);
    } else if (keepdim) {
      result.push_back(1);
    }
  }
  return result;
}

int64_t reduced_count(const Dims& sizes, DimMask dims) {
  int64_t count = 1;
  for (size_t i = 0; i < sizes.size(); ++i) count *= dims >> i & 1 ? sizes[i] : 1;
  return count;
}

Dims list_of(DimMask dims) {
  Dims list;
  for (int64_t i = 0; dims >> i; ++i) {
    if (dims >> i & 1) list.push_back(i);
    if (i == 63) break;
  }
  return list;
}

// A gradient (or a result) of the reduction with its reduced dimensions back as ones.
Value restored(const Gradient& g, const Value& value, DimMask dims) {
  const Dims sizes = reduced_sizes(g.input_sizes(), dims, true);
  return value.sizes() == sizes ? value : reshape(value, sizes);
}

// Sums and products of integers are int64.
DType summed_dtype(const Call& call) {
  if (call.has("dtype")) return call.dtype("dtype");
  const DType dtype = call.in(0).dtype;
  return tensor::is_floating(dtype) ? dtype : DType::i64;
}

void shape_of(Call& call, DType dtype) {
  call.add_output(reduced_sizes(call.in(0).sizes, reduced_dims(call), call.flag("keepdim")), dtype);
}

void require_floating(const Call& call, DType dtype) {
  call.require(tensor::is_floating(dtype), ErrorKind::dtype,
               "input must be floating point; could not infer output dtype from ",
               tensor::name_of(dtype));
}

// Extremes of nothing do not exist.
void require_elements(const Call& call, DimMask dims) {
  const Dims& sizes = call.in(0).sizes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    call.require(!(dims >> i & 1) || sizes[i] != 0, ErrorKind::index, "Expected reduction dim ", i,
                 " to have non-zero size; input is ", sizes);
  }
}

// Reduces in the lane of `out`, which may be of a narrower dtype.
void reduce_into(Reduction kind, const Array& in, DimMask dims, const Array& out,
                 const kernels::ReduceOptions& options = {}) {
  if (tensor::lane_of(in.dtype) != tensor::lane_of(out.dtype)) {
    const Array converted = kernels::converted(in, lane_dtype(out.dtype));
    return reduce_into(kind, converted, dims, out, options);
  }
  into(out, [&](const Array& wide) { kernels::reduce(kind, in, dims, wide, options); });
}

template <Reduction kind>
void run_reduction(Call& call) {
  reduce_into(kind, call.in(0), reduced_dims(call), call.out());
}

// Whether some element is not zero, or `every` one. They are counted in float64, which holds any
// count exactly.
void run_truth(Call& call, bool every) {
  const DimMask dims = reduced_dims(call);
  const auto wanted = static_cast<double>(reduced_count(call.in(0).sizes, dims));
  const Array counts = Array::allocate(call.out().sizes, DType::f64);
  kernels::reduce(Reduction::nonzero, call.in(0), dims, counts);
  double* found = counts.as<double>();
  for (int64_t i = 0; i < counts.count(); ++i) {
    found[i] = (every ? found[i] == wanted : found[i] > 0) ? 1 : 0;
  }
  kernels::copy(counts, call.out());
}

void shape_of_truth(Call& call) {
  shape_of(call, call.in(0).dtype == DType::u8 ? DType::u8 : DType::boolean);
}

void shape_of_extreme(Call& call) {
  require_elements(call, reduced_dims(call));
  shape_of(call, call.in(0).dtype);
}

// Elements that equal the result share the gradient evenly.
Values shared_among(const Gradient& g, const Value& mask, DimMask dims) {
  const Value shares = sum(mask, list_of(dims), true, g.output_dtype());
  return {restored(g, g.grad(), dims) / shares * mask};
}

Values extreme_gradient(Gradient& g) {
  const DimMask dims = reduced_dims(g);
  return shared_among(g, eq(g.input(), restored(g, g.output(), dims)), dims);
}

// NaN, which wins, counts as equal to itself.
Values extreme_or_nan_gradient(Gradient& g) {
  const DimMask dims = reduced_dims(g);
  const Value equal = eq(g.input(), restored(g, g.output(), dims));
  return shared_among(g, logical_or(equal, isnan(g.input())), dims);
}

void shape_of_position(Call& call) {
  const Array& in = call.in(0);
  if (!call.has("dim")) {
    call.require(in.count() != 0, ErrorKind::index,
                 "Expected reduction dim to be specified for input.numel() == 0; input is ", in.sizes);
  } else {
    require_elements(call, reduced_dims(call));
  }
  shape_of(call, DType::i64);
}

// Over one dimension, or over all elements in their order.
void find_positions(Call& call, bool largest, const Array* values, const Array& indices) {
  Array in = call.contiguous(0, lane_dtype(call.in(0).dtype));
  int64_t dim = 0;
  if (in.rank() == 0 || !call.has("dim")) {
    in = in.view({in.count()}, {1}, in.offset);
  } else {
    dim = call.dim("dim", in.rank());
  }
  kernels::extreme_positions(in, dim, largest, values, indices);
}

// Without a dimension, over all elements of a row.
Values position_rows(const Batched& b) {
  if (b.has("dim")) return rows_along(b);
  Dims sizes{b.rows()};
  if (b.flag("keepdim")) sizes.resize(static_cast<size_t>(b.rank(0)) + 1, 1);
  const Value flat = reshape(b.with_rows(0), {b.rows(), tensor::count_of(b.sizes(0))});
  return {reshape(graph::record(b.op, {flat}, {int64_t{1}, false})[0], sizes)};
}

void find_extremes(Call& call, bool largest) {
  into(call.out(0), [&](const Array& out) { find_positions(call, largest, &out, call.out(1)); });
}

void shape_of_extreme_with_position(Call& call) {
  shape_of_extreme(call);
  call.add_output(call.outputs[0].sizes, DType::i64);
}

// Gradients of picked elements go back to their places.
Values picked_gradient(Gradient& g) {
  const Value& indices = g.output(1);
  if (!g.has_grad(0)) return {Value()};
  if (g.input_sizes().empty()) return {reshape(g.grad(), {})};
  const DimMask dims = reduced_dims(g);
  const Value zero = zeros(g.input_sizes(), g.output_dtype());
  return {scatter(zero, g.integer("dim"), restored(g, indices, dims), restored(g, g.grad(), dims))};
}

void shape_of_moment(Call& call) {
  require_floating(call, call.in(0).dtype);
  shape_of(call, call.in(0).dtype);
}

// What a variance divides by: the count less the correction.
double degrees_of(const Arguments& arguments, const Dims& sizes, DimMask dims) {
  return std::max(0.0, static_cast<double>(reduced_count(sizes, dims)) - arguments.real("correction"));
}

void shape_of_scan(Call& call, DType dtype) {
  call.dim("dim", call.in(0).rank());
  call.add_output(call.in(0).sizes, dtype);
}

void run_scan(Call& call, kernels::Scan kind) {
  Array in = call.contiguous(0, lane_dtype(call.out().dtype));
  const int64_t dim = call.dim("dim", in.rank());
  if (in.rank() == 0) in = in.view({1}, {1}, in.offset);
  into(call.out(), [&](const Array& out) { kernels::scan(kind, in, dim, out); });
}

Value reversed_cumsum(const Value& value, int64_t dim) {
  return flip(cumsum(flip(value, {dim}), dim), {dim});
}

// Shifts along `dim`: element i becomes what i - distance was, and the first ones become `filling`.
Value shifted(const Value& value, int64_t dim, double filling, int64_t distance = 1) {
  Dims sizes = value.sizes();
  if (sizes[dim] == 0) return value;
  const Value kept = slice(value, dim, 0, sizes[dim] - distance);
  sizes[dim] = distance;
  return cat({full(sizes, filling, value.dtype()), kept}, dim);
}

// Sums s with s[i] = sum[i] + factor[i] s[i - 1] along `dim`: stretches of doubling length are joined.
Value linear_recurrence(Value sum, Value factor, int64_t dim) {
  for (int64_t length = 1; length < sum.size(dim); length *= 2) {
    sum = sum + factor * shifted(sum, dim, 0, length);
    factor = factor * shifted(factor, dim, 0, length);
  }
  return sum;
}

// The product of all elements along `dim` but the one itself; exact with zeros too.
Value product_of_others(const Value& value, int64_t dim) {
  const Value before = shifted(cumprod(value, dim), dim, 1);
  const Value after = flip(shifted(cumprod(flip(value, {dim}), dim), dim, 1), {dim});
  return before * after;
}

}  // namespace

// --- sums -------------------------------------------------------------------------------------------

OP(sum,
   "(input: Tensor, dim: int[]? = None, keepdim: bool = False, *, dtype: dtype? = None) -> "
   "Tensor") {
  .doc = "Adds up elements, over all dimensions or those in `dim`. Sums of integers and bools are "
         "int64. float32 is added up in blocks, and those in float64.",
  .shape = [](Call& call) { shape_of(call, summed_dtype(call)); },
  .run = kernel(run_reduction<Reduction::sum>),
  .gradient = [](Gradient& g) -> Values {
    const Value& grad = g.grad();
    const Value wide = grad.rank() == 0 ? grad : restored(g, grad, reduced_dims(g));
    if (graph::may_leave_unrecorded() && !wide->pending)
      return {Value(wide.array().expand(g.input_sizes()))};
    return {expand(wide, g.input_sizes())};
  },
  .batch = rows_along,
};

OP(mean,
   "(input: Tensor, dim: int[]? = None, keepdim: bool = False, *, dtype: dtype? = None) -> "
   "Tensor") {
  .doc = "Averages elements, over all dimensions or those in `dim`. Integers need a `dtype` to "
         "average in.",
  .shape = [](Call& call) {
    const DType dtype = call.has("dtype") ? call.dtype("dtype") : call.in(0).dtype;
    require_floating(call, dtype);
    shape_of(call, dtype);
  },
  .run = kernel([](Call& call) {
    const DimMask dims = reduced_dims(call);
    const auto count = static_cast<double>(reduced_count(call.in(0).sizes, dims));
    reduce_into(Reduction::sum, call.in(0), dims, call.out(), {.divisor = count});
  }),
  .gradient = [](Gradient& g) -> Values {
    const DimMask dims = reduced_dims(g);
    const auto count = static_cast<double>(reduced_count(g.input_sizes(), dims));
    const Value share = g.grad() / count;
    return {expand(share.rank() == 0 ? share : restored(g, share, dims), g.input_sizes())};
  },
  .batch = rows_along,
};

OP(prod, "(input: Tensor, dim: int, keepdim: bool = False, *, dtype: dtype? = None) -> Tensor") {
  .doc = "Multiplies elements along a dimension. Products of integers and bools are int64.",
  .shape = [](Call& call) { shape_of(call, summed_dtype(call)); },
  .run = kernel(run_reduction<Reduction::product>),
  .gradient = [](Gradient& g) -> Values {
    const Value& input = g.input();
    if (input.rank() == 0) return {reshape(g.grad(), {})};
    const int64_t dim = tensor::wrap_dim("prod", g.integer("dim"), input.rank());
    return {restored(g, g.grad(), DimMask{1} << dim) * product_of_others(input, dim)};
  },
  .batch = rows_along,
};

OP(any, "(input: Tensor, dim: int[]? = None, keepdim: bool = False) -> Tensor") {
  .doc = "Tells whether any element is not zero, over all dimensions or those in `dim`.",
  .shape = shape_of_truth,
  .run = kernel([](Call& call) { run_truth(call, false); }),
  .gradient = no_gradient("a truth value has none"),
  .batch = rows_along,
};

OP(all, "(input: Tensor, dim: int[]? = None, keepdim: bool = False) -> Tensor") {
  .doc = "Tells whether all elements are not zero, over all dimensions or those in `dim`.",
  .shape = shape_of_truth,
  .run = kernel([](Call& call) { run_truth(call, true); }),
  .gradient = no_gradient("a truth value has none"),
  .batch = rows_along,
};

// --- extremes ---------------------------------------------------------------------------------------

OP(amax, "(input: Tensor, dim: int[]? = None, keepdim: bool = False) -> Tensor") {
  .doc = "Returns the largest element, over all dimensions or those in `dim`. NaN wins. Equal "
         "elements share the gradient evenly.",
  .shape = shape_of_extreme,
  .run = kernel(run_reduction<Reduction::largest>),
  .gradient = extreme_gradient,
  .batch = rows_along,
};

OP(amin, "(input: Tensor, dim: int[]? = None, keepdim: bool = False) -> Tensor") {
  .doc = "Returns the smallest element, over all dimensions or those in `dim`. NaN wins. Equal "
         "elements share the gradient evenly.",
  .shape = shape_of_extreme,
  .run = kernel(run_reduction<Reduction::smallest>),
  .gradient = extreme_gradient,
  .batch = rows_along,
};

OP(max_all, "(input: Tensor, dim: int[]? = None, keepdim: bool = False) -> Tensor") {
  .doc = "Returns the largest element as amax does, but with NaN the gradient goes to all NaN.",
  .shape = shape_of_extreme,
  .run = kernel(run_reduction<Reduction::largest>),
  .gradient = extreme_or_nan_gradient,
  .batch = rows_along,
  .shown_as = "MaxBackward1",
};

OP(min_all, "(input: Tensor, dim: int[]? = None, keepdim: bool = False) -> Tensor") {
  .doc = "Returns the smallest element as amin does, but with NaN the gradient goes to all NaN.",
  .shape = shape_of_extreme,
  .run = kernel(run_reduction<Reduction::smallest>),
  .gradient = extreme_or_nan_gradient,
  .batch = rows_along,
  .shown_as = "MinBackward1",
};

OP(max_dim,
   "(input: Tensor, dim: int, keepdim: bool = False) -> (values: Tensor, indices: Tensor)") {
  .doc = "Returns the largest elements along a dimension and their first positions. NaN wins.",
  .shape = shape_of_extreme_with_position,
  .run = kernel([](Call& call) { find_extremes(call, true); }),
  .gradient = picked_gradient,
  .batch = rows_along,
  .shown_as = "MaxBackward0",
};

OP(min_dim,
   "(input: Tensor, dim: int, keepdim: bool = False) -> (values: Tensor, indices: Tensor)") {
  .doc = "Returns the smallest elements along a dimension and their first positions. NaN wins.",
  .shape = shape_of_extreme_with_position,
  .run = kernel([](Call& call) { find_extremes(call, false); }),
  .gradient = picked_gradient,
  .batch = rows_along,
  .shown_as = "MinBackward0",
};

OP(argmax, "(input: Tensor, dim: int? = None, keepdim: bool = False) -> Tensor") {
  .doc = "Returns the first position of the largest element, in the flattened tensor or along `dim`.",
  .shape = shape_of_position,
  .run = kernel([](Call& call) { find_positions(call, true, nullptr, call.out()); }),
  .gradient = no_gradient("a position is an integer"),
  .batch = position_rows,
};

OP(argmin, "(input: Tensor, dim: int? = None, keepdim: bool = False) -> Tensor") {
  .doc = "Returns the first position of the smallest element, in the flattened tensor or along `dim`.",
  .shape = shape_of_position,
  .run = kernel([](Call& call) { find_positions(call, false, nullptr, call.out()); }),
  .gradient = no_gradient("a position is an integer"),
  .batch = position_rows,
};

// --- moments ---------------------------------------------------------------------------------

OP(var,
   "(input: Tensor, dim: int[]? = None, *, correction: Number = 1, keepdim: bool = False) -> "
   "Tensor") {
  .doc = "Returns the variance: the squared distance from the mean over the number of elements less "
         "`correction`.",
  .shape = shape_of_moment,
  .run = kernel([](Call& call) {
    const DimMask dims = reduced_dims(call);
    const Array &in = call.in(0), &out = call.out();
    const Array means = Array::allocate(out.sizes, lane_dtype(out.dtype));
    const auto count = static_cast<double>(reduced_count(in.sizes, dims));
    reduce_into(Reduction::sum, in, dims, means, {.divisor = count});
    reduce_into(Reduction::sum_squares, in, dims, out,
                {.shift = &means, .divisor = degrees_of(call, in.sizes, dims)});
  }),
  .gradient = [](Gradient& g) -> Values {
    const DimMask dims = reduced_dims(g);
    const double degrees = degrees_of(g, g.input_sizes(), dims);
    const Value away = g.input() - mean(g.input(), list_of(dims), true);
    return {restored(g, g.grad(), dims) * (away * (2 / degrees))};
  },
  .batch = rows_along,
};

// --- running results --------------------------------------------------------------------------------

OP(cumsum, "(input: Tensor, dim: int, *, dtype: dtype? = None) -> Tensor") {
  .doc = "Returns the running sums along a dimension.",
  .shape = [](Call& call) { shape_of_scan(call, summed_dtype(call)); },
  .run = kernel([](Call& call) { run_scan(call, kernels::Scan::sum); }),
  .gradient = [](Gradient& g) -> Values {
    if (g.input_sizes().empty()) return {g.grad()};
    return {reversed_cumsum(g.grad(), g.integer("dim"))};
  },
  .batch = rows_along,
};

OP(cumprod, "(input: Tensor, dim: int, *, dtype: dtype? = None) -> Tensor") {
  .doc = "Returns the running products along a dimension.",
  .shape = [](Call& call) { shape_of_scan(call, summed_dtype(call)); },
  .run = kernel([](Call& call) { run_scan(call, kernels::Scan::product); }),
  .gradient = [](Gradient& g) -> Values {
    const Value& input = g.input();
    if (input.rank() == 0) return {g.grad()};
    // Element i is in every product from i on: the product before it times s, where
    // s[i] = grad[i] + x[i + 1] s[i + 1]. No division, so zeros are no exception.
    const int64_t dim = tensor::wrap_dim("cumprod", g.integer("dim"), input.rank());
    const Value before = shifted(cumprod(input, dim), dim, 1);
    const Value next = shifted(flip(input, {dim}), dim, 0);
    const Value after = flip(linear_recurrence(flip(g.grad(), {dim}), next, dim), {dim});
    return {before * after};
  },
  .batch = rows_along,
};

}  // namespace weft::ops
