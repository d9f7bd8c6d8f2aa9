// Views and reshapes, and what undoes them: scatters and copies.
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

// --- parts of an array, for a view and its gradient ----------------------------------------------

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

// Gives a gradient back to the part it came from; the rest is zero.
template <Array (*part)(const Call& call, const Array& array)>
Values part_gradient(Gradient& g) {
  const Array whole = Array::meta(g.input_sizes(), g.input_dtype());
  const Array seen = part(Call(g.op, g.attributes, {}), whole);
  return {restride(g.grad(), seen.strides, seen.offset, whole.sizes, whole.strides, 0)};
}

// --- strided geometry ----------------------------------------------------------------------------

// Refuses sizes and strides that cannot be addressed.
void check_strides(const Call& call, const Dims& sizes, const Dims& strides, int64_t offset) {
  call.require(sizes.size() == strides.size(), ErrorKind::shape,
               "size and stride must have the same length; size is ", sizes, ", stride is ",
               strides);
  const int64_t count = tensor::checked_count(call.op.name, sizes);
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
}

// One more than the last place that sizes and strides reach.
int64_t reach_of(const Dims& sizes, const Dims& strides, int64_t offset) {
  return Array{nullptr, sizes, strides, offset, DType::f32}.extent().second;
}

// A row's own index: `table[word]`, where each row has another word.
Values select_rows(const Batched& b) {
  const int64_t dim = wrap_dim("select", b.integer("dim"), b.rank(0)), size = b.sizes(0)[dim];
  const size_t at = b.op.sig.find("index")->index;
  Array indices = Array::allocate({b.rows()}, DType::i64);
  auto* chosen = indices.as<int64_t>();
  bool same = true;
  for (int64_t r = 0; r < b.rows(); ++r) {
    const int64_t i = std::get<int64_t>(b.row_attributes(r)[at]);
    chosen[r] = i < 0 ? i + size : i;
    same = same && chosen[r] == chosen[0];
  }
  if (same && b.is_stacked(0)) return {select(b.with_rows(0), dim + 1, chosen[0])};
  Value rows(std::move(indices));
  rows->has_rows = true;
  return {pick_rows(b, dim, rows)};
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

OP(alias, "(input: Tensor) -> Tensor") {
  .doc = "Returns a view of the whole tensor.",
  .shape = [](Call& call) { call.outputs.push_back(call.in(0)); },
  .run = graph::view(),
  .gradient = [](Gradient& g) -> Values { return {g.grad()}; },
  .batch = rows_alike,
};

OP(view, "(input: Tensor, size: int[*]) -> Tensor") {
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
  .batch = rows_sized,
};

OP(view_dtype, "(input: Tensor, dtype: dtype) -> Tensor") {
  .doc =
      "Returns a view of the bytes as elements of another dtype: `view` with a dtype. If those are "
      "smaller or larger, the last dimension, which must lie in a row, has more or fewer of them.",
  .shape = [](Call& call) {
    const Array& input = call.in(0);
    const DType dtype = call.dtype("dtype");
    const int64_t from = item_size(input.dtype), to = item_size(dtype);
    Array result = input;
    result.dtype = dtype;
    if (from != to) {
      call.require(input.rank() > 0, ErrorKind::shape, "a 0-d input of ", name_of(input.dtype),
                   " cannot be seen as ", name_of(dtype), ", whose elements have another size");
      call.require(input.strides.back() == 1, ErrorKind::shape,
                   "the last dimension must have stride 1 to be seen as ", name_of(dtype),
                   "; input has strides ", input.strides);
      const auto scaled = [&](int64_t count, std::string_view what) {
        call.require(count * from % to == 0, ErrorKind::shape, what, " must be divisible by ",
                     to / from, " for ", name_of(input.dtype), " to be seen as ", name_of(dtype),
                     "; it is ", count);
        return count * from / to;
      };
      result.offset = scaled(input.offset, "the offset in the storage");
      result.sizes.back() = scaled(input.sizes.back(), "the size of the last dimension");
      for (size_t i = 0; i + 1 < input.strides.size(); ++i)
        result.strides[i] = scaled(input.strides[i], "each stride");
    }
    call.outputs.push_back(std::move(result));
  },
  .run = graph::view(),
  .gradient = no_gradient("bytes have none"),
  .batch = [](const Batched& b) -> Values {
    return {view_dtype(b.with_rows(0), b.dtype("dtype"))};
  },
};

OP(reshape, "(input: Tensor, shape: int[*]) -> Tensor") {
  .doc =
      "Returns a tensor with the same elements and other sizes: a view where strides allow it, a "
      "copy otherwise. One size may be -1.",
  .run = composite([](const Call& call) -> Values {
    const Dims sizes = infer_sizes(call, call.integers("shape"), call.in(0).count());
    return {view(call.in(0).reshape(sizes) ? call[0] : clone(call[0]), sizes)};
  }),
};

OP(squeeze, "(input: Tensor, dim: int[]? = None) -> Tensor") {
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
  .batch = [](const Batched& b) -> Values {
    Dims dims;
    for (int64_t dim = 0; dim < b.rank(0); ++dim) dims.push_back(dim + 1);
    if (b.has("dim") && b.rank(0) > 0) {
      dims = b.integers("dim");
      for (int64_t& dim : dims) dim = wrap_dim("squeeze", dim, b.rank(0)) + 1;
    }
    return {dims.empty() ? alias(b.with_rows(0)) : squeeze(b.with_rows(0), dims)};
  },
};

OP(unsqueeze, "(input: Tensor, dim: int) -> Tensor") {
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
  .batch = [](const Batched& b) -> Values {
    return {unsqueeze(b.with_rows(0), b.dim("dim", b.rank(0) + 1))};
  },
};

OP(permute, "(input: Tensor, dims: int[*]) -> Tensor") {
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
    const Dims& dims = g.integers("dims");
    const auto rank = static_cast<int64_t>(dims.size());
    Dims inverse(dims.size());
    for (int64_t i = 0; i < rank; ++i) inverse[dims[i] + (dims[i] < 0 ? rank : 0)] = i;
    return {permute(g.grad(), inverse)};
  },
  .batch = [](const Batched& b) -> Values {
    Dims dims{0};
    for (int64_t dim : b.integers("dims")) dims.push_back(wrap_dim("permute", dim, b.rank(0)) + 1);
    return {permute(b.with_rows(0), dims)};
  },
};

