// Factorisations and solutions, one LAPACK routine each. The last two dimensions are a matrix, those
// before them count matrices. Everything else of linear algebra is made of these, in Python.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops.h"
#include "weft/base/blocking.h"
#include "weft/base/thread_pool.h"
#include "weft/graph/modes.h"
#include "weft/graph/program.h"
#include "weft/kernels/lapack.h"
#include "weft/kernels/map.h"
#include "weft/ops/batching.h"

namespace weft::ops {
using namespace graph;
using namespace kernels;
using base::ErrorKind;

namespace {

// --- matrices in gradient rules ---------------------------------------------------------------------

Value swapped(const Value& value) { return transpose(value, -2, -1); }

// Which elements of such matrices are `above` or more places right of the diagonal.
Value right_of(const Value& like, int64_t above) {
  return ge(arange(int64_t{0}, int64_t{1}, like.size(-1), DType::i64),
            unsqueeze(arange(above, int64_t{1}, like.size(-2), DType::i64), 1));
}
Value upper_part(const Value& x, int64_t above = 0) { return where(right_of(x, above), x, 0); }
Value lower_part(const Value& x, int64_t above = 0) { return where(right_of(x, above + 1), 0, x); }

Value on_diagonal(const Value& like) {
  return eq(arange(int64_t{0}, int64_t{1}, like.size(-1), DType::i64),
            unsqueeze(arange(int64_t{0}, int64_t{1}, like.size(-2), DType::i64), 1));
}

// For vectors v: v_j - v_i off the diagonal and 1 on it.
Value differences(const Value& v) {
  const Value result = unsqueeze(v, -2) - unsqueeze(v, -1);
  return where(on_diagonal(result), 1, result);
}

Value skew(const Value& x) { return x - swapped(x); }

Value solved(const Value& a, const Value& b, bool upper, bool left = true, bool unit = false) {
  return linalg_solve_triangular(a, b, upper, left, unit);
}

Value plus(const Value& a, const Value& b) { return !a ? b : !b ? a : a + b; }

// --- shapes -----------------------------------------------------------------------------------------

void require_matrices(const Call& call, size_t i, const char* name) {
  const Array& a = call.in(i);
  call.require(a.rank() >= 2, ErrorKind::shape, name, " must have 2 dimensions or more, but is ", a.sizes);
  call.require(a.dtype == DType::f32 || a.dtype == DType::f64, ErrorKind::dtype, name,
               " must be float32 or float64, but is ", tensor::name_of(a.dtype));
  call.require(std::max(a.sizes[a.rank() - 1], a.sizes[a.rank() - 2]) < int64_t{1} << 31,
               ErrorKind::shape, name, "'s matrices are too large: ", a.sizes);
}

void require_square(const Call& call, size_t i, const char* name) {
  require_matrices(call, i, name);
  call.require(call[i].size(-1) == call[i].size(-2), ErrorKind::shape, name,
               " must be a batch of square matrices, but is ", call.in(i).sizes);
}

// A and B of a system: equal dtypes and leading sizes; `side` is the dimension of B that A acts on.
void require_system(const Call& call, int64_t side) {
  require_square(call, 0, "A");
  require_matrices(call, 1, "B");
  const Dims &a = call.in(0).sizes, &b = call.in(1).sizes;
  call.require(call.in(0).dtype == call.in(1).dtype, ErrorKind::dtype,
               "A and B must have the same dtype; A is ", tensor::name_of(call.in(0).dtype), ", B is ",
               tensor::name_of(call.in(1).dtype));
  call.require(a.size() == b.size() && std::equal(a.begin(), a.end() - 2, b.begin()) &&
                   call[1].size(side) == call[0].size(-1),
               ErrorKind::shape, "A and B do not fit together; A is ", a, ", B is ", b);
}

// The leading sizes, followed by others.
Dims with_last(const Array& matrices, std::initializer_list<int64_t> last) {
  Dims sizes(matrices.sizes);
  sizes.resize(sizes.size() - 2);
  for (int64_t size : last) sizes.push_back(size);
  return sizes;
}

// --- kernels ----------------------------------------------------------------------------------------

constexpr int not_finite = -100000;  // beside LAPACK's own numbers; it may not end with such elements

struct Size {
  int m, n;
  int64_t area() const { return int64_t{m} * n; }
};
Size size_of(const Array& a) {
  return {static_cast<int>(a.sizes[a.rank() - 2]), static_cast<int>(a.sizes[a.rank() - 1])};
}
int leading(int n) { return std::max(n, 1); }

// Where matrix number i of a contiguous batch begins.
template <class T>
T* at(const Array& a, int64_t i) {
  return a.as<T>() + i * size_of(a).area();
}

Array copy_of(const Array& a) {
  const Array copied = Array::allocate(a.sizes, a.dtype);
  kernels::copy(a, copied);
  return copied;
}

// Calls work(lapack, i) for each matrix of input 0, many at a time where that pays, and gives what
// LAPACK said of each.
template <class Work>
std::vector<int> each_matrix(const Call& call, Work work) {
  const Array& a = call.in(0);
  const Size size = size_of(a);
  const int64_t count = tensor::count_of(std::span(a.sizes.data(), a.sizes.size() - 2));
  const int64_t cost = size.area() * std::min(size.m, size.n) + 1;
  std::vector<int> codes(static_cast<size_t>(count));
  tensor::on_float_lane(tensor::lane_of(a.dtype), [&]<class T>(T) {
    const Lapack<T>& routines = lapack<T>();
    const base::BlockingRegion region(cost * count > 1 << 18);
    base::parallel_for(count, (1 << 17) / cost + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) codes[static_cast<size_t>(i)] = work(routines, i);
    });
  });
  for (int code : codes) {
    call.require(code != -1010 && code != -1011, ErrorKind::memory, "no memory for LAPACK's work");
    if (code < 0 && code != not_finite) base::bug(call.op.name, ": LAPACK says ", code);
  }
  return codes;
}

