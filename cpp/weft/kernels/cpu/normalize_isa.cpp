// Rows of softmax, layer normalisation and recurrent gates, compiled once per instruction set.
// Plain loops over the functions of formula_math.h become SIMD code by themselves; sums do not, so
// they are written with vectors.
#include <algorithm>

#include "weft/kernels/cpu/formula_math.h"
#include "weft/kernels/cpu/normalize_table.h"
#include "weft/kernels/cpu/simd.h"

namespace weft::kernels::WEFT_ISA {
namespace {

// Elements that a loop handles at once, and how many are added up in T before double takes over.
constexpr int64_t tile = 64;
constexpr int64_t block = 4096;

// Adds up term(i) over [0, size), where term gives vectors and one(i) single elements.
template <class T, class Term, class One>
inline double add_up(int64_t size, Term term, One one) {
  double total = 0;
  for (int64_t start = 0; start < size; start += block) {
    const int64_t stop = std::min(size, start + block);
    Vector<T> sums[4] = {};
    int64_t i = start;
    for (; i + 4 * width<T> <= stop; i += 4 * width<T>) {
      for (int v = 0; v < 4; ++v) sums[v] += term(i + v * width<T>);
    }
    for (; i + width<T> <= stop; i += width<T>) sums[0] += term(i);
    T sum = sum_lanes<T>((sums[0] + sums[1]) + (sums[2] + sums[3]));
    for (; i < stop; ++i) sum += one(i);
    total += static_cast<double>(sum);
  }
  return total;
}

template <class T>
double row_sum(const T* in, int64_t size) {
  return add_up<T>(size, [=](int64_t i) { return load(in + i); }, [=](int64_t i) { return in[i]; });
}

// NaNs may be passed over: they show up again in the sum of exponentials.
template <class T>
inline T row_largest(const T* in, int64_t size) {
  T result = -std::numeric_limits<T>::infinity();
  int64_t i = 0;
  if (size >= width<T>) {
    Vector<T> best[4];
    for (int v = 0; v < 4; ++v) best[v] = broadcast(result);
    for (; i + 4 * width<T> <= size; i += 4 * width<T>) {
      for (int v = 0; v < 4; ++v) best[v] = larger<T>(load(in + i + v * width<T>), best[v]);
    }
    for (; i + width<T> <= size; i += width<T>) best[0] = larger<T>(load(in + i), best[0]);
    const Vector<T> joined = larger<T>(larger<T>(best[0], best[1]), larger<T>(best[2], best[3]));
    for (int lane = 0; lane < width<T>; ++lane)
      result = joined[lane] > result ? joined[lane] : result;
  }
  for (; i < size; ++i) result = in[i] > result ? in[i] : result;
  return result;
}

// e^x for x <= 0, which is cheaper.
inline float exp_below(float x) { return exp_negative(x); }
inline double exp_below(double x) { return exp(x); }

// What to take away from scores before exp: the largest, or nothing when that is infinite.
template <class T>
inline T shift_of(const T* in, int64_t size) {
  const T largest = row_largest(in, size);
  return largest == -std::numeric_limits<T>::infinity() ? T(0) : largest;
}

// out = exp(in - shift), and their sum. `out` may be null.
template <class T>
inline double exponentials_and_sum(const T* in, int64_t size, T shift, T* out) {
  double total = 0;
  T buffer[tile];
  for (int64_t start = 0; start < size; start += block) {
    const int64_t stop = std::min(size, start + block);
    Vector<T> sums[tile / width<T>] = {};
    int64_t i = start;
    for (; i + tile <= stop; i += tile) {
      T* to = out ? out + i : buffer;
#pragma GCC ivdep
      for (int64_t j = 0; j < tile; ++j) to[j] = exp_below(in[i + j] - shift);
      for (int64_t v = 0; v < tile / width<T>; ++v) sums[v] += load(to + v * width<T>);
    }
    for (int64_t v = 1; v < tile / width<T>; ++v) sums[0] += sums[v];
    total += static_cast<double>(sum_lanes<T>(sums[0]));
    if (i < stop) {
      // The rest goes through the same instructions, padded with what gives zero.
      T padded[tile];
      for (int64_t j = 0; j < tile; ++j) {
        padded[j] = i + j < stop ? in[i + j] - shift : -std::numeric_limits<T>::infinity();
      }
      for (int64_t j = 0; j < tile; ++j) padded[j] = exp_below(padded[j]);
      if (out) std::copy(padded, padded + (stop - i), out + i);
      Vector<T> rest = load(padded);
      for (int64_t v = 1; v < tile / width<T>; ++v) rest += load(padded + v * width<T>);
      total += static_cast<double>(sum_lanes<T>(rest));
    }
  }
  return total;
}

template <class T>
double log_sum(const T* in, int64_t size) {
  const T shift = shift_of(in, size);
  return std::log(exponentials_and_sum<T>(in, size, shift, nullptr)) + static_cast<double>(shift);
}

template <class T>
void exponentials(const T* in, int64_t size, T shift, T factor, T* out) {
  for (int64_t i = 0; i < size; ++i) out[i] = exp(in[i] - shift) * factor;
}

// ---- softmax ---------------------------------------------------------------------------------

template <class T>
void softmax_rows(const T* in, int64_t rows, int64_t size, bool logarithm, T* out) {
  for (int64_t r = 0; r < rows; ++r, in += size, out += size) {
    const T shift = shift_of(in, size);
    if (logarithm) {
      const double sum = exponentials_and_sum<T>(in, size, shift, nullptr);
      const T less = static_cast<T>(std::log(sum));
      for (int64_t i = 0; i < size; ++i) out[i] = (in[i] - shift) - less;
    } else {
      const T factor = static_cast<T>(1 / exponentials_and_sum(in, size, shift, out));
      for (int64_t i = 0; i < size; ++i) out[i] *= factor;
    }
  }
}

template <class T>
void softmax_columns(const T* in, int64_t size, int64_t inner, int64_t count, bool logarithm,
                     T* out) {
  T shift[tile], sum[tile] = {};
  std::copy(in, in + count, shift);
  for (int64_t i = inner; i < size * inner; i += inner) {
    for (int64_t j = 0; j < count; ++j) shift[j] = max(shift[j], in[i + j]);
  }
  for (T& each : shift) each = each == -std::numeric_limits<T>::infinity() ? T(0) : each;
  for (int64_t i = 0; i < size * inner; i += inner) {
#pragma GCC ivdep
    for (int64_t j = 0; j < count; ++j) {
      const T e = exp_below(in[i + j] - shift[j]);
      if (!logarithm) out[i + j] = e;
      sum[j] += e;
    }
  }
  for (T& each : sum) each = logarithm ? log(each) : 1 / each;
  for (int64_t i = 0; i < size * inner; i += inner) {
#pragma GCC ivdep
    for (int64_t j = 0; j < count; ++j) {
      out[i + j] = logarithm ? (in[i + j] - shift[j]) - sum[j] : out[i + j] * sum[j];
    }
  }
}

template <class T>
void softmax_backward_columns(const T* grad, const T* out, int64_t size, int64_t inner,
                              int64_t count, bool logarithm, T* grad_in) {
  T sum[tile] = {};
  for (int64_t i = 0; i < size * inner; i += inner) {
    for (int64_t j = 0; j < count; ++j) {
      sum[j] += logarithm ? grad[i + j] : grad[i + j] * out[i + j];
    }
  }
  for (int64_t i = 0; i < size * inner; i += inner) {
#pragma GCC ivdep
    for (int64_t j = 0; j < count; ++j) {
      grad_in[i + j] = logarithm ? grad[i + j] - exp_below(out[i + j]) * sum[j]
                                 : out[i + j] * (grad[i + j] - sum[j]);
    }
  }
}

template <class T>
void softmax_backward_rows(const T* grad, const T* out, int64_t rows, int64_t size, bool logarithm,
                           T* grad_in) {
  for (int64_t r = 0; r < rows; ++r, grad += size, out += size, grad_in += size) {
    if (logarithm) {
      const T sum = static_cast<T>(row_sum(grad, size));
      for (int64_t i = 0; i < size; ++i) grad_in[i] = grad[i] - exp_below(out[i]) * sum;
    } else {
      const T sum = static_cast<T>(add_up<T>(
          size, [=](int64_t i) { return load(grad + i) * load(out + i); },
          [=](int64_t i) { return grad[i] * out[i]; }));
      for (int64_t i = 0; i < size; ++i) grad_in[i] = out[i] * (grad[i] - sum);
    }
  }
}

// ---- layer normalisation -----------------------------------------------------------------------

template <class T>
struct Moments {
  T mean, scale;  // scale is 1 / sqrt(variance + epsilon)
};

template <class T>
inline Moments<T> moments(const T* in, int64_t size, double epsilon) {
  const T mean = static_cast<T>(row_sum(in, size) / static_cast<double>(size));
  const Vector<T> means = broadcast(mean);
  const double squares = add_up<T>(
      size,
      [=](int64_t i) {
        const Vector<T> away = load(in + i) - means;
        return away * away;
      },
      [=](int64_t i) { return (in[i] - mean) * (in[i] - mean); });
  return {mean, static_cast<T>(1 / std::sqrt(squares / static_cast<double>(size) + epsilon))};
}

template <class T>
void layer_norm(const T* in, const T* weight, const T* bias, double epsilon, int64_t rows,
                int64_t size, T* out) {
  for (int64_t r = 0; r < rows; ++r, in += size, out += size) {
    const auto [mean, scale] = moments(in, size, epsilon);
    if (weight && bias) {
#pragma GCC ivdep
      for (int64_t i = 0; i < size; ++i) out[i] = (in[i] - mean) * scale * weight[i] + bias[i];
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < size; ++i) {
        out[i] = (in[i] - mean) * scale * (weight ? weight[i] : T(1)) + (bias ? bias[i] : T(0));
      }
    }
  }
}

// Which of weight, grad_in, grad_weight and grad_bias are there is fixed in each copy of the loop.
template <class T, bool has_weight, bool to_in, bool to_weight, bool to_bias>
void layer_norm_backward_of(const T* grad, const T* in, const T* weight, double epsilon,
                            int64_t rows, int64_t size, T* grad_in, T* grad_weight, T* grad_bias) {
  for (int64_t r = 0; r < rows; ++r, in += size, grad += size) {
    const auto [mean, scale] = moments(in, size, epsilon);
    // With u = grad * weight and y the normalised row: scale * (u - mean(u) - y * mean(u * y)).
    T u_mean = 0, slope = 0;
    if constexpr (to_in) {
      const Vector<T> means = broadcast(mean);
      double sum = 0, product = 0;
      for (int64_t start = 0; start < size; start += block) {
        const int64_t stop = std::min(size, start + block);
        Vector<T> sums[2] = {}, products[2] = {};
        int64_t i = start;
        const auto add = [&](int64_t at, int v) {
          const Vector<T> u = has_weight ? load(grad + at) * load(weight + at) : load(grad + at);
          sums[v] += u;
          products[v] = fma<T>(u, load(in + at) - means, products[v]);
        };
        for (; i + 2 * width<T> <= stop; i += 2 * width<T>) {
          add(i, 0);
          add(i + width<T>, 1);
        }
        T rest = 0, rest_product = 0;
        for (; i < stop; ++i) {
          const T u = has_weight ? grad[i] * weight[i] : grad[i];
          rest += u;
          rest_product += u * (in[i] - mean);
        }
        sum += static_cast<double>(sum_lanes<T>(sums[0] + sums[1]) + rest);
        product += static_cast<double>(sum_lanes<T>(products[0] + products[1]) + rest_product);
      }
      const auto count = static_cast<double>(size);
      u_mean = static_cast<T>(sum / count);
      slope = static_cast<T>(product * static_cast<double>(scale) / count) * scale;
    }
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) {
      const T away = in[i] - mean, g = grad[i];
      if constexpr (to_in) {
        const T u = has_weight ? g * weight[i] : g;
        grad_in[i] = scale * (u - u_mean - away * slope);
      }
      if constexpr (to_weight) grad_weight[i] += g * (away * scale);
      if constexpr (to_bias) grad_bias[i] += g;
    }
    if constexpr (to_in) grad_in += size;
  }
}

