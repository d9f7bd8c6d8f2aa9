// Chooses, once, between tables of functions that were compiled for several instruction sets.
// A source `x_isa.cpp` defines `const XTable x_table` in namespace WEFT_ISA; WEFT_DECLARE_ISA below
// declares every copy of it, and `choose` picks the newest that this processor runs.
#pragma once

namespace weft::kernels {

#ifdef __x86_64__
template <class Table>
const Table& choose(const Table& plain, const Table& v3, const Table& v4) {
  if (__builtin_cpu_supports("x86-64-v4")) return v4;
  if (__builtin_cpu_supports("x86-64-v3")) return v3;
  return plain;
}
#else
template <class Table>
const Table& choose(const Table& plain) {
  return plain;
}
#endif

}  // namespace weft::kernels
