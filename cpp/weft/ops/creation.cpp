// Tensors from nothing but numbers.
#include <algorithm>
#include <cmath>

#include "ops.h"
#include "weft/kernels/map.h"
#include "weft/tensor/promotion.h"

namespace weft::ops {
using namespace graph;
using base::ErrorKind;

namespace {

constexpr std::string_view is_constant = "it has no tensor arguments";
constexpr std::string_view only_meta = "it uses only the shape and dtype of input";

DType dtype_or(const Call& call, DType otherwise) {
  return call.has("dtype") ? call.dtype("dtype") : otherwise;
}

void sized_shape(Call& call) {
  tensor::checked_count(call.heading(), call.integers("size"));
  call.add_output(call.integers("size"), dtype_or(call, tensor::default_dtype));
}

// The dtype that a Python number would give a tensor.
DType natural_dtype(const Attribute& number) {
  if (std::holds_alternative<bool>(number)) return DType::boolean;
  if (std::holds_alternative<int64_t>(number)) return DType::i64;
  return tensor::default_dtype;
}

int64_t whole(const Call& call, std::string_view name) {
  const Attribute& number = call.attribute(name);
  if (const auto* integer = std::get_if<int64_t>(&number)) return *integer;
  if (const auto* flag = std::get_if<bool>(&number)) return *flag;
  const double real = call.real(name);
  // Compared as doubles: 2**63 itself is too large.
  call.require(real >= -0x1p63 && real < 0x1p63, ErrorKind::value, name,
               " does not fit in 64 bits: ", real);
  return static_cast<int64_t>(real);
}

bool is_real(const Attribute& number) { return std::holds_alternative<double>(number); }

void shape_of_input(Call& call) {
  call.add_output(call.in(0).sizes, dtype_or(call, call.in(0).dtype));
}

void fill_with_number(Call& call) {
  if (is_real(call.attribute("fill_value"))) {
    kernels::fill(call.out(), call.real("fill_value"));
  } else {
    kernels::fill(call.out(), whole(call, "fill_value"));
  }
}

__extension__ using Wide = __int128;

// Bounds of arange; with one bound it is the end.
struct Range {
  DType dtype;
  bool exact;  // integers throughout
  int64_t first = 0, step = 1;
  double real_first = 0, real_step = 1;
  int64_t count = 0;

  explicit Range(const Call& call) {
    const bool bounded = call.has("end");
    const std::string_view end_name = bounded ? "end" : "start";
    const bool reals = is_real(call.attribute("start")) || is_real(call.attribute("step")) ||
                       (bounded && is_real(call.attribute("end")));
    dtype = dtype_or(call, reals ? tensor::default_dtype : DType::i64);
    exact = !reals;
    const double begin = bounded ? call.real("start") : 0.0, end = call.real(end_name);
    real_first = begin;
    real_step = call.real("step");
    call.require(std::isfinite(begin) && std::isfinite(end) && !std::isnan(real_step),
                 ErrorKind::value, "unsupported range: from ", begin, " to ", end);
    call.require(real_step != 0, ErrorKind::value, "step must be nonzero");
    call.require(begin == end || (begin < end) == (real_step > 0), ErrorKind::value,
                 "upper bound and lower bound are inconsistent with the sign of step: from ", begin,
                 " to ", end, " by ", real_step);
    double size = std::ceil((end - begin) / real_step);
    if (exact) {
      first = bounded ? whole(call, "start") : 0;
      step = whole(call, "step");
      const Wide distance = static_cast<Wide>(whole(call, end_name)) - first;
      const Wide steps = distance / step + (distance % step != 0);
      size = static_cast<double>(steps);
      count = static_cast<int64_t>(std::min<Wide>(steps, static_cast<Wide>(1) << 60));
    }
    call.require(size < 0x1p59, ErrorKind::memory, "a range from ", begin, " to ", end, " by ",
                 real_step, " has too many elements");
    if (!exact) count = static_cast<int64_t>(size);
  }
};

// Calls value(i) for each element in the widest type, then converts.
template <class T, class F>
void generate(const Array& out, DType dtype, F value) {
  const Array made = out.dtype == dtype ? out : Array::allocate(out.sizes, dtype);
  T* elements = made.as<T>();
  const int64_t count = made.count();
  for (int64_t i = 0; i < count; ++i) elements[i] = value(i);
  if (out.dtype != dtype) kernels::copy(made, out);
}

void steps_shape(Call& call) {
  const int64_t steps = call.integer("steps");
  call.require(steps >= 0, ErrorKind::value, "steps must not be negative, got ", steps);
  tensor::checked_count(call.heading(), Dims{steps});
  call.add_output({steps}, dtype_or(call, tensor::default_dtype));
}

// Element i of evenly spaced numbers; the second half counts from the end, so that both ends are
// met.
double spaced(const Call& call, int64_t i) {
  const double start = call.real("start"), end = call.real("end");
  const int64_t steps = call.integer("steps");
  if (steps == 1) return start;
  const double step = (end - start) / static_cast<double>(steps - 1);
  return i < steps / 2 ? start + step * static_cast<double>(i)
                       : end - step * static_cast<double>(steps - 1 - i);
}

// One triangle of a matrix: in each row the columns before (or from) an edge that moves by one a
// row.
struct Triangle {
  int64_t rows, columns, shift;
  bool lower;

