// Reading and writing at indices and masks. Index values are checked before memory is touched.
#include <algorithm>
#include <cstring>

#include "ops.h"
#include "weft/kernels/index.h"
#include "weft/kernels/map.h"

namespace weft::ops {
using namespace graph;
using base::ErrorKind;
using kernels::Combine;
using kernels::Places;

namespace {

void require_integers(const Call& call, size_t input, std::string_view name) {
  const DType dtype = call.in(input).dtype;
  call.require(tensor::is_integral(dtype), ErrorKind::dtype, name,
               " must be of an integer dtype, got ", name_of(dtype));
}

void require_same_dtype(const Call& call, size_t input, std::string_view name) {
  call.require(call.in(0).dtype == call.in(input).dtype, ErrorKind::dtype, "input and ", name,
               " must have the same dtype; input is ", name_of(call.in(0).dtype), ", ", name,
               " is ", name_of(call.in(input).dtype));
}

void check_range(const Call& call, const Array& indices, int64_t size, int64_t dim) {
  if (const auto bad = kernels::find_out_of_range(indices, size)) {
    call.fail(ErrorKind::index, "index ", *bad, " is out of bounds for dimension ", dim,
              " with size ", size);
  }
}

// An index input as contiguous int64, all values in range.
Array checked_indices(const Call& call, size_t input, int64_t size, int64_t dim) {
  const Array indices = call.contiguous(input, DType::i64);
  check_range(call, indices, size, dim);
  return indices;
}

int64_t size_at(const Array& array, int64_t dim) {
  return array.rank() == 0 ? 1 : array.sizes[dim];
}

// A 0-d array as one of one dimension; others as they are.
Array at_least_1d(const Array& array) {
  return array.rank() == 0 ? array.view({1}, {1}, array.offset) : array;
}

// One index for each slice of a dimension: index_select and its relatives.
void require_vector(const Call& call, size_t input) {
  require_integers(call, input, "index");
  call.require(call.in(input).rank() <= 1, ErrorKind::shape,
               "index must have at most one dimension, it has shape ", call.in(input).sizes);
}

// Index of input's rank, no larger than `array` (but along dim, where any size will do).
void require_lines(const Call& call, const Array& array, std::string_view name, int64_t dim) {
  const Array index = at_least_1d(call.in(1)), other = at_least_1d(array);
  if (index.count() == 0) return;
  bool fits = index.rank() == other.rank();
  for (int64_t i = 0; fits && i < index.rank(); ++i) {
    fits = i == dim || index.sizes[i] <= other.sizes[i];
  }
  call.require(fits, ErrorKind::shape, "index must not be larger than ", name,
               dim < 0 ? "" : base::text(" except in dimension ", dim), "; index is ",
               call.in(1).sizes, ", ", name, " is ", array.sizes);
}

void lines_shape(Call& call) {
  require_integers(call, 1, "index");
  const int64_t dim = call.dim("dim", call.in(0).rank());
  require_lines(call, call.in(0), "input", dim);
  if (!call[2]->is_number) {
    require_same_dtype(call, 2, "src");
    require_lines(call, call.in(2), "src", -1);
  }
  call.add_output(call.in(0).sizes, call.in(0).dtype);
}

// Input 2 as values of the input's dtype; a number serves every index.
Array line_source(const Call& call) {
  if (!call[2]->is_number) return at_least_1d(call.in(2));
  const Array number = Array::allocate({}, call.in(0).dtype);
  kernels::copy(call.in(2), number);
  return number.expand(at_least_1d(call.in(1)).sizes);
}

void write_lines(Call& call, Combine combine) {
  kernels::copy(call.in(0), call.out());
  const int64_t dim = call.dim("dim", call.in(0).rank());
  if (call.in(1).count() == 0) return;
  const Array indices = checked_indices(call, 1, size_at(call.in(0), dim), dim);
  kernels::scatter(line_source(call), dim, at_least_1d(indices), at_least_1d(call.out()), combine);
}

// A gradient of the part of src that index covers, with zeros for the rest.
Value grown_to_source(const Gradient& g, const Value& gradient) {
  const Dims &wanted = g.input_sizes(2), &given = g.input_sizes(1);
  if (wanted == given) return gradient;
  if (tensor::count_of(given) == 0) return zeros(wanted, g.output_dtype());
  Dims pad;
  for (size_t i = std::min(wanted.size(), given.size()); i-- > 0;) {
    pad.push_back(0);
    pad.push_back(wanted[i] - given[i]);
  }
  return constant_pad(gradient, pad, int64_t{0});
}

Combine combine_of(const Call& call) {
  const std::string& name = call.string("reduce");
  if (name == "prod") return Combine::multiply;
  if (name == "amax") return Combine::maximum;
  if (name == "amin") return Combine::minimum;
  call.fail(ErrorKind::value, "reduce must be 'prod', 'amax' or 'amin', got '", name, "'");
}

Value line_gradient(Gradient& g, const Value& grad, const Value& index) {
  return grown_to_source(g, gather(grad, g.integer("dim"), index));
}

// --- several indices at once ---------------------------------------------------------------------

// What index and index_put share: input 0 is indexed in `dims` by inputs 1, 2, ...
struct Indexing {
  Dims dims, index_sizes, result_sizes;
  int64_t before = 0;  // dimensions of the result in front of those of the indices