// Writes LAPACK's numbers, and raises for the first that is not 0 if asked to: `words` say what is
// wrong, `after` what follows its number.
void finish(Call& call, const std::vector<int>& codes, const Array* info, bool check, const char* words,
            const char* after = "") {
  if (info != nullptr) std::copy(codes.begin(), codes.end(), info->as<int32_t>());
  const auto bad = std::find_if(codes.begin(), codes.end(), [](int code) { return code != 0; });
  if (!check || bad == codes.end()) return;
  const std::string which =
      codes.size() == 1 ? "" : base::text(" (matrix ", bad - codes.begin(), " of the batch)");
  call.require(*bad != not_finite, ErrorKind::linalg, "A has elements that are NaN or infinite", which);
  call.fail(ErrorKind::linalg, words, *bad, after, which);
}

template <class T>
bool all_finite(const T* a, int64_t count) {
  return std::all_of(a, a + count, [](T x) { return std::isfinite(x); });
}

template <class T>
void set_identity(T* a, int n) {
  std::fill_n(a, int64_t{n} * n, T(0));
  for (int64_t i = 0; i < n; ++i) a[i * n + i] = 1;
}

// Clears one side of the diagonal.
template <class T>
void keep_triangle(T* a, int m, int n, bool upper) {
  for (int64_t i = 0; i < m; ++i) {
    const int64_t cut = std::min<int64_t>(upper ? i : i + 1, n);
    std::fill(a + i * n + (upper ? 0 : cut), a + i * n + (upper ? cut : n), T(0));
  }
}

// The gradient of a tall or square Q R.
Value qr_gradient(const Value& q, const Value& r, const Value& of_q, const Value& of_r) {
  Value inner;
  if (of_r) inner = matmul(r, swapped(of_r));
  if (of_q) inner = plus(inner, -matmul(swapped(of_q), q));
  const Value mirrored = lower_part(inner) + swapped(lower_part(inner, -1));
  return solved(swapped(r), plus(of_q, matmul(q, mirrored)), false, false);
}

}  // namespace

