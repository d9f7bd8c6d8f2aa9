// Random tensors. The key of each op's numbers is drawn when the op is recorded.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops.h"
#include "weft/kernels/map.h"
#include "weft/kernels/random.h"
#include "weft/ops/batching.h"
#include "weft/tensor/promotion.h"

namespace weft::ops {
using namespace graph;
using base::ErrorKind;
using kernels::RandomStream;

namespace {

RandomStream stream_of(const Call& call) {
  const RandomKey key = call.random("generator");
  return {key.seed, key.counter, key.engine.get()};
}

void require_floating(const Call& call, DType dtype) {
  call.require(tensor::is_floating(dtype), ErrorKind::dtype, "needs a floating-point dtype, got ",
               name_of(dtype));
}

// Of the shape `size` and a floating dtype.
void floating_shape(Call& call) {
  const DType dtype = call.has("dtype") ? call.dtype("dtype") : tensor::default_dtype;
  require_floating(call, dtype);
  tensor::checked_count(call.heading(), call.integers("size"));
  call.add_output(call.integers("size"), dtype);
}

// Like the input, which only gives shape and dtype.
void floating_like(Call& call) {
  require_floating(call, call.in(0).dtype);
  call.add_output(call.in(0).sizes, call.in(0).dtype);
}

void require_probability(const Call& call, double p, std::string_view name) {
  call.require(p >= 0 && p <= 1, ErrorKind::value, name, " must be between 0 and 1, got ", p);
}

// Draws numbers one after the other in the order of the input's memory, as PyTorch does, and not in
// the order of its indices, unless the input is stretched.
template <class Draw>
void draw_like(const Call& call, const Array& out, const Draw& draw) {
  const RandomStream stream = stream_of(call);
  const Array& like = call.in(0);
  Dims order(like.sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return like.strides[a] > like.strides[b]; });
  const bool is_stretched = std::count(like.strides.begin(), like.strides.end(), 0) > 0;
  if (!stream.engine || is_stretched || std::is_sorted(order.begin(), order.end()))
    return draw(stream, out);
  Dims sizes = out.sizes, strides = out.strides;
  for (size_t i = 0; i < order.size(); ++i) sizes[i] = out.sizes[order[i]];
  const Array drawn = Array::allocate(sizes, out.dtype);
  draw(stream, drawn);
  for (size_t i = 0; i < order.size(); ++i) strides[order[i]] = drawn.strides[i];
  kernels::copy(drawn.view(out.sizes, strides, 0), out);
}

// Each row's numbers, drawn as the row alone would draw them.
template <class Draw>
Value drawn_rows(const Batched& b, const Dims& sizes, DType dtype, const Draw& draw) {
  const size_t at = b.op.sig.find("generator")->index;
  const Array all = Array::allocate(b.with_rows(sizes), dtype);
  Array row = all.view(sizes, tensor::contiguous_strides(sizes), 0);
  for (int64_t r = 0; r < b.rows(); ++r) {
    const auto key = std::get<RandomKey>(b.row_attributes(r)[at]);
    row.offset = r * row.count();
    draw(RandomStream{key.seed, key.counter}, row);
  }
  Value result(all);
  result->has_rows = true;
  return result;
}

// Of the shape `size`, in the dtype that is asked for.
template <class Draw>
Value drawn_rows(const Batched& b, const Draw& draw) {
  const DType dtype = b.has("dtype") ? b.Arguments::dtype("dtype") : tensor::default_dtype;
  return drawn_rows(b, b.integers("size"), dtype, draw);
}

constexpr std::string_view draws_alone = "each row draws its own random numbers";
constexpr std::string_view is_random = "random numbers do not depend on the arguments smoothly";

}  // namespace

OP(rand, "(size: int[*], *, generator: Generator? = None, dtype: dtype? = None) -> Tensor") {
  .doc = "Draws from the uniform distribution on [0, 1).",
  .shape = floating_shape,
  .run = kernel([](Call& call) { kernels::random_uniform(stream_of(call), call.out(), 0, 1); }),
  .gradient = no_gradient(is_random),
  .batch = differing_in("generator", [](const Batched& b) -> Values {
    return {drawn_rows(b, [](RandomStream stream, const Array& row) {
      kernels::random_uniform(stream, row, 0, 1);
    })};
  }),
};

OP(randn, "(size: int[*], *, generator: Generator? = None, dtype: dtype? = None) -> Tensor") {
  .doc = "Draws from the normal distribution with mean 0 and standard deviation 1.",
  .shape = floating_shape,
  .run = kernel([](Call& call) { kernels::random_normal(stream_of(call), call.out(), 0, 1); }),
  .gradient = no_gradient(is_random),
  .batch = differing_in("generator", [](const Batched& b) -> Values {
    return {drawn_rows(b, [](RandomStream stream, const Array& row) {
      kernels::random_normal(stream, row, 0, 1);
    })};
  }),
};

