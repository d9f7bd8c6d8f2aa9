// Reading and writing at indices and masks. Index values are checked before memory is touched.
#include <algorithm>

#include "ops.h"
#include "weft/kernels/index.h"
#include "weft/kernels/map.h"
#include "weft/ops/batching.h"

namespace weft::ops {
using namespace graph;
using base::ErrorKind;
using kernels::Combine;
using kernels::Places;

namespace {

void require_integers(const Call& call, const Value& input, std::string_view name) {
  call.require(tensor::is_integral(input.dtype()), ErrorKind::dtype, name,
               " must be of an integer dtype, got ", name_of(input.dtype()));
}

void require_same_dtype(const Call& call, size_t input, std::string_view name) {
  call.require(call.in(0).dtype == call.in(input).dtype, ErrorKind::dtype, "input and ", name,
               " must have the same dtype; input is ", name_of(call.in(0).dtype), ", ", name,
               " is ", name_of(call.in(input).dtype));
}

// Whether negative indices count from the end: where one writes `x[i]`, and in what follows it.
enum class Negative : uint8_t { from_end, refused };

void check_range(const Call& call, const Array& indices, int64_t size, int64_t dim,
                 Negative negative) {
  const int64_t lowest = negative == Negative::from_end ? -size : 0;
  if (const auto bad = kernels::find_out_of_range(indices, lowest, size)) {
    call.fail(ErrorKind::index, "index ", *bad, " is out of bounds for dimension ", dim,
              " with size ", size);
  }
}

// A 0-d array as one of one dimension; others as they are.
Array at_least_1d(const Array& array) {
  return array.rank() == 0 ? array.view({1}, {1}, array.offset) : array;
}

// An array of these sizes with the same elements: itself, or a copy that lies in a row.
Array spread(const Array& array, const Dims& sizes, DType dtype) {
  if (array.dtype == dtype && array.sizes == sizes && array.is_contiguous()) return array;
  const Array result = Array::allocate(sizes, dtype);
  kernels::copy(array.expand(sizes), result);
  return result;
}

// --- one index for each element ------------------------------------------------------------------

// Index must have input's rank and be no larger, but along dim, where any size will do.
void check_elements(const Call& call) {
  require_integers(call, call[1], "index");
  const int64_t dim = call.dim("dim", call.in(0).rank());
  const Array index = at_least_1d(call.in(1)), input = at_least_1d(call.in(0));
  bool fits = index.rank() == input.rank();
  for (int64_t i = 0; fits && i < index.rank(); ++i) {
    fits = i == dim || index.sizes[i] <= input.sizes[i];
  }
  call.require(fits || index.count() == 0, ErrorKind::shape,
               "index must not be larger than input except in dimension ", dim, "; index is ",
               call.in(1).sizes, ", input is ", call.in(0).sizes);
}

Places element_places(const Call& call, const Array& array) {
  const int64_t dim = call.dim("dim", call.in(0).rank());
  const Array indices = call.contiguous(1, DType::i64);
  check_range(call, indices, array.sizes[dim], dim, Negative::refused);
  return Places::of_elements(array, at_least_1d(indices), dim);
}

void scatter_shape(Call& call) {
  check_elements(call);
  if (!call[2]->is_number) {
    require_same_dtype(call, 2, "src");
    call.require(call.in(2).sizes == call.in(1).sizes, ErrorKind::shape,
                 "src must have the shape of index; src is ", call.in(2).sizes, ", index is ",
                 call.in(1).sizes);
  }
  call.compute = call.in(0).dtype;
  call.add_output(call.in(0).sizes, call.in(0).dtype);
}

void scatter_kernel(Call& call, Combine combine) {
  kernels::copy(call.in(0), call.out());
  if (call.in(1).count() == 0) return;
  const Array out = at_least_1d(call.out());
  kernels::put(call.contiguous(2, out.dtype), element_places(call, out), out, combine);
}

Combine combine_of(const Call& call) {
  const std::string& name = call.string("reduce");
  if (name == "prod") return Combine::multiply;
  if (name == "amax") return Combine::maximum;
  if (name == "amin") return Combine::minimum;
  call.fail(ErrorKind::value, "reduce must be 'prod', 'amax' or 'amin', got '", name, "'");
}

// --- indices of whole dimensions -----------------------------------------------------------------

// An array that is indexed in `dims` by several integer tensors, broadcast to each other.
struct Indexing {
  std::span<const Value> indices;
  Negative negative;
  Dims dims, index_sizes, result_sizes;
  int64_t before = 0;  // dimensions of the result in front of those of the indices

