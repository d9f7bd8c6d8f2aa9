// Views and reshapes, and what undoes them: scatters and copies.
#include <algorithm>
#include <cstring>

#include "ops.h"
#include "weft/kernels/index.h"
#include "weft/kernels/map.h"

namespace weft::ops {
using namespace graph;
using base::ErrorKind;
using tensor::wrap_dim;

namespace {

constexpr int64_t most_outputs = 1 << 24;  // a list of more tensors is surely a mistake

// Sizes as the user wrote them, where one may be -1: the one that makes the count right.
Dims infer_sizes(const Call& call, const Dims& wanted, int64_t count) {
  Dims sizes = wanted;
  int64_t unknown = -1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != -1) continue;
    call.require(unknown < 0, ErrorKind::shape, "only one size can be inferred, got ", wanted);
    unknown = static_cast<int64_t>(i);
    sizes[i] = 1;
  }
  const int64_t known = tensor::checked_count(call.heading(), sizes);
  if (unknown >= 0) {
    call.require(known != 0, ErrorKind::shape, "cannot infer the size -1 of ", wanted,
                 ": any value would do for an input of ", count, " elements");
    sizes[unknown] = count / known;
  }
  call.require(tensor::count_of(sizes) == count, ErrorKind::shape, "shape ", wanted,
               " is invalid for input of size ", count, "; input is ", call[0].sizes());
  return sizes;
}

// Dimensions as the user wrote them, wrapped; none may repeat.
Dims wrap_dims(const Call& call, const Dims& dims, int64_t rank) {
  Dims wrapped;
  for (int64_t dim : dims) {
    wrapped.push_back(wrap_dim(call.heading(), dim, rank));
    call.require(std::count(wrapped.begin(), wrapped.end(), wrapped.back()) == 1, ErrorKind::shape,
                 "dim ", dim, " appears more than once in ", dims);
  }
  return wrapped;
}

// --- parts of an array that several ops share: the view, its gradient, its scatter ---------------

Array select_part(const Call& call, const Array& array) {
  call.require(array.rank() > 0, ErrorKind::index, "a 0-d tensor has no dimension to select from");
  const int64_t dim = call.dim("dim", array.rank());
  const int64_t index = call.integer("index"), size = array.sizes[dim];
  call.require(index >= -size && index < size, ErrorKind::index, "index ", index,
               " is out of range for dimension ", dim, " of size ", size);
  Array part = array;
  part.offset += (index < 0 ? index + size : index) * array.strides[dim];
  part.sizes.erase(dim);
  part.strides.erase(dim);
  return part;
}

Array slice_part(const Call& call, const Array& array) {
  call.require(array.rank() > 0, ErrorKind::index, "a 0-d tensor cannot be sliced");
  const int64_t dim = call.dim("dim", array.rank()), size = array.sizes[dim];
  const int64_t step = call.integer("step");
  call.require(step > 0, ErrorKind::value, "step must be positive, got ", step);
  const auto bound = [&](std::string_view name, int64_t missing) {
    if (!call.has(name)) return missing;
    const int64_t given = call.integer(name);
    return std::clamp<int64_t>(given < 0 ? given + size : given, 0, size);
  };
  const int64_t start = bound("start", 0), end = std::max(start, bound("end", size));
  Array part = array;
  part.offset += start * array.strides[dim];
  part.sizes[dim] = (end - start) / step + ((end - start) % step != 0);
  // The stride of a dimension of one element is never used; it must not overflow.
  if (part.sizes[dim] > 1) part.strides[dim] *= step;
  return part;
}

Array diagonal_part(const Call& call, const Array& array) {
  const int64_t rank = array.rank();
  const int64_t dim1 = call.dim("dim1", rank), dim2 = call.dim("dim2", rank);
  call.require(rank >= 2 && dim1 != dim2, ErrorKind::shape,
               "dim1 and dim2 must be two different dimensions, got ", dim1, " and ", dim2,
               " of shape ", array.sizes);
  const int64_t offset = call.integer("offset");
  const int64_t rows = array.sizes[dim1], columns = array.sizes[dim2];
  // A diagonal that lies outside is empty; comparing first keeps the differences from overflowing.
  int64_t length = 0;
  if (offset >= 0 && offset < columns) length = std::min(rows, columns - offset);
  if (offset < 0 && offset > -rows) length = std::min(rows + offset, columns);
  Array part = array;
  if (length > 0)
    part.offset += offset >= 0 ? offset * array.strides[dim2] : -offset * array.strides[dim1];
  const int64_t stride = array.strides[dim1] + array.strides[dim2];
  for (int64_t dim : {std::max(dim1, dim2), std::min(dim1, dim2)}) {
    part.sizes.erase(dim);
    part.strides.erase(dim);
  }
  part.sizes.push_back(length);
  part.strides.push_back(stride);
  return part;
}

Array unfold_part(const Call& call, const Array& array) {
  const int64_t dim = call.dim("dimension", array.rank());
  const int64_t size = call.integer("size"), step = call.integer("step");
  const int64_t whole = array.rank() == 0 ? 1 : array.sizes[dim];
  call.require(size >= 0 && size <= whole, ErrorKind::shape, "size must be between 0 and ", whole,
               ", the size of dimension ", dim, "; got ", size);
  call.require(step > 0, ErrorKind::value, "step must be positive, got ", step);
  if (array.rank() == 0) return array.view({size}, {1}, array.offset);
  Array part = array;
  const int64_t stride = part.strides[dim];
  part.sizes[dim] = (whole - size) / step + 1;
  if (part.sizes[dim] > 1) part.strides[dim] *= step;
  part.sizes.push_back(size);
  part.strides.push_back(stride);
  return part;
}

// Gives a gradient back to the part it came from; the rest is zero.
using Part = Array (*)(const Call& call, const Array& array);
template <Part part>
void backward_shape(Call& call) {
  const Dims& sizes = call.integers("input_size");
  tensor::checked_count(call.heading(), sizes);
  call.add_output(sizes, call.in(0).dtype);
  const Dims expected = part(call, call.out()).sizes;
  call.require(call.in(0).sizes == expected, ErrorKind::shape, "grad must have shape ", expected,
               ", got ", call.in(0).sizes);
}
template <Part part>
void backward_kernel(Call& call) {
  kernels::fill(call.out(), int64_t{0});
  kernels::copy(call.in(0), part(call, call.out()));
}

// A copy of the input in which a part is replaced.
template <Part part>
void scatter_shape(Call& call) {
  call.add_output(call.in(0).sizes, call.in(0).dtype);
  const Dims expected = part(call, call.out()).sizes;
  call.require(call.in(1).sizes == expected, ErrorKind::shape, "src must have shape ", expected,
               ", got ", call.in(1).sizes);
}
template <Part part>
void scatter_kernel(Call& call) {
  kernels::copy(call.in(0), call.out());
  kernels::copy(call.in(1), part(call, call.out()));
}

// --- strided geometry ----------------------------------------------------------------------------

