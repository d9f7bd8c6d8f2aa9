// The matrix product of our own, compiled once per instruction set. Made for few rows: nothing is
// packed there, so a product with one row reads each operand once. Two ways to add up:
// - b as stored has rows of columns: vectors run over columns, sums over k go in order;
// - b is transposed: vectors run over k, and the lanes are added in a fixed tree at the end. With
//   many rows it is turned instead while it is packed, and the first way is taken.
// So a row of c may depend on how many rows there are by rounding, but not on how they are split.
#include <algorithm>
#include <utility>

#include "weft/kernels/cpu/gemm_table.h"
#include "weft/kernels/cpu/simd.h"

namespace weft::kernels::WEFT_ISA {
namespace {

// Accumulators that fit the registers: 32 of them with AVX-512 (and on ARM), else 16.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int max_rows = 6, max_vectors = 4, dots = 16;
#else
constexpr int max_rows = 6, max_vectors = 2, dots = 8;
#endif

// Where the rows of b begin: evenly spaced, or anywhere.
struct Spaced {
  int64_t stride;
  int64_t operator[](int64_t row) const { return row * stride; }
};
struct Listed {
  const int64_t* offsets;
  int64_t operator[](int64_t row) const { return offsets[row]; }
};

// What the sums begin with: values in rows (all the same one if `row` is 0), or zero.
template <class T>
struct Start {
  const T* data = nullptr;
  int64_t row = 0;
  Start at(int64_t r, int64_t column) const {
    return data == nullptr ? *this : Start{data + r * row + column, row};
  }
};

// The operand on the left: element (r, p) is at data[r * row + p * step].
template <class T>
struct Left {
  const T* data;
  int64_t row, step;
  Left at(int64_t r, int64_t p) const { return {data + r * row + p * step, row, step}; }
};

// ---- b has rows of columns -------------------------------------------------------------------

// c[r][...] = start + sum over p of a[r][p] * b[b_rows[p] + ...] for `rows` rows and `vectors`
// vectors of columns. The last vector ends with the last column and may overlap the one before it.
// One vector alone may have fewer columns than lanes, and is `partial` then.
template <class T, class Rows, int rows, int vectors, bool partial>
void tile(int64_t k, const Left<T>& left, const T* b, Rows b_rows, const Start<T>& start, T* c,
          int64_t ldc, int columns) {
  static_assert(!partial || vectors == 1);
  const int64_t last = columns - width<T>;
  const auto place = [=](int v) { return v == vectors - 1 && !partial ? last : v * width<T>; };
  const T* a = left.data;
  const int64_t a_row = left.row, a_step = left.step;
  Vector<T> sums[rows][vectors];
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < vectors; ++v) {
      const T* from = start.data + r * start.row + place(v);
      sums[r][v] = !start.data ? Vector<T>{} : partial ? load_first(from, columns) : load(from);
    }
  }
  for (int64_t p = 0; p < k; ++p) {
    const T* from = b + b_rows[p];
    Vector<T> others[vectors];
    for (int v = 0; v < vectors; ++v) {
      others[v] = partial ? load_first(from, columns) : load(from + place(v));
    }
    for (int r = 0; r < rows; ++r) {
      const Vector<T> factor = broadcast(a[r * a_row]);
      for (int v = 0; v < vectors; ++v) sums[r][v] = fma<T>(factor, others[v], sums[r][v]);
    }
    a += a_step;
  }
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < vectors; ++v) {
      T* to = c + r * ldc + place(v);
      if constexpr (partial) {
        store_first<T>(to, sums[r][v], columns);
      } else {
        store<T>(to, sums[r][v]);
      }
    }
  }
}

template <class T, class Rows>
using Tile = void(int64_t k, const Left<T>& left, const T* b, Rows b_rows, const Start<T>& start,
                  T* c, int64_t ldc, int columns);

// table[rows - 1][vectors], where 0 vectors stand for a partial one
template <class T, class Rows>
struct Tiles {
  Tile<T, Rows>* table[max_rows][max_vectors + 1];
  constexpr Tiles() : table{} { fill<1, 1>(); }
  template <int rows, int vectors>
  constexpr void fill() {
    table[rows - 1][vectors] = tile<T, Rows, rows, vectors, false>;
    if constexpr (vectors == 1) table[rows - 1][0] = tile<T, Rows, rows, 1, true>;
    if constexpr (vectors < max_vectors) {
      fill<rows, vectors + 1>();
    } else if constexpr (rows < max_rows) {
      fill<rows + 1, 1>();
    }
  }
};
template <class T, class Rows>
constexpr Tiles<T, Rows> tiles;