  Indexing(const Call& call, const Dims& sizes, std::span<const Value> indices, const Dims& given,
           Negative negative = Negative::from_end)
      : indices(indices), negative(negative) {
    call.require(!indices.empty() && given.size() == indices.size(), ErrorKind::shape,
                 "dims must name one dimension for each of indices; got ", given, " for ",
                 indices.size(), " indices");
    const auto rank = static_cast<int64_t>(sizes.size());
    call.require(rank > 0, ErrorKind::index, "a 0-d tensor cannot be indexed");
    bool adjacent = true;
    for (size_t k = 0; k < indices.size(); ++k) {
      dims.push_back(tensor::wrap_dim(call.heading(), given[k], rank));
      call.require(k == 0 || dims[k] > dims[k - 1], ErrorKind::shape, "dims must be in order, got ",
                   given);
      adjacent = adjacent && (k == 0 || dims[k] == dims[k - 1] + 1);
      require_integers(call, indices[k], "indices");
      const auto both = tensor::broadcast(index_sizes, indices[k].sizes());
      call.require(both.has_value(), ErrorKind::index,
                   "shape mismatch: indexing tensors could not be broadcast together with shapes ",
                   index_sizes, ", ", indices[k].sizes());
      index_sizes = *both;
    }
    before = adjacent ? dims[0] : 0;
    for (int64_t i = 0; i < rank; ++i) {
      if (std::find(dims.begin(), dims.end(), i) == dims.end()) result_sizes.push_back(sizes[i]);
    }
    for (size_t i = 0; i < index_sizes.size(); ++i) {
      result_sizes.insert(before + static_cast<int64_t>(i), index_sizes[i]);
    }
    tensor::checked_count(call.heading(), result_sizes);
  }