OP(linalg_cholesky_ex,
   "(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> (L: Tensor, info: Tensor)") {
  .doc = "Factors positive definite matrices into L @ L.T, of which only one triangle is read. `info` "
         "is 0, or the order of the first minor that is not positive definite.",
  .shape = [](Call& call) {
    require_square(call, 0, "A");
    call.add_output(call.in(0).sizes, call.in(0).dtype);
    call.add_output(with_last(call.in(0), {}), DType::i32);
  },
  .run = kernel([](Call& call) {
    const bool upper = call.flag("upper");
    const Array out = call.out();
    kernels::copy(call.in(0), out);
    const int n = size_of(out).n;
    const auto codes = each_matrix(call, [&]<class T>(const Lapack<T>& lapack, int64_t i) {
      T* factor = at<T>(out, i);
      keep_triangle(factor, n, n, upper);
      const int code = lapack.potrf(row_major, upper ? 'U' : 'L', n, factor, leading(n));
      int64_t j = 0;  // OpenBLAS does not notice what is not finite
      while (j < n && factor[j * n + j] > 0 && std::isfinite(factor[j * n + j])) ++j;
      return code != 0 || j == n ? code : static_cast<int>(j) + 1;
    });
    finish(call, codes, &call.out(1), call.flag("check_errors"),
           "A is not positive definite: its leading minor of order ", " is not");
  }),
  .gradient = [](Gradient& g) -> Values {
    const bool upper = g.flag("upper");
    const Value l = upper ? swapped(g.output()) : g.output();
    const Value inner = lower_part(matmul(swapped(l), upper ? swapped(g.grad()) : g.grad()));
    const Value halved = where(on_diagonal(inner), inner * 0.5, inner);
    const Value s = solved(swapped(l), solved(l, halved, false, false), true);
    return {(s + swapped(s)) * 0.5};
  },
  .batch = rows_alike,
};

OP(linalg_lu_factor_ex,
   "(A: Tensor, *, check_errors: bool = False) -> (LU: Tensor, pivots: Tensor, info: Tensor)") {
  .doc = "Factors matrices into P @ L @ U. LU holds U and, below its diagonal, L without its ones; row "
         "i was swapped with row pivots[i], counted from 1. `info` is 0, or which diagonal element of "
         "U is zero.",
  .shape = [](Call& call) {
    require_matrices(call, 0, "A");
    call.add_output(call.in(0).sizes, call.in(0).dtype);
    call.add_output(with_last(call.in(0), {std::min(call[0].size(-1), call[0].size(-2))}), DType::i32);
    call.add_output(with_last(call.in(0), {}), DType::i32);
  },
  .run = kernel([](Call& call) {
    const Array out = call.out();
    kernels::copy(call.in(0), out);
    const auto [m, n] = size_of(out);
    int* pivots = call.out(1).as<int32_t>();
    const auto codes = each_matrix(call, [&]<class T>(const Lapack<T>& lapack, int64_t i) {
      return lapack.getrf(row_major, m, n, at<T>(out, i), leading(n), pivots + i * std::min(m, n));
    });
    finish(call, codes, &call.out(2), call.flag("check_errors"),
           "A is singular: in its factor U the diagonal element ", " (counted from 1) is zero");
  }),
  .gradient = [](Gradient& g) -> Values {
    const Value &lu = g.output(0), &pivots = g.output(1), &grad = g.grad();
    const int64_t m = lu.size(-2), n = lu.size(-1), k = std::min(m, n);
    const auto part = [&](const Value& x, bool below, bool right) {
      return slice(slice(x, -2, below ? k : 0, below ? m : k), -1, right ? k : 0, right ? n : k);
    };
    // A zero pivot becomes a tiny one: then det has its gradient where one is zero, too.
    const Value all = part(lu, false, false), of_square = part(grad, false, false);
    const Value square = where(logical_and(on_diagonal(all), eq(all, 0)), 1e-16, all);
    const Value l = where(on_diagonal(square), 1, lower_part(square));
    Value of_l = matmul(swapped(l), of_square), of_u = matmul(of_square, swapped(upper_part(square)));
    if (n > k) of_l = of_l - matmul(part(grad, false, true), swapped(part(lu, false, true)));
    if (m > k) of_u = of_u - matmul(swapped(part(lu, true, false)), part(grad, true, false));
    const Value turned = swapped(square);
    Value result = solved(turned, lower_part(of_l, -1) + upper_part(of_u), false, false);
    if (m > k) result = cat({result, solved(turned, part(grad, true, false), false, false)}, -2);
    if (n > k) result = cat({result, part(grad, false, true)}, -1);
    const Value top = solved(turned, slice(result, -2, 0, k), true, true, true);
    result = m > k ? cat({top, slice(result, -2, k, m)}, -2) : top;
    const Value rows = expand(unsqueeze(lu_permutation(pivots, m), -1), result.sizes());
    return {scatter(zeros(result.sizes(), result.dtype()), -2, rows, result)};
  },
  .batch = rows_alike,
};