OP(transpose, "(input: Tensor, dim0: int, dim1: int) -> Tensor") {
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
  .batch = rows_along,
};

OP(t, "(input: Tensor) -> Tensor") {
  .doc = "Transposes a matrix; tensors of fewer dimensions stay as they are.",
  .shape = [](Call& call) {
    const Array& input = call.in(0);
    call.require(input.rank() <= 2, ErrorKind::shape,
                 "input must have at most 2 dimensions, it has ", "shape ", input.sizes);
    call.outputs.push_back(input.rank() == 2 ? transposed(input, 0, 1) : input);
  },
  .run = graph::view(),
  .gradient = [](Gradient& g) -> Values { return {t(g.grad())}; },
  .batch = [](const Batched& b) -> Values {
    return {b.rank(0) < 2 ? alias(b.with_rows(0)) : transpose(b.with_rows(0), 1, 2)};
  },
};

OP(expand, "(input: Tensor, size: int[*]) -> Tensor") {
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
  .batch = rows_sized,
};

// --- parts ---------------------------------------------------------------------------------------

OP(select, "(input: Tensor, dim: int, index: int) -> Tensor") {
  .doc = "Returns a view at one index of a dimension, which disappears.",
  .shape = [](Call& call) { call.outputs.push_back(select_part(call, call.in(0))); },
  .run = graph::view(),
  .gradient = part_gradient<select_part>,
  .batch = differing_in("index", select_rows),
};

