// Tensors from nothing but numbers.
#include "ops.h"
#include "weft/kernels/map.h"
#include "weft/ops/batching.h"
#include "weft/tensor/promotion.h"

namespace weft::ops {
using namespace graph;

namespace {

constexpr std::string_view is_constant = "it has no tensor arguments";
constexpr std::string_view runs_once = "it has no tensor arguments: equal ones run once";

DType dtype_or(const Call& call, DType otherwise) {
  return call.has("dtype") ? call.dtype("dtype") : otherwise;
}

void sized(Call& call, DType dtype) {
  tensor::checked_count(call.heading(), call.integers("size"));
  call.add_output(call.integers("size"), dtype_or(call, dtype));
}

void fill_with_zero(Call& call) { kernels::fill(call.out(), int64_t{0}); }

// Writes value(i) into each element, in the widest type, then converts.
template <class T, class F>
void generate(const Array& out, DType dtype, F value) {
  kernels::made_as(dtype, out, [&](const Array& made) {
    T* elements = made.as<T>();
    const int64_t count = made.count();
    for (int64_t i = 0; i < count; ++i) elements[i] = value(static_cast<T>(i));
  });
}

}  // namespace

OP(zeros, "(size: int[*], *, dtype: dtype? = None) -> Tensor") {
  .doc = "Returns a tensor of zeros.",
  .shape = [](Call& call) { sized(call, tensor::default_dtype); },
  .run = kernel(fill_with_zero),
  .gradient = no_gradient(is_constant),
  .batch = no_batch(runs_once),
};

OP(ones, "(size: int[*], *, dtype: dtype? = None) -> Tensor") {
  .doc = "Returns a tensor of ones.",
  .shape = [](Call& call) { sized(call, tensor::default_dtype); },
  .run = kernel([](Call& call) { kernels::fill(call.out(), int64_t{1}); }),
  .gradient = no_gradient(is_constant),
  .batch = no_batch(runs_once),
};

OP(zeros_like, "(input: Tensor, *, dtype: dtype? = None) -> Tensor") {
  .doc = "Returns zeros of the shape of input, and of its dtype if none is given.",
  .shape = [](Call& call) {
    call.add_output(call.in(0).sizes, dtype_or(call, call.in(0).dtype));
  },
  .run = kernel(fill_with_zero),
  .gradient = no_gradient("it uses only the shape and dtype of input"),
  .batch = rows_alike,
};

OP(full, "(size: int[], fill_value: Number, *, dtype: dtype? = None) -> Tensor") {
  .doc =
      "Returns a tensor whose elements are all fill_value; its dtype is the number's if none is "
      "given.",
  .shape = [](Call& call) {
    const Attribute& value = call.attribute("fill_value");
    sized(call, std::holds_alternative<bool>(value)      ? DType::boolean
                : std::holds_alternative<int64_t>(value) ? DType::i64
                                                         : tensor::default_dtype);
  },
  .run = kernel([](Call& call) {
    if (const auto* whole = std::get_if<int64_t>(&call.attribute("fill_value"))) {
      kernels::fill(call.out(), *whole);
    } else {
      kernels::fill(call.out(), call.real("fill_value"));
    }
  }),
  .gradient = no_gradient(is_constant),
  .batch = no_batch(runs_once),
};

OP(arange, "(start: Number, step: Number, count: int, *, dtype: dtype) -> Tensor") {
  .doc = "Returns start, start + step and so on: count numbers. Integers are exact.",
  .shape = [](Call& call) {
    tensor::checked_count(call.heading(), Dims{call.integer("count")});
    call.add_output({call.integer("count")}, call.dtype("dtype"));
  },
  .run = kernel([](Call& call) {
    const auto* first = std::get_if<int64_t>(&call.attribute("start"));
    const auto* step = std::get_if<int64_t>(&call.attribute("step"));
    if (first && step) {
      // Unsigned arithmetic may wrap around.
      generate<uint64_t>(call.out(), DType::i64, [&](uint64_t i) {
        return static_cast<uint64_t>(*first) + i * static_cast<uint64_t>(*step);
      });
    } else {
      const double start = call.real("start"), distance = call.real("step");
      generate<double>(call.out(), DType::f64, [&](double i) { return start + i * distance; });
    }
  }),
  .gradient = no_gradient(is_constant),
  .batch = no_batch(runs_once),
};

}  // namespace weft::ops