  Places places(const Call& call, const Array& array) const {
    base::SmallVector<Array, 2> checked;
    for (size_t k = 0; k < dims.size(); ++k) {
      checked.push_back(spread(indices[k].array(), index_sizes, DType::i64));
      check_range(call, checked.back(), array.sizes[dims[k]], dims[k], negative);
    }
    return Places(array, checked, dims, before);
  }
};

// How each op indexes its first input.
Indexing index_dims(const Call& call) {
  return {call, call.in(0).sizes, call.inputs.subspan(1), call.integers("dims")};
}
Indexing index_one_dim(const Call& call) {
  const Dims dims{call.dim("dim", call.in(0).rank())};
  return {call, at_least_1d(call.in(0)).sizes, call.inputs.subspan(1), dims, Negative::refused};
}
Indexing index_rows(const Call& call) {
  return {call, call.in(0).sizes, call.inputs.subspan(1), {0}, Negative::refused};
}
Indexing index_to_write(const Call& call) {
  const std::span<const Value> indices = call.inputs.subspan(1, call.inputs.size() - 2);
  return {call, call.in(0).sizes, indices, call.integers("dims"),
          call.flag("wrap") ? Negative::from_end : Negative::refused};
}

template <Indexing (*of)(const Call& call)>
void read_shape(Call& call) {
  call.add_output(of(call).result_sizes, call.in(0).dtype);
}
template <Indexing (*of)(const Call& call)>
void read_kernel(Call& call) {
  const Array input = at_least_1d(call.in(0));
  kernels::take(input, of(call).places(call, input), call.out());
}

// Index inputs of a rule, all but the first input and the last `behind` ones.
Values index_inputs(Gradient& g, size_t behind) {
  Values indices;
  for (size_t i = 1; i + behind < g.input_count(); ++i) indices.push_back(g.input(i));
  return indices;
}

// --- rows of a batch -----------------------------------------------------------------------------

// `dims` one up, behind the rows; empty if they are no neighbours, so that those of the indices
// would go before the rows.
Dims moved_neighbours(const Batched& b, int64_t rank) {
  Dims dims;
  for (int64_t dim : b.integers("dims")) {
    dims.push_back(tensor::wrap_dim(b.op.name, dim, rank) + 1);
    if (dims.back() != dims[0] + static_cast<int64_t>(dims.size()) - 1) return {};
  }
  return dims;
}

bool shares_indices(const Batched& b, size_t behind) {
  for (size_t i = 1; i + behind < b.input_count(); ++i) {
    if (b.is_stacked(i)) return false;
  }
  return true;
}

Values index_inputs(const Batched& b, size_t behind) {
  Values indices;
  for (size_t i = 1; i + behind < b.input_count(); ++i) indices.push_back(b.in(i));
  return indices;
}

// Negative indices as what they count to; those that are too far from the end stay negative.
Value wrapped(const Value& indices, int64_t size) { return indices + lt(indices, 0) * Value(size); }

// Drops leading dimensions of size 1 that `rank` has no room for.
Array without_leading_ones(Array array, size_t rank) {
  while (array.sizes.size() > rank && array.sizes[0] == 1) {
    array.sizes.erase(0);
    array.strides.erase(0);
  }
  return array;
}

}  // namespace

// --- one index for each element ------------------------------------------------------------------

OP(gather, "(input: Tensor, dim: int, index: Tensor) -> Tensor") {
  .doc = "Picks elements along a dimension: for dim 0, out[i][j] = input[index[i][j]][j].",
  .shape = [](Call& call) {
    check_elements(call);
    call.add_output(call.in(1).sizes, call.in(0).dtype);
  },
  .run = kernel([](Call& call) {
    if (call.in(1).count() == 0) return;
    const Array input = at_least_1d(call.in(0));
    kernels::take(input, element_places(call, input), call.out());
  }),
  .gradient = [](Gradient& g) -> Values {
    const Value& index = g.input(1);
    return {
        scatter_add(zeros(g.input_sizes(), g.output_dtype()), g.integer("dim"), index, g.grad()),
        Value()};
  },
  .batch = rows_along,
};

OP(scatter, "(input: Tensor, dim: int, index: Tensor, src: Tensor|Number) -> Tensor") {
  .doc =
      "Returns a copy of input with elements along a dimension replaced: for dim 0, "
      "out[index[i][j]][j] = src[i][j]. Where indices repeat, the last one counts.",
  .shape = scatter_shape,
  .run = kernel([](Call& call) { scatter_kernel(call, Combine::assign); }),
  .gradient = [](Gradient& g) -> Values {
    const Value& index = g.input(1);
    const int64_t dim = g.integer("dim");
    return {g.needs(0) ? scatter(g.grad(), dim, index, 0.0) : Value(), Value(),
            g.needs(2) ? gather(g.grad(), dim, index) : Value()};
  },
  .batch = [](const Batched& b) -> Values {
    if (!b.is_number(2)) return rows_along(b);
    const int64_t rank = b.rank(0);
    if (rank == 0 || b.rank(1) != rank) return {};
    const Value index = b.with_rows(1), src = rows_in_dtype(b, 2, rank, b.dtype(0));
    return {scatter(b.with_rows(0), b.dim("dim", rank), index, expand(src, index.sizes()))};
  },
};

OP(scatter_add, "(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor") {
  .doc =
      "Returns a copy of input with values added along a dimension: for dim 0, out[index[i][j]][j] "
      "+= src[i][j]. The order of additions is fixed.",
  .shape = scatter_shape,
  .run = kernel([](Call& call) { scatter_kernel(call, Combine::add); }),
  .gradient = [](Gradient& g) -> Values {
    const Value& index = g.input(1);
    return {g.grad(), Value(), g.needs(2) ? gather(g.grad(), g.integer("dim"), index) : Value()};
  },
  .batch = rows_along,
};

OP(scatter_combine,
   "(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str) -> Tensor") {
  .doc =
      "Returns a copy of input with values combined along a dimension as scatter_add adds them; "
      "reduce is 'prod', 'amax' or 'amin'.",
  .shape = [](Call& call) {
    combine_of(call);
    scatter_shape(call);
  },
  .run = kernel([](Call& call) { scatter_kernel(call, combine_of(call)); }),
  .gradient = no_gradient("scatter_reduce has the rules of its gradient"),
  .batch = rows_along,
};

// --- indices of whole dimensions -----------------------------------------------------------------

OP(index, "(input: Tensor, indices: Tensor[], dims: int[]) -> Tensor") {
  .doc =
      "Picks elements by integer tensors, one for each of dims, broadcast against each other. "
      "Their dimensions take the place of dims if those are neighbours, and come first otherwise.",
  .shape = read_shape<index_dims>,
  .run = kernel(read_kernel<index_dims>),
  .gradient = [](Gradient& g) -> Values {
    Values results(g.input_count());
    results[0] =
        index_backward(g.grad(), index_inputs(g, 0), g.input_sizes(), g.integers("dims"));
    return results;
  },
  .batch = with_weights({0}, [](const Batched& b) -> Values {
    const Dims dims = moved_neighbours(b, b.rank(0));
    if (dims.empty()) return {};
    if (shares_indices(b, 0)) return {index(b.with_rows(0), index_inputs(b, 0), dims)};
    if (dims.size() == 1 && (b.is_stacked(0) || dims[0] != 1)) {
      const int64_t dim = dims[0] - 1;
      return {pick_rows(b, dim, wrapped(b.with_rows(1), b.sizes(0)[dim]))};
    }
    if (b.is_stacked(0) || dims[0] != 1) return {};
    int64_t rank = 0;
    for (size_t i = 1; i < b.input_count(); ++i) rank = std::max(rank, b.rank(i));
    Values indices;
    for (size_t i = 1; i < b.input_count(); ++i) indices.push_back(b.with_rows(i, rank));
    return {index(b.in(0), indices, b.integers("dims"))};
  }),
};

OP(index_select, "(input: Tensor, dim: int, index: Tensor) -> Tensor") {
  .doc = "Picks slices of a dimension by their indices.",
  .shape = [](Call& call) {
    Dims sizes = call.in(0).sizes;
    const int64_t count = call.in(1).count();
    call.require(call.in(1).rank() <= 1, ErrorKind::shape,
                 "index must have at most one dimension, it has shape ", call.in(1).sizes);
    call.require(count == 1 || !sizes.empty(), ErrorKind::shape,
                 "index must have one element for a 0-d input, it has ", count);
    const Indexing indexing = index_one_dim(call);
    if (!sizes.empty()) sizes[indexing.dims[0]] = count;
    call.add_output(std::move(sizes), call.in(0).dtype);
  },
  .run = kernel(read_kernel<index_one_dim>),
  .gradient = [](Gradient& g) -> Values {
    const Value& index = g.input(1);
    if (g.input_sizes().empty()) return {g.grad(), Value()};
    const Value places = index.rank() == 1 ? index : unsqueeze(index, 0);
    return {index_backward(g.grad(), {places}, g.input_sizes(), {g.integer("dim")}), Value()};
  },
  .batch = with_weights({0}, [](const Batched& b) -> Values {
    if (b.rank(0) == 0) return {};
    const int64_t dim = b.dim("dim", b.rank(0));
    if (!b.is_stacked(1)) return {index_select(b.with_rows(0), dim, b.in(1))};
    return {pick_rows(b, dim - 1, b.with_rows(1, 1))};
  }),
};

OP(embedding, "(weight: Tensor, indices: Tensor, padding_idx: int = -1) -> Tensor") {
  .doc = "Looks up rows of a matrix. The row padding_idx, if it is not negative, gets no gradient.",
  .shape = [](Call& call) {
    call.require(call.in(0).rank() == 2, ErrorKind::shape,
                 "weight must have 2 dimensions, it has shape ", call.in(0).sizes);
    read_shape<index_rows>(call);
  },
  .run = kernel(read_kernel<index_rows>),
  .gradient = [](Gradient& g) -> Values {
    const Value& indices = g.input(1);
    const int64_t padding = g.integer("padding_idx");
    const Value grad = padding < 0 ? g.grad()
                                   : masked_fill(g.grad(), unsqueeze(eq(indices, padding), -1), 0.0);
    return {index_backward(grad, {indices}, g.input_sizes(), {0}), Value()};
  },
  .batch = with_weights({0}, [](const Batched& b) -> Values {
    if (b.is_stacked(0)) return {};  // each example has a table of its own
    return {embedding(b.in(0), b.with_rows(1), b.integer("padding_idx"))};
  }),
};

OP(index_backward, "(grad: Tensor, indices: Tensor[], size: int[], dims: int[]) -> Tensor") {
  .doc = "Sums a gradient into zeros where index would read, in the order of the indices.",
  .shape = [](Call& call) {
    const Dims& size = call.integers("size");
    tensor::checked_count(call.heading(), size);
    const Indexing indexing(call, size, call.inputs.subspan(1), call.integers("dims"));
    call.require(call.in(0).sizes == indexing.result_sizes, ErrorKind::shape,
                 "grad must have shape ", indexing.result_sizes, ", got ", call.in(0).sizes);
    call.add_output(size, call.in(0).dtype);
  },
  .run = kernel([](Call& call) {
    const Array& out = call.out();
    const Indexing indexing(call, out.sizes, call.inputs.subspan(1), call.integers("dims"));
    kernels::fill(out, int64_t{0});
    kernels::put(call.contiguous(0), indexing.places(call, out), out, Combine::add);
  }),
  .gradient = [](Gradient& g) -> Values {
    Values results(g.input_count());
    results[0] = index(g.grad(), index_inputs(g, 0), g.integers("dims"));
    return results;
  },
  .batch = [](const Batched& b) -> Values {
    const Dims sizes = b.with_rows(b.integers("size"));
    const Dims dims = moved_neighbours(b, b.integers("size").size());
    if (dims.empty()) return {};
    if (shares_indices(b, 0)) return {index_backward(b.with_rows(0), index_inputs(b, 0), sizes, dims)};
    if (dims.size() > 1) return {};
    const Value indices = spread_rows(wrapped(b.with_rows(1), sizes[dims[0]]), dims[0], sizes);
    return {scatter_add(zeros(sizes, b.dtype(0)), dims[0], indices,
                        reshape(b.with_rows(0), indices.sizes()))};
  },
};

OP(index_put,
   "(input: Tensor, indices: Tensor[], values: Tensor, dims: int[], accumulate: bool = False, "
   "wrap: bool = True) -> Tensor") {
  .doc =
      "Returns a copy of input with values written (or added, with accumulate) where index would "
      "read. Where indices repeat, the last value counts, or all are added in order. Without wrap, "
      "negative indices raise.",
  .shape = [](Call& call) {
    const Dims expected = index_to_write(call).result_sizes;
    const size_t last = call.inputs.size() - 1;
    require_same_dtype(call, last, "values");
    const Dims values = without_leading_ones(call.in(last), expected.size()).sizes;
    call.require(tensor::broadcast(expected, values) == expected, ErrorKind::shape,
                 "shape mismatch: values of shape ", call.in(last).sizes,
                 " cannot be broadcast to indexing result of shape ", expected);
    call.add_output(call.in(0).sizes, call.in(0).dtype);
  },
  .run = kernel([](Call& call) {
    const Indexing indexing = index_to_write(call);
    const Array& out = call.out();
    const Places places = indexing.places(call, out);
    kernels::copy(call.in(0), out);
    Array values = without_leading_ones(call.inputs.back().array(), indexing.result_sizes.size());
    if (values.count() != 1) values = spread(values, indexing.result_sizes, values.dtype);
    kernels::put(values, places, out, call.flag("accumulate") ? Combine::add : Combine::assign);
  }),
  .gradient = [](Gradient& g) -> Values {
    const Values indices = index_inputs(g, 1);
    const Dims& dims = g.integers("dims");
    const size_t last = g.input_count() - 1;
    Values results(g.input_count());
    if (g.needs(0)) {
      results[0] = g.flag("accumulate")
                       ? g.grad()
                       : index_put(g.grad(), indices, zeros({}, g.output_dtype()), dims, false);
    }
    if (g.needs(last)) results[last] = index(g.grad(), indices, dims);
    return results;
  },
  .batch = [](const Batched& b) -> Values {
    const Dims dims = moved_neighbours(b, b.rank(0));
    const size_t last = b.input_count() - 1;
    if (dims.empty()) return {};
    int64_t index_rank = 0;
    for (size_t i = 1; i < last; ++i) index_rank = std::max(index_rank, b.rank(i));
    const int64_t rank = b.rank(0) - static_cast<int64_t>(dims.size()) + index_rank;
    if (b.rank(last) > rank) return {};
    const Value input = b.with_rows(0), values = b.with_rows(last, rank);
    const bool adds = b.flag("accumulate"), wraps = b.flag("wrap");
    if (shares_indices(b, 1))
      return {index_put(input, index_inputs(b, 1), values, dims, adds, wraps)};
    if (dims.size() > 1) return {};
    const Value given = b.with_rows(1);
    const Value indices = spread_rows(wraps ? wrapped(given, input.size(dims[0])) : given, dims[0],
                                      input.sizes());
    Dims sizes = b.with_rows(b.sizes(0));
    sizes.erase(dims[0]);
    for (int64_t i = 0; i < index_rank; ++i) sizes.insert(dims[0] + i, b.sizes(1)[i]);
    const Value spread = reshape(expand(values, sizes), indices.sizes());
    return {adds ? scatter_add(input, dims[0], indices, spread)
                 : scatter(input, dims[0], indices, spread)};
  },
};

// --- masks ---------------------------------------------------------------------------------------

OP(masked_fill, "(input: Tensor, mask: Tensor, value: Tensor|Number) -> Tensor") {
  .doc = "Returns a copy of input with a value where mask is true.",
  .shape = {[](Call& call) {
    call.require(call[1].dtype() == DType::boolean, ErrorKind::dtype,
                 "mask must be a bool tensor, got ", tensor::name_of(call[1].dtype()));
    infer_elementwise(call, first);
  }, first},
  .run = FORMULA(numbers, (x, mask, value), mask != 0 ? value : x),
  .gradient = [](Gradient& g) -> Values {
    const Value& mask = g.input(1);
    return {masked_fill(g.grad(), mask, 0.0), Value(), where(mask, g.grad(), 0.0)};
  },
};

OP(nonzero, "(input: Tensor) -> Tensor") {
  .doc = "Returns the indices of all elements that are not zero, one row for each.",
  .shape = [](Call&) {},
  .run = by_value([](Call& call) {
    const Dims& sizes = call.in(0).sizes;
    const Array mask = call.contiguous(0, DType::boolean);
    const auto* values = mask.as<uint8_t>();
    const int64_t rank = mask.rank(), count = std::count(values, values + mask.count(), 1);
    const Array positions = Array::allocate({count, 1}, DType::i64);
    auto* position = positions.as<int64_t>();
    // Without a branch: whether an element is true cannot be predicted.
    for (int64_t found = 0, i = 0; found < count; ++i) {
      position[found] = i;
      found += values[i];
    }
    call.outputs.push_back(rank == 1 ? positions : Array::allocate({count, rank}, DType::i64));
    if (rank == 1) return;
    auto* out = call.out().as<int64_t>();
    for (int64_t i = 0; i < count; ++i, out += rank) {
      for (int64_t dim = rank - 1, rest = position[i]; dim >= 0; rest /= sizes[dim--]) {
        out[dim] = rest % sizes[dim];
      }
    }
  }),
  .gradient = no_gradient("indices are integers"),
  .batch = no_batch("its shape depends on values"),
};

}  // namespace weft::ops