OP(randint,
   "(low: int, high: int, size: int[], *, generator: Generator? = None, dtype: dtype? = None) "
   "-> Tensor") {
  .doc = "Draws integers from low to high - 1, all equally likely.",
  .shape = [](Call& call) {
    const int64_t low = call.integer("low"), high = call.integer("high");
    const DType dtype = call.has("dtype") ? call.dtype("dtype") : DType::i64;
    call.require(low < high, ErrorKind::value, "low must be less than high; low is ", low,
                 ", high is ", high);
    tensor::checked_count(call.heading(), call.integers("size"));
    call.add_output(call.integers("size"), dtype);
  },
  .run = kernel([](Call& call) {
    const auto low = static_cast<uint64_t>(call.integer("low"));
    kernels::random_integers(stream_of(call), call.out(), call.integer("low"),
                             static_cast<uint64_t>(call.integer("high")) - low);
  }),
  .gradient = no_gradient(is_random),
  .batch = differing_in("generator", no_batch(draws_alone)),
};

OP(permutation, "(n: int, *, generator: Generator? = None) -> Tensor") {
  .doc = "Returns the integers from 0 to n - 1 in random order.",
  .shape = [](Call& call) {
    const Dims sizes{call.integer("n")};
    tensor::checked_count(call.heading(), sizes);
    call.add_output(sizes, DType::i64);
  },
  .run = kernel([](Call& call) { kernels::random_permutation(stream_of(call), call.out()); }),
  .gradient = no_gradient(is_random),
  .batch = differing_in("generator", no_batch(draws_alone)),
};

OP(bernoulli, "(input: Tensor, p: float? = None, *, generator: Generator? = None) -> Tensor") {
  .doc =
      "Draws 1 with the probability that each element of input says, otherwise 0. With p, input "
      "gives only shape and dtype.",
  .shape = [](Call& call) {
    if (call.has("p")) {
      require_probability(call, call.real("p"), "p");
    } else {
      require_floating(call, call.in(0).dtype);
    }
    call.add_output(call.in(0).sizes, call.in(0).dtype);
  },
  .run = kernel([](Call& call) {
    const Array& out = call.out();
    const Array drawn = Array::allocate(out.sizes, DType::f64);
    const Array result = Array::allocate(out.sizes, DType::boolean);
    // PyTorch draws as many digits as the probabilities have.
    const bool is_short = !call.has("p") && call.in(0).dtype != DType::f64;
    const Array units = is_short ? Array::allocate(out.sizes, DType::f32) : drawn;
    const auto draw = [](RandomStream stream, const Array& to) {
      kernels::random_uniform(stream, to, 0, 1);
    };
    call.has("p") ? draw_like(call, units, draw) : draw(stream_of(call), units);
    if (is_short) kernels::copy(units, drawn);
    const Array given = call.has("p") ? Array() : call.contiguous(0, DType::f64);
    const double same = call.has("p") ? call.real("p") : 0;
    const double *each = call.has("p") ? nullptr : given.as<double>(), *unit = drawn.as<double>();
    auto* flags = result.as<bool>();
    for (int64_t i = 0; i < out.count(); ++i) {
      const double p = each ? each[i] : same;
      require_probability(call, p, "each element of input");
      flags[i] = unit[i] < p;
    }
    kernels::copy(result, out);
  }),
  .gradient = no_gradient(is_random),
  .batch = differing_in("generator", no_batch(draws_alone)),
};

OP(uniform,
   "(input: Tensor, low: float = 0.0, high: float = 1.0, *, generator: Generator? = None) -> "
   "Tensor") {
  .doc = "Draws a tensor like input from the uniform distribution on [low, high).",
  .shape = [](Call& call) {
    const double low = call.real("low"), high = call.real("high");
    call.require(low <= high && std::isfinite(high - low), ErrorKind::value,
                 "low must not be greater than high, and both finite; low is ", low, ", high is ",
                 high);
    floating_like(call);
  },
  .run = kernel([](Call& call) {
    draw_like(call, call.out(), [&](RandomStream stream, const Array& out) {
      kernels::random_uniform(stream, out, call.real("low"), call.real("high"));
    });
  }),
  .gradient = no_gradient(is_random),
  .batch = differing_in("generator", [](const Batched& b) -> Values {
    return {drawn_rows(b, b.sizes(0), b.dtype(0), [&](RandomStream stream, const Array& row) {
      kernels::random_uniform(stream, row, b.real("low"), b.real("high"));
    })};
  }),
};

