// Arithmetic on the numbers that registers hold, where it is exact; the host does the rest: what
// does not fit 64 bits, NaN, errors.
#pragma once

#include <cmath>
#include <optional>

#include "weft/routine/operators.h"
#include "weft/routine/register.h"

namespace weft::routine {

// Above it not each integer is a double.
constexpr int64_t most_exact = int64_t{1} << 53;
inline bool is_exact(int64_t number) { return -most_exact <= number && number <= most_exact; }

// False: the host knows.
inline bool of_integers(Binary which, int64_t a, int64_t b, Register& result) {
  int64_t made = 0;
  switch (which) {
    case Binary::add:
      if (__builtin_add_overflow(a, b, &made)) return false;
      break;
    case Binary::subtract:
      if (__builtin_sub_overflow(a, b, &made)) return false;
      break;
    case Binary::multiply:
      if (__builtin_mul_overflow(a, b, &made)) return false;
      break;
    case Binary::true_divide:
      if (b == 0 || !is_exact(a) || !is_exact(b)) return false;
      result = Register::of(static_cast<double>(a) / static_cast<double>(b));
      return true;
    case Binary::floor_divide:
      if (b == 0 || b == -1) return false;
      made = a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
      break;
    case Binary::remainder:
      if (b == 0 || b == -1) return false;
      made = a % b;
      if (made != 0 && (made < 0) != (b < 0)) made += b;
      break;
    case Binary::left_shift:
      if (b < 0 || b > 62 || a < 0 || a > (INT64_MAX >> b)) return false;
      made = a << b;
      break;
    case Binary::right_shift:
      if (b < 0) return false;
      made = a >> (b > 63 ? 63 : b);
      break;
    case Binary::and_:
      made = a & b;
      break;
    case Binary::or_:
      made = a | b;
      break;
    case Binary::xor_:
      made = a ^ b;
      break;
    default:
      return false;
  }
  result = Register::of(made);
  return true;
}

inline bool of_reals(Binary which, double a, double b, Register& result) {
  double made = 0;
  switch (which) {
    case Binary::add:
      made = a + b;
      break;
    case Binary::subtract:
      made = a - b;
      break;
    case Binary::multiply:
      made = a * b;
      break;
    case Binary::true_divide:
      if (b == 0) return false;
      made = a / b;
      break;
    default:
      return false;
  }
  if (std::isnan(made)) return false;
  result = Register::of(made);
  return true;
}

// The double that equals this number.
inline std::optional<double> exact_real(const Register& number) {
  if (number.is_real()) return number.real();
  if (number.is_integer() && is_exact(number.integer()))
    return static_cast<double>(number.integer());
  return std::nullopt;
}

inline bool of_numbers(Binary which, const Register& a, const Register& b, Register& result) {
  if (a.is_integer() && b.is_integer()) return of_integers(which, a.integer(), b.integer(), result);
  if (!a.is_real() && !b.is_real()) return false;
  const auto x = exact_real(a), y = exact_real(b);
  return x && y && of_reals(which, *x, *y, result);
}

template <class T>
bool holds(Comparison which, T a, T b) {
  switch (which) {
    case Comparison::less:
      return a < b;
    case Comparison::less_equal:
      return a <= b;
    case Comparison::equal:
      return a == b;
    case Comparison::not_equal:
      return a != b;
    case Comparison::greater:
      return a > b;
    case Comparison::greater_equal:
      return a >= b;
  }
  return false;
}

inline bool compare_numbers(Comparison which, const Register& a, const Register& b,
                            Register& result) {
  if (a.is_integer() && b.is_integer()) {
    result = Register::of(holds(which, a.integer(), b.integer()));
    return true;
  }
  const auto x = exact_real(a), y = exact_real(b);
  if (x && y) result = Register::of(holds(which, *x, *y));
  return x && y;
}

}  // namespace weft::routine