// One past the last element that sizes and strides reach; refuses what cannot be addressed.
int64_t checked_reach(const Call& call, const Dims& sizes, const Dims& strides, int64_t offset) {
  call.require(sizes.size() == strides.size(), ErrorKind::shape,
               "size and stride must have the same length; size is ", sizes, ", stride is ",
               strides);
  const int64_t count = tensor::checked_count(call.heading(), sizes);
  bool valid = offset >= 0;
  int64_t last = offset;
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t span = 0;
    valid = valid && strides[i] >= 0;
    if (count == 0) continue;
    valid = valid && !__builtin_mul_overflow(sizes[i] - 1, strides[i], &span) &&
            !__builtin_add_overflow(last, span, &last);
  }
  call.require(valid && last < (int64_t{1} << 59), ErrorKind::shape, "size ", sizes, ", stride ",
               strides, " and offset ", offset, " do not describe a part of a storage");
  return count == 0 ? offset : last + 1;
}

// How often each element of a flat buffer is reached by a view of it.
Array times_reached(const Array& flat, const Dims& sizes, const Dims& strides, int64_t offset) {
  const Array counts = Array::allocate(flat.sizes, flat.dtype);
  kernels::fill(counts, int64_t{0});
  const Array one = Array::allocate({}, flat.dtype);
  kernels::fill(one, int64_t{1});
  kernels::add_into(one.expand(sizes), counts.view(sizes, strides, offset));
  return counts;
}

template <class T>
void divide_by_counts(const Array& values, const Array& counts) {
  T* value = values.as<T>();
  const T* count = counts.as<T>();
  for (int64_t i = 0; i < values.count(); ++i) value[i] /= std::max<T>(count[i], 1);
}

// --- pieces of lists -----------------------------------------------------------------------------

void add_pieces(Call& call, int64_t dim, const Dims& lengths) {
  Array piece = call.in(0);
  for (int64_t length : lengths) {
    piece.sizes[dim] = length;
    call.outputs.push_back(piece);
    piece.offset += length * piece.strides[dim];
  }
}

// Gradients of pieces; zeros for those that nobody used.
Values pieces_or_zeros(const Gradient& g) {
  Values pieces;
  for (size_t i = 0; i < g.output_count(); ++i) {
    pieces.push_back(g.has_grad(i) ? g.grad(i) : zeros(g.output_sizes(i), g.output_dtype(i)));
  }
  return pieces;
}

std::optional<int64_t> optional_integer(const Arguments& arguments, std::string_view name) {
  if (!arguments.has(name)) return std::nullopt;
  return arguments.integer(name);
}

// The order of dimensions that undoes `order`.
Dims inverse_of(const Dims& order) {
  Dims inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) inverse[order[i]] = static_cast<int64_t>(i);
  return inverse;
}

Array transposed(const Array& array, int64_t dim0, int64_t dim1) {
  Array result = array;
  if (array.rank() > 0) {
    std::swap(result.sizes[dim0], result.sizes[dim1]);
    std::swap(result.strides[dim0], result.strides[dim1]);
  }
  return result;
}

}  // namespace

// --- reshapes ------------------------------------------------------------------------------------

OP(alias) {
  .signature = "alias(input: Tensor) -> Tensor",
  .doc = "Returns a view of the whole tensor.",
  .shape = [](Call& call) { call.outputs.push_back(call.in(0)); },
  .run = graph::view(),
  .gradient = [](Gradient& g) -> Values { return {g.grad()}; },
};

OP(view) {
  .signature = "view(input: Tensor, size: int[*]) -> Tensor",
  .doc =
      "Returns a view with other sizes. One size may be -1. The strides must allow it without a "
      "copy; otherwise use reshape.",
  .shape = [](Call& call) {
    const Array& input = call.in(0);
    const Dims sizes = infer_sizes(call, call.integers("size"), input.count());
    auto result = input.reshape(sizes);
    call.require(result.has_value(), ErrorKind::shape,
                 "view size is not compatible with input tensor's size and stride (at least one "
                 "dimension spans across two contiguous subspaces). Use .reshape(...) instead. "
                 "Input has shape ",
                 input.sizes, " and strides ", input.strides, ", size is ", sizes);
    call.outputs.push_back(*std::move(result));
  },
  .run = graph::view(),
  .gradient = [](Gradient& g) -> Values { return {reshape(g.grad(), g.input_sizes())}; },
};

OP(reshape) {
  .signature = "reshape(input: Tensor, shape: int[*]) -> Tensor",
  .doc =
      "Returns a tensor with the same elements and other sizes: a view where strides allow it, a "
      "copy otherwise. One size may be -1.",
  .shape = of_parts(),
  .run = composite([](const Call& call) -> Values {
    const Dims sizes = infer_sizes(call, call.integers("shape"), call.in(0).count());
    return {view(call.in(0).reshape(sizes) ? call[0] : clone(call[0]), sizes)};
  }),
  .gradient = of_parts(),
};

OP(flatten) {
  .signature = "flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor",
  .doc = "Merges the dimensions from start_dim to end_dim into one.",
  .shape = of_parts(),
  .run = composite([](const Call& call) -> Values {
    const Dims& sizes = call.in(0).sizes;
    const int64_t start = call.dim("start_dim", call.in(0).rank());
    const int64_t end = call.dim("end_dim", call.in(0).rank());
    call.require(start <= end, ErrorKind::shape, "start_dim cannot come after end_dim");
    if (sizes.empty()) return {reshape(call[0], {1})};
    Dims merged(sizes.begin(), sizes.begin() + start);
    merged.push_back(tensor::count_of({sizes.begin() + start, sizes.begin() + end + 1}));
    for (size_t i = end + 1; i < sizes.size(); ++i) merged.push_back(sizes[i]);
    return {reshape(call[0], merged)};
  }),
  .gradient = of_parts(),
};

OP(unflatten) {
  .signature = "unflatten(input: Tensor, dim: int, sizes: int[]) -> Tensor",
  .doc = "Splits a dimension into several. One of the sizes may be -1.",
  .shape = of_parts(),
  .run = composite([](const Call& call) -> Values {
    call.require(call.in(0).rank() > 0, ErrorKind::index, "a 0-d tensor has no dimension to split");
    const Dims& sizes = call.in(0).sizes;
    const int64_t dim = call.dim("dim", call.in(0).rank());
    call.require(!call.integers("sizes").empty(), ErrorKind::shape, "sizes must not be empty");
    const Dims split = infer_sizes(call, call.integers("sizes"), sizes[dim]);
    Dims result(sizes.begin(), sizes.begin() + dim);
    for (int64_t size : split) result.push_back(size);
    for (size_t i = dim + 1; i < sizes.size(); ++i) result.push_back(sizes[i]);
    return {view(call[0], result)};
  }),
  .gradient = of_parts(),
};

OP(squeeze) {
  .signature = "squeeze(input: Tensor, dim: int[]? = None) -> Tensor",
  .doc = "Removes dimensions of size 1: all of them, or those in dim (others in dim stay).",
  .shape = [](Call& call) {
    const Array& input = call.in(0);
    const bool all = !call.has("dim");
    const Dims dims = all ? Dims() : wrap_dims(call, call.integers("dim"), input.rank());
    Array result = input;
    for (int64_t i = input.rank() - 1; i >= 0; --i) {
      const bool chosen = all || std::find(dims.begin(), dims.end(), i) != dims.end();
      if (!chosen || input.sizes[i] != 1) continue;
      result.sizes.erase(i);
      result.strides.erase(i);
    }
    call.outputs.push_back(std::move(result));
  },
  .run = graph::view(),
  .gradient = [](Gradient& g) -> Values { return {view(g.grad(), g.input_sizes())}; },
};