template <class T>
constexpr int64_t panel_width = max_vectors * width<T>;

// All rows of c for at most panel_width columns.
template <class T, class Rows>
void panel_product(int64_t m, int64_t columns, int64_t k, const Left<T>& a, const T* panel,
                   Rows rows_of_panel, const Start<T>& start, T* c, int64_t ldc) {
  const int64_t vectors = columns < width<T> ? 0 : (columns + width<T> - 1) / width<T>;
  // Rows are spread evenly, so that no tile has a single row left over.
  const int64_t row_tiles = (m + max_rows - 1) / max_rows;
  for (int64_t t = 0; t < row_tiles; ++t) {
    const int64_t row = m * t / row_tiles;
    const int64_t rows = m * (t + 1) / row_tiles - row;
    tiles<T, Rows>.table[rows - 1][vectors](k, a.at(row, 0), panel, rows_of_panel, start.at(row, 0),
                                            c + row * ldc, ldc, static_cast<int>(columns));
  }
}

// Calls body(first column, number of columns) for panels that cover n columns. Vectors are spread
// evenly, so that no panel but the only one has less than a vector.
template <class T, class Body>
void over_panels(int64_t n, Body body) {
  const int64_t vectors = (n + width<T> - 1) / width<T>;
  const int64_t panels = (vectors + max_vectors - 1) / max_vectors;
  for (int64_t t = 0; t < panels; ++t) {
    const int64_t first = vectors * t / panels * width<T>;
    const int64_t last = std::min(n, vectors * (t + 1) / panels * width<T>);
    body(first, last - first);
  }
}

// A block of `width` rows of `width` lanes is turned: lanes and rows that differ in bit `half` of
// their numbers change places, bit by bit.
template <class T, int half, bool upper, int... i>
inline Vector<T> change_places(const Vector<T>& x, const Vector<T>& y,
                               std::integer_sequence<int, i...>) {
  constexpr int n = width<T>;
  constexpr auto lane = [](int k) { return (k & half) == (upper ? half : 0) ? k : k ^ half; };
  return __builtin_shufflevector(x, y, (i & half ? lane(i) + n : lane(i))...);
}

template <class T, int half = width<T> / 2>
inline void turn(Vector<T>* rows) {
  for (int i = 0; i < width<T>; ++i) {
    if (i & half) continue;
    const Vector<T> x = rows[i], y = rows[i + half];
    constexpr auto lanes = std::make_integer_sequence<int, width<T>>();
    rows[i] = change_places<T, half, false>(x, y, lanes);
    rows[i + half] = change_places<T, half, true>(x, y, lanes);
  }
  if constexpr (half > 1) turn<T, half / 2>(rows);
}

constexpr int64_t panel_depth = 256;  // k is cut into panels of b that stay in the cache
constexpr int64_t block_rows = 16 * max_rows;

// Copies `columns` of k rows into one piece, because rows far apart share few cache sets and pages.
template <class T>
void pack(int64_t columns, int64_t k, const T* from, int64_t row, T* to, int64_t to_row) {
  for (int64_t p = 0; p < k; ++p, from += row, to += to_row) {
    int64_t i = 0;
    for (; i + width<T> <= columns; i += width<T>) store(to + i, load(from + i));
    if (i < columns)
      store_first(to + i, load_first(from + i, static_cast<int>(columns - i)),
                  static_cast<int>(columns - i));
  }
}

// The same of a panel of a transposed b.
template <class T>
void pack_turned(int64_t columns, int64_t k, const T* b, int64_t ldb, T* to) {
  for (int64_t column = 0; column < columns; column += width<T>) {
    for (int64_t p = 0; p < k; p += width<T>) {
      const int steps = static_cast<int>(std::min<int64_t>(width<T>, k - p));
      Vector<T> block[width<T>];
      for (int i = 0; i < width<T>; ++i) {
        block[i] = load_first(b + std::min(column + i, columns - 1) * ldb + p, steps);
      }
      turn<T>(block);
      for (int i = 0; i < width<T>; ++i) store(to + (p + i) * panel_width<T> + column, block[i]);
    }
  }
}