template <class T>
void layer_norm_backward(const T* grad, const T* in, const T* weight, double epsilon, int64_t rows,
                         int64_t size, T* grad_in, T* grad_weight, T* grad_bias) {
  const auto run = [&](auto* loop) {
    loop(grad, in, weight, epsilon, rows, size, grad_in, grad_weight, grad_bias);
  };
  if (weight && grad_in && grad_weight && grad_bias) {
    return run(layer_norm_backward_of<T, true, true, true, true>);
  }
  if (grad_in) {
    run(weight ? layer_norm_backward_of<T, true, true, false, false>
               : layer_norm_backward_of<T, false, true, false, false>);
  }
  if (grad_weight) run(layer_norm_backward_of<T, false, false, true, false>);
  if (grad_bias) run(layer_norm_backward_of<T, false, false, false, true>);
}

// ---- recurrent gates ---------------------------------------------------------------------------

// The gates are enter, forget (one for each of `Cells`), fresh, output.
template <class T, int Cells>
void lstm_gates(T* const* arrays, int64_t rows, int64_t size) {
  const T *gates = arrays[0], *cell = arrays[1];
  T *hidden_out = arrays[2], *cell_out = arrays[3];
  for (int64_t r = 0; r < rows; ++r) {
    const T *enter = gates + (3 + Cells) * r * size, *forget = enter + size,
            *fresh = forget + Cells * size, *output = fresh + size, *from = cell + Cells * r * size;
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) {
      T next = sigmoid(forget[i]) * from[i] + sigmoid(enter[i]) * tanh(fresh[i]);
      if constexpr (Cells == 2) next += sigmoid(forget[size + i]) * from[size + i];
      cell_out[r * size + i] = next;
      hidden_out[r * size + i] = sigmoid(output[i]) * tanh(next);
    }
  }
}