OP(lu_permutation, "(pivots: Tensor, size: int) -> Tensor") {
  .doc = "Says where each row came from after the swaps of an LU factorisation.",
  .shape = [](Call& call) {
    const Array& pivots = call.in(0);
    const int64_t size = call.integer("size");
    call.require(pivots.dtype == DType::i32, ErrorKind::dtype, "pivots must be int32, but is ",
                 tensor::name_of(pivots.dtype));
    call.require(pivots.rank() >= 1 && pivots.sizes.back() <= size, ErrorKind::shape,
                 "pivots must have a dimension of at most ", size, " elements, but is ", pivots.sizes);
    Dims sizes = pivots.sizes;
    sizes.back() = size;
    call.add_output(std::move(sizes), DType::i64);
  },
  .run = kernel([](Call& call) {
    const Array pivots = call.contiguous(0);
    const int64_t swaps = pivots.sizes.back(), size = call.integer("size");
    const int32_t* pivot = pivots.as<int32_t>();
    int64_t* order = call.out().as<int64_t>();
    for (int64_t left = call.out().count(); left > 0; left -= size, order += size) {
      std::iota(order, order + size, 0);
      for (int64_t i = 0; i < swaps; ++i, ++pivot) {
        call.require(*pivot >= 1 && *pivot <= size, ErrorKind::index, "pivots must be from 1 to ", size,
                     ", but one is ", *pivot);
        std::swap(order[i], order[*pivot - 1]);
      }
    }
  }),
  .gradient = no_gradient("positions are integers"),
  .batch = rows_alike,
};

OP(linalg_solve_ex,
   "(A: Tensor, B: Tensor, *, check_errors: bool = False) -> (result: Tensor, info: Tensor)") {
  .doc = "Solves A @ X = B for square matrices A. `info` is 0, or tells that A is singular.",
  .shape = [](Call& call) {
    require_system(call, -2);
    call.add_output(call.in(1).sizes, call.in(1).dtype);
    call.add_output(with_last(call.in(0), {}), DType::i32);
  },
  .run = kernel([](Call& call) {
    const Array a = copy_of(call.in(0)), out = call.out();
    kernels::copy(call.in(1), out);
    const auto [n, columns] = size_of(out);
    const Array pivots = Array::allocate(with_last(a, {n}), DType::i32);
    const auto codes = each_matrix(call, [&]<class T>(const Lapack<T>& lapack, int64_t i) {
      return lapack.gesv(row_major, n, columns, at<T>(a, i), leading(n), pivots.as<int>() + i * n,
                         at<T>(out, i), leading(columns));
    });
    finish(call, codes, &call.out(1), call.flag("check_errors"),
           "A is singular: in its factor U the diagonal element ", " (counted from 1) is zero");
  }),
  .gradient = [](Gradient& g) -> Values {
    const Value of_b = linalg_solve_ex(swapped(g.input(0)), g.grad(), false)[0];
    return {g.needs(0) ? -matmul(of_b, swapped(g.output())) : Value(), of_b};
  },
  .batch = rows_alike,
};

