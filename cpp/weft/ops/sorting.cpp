// Sorting, and searching in what is sorted.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops.h"
#include "weft/kernels/index.h"
#include "weft/kernels/map.h"
#include "weft/kernels/sort.h"
#include "weft/tensor/promotion.h"

namespace weft::ops {
using namespace graph;
using base::ErrorKind;

namespace {

Array moved(const Array& array, int64_t from, int64_t to) {
  Dims order(array.sizes.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  order.erase(from);
  order.insert(to, from);
  return array.permute(order);
}

Array contiguous_copy(const Array& array) {
  if (array.is_contiguous()) return array;
  const Array copy = Array::allocate(array.sizes, array.dtype);
  kernels::copy(array, copy);
  return copy;
}

// The input with a dimension moved to the end, as rows. A 0-d tensor is one row of one element.
struct Rows {
  Array in;
  int64_t dim, length, count;

  explicit Rows(const Call& call) {
    const Array& input = call.in(0);
    dim = call.dim("dim", input.rank());
    in = input.rank() == 0 ? input.view({1}, {1}, input.offset)
                           : contiguous_copy(moved(input, dim, input.rank() - 1));
    length = in.sizes.back();
    count = length == 0 ? 0 : in.count() / length;
  }

  // Fills outputs (values, indices), whose rows have k elements, from positions in the rows.
  void write(Call& call, const Array& positions, int64_t k) const {
    const Array rows = in.view({count, length}, {length, 1}, in.offset);
    const Array indices = positions.view({count, k}, {k, 1}, positions.offset);
    const Array values = Array::allocate({count, k}, in.dtype);
    kernels::gather(rows, 1, indices, values);
    put_back(values, call.out(0), k);
    put_back(indices, call.out(1), k);
  }

 private:
  void put_back(const Array& rows, const Array& out, int64_t k) const {
    Dims sizes = in.sizes;
    sizes.back() = k;
    Array target = out;
    if (out.rank() < in.rank()) {  // without keepdim, or 0-d
      const int64_t at = out.rank() == 0 ? 0 : dim;
      target.sizes.insert(at, 1);
      target.strides.insert(at, 1);
    }
    kernels::copy(rows.view(sizes, tensor::contiguous_strides(sizes), rows.offset),
                  moved(target, dim, target.rank() - 1));
  }
};

// Gradients of selected values go back to where they came from.
Values selected_gradient(Gradient& g, bool keeps_dim) {
  const Value& indices = g.output(1);
  const int64_t dim = g.integer("dim");
  const Value zero = zeros(g.input_sizes(), g.output_dtype());
  if (keeps_dim) return {scatter(zero, dim, indices, g.grad())};
  return {scatter(zero, dim, unsqueeze(indices, dim), unsqueeze(g.grad(), dim))};
}

// Distinct rows in `order` (or in place without one) and what they came from, as three outputs.
void write_unique(Call& call, const Array& rows, int64_t count, int64_t length,
                  const int64_t* order, const Dims& row_sizes, int64_t dim) {
  const Array starts = Array::allocate({count}, DType::boolean);
  const int64_t distinct = kernels::mark_starts(rows, count, length, order, starts.as<bool>());
  const Array first = Array::allocate({distinct}, DType::i64);
  const Array counts = Array::allocate({distinct}, DType::i64);
  const Array inverse = Array::allocate(dim < 0 ? call.in(0).sizes : Dims{count}, DType::i64);
  int64_t group = -1;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = order ? order[i] : i;
    if (starts.as<bool>()[i]) {
      first.as<int64_t>()[++group] = row;
      counts.as<int64_t>()[group] = 0;
    }
    ++counts.as<int64_t>()[group];
    inverse.as<int64_t>()[row] = group;
  }
  Dims sizes = row_sizes;
  sizes.insert(0, distinct);
  const Array source = rows.view({count, length}, {length, 1}, rows.offset);
  const Array chosen = Array::allocate(sizes, rows.dtype);
  kernels::take(source, kernels::Places(source, first, 0), chosen);
  call.outputs.push_back(dim > 0 ? contiguous_copy(moved(chosen, 0, dim)) : chosen);
  call.outputs.push_back(inverse);
  call.outputs.push_back(counts);
}

void unique_kernel(Call& call, bool sort) {
  const Array& input = call.in(0);
  const bool flat = !call.has("dim");
  const int64_t dim = flat ? -1 : call.dim("dim", input.rank());
  const Array rows =
      flat || input.rank() == 0 ? call.contiguous(0) : contiguous_copy(moved(input, dim, 0));
  Dims row_sizes;
  if (!flat && input.rank() > 0) row_sizes = Dims(rows.sizes.begin() + 1, rows.sizes.end());
  const int64_t length = tensor::count_of(row_sizes);
  const int64_t count = flat || input.rank() == 0 ? rows.count() : rows.sizes[0];
  const Array order = Array::allocate({sort ? count : 0}, DType::i64);
  if (sort && length == 1) kernels::sort_rows(rows, 1, count, false, order);
  if (sort && length != 1) kernels::sort_whole_rows(rows, count, length, order);
  write_unique(call, rows, count, length, sort ? order.as<int64_t>() : nullptr, row_sizes, dim);
}

void unique_shape(Call& call) {
  if (call.has("dim")) call.dim("dim", call.in(0).rank());
}

bool searches_right(const Call& call) {
  if (!call.has("side")) return call.flag("right");
  const std::string& side = call.string("side");
  call.require(side == "left" || side == "right", ErrorKind::value,
               "side must be 'left' or 'right', got '", side, "'");
  call.require(side == "right" || !call.flag("right"), ErrorKind::value,
               "side 'left' and right=True contradict each other");
  return side == "right";
}

}  // namespace

OP(sort) {
  .signature =
      "sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> "
      "(values: Tensor, indices: Tensor)",
  .doc =
      "Sorts along a dimension; also returns where the elements came from. Equal elements always "
      "keep their order. NaN counts as the largest value.",
  .shape = [](Call& call) {
    call.dim("dim", call.in(0).rank());
    call.add_output(call.in(0).sizes, call.in(0).dtype);
    call.add_output(call.in(0).sizes, DType::i64);
  },
  .run = kernel([](Call& call) {
    const Rows rows(call);
    if (rows.in.count() == 0) return;
    const Array positions = Array::allocate({rows.count, rows.length}, DType::i64);
    kernels::sort_rows(rows.in, rows.count, rows.length, call.flag("descending"), positions);
    rows.write(call, positions, rows.length);
  }),
  .gradient = [](Gradient& g) -> Values { return selected_gradient(g, true); },
};

OP(topk) {
  .signature =
      "topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> "
      "(values: Tensor, indices: Tensor)",
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
  .run = kernel([](Call& call) {
    const Rows rows(call);
    const int64_t k = call.in(0).rank() == 0 ? 1 : call.integer("k");
    if (call.out().count() == 0) return;
    const Array positions = Array::allocate({rows.count, k}, DType::i64);
    kernels::select_rows(rows.in, rows.count, rows.length, k, call.flag("largest"),
                         call.flag("sorted"), positions);
    rows.write(call, positions, k);
  }),
  .gradient = [](Gradient& g) -> Values { return selected_gradient(g, true); },
};

OP(kthvalue) {
  .signature =
      "kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> (values: Tensor, "
      "indices: Tensor)",
  .doc = "Returns the k-th smallest element along a dimension and where it was; k counts from 1.",
  .shape = [](Call& call) {
    const Array& input = call.in(0);
    const int64_t dim = call.dim("dim", input.rank()), k = call.integer("k");
    Dims sizes = input.sizes;
    const int64_t size = sizes.empty() ? 1 : sizes[dim];
    call.require(k >= 1 && k <= size, ErrorKind::index, "selected number k out of range: k is ", k,
                 ", dimension ", dim, " has size ", size);
    if (!sizes.empty() && call.flag("keepdim")) sizes[dim] = 1;
    if (!sizes.empty() && !call.flag("keepdim")) sizes.erase(dim);
    call.add_output(sizes, input.dtype);
    call.add_output(sizes, DType::i64);
  },
  .run = kernel([](Call& call) {
    const Rows rows(call);
    const int64_t k = call.integer("k");
    if (call.out().count() == 0) return;
    const Array positions = Array::allocate({rows.count, k}, DType::i64);
    kernels::select_rows(rows.in, rows.count, rows.length, k, false, false, positions);
    const Array last = positions.view({rows.count, 1}, {k, 1}, k - 1);
    rows.write(call, contiguous_copy(last), 1);
  }),
  .gradient = [](Gradient& g) -> Values {
    return selected_gradient(g, g.flag("keepdim") || g.input_sizes().empty());
  },
};

OP(unique_all) {
  .signature =
      "unique_all(input: Tensor, dim: int? = None) -> (output: Tensor, inverse_indices: Tensor, "
      "counts: Tensor)",
  .doc =
      "Returns the distinct elements (or slices of a dimension) in order, for each element which "
      "of them it is, and how often each occurs.",
  .shape = unique_shape,
  .run = by_value([](Call& call) { unique_kernel(call, true); }),
  .gradient = no_gradient("which elements are distinct does not change smoothly"),
};

OP(unique_consecutive_all) {
  .signature =
      "unique_consecutive_all(input: Tensor, dim: int? = None) -> (output: Tensor, "
      "inverse_indices: Tensor, counts: Tensor)",
  .doc =
      "Returns the first of each run of equal elements (or slices of a dimension), for each "
      "element in which run it is, and how long each run is.",
  .shape = unique_shape,
  .run = by_value([](Call& call) { unique_kernel(call, false); }),
  .gradient = no_gradient("which elements are distinct does not change smoothly"),
};

OP(searchsorted) {
  .signature =
      "searchsorted(sorted_sequence: Tensor, input: Tensor|Number, *, out_int32: bool = False, "
      "right: bool = False, side: str? = None, sorter: Tensor? = None) -> Tensor",
  .doc =
      "Finds where values belong in rows that are sorted: before equal elements, or behind them "
      "with right=True. A sequence of one dimension serves values of any shape; otherwise both "
      "have the same leading sizes. sorter holds positions that sort each row.",
  .shape = [](Call& call) {
    const Array &sequence = call.in(0), &values = call.in(1);
    searches_right(call);
    bool fits = sequence.rank() == 1 || (sequence.rank() > 1 && values.rank() == sequence.rank());
    for (int64_t i = 0; fits && sequence.rank() > 1 && i + 1 < sequence.rank(); ++i) {
      fits = sequence.sizes[i] == values.sizes[i];
    }
    call.require(fits, ErrorKind::shape,
                 "sorted_sequence must have one dimension, or the leading sizes of input; "
                 "sorted_sequence is ",
                 sequence.sizes, ", input is ", values.sizes);
    if (call[2]) {
      call.require(call.in(2).sizes == sequence.sizes && tensor::is_integral(call.in(2).dtype),
                   ErrorKind::shape,
                   "sorter must hold integers and have the shape of sorted_sequence, ",
                   sequence.sizes, "; it is ", call.in(2).sizes);
    }
    call.add_output(values.sizes, call.flag("out_int32") ? DType::i32 : DType::i64);
  },
  .run = kernel([](Call& call) {
    const DType a = call.in(0).dtype, b = call.in(1).dtype;
    // float32 cannot tell all integers apart.
    const bool mixed = tensor::is_floating(a) != tensor::is_floating(b) && !call[1]->is_number;
    const DType common = call[1]->is_number && tensor::is_floating(a) ? a : tensor::promote(a, b);
    const DType lane = mixed ? DType::f64 : tensor::dtype_of(tensor::lane_of(common));
    const Array sequence = call.contiguous(0, lane), values = call.contiguous(1, lane);
    const int64_t length = sequence.sizes.back();
    Array order;
    if (call[2]) {
      order = call.contiguous(2, DType::i64);
      const auto bad = kernels::find_out_of_range(order, length);
      const auto* places = order.as<int64_t>();
      call.require(
          !bad && std::all_of(places, places + order.count(), [](int64_t i) { return i >= 0; }),
          ErrorKind::index, "sorter holds a position outside of a row of ", length, " elements");
    }
    const Array positions =
        call.out().dtype == DType::i64 ? call.out() : Array::allocate(values.sizes, DType::i64);
    kernels::search_sorted(sequence, length, sequence.rank() == 1,
                           call[2] ? order.as<int64_t>() : nullptr, values,
                           values.rank() == 0 ? 1 : values.sizes.back(), searches_right(call),
                           positions.as<int64_t>());
    if (call.out().dtype != DType::i64) kernels::copy(positions, call.out());
  }),
  .gradient = no_gradient("positions are integers"),
};

OP(bucketize) {
  .signature =
      "bucketize(input: Tensor|Number, boundaries: Tensor, *, out_int32: bool = False, right: bool "
      "= False) -> Tensor",
  .doc = "Returns the number of the bucket, between sorted boundaries, that each value falls into.",
  .shape = of_parts(),
  .run = composite([](const Call& call) -> Values {
    call.require(call.in(1).rank() == 1, ErrorKind::shape,
                 "boundaries must have one dimension, they have shape ", call.in(1).sizes);
    return {searchsorted(call[1], call[0], call.flag("out_int32"), call.flag("right"))};
  }),
  .gradient = of_parts(),
};

OP(bincount) {
  .signature = "bincount(input: Tensor, weights: Tensor? = None, minlength: int = 0) -> Tensor",
  .doc =
      "Counts how often each non-negative integer occurs, or sums the weights at its occurrences.",
  .shape = [](Call& call) {
    const Array& input = call.in(0);
    call.require(input.rank() == 1 && (tensor::is_integral(input.dtype) || input.count() == 0),
                 ErrorKind::shape, "input must be a vector of integers; it has shape ", input.sizes,
                 " and dtype ", name_of(input.dtype));
    call.require(!call[1] || call.in(1).sizes == input.sizes, ErrorKind::shape,
                 "weights must have the shape of input, ", input.sizes, "; they are ",
                 call[1] ? call.in(1).sizes : Dims());
    call.require(call.integer("minlength") >= 0, ErrorKind::value,
                 "minlength must not be negative");
  },
  .run = by_value([](Call& call) {
    const Array input = call.contiguous(0, DType::i64);
    const auto* values = input.as<int64_t>();
    const int64_t count = input.count();
    int64_t length = call.integer("minlength");
    for (int64_t i = 0; i < count; ++i) {
      call.require(values[i] >= 0 && values[i] < (int64_t{1} << 59), ErrorKind::value,
                   "input must not hold negative or huge values, got ", values[i]);
      length = std::max(length, values[i] + 1);
    }
    tensor::checked_count(call.heading(), Dims{length});
    const bool single = call[1] && call.in(1).dtype == DType::f32;
    const DType dtype = !call[1] ? DType::i64 : single ? DType::f32 : DType::f64;
    const Array out = Array::allocate({length}, dtype);
    kernels::fill(out, int64_t{0});
    if (call[1]) {
      kernels::put(call.contiguous(1, dtype), kernels::Places(out, input, 0), out,
                   kernels::Combine::add);
    } else {
      for (int64_t i = 0; i < count; ++i) ++out.as<int64_t>()[values[i]];
    }
    call.outputs.push_back(out);
  }),
  .gradient = no_gradient("counts do not change smoothly"),
};

OP(histc) {
  .signature =
      "histc(input: Tensor, bins: int = 100, min: float = 0.0, max: float = 0.0) -> Tensor",
  .doc =
      "Counts elements in equal bins between min and max (both 0: the smallest and largest "
      "element). Elements outside are not counted.",
  .shape = [](Call& call) {
    const int64_t bins = call.integer("bins");
    call.require(bins > 0, ErrorKind::value, "bins must be positive, got ", bins);
    call.require(tensor::is_floating(call.in(0).dtype), ErrorKind::dtype,
                 "input must be of a floating dtype, got ", name_of(call.in(0).dtype));
    tensor::checked_count(call.heading(), Dims{bins});
    call.add_output({bins}, call.in(0).dtype);
  },
  .run = kernel([](Call& call) {
    const Array input = call.contiguous(0, DType::f64);
    const auto* values = input.as<double>();
    const int64_t count = input.count(), bins = call.integer("bins");
    double low = call.real("min"), high = call.real("max");
    if (low == high && count > 0) {
      low = *std::min_element(values, values + count);
      high = *std::max_element(values, values + count);
    }
    if (low == high) low -= 1, high += 1;
    call.require(std::isfinite(low) && std::isfinite(high) && low < high, ErrorKind::value,
                 "the range from ", low, " to ", high, " is not a finite range");
    const Array counts = Array::allocate({bins}, DType::i64);
    kernels::fill(counts, int64_t{0});
    for (int64_t i = 0; i < count; ++i) {
      if (!(values[i] >= low && values[i] <= high)) continue;
      const auto bin =
          static_cast<int64_t>((values[i] - low) / (high - low) * static_cast<double>(bins));
      ++counts.as<int64_t>()[std::clamp<int64_t>(bin, 0, bins - 1)];
    }
    kernels::copy(counts, call.out());
  }),
  .gradient = no_gradient("counts do not change smoothly"),
};

}  // namespace weft::ops