OP(unsqueeze) {
  .signature = "unsqueeze(input: Tensor, dim: int) -> Tensor",
  .doc = "Inserts a dimension of size 1.",
  .shape = [](Call& call) {
    Array result = call.in(0);
    const int64_t dim = call.dim("dim", result.rank() + 1);
    call.require(result.rank() < tensor::max_rank, ErrorKind::shape, "a tensor has at most ",
                 tensor::max_rank, " dimensions");
    const int64_t stride = dim < result.rank() ? result.sizes[dim] * result.strides[dim] : 1;
    result.sizes.insert(dim, 1);
    result.strides.insert(dim, stride);
    call.outputs.push_back(std::move(result));
  },
  .run = graph::view(),
  .gradient = [](Gradient& g) -> Values { return {view(g.grad(), g.input_sizes())}; },
};

OP(permute) {
  .signature = "permute(input: Tensor, dims: int[*]) -> Tensor",
  .doc = "Returns a view with its dimensions in another order.",
  .shape = [](Call& call) {
    const Array& input = call.in(0);
    const Dims dims = wrap_dims(call, call.integers("dims"), input.rank());
    call.require(dims.size() == input.sizes.size(), ErrorKind::shape, "dims ",
                 call.integers("dims"), " must name every dimension of input, which has shape ",
                 input.sizes);
    call.outputs.push_back(input.permute(dims));
  },
  .run = graph::view(),
  .gradient = [](Gradient& g) -> Values {
    Dims dims = g.integers("dims");
    for (int64_t& dim : dims) dim += dim < 0 ? static_cast<int64_t>(dims.size()) : 0;
    return {permute(g.grad(), inverse_of(dims))};
  },
};

OP(transpose) {
  .signature = "transpose(input: Tensor, dim0: int, dim1: int) -> Tensor",
  .doc = "Returns a view with two dimensions swapped.",
  .shape = [](Call& call) {
    const Array& input = call.in(0);
    call.outputs.push_back(
        transposed(input, call.dim("dim0", input.rank()), call.dim("dim1", input.rank())));
  },
  .run = graph::view(),
  .gradient = [](Gradient& g) -> Values {
    return {transpose(g.grad(), g.integer("dim0"), g.integer("dim1"))};
  },
};

OP(t) {
  .signature = "t(input: Tensor) -> Tensor",
  .doc = "Transposes a matrix; tensors of fewer dimensions stay as they are.",
  .shape = [](Call& call) {
    const Array& input = call.in(0);
    call.require(input.rank() <= 2, ErrorKind::shape,
                 "input must have at most 2 dimensions, it has ", "shape ", input.sizes);
    call.outputs.push_back(input.rank() == 2 ? transposed(input, 0, 1) : input);
  },
  .run = graph::view(),
  .gradient = [](Gradient& g) -> Values { return {t(g.grad())}; },
};

OP(movedim) {
  .signature = "movedim(input: Tensor, source: int[], destination: int[]) -> Tensor",
  .doc = "Moves dimensions to other positions; the others keep their order.",
  .shape = of_parts(),
  .run = composite([](const Call& call) -> Values {
    const int64_t rank = call.in(0).rank();
    const Dims source = wrap_dims(call, call.integers("source"), rank);
    const Dims destination = wrap_dims(call, call.integers("destination"), rank);
    call.require(source.size() == destination.size(), ErrorKind::shape,
                 "source and destination must have the same length; source is ", source,
                 ", destination is ", destination);
    Dims order(rank, -1), rest;
    if (rank == 0) return {alias(call[0])};
    for (size_t i = 0; i < source.size(); ++i) order[destination[i]] = source[i];
    for (int64_t dim = 0; dim < rank; ++dim) {
      if (std::find(source.begin(), source.end(), dim) == source.end()) rest.push_back(dim);
    }
    size_t next = 0;
    for (int64_t& dim : order) dim = dim < 0 ? rest[next++] : dim;
    return {permute(call[0], order)};
  }),
  .gradient = of_parts(),
};

OP(expand) {
  .signature = "expand(input: Tensor, size: int[*]) -> Tensor",
  .doc =
      "Stretches dimensions of size 1 without copying. A size of -1 keeps a dimension as it is; "
      "new dimensions go in front.",
  .shape = [](Call& call) {
    const Array& input = call.in(0);
    Dims sizes = call.integers("size");
    const int64_t added = static_cast<int64_t>(sizes.size()) - input.rank();
    call.require(added >= 0, ErrorKind::shape, "the number of sizes provided (", sizes.size(),
                 ") must be at least the number of dimensions of input, which has shape ",
                 input.sizes);
    for (size_t i = 0; i < sizes.size(); ++i) {
      const int64_t old = static_cast<int64_t>(i) - added;
      if (old < 0) continue;
      if (sizes[i] == -1) sizes[i] = input.sizes[old];
      call.require(input.sizes[old] == sizes[i] || input.sizes[old] == 1, ErrorKind::shape,
                   "the expanded size of the tensor (", sizes[i],
                   ") must match the existing size (", input.sizes[old], ") at dimension ", i,
                   "; input is ", input.sizes, ", size is ", call.integers("size"));
    }
    tensor::checked_count(call.heading(), sizes);
    call.outputs.push_back(input.expand(sizes));
  },
  .run = graph::view(),
  .gradient = [](Gradient& g) -> Values { return {g.grad()}; },
};

// --- parts ---------------------------------------------------------------------------------------

OP(select) {
  .signature = "select(input: Tensor, dim: int, index: int) -> Tensor",
  .doc = "Returns a view at one index of a dimension, which disappears.",
  .shape = [](Call& call) { call.outputs.push_back(select_part(call, call.in(0))); },
  .run = graph::view(),
  .gradient = [](Gradient& g) -> Values {
    return {select_backward(g.grad(), g.input_sizes(), g.integer("dim"), g.integer("index"))};
  },
};

OP(select_backward) {
  .signature = "select_backward(grad: Tensor, input_size: int[], dim: int, index: int) -> Tensor",
  .doc = "Puts a gradient of select into zeros of the input's shape.",
  .shape = backward_shape<select_part>,
  .run = kernel(backward_kernel<select_part>),
  .gradient = [](Gradient& g) -> Values {
    return {select(g.grad(), g.integer("dim"), g.integer("index"))};
  },
};

OP(select_scatter) {
  .signature = "select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor",
  .doc = "Returns a copy of input with src at one index of a dimension.",
  .shape = scatter_shape<select_part>,
  .run = kernel(scatter_kernel<select_part>),
  .gradient = [](Gradient& g) -> Values {
    const int64_t dim = g.integer("dim"), index = g.integer("index");
    return {g.needs(0)
                ? select_scatter(g.grad(), zeros(g.input_sizes(1), g.output_dtype()), dim, index)
                : Value(),
            g.needs(1) ? select(g.grad(), dim, index) : Value()};
  },
};

OP(slice) {
  .signature =
      "slice(input: Tensor, dim: int = 0, start: int? = None, end: int? = None, step: int = 1) -> "
      "Tensor",
  .doc =
      "Returns a view of every step-th index from start to before end of a dimension. Negative "
      "bounds count from the end; bounds outside are clamped.",
  .shape = [](Call& call) { call.outputs.push_back(slice_part(call, call.in(0))); },
  .run = graph::view(),
  .gradient = [](Gradient& g) -> Values {
    return {slice_backward(g.grad(), g.input_sizes(), g.integer("dim"),
                           optional_integer(g, "start"), optional_integer(g, "end"),
                           g.integer("step"))};
  },
};