OP(linalg_solve_triangular,
   "(A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor") {
  .doc = "Solves A @ X = B, or X @ A = B, where A is triangular; the other triangle is not read.",
  .shape = [](Call& call) {
    require_system(call, call.flag("left") ? -2 : -1);
    call.add_output(call.in(1).sizes, call.in(1).dtype);
  },
  .run = kernel([](Call& call) {
    const Array a = call.contiguous(0), out = call.out();
    kernels::copy(call.in(1), out);
    if (out.count() == 0) return;
    const auto [m, n] = size_of(out);
    each_matrix(call, [&]<class T>(const Lapack<T>& lapack, int64_t i) {
      lapack.trsm(row_major, call.flag("left") ? left_side : right_side,
                  call.flag("upper") ? upper_triangle : lower_triangle, as_stored,
                  call.flag("unitriangular") ? unit_diagonal : general_diagonal, m, n, T(1),
                  at<T>(a, i), size_of(a).n, at<T>(out, i), n);
      return 0;
    });
  }),
  .gradient = [](Gradient& g) -> Values {
    const Value &a = g.input(0), &x = g.output();
    const bool upper = g.flag("upper"), left = g.flag("left"), unit = g.flag("unitriangular");
    const Value of_b = solved(swapped(a), g.grad(), !upper, left, unit);
    if (!g.needs(0)) return {Value(), of_b};
    const Value of_a = -(left ? matmul(of_b, swapped(x)) : matmul(swapped(x), of_b));
    return {upper ? upper_part(of_a, unit) : lower_part(of_a, unit ? -1 : 0), of_b};
  },
  .batch = rows_alike,
};

OP(linalg_qr, "(A: Tensor, mode: str = 'reduced') -> (Q: Tensor, R: Tensor)") {
  .doc = "Factors matrices into Q @ R, Q with orthonormal columns and R upper triangular. The mode is "
         "'reduced', 'complete' (Q is square) or 'r' (Q is empty).",
  .shape = [](Call& call) {
    require_matrices(call, 0, "A");
    const std::string& mode = call.string("mode");
    call.require(mode == "reduced" || mode == "complete" || mode == "r", ErrorKind::value,
                 "mode must be 'reduced', 'complete' or 'r', got '", mode, "'");
    const int64_t m = call[0].size(-2), n = call[0].size(-1), k = mode == "complete" ? m : std::min(m, n);
    const Dims q = mode == "r" ? with_last(call.in(0), {0, 0}) : with_last(call.in(0), {m, k});
    call.add_output(q, call.in(0).dtype);
    call.add_output(with_last(call.in(0), {k, n}), call.in(0).dtype);
  },
  .run = kernel([](Call& call) {
    const Array work = copy_of(call.in(0)), q = call.out(0), r = call.out(1);
    const auto [m, n] = size_of(work);
    const int rows = size_of(r).m, reflections = std::min(m, n), copied = std::min(rows, n);
    const Array tau = Array::allocate(with_last(work, {reflections}), work.dtype);
    const bool with_q = call.string("mode") != "r";
    const auto codes = each_matrix(call, [&, m = m, n = n]<class T>(const Lapack<T>& lapack, int64_t i) {
      T *from = at<T>(work, i), *scales = tau.as<T>() + i * reflections;
      int code = reflections ? lapack.geqrf(row_major, m, n, from, leading(n), scales) : 0;
      std::copy_n(from, int64_t{rows} * n, at<T>(r, i));
      keep_triangle(at<T>(r, i), rows, n, true);
      if (!with_q || code != 0 || q.count() == 0) return code;
      T* to = at<T>(q, i);
      if (n == 0) return set_identity(to, m), 0;
      for (int64_t j = 0; j < m; ++j) std::copy_n(from + j * n, copied, to + j * rows);
      return lapack.orgqr(row_major, m, rows, reflections, to, leading(rows), scales);
    });
    finish(call, codes, nullptr, true, "LAPACK could not factor A: ");
  }),
  .gradient = [](Gradient& g) -> Values {
    const Value &a = g.input(), &q = g.output(0), &r = g.output(1);
    const std::string& mode = g.string("mode");
    const Value of_q = g.has_grad(0) ? g.grad(0) : Value(), of_r = g.has_grad(1) ? g.grad(1) : Value();
    const int64_t m = a.size(-2), n = a.size(-1);
    if (mode == "r" || (mode == "complete" && m > n)) {
      if (modes.executor == &meta_executor()) return {Value()};
      base::fail(ErrorKind::gradient, "linalg_qr(A): there is no gradient with mode='", mode,
                 mode == "r" ? "', which has no Q" : "' where A has more rows than columns");
    }
    if (m >= n) return {qr_gradient(q, r, of_q, of_r)};
    // The first columns are Q times a triangle, and Q times the rest of R is the rest of A.
    const Value rest = slice(a, -1, m, n);
    const Value of_rest = of_r ? slice(of_r, -1, m, n) : Value();
    const Value total = of_rest ? plus(of_q, matmul(rest, swapped(of_rest))) : of_q;
    const Value first = qr_gradient(q, slice(r, -1, 0, m), total, of_r ? slice(of_r, -1, 0, m) : Value());
    return {cat({first, of_rest ? matmul(q, of_rest) : zeros(rest.sizes(), rest.dtype())}, -1)};
  },
  .batch = rows_alike,
};