OP(slice,
   "(input: Tensor, dim: int = 0, start: int? = None, end: int? = None, step: int = 1) -> "
   "Tensor") {
  .doc =
      "Returns a view of every step-th index from start to before end of a dimension. Negative "
      "bounds count from the end; bounds outside are clamped.",
  .shape = [](Call& call) { call.outputs.push_back(slice_part(call, call.in(0))); },
  .run = graph::view(),
  .gradient = part_gradient<slice_part>,
  .batch = rows_along,
};

// --- views by strides ----------------------------------------------------------------------------

OP(strided_view,
   "(input: Tensor, size: int[], stride: int[], storage_offset: int, input_stride: int[], "
   "input_offset: int) -> Tensor") {
  .doc =
      "Returns a view of the storage with given sizes, strides and offset. The gradient needs the "
      "strides and the offset of the input as they are now.",
  .shape = [](Call& call) {
    const Array& input = call.in(0);
    const Dims &sizes = call.integers("size"), &strides = call.integers("stride");
    // A row of a batch may have got other memory since.
    const int64_t before = input.storage ? call.integer("input_offset") : input.offset;
    int64_t offset = 0;
    call.require(!__builtin_sub_overflow(input.offset, before, &offset) &&
                     !__builtin_add_overflow(offset, call.integer("storage_offset"), &offset),
                 ErrorKind::value, "offsets must fit in 64 bits");
    check_strides(call, sizes, strides, offset);
    check_strides(call, input.sizes, call.integers("input_stride"), call.integer("input_offset"));
    const int64_t reach = input.view(sizes, strides, offset).extent().second;
    const int64_t available =
        input.storage ? input.storage->bytes() / item_size(input.dtype) : input.extent().second;
    call.require(reach <= available || tensor::count_of(sizes) == 0, ErrorKind::shape, "size ",
                 sizes, ", stride ", strides, " and storage_offset ", offset, " reach element ",
                 reach - 1, " of a storage of ", available, " elements");
    call.outputs.push_back(input.view(sizes, strides, offset));
  },
  .run = graph::view(),
  .gradient = [](Gradient& g) -> Values {
    const Dims &sizes = g.input_sizes(), &strides = g.integers("input_stride");
    const int64_t offset = g.integer("input_offset");
    const Value result = restride(g.grad(), g.integers("stride"), g.integer("storage_offset"),
                                  sizes, strides, offset);
    if (Array{nullptr, sizes, strides, 0, g.input_dtype()}.is_non_overlapping()) return {result};
    // Elements of the input that share a place share its gradient.
    const Value one = ones(sizes, g.output_dtype());
    return {result / restride(one, strides, offset, sizes, strides, offset)};
  },
  .batch = [](const Batched& b) -> Values {
    // A row lies as its strides say, or rows follow each other; none may see what is no row's.
    const int64_t offset = b.integer("storage_offset") - b.integer("input_offset");
    Dims size = b.integers("size"), stride = b.integers("stride");
    const Dims& own = b.integers("input_stride");
    Value all = b.with_rows(0);
    const Dims& strides = all.array().strides;
    if (!std::equal(own.begin(), own.end(), strides.begin() + 1, strides.end())) {
      if (own != tensor::contiguous_strides(b.sizes(0))) return {};
      all = contiguous(all);
    }
    if (offset < 0 || reach_of(size, stride, offset) > reach_of(b.sizes(0), own, 0)) return {};
    const Array& array = all.array();
    size.insert(0, b.rows());
    stride.insert(0, array.strides[0]);
    return {strided_view(all, size, stride, array.offset + offset, array.strides, array.offset)};
  },
  .shown_as = "AsStridedBackward0",
};