OP(slice_backward) {
  .signature =
      "slice_backward(grad: Tensor, input_size: int[], dim: int, start: int?, end: int?, step: "
      "int) -> Tensor",
  .doc = "Puts a gradient of slice into zeros of the input's shape.",
  .shape = backward_shape<slice_part>,
  .run = kernel(backward_kernel<slice_part>),
  .gradient = [](Gradient& g) -> Values {
    return {slice(g.grad(), g.integer("dim"), optional_integer(g, "start"),
                  optional_integer(g, "end"), g.integer("step"))};
  },
};

OP(slice_scatter) {
  .signature =
      "slice_scatter(input: Tensor, src: Tensor, dim: int = 0, start: int? = None, end: int? = "
      "None, step: int = 1) -> Tensor",
  .doc = "Returns a copy of input with src in a slice of a dimension.",
  .shape = scatter_shape<slice_part>,
  .run = kernel(scatter_kernel<slice_part>),
  .gradient = [](Gradient& g) -> Values {
    const int64_t dim = g.integer("dim"), step = g.integer("step");
    const auto start = optional_integer(g, "start"), end = optional_integer(g, "end");
    return {g.needs(0) ? slice_scatter(g.grad(), zeros(g.input_sizes(1), g.output_dtype()), dim,
                                       start, end, step)
                       : Value(),
            g.needs(1) ? slice(g.grad(), dim, start, end, step) : Value()};
  },
};

OP(narrow) {
  .signature = "narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor",
  .doc = "Returns a view of `length` indices of a dimension, beginning at start.",
  .shape = of_parts(),
  .run = composite([](const Call& call) -> Values {
    const Array& input = call.in(0);
    call.require(input.rank() > 0, ErrorKind::index, "a 0-d tensor cannot be narrowed");
    const int64_t dim = call.dim("dim", input.rank()), size = input.sizes[dim];
    const int64_t length = call.integer("length");
    int64_t start = call.integer("start");
    call.require(length >= 0, ErrorKind::value, "length must not be negative, got ", length);
    call.require(start >= -size && start <= size, ErrorKind::index, "start ", start,
                 " is out of range for dimension ", dim, " of size ", size);
    if (start < 0) start += size;
    call.require(length <= size - start, ErrorKind::shape, "start (", start, ") + length (", length,
                 ") exceeds the size ", size, " of dimension ", dim);
    return {slice(call[0], dim, start, start + length)};
  }),
  .gradient = of_parts(),
};

OP(diagonal) {
  .signature = "diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor",
  .doc = "Returns a view of the diagonals over two dimensions, as a new last dimension.",
  .shape = [](Call& call) { call.outputs.push_back(diagonal_part(call, call.in(0))); },
  .run = graph::view(),
  .gradient = [](Gradient& g) -> Values {
    return {diagonal_backward(g.grad(), g.input_sizes(), g.integer("offset"), g.integer("dim1"),
                              g.integer("dim2"))};
  },
};

OP(diagonal_backward) {
  .signature =
      "diagonal_backward(grad: Tensor, input_size: int[], offset: int, dim1: int, dim2: int) -> "
      "Tensor",
  .doc = "Puts a gradient of diagonal into zeros of the input's shape.",
  .shape = backward_shape<diagonal_part>,
  .run = kernel(backward_kernel<diagonal_part>),
  .gradient = [](Gradient& g) -> Values {
    return {diagonal(g.grad(), g.integer("offset"), g.integer("dim1"), g.integer("dim2"))};
  },
};

OP(diagonal_scatter) {
  .signature =
      "diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) "
      "-> Tensor",
  .doc = "Returns a copy of input with src on its diagonals over two dimensions.",
  .shape = scatter_shape<diagonal_part>,
  .run = kernel(scatter_kernel<diagonal_part>),
  .gradient = [](Gradient& g) -> Values {
    const int64_t offset = g.integer("offset"), dim1 = g.integer("dim1"), dim2 = g.integer("dim2");
    return {g.needs(0) ? diagonal_scatter(g.grad(), zeros(g.input_sizes(1), g.output_dtype()),
                                          offset, dim1, dim2)
                       : Value(),
            g.needs(1) ? diagonal(g.grad(), offset, dim1, dim2) : Value()};
  },
};

OP(unfold) {
  .signature = "unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor",
  .doc =
      "Returns a view of all windows of `size` indices along a dimension, `step` apart; the window "
      "is a new last dimension.",
  .shape = [](Call& call) {
    call.outputs.push_back(unfold_part(call, call.in(0)));
    tensor::checked_count(call.heading(), call.out().sizes);
  },
  .run = graph::view(),
  .gradient = [](Gradient& g) -> Values {
    return {unfold_backward(g.grad(), g.input_sizes(), g.integer("dimension"), g.integer("size"),
                            g.integer("step"))};
  },
};

OP(unfold_backward) {
  .signature =
      "unfold_backward(grad: Tensor, input_size: int[], dimension: int, size: int, step: int) -> "
      "Tensor",
  .doc = "Sums gradients of overlapping windows at the places they came from.",
  .shape = backward_shape<unfold_part>,
  .run = kernel([](Call& call) {
    const DType lane = tensor::dtype_of(tensor::lane_of(call.out().dtype));
    const Array total = Array::allocate(call.out().sizes, lane);
    kernels::fill(total, int64_t{0});
    kernels::add_into(call.contiguous(0, lane), unfold_part(call, total));
    kernels::copy(total, call.out());
  }),
  .gradient = [](Gradient& g) -> Values {
    return {unfold(g.grad(), g.integer("dimension"), g.integer("size"), g.integer("step"))};
  },
};

// --- views by strides ----------------------------------------------------------------------------
// Gradients need the strides of the input as they were; the primitives carry them as arguments.

OP(as_strided) {
  .signature =
      "as_strided(input: Tensor, size: int[], stride: int[], storage_offset: int? = None) -> "
      "Tensor",
  .doc = "Returns a view of the storage with given sizes, strides and offset, all in elements.",
  .shape = of_parts(),
  .run = composite([](const Call& call) -> Values {
    const Array& input = call.in(0);
    return {strided_view(call[0], call.integers("size"), call.integers("stride"),
                         optional_integer(call, "storage_offset").value_or(input.offset),
                         input.strides, input.offset)};
  }),
  .gradient = of_parts(),
};

OP(strided_view) {
  .signature =
      "strided_view(input: Tensor, size: int[], stride: int[], storage_offset: int, input_stride: "
      "int[], input_offset: int) -> Tensor",
  .doc = "Does the work of as_strided for an input with given strides and offset.",
  .shape = [](Call& call) {
    const Array& input = call.in(0);
    const Dims &sizes = call.integers("size"), &strides = call.integers("stride");
    const int64_t offset = call.integer("storage_offset");
    const int64_t reach = checked_reach(call, sizes, strides, offset);
    checked_reach(call, input.sizes, call.integers("input_stride"), call.integer("input_offset"));
    const int64_t available =
        input.storage ? input.storage->bytes() / item_size(input.dtype) : input.extent().second;
    call.require(reach <= available || tensor::count_of(sizes) == 0, ErrorKind::shape, "size ",
                 sizes, ", stride ", strides, " and storage_offset ", offset, " reach element ",
                 reach - 1, " of a storage of ", available, " elements");
    call.outputs.push_back(input.view(sizes, strides, offset));
  },
  .run = graph::view(),
  .gradient = [](Gradient& g) -> Values {
    const Array input{nullptr, g.input_sizes(), g.integers("input_stride"), 0, g.input_dtype()};
    return {restride(g.grad(), g.integers("stride"), g.integer("storage_offset"), g.input_sizes(),
                     g.integers("input_stride"), g.integer("input_offset"),
                     input.is_non_overlapping() ? 0 : 2)};
  },
};

