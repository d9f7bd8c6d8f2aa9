// Splits rows over threads and calls the loops of normalize_isa.cpp.
#include "weft/kernels/normalize.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "weft/base/blocking.h"
#include "weft/base/thread_pool.h"
#include "weft/kernels/cpu/isa.h"
#include "weft/kernels/cpu/normalize_table.h"

namespace weft::kernels {

WEFT_CHOOSE(NormalizeTable, normalize_table)

namespace {

// Calls body with the functions for float or double.
template <class Body>
void with_lane(const Array& array, Body body) {
  tensor::on_float_lane(tensor::lane_of(array.dtype),
                        [&]<class T>(T zero) { body(part<T>(normalize_table()), zero); });
}

constexpr int64_t grain_elements = 1 << 14;  // about 10 us of work

// Calls body(first row, number of rows) over ranges of rows, on several threads if there are many.
template <class Body>
void over_rows(int64_t rows, int64_t size, Body body) {
  const base::BlockingRegion region(rows * size > 2 * grain_elements);
  base::parallel_for(rows, std::max<int64_t>(1, grain_elements / std::max<int64_t>(size, 1)),
                     [&](int64_t begin, int64_t end) { body(begin, end - begin); });
}

// Calls rows(first element, number of rows, size) if `dim` is the last one, otherwise
// columns(first element, size, stride along dim, number of neighbouring columns).
template <class Rows, class Columns>
void over_dim(const Array& array, int64_t dim, Rows rows, Columns columns) {
  const auto [outer, size, inner] = tensor::split_at(array.sizes, dim);
  if (inner == 1) {
    return over_rows(outer, size,
                     [&](int64_t first, int64_t count) { rows(first * size, count, size); });
  }
  constexpr int64_t width = 64;
  const int64_t groups = (inner + width - 1) / width;
  over_rows(outer * groups, size * width, [&](int64_t first, int64_t count) {
    for (int64_t i = first; i < first + count; ++i) {
      const int64_t column = i % groups * width;
      columns(i / groups * size * inner + column, size, inner, std::min(width, inner - column));
    }
  });
}

}  // namespace

void softmax(const Array& in, int64_t dim, bool logarithm, const Array& out) {
  if (in.count() == 0) return;
  with_lane(in, [&]<class T>(const auto& run, T) {
    const T* from = in.as<T>();
    T* to = out.as<T>();
    over_dim(
        in, dim,
        [&](int64_t at, int64_t rows, int64_t size) {
          run.softmax_rows(from + at, rows, size, logarithm, to + at);
        },
        [&](int64_t at, int64_t size, int64_t inner, int64_t count) {
          run.softmax_columns(from + at, size, inner, count, logarithm, to + at);
        });
  });
}

void softmax_backward(const Array& grad, const Array& out, int64_t dim, bool logarithm,
                      const Array& grad_in) {
  if (grad.count() == 0) return;
  with_lane(grad, [&]<class T>(const auto& run, T) {
    const T *from = grad.as<T>(), *result = out.as<T>();
    T* to = grad_in.as<T>();
    over_dim(
        grad, dim,
        [&](int64_t at, int64_t rows, int64_t size) {
          run.softmax_backward_rows(from + at, result + at, rows, size, logarithm, to + at);
        },
        [&](int64_t at, int64_t size, int64_t inner, int64_t count) {
          run.softmax_backward_columns(from + at, result + at, size, inner, count, logarithm,
                                       to + at);
        });
  });
}

void layer_norm(const Array& in, const Array& weight, const Array& bias, double epsilon,
                int64_t size, const Array& out) {
  if (in.count() == 0) return;
  with_lane(in, [&]<class T>(const auto& run, T) {
    const T *from = in.as<T>(), *factors = weight.as_or_null<T>(), *added = bias.as_or_null<T>();
    T* to = out.as<T>();
    over_rows(in.count() / size, size, [&](int64_t first, int64_t rows) {
      const int64_t at = first * size;
      run.layer_norm(from + at, factors, added, epsilon, rows, size, to + at);
    });
  });
}

void layer_norm_backward(const Array& grad, const Array& in, const Array& weight, double epsilon,
                         int64_t size, const Array& grad_in, const Array& grad_weight,
                         const Array& grad_bias) {
  with_lane(in, [&]<class T>(const auto& run, T) {
    const T *gradient = grad.as<T>(), *from = in.as<T>(), *factors = weight.as_or_null<T>();
    T* to = grad_in.as_or_null<T>();
    const int64_t rows = size == 0 ? 0 : in.count() / size;
    // Parameters' gradients are added up in pieces of rows that do not depend on threads, each in
    // T and the pieces in double.
    const int64_t piece = std::max<int64_t>(64, (rows + 63) / 64),
                  pieces = (rows + piece - 1) / piece;
    T* totals[] = {grad_weight.as_or_null<T>(), grad_bias.as_or_null<T>()};
    std::vector<T> parts[2];
    for (int k = 0; k < 2; ++k) {
      if (totals[k] && pieces != 1) parts[k].resize(pieces * size);
      if (totals[k]) std::fill_n(totals[k], size, T(0));
    }
    const auto part = [&](int k, int64_t p) {
      return !totals[k] || pieces == 1 ? totals[k] : parts[k].data() + p * size;
    };
    over_rows(pieces, piece * size, [&](int64_t first, int64_t count) {
      for (int64_t p = first; p < first + count; ++p) {
        const int64_t row = p * piece, at = row * size;
        run.layer_norm_backward(gradient + at, from + at, factors, epsilon,
                                std::min(piece, rows - row), size, to ? to + at : nullptr,
                                part(0, p), part(1, p));
      }
    });
    for (int k = 0; k < 2 && pieces > 1; ++k) {
      if (!totals[k]) continue;
      std::vector<double> wide(size);
      for (int64_t p = 0; p < pieces; ++p) {
        for (int64_t i = 0; i < size; ++i) wide[i] += static_cast<double>(parts[k][p * size + i]);
      }
      for (int64_t i = 0; i < size; ++i) totals[k][i] = static_cast<T>(wide[i]);
    }
  });
}

// ---- cross-entropy -----------------------------------------------------------------------------

void cross_entropy(const Array& scores, const Array& classes, int64_t ignored,
                   const Array& losses) {
  with_lane(scores, [&]<class T>(const auto& run, T) {
    const int64_t size = scores.sizes[1];
    const T* from = scores.as<T>();
    const int64_t* target = classes.as<int64_t>();
    T* loss = losses.as<T>();
    over_rows(scores.sizes[0], size, [&](int64_t first, int64_t rows) {
      for (int64_t r = first; r < first + rows; ++r) {
        const T* row = from + r * size;
        const bool counts = target[r] != ignored;
        loss[r] = counts ? static_cast<T>(run.log_sum(row, size) - row[target[r]]) : T(0);
      }
    });
  });
}

void cross_entropy_backward(const Array& scores, const Array& classes, const Array& factors,
                            int64_t ignored, const Array& grad_scores) {
  with_lane(scores, [&]<class T>(const auto& run, T) {
    const int64_t size = scores.sizes[1];
    const T *from = scores.as<T>(), *factor = factors.as<T>();
    const int64_t* target = classes.as<int64_t>();
    T* to = grad_scores.as<T>();
    over_rows(scores.sizes[0], size, [&](int64_t first, int64_t rows) {
      for (int64_t r = first; r < first + rows; ++r) {
        T* row = to + r * size;
        if (target[r] == ignored) {
          std::fill(row, row + size, T(0));
          continue;
        }
        const T level = static_cast<T>(run.log_sum(from + r * size, size));
        run.exponentials(from + r * size, size, level, factor[r], row);
        row[target[r]] -= factor[r];
      }
    });
  });
}

// ---- recurrent gates ---------------------------------------------------------------------------

void run_gates(Gates kind, std::initializer_list<Array> arrays) {
  const Array& state = *(arrays.end() - 1);
  if (state.count() == 0) return;
  const int64_t size = state.sizes.back();
  with_lane(state, [&]<class T>(const auto& run, T) {
    over_rows(state.count() / size, 8 * size, [&](int64_t first, int64_t rows) {
      base::SmallVector<T*, 8> from_first;
      for (const Array& array : arrays) {
        from_first.push_back(array.as<T>() + first * array.sizes.back());
      }
      run.gates[static_cast<int>(kind)](from_first.data(), rows, size);
    });
  });
}

}  // namespace weft::kernels