  Triangle(const Call& call, bool lower) : lower(lower) {
    rows = call.integer("row");
    columns = call.integer("col");
    call.require(rows >= 0 && columns >= 0, ErrorKind::value,
                 "row and col must not be negative, got ", rows, " and ", columns);
    tensor::checked_count(call.heading(), Dims{rows, columns});
    shift = std::clamp<int64_t>(call.integer("offset"), -rows, columns) + (lower ? 1 : 0);
  }
  int64_t edge(int64_t row) const { return std::clamp<int64_t>(row + shift, 0, columns); }
  // Rows before the first edge have none of the lower columns, rows from the last one on all.
  int64_t first() const { return std::clamp<int64_t>(-shift, 0, rows); }
  int64_t last() const { return std::clamp<int64_t>(columns - shift, first(), rows); }
  int64_t count() const {
    const Wide moving = last() - first();
    const Wide below = moving * (first() + shift) + moving * (moving - 1) / 2 +
                       static_cast<Wide>(rows - last()) * columns;
    return static_cast<int64_t>(lower ? below : static_cast<Wide>(rows) * columns - below);
  }
};

template <bool lower>
void triangle_shape(Call& call) {
  const Dims sizes{2, Triangle(call, lower).count()};
  tensor::checked_count(call.heading(), sizes);
  call.add_output(sizes, dtype_or(call, DType::i64));
}

template <bool lower>
void triangle_kernel(Call& call) {
  const Triangle triangle(call, lower);
  const Array& out = call.out();
  if (out.count() == 0) return;
  const Array indices = out.dtype == DType::i64 ? out : Array::allocate(out.sizes, DType::i64);
  auto *row_out = indices.as<int64_t>(), *column_out = row_out + out.sizes[1];
  const int64_t begin = lower ? triangle.first() : 0;
  const int64_t end = lower ? triangle.rows : triangle.last();
  for (int64_t row = begin; row < end; ++row) {
    const int64_t edge = triangle.edge(row);
    for (int64_t column = lower ? 0 : edge; column < (lower ? edge : triangle.columns); ++column) {
      *row_out++ = row;
      *column_out++ = column;
    }
  }
  if (out.dtype != DType::i64) kernels::copy(indices, out);
}

}  // namespace

OP(zeros) {
  .signature = "zeros(size: int[*], *, dtype: dtype? = None) -> Tensor",
  .doc = "Returns a tensor of zeros.",
  .shape = sized_shape,
  .run = kernel([](Call& call) { kernels::fill(call.out(), int64_t{0}); }),
  .gradient = no_gradient(is_constant),
};

OP(ones) {
  .signature = "ones(size: int[*], *, dtype: dtype? = None) -> Tensor",
  .doc = "Returns a tensor of ones.",
  .shape = sized_shape,
  .run = kernel([](Call& call) { kernels::fill(call.out(), int64_t{1}); }),
  .gradient = no_gradient(is_constant),
};

OP(empty) {
  .signature = "empty(size: int[*], *, dtype: dtype? = None) -> Tensor",
  .doc = "Returns a tensor that is meant to be overwritten; its elements are zeros.",
  .shape = sized_shape,
  .run = kernel([](Call& call) { kernels::fill(call.out(), int64_t{0}); }),
  .gradient = no_gradient(is_constant),
};

OP(zeros_like) {
  .signature = "zeros_like(input: Tensor, *, dtype: dtype? = None) -> Tensor",
  .doc = "Returns zeros of the shape of input, and of its dtype if none is given.",
  .shape = shape_of_input,
  .run = kernel([](Call& call) { kernels::fill(call.out(), int64_t{0}); }),
  .gradient = no_gradient(only_meta),
};

OP(ones_like) {
  .signature = "ones_like(input: Tensor, *, dtype: dtype? = None) -> Tensor",
  .doc = "Returns ones of the shape of input, and of its dtype if none is given.",
  .shape = shape_of_input,
  .run = kernel([](Call& call) { kernels::fill(call.out(), int64_t{1}); }),
  .gradient = no_gradient(only_meta),
};

OP(empty_like) {
  .signature = "empty_like(input: Tensor, *, dtype: dtype? = None) -> Tensor",
  .doc = "Returns a tensor like input that is meant to be overwritten; its elements are zeros.",
  .shape = shape_of_input,
  .run = kernel([](Call& call) { kernels::fill(call.out(), int64_t{0}); }),
  .gradient = no_gradient(only_meta),
};

OP(full_like) {
  .signature = "full_like(input: Tensor, fill_value: Number, *, dtype: dtype? = None) -> Tensor",
  .doc =
      "Returns a tensor of the shape of input filled with a number; its dtype is input's if none "
      "is given.",
  .shape = shape_of_input,
  .run = kernel(fill_with_number),
  .gradient = no_gradient(only_meta),
};

OP(full) {
  .signature = "full(size: int[], fill_value: Number, *, dtype: dtype? = None) -> Tensor",
  .doc =
      "Returns a tensor whose elements are all fill_value; its dtype is the number's if none is "
      "given.",
  .shape = [](Call& call) {
    tensor::checked_count(call.heading(), call.integers("size"));
    call.add_output(call.integers("size"),
                    dtype_or(call, natural_dtype(call.attribute("fill_value"))));
  },
  .run = kernel(fill_with_number),
  .gradient = no_gradient(is_constant),
};

OP(arange) {
  .signature =
      "arange(start: Number, end: Number? = None, step: Number = 1, *, dtype: dtype? = None) -> "
      "Tensor",
  .doc =
      "Returns numbers from start (by default 0) to before end, step apart. With integers the "
      "dtype is int64, otherwise the default one.",
  .shape = [](Call& call) {
    const Range range(call);
    call.add_output({range.count}, range.dtype);
  },
  .run = kernel([](Call& call) {
    const Range range(call);
    if (range.exact) {
      generate<uint64_t>(call.out(), DType::i64, [&](int64_t i) {
        return static_cast<uint64_t>(range.first) +
               static_cast<uint64_t>(i) * static_cast<uint64_t>(range.step);
      });
    } else {
      generate<double>(call.out(), DType::f64, [&](int64_t i) {
        return range.real_first + static_cast<double>(i) * range.real_step;
      });
    }
  }),
  .gradient = no_gradient(is_constant),
};

OP(linspace) {
  .signature =
      "linspace(start: Number, end: Number, steps: int, *, dtype: dtype? = None) -> Tensor",
  .doc = "Returns `steps` evenly spaced numbers from start to end, both included.",
  .shape = steps_shape,
  .run = kernel([](Call& call) {
    generate<double>(call.out(), DType::f64, [&](int64_t i) { return spaced(call, i); });
  }),
  .gradient = no_gradient(is_constant),
};

OP(logspace) {
  .signature =
      "logspace(start: Number, end: Number, steps: int, base: float = 10.0, *, dtype: dtype? = "
      "None) -> Tensor",
  .doc =
      "Returns powers of base whose exponents are evenly spaced from start to end, both included.",
  .shape = steps_shape,
  .run = kernel([](Call& call) {
    const double base = call.real("base");
    generate<double>(call.out(), DType::f64,
                     [&](int64_t i) { return std::pow(base, spaced(call, i)); });
  }),
  .gradient = no_gradient(is_constant),
};

OP(eye) {
  .signature = "eye(n: int, m: int? = None, *, dtype: dtype? = None) -> Tensor",
  .doc = "Returns a matrix of n rows and m columns (by default n) with ones on the diagonal.",
  .shape = [](Call& call) {
    const int64_t n = call.integer("n"), m = call.has("m") ? call.integer("m") : n;
    tensor::checked_count(call.heading(), Dims{n, m});
    call.add_output({n, m}, dtype_or(call, tensor::default_dtype));
  },
  .run = kernel([](Call& call) {
    const Array& out = call.out();
    kernels::fill(out, int64_t{0});
    const int64_t length = std::min(out.sizes[0], out.sizes[1]);
    kernels::fill(out.view({length}, {out.strides[0] + 1}, out.offset), int64_t{1});
  }),
  .gradient = no_gradient(is_constant),
};

OP(tril_indices) {
  .signature =
      "tril_indices(row: int, col: int, offset: int = 0, *, dtype: dtype? = None) -> Tensor",
  .doc = "Returns the row and column indices of the lower triangle of a matrix.",
  .shape = triangle_shape<true>,
  .run = kernel(triangle_kernel<true>),
  .gradient = no_gradient(is_constant),
};

OP(triu_indices) {
  .signature =
      "triu_indices(row: int, col: int, offset: int = 0, *, dtype: dtype? = None) -> Tensor",
  .doc = "Returns the row and column indices of the upper triangle of a matrix.",
  .shape = triangle_shape<false>,
  .run = kernel(triangle_kernel<false>),
  .gradient = no_gradient(is_constant),
};

}  // namespace weft::ops
