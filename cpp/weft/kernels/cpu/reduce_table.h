// What reduce_isa.cpp gives for each instruction set.
#pragma once

#include <array>
#include <type_traits>

#include "weft/kernels/reduce.h"

namespace weft::kernels {

// What blocks are added up in.
template <class T>
using Total = std::conditional_t<std::is_same_v<T, int64_t>, int64_t, double>;

inline constexpr int64_t block_elements = 1 << 14;  // of a row, reduced in T
inline constexpr int64_t block_rows = 128;          // of columns, reduced in T
inline constexpr int64_t most_columns = 1024;       // in one call

template <class T>
struct Reducer {
  Total<T> identity;
  Total<T> (*combine)(Total<T> a, Total<T> b);
  // Reduces each of several rows that lie `stride` apart, of at most block_elements elements.
  void (*blocks)(const T* in, int64_t rows, int64_t stride, int64_t count, const T* shift,
                 Total<T>* totals);
  // totals[j] = combine(totals[j], column j) over rows that lie `stride` apart; at most
  // most_columns.
  void (*columns)(const T* in, int64_t rows, int64_t stride, int64_t columns, const T* shift,
                  Total<T>* totals);
};

struct ReduceTable {
  std::array<Reducer<float>, reduction_count> f32;
  std::array<Reducer<double>, reduction_count> f64;
  std::array<Reducer<int64_t>, reduction_count> i64;
};

}  // namespace weft::kernels