template <class T, int Cells>
void lstm_gates_backward(T* const* arrays, int64_t rows, int64_t size) {
  const T *grad_hidden = arrays[0], *grad_cell = arrays[1], *gates = arrays[2], *cell = arrays[3],
          *cell_out = arrays[6];
  T *grad_gates = arrays[4], *grad_cell_in = arrays[5];
  for (int64_t r = 0; r < rows; ++r) {
    const T *enter = gates + (3 + Cells) * r * size, *forget = enter + size,
            *fresh = forget + Cells * size, *output = fresh + size, *from = cell + Cells * r * size;
    T *to_enter = grad_gates + (3 + Cells) * r * size, *to_forget = to_enter + size,
      *to_fresh = to_forget + Cells * size, *to_output = to_fresh + size,
      *to = grad_cell_in + Cells * r * size;
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) {
      const int64_t at = r * size + i;
      const T i_gate = sigmoid(enter[i]), g_gate = tanh(fresh[i]), o_gate = sigmoid(output[i]),
              squashed = tanh(cell_out[at]);
      const T of_hidden = grad_hidden[at];
      const T of_cell = grad_cell[at] + of_hidden * o_gate * (1 - squashed * squashed);
      to_enter[i] = of_cell * g_gate * i_gate * (1 - i_gate);
      to_fresh[i] = of_cell * i_gate * (1 - g_gate * g_gate);
      to_output[i] = of_hidden * squashed * o_gate * (1 - o_gate);
      const T f_gate = sigmoid(forget[i]);
      to_forget[i] = of_cell * from[i] * f_gate * (1 - f_gate);
      to[i] = of_cell * f_gate;
      if constexpr (Cells == 2) {
        const T other = sigmoid(forget[size + i]);
        to_forget[size + i] = of_cell * from[size + i] * other * (1 - other);
        to[size + i] = of_cell * other;
      }
    }
  }
}