OP(gaussian,
   "(input: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator? = None) -> "
   "Tensor") {
  .doc = "Draws a tensor like input from a normal distribution.",
  .shape = [](Call& call) {
    call.require(call.real("std") >= 0, ErrorKind::value, "std must not be negative, got ",
                 call.real("std"));
    floating_like(call);
  },
  .run = kernel([](Call& call) {
    draw_like(call, call.out(), [&](RandomStream stream, const Array& out) {
      // Not in groups of 16 where the input has gaps or another order, as in PyTorch.
      const bool is_whole = !stream.engine || call.in(0).is_contiguous();
      const int64_t count = out.count(), most = is_whole ? count : 8;
      for (int64_t i = 0; i < count; i += most)
        kernels::random_normal(stream, out.view({std::min(most, count - i)}, {1}, i),
                               call.real("mean"), call.real("std"));
    });
  }),
  .gradient = no_gradient(is_random),
  .batch = differing_in("generator", [](const Batched& b) -> Values {
    return {drawn_rows(b, b.sizes(0), b.dtype(0), [&](RandomStream stream, const Array& row) {
      kernels::random_normal(stream, row, b.real("mean"), b.real("std"));
    })};
  }),
};

OP(multinomial,
   "(input: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator? = "
   "None) -> Tensor") {
  .doc = "Draws positions of each row with probabilities proportional to the row's elements.",
  .shape = [](Call& call) {
    const Array& input = call.in(0);
    const int64_t samples = call.integer("num_samples");
    call.require(input.rank() == 1 || input.rank() == 2, ErrorKind::shape,
                 "input must be a vector or a matrix, it has shape ", input.sizes);
    require_floating(call, input.dtype);
    call.require(samples > 0, ErrorKind::value, "num_samples must be positive, got ", samples);
    call.require(input.sizes.back() > 0, ErrorKind::shape,
                 "there is nothing to choose from: input is ", input.sizes);
    call.require(call.flag("replacement") || samples <= input.sizes.back(), ErrorKind::value,
                 "cannot draw ", samples, " of ", input.sizes.back(),
                 " positions without replacement");
    Dims sizes = input.sizes;
    sizes.back() = samples;
    tensor::checked_count(call.heading(), sizes);
    call.add_output(std::move(sizes), DType::i64);
  },
  .run = kernel([](Call& call) {
    const Array weights = call.contiguous(0, DType::f64);
    const int64_t length = weights.sizes.back();
    const auto problem =
        kernels::multinomial(stream_of(call), weights, weights.count() / length, length,
                             call.integer("num_samples"), call.flag("replacement"), call.out());
    call.require(!problem, ErrorKind::value, problem.value_or(""));
  }),
  .gradient = no_gradient(is_random),
  .batch = differing_in("generator", no_batch(draws_alone)),
};

OP(dropout,
   "(input: Tensor, p: float = 0.5, training: bool = True, *, generator: Generator? = None) -> "
   "Tensor") {
  .doc =
      "Zeroes elements with probability p and divides the others by 1 - p, so that the expected "
      "value stays. Outside of training it only copies.",
  .run = composite([](const Call& call) -> Values {
    const double p = call.real("p");
    require_probability(call, p, "p");
    const RandomKey key = call.random("generator");
    const bool training = call.flag("training");
    if (!key.engine || !training || p == 0 || p == 1)
      return {dropout_by_counter(call[0], p, training, {key.seed, key.counter})};
    const Value kept = detach(bernoulli(call[0], 1 - p, key));
    return {call[0] * (kept / (1 - p))};
  }),
};

OP(dropout_by_counter,
   "(input: Tensor, p: float = 0.5, training: bool = True, *, generator: Generator? = None) -> "
   "Tensor") {
  .doc = "Drops like dropout, with numbers that the same stretch of a stream gives again.",
  .shape = [](Call& call) {
    require_probability(call, call.real("p"), "p");
    floating_like(call);
  },
  .run = kernel([](Call& call) {
    const Array& out = call.out();
    const double p = call.real("p");
    if (!call.flag("training") || p == 0) return kernels::copy(call.in(0), out);
    if (p == 1) return kernels::fill(out, int64_t{0});
    kernels::made_as(tensor::lane_dtype(out.dtype), out, [&](const Array& result) {
      kernels::dropout(stream_of(call), call.contiguous(0, result.dtype), p, result);
    });
  }),
  // The same key gives the same mask: nothing has to be saved.
  .gradient = [](Gradient& g) -> Values {
    return {dropout_by_counter(g.grad(), g.real("p"), g.flag("training"), g.random("generator"))};
  },
  .batch = differing_in("generator", [](const Batched& b) -> Values {
    const double p = b.real("p");
    if (!b.flag("training") || p == 0) return {clone(b.with_rows(0))};
    // Factors are exact in these dtypes only; and nothing times infinity is not nothing.
    if (p == 1 || tensor::lane_dtype(b.dtype(0)) != b.dtype(0)) return {};
    const Array ones = Array::allocate(b.sizes(0), b.dtype(0));
    kernels::fill(ones, 1.0);
    const auto draw = [&](RandomStream stream, const Array& row) {
      kernels::dropout(stream, ones, p, row);
    };
    return {b.with_rows(0) * drawn_rows(b, b.sizes(0), b.dtype(0), draw)};
  }),
};

}  // namespace weft::ops