template <class T>
void by_columns(int64_t m, int64_t n, int64_t k, const Left<T>& a, const T* b, int64_t ldb,
                bool turned, const Start<T>& start, T* c, int64_t ldc) {
  // With many rows a panel is read often: then copying it pays. With many columns so are the rows
  // of a, if they lie across and their steps over pages.
  const bool many = m > 8 * max_rows && n > panel_width<T>;
  const bool pack_a = many && k > panel_depth && a.row == 1 && a.step * sizeof(T) >= 2048;
  const bool pack_b = turned || (many && ldb * sizeof(T) >= 2048);
  alignas(64) T block[block_rows * panel_depth], packed[panel_depth * panel_width<T>];
  // Few rows read b once: then in long stretches rather than panel by panel.
  const int64_t depth = m > max_rows || turned ? panel_depth
                        : n * k > (1 << 16)    ? 16
                                               : std::max<int64_t>(k, 1);
  const int64_t most = pack_a ? block_rows : std::max<int64_t>(m, 1);
  for (int64_t first = 0; first < std::max<int64_t>(k, 1); first += depth) {
    const int64_t steps = std::min(depth, k - first);
    const Start<T> begin = first > 0 ? Start<T>{c, ldc} : start;
    for (int64_t row = 0; row < m; row += most) {
      const int64_t rows = std::min(most, m - row);
      Left<T> left = a.at(row, first);
      if (pack_a) {
        pack(rows, steps, left.data, left.step, block, block_rows);
        left = {block, 1, block_rows};
      }
      over_panels<T>(n, [&](int64_t column, int64_t columns) {
        const T* panel = turned ? b + column * ldb + first : b + first * ldb + column;
        if (turned) {
          pack_turned(columns, steps, panel, ldb, packed);
        } else if (pack_b) {
          pack(columns, steps, panel, ldb, packed, panel_width<T>);
        }
        panel_product(rows, columns, steps, left, pack_b ? packed : panel,
                      Spaced{pack_b ? panel_width<T> : ldb}, begin.at(row, column),
                      c + row * ldc + column, ldc);
      });
    }
  }
}

// ---- b is transposed -------------------------------------------------------------------------

// Lanes of x and y whose number has bit `half` clear or set: each gets its partner added. Lanes
// with the bit clear are x's, the others y's.
template <class T, int half, int... i>
inline Vector<T> add_halves(const Vector<T>& x, const Vector<T>& y,
                            std::integer_sequence<int, i...>) {
  constexpr int n = width<T>;
  return __builtin_shufflevector(x, y, (i & half ? i + n : i)...) +
         __builtin_shufflevector(x, y, (i & half ? (i ^ half) + n : i ^ half)...);
}

// Lane i of the result is the sum of the lanes of vectors[i]. Every sum goes through the same tree.
template <class T, int half = width<T> / 2>
inline Vector<T> sum_each(Vector<T>* vectors) {
  for (int i = 0; i < half; ++i) {
    vectors[i] = add_halves<T, half>(vectors[i], vectors[i + half],
                                     std::make_integer_sequence<int, width<T>>());
  }
  if constexpr (half == 1) {
    return vectors[0];
  } else {
    return sum_each<T, half / 2>(vectors);
  }
}

// Dot products of `rows` rows of a with dots / rows rows of b. When not `full`, rows past the end
// repeat the last one and their results are dropped.
template <class T, class Rows, int rows, bool full>
[[gnu::always_inline]] inline void dot_tile(int64_t k, const T* a, int64_t lda, int64_t rows_left,
                                            const T* b, Rows rows_of_b, int64_t first_column,
                                            int64_t columns_left, const Start<T>& start, T* c,
                                            int64_t ldc) {
  constexpr int columns = dots / rows;
  const auto a_row = [&](int64_t r) { return a + (full ? r : std::min(r, rows_left - 1)) * lda; };
  const auto b_row = [&](int64_t j) {
    return b + rows_of_b[first_column + (full ? j : std::min(j, columns_left - 1))];
  };
  const T* a_rows[rows];
  const T* b_rows[columns];
  for (int r = 0; r < rows; ++r) a_rows[r] = a_row(r);
  for (int j = 0; j < columns; ++j) b_rows[j] = b_row(j);
  // The odd end of the rows comes first, so that the sums start in registers and stay there.
  const int odd = static_cast<int>(k > 0 ? (k - 1) % width<T> + 1 : 0);
  Vector<T> sums[dots], starts[rows];
  for (int r = 0; r < rows; ++r) starts[r] = load_first(a_rows[r], odd);
  for (int j = 0; j < columns; ++j) {
    const Vector<T> other = load_first(b_rows[j], odd);
    for (int r = 0; r < rows; ++r) {
      sums[r * columns + j] = fma<T>(other, starts[r], Vector<T>{});
    }
  }
  for (int64_t p = odd; p < k; p += width<T>) {
    Vector<T> factors[rows];
    for (int r = 0; r < rows; ++r) factors[r] = load(a_rows[r] + p);
    for (int j = 0; j < columns; ++j) {
      const Vector<T> other = load(b_rows[j] + p);
      for (int r = 0; r < rows; ++r) {
        sums[r * columns + j] = fma<T>(factors[r], other, sums[r * columns + j]);
      }
    }
  }
  T results[dots];
  for (int i = 0; i < dots; i += width<T>) store(results + i, sum_each<T>(sums + i));
  if constexpr (full) {
    // Whole pieces of rows, as small vectors.
    typedef T Piece __attribute__((vector_size(columns * sizeof(T))));
    for (int r = 0; r < rows; ++r) {
      T* to = c + r * ldc;
      Piece piece, before;
      std::memcpy(&piece, results + r * columns, sizeof piece);
      if (start.data != nullptr) {
        std::memcpy(&before, start.data + r * start.row, sizeof before);
        piece += before;
      }
      std::memcpy(to, &piece, sizeof piece);
    }
  } else {
    for (int r = 0; r < std::min<int64_t>(rows, rows_left); ++r) {
      for (int j = 0; j < std::min<int64_t>(columns, columns_left); ++j) {
        const T before = start.data != nullptr ? start.data[r * start.row + j] : T(0);
        c[r * ldc + j] = before + results[r * columns + j];
      }
    }
  }
}