OP(restride) {
  .signature =
      "restride(input: Tensor, from_stride: int[], from_offset: int, size: int[], stride: int[], "
      "offset: int, average: int = 0) -> Tensor",
  .doc =
      "Adds input into an empty storage by one set of strides and reads it by another. Elements "
      "reached several times by the first (average 1) or second (average 2) set are divided by how "
      "often.",
  .shape = [](Call& call) {
    const Array& input = call.in(0);
    checked_reach(call, input.sizes, call.integers("from_stride"), call.integer("from_offset"));
    checked_reach(call, call.integers("size"), call.integers("stride"), call.integer("offset"));
    call.add_output(call.integers("size"), input.dtype);
  },
  .run = kernel([](Call& call) {
    const Array& input = call.in(0);
    const Dims &from = call.integers("from_stride"), &to = call.integers("stride");
    const int64_t from_offset = call.integer("from_offset"), to_offset = call.integer("offset");
    const Dims& sizes = call.out().sizes;
    const int64_t reach = std::max(checked_reach(call, input.sizes, from, from_offset),
                                   checked_reach(call, sizes, to, to_offset));
    const DType lane = tensor::dtype_of(tensor::lane_of(input.dtype));
    const Array flat = Array::allocate({reach}, lane);
    kernels::fill(flat, int64_t{0});
    kernels::add_into(call.contiguous(0, lane), flat.view(input.sizes, from, from_offset));
    if (const int64_t average = call.integer("average"); average != 0) {
      const Array counts = average == 1 ? times_reached(flat, input.sizes, from, from_offset)
                                        : times_reached(flat, sizes, to, to_offset);
      if (lane == DType::f32) divide_by_counts<float>(flat, counts);
      if (lane == DType::f64) divide_by_counts<double>(flat, counts);
      if (lane == DType::i64) divide_by_counts<int64_t>(flat, counts);
    }
    kernels::copy(flat.view(sizes, to, to_offset), call.out());
  }),
  .gradient = [](Gradient& g) -> Values {
    const int64_t average = g.integer("average");
    return {restride(g.grad(), g.integers("stride"), g.integer("offset"), g.input_sizes(),
                     g.integers("from_stride"), g.integer("from_offset"),
                     average == 0 ? 0 : 3 - average)};
  },
};

OP(as_strided_scatter) {
  .signature =
      "as_strided_scatter(input: Tensor, src: Tensor, size: int[], stride: int[], storage_offset: "
      "int? = None) -> Tensor",
  .doc = "Returns a copy of input with src written where as_strided would look.",
  .shape = of_parts(),
  .run = composite([](const Call& call) -> Values {
    const Array& input = call.in(0);
    return {strided_scatter(call[0], call[1], call.integers("size"), call.integers("stride"),
                            optional_integer(call, "storage_offset").value_or(input.offset),
                            input.strides, input.offset)};
  }),
  .gradient = of_parts(),
};

OP(strided_scatter) {
  .signature =
      "strided_scatter(input: Tensor, src: Tensor, size: int[], stride: int[], storage_offset: "
      "int, input_stride: int[], input_offset: int) -> Tensor",
  .doc = "Does the work of as_strided_scatter for an input with given strides and offset.",
  .shape = [](Call& call) {
    const Array& input = call.in(0);
    checked_reach(call, input.sizes, call.integers("input_stride"), call.integer("input_offset"));
    checked_reach(call, call.integers("size"), call.integers("stride"),
                  call.integer("storage_offset"));
    call.require(call.in(1).sizes == call.integers("size"), ErrorKind::shape,
                 "src must have shape ", call.integers("size"), ", got ", call.in(1).sizes);
    call.add_output(input.sizes, input.dtype);
  },
  .run = kernel([](Call& call) {
    const Array& input = call.in(0);
    const Dims &own = call.integers("input_stride"), &other = call.integers("stride");
    const int64_t own_offset = call.integer("input_offset");
    const int64_t other_offset = call.integer("storage_offset");
    const int64_t reach = std::max(checked_reach(call, input.sizes, own, own_offset),
                                   checked_reach(call, call.in(1).sizes, other, other_offset));
    const Array flat = Array::allocate({reach}, input.dtype);
    kernels::copy(input, flat.view(input.sizes, own, own_offset));
    kernels::copy(call.in(1), flat.view(call.in(1).sizes, other, other_offset));
    kernels::copy(flat.view(input.sizes, own, own_offset), call.out());
  }),
  .gradient = [](Gradient& g) -> Values {
    const Dims &own = g.integers("input_stride"), &other = g.integers("stride");
    const int64_t own_offset = g.integer("input_offset"), offset = g.integer("storage_offset");
    return {g.needs(0) ? strided_scatter(g.grad(), zeros(g.input_sizes(1), g.output_dtype()),
                                         g.integers("size"), other, offset, own, own_offset)
                       : Value(),
            g.needs(1) ? restride(g.grad(), own, own_offset, g.integers("size"), other, offset)
                       : Value()};
  },
};

// --- lists of views ------------------------------------------------------------------------------

OP(unbind) {
  .signature = "unbind(input: Tensor, dim: int = 0) -> Tensor[]",
  .doc = "Returns views at every index of a dimension.",
  .shape = [](Call& call) {
    Array piece = call.in(0);
    call.require(piece.rank() > 0, ErrorKind::shape, "a 0-d tensor has no dimension to unbind");
    const int64_t dim = call.dim("dim", piece.rank());
    const int64_t size = piece.sizes[dim], stride = piece.strides[dim];
    call.require(size <= most_outputs, ErrorKind::memory, "dimension ", dim, " of size ", size,
                 " would give too many tensors");
    piece.sizes.erase(dim);
    piece.strides.erase(dim);
    for (int64_t i = 0; i < size; ++i) {
      call.outputs.push_back(piece);
      piece.offset += stride;
    }
  },
  .run = graph::view(),
  .gradient = [](Gradient& g) -> Values { return {stack(pieces_or_zeros(g), g.integer("dim"))}; },
};

OP(split) {
  .signature = "split(input: Tensor, split_size: int, dim: int = 0) -> Tensor[]",
  .doc = "Cuts a dimension into views of split_size indices; the last one may be smaller.",
  .shape = [](Call& call) {
    const Array& input = call.in(0);
    call.require(input.rank() > 0, ErrorKind::shape, "a 0-d tensor cannot be split");
    const int64_t dim = call.dim("dim", input.rank()), size = input.sizes[dim];
    const int64_t length = call.integer("split_size");
    call.require(length > 0 || (length == 0 && size == 0), ErrorKind::value,
                 "split_size must be positive, got ", length);
    const int64_t pieces = size == 0 ? 1 : size / length + (size % length != 0);
    call.require(pieces <= most_outputs, ErrorKind::memory, "dimension ", dim, " of size ", size,
                 " would give too many tensors");
    Dims lengths(pieces, length);
    lengths.back() = size - (pieces - 1) * length;
    add_pieces(call, dim, lengths);
  },
  .run = graph::view(),
  .gradient = [](Gradient& g) -> Values { return {cat(pieces_or_zeros(g), g.integer("dim"))}; },
};

