// Products of matrices and vectors.
#include <algorithm>

#include "ops.h"
#include "weft/graph/tape.h"
#include "weft/kernels/gemm.h"
#include "weft/kernels/map.h"
#include "weft/ops/batching.h"

namespace weft::ops {
using namespace graph;
using base::ErrorKind;

namespace {

const std::string& name_of_input(const Call& call, size_t i) {
  size_t tensors = 0;
  for (const Parameter& parameter : call.op.sig.parameters) {
    if (parameter.is_tensor() && tensors++ == i) return parameter.name;
  }
  base::bug("no such input");
}

// The checks below look names up only for an error.
void require_rank(const Call& call, size_t i, int64_t rank) {
  if (call.in(i).rank() == rank) return;
  call.fail(ErrorKind::shape, name_of_input(call, i), " must have ", rank,
            rank == 1 ? " dimension" : " dimensions", ", but is ", call.in(i).sizes);
}

void require_same_dtype(const Call& call, size_t i, size_t j) {
  const DType a = call.in(i).dtype, b = call.in(j).dtype;
  if (a == b && a != DType::boolean) return;
  call.require(a == b, ErrorKind::dtype, name_of_input(call, i), " and ", name_of_input(call, j),
               " must have the same dtype; ", name_of_input(call, i), " is ", tensor::name_of(a), ", ",
               name_of_input(call, j), " is ", tensor::name_of(b));
  call.fail(ErrorKind::dtype, "products of bool are not defined");
}

void require_inner(const Call& call, size_t i, int64_t a_size, size_t j, int64_t b_size,
                   const char* a_which, const char* b_which) {
  if (a_size == b_size) return;
  call.fail(ErrorKind::shape, name_of_input(call, i), "'s ", a_which, " must equal ",
            name_of_input(call, j), "'s ", b_which, "; ", name_of_input(call, i), " is ",
            call.in(i).sizes, ", ", name_of_input(call, j), " is ", call.in(j).sizes);
}

Array view_of(const Array& array, Dims sizes, Dims strides) {
  return array.view(std::move(sizes), std::move(strides), array.offset);
}

Value swapped(const Value& value) { return transpose(value, -2, -1); }

int64_t count_of_rows(const Array& array) {
  return tensor::count_of(std::span(array.sizes.data(), array.sizes.size() - 1));
}

Values matrix_rows(const Batched& b) {
  const int64_t rank = std::max(b.rank(0), b.rank(1));
  const auto in = [&](size_t i) { return b.is_stacked(i) ? b.with_rows(i, rank) : b.in(i); };
  return {batched_matmul(in(0), in(1))};
}

}  // namespace

// --- two matrices -----------------------------------------------------------------------------------

// A weight that is used many times gets a gradient each time, and with few rows writing and adding
// those takes longer than computing them. Such a product is left for later: backward multiplies all
// rows at once (autograd/arrivals.h).
static Value weight_gradient(const Value& a, const Value& b) {
  const int64_t wide = a.size(-1), high = b.size(-1);
  const int64_t rows = a.count() / std::max<int64_t>(wide, 1);
  const bool later = graph::may_leave_unrecorded() && !modes.executor &&
                     rows * (wide + high) < wide * high;
  if (!later) return outer_sum(a, b);
  graph::ModesGuard guard;
  modes.lazy = true;
  const Value product = outer_sum(graph::without_history(a), graph::without_history(b));
  if (product->pending) graph::count_no_bytes(*product->pending);
  return product;
}

OP(mm, "(input: Tensor, mat2: Tensor) -> Tensor") {
  .doc = "Multiplies two matrices.",
  .shape = [](Call& call) {
    require_rank(call, 0, 2);
    require_rank(call, 1, 2);
    require_same_dtype(call, 0, 1);
    require_inner(call, 0, call[0].size(1), 1, call[1].size(0), "last size", "first");
    call.add_output({call[0].size(0), call[1].size(1)}, call[0].dtype());
  },
  .run = kernel([](Call& call) { kernels::matmul(call.in(0), call.in(1), call.out()); }),
  .gradient = [](Gradient& g) -> Values {
    return {g.needs(0) ? linear(g.grad(), g.input(1)) : Value(),
            g.needs(1) ? weight_gradient(g.input(0), g.grad()) : Value()};
  },
  .batch = with_weights({0, 1}, [](const Batched& b) -> Values {
    if (!b.is_stacked(1)) return {linear(b.with_rows(0), t(b.in(1)))};
    if (b.is_stacked(0)) return {batched_matmul(b.with_rows(0), b.with_rows(1))};
    return {clone(swapped(linear(swapped(b.with_rows(1)), b.in(0))))};
  }),
};

OP(outer_sum, "(input: Tensor, other: Tensor) -> Tensor") {
  .doc = "Adds up the outer products of the rows of two tensors: transpose(input) @ other, where all "
         "dimensions but the last are taken as one. The gradient of a linear layer's weight.",
  .shape = [](Call& call) {
    require_same_dtype(call, 0, 1);
    const Dims &a = call.in(0).sizes, &b = call.in(1).sizes;
    call.require(!a.empty() && a.size() == b.size() && std::equal(a.begin(), a.end() - 1, b.begin()),
                 ErrorKind::shape, "all sizes but the last must be equal; input is ", a,
                 ", other is ", b);
    call.add_output({a.back(), b.back()}, call.in(0).dtype);
  },
  .run = kernel([](Call& call) {
    // Matrices may be transposed views; with more dimensions rows must lie below each other.
    const bool flat = call.in(0).rank() == 2;
    const int64_t rows = count_of_rows(call.in(0));
    const auto as_matrix = [&](size_t i) {
      if (flat) return call.in(i);
      const int64_t columns = call.in(i).sizes.back();
      return view_of(call.contiguous(i), {rows, columns}, {columns, 1});
    };
    const Array a = as_matrix(0);
    kernels::matmul(view_of(a, {a.sizes[1], rows}, {a.strides[1], a.strides[0]}), as_matrix(1),
                    call.out());
  }),
  .gradient = [](Gradient& g) -> Values {
    return {g.needs(0) ? linear(g.input(1), g.grad()) : Value(),
            g.needs(1) ? matmul(g.input(0), g.grad()) : Value()};
  },
  .batch = [](const Batched& b) -> Values {
    const auto matrices = [&](size_t i) {
      return reshape(b.with_rows(i), {b.rows(), tensor::count_of(b.sizes(i)) / b.sizes(i).back(),
                                      b.sizes(i).back()});
    };
    if (b.sizes(0).back() == 0 || b.sizes(1).back() == 0) return {};
    return {batched_matmul(swapped(matrices(0)), matrices(1))};
  },
};

OP(linear, "(input: Tensor, weight: Tensor, bias: Tensor? = None) -> Tensor") {
  .doc = "Applies input @ transpose(weight) + bias to the last dimension. `weight` is (out, in).",
  .shape = [](Call& call) {
    const Array &input = call.in(0), &weight = call.in(1);
    call.require(input.rank() > 0, ErrorKind::shape, "input must have a dimension, but is ()");
    require_rank(call, 1, 2);
    require_same_dtype(call, 0, 1);
    require_inner(call, 0, input.sizes.back(), 1, weight.sizes[1], "last size", "last");
    if (call[2]) {
      require_same_dtype(call, 1, 2);
      const Dims& bias = call.in(2).sizes;
      call.require(bias.size() <= 1 && (bias.empty() || bias[0] == weight.sizes[0] || bias[0] == 1),
                   ErrorKind::shape, "bias's size must equal weight's first; weight is ",
                   weight.sizes, ", bias is ", bias);
    }
    Dims sizes = input.sizes;
    sizes.back() = weight.sizes[0];
    call.add_output(std::move(sizes), input.dtype);
  },
  .run = kernel([](Call& call) {
    const Array &input = call.in(0), &weight = call.in(1), &out = call.out();
    const int64_t rows = count_of_rows(input), in_size = weight.sizes[1], out_size = weight.sizes[0];
    const Array* bias = call[2] ? &call.in(2) : nullptr;
    if (input.dtype == DType::f32 && input.is_contiguous() && weight.is_contiguous() &&
        (!bias || (bias->count() == out_size && bias->is_contiguous()))) {
      const kernels::GemmShape shape{rows, out_size, in_size, false, true, bias ? bias->data() : nullptr};
      return kernels::gemm(tensor::Lane::f32, shape, input.data(), std::max<int64_t>(in_size, 1),
                           weight.data(), std::max<int64_t>(in_size, 1), out.data(),
                           std::max<int64_t>(out_size, 1));
    }
    const Array left = input.rank() == 2 ? input
                                         : view_of(call.contiguous(0), {rows, in_size}, {in_size, 1});
    const Array start = bias ? bias->expand(Dims{rows, out_size}) : Array();
    kernels::matmul(
        left, view_of(weight, {in_size, out_size}, {weight.strides[1], weight.strides[0]}),
        view_of(out, {rows, out_size}, {out_size, 1}), bias ? &start : nullptr);
  }),
  .gradient = [](Gradient& g) -> Values {
    const Value& grad = g.grad();
    // The engine adds up the bias's gradient over the rows.
    return {!g.needs(0) ? Value() : grad.rank() == 2 ? mm(grad, g.input(1)) : matmul(grad, g.input(1)),
            g.needs(1) ? weight_gradient(grad, g.input(0)) : Value(), g.needs(2) ? grad : Value()};
  },
  .batch = with_weights({1, 2}, [](const Batched& b) -> Values {
    const bool bias = b.was_given(2), own_bias = bias && (b.is_stacked(1) || b.is_stacked(2));
    Value result;
    if (!b.is_stacked(1)) {
      result = linear(b.with_rows(0), b.in(1), bias && !own_bias ? b.in(2) : Value());
    } else {
      Dims sizes = b.with_rows(b.sizes(0));
      const int64_t size = sizes.back(), count = tensor::count_of(b.sizes(0));
      sizes.back() = b.sizes(1)[0];
      if (size == 0) return {};
      const Value rows = reshape(b.with_rows(0), {b.rows(), count / size, size});
      result = reshape(batched_matmul(rows, swapped(b.with_rows(1))), sizes);
    }
    return {own_bias ? result + b.with_rows(2, b.rank(0)) : result};
  }),
  .shown_as = "AddmmBackward0",
};

OP(bmm, "(input: Tensor, mat2: Tensor) -> Tensor") {
  .doc = "Multiplies a batch of matrices with another, one by one.",
  .shape = [](Call& call) {
    require_rank(call, 0, 3);
    require_rank(call, 1, 3);
    require_same_dtype(call, 0, 1);
    require_inner(call, 0, call[0].size(0), 1, call[1].size(0), "first size", "first");
    require_inner(call, 0, call[0].size(2), 1, call[1].size(1), "last size", "second last");
    call.add_output({call[0].size(0), call[0].size(1), call[1].size(2)}, call[0].dtype());
  },
  .run = kernel([](Call& call) { kernels::matmul(call.in(0), call.in(1), call.out()); }),
  .gradient = [](Gradient& g) -> Values {
    return {g.needs(0) ? bmm(g.grad(), swapped(g.input(1))) : Value(),
            g.needs(1) ? bmm(swapped(g.input(0)), g.grad()) : Value()};
  },
  .batch = matrix_rows,
};

OP(mv, "(input: Tensor, vec: Tensor) -> Tensor") {
  .doc = "Multiplies a matrix with a vector.",
  .shape = [](Call& call) {
    require_rank(call, 0, 2);
    require_rank(call, 1, 1);
    require_same_dtype(call, 0, 1);
    require_inner(call, 0, call[0].size(1), 1, call[1].size(0), "last size", "size");
    call.add_output({call[0].size(0)}, call[0].dtype());
  },
  .run = kernel([](Call& call) {
    const Array &matrix = call.in(0), &vector = call.in(1), &out = call.out();
    kernels::matmul(matrix, view_of(vector, {vector.sizes[0], 1}, {vector.strides[0], 1}),
                    view_of(out, {out.sizes[0], 1}, {1, 1}));
  }),
  .gradient = [](Gradient& g) -> Values {
    return {g.needs(0) ? unsqueeze(g.grad(), 1) * g.input(1) : Value(),
            g.needs(1) ? mv(swapped(g.input(0)), g.grad()) : Value()};
  },
  .batch = with_weights({0, 1}, [](const Batched& b) -> Values {
    if (!b.is_stacked(0)) return {linear(b.with_rows(1), b.in(0))};
    const Value column = b.is_stacked(1) ? unsqueeze(b.with_rows(1), 2) : unsqueeze(b.in(1), 1);
    return {squeeze(batched_matmul(b.with_rows(0), column), {{2}})};
  }),
};

OP(dot, "(input: Tensor, tensor: Tensor) -> Tensor") {
  .doc = "Adds up the products of two vectors' elements.",
  .shape = [](Call& call) {
    require_rank(call, 0, 1);
    require_rank(call, 1, 1);
    require_same_dtype(call, 0, 1);
    require_inner(call, 0, call[0].size(0), 1, call[1].size(0), "size", "size");
    call.add_output({}, call[0].dtype());
  },
  .run = kernel([](Call& call) {
    const Array &a = call.in(0), &b = call.in(1);
    kernels::matmul(view_of(a, {1, a.sizes[0]}, {a.sizes[0], a.strides[0]}),
                    view_of(b, {b.sizes[0], 1}, {b.strides[0], 1}), view_of(call.out(), {1, 1}, {1, 1}));
  }),
  .gradient = [](Gradient& g) -> Values {
    return {g.needs(0) ? g.grad() * g.input(1) : Value(),
            g.needs(1) ? g.grad() * g.input(0) : Value()};
  },
  .batch = [](const Batched& b) -> Values {
    return {sum(b.with_rows(0) * b.with_rows(1), {{1}}, false, b.dtype(0))};
  },
};

// --- any number of dimensions -----------------------------------------------------------------------

OP(batched_matmul, "(input: Tensor, other: Tensor) -> Tensor") {
  .doc = "Multiplies matrices in the last two dimensions; the dimensions before them broadcast.",
  .shape = [](Call& call) {
    const Dims &a = call.in(0).sizes, &b = call.in(1).sizes;
    call.require(a.size() >= 2 && b.size() >= 2, ErrorKind::shape,
                 "both must have two dimensions or more; input is ", a, ", other is ", b);
    require_same_dtype(call, 0, 1);
    require_inner(call, 0, a[a.size() - 1], 1, b[b.size() - 2], "last size", "second last");
    auto sizes = tensor::broadcast(std::span(a.data(), a.size() - 2), std::span(b.data(), b.size() - 2));
    call.require(sizes.has_value(), ErrorKind::shape,
                 "the dimensions before the last two do not broadcast; input is ", a, ", other is ", b);
    sizes->push_back(a[a.size() - 2]);
    sizes->push_back(b[b.size() - 1]);
    call.add_output(std::move(*sizes), call.in(0).dtype);
  },
  .run = kernel([](Call& call) {
    const Array& out = call.out();
    const auto widened = [&](size_t i) {
      const Dims& own = call.in(i).sizes;
      Dims sizes = out.sizes;
      std::copy(own.end() - 2, own.end(), sizes.end() - 2);
      return own == sizes ? call.in(i) : call.in(i).expand(sizes);
    };
    kernels::matmul(widened(0), widened(1), out);
  }),
  .gradient = [](Gradient& g) -> Values {
    const Value& grad = g.grad();
    // With one matrix on the right everything before it counts as rows.
    const bool shared = g.input_sizes(1).size() == 2;
    const Value first = !g.needs(0) ? Value()
                        : shared    ? linear(grad, g.input(1))
                                    : matmul(grad, swapped(g.input(1)));
    const Value second = !g.needs(1) ? Value()
                         : shared    ? outer_sum(g.input(0), grad)
                                     : matmul(swapped(g.input(0)), grad);
    return {first, second};
  },
  .batch = matrix_rows,
  .shown_as = "UnsafeViewBackward0",
};

OP(matmul, "(input: Tensor, other: Tensor) -> Tensor") {
  .doc = "Multiplies vectors, matrices or batches of matrices. A vector counts as a row on the left "
         "and as a column on the right; dimensions before the last two broadcast.",
  .run = composite([](const Call& call) -> Values {
    const Value &a = call[0], &b = call[1];
    const int64_t a_rank = a.rank(), b_rank = b.rank();
    call.require(a_rank > 0 && b_rank > 0, ErrorKind::shape,
                 "both arguments must have a dimension; input is ", a.sizes(), ", other is ",
                 b.sizes());
    require_same_dtype(call, 0, 1);
    require_inner(call, 0, a.size(-1), 1, b_rank == 1 ? b.size(0) : b.size(-2), "last size",
                  b_rank == 1 ? "size" : "second last");
    if (a_rank == 2 && b_rank == 2) return {mm(a, b)};
    if (a_rank == 1 && b_rank == 1) return {dot(a, b)};
    if (a_rank == 2 && b_rank == 1) return {mv(a, b)};
    if (a_rank == 1 && b_rank == 2) return {squeeze(mm(unsqueeze(a, 0), b), {{0}})};
    const std::span a_batch(a.sizes().data(), std::max<int64_t>(a_rank, 2) - 2);
    const std::span b_batch(b.sizes().data(), std::max<int64_t>(b_rank, 2) - 2);
    call.require(tensor::broadcast(a_batch, b_batch).has_value(), ErrorKind::shape,
                 "the dimensions before the last two do not broadcast; input is ", a.sizes(),
                 ", other is ", b.sizes());
    if (b_rank == 1) return {squeeze(batched_matmul(a, unsqueeze(b, 1)), {{-1}})};
    if (a_rank == 1) return {squeeze(batched_matmul(unsqueeze(a, 0), b), {{-2}})};
    return {batched_matmul(a, b)};
  }),
};

// --- a product added to something --------------------------------------------------------------------

OP(addmm, "(input: Tensor, mat1: Tensor, mat2: Tensor) -> Tensor") {
  .doc = "Returns input + mat1 @ mat2.",
  .shape = [](Call& call) {
    require_rank(call, 1, 2);
    require_rank(call, 2, 2);
    require_same_dtype(call, 0, 1);
    require_same_dtype(call, 1, 2);
    require_inner(call, 1, call[1].size(1), 2, call[2].size(0), "last size", "first");
    const Dims sizes = {call[1].size(0), call[2].size(1)};
    const auto shape = tensor::broadcast(call.in(0).sizes, sizes);
    call.require(shape && *shape == sizes, ErrorKind::shape,
                 "input must broadcast to the product's shape; input is ", call.in(0).sizes,
                 ", the product is ", sizes);
    call.add_output(sizes, call.in(0).dtype);
  },
  .run = kernel([](Call& call) {
    const Array start = call.in(0).expand(call.out().sizes);
    kernels::matmul(call.in(1), call.in(2), call.out(), &start);
  }),
  .gradient = [](Gradient& g) -> Values {
    const Value& grad = g.grad();
    return {g.needs(0) ? grad : Value(), g.needs(1) ? linear(grad, g.input(2)) : Value(),
            g.needs(2) ? weight_gradient(g.input(1), grad) : Value()};
  },
  .batch = with_weights({0, 1, 2}, [](const Batched& b) -> Values {
    const Value product = !b.is_stacked(2) ? linear(b.with_rows(1), t(b.in(2)))
                                           : batched_matmul(b.in(1), b.with_rows(2));
    return {product + (b.is_stacked(0) ? b.with_rows(0, 2) : b.in(0))};
  }),
};

}  // namespace weft::ops