// Columns first..last of c for a few rows.
template <class T, class Rows, int rows>
void dot_row_tile(int64_t k, const T* a, int64_t lda, int64_t rows_left, const T* b, Rows rows_of_b,
                  int64_t first, int64_t last, const Start<T>& start, T* c, int64_t ldc) {
  constexpr int columns = dots / rows;
  int64_t j = first;
  for (; rows_left >= rows && j + columns <= last; j += columns) {
    dot_tile<T, Rows, rows, true>(k, a, lda, rows, b, rows_of_b, j, columns, start.at(0, j), c + j,
                                  ldc);
  }
  for (; j < last; j += columns) {
    dot_tile<T, Rows, rows, false>(k, a, lda, rows_left, b, rows_of_b, j, last - j, start.at(0, j),
                                   c + j, ldc);
  }
}

template <class T, class Rows>
void by_dots(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b, Rows rows_of_b,
             const Start<T>& start, T* c, int64_t ldc) {
  // A block of rows of a stays in the second cache while all of b passes by, and a few rows of b
  // stay in the first while the block passes by.
  const int64_t block = std::max<int64_t>(4, (int64_t{1} << 17) / (k + 1) / 4 * 4);
  for (int64_t first = 0; first < m; first += block) {
    const int64_t stop = std::min(m, first + block);
    for (int64_t j = 0; j < n; j += dots) {
      int64_t rows = 0;
      for (int64_t i = first; i < stop; i += rows) {
        rows = stop - i >= 3 ? 4 : stop - i;
        auto* const tile = rows == 4   ? dot_row_tile<T, Rows, 4>
                           : rows == 2 ? dot_row_tile<T, Rows, 2>
                                       : dot_row_tile<T, Rows, 1>;
        tile(k, a + i * lda, lda, stop - i, b, rows_of_b, j, std::min(n, j + dots), start.at(i, 0),
             c + i * ldc, ldc);
      }
    }
  }
}

// One step of k: each row of c is a multiple of one row of b.
template <class T>
void outer_product(int64_t m, int64_t n, const T* a, int64_t a_row, const T* b,
                   const Start<T>& start, T* c, int64_t ldc) {
  for (int64_t i = 0; i < m; ++i, c += ldc) {
    const T* begin = start.at(i, 0).data;
    const Vector<T> factor = broadcast(a[i * a_row]);
    int64_t j = 0;
    for (; j + width<T> <= n; j += width<T>) {
      const Vector<T> before = begin ? load(begin + j) : Vector<T>{};
      store<T>(c + j, fma<T>(factor, load(b + j), before));
    }
    if (j < n) {
      const int rest = static_cast<int>(n - j);
      const Vector<T> before = begin ? load_first(begin + j, rest) : Vector<T>{};
      store_first<T>(c + j, fma<T>(factor, load_first(b + j, rest), before), rest);
    }
  }
}