OP(split_with_sizes) {
  .signature = "split_with_sizes(input: Tensor, split_sizes: int[], dim: int = 0) -> Tensor[]",
  .doc = "Cuts a dimension into views of the given sizes, which must add up to it.",
  .shape = [](Call& call) {
    const Array& input = call.in(0);
    call.require(input.rank() > 0, ErrorKind::shape, "a 0-d tensor cannot be split");
    const int64_t dim = call.dim("dim", input.rank());
    const Dims& lengths = call.integers("split_sizes");
    int64_t left = input.sizes[dim];
    for (int64_t length : lengths) {
      call.require(length >= 0, ErrorKind::value, "split_sizes must not be negative, got ",
                   lengths);
      left = length > left ? -1 : left - length;
      if (left < 0) break;
    }
    call.require(left == 0, ErrorKind::shape, "split_sizes must add up to ", input.sizes[dim],
                 ", the size of dimension ", dim, "; got ", lengths);
    add_pieces(call, dim, lengths);
  },
  .run = graph::view(),
  .gradient = [](Gradient& g) -> Values { return {cat(pieces_or_zeros(g), g.integer("dim"))}; },
};

OP(chunk) {
  .signature = "chunk(input: Tensor, chunks: int, dim: int = 0) -> Tensor[]",
  .doc = "Cuts a dimension into at most `chunks` views of equal size; the last one may be smaller.",
  .shape = of_parts(),
  .run = composite([](const Call& call) -> Values {
    const Array& input = call.in(0);
    call.require(input.rank() > 0, ErrorKind::shape, "a 0-d tensor cannot be cut into chunks");
    const int64_t dim = call.dim("dim", input.rank()), size = input.sizes[dim];
    const int64_t chunks = call.integer("chunks");
    call.require(chunks > 0, ErrorKind::value, "chunks must be positive, got ", chunks);
    if (size == 0) {
      call.require(chunks <= most_outputs, ErrorKind::memory, "too many chunks: ", chunks);
      return split_with_sizes(call[0], Dims(chunks, 0), dim);
    }
    return split(call[0], size / chunks + (size % chunks != 0), dim);
  }),
  .gradient = of_parts(),
};

// --- copies with another layout ------------------------------------------------------------------

OP(flip) {
  .signature = "flip(input: Tensor, dims: int[*]) -> Tensor",
  .doc = "Returns a copy with the order of indices reversed along dims.",
  .shape = [](Call& call) {
    wrap_dims(call, call.integers("dims"), call.in(0).rank());
    call.add_output(call.in(0).sizes, call.in(0).dtype);
  },
  .run = kernel([](Call& call) {
    Array reversed = call.in(0);
    if (reversed.count() > 0 && reversed.rank() > 0) {
      for (int64_t dim : wrap_dims(call, call.integers("dims"), reversed.rank())) {
        reversed.offset += (reversed.sizes[dim] - 1) * reversed.strides[dim];
        reversed.strides[dim] = -reversed.strides[dim];
      }
    }
    kernels::copy(reversed, call.out());
  }),
  .gradient = [](Gradient& g) -> Values { return {flip(g.grad(), g.integers("dims"))}; },
};

OP(roll) {
  .signature = "roll(input: Tensor, shifts: int[], dims: int[] = []) -> Tensor",
  .doc =
      "Returns a copy with indices moved by shifts along dims; what leaves at one end comes back "
      "at the other. Without dims the tensor is rolled as if it were flat.",
  .shape = [](Call& call) {
    const Dims &shifts = call.integers("shifts"), &dims = call.integers("dims");
    call.require(!shifts.empty(), ErrorKind::shape, "shifts must not be empty");
    call.require(dims.size() == shifts.size() || (dims.empty() && shifts.size() == 1),
                 ErrorKind::shape, "shifts and dims must have the same length; shifts is ", shifts,
                 ", dims is ", dims);
    for (int64_t dim : dims) wrap_dim(call.heading(), dim, call.in(0).rank());
    call.add_output(call.in(0).sizes, call.in(0).dtype);
  },
  .run = kernel([](Call& call) {
    const Dims &shifts = call.integers("shifts"), &dims = call.integers("dims");
    Array from = call.contiguous(0);
    if (from.count() == 0) return;
    for (size_t i = 0; i < shifts.size(); ++i) {
      const bool flat = dims.empty() || from.rank() == 0;
      const int64_t dim = flat ? 0 : wrap_dim("roll", dims[i], from.rank());
      const bool last = i + 1 == shifts.size();
      const Array to = last ? call.out() : Array::allocate(from.sizes, from.dtype);
      const Dims sizes = flat ? Dims{from.count()} : from.sizes;
      const Dims strides = tensor::contiguous_strides(sizes);
      const int64_t size = sizes[dim], shift = (shifts[i] % size + size) % size;
      for (const auto& [source, target, length] : {std::array{int64_t{0}, shift, size - shift},
                                                   std::array{size - shift, int64_t{0}, shift}}) {
        if (length == 0) continue;
        Dims part = sizes;
        part[dim] = length;
        kernels::copy(from.view(part, strides, from.offset + source * strides[dim]),
                      to.view(part, strides, to.offset + target * strides[dim]));
      }
      from = to;
    }
  }),
  .gradient = [](Gradient& g) -> Values {
    Dims shifts = g.integers("shifts");
    // Negation of the smallest integer would overflow; its complement rolls back all the same.
    for (int64_t& shift : shifts) shift = static_cast<int64_t>(-static_cast<uint64_t>(shift));
    return {roll(g.grad(), shifts, g.integers("dims"))};
  },
};

OP(rot90) {
  .signature = "rot90(input: Tensor, k: int = 1, dims: int[] = [0, 1]) -> Tensor",
  .doc =
      "Rotates by k times 90 degrees in the plane of two dimensions, from the first to the second.",
  .shape = of_parts(),
  .run = composite([](const Call& call) -> Values {
    const Dims dims = wrap_dims(call, call.integers("dims"), call.in(0).rank());
    call.require(dims.size() == 2 && call.in(0).rank() >= 2, ErrorKind::shape,
                 "dims must be two dimensions of input, got ", call.integers("dims"),
                 " for input of shape ", call.in(0).sizes);
    switch ((call.integer("k") % 4 + 4) % 4) {
      case 1:
        return {transpose(flip(call[0], {dims[1]}), dims[0], dims[1])};
      case 2:
        return {flip(call[0], dims)};
      case 3:
        return {transpose(flip(call[0], {dims[0]}), dims[0], dims[1])};
      default:
        return {clone(call[0])};
    }
  }),
  .gradient = of_parts(),
};

namespace {

// Each repeated dimension as (repeats, size); others as they are.
struct Repetition {
  Dims sizes, repeated_sizes, repeat_dims;
  Repetition(const Dims& input, const Dims& repeats) {
    const size_t added = repeats.size() - input.size();
    for (size_t i = 0; i < repeats.size(); ++i) {
      const int64_t size = i < added ? 1 : input[i - added];
      if (repeats[i] != 1) {
        repeat_dims.push_back(static_cast<int64_t>(sizes.size()));
        sizes.push_back(1);
        repeated_sizes.push_back(repeats[i]);
      }
      if (repeats[i] != 1 && size == 1) continue;
      sizes.push_back(size);
      repeated_sizes.push_back(size);
    }
  }
};

}  // namespace