OP(restride,
   "(input: Tensor, from_stride: int[], from_offset: int, size: int[], stride: int[], offset: "
   "int) -> Tensor") {
  .doc = "Adds input into an empty storage by one set of strides and reads it by another.",
  .shape = [](Call& call) {
    const Array& input = call.in(0);
    check_strides(call, input.sizes, call.integers("from_stride"), call.integer("from_offset"));
    check_strides(call, call.integers("size"), call.integers("stride"), call.integer("offset"));
    call.add_output(call.integers("size"), input.dtype);
  },
  .run = kernel([](Call& call) {
    const Array &input = call.in(0), &out = call.out();
    const Dims &from = call.integers("from_stride"), &to = call.integers("stride");
    const int64_t from_offset = call.integer("from_offset"), to_offset = call.integer("offset");
    const int64_t reach = std::max(input.view(input.sizes, from, from_offset).extent().second,
                                   out.view(out.sizes, to, to_offset).extent().second);
    // Most often the result itself is the storage.
    const bool direct = to == out.strides && to_offset == 0 && reach <= out.count();
    const Array storage = direct ? out : Array::allocate({reach}, out.dtype);
    kernels::fill(storage, int64_t{0});
    const Array target = storage.view(input.sizes, from, from_offset);
    if (target.is_non_overlapping()) {
      kernels::copy(input, target);
    } else {
      kernels::put(call.contiguous(0), Places::of_view(target), storage, Combine::add);
    }
    if (!direct) kernels::copy(storage.view(out.sizes, to, to_offset), out);
  }),
  .gradient = [](Gradient& g) -> Values {
    return {restride(g.grad(), g.integers("stride"), g.integer("offset"), g.input_sizes(),
                     g.integers("from_stride"), g.integer("from_offset"))};
  },
  .batch = [](const Batched& b) -> Values {
    Dims from = b.integers("from_stride"), stride = b.integers("stride");
    const Dims& size = b.integers("size");
    const int64_t from_offset = b.integer("from_offset"), offset = b.integer("offset");
    const int64_t apart = std::max(reach_of(b.sizes(0), from, from_offset),
                                   reach_of(size, stride, offset));
    from.insert(0, apart);
    stride.insert(0, apart);
    return {restride(b.with_rows(0), from, from_offset, b.with_rows(size), stride, offset)};
  },
};

// --- lists of views ------------------------------------------------------------------------------

OP(unbind, "(input: Tensor, dim: int = 0) -> Tensor[]") {
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
  .batch = rows_along,
};

OP(split, "(input: Tensor, split_size: int, dim: int = 0) -> Tensor[]") {
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
  .batch = rows_along,
};

OP(split_with_sizes, "(input: Tensor, split_sizes: int[], dim: int = 0) -> Tensor[]") {
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
  .batch = rows_along,
};

OP(chunk, "(input: Tensor, chunks: int, dim: int = 0) -> Tensor[]") {
  .doc = "Cuts a dimension into at most `chunks` views of equal size; the last one may be smaller.",
  .shape = [](Call& call) {
    const Array& input = call.in(0);
    call.require(input.rank() > 0, ErrorKind::shape, "a 0-d tensor cannot be cut into chunks");
    const int64_t dim = call.dim("dim", input.rank()), size = input.sizes[dim];
    const int64_t chunks = call.integer("chunks");
    call.require(chunks > 0 && chunks <= most_outputs, ErrorKind::value,
                 "chunks must be positive, and not absurd, got ", chunks);
    const int64_t length = size / chunks + (size % chunks != 0);
    Dims lengths(size == 0 ? chunks : size / length + (size % length != 0), length);
    lengths.back() = size - static_cast<int64_t>(lengths.size() - 1) * length;
    add_pieces(call, dim, lengths);
  },
  .run = graph::view(),
  .gradient = [](Gradient& g) -> Values { return {cat(pieces_or_zeros(g), g.integer("dim"))}; },
  .batch = rows_along,
  .shown_as = "SplitBackward0",
};

// --- copies with another layout ------------------------------------------------------------------

OP(flip, "(input: Tensor, dims: int[*]) -> Tensor") {
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
  .batch = rows_along,
};

}  // namespace weft::ops