// Turns a few of b's columns (or a's, with both transposed) into rows first.
template <class T>
void by_dots_turned(const GemmShape& shape, const T* a, int64_t lda, const T* b, int64_t ldb,
                    const Start<T>& start, T* c, int64_t ldc) {
  constexpr int64_t depth = 512, few = 16;
  alignas(64) T turned[few * depth];
  const auto turn = [&](const T* from, int64_t row, int64_t steps, int64_t count) {
    for (int64_t p = 0; p < steps; ++p) {
      for (int64_t r = 0; r < count; ++r) turned[r * depth + p] = from[p * row + r];
    }
  };
  for (int64_t first = 0; first < std::max<int64_t>(shape.k, 1); first += depth) {
    const int64_t steps = std::min(depth, shape.k - first);
    const Start<T> begin = first > 0 ? Start<T>{c, ldc} : start;
    if (shape.transpose_a) {
      for (int64_t row = 0; row < shape.m; row += few) {
        const int64_t rows = std::min(few, shape.m - row);
        turn(a + first * lda + row, lda, steps, rows);
        by_dots(rows, shape.n, steps, turned, depth, b + first, Spaced{ldb}, begin.at(row, 0),
                c + row * ldc, ldc);
      }
    } else {
      turn(b + first * ldb, ldb, steps, shape.n);
      by_dots(shape.m, shape.n, steps, a + first, lda, turned, Spaced{depth}, begin, c, ldc);
    }
  }
}

template <class T>
void product(const GemmShape& shape, const T* a, int64_t lda, const T* b, int64_t ldb, T* c,
             int64_t ldc) {
  const int64_t m = shape.m, n = shape.n, k = shape.k;
  const Start<T> start{static_cast<const T*>(shape.start), shape.start_row};
  const Left<T> left = shape.transpose_a ? Left<T>{a, 1, lda} : Left<T>{a, lda, 1};
  if (k == 1 && !shape.transpose_b) {
    outer_product(m, n, a, left.row, b, start, c, ldc);
  } else if (shape.transpose_a && shape.transpose_b && !shape.turn_b) {
    by_dots_turned(shape, a, lda, b, ldb, start, c, ldc);
  } else if (shape.transpose_b && !shape.turn_b) {
    by_dots(m, n, k, a, lda, b, Spaced{ldb}, start, c, ldc);
  } else if (!shape.transpose_a && !shape.turn_b && n <= 4 && k > width<T>) {
    // So few columns would leave most lanes of a vector empty.
    by_dots_turned(shape, a, lda, b, ldb, start, c, ldc);
  } else {
    by_columns(m, n, k, left, b, ldb, shape.turn_b, start, c, ldc);
  }
}

template <class T>
void columns_at(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b,
                const int64_t* offsets, bool accumulate, T* c, int64_t ldc) {
  over_panels<T>(n, [&](int64_t column, int64_t columns) {
    panel_product(m, columns, k, Left<T>{a, lda, 1}, b + column, Listed{offsets},
                  accumulate ? Start<T>{c + column, ldc} : Start<T>{}, c + column, ldc);
  });
}

template <class T>
void dots_at(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b,
             const int64_t* offsets, bool accumulate, T* c, int64_t ldc) {
  by_dots(m, n, k, a, lda, b, Listed{offsets}, accumulate ? Start<T>{c, ldc} : Start<T>{}, c, ldc);
}

// Integers are rare: a plain loop, with sums that wrap around.
void integer_product(const GemmShape& shape, const int64_t* a, int64_t lda, const int64_t* b,
                     int64_t ldb, int64_t* c, int64_t ldc) {
  const int64_t a_row = shape.transpose_a ? 1 : lda, a_step = shape.transpose_a ? lda : 1;
  const Start<int64_t> start{static_cast<const int64_t*>(shape.start), shape.start_row};
  const int64_t b_step = shape.transpose_b ? 1 : ldb, b_column = shape.transpose_b ? ldb : 1;
  for (int64_t i = 0; i < shape.m; ++i) {
    auto* row = reinterpret_cast<uint64_t*>(c + i * ldc);
    const int64_t* begin = start.at(i, 0).data;
    for (int64_t j = 0; j < shape.n; ++j) row[j] = begin ? static_cast<uint64_t>(begin[j]) : 0;
    for (int64_t p = 0; p < shape.k; ++p) {
      const auto factor = static_cast<uint64_t>(a[i * a_row + p * a_step]);
      const int64_t* other = b + p * b_step;
      for (int64_t j = 0; j < shape.n; ++j) {
        row[j] += factor * static_cast<uint64_t>(other[j * b_column]);
      }
    }
  }
}

}  // namespace

extern const GemmTable gemm_table;
const GemmTable gemm_table = {{product<float>, columns_at<float>, dots_at<float>},
                              {product<double>, columns_at<double>, dots_at<double>},
                              {integer_product, nullptr, nullptr}};

}  // namespace weft::kernels::WEFT_ISA