OP(repeat) {
  .signature = "repeat(input: Tensor, repeats: int[*]) -> Tensor",
  .doc = "Repeats the tensor along each dimension; new dimensions go in front.",
  .shape = [](Call& call) {
    const Dims &sizes = call.in(0).sizes, &repeats = call.integers("repeats");
    call.require(repeats.size() >= sizes.size(), ErrorKind::shape,
                 "repeats needs a number for each dimension of input, which has shape ", sizes,
                 "; got ", repeats);
    Dims result = repeats;
    tensor::checked_count(call.heading(), repeats);
    const size_t added = repeats.size() - sizes.size();
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (__builtin_mul_overflow(result[added + i], sizes[i], &result[added + i])) {
        call.fail(ErrorKind::memory, "repeats ", repeats, " of shape ", sizes, " are too many");
      }
    }
    tensor::checked_count(call.heading(), result);
    call.require(Repetition(sizes, repeats).sizes.size() <= tensor::max_rank,
                 ErrorKind::unsupported, "too many dimensions are repeated: ", repeats);
    call.add_output(std::move(result), call.in(0).dtype);
  },
  .run = kernel([](Call& call) {
    const Repetition plan(call.in(0).sizes, call.integers("repeats"));
    if (call.out().count() == 0) return;
    const Array input = call.contiguous(0);
    kernels::copy(input.reshape(plan.sizes)->expand(plan.repeated_sizes),
                  *call.out().reshape(plan.repeated_sizes));
  }),
  .gradient = [](Gradient& g) -> Values {
    const Repetition plan(g.input_sizes(), g.integers("repeats"));
    if (plan.repeat_dims.empty()) return {reshape(g.grad(), g.input_sizes())};
    const Value split = reshape(g.grad(), plan.repeated_sizes);
    return {reshape(sum(split, plan.repeat_dims), g.input_sizes())};
  },
};

OP(tile) {
  .signature = "tile(input: Tensor, dims: int[*]) -> Tensor",
  .doc = "Repeats the tensor along its last dimensions, one number for each.",
  .shape = of_parts(),
  .run = composite([](const Call& call) -> Values {
    Dims repeats = call.integers("dims");
    while (repeats.size() < call.in(0).sizes.size()) repeats.insert(0, 1);
    return {repeat(call[0], repeats)};
  }),
  .gradient = of_parts(),
};

OP(repeat_interleave) {
  .signature = "repeat_interleave(input: Tensor, repeats: int, dim: int? = None) -> Tensor",
  .doc = "Repeats each index of a dimension in place; without dim the flattened tensor's elements.",
  .shape = of_parts(),
  .run = composite([](const Call& call) -> Values {
    const int64_t repeats = call.integer("repeats");
    call.require(repeats >= 0, ErrorKind::value, "repeats must not be negative, got ", repeats);
    const Value input = call.has("dim") && call.in(0).rank() > 0 ? call[0] : reshape(call[0], {-1});
    const int64_t dim =
        call.has("dim") ? wrap_dim(call.heading(), call.integer("dim"), input.rank()) : 0;
    Dims stretched = input.sizes(), result = input.sizes();
    stretched.insert(dim + 1, repeats);
    tensor::checked_count(call.heading(), stretched);
    result[dim] *= repeats;
    return {reshape(expand(unsqueeze(input, dim + 1), stretched), result)};
  }),
  .gradient = of_parts(),
};

OP(repeat_interleave_index) {
  .signature = "repeat_interleave_index(repeats: Tensor) -> Tensor",
  .doc = "Returns each position i of a 1-d integer tensor repeats[i] times, in order.",
  .shape = [](Call& call) {
    call.require(call.in(0).rank() == 1, ErrorKind::shape,
                 "repeats must have one dimension, it has ", "shape ", call.in(0).sizes);
    call.require(tensor::is_integral(call.in(0).dtype), ErrorKind::dtype,
                 "repeats must be of an integer dtype, got ", name_of(call.in(0).dtype));
  },
  .run = by_value([](Call& call) {
    const Array repeats = call.contiguous(0, DType::i64);
    int64_t total = 0;
    for (int64_t i = 0; i < repeats.count(); ++i) {
      const int64_t times = repeats.as<int64_t>()[i];
      call.require(times >= 0, ErrorKind::value, "repeats must not be negative, got ", times);
      call.require(!__builtin_add_overflow(total, times, &total), ErrorKind::memory,
                   "repeats add up to too many elements");
    }
    tensor::checked_count(call.heading(), Dims{total});
    call.outputs.push_back(Array::allocate({total}, DType::i64));
    auto* out = call.out().as<int64_t>();
    for (int64_t i = 0; i < repeats.count(); ++i) {
      out = std::fill_n(out, repeats.as<int64_t>()[i], i);
    }
  }),
  .gradient = no_gradient("positions are integers"),
};

// --- padding -------------------------------------------------------------------------------------

namespace {

// Pairs of (before, after) for the last dimensions, last one first.
void check_pad(const Call& call, const Dims& pad) {
  call.require(pad.size() % 2 == 0 && pad.size() / 2 <= call.in(0).sizes.size(), ErrorKind::shape,
               "pad needs two numbers for each of at most ", call.in(0).rank(),
               " dimensions (input has shape ", call.in(0).sizes, "); got ", pad);
  for (int64_t number : pad) {
    call.require(std::abs(number / 2) < (int64_t{1} << 58), ErrorKind::memory,
                 "pad is too large: ", pad);
  }
}

// A size with both ends padded; negative numbers crop.
int64_t padded_size(const Call& call, int64_t size, int64_t before, int64_t after) {
  int64_t result = 0;
  call.require(!__builtin_add_overflow(size, before, &result) &&
                   !__builtin_add_overflow(result, after, &result) && result >= 0,
               ErrorKind::shape, "a size of ", size, " padded by ", before, " and ", after,
               " is not a valid size");
  return result;
}

// Where the elements of a padded dimension come from.
Value padding_indices(int64_t size, int64_t before, int64_t length, std::string_view mode) {
  const Array indices = Array::allocate({length}, DType::i64);
  for (int64_t i = 0; i < length; ++i) {
    int64_t from = i - before;
    if (mode == "reflect") {
      from = from < 0 ? -from : from >= size ? 2 * (size - 1) - from : from;
    } else if (mode == "replicate") {
      from = std::clamp<int64_t>(from, 0, size - 1);
    } else {
      from = (from % size + size) % size;
    }
    indices.as<int64_t>()[i] = from;
  }
  return Value(indices);
}

}  // namespace