  Indexing(const Call& call, size_t count) {
    const Array& input = call.in(0);
    const Dims& given = call.integers("dims");
    call.require(count > 0 && given.size() == count, ErrorKind::shape,
                 "dims must name one dimension for each of indices; got ", given, " for ", count,
                 " indices");
    bool adjacent = true;
    for (size_t k = 0; k < count; ++k) {
      call.require(input.rank() > 0, ErrorKind::index, "a 0-d tensor cannot be indexed");
      dims.push_back(tensor::wrap_dim(call.heading(), given[k], input.rank()));
      call.require(k == 0 || dims[k] > dims[k - 1], ErrorKind::shape, "dims must be in order, got ",
                   given);
      adjacent = adjacent && (k == 0 || dims[k] == dims[k - 1] + 1);
      require_integers(call, 1 + k, "indices");
      const auto both = tensor::broadcast(index_sizes, call.in(1 + k).sizes);
      call.require(both.has_value(), ErrorKind::index,
                   "shape mismatch: indexing tensors could not be broadcast together with shapes ",
                   index_sizes, ", ", call.in(1 + k).sizes);
      index_sizes = *both;
    }
    before = adjacent ? dims[0] : 0;
    for (int64_t i = 0; i < input.rank(); ++i) {
      if (std::find(dims.begin(), dims.end(), i) == dims.end())
        result_sizes.push_back(input.sizes[i]);
    }
    for (size_t i = 0; i < index_sizes.size(); ++i) {
      result_sizes.insert(before + static_cast<int64_t>(i), index_sizes[i]);
    }
    tensor::checked_count(call.heading(), result_sizes);
  }