OP(linalg_eigh, "(A: Tensor, UPLO: str = 'L') -> (eigenvalues: Tensor, eigenvectors: Tensor)") {
  .doc = "Returns the eigenvalues of symmetric matrices in rising order, and their eigenvectors as "
         "columns. Only the lower triangle is read, or the upper with UPLO='U'.",
  .shape = [](Call& call) {
    require_square(call, 0, "A");
    const std::string& side = call.string("UPLO");
    call.require(side == "L" || side == "U" || side == "l" || side == "u", ErrorKind::value,
                 "UPLO must be 'L' or 'U', got '", side, "'");
    call.add_output(with_last(call.in(0), {call[0].size(-1)}), call.in(0).dtype);
    call.add_output(call.in(0).sizes, call.in(0).dtype);
  },
  .run = kernel([](Call& call) {
    const Array values = call.out(0), vectors = call.out(1);
    kernels::copy(call.in(0), vectors);
    const int n = size_of(vectors).n;
    const char side = call.string("UPLO")[0];
    if (vectors.count() == 0) return;
    const auto codes = each_matrix(call, [&]<class T>(const Lapack<T>& lapack, int64_t i) {
      T *matrix = at<T>(vectors, i), *found = values.as<T>() + i * n;
      keep_triangle(matrix, n, n, side == 'U' || side == 'u');
      if (all_finite(matrix, int64_t{n} * n))
        return lapack.syevd(row_major, 'V', side, n, matrix, n, found);
      std::fill_n(matrix, int64_t{n} * n, T(NAN));
      std::fill_n(found, n, T(NAN));
      return 0;
    });
    finish(call, codes, nullptr, true, "the eigenvalues did not converge: LAPACK says ");
  }),
  .gradient = [](Gradient& g) -> Values {
    const Value &values = g.output(0), &v = g.output(1);
    Value inner = g.has_grad(1) ? matmul(swapped(v), g.grad(1)) / differences(values) : Value();
    const Value along = g.has_grad(0) ? unsqueeze(g.grad(0), -1) : Value();
    if (!inner) return {matmul(v * swapped(along), swapped(v))};
    inner = along ? where(on_diagonal(inner), along, inner) : where(on_diagonal(inner), 0, inner);
    const Value gradient = matmul(matmul(v, inner), swapped(v));
    return {(gradient + swapped(gradient)) * 0.5};  // one triangle is read, as half of both
  },
  .batch = rows_alike,
};

