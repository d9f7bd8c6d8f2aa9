// Sorting, and searching in what is sorted.
#include <algorithm>

#include "ops.h"
#include "weft/kernels/map.h"
#include "weft/kernels/sort.h"
#include "weft/ops/batching.h"
#include "weft/tensor/promotion.h"

namespace weft::ops {
using namespace graph;
using base::ErrorKind;

namespace {

// The same array with a dimension at the end; a 0-d one becomes a row of one element.
Array with_last(const Array& array, int64_t dim) {
  if (array.rank() == 0) return array.view({1}, {1}, array.offset);
  Array result = array;
  std::swap(result.sizes[dim], result.sizes.back());
  std::swap(result.strides[dim], result.strides.back());
  return result;
}

// Fills outputs (values, indices) with the first elements of each row in order, as many as there
// is room for.
void write_first(Call& call, bool descending, bool sorted) {
  if (call.out().count() == 0) return;
  const int64_t dim = call.dim("dim", call.in(0).rank());
  const Array in = kernels::converted(with_last(call.in(0), dim), call.in(0).dtype);
  const Array values = with_last(call.out(0), dim), indices = with_last(call.out(1), dim);
  const int64_t length = in.sizes.back(), k = values.sizes.back(), rows = in.count() / length;
  const Array chosen = Array::allocate(values.sizes, in.dtype);
  const Array positions = Array::allocate(values.sizes, DType::i64);
  kernels::select_rows(in, rows, length, k, descending, sorted, chosen, positions);
  kernels::copy(chosen, values);
  kernels::copy(positions, indices);
}

// Gradients of selected values go back to where they came from.
Values selected_gradient(Gradient& g) {
  const Value& indices = g.output(1);
  return {scatter(zeros(g.input_sizes(), g.output_dtype()), g.integer("dim"), indices, g.grad())};
}

}  // namespace

OP(sort,
   "(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> (values: "
   "Tensor, indices: Tensor)") {
  .doc =
      "Sorts along a dimension; also returns where the elements came from. Equal elements always "
      "keep their order. NaN counts as the largest value.",
  .shape = [](Call& call) {
    call.dim("dim", call.in(0).rank());
    call.add_output(call.in(0).sizes, call.in(0).dtype);
    call.add_output(call.in(0).sizes, DType::i64);
  },
  .run = kernel([](Call& call) { write_first(call, call.flag("descending"), true); }),
  .gradient = selected_gradient,
  .batch = rows_along,
};

OP(topk,
   "(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> "
   "(values: Tensor, indices: Tensor)") {
  .doc = "Returns the k largest (or smallest) elements along a dimension and where they were.",
  .shape = [](Call& call) {
    const Array& input = call.in(0);
    const int64_t dim = call.dim("dim", input.rank()), k = call.integer("k");
    Dims sizes = input.sizes;
    const int64_t size = sizes.empty() ? 1 : sizes[dim];
    call.require(k >= 0 && k <= size, ErrorKind::index, "selected index k out of range: k is ", k,
                 ", dimension ", dim, " has size ", size);
    if (!sizes.empty()) sizes[dim] = k;
    call.add_output(sizes, input.dtype);
    call.add_output(sizes, DType::i64);
  },
  .run = kernel([](Call& call) { write_first(call, call.flag("largest"), call.flag("sorted")); }),
  .gradient = selected_gradient,
  .batch = rows_along,
};

OP(searchsorted, "(sorted_sequence: Tensor, input: Tensor|Number, right: bool = False) -> Tensor") {
  .doc =
      "Finds where values belong in rows that are sorted: before equal elements, or behind them "
      "with right=True. A sequence of one dimension serves values of any shape; otherwise both "
      "have the same leading sizes.",
  .shape = [](Call& call) {
    const Array &sequence = call.in(0), &values = call.in(1);
    const bool fits = sequence.rank() == 1 ||
                      (sequence.rank() > 1 && values.rank() == sequence.rank() &&
                       std::equal(sequence.sizes.begin(), sequence.sizes.end() - 1,
                                  values.sizes.begin()));
    call.require(fits, ErrorKind::shape,
                 "sorted_sequence must have one dimension, or the leading sizes of input; "
                 "sorted_sequence is ",
                 sequence.sizes, ", input is ", values.sizes);
    call.add_output(values.sizes, DType::i64);
  },
  .run = kernel([](Call& call) {
    const DType a = call.in(0).dtype, b = call.in(1).dtype;
    // float32 cannot tell all integers apart.
    const bool mixed = tensor::is_floating(a) != tensor::is_floating(b) && !call[1]->is_number;
    const DType common = call[1]->is_number && tensor::is_floating(a) ? a : tensor::promote(a, b);
    const DType lane = mixed ? DType::f64 : tensor::lane_dtype(common);
    kernels::search_sorted(call.contiguous(0, lane), call.contiguous(1, lane), call.flag("right"),
                           call.out());
  }),
  .gradient = no_gradient("positions are integers"),
  .batch = [](const Batched& b) -> Values {
    if (b.is_number(1)) return {};
    if (!b.is_stacked(0) && b.rank(0) == 1) {
      return {searchsorted(b.in(0), b.with_rows(1), b.flag("right"))};
    }
    // A sequence of one dimension serves all values of its row.
    Value values = b.with_rows(1);
    const Dims sizes = values.sizes();
    if (b.rank(0) == 1) values = reshape(values, {b.rows(), tensor::count_of(b.sizes(1))});
    return {reshape(searchsorted(b.with_rows(0), values, b.flag("right")), sizes)};
  },
};

}  // namespace weft::ops