template <class T>
void gru_gates(T* const* arrays, int64_t rows, int64_t size) {
  const T *from_input = arrays[0], *from_hidden = arrays[1], *hidden = arrays[2];
  T* out = arrays[3];
  for (int64_t r = 0; r < rows; ++r, hidden += size, out += size) {
    const T *x = from_input + 3 * r * size, *h = from_hidden + 3 * r * size;
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) {
      const T reset = sigmoid(x[i] + h[i]), update = sigmoid(x[size + i] + h[size + i]);
      const T fresh = tanh(x[2 * size + i] + reset * h[2 * size + i]);
      out[i] = fresh + update * (hidden[i] - fresh);
    }
  }
}

template <class T>
void gru_gates_backward(T* const* arrays, int64_t rows, int64_t size) {
  const T *grad = arrays[0], *from_input = arrays[1], *from_hidden = arrays[2], *hidden = arrays[3];
  T *grad_from_input = arrays[4], *grad_from_hidden = arrays[5], *grad_hidden = arrays[6];
  for (int64_t r = 0; r < rows; ++r, grad += size, hidden += size, grad_hidden += size) {
    const T *x = from_input + 3 * r * size, *h = from_hidden + 3 * r * size;
    T *to_x = grad_from_input + 3 * r * size, *to_h = grad_from_hidden + 3 * r * size;
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) {
      const T reset = sigmoid(x[i] + h[i]), update = sigmoid(x[size + i] + h[size + i]);
      const T inner = h[2 * size + i], fresh = tanh(x[2 * size + i] + reset * inner);
      const T of_fresh = grad[i] * (1 - update) * (1 - fresh * fresh);
      const T of_reset = of_fresh * inner * reset * (1 - reset);
      const T of_update = grad[i] * (hidden[i] - fresh) * update * (1 - update);
      to_x[i] = to_h[i] = of_reset;
      to_x[size + i] = to_h[size + i] = of_update;
      to_x[2 * size + i] = of_fresh;
      to_h[2 * size + i] = of_fresh * reset;
      grad_hidden[i] = grad[i] * update;
    }
  }
}

template <class T>
constexpr Normalizers<T> normalizers() {
  return {softmax_rows<T>,
          softmax_columns<T>,
          softmax_backward_columns<T>,
          softmax_backward_rows<T>,
          layer_norm<T>,
          layer_norm_backward<T>,
          log_sum<T>,
          exponentials<T>,
          {lstm_gates<T, 1>, lstm_gates_backward<T, 1>, lstm_gates<T, 2>, lstm_gates_backward<T, 2>,
           gru_gates<T>, gru_gates_backward<T>}};
}

}  // namespace

extern const NormalizeTable normalize_table;
const NormalizeTable normalize_table = {normalizers<float>(), normalizers<double>()};

}  // namespace weft::kernels::WEFT_ISA