OP(linalg_svd, "(A: Tensor, full_matrices: bool = True) -> (U: Tensor, S: Tensor, Vh: Tensor)") {
  .doc = "Factors matrices into U @ diag(S) @ Vh: orthonormal columns, singular values in falling "
         "order, orthonormal rows. With full_matrices=False only as many as there are singular values.",
  .shape = [](Call& call) {
    require_matrices(call, 0, "A");
    const int64_t m = call[0].size(-2), n = call[0].size(-1), k = std::min(m, n);
    const bool full = call.flag("full_matrices");
    call.add_output(with_last(call.in(0), {m, full ? m : k}), call.in(0).dtype);
    call.add_output(with_last(call.in(0), {k}), call.in(0).dtype);
    call.add_output(with_last(call.in(0), {full ? n : k, n}), call.in(0).dtype);
  },
  .run = kernel([](Call& call) {
    const Array work = copy_of(call.in(0)), u = call.out(0), s = call.out(1), vh = call.out(2);
    const auto [m, n] = size_of(work);
    const int k = std::min(m, n), ldu = size_of(u).n;
    const char vectors = call.flag("full_matrices") ? 'A' : 'S';
    const auto codes = each_matrix(call, [&, m = m, n = n]<class T>(const Lapack<T>& lapack, int64_t i) {
      if (k == 0) return set_identity(at<T>(u, i), ldu), set_identity(at<T>(vh, i), size_of(vh).m), 0;
      if (!all_finite(at<T>(work, i), size_of(work).area())) return not_finite;
      return lapack.gesdd(row_major, vectors, m, n, at<T>(work, i), n, s.as<T>() + i * k, at<T>(u, i), ldu,
                          at<T>(vh, i), n);
    });
    finish(call, codes, nullptr, true, "the singular values did not converge: LAPACK says ");
  }),
  .gradient = [](Gradient& g) -> Values {
    const int64_t k = g.output_sizes(1).back(), m = g.input_sizes().end()[-2], n = g.input_sizes().back();
    const auto columns = [&](const Value& x) { return x.size(-1) == k ? x : slice(x, -1, 0, k); };
    const Value u = columns(g.output(0)), &s = g.output(1), v = columns(swapped(g.output(2)));
    const Value scales = unsqueeze(s, -2), gaps = differences(s * s);
    Value inner, beyond;
    if (g.has_grad(1)) inner = where(on_diagonal(gaps), unsqueeze(g.grad(1), -1), 0);
    // What moves a singular vector out of the space of the others comes on top.
    const auto outside = [&](const Value& x, const Value& gradient, const Value& within) {
      return (gradient - matmul(x, within)) / scales;
    };
    if (g.has_grad(0)) {
      const Value of_u = columns(g.grad(0)), within = matmul(swapped(u), of_u);
      inner = plus(inner, skew(within) / gaps * scales);
      if (m > k) beyond = matmul(outside(u, of_u, within), swapped(v));
    }
    if (g.has_grad(2)) {
      const Value of_v = columns(swapped(g.grad(2))), within = matmul(swapped(v), of_v);
      inner = plus(inner, swapped(scales) * (skew(within) / gaps));
      if (n > k) beyond = plus(beyond, matmul(u, swapped(outside(v, of_v, within))));
    }
    return {plus(matmul(matmul(u, inner), swapped(v)), beyond)};
  },
  .batch = rows_alike,
};

OP(pinv_of, "(A: Tensor, pinv: Tensor) -> Tensor") {
  .doc = "Returns `pinv`, the pseudoinverses of A, with their gradient for A: that of a matrix whose "
         "rank does not change.",
  .shape = [](Call& call) {
    require_matrices(call, 0, "A");
    call.require(call.in(1).sizes == with_last(call.in(0), {call[0].size(-1), call[0].size(-2)}),
                 ErrorKind::shape, "pinv must be like A transposed; A is ", call.in(0).sizes,
                 ", pinv is ", call.in(1).sizes);
    call.add_output(call.in(1).sizes, call.in(1).dtype);
  },
  .run = kernel([](Call& call) { kernels::copy(call.in(1), call.out()); }),
  .gradient = [](Gradient& g) -> Values {
    const Value &a = g.input(0), &p = g.output(), turned = swapped(p), of_turned = swapped(g.grad());
    const Value left = matmul(matmul(of_turned, p), turned), right = matmul(turned, matmul(p, of_turned));
    const Value outside = left - matmul(a, matmul(p, left)) + right - matmul(matmul(right, p), a);
    return {outside - matmul(matmul(turned, g.grad()), turned), Value()};
  },
  .batch = rows_alike,
};

}  // namespace weft::ops
