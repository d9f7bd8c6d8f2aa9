// Inner loops of reductions, compiled once per instruction set. Each kind is written once, over
// scalars and vectors alike. Integers wrap around (-fwrapv).
#include <algorithm>
#include <utility>

#include "weft/kernels/cpu/reduce_table.h"
#include "weft/kernels/cpu/simd.h"

namespace weft::kernels::WEFT_ISA {
namespace {

// X is T or Vector<T>. `map` sees each element once, `combine` joins two results.
struct SumKind {
  template <class T>
  static constexpr T identity = 0;
  template <class X>
  static X combine(X a, X b) {
    return a + b;
  }
  template <class X>
  static X map(X x, X) {
    return x;
  }
};
struct ProductKind : SumKind {
  template <class T>
  static constexpr T identity = 1;
  template <class X>
  static X combine(X a, X b) {
    return a * b;
  }
};
template <class T>
constexpr T infinity =
    std::is_integral_v<T> ? std::numeric_limits<T>::max() : std::numeric_limits<T>::infinity();
template <class T>
constexpr T minus_infinity = std::is_integral_v<T> ? std::numeric_limits<T>::min() : -infinity<T>;

struct LargestKind : SumKind {
  template <class T>
  static constexpr T identity = minus_infinity<T>;
  template <class X>
  static X combine(X a, X b) {
    return (a > b) | (a != a) ? a : b;
  }
};
struct SmallestKind : SumKind {
  template <class T>
  static constexpr T identity = infinity<T>;
  template <class X>
  static X combine(X a, X b) {
    return (a < b) | (a != a) ? a : b;
  }
};
struct NonzeroKind : SumKind {
  template <class X>
  static X map(X x, X) {
    return x != 0 ? X{} + 1 : X{};
  }
};
struct SquareKind : SumKind {
  template <class X>
  static X map(X x, X shift) {
    return (x - shift) * (x - shift);
  }
};

template <class T>
using IndexOf = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

// Lane i becomes lane i ^ half.
template <class T, int half, int... i>
inline Vector<T> exchange(const Vector<T>& lanes, std::integer_sequence<int, i...>) {
  return __builtin_shuffle(lanes, Vector<IndexOf<T>>{(i ^ half)...});
}
template <class Kind, class T, int half = width<T> / 2>
inline T join_lanes(const Vector<T>& lanes) {
  const Vector<T> other = exchange<T, half>(lanes, std::make_integer_sequence<int, width<T>>());
  const Vector<T> joined = Kind::combine(lanes, other);
  if constexpr (half == 1) {
    return joined[0];
  } else {
    return join_lanes<Kind, T, half / 2>(joined);
  }
}

// Rows that are read side by side: memory answers several distant streams faster than one.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int streams = 4;
#else
constexpr int streams = 2;
#endif

// Reduces `rows` rows that lie `stride` apart. A row's result does not depend on its neighbours.
template <class Kind, class T, int rows>
inline void some_blocks(const T* in, int64_t stride, int64_t count, const T* shift,
                        int64_t shift_stride, Total<T>* totals) {
  constexpr int vectors = 4;
  constexpr int64_t step = vectors * width<T>, short_steps = 16;
  Vector<T> results[rows], shifts[rows];
  for (int r = 0; r < rows; ++r) {
    shifts[r] = broadcast(shift ? shift[r * shift_stride] : T(0));
    results[r] = broadcast(Kind::template identity<T>);
  }
  int64_t i = 0;
  // Short sums are added to longer ones, so that rounding errors do not pile up.
  while (i + step <= count) {
    const int64_t stop = i + std::min(short_steps, (count - i) / step) * step;
    Vector<T> parts[rows][vectors];
    for (int r = 0; r < rows; ++r) {
      for (int v = 0; v < vectors; ++v) parts[r][v] = broadcast(Kind::template identity<T>);
    }
    for (; i < stop; i += step) {
      for (int r = 0; r < rows; ++r) {
        for (int v = 0; v < vectors; ++v) {
          const Vector<T> x = load(in + r * stride + i + v * width<T>);
          parts[r][v] = Kind::combine(parts[r][v], Kind::map(x, shifts[r]));
        }
      }
    }
    for (int r = 0; r < rows; ++r) {
      results[r] =
          Kind::combine(results[r], Kind::combine(Kind::combine(parts[r][0], parts[r][1]),
                                                  Kind::combine(parts[r][2], parts[r][3])));
    }
  }
  for (; i + width<T> <= count; i += width<T>) {
    for (int r = 0; r < rows; ++r) {
      results[r] = Kind::combine(results[r], Kind::map(load(in + r * stride + i), shifts[r]));
    }
  }
  for (int r = 0; r < rows; ++r) {
    T result = join_lanes<Kind, T>(results[r]);
    for (int64_t j = i; j < count; ++j) {
      result = Kind::combine(result, Kind::map(in[r * stride + j], shifts[r][0]));
    }
    totals[r] = static_cast<Total<T>>(result);
  }
}

template <class Kind, class T>
void blocks(const T* in, int64_t rows, int64_t stride, int64_t count, const T* shift,
            Total<T>* totals) {
  // One row of each part at a time, so that the streams are far apart.
  const int64_t part = rows / streams;
  for (int64_t r = 0; r < part; ++r) {
    Total<T> some[streams];
    some_blocks<Kind, T, streams>(in + r * stride, part * stride, count,
                                  shift ? shift + r : nullptr, part, some);
    for (int s = 0; s < streams; ++s) totals[s * part + r] = some[s];
  }
  for (int64_t r = streams * part; r < rows; ++r) {
    some_blocks<Kind, T, 1>(in + r * stride, stride, count, shift ? shift + r : nullptr, 0,
                            totals + r);
  }
}

// Joins rows into `results`, four at a time (one of each quarter) to spare loads and stores.
template <class Kind, class T>
inline void join_rows(const T* in, int64_t rows, int64_t stride, int64_t columns, const T* shift,
                      T* results) {
  const int64_t quarter = rows / 4, step = quarter * stride;
  for (int64_t r = 0; r < quarter; ++r) {
    const T* row = in + r * stride;
    int64_t j = 0;
    for (; j + width<T> <= columns; j += width<T>) {
      const Vector<T> shifts = load(shift + j);
      const auto mapped = [&](int64_t i) { return Kind::map(load(row + i * step + j), shifts); };
      const Vector<T> some =
          Kind::combine(Kind::combine(mapped(0), mapped(1)), Kind::combine(mapped(2), mapped(3)));
      store<T>(results + j, Kind::combine(load(results + j), some));
    }
    for (; j < columns; ++j) {
      for (int64_t i = 0; i < 4; ++i) {
        results[j] = Kind::combine(results[j], Kind::map(row[i * step + j], shift[j]));
      }
    }
  }
  for (int64_t r = 4 * quarter; r < rows; ++r) {
    for (int64_t j = 0; j < columns; ++j) {
      results[j] = Kind::combine(results[j], Kind::map(in[r * stride + j], shift[j]));
    }
  }
}

template <class Kind, class T>
void columns(const T* in, int64_t rows, int64_t stride, int64_t count, const T* shift,
             Total<T>* totals) {
  T results[most_columns];
  T shifts[most_columns];
  // Short rows that follow each other are taken as fewer, longer ones.
  const int64_t fold = stride == count && count <= 64 && rows >= 16 ? 256 / count : 1;
  const int64_t wide = fold * count;
  for (int64_t j = 0; j < wide; ++j) shifts[j] = shift ? shift[j % count] : T(0);
  for (int64_t start = 0; start < rows; start += block_rows * fold) {
    const int64_t some = std::min(block_rows * fold, rows - start);
    std::fill(results, results + wide, Kind::template identity<T>);
    const T* from = in + start * stride;
    join_rows<Kind, T>(from, some / fold, fold * stride, wide, shifts, results);
    const int64_t done = some / fold * fold;
    join_rows<Kind, T>(from + done * stride, some - done, stride, count, shifts, results);
    for (int64_t j = 0; j < wide; ++j) {
      Total<T>& total = totals[fold == 1 ? j : j % count];
      total = Kind::combine(total, static_cast<Total<T>>(results[j]));
    }
  }
}

template <class Kind, class T>
constexpr Reducer<T> reducer() {
  return {Kind::template identity<Total<T>>, Kind::template combine<Total<T>>, blocks<Kind, T>,
          columns<Kind, T>};
}

// In the order of Reduction.
template <class T>
constexpr std::array<Reducer<T>, reduction_count> reducers() {
  return {reducer<SumKind, T>(),      reducer<ProductKind, T>(), reducer<LargestKind, T>(),
          reducer<SmallestKind, T>(), reducer<NonzeroKind, T>(), reducer<SquareKind, T>()};
}

}  // namespace

extern const ReduceTable reduce_table;
const ReduceTable reduce_table = {reducers<float>(), reducers<double>(), reducers<int64_t>()};

}  // namespace weft::kernels::WEFT_ISA