  Places places(const Call& call, const Array& array) const {
    base::SmallVector<Array, 2> indices;
    for (size_t k = 0; k < dims.size(); ++k) {
      const Array& given = call.in(1 + k);
      if (given.dtype == DType::i64 && given.sizes == index_sizes && given.is_contiguous()) {
        indices.push_back(given);
      } else {
        indices.push_back(Array::allocate(index_sizes, DType::i64));
        kernels::copy(given.expand(index_sizes), indices.back());
      }
      check_range(call, indices.back(), array.sizes[dims[k]], dims[k]);
    }
    return Places(array, indices, dims, before);
  }
};

// Index inputs of a rule, all but the first input and the last `behind` ones.
Values index_inputs(Gradient& g, size_t behind) {
  Values indices;
  for (size_t i = 1; i + behind < g.input_count(); ++i) indices.push_back(g.input(i));
  return indices;
}

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

OP(gather) {
  .signature = "gather(input: Tensor, dim: int, index: Tensor) -> Tensor",
  .doc = "Picks elements along a dimension: for dim 0, out[i][j] = input[index[i][j]][j].",
  .shape = [](Call& call) {
    require_integers(call, 1, "index");
    require_lines(call, call.in(0), "input", call.dim("dim", call.in(0).rank()));
    call.add_output(call.in(1).sizes, call.in(0).dtype);
  },
  .run = kernel([](Call& call) {
    if (call.in(1).count() == 0) return;
    const int64_t dim = call.dim("dim", call.in(0).rank());
    const Array indices = checked_indices(call, 1, size_at(call.in(0), dim), dim);
    kernels::gather(at_least_1d(call.in(0)), dim, at_least_1d(indices), call.out());
  }),
  .gradient = [](Gradient& g) -> Values {
    const Value& index = g.input(1);
    return {
        scatter_add(zeros(g.input_sizes(), g.output_dtype()), g.integer("dim"), index, g.grad()),
        Value()};
  },
};

OP(scatter) {
  .signature = "scatter(input: Tensor, dim: int, index: Tensor, src: Tensor|Number) -> Tensor",
  .doc =
      "Returns a copy of input with elements along a dimension replaced: for dim 0, "
      "out[index[i][j]][j] = src[i][j]. Where indices repeat, the last one counts.",
  .shape = lines_shape,
  .run = kernel([](Call& call) { write_lines(call, Combine::assign); }),
  .gradient = [](Gradient& g) -> Values {
    const Value& index = g.input(1);
    return {g.needs(0) ? scatter(g.grad(), g.integer("dim"), index, 0.0) : Value(), Value(),
            g.needs(2) ? line_gradient(g, g.grad(), index) : Value()};
  },
};

OP(scatter_add) {
  .signature = "scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor",
  .doc =
      "Returns a copy of input with values added along a dimension: for dim 0, out[index[i][j]][j] "
      "+= src[i][j]. The order of additions is fixed.",
  .shape = lines_shape,
  .run = kernel([](Call& call) { write_lines(call, Combine::add); }),
  .gradient = [](Gradient& g) -> Values {
    const Value& index = g.input(1);
    return {g.grad(), Value(), g.needs(2) ? line_gradient(g, g.grad(), index) : Value()};
  },
};

OP(scatter_combine) {
  .signature =
      "scatter_combine(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str) -> Tensor",
  .doc =
      "Returns a copy of input with values combined along a dimension as scatter_add adds them; "
      "reduce is 'prod', 'amax' or 'amin'.",
  .shape = [](Call& call) {
    combine_of(call);
    lines_shape(call);
  },
  .run = kernel([](Call& call) { write_lines(call, combine_of(call)); }),
  .gradient = no_gradient("scatter_reduce has the rules of its gradient"),
};

// --- one index for each slice --------------------------------------------------------------------

OP(index_select) {
  .signature = "index_select(input: Tensor, dim: int, index: Tensor) -> Tensor",
  .doc = "Picks slices of a dimension by their indices.",
  .shape = [](Call& call) {
    require_vector(call, 1);
    Dims sizes = call.in(0).sizes;
    const int64_t dim = call.dim("dim", call.in(0).rank());
    if (sizes.empty()) {
      call.require(call.in(1).count() == 1, ErrorKind::shape,
                   "index must have one element for a 0-d input, it has ", call.in(1).count());
    } else {
      sizes[dim] = call.in(1).count();
    }
    tensor::checked_count(call.heading(), sizes);
    call.add_output(std::move(sizes), call.in(0).dtype);
  },
  .run = kernel([](Call& call) {
    const Array input = at_least_1d(call.in(0));
    const int64_t dim = call.dim("dim", call.in(0).rank());
    const Array indices = checked_indices(call, 1, input.sizes[dim], dim);
    kernels::take(input, Places(input, indices, dim), call.out());
  }),
  .gradient = [](Gradient& g) -> Values {
    const Value& index = g.input(1);
    return {index_add(zeros(g.input_sizes(), g.output_dtype()), g.integer("dim"), index, g.grad()),
            Value()};
  },
};

OP(index_add) {
  .signature = "index_add(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor",
  .doc =
      "Returns a copy of input with slices of source added at their indices. The order of "
      "additions is fixed.",
  .shape = [](Call& call) {
    const Array &input = call.in(0), &source = call.in(2);
    require_vector(call, 1);
    require_same_dtype(call, 2, "source");
    const int64_t dim = call.dim("dim", input.rank());
    Dims expected = at_least_1d(input).sizes;
    expected[dim] = call.in(1).count();
    call.require(at_least_1d(source).sizes == expected, ErrorKind::shape, "source must have shape ",
                 expected, " (input is ", input.sizes, ", index has ", call.in(1).count(),
                 " elements); it is ", source.sizes);
    call.add_output(input.sizes, input.dtype);
  },
  .run = kernel([](Call& call) {
    kernels::copy(call.in(0), call.out());
    const Array out = at_least_1d(call.out());
    const int64_t dim = call.dim("dim", call.in(0).rank());
    const Array indices = checked_indices(call, 1, out.sizes[dim], dim);
    kernels::put(call.contiguous(2), Places(out, indices, dim), out, Combine::add);
  }),
  .gradient = [](Gradient& g) -> Values {
    const Value& index = g.input(1);
    return {g.grad(), Value(),
            g.needs(2) ? index_select(g.grad(), g.integer("dim"), index) : Value()};
  },
};

OP(embedding) {
  .signature = "embedding(weight: Tensor, indices: Tensor, padding_idx: int = -1) -> Tensor",
  .doc = "Looks up rows of a matrix. The row padding_idx, if it is not negative, gets no gradient.",
  .shape = [](Call& call) {
    call.require(call.in(0).rank() == 2, ErrorKind::shape,
                 "weight must have 2 dimensions, it has shape ", call.in(0).sizes);
    require_integers(call, 1, "indices");
    Dims sizes = call.in(1).sizes;
    sizes.push_back(call.in(0).sizes[1]);
    tensor::checked_count(call.heading(), sizes);
    call.add_output(std::move(sizes), call.in(0).dtype);
  },
  .run = kernel([](Call& call) {
    const Array& weight = call.in(0);
    const Array indices = checked_indices(call, 1, weight.sizes[0], 0);
    kernels::take(weight, Places(weight, indices, 0), call.out());
  }),
  .gradient = [](Gradient& g) -> Values {
    const Value& indices = g.input(1);
    return {embedding_backward(g.grad(), indices, g.input_sizes()[0], g.integer("padding_idx")),
            Value()};
  },
};

OP(embedding_backward) {
  .signature =
      "embedding_backward(grad: Tensor, indices: Tensor, num_weights: int, padding_idx: int = -1) "
      "-> Tensor",
  .doc = "Sums the gradients of an embedding's rows, in the order of the indices.",
  .shape = [](Call& call) {
    require_integers(call, 1, "indices");
    Dims expected = call.in(1).sizes;
    call.require(call.in(0).rank() > 0, ErrorKind::shape, "grad must have at least one dimension");
    expected.push_back(call.in(0).sizes.back());
    call.require(call.in(0).sizes == expected, ErrorKind::shape, "grad must have shape ", expected,
                 ", got ", call.in(0).sizes);
    const Dims sizes{call.integer("num_weights"), expected.back()};
    tensor::checked_count(call.heading(), sizes);
    call.add_output(sizes, call.in(0).dtype);
  },
  .run = kernel([](Call& call) {
    const Array& out = call.out();
    kernels::fill(out, int64_t{0});
    const Array indices = checked_indices(call, 1, out.sizes[0], 0);
    kernels::put(call.contiguous(0), Places(out, indices, 0), out, Combine::add);
    const int64_t padding = call.integer("padding_idx");
    if (padding >= 0 && padding < out.sizes[0]) {
      const int64_t row = out.sizes[1] * item_size(out.dtype);
      std::memset(out.data() + padding * row, 0, row);
    }
  }),
  .gradient = [](Gradient& g) -> Values {
    const Value& indices = g.input(1);
    Value result = embedding(g.grad(), indices);
    const int64_t padding = g.integer("padding_idx");
    if (padding >= 0) result = masked_fill(result, unsqueeze(eq(indices, padding), -1), 0.0);
    return {result, Value()};
  },
};

// --- several indices at once ---------------------------------------------------------------------

OP(index) {
  .signature = "index(input: Tensor, indices: Tensor[], dims: int[]) -> Tensor",
  .doc =
      "Picks elements by integer tensors, one for each of dims, broadcast against each other. "
      "Their dimensions take the place of dims if those are neighbours, and come first otherwise.",
  .shape = [](Call& call) {
    const Indexing indexing(call, call.inputs.size() - 1);
    call.add_output(indexing.result_sizes, call.in(0).dtype);
  },
  .run = kernel([](Call& call) {
    const Indexing indexing(call, call.inputs.size() - 1);
    kernels::take(call.in(0), indexing.places(call, call.in(0)), call.out());
  }),
  .gradient = [](Gradient& g) -> Values {
    const Values indices = index_inputs(g, 0);
    Values results(g.input_count());
    results[0] = index_put(zeros(g.input_sizes(), g.output_dtype()), indices, g.grad(),
                           g.integers("dims"), true);
    return results;
  },
};

OP(index_put) {
  .signature =
      "index_put(input: Tensor, indices: Tensor[], values: Tensor, dims: int[], accumulate: bool = "
      "False) -> Tensor",
  .doc =
      "Returns a copy of input with values written (or added, with accumulate) where index would "
      "read. Where indices repeat, the last value counts, or all are added in order.",
  .shape = [](Call& call) {
    call.require(call.inputs.size() >= 3, ErrorKind::shape, "indices must not be an empty list");
    const size_t last = call.inputs.size() - 1;
    const Indexing indexing(call, last - 1);
    require_same_dtype(call, last, "values");
    const Dims values = without_leading_ones(call.in(last), indexing.result_sizes.size()).sizes;
    call.require(tensor::broadcast(indexing.result_sizes, values) == indexing.result_sizes,
                 ErrorKind::shape, "shape mismatch: values of shape ", call.in(last).sizes,
                 " cannot be broadcast to indexing result of shape ", indexing.result_sizes);
    call.add_output(call.in(0).sizes, call.in(0).dtype);
  },
  .run = kernel([](Call& call) {
    const size_t last = call.inputs.size() - 1;
    const Indexing indexing(call, last - 1);
    const Array& out = call.out();
    const Places places = indexing.places(call, out);
    kernels::copy(call.in(0), out);
    Array values = without_leading_ones(call.in(last), indexing.result_sizes.size());
    if (values.count() != 1 && !(values.sizes == indexing.result_sizes && values.is_contiguous())) {
      const Array whole = Array::allocate(indexing.result_sizes, values.dtype);
      kernels::copy(values.expand(indexing.result_sizes), whole);
      values = whole;
    }
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
};

// --- masks ---------------------------------------------------------------------------------------

OP(masked_fill) {
  .signature = "masked_fill(input: Tensor, mask: Tensor, value: Tensor|Number) -> Tensor",
  .doc = "Returns a copy of input with a value where mask is true.",
  .shape = [](Call& call) {
    call.require(call[1].dtype() == DType::boolean, ErrorKind::dtype,
                 "mask must be a bool tensor, got ", tensor::name_of(call[1].dtype()));
    infer_elementwise(call, first);
  },
  .run = FORMULA(numbers, (x, mask, value), mask != 0 ? value : x),
  .gradient = [](Gradient& g) -> Values {
    const Value& mask = g.input(1);
    return {masked_fill(g.grad(), mask, 0.0), Value(), where(mask, g.grad(), 0.0)};
  },
};

OP(nonzero) {
  .signature = "nonzero(input: Tensor) -> Tensor",
  .doc = "Returns the indices of all elements that are not zero, one row for each.",
  .shape = [](Call&) {},
  .run = by_value([](Call& call) {
    const Dims& sizes = call.in(0).sizes;
    const Array mask = call.contiguous(0, DType::boolean);
    const Array positions = Array::allocate({kernels::count_true(mask)}, DType::i64);
    kernels::true_positions(mask, {positions.as<int64_t>(), static_cast<size_t>(positions.count())});
    const int64_t rank = call.in(0).rank(), count = positions.count();
    if (rank == 1) {
      call.outputs.push_back(positions.view({count, 1}, {1, 1}, 0));
      return;
    }
    call.outputs.push_back(Array::allocate({count, rank}, DType::i64));
    auto* out = call.out().as<int64_t>();
    for (int64_t i = 0; i < count; ++i, out += rank) {
      int64_t rest = positions.as<int64_t>()[i];
      for (int64_t dim = rank - 1; dim >= 0; --dim) {
        out[dim] = rest % sizes[dim];
        rest /= sizes[dim];
      }
    }
  }),
  .gradient = no_gradient("indices are integers"),
};

}  // namespace weft::ops