OP(constant_pad) {
  .signature = "constant_pad(input: Tensor, pad: int[], value: Number = 0) -> Tensor",
  .doc =
      "Surrounds the tensor with a value. pad holds (before, after) for the last dimension, then "
      "for the one before it, and so on; negative numbers crop.",
  .shape = [](Call& call) {
    const Dims& pad = call.integers("pad");
    check_pad(call, pad);
    Dims sizes = call.in(0).sizes;
    for (size_t i = 0; i < pad.size() / 2; ++i) {
      int64_t& size = sizes[sizes.size() - 1 - i];
      size = padded_size(call, size, pad[2 * i], pad[2 * i + 1]);
    }
    tensor::checked_count(call.heading(), sizes);
    call.add_output(std::move(sizes), call.in(0).dtype);
  },
  .run = kernel([](Call& call) {
    const Dims& pad = call.integers("pad");
    Array from = call.in(0), to = call.out();
    if (const auto* whole = std::get_if<int64_t>(&call.attribute("value"))) {
      kernels::fill(to, *whole);
    } else {
      kernels::fill(to, call.real("value"));
    }
    for (size_t i = 0; i < pad.size() / 2; ++i) {
      const int64_t dim = from.rank() - 1 - static_cast<int64_t>(i);
      const int64_t before = pad[2 * i], after = pad[2 * i + 1];
      const int64_t length =
          from.sizes[dim] + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
      if (length <= 0) return;
      (before < 0 ? from : to).offset += std::abs(before) * (before < 0 ? from : to).strides[dim];
      from.sizes[dim] = to.sizes[dim] = length;
    }
    kernels::copy(from, to);
  }),
  .gradient = [](Gradient& g) -> Values {
    Dims pad = g.integers("pad");
    for (int64_t& number : pad) number = -number;
    return {constant_pad(g.grad(), pad, int64_t{0})};
  },
};

OP(pad) {
  .signature =
      "pad(input: Tensor, pad: int[], mode: str = 'constant', value: Number? = None) -> Tensor",
  .doc =
      "Pads the last dimensions. pad holds (before, after) for the last dimension, then for the "
      "one before it, and so on. mode is 'constant' (with value, by default 0), 'reflect', "
      "'replicate' or 'circular'.",
  .shape = of_parts(),
  .run = composite([](const Call& call) -> Values {
    const Dims& pad = call.integers("pad");
    const std::string& mode = call.string("mode");
    check_pad(call, pad);
    if (mode == "constant") {
      return {constant_pad(call[0], pad, call.has("value") ? call.attribute("value") : int64_t{0})};
    }
    call.require(mode == "reflect" || mode == "replicate" || mode == "circular", ErrorKind::value,
                 "mode must be 'constant', 'reflect', 'replicate' or 'circular', got '", mode, "'");
    call.require(!call.has("value"), ErrorKind::value, "mode '", mode, "' does not take a value");
    Value result = call[0];
    for (size_t i = 0; i < pad.size() / 2; ++i) {
      const int64_t dim = result.rank() - 1 - static_cast<int64_t>(i), size = result.size(dim);
      const int64_t before = pad[2 * i], after = pad[2 * i + 1];
      if (before == 0 && after == 0) continue;
      const int64_t length = padded_size(call, size, before, after);
      const int64_t limit = mode == "reflect" ? size - 1 : mode == "circular" ? size : before;
      call.require(size > 0 && (mode == "replicate" || (before <= limit && after <= limit)),
                   ErrorKind::shape, "mode '", mode, "' cannot pad dimension ", dim, " of size ",
                   size, " by ", before, " and ", after);
      call.require(before + size > 0 && after + size > 0, ErrorKind::shape,
                   "cannot crop dimension ", dim, " of size ", size, " by ", before, " and ",
                   after);
      tensor::checked_count(call.heading(), Dims{length});
      result = index_select(result, dim, padding_indices(size, before, length, mode));
    }
    return {result == call[0] ? clone(result) : result};
  }),
  .gradient = of_parts(),
};

// --- triangles and diagonals ---------------------------------------------------------------------

namespace {

void triangle_shape(Call& call) {
  call.require(call.in(0).rank() >= 2, ErrorKind::shape,
               "input must have at least 2 dimensions, it has shape ", call.in(0).sizes);
  call.add_output(call.in(0).sizes, call.in(0).dtype);
}

// Copies, then clears what lies above (or below) the diagonal.
template <bool lower>
void triangle_kernel(Call& call) {
  const Array& out = call.out();
  kernels::copy(call.in(0), out);
  if (out.count() == 0) return;
  const int64_t item = item_size(out.dtype), rows = out.sizes[out.rank() - 2];
  const int64_t columns = out.sizes.back(), all_rows = out.count() / columns;
  // Diagonals outside of the matrix are as good as those just outside.
  const int64_t diagonal = std::clamp<int64_t>(call.integer("diagonal"), -rows, columns);
  char* data = out.data();
  for (int64_t row = 0; row < all_rows; ++row) {
    // The first column right of the diagonal, or the diagonal itself.
    const int64_t edge = std::clamp<int64_t>(row % rows + diagonal + (lower ? 1 : 0), 0, columns);
    char* start = data + row * columns * item;
    if (lower) std::memset(start + edge * item, 0, (columns - edge) * item);
    if (!lower) std::memset(start, 0, edge * item);
  }
}

}  // namespace

OP(tril) {
  .signature = "tril(input: Tensor, diagonal: int = 0) -> Tensor",
  .doc = "Returns the lower triangle of each matrix; the rest is zero.",
  .shape = triangle_shape,
  .run = kernel(triangle_kernel<true>),
  .gradient = [](Gradient& g) -> Values { return {tril(g.grad(), g.integer("diagonal"))}; },
};

OP(triu) {
  .signature = "triu(input: Tensor, diagonal: int = 0) -> Tensor",
  .doc = "Returns the upper triangle of each matrix; the rest is zero.",
  .shape = triangle_shape,
  .run = kernel(triangle_kernel<false>),
  .gradient = [](Gradient& g) -> Values { return {triu(g.grad(), g.integer("diagonal"))}; },
};

OP(diag_embed) {
  .signature =
      "diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor",
  .doc = "Makes matrices whose diagonals are the rows of the last dimension.",
  .shape = [](Call& call) {
    const Array& input = call.in(0);
    call.require(input.rank() > 0, ErrorKind::shape, "input must have at least one dimension");
    const int64_t rank = input.rank() + 1, offset = call.integer("offset");
    const int64_t dim1 = call.dim("dim1", rank), dim2 = call.dim("dim2", rank);
    call.require(dim1 != dim2, ErrorKind::shape, "dim1 and dim2 must differ, both are ", dim1);
    call.require(std::abs(offset / 2) < (int64_t{1} << 58), ErrorKind::memory, "offset ", offset,
                 " is too large");
    Dims sizes(input.sizes.begin(), input.sizes.end() - 1);
    sizes.insert(std::min(dim1, dim2), input.sizes.back() + std::abs(offset));
    sizes.insert(std::max(dim1, dim2), input.sizes.back() + std::abs(offset));
    tensor::checked_count(call.heading(), sizes);
    call.add_output(std::move(sizes), input.dtype);
  },
  .run = kernel(backward_kernel<diagonal_part>),
  .gradient = [](Gradient& g) -> Values {
    return {diagonal(g.grad(), g.integer("offset"), g.integer("dim1"), g.integer("dim2"))};
  },
};

OP(diag) {
  .signature = "diag(input: Tensor, diagonal: int = 0) -> Tensor",
  .doc = "Returns the diagonal of a matrix, or the matrix that has a vector as its diagonal.",
  .shape = of_parts(),
  .run = composite([](const Call& call) -> Values {
    const int64_t rank = call.in(0).rank();
    call.require(rank == 1 || rank == 2, ErrorKind::shape,
                 "input must be a vector or a matrix, it has shape ", call.in(0).sizes);
    if (rank == 1) return {diag_embed(call[0], call.integer("diagonal"))};
    return {clone(diagonal(call[0], call.integer("diagonal")))};
  }),
  .gradient = of_parts(),
};

}  // namespace weft::ops
