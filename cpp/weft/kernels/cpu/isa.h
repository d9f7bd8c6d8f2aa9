// Chooses, once, between tables of functions that were compiled for several instruction sets.
// A source `x_isa.cpp` defines `const XTable x_table` in namespace WEFT_ISA. WEFT_CHOOSE(XTable,
// x_table) declares every copy of it and a function x_table() that gives the newest which this
// processor runs.
#pragma once

#include <type_traits>

namespace weft::kernels {

// The part of a table that is for elements of type T.
template <class T, class Table>
const auto& part(const Table& table) {
  if constexpr (std::is_same_v<T, float>) {
    return table.f32;
  } else if constexpr (std::is_same_v<T, double>) {
    return table.f64;
  } else {
    return table.i64;
  }
}

#ifdef __x86_64__
template <class Table>
const Table& choose(const Table& plain, const Table& v3, const Table& v4) {
  if (__builtin_cpu_supports("x86-64-v4")) return v4;
  if (__builtin_cpu_supports("x86-64-v3")) return v3;
  return plain;
}
#define WEFT_CHOOSE(Table, table)                                                          \
  namespace isa_default {                                                                  \
  extern const Table table;                                                                \
  }                                                                                        \
  namespace isa_v3 {                                                                       \
  extern const Table table;                                                                \
  }                                                                                        \
  namespace isa_v4 {                                                                       \
  extern const Table table;                                                                \
  }                                                                                        \
  const Table& table() {                                                                   \
    static const Table& chosen = choose(isa_default::table, isa_v3::table, isa_v4::table); \
    return chosen;                                                                         \
  }
#else
template <class Table>
const Table& choose(const Table& plain) {
  return plain;
}
#define WEFT_CHOOSE(Table, table) \
  namespace isa_default {         \
  extern const Table table;       \
  }                               \
  const Table& table() { return isa_default::table; }
#endif

}  // namespace weft::kernels
