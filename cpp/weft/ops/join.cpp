// Ops that join a list of tensors into one.
#include <cstring>

#include "ops.h"
#include "weft/kernels/map.h"
#include "weft/ops/batching.h"
#include "weft/tensor/promotion.h"

namespace weft::ops {
using namespace graph;
using base::ErrorKind;

namespace {

DType joined_dtype(const Call& call) {
  DType dtype = call.in(0).dtype;
  for (size_t i = 1; i < call.inputs.size(); ++i) dtype = tensor::promote(dtype, call.in(i).dtype);
  return dtype;
}

// PyTorch's old empty tensor, of shape (0,), joins with anything.
bool is_skipped(const Dims& sizes) { return sizes.size() == 1 && sizes[0] == 0; }

// Copies all inputs into their parts of the result, which follow each other along a dimension; a
// new dimension (`stacked`) the inputs do not have. Work that no thread would share goes without
// the costs of a general copy.
void copy_pieces(Call& call, bool stacked) {
  const Array& out = call.out();
  if (out.count() == 0) return;
  const int64_t dim = call.dim("dim", out.rank()), item = item_size(out.dtype);
  const tensor::Split split = tensor::split_at(out.sizes, dim);
  const int64_t step = split.size * split.inner * item;
  Array part = out;
  if (stacked) {
    part.sizes.erase(dim);
    part.strides.erase(dim);
  }
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Array& piece = call.in(i);
    if (!stacked && is_skipped(piece.sizes)) continue;
    const int64_t length = stacked ? 1 : piece.sizes[dim], bytes = piece.count() * item;
    if (!stacked) part.sizes[dim] = length;
    if (piece.dtype != out.dtype || !piece.is_contiguous() || bytes > (1 << 20)) {
      kernels::copy(piece, part);
    } else {
      const int64_t row_bytes = bytes / split.outer;
      for (int64_t row = 0; row < split.outer; ++row) {
        std::memcpy(part.data() + row * step, piece.data() + row * row_bytes, row_bytes);
      }
    }
    part.offset += length * out.strides[dim];
  }
}

}  // namespace

OP(cat, "(tensors: Tensor[], dim: int = 0) -> Tensor") {
  .doc =
      "Joins tensors along an existing dimension. All other sizes must agree; tensors of shape "
      "(0,) are skipped.",
  .shape = [](Call& call) {
    call.require(!call.inputs.empty(), ErrorKind::value, "tensors must not be an empty list");
    Dims sizes;
    size_t first = call.inputs.size();
    int64_t dim = 0, total = 0;
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      const Dims& piece = call.in(i).sizes;
      call.require(!piece.empty(), ErrorKind::shape, "a 0-d tensor (at position ", i,
                   ") cannot be joined; use stack");
      if (is_skipped(piece)) continue;
      if (first == call.inputs.size()) {
        first = i;
        sizes = piece;
        dim = call.dim("dim", call.in(i).rank());
      }
      bool fits = piece.size() == sizes.size();
      for (size_t k = 0; fits && k < piece.size(); ++k) {
        fits = static_cast<int64_t>(k) == dim || piece[k] == sizes[k];
      }
      call.require(fits, ErrorKind::shape, "sizes must match except in dimension ", dim,
                   "; the tensor at position ", first, " is ", sizes, ", the one at position ", i,
                   " is ", piece);
      call.require(!__builtin_add_overflow(total, piece[dim], &total), ErrorKind::memory,
                   "the joined tensor is too large");
    }
    if (sizes.empty()) {
      call.dim("dim", 1);
      sizes = {0};
    }
    sizes[dim] = total;
    tensor::checked_count(call.heading(), sizes);
    call.add_output(std::move(sizes), joined_dtype(call));
  },
  .run = kernel([](Call& call) { copy_pieces(call, false); }),
  .gradient = [](Gradient& g) -> Values {
    const int64_t rank = static_cast<int64_t>(g.output_sizes().size());
    const int64_t dim = tensor::wrap_dim("cat", g.integer("dim"), rank);
    Dims lengths;
    for (size_t i = 0; i < g.input_count(); ++i) {
      lengths.push_back(is_skipped(g.input_sizes(i)) ? 0 : g.input_sizes(i)[dim]);
    }
    Values pieces = split_with_sizes(g.grad(), lengths, dim);
    for (size_t i = 0; i < g.input_count(); ++i) {
      if (!g.needs(i)) pieces[i] = Value();
      if (g.needs(i) && is_skipped(g.input_sizes(i))) pieces[i] = zeros({0}, g.input_dtype(i));
    }
    return pieces;
  },
  .batch = rows_along,
};

OP(stack, "(tensors: Tensor[], dim: int = 0) -> Tensor") {
  .doc = "Joins tensors of one shape along a new dimension.",
  .shape = [](Call& call) {
    call.require(!call.inputs.empty(), ErrorKind::value, "tensors must not be an empty list");
    Dims sizes = call.in(0).sizes;
    const int64_t dim = call.dim("dim", call.in(0).rank() + 1);
    for (size_t i = 1; i < call.inputs.size(); ++i) {
      call.require(call.in(i).sizes == sizes, ErrorKind::shape,
                   "each tensor must have the same shape; the first is ", sizes,
                   ", the one at position ", i, " is ", call.in(i).sizes);
    }
    sizes.insert(dim, static_cast<int64_t>(call.inputs.size()));
    tensor::checked_count(call.heading(), sizes);
    call.add_output(std::move(sizes), joined_dtype(call));
  },
  .run = kernel([](Call& call) { copy_pieces(call, true); }),
  .gradient = [](Gradient& g) -> Values { return unbind(g.grad(), g.integer("dim")); },
  .batch = [](const Batched& b) -> Values {
    Values tensors;
    for (size_t i = 0; i < b.input_count(); ++i) tensors.push_back(b.with_rows(i));
    return {stack(tensors, b.dim("dim", b.rank(0) + 1))};
  },
};

}  // namespace weft::ops
