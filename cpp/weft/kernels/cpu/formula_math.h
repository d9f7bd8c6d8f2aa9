// The functions that formulas may call, for the three lane types. Included only by files that are
// compiled once per instruction set; everything lives in that instruction set's namespace, so that
// the linker never mixes the copies.
//
// The float32 functions are straight-line code without branches or tables: the compiler turns a
// loop over them into SIMD instructions. Their coefficients are minimax fits of our own.
#pragma once

#include <bit>
#include <cmath>
#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#ifndef WEFT_ISA
#error "compile this once per instruction set, with WEFT_ISA as the name of its namespace"
#endif

namespace weft::kernels::WEFT_ISA {

// --- the integer lane ---------------------------------------------------------------

// A 64-bit integer whose arithmetic is defined for all operands: it wraps, and dividing by zero
// gives zero.
struct Int {
  int64_t value;

  Int() = default;
  template <std::integral Given>
  constexpr Int(Given given) : value(static_cast<int64_t>(given)) {}
  explicit operator bool() const { return value != 0; }
  auto operator<=>(const Int&) const = default;
};

inline uint64_t bits_of(Int x) { return static_cast<uint64_t>(x.value); }
inline Int wrapped(uint64_t bits) { return static_cast<int64_t>(bits); }

inline Int operator+(Int x, Int y) { return wrapped(bits_of(x) + bits_of(y)); }
inline Int operator-(Int x, Int y) { return wrapped(bits_of(x) - bits_of(y)); }
inline Int operator*(Int x, Int y) { return wrapped(bits_of(x) * bits_of(y)); }
inline Int operator-(Int x) { return wrapped(0 - bits_of(x)); }
inline Int operator&(Int x, Int y) { return x.value & y.value; }
inline Int operator|(Int x, Int y) { return x.value | y.value; }
inline Int operator^(Int x, Int y) { return x.value ^ y.value; }
// -1 is apart because the most negative number divided by it would trap.
inline Int operator/(Int x, Int y) {
  if (y.value == 0) return 0;
  return y.value == -1 ? -x : Int(x.value / y.value);
}
inline Int fmod(Int x, Int y) {
  return y.value == 0 || y.value == -1 ? Int(0) : Int(x.value % y.value);
}
inline Int remainder(Int x, Int y) {
  const Int rest = fmod(x, y);
  return rest.value != 0 && (rest.value < 0) != (y.value < 0) ? rest + y : rest;
}
inline Int floor_divide(Int x, Int y) {
  const Int quotient = x / y;
  const bool inexact = fmod(x, y).value != 0;
  return inexact && (x.value < 0) != (y.value < 0) ? quotient - 1 : quotient;
}
// Shifting by 64 or more, or by a negative amount, shifts everything out.
inline Int shift_left(Int x, Int n) {
  return bits_of(n) < 64 ? wrapped(bits_of(x) << (bits_of(n) & 63)) : Int(0);
}
inline Int shift_right(Int x, Int n) { return x.value >> (bits_of(n) < 64 ? n.value : 63); }
inline Int pow(Int x, Int n) {
  if (n.value < 0) return x.value == 1 ? 1 : x.value == -1 ? (n.value & 1 ? -1 : 1) : 0;
  Int result = 1;
  for (uint64_t rest = bits_of(n); rest != 0; rest >>= 1, x = x * x) {
    if (rest & 1) result = result * x;
  }
  return result;
}
inline Int abs(Int x) { return x.value < 0 ? -x : x; }
inline Int trunc(Int x) { return x; }
inline Int floor(Int x) { return x; }
inline Int ceil(Int x) { return x; }
inline Int round(Int x) { return x; }
inline Int gcd(Int x, Int y) {
  uint64_t a = bits_of(abs(x)), b = bits_of(abs(y));
  while (b != 0) {
    const uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return wrapped(a);
}
inline bool isnan(Int) { return false; }
inline bool isinf(Int) { return false; }

// --- what all lanes share ------------------------------------------------------------------------

template <class T>
concept Real = std::floating_point<T>;

inline bool isnan(Real auto x) { return x != x; }
inline float abs(float x) { return __builtin_fabsf(x); }
inline double abs(double x) { return __builtin_fabs(x); }
template <Real T>
bool isinf(T x) {
  return abs(x) == std::numeric_limits<T>::infinity();
}
using std::copysign;

template <class T>
T select(bool condition, T yes, T no) {
  return condition ? yes : no;
}
// A NaN wins.
template <class T>
T max(T x, T y) {
  return isnan(y) ? y : y > x ? y : x;
}
template <class T>
T min(T x, T y) {
  return isnan(y) ? y : y < x ? y : x;
}
// A formula's result: conditions count as 1 and 0.
template <class T, class Given>
T as_lane(Given given) {
  if constexpr (std::is_same_v<Given, bool>) {
    return given ? T(1) : T(0);
  } else {
    return T(given);
  }
}
template <class T>
T sign(T x) {
  return T(x > T(0)) - T(x < T(0));
}

using std::ceil, std::floor, std::sqrt, std::trunc;
inline float round(float x) { return std::rint(x); }
inline double round(double x) { return std::rint(x); }
template <class T>
T rsqrt(T x) {
  return T(1) / sqrt(x);
}

// Rare in networks, or rare in float64: the C library's, one element at a time.
using std::acosh, std::asinh, std::atan2, std::erfc, std::fmod, std::hypot, std::tan;
inline double cosh(double x) { return std::cosh(x); }
inline double exp2(double x) { return std::exp2(x); }
inline double pow(double x, double y) { return std::pow(x, y); }
inline double sinh(double x) { return std::sinh(x); }
inline double acos(double x) { return std::acos(x); }
inline double asin(double x) { return std::asin(x); }
inline double erf(double x) { return std::erf(x); }
inline double log10(double x) { return std::log10(x); }
inline double log2(double x) { return std::log2(x); }

// The remainder has the divisor's sign, as in Python.
template <Real T>
T remainder(T x, T y) {
  const T rest = fmod(x, y);
  return rest != T(0) && (rest < T(0)) != (y < T(0)) ? rest + y : rest;
}
// The exact quotient rounded down, not the rounded quotient: 1 // 0.1 is 9.
template <Real T>
T floor_divide(T x, T y) {
  if (y == T(0)) return x / y;
  const T rest = fmod(x, y);
  T quotient = (x - rest) / y;
  if (rest != T(0) && (y < T(0)) != (rest < T(0))) quotient -= T(1);
  if (quotient == T(0)) return copysign(T(0), x / y);
  const T floored = floor(quotient);
  return quotient - floored > T(0.5) ? floored + T(1) : floored;
}

// --- float32 -------------------------------------------------------------------------------------

inline constexpr float infinity32 = std::numeric_limits<float>::infinity();
inline constexpr float nan32 = std::numeric_limits<float>::quiet_NaN();

// a * b + c, which the compiler makes one rounding of where the processor can. Where digits depend
// on that, __builtin_fma is called instead.
template <Real T>
T multiply_add(T a, T b, T c) {
  return a * b + c;
}

// c[0] + c[1] x + ..., by Horner's rule.
template <class T, class... Rest>
inline T polynomial(T x, T first, Rest... rest) {
  if constexpr (sizeof...(rest) == 0) {
    return first;
  } else {
    return multiply_add(polynomial(x, rest...), x, first);
  }
}

// The part of x * x that rounding took away from `square`.
inline float square_rest(float x, float square) { return __builtin_fmaf(x, x, -square); }

inline float power_of_two(int32_t exponent) {
  return std::bit_cast<float>(static_cast<uint32_t>(exponent + 127) << 23);
}

// Adding it to a small number leaves the rounded number in the low bits.
inline constexpr float rounder = 0x1.8p23f;
inline constexpr float log2_of_e = 0x1.715476p+0f;
// ln 2 in two parts; products of the first with small integers are exact.
inline constexpr float ln2_high = 0x1.63p-1f, ln2_low = -0x1.bd0106p-13f;

// e^r - 1 for |r| <= ln(2) / 2.
inline float expm1_core(float r) {
  const float q = polynomial(r, 0x1.fffffcp-2f, 0x1.55548ap-3f, 0x1.55584ep-5f, 0x1.123f2ep-7f,
                             0x1.6ad0f8p-10f);
  return multiply_add(r * r, q, r);
}

// e^x as mantissa * scale * 2^-offset; `bias` is rounder + 127 + offset.
struct Exponential {
  float mantissa, scale;
};
inline Exponential exponential(float x, float bias) {
  const float shifted = multiply_add(x, log2_of_e, bias);
  const float n = shifted - bias;
  float r = multiply_add(n, -ln2_high, x);
  r = multiply_add(n, -ln2_low, r);
  return {1 + expm1_core(r), std::bit_cast<float>(std::bit_cast<uint32_t>(shifted) << 23)};
}
// For x <= 0. The offset keeps the scale in range and lets subnormal results be rounded once.
inline float exp_negative(float x) {
  const Exponential e = exponential(x < -104.5f ? -104.5f : x, rounder + 191);
  return e.mantissa * e.scale * 0x1p-64f;
}
// For |x| < 87: results are neither subnormal nor infinite.
inline float exp_moderate(float x) {
  const Exponential e = exponential(x, rounder + 127);
  return e.mantissa * e.scale;
}

inline float exp(float x) {
  x = x > 90.0f ? 90.0f : x;
  x = x < -104.5f ? -104.5f : x;
  const bool grows = x > 0;
  const Exponential e = exponential(x, grows ? rounder + 63 : rounder + 191);
  return e.mantissa * e.scale * (grows ? 0x1p64f : 0x1p-64f);
}
inline float expm1(float x) {
  const float clamped = x < -20.0f ? -20.0f : x > 89.0f ? 89.0f : x;
  const float shifted = multiply_add(clamped, log2_of_e, rounder + 126);
  const float n = shifted - (rounder + 126);
  float r = multiply_add(n, -ln2_high, clamped);
  r = multiply_add(n, -ln2_low, r);
  // Half of 2^n, so that it does not overflow.
  const float half = std::bit_cast<float>(std::bit_cast<uint32_t>(shifted) << 23);
  const float result = 2 * multiply_add(half, expm1_core(r), half - 0.5f);
  return x == 0 ? x : result;
}

inline float exp2(float x) {
  x = x > 130.0f ? 130.0f : x;
  x = x < -151.0f ? -151.0f : x;
  const bool grows = x > 0;
  const float bias = grows ? rounder + 63 : rounder + 191;
  const float shifted = x + bias;
  const float mantissa = 1 + expm1_core((x - (shifted - bias)) * 0x1.62e43p-1f);
  const float scale = std::bit_cast<float>(std::bit_cast<uint32_t>(shifted) << 23);
  return mantissa * scale * (grows ? 0x1p64f : 0x1p-64f);
}
// e^x / 2 for x >= 0, which overflows later than e^x.
inline float half_exp(float x) {
  const Exponential e = exponential(x > 91.0f ? 91.0f : x, rounder + 63);
  return e.mantissa * e.scale * 0x1p63f;
}
inline float sinh(float x) {
  const float a = abs(x), e = expm1(a > 20.0f ? 20.0f : a);
  const float result = a > 10.0f ? half_exp(a) : 0.5f * (e + e / (e + 1));
  return isnan(x) || a < 0x1p-12f ? x : copysign(result, x);
}
inline float cosh(float x) {
  const float a = abs(x), half = half_exp(a);
  return isnan(x) ? x : half + 0.25f / half;
}

// x = 2^exponent * (1 + fraction) with fraction in [-1/3, 1/3].
struct Split {
  float exponent, fraction;
};
inline Split split_float(float x) {
  const bool tiny = x < 0x1p-126f;
  const uint32_t bits = std::bit_cast<uint32_t>(tiny ? x * 0x1p23f : x);
  const int32_t exponent = static_cast<int32_t>(bits - 0x3f2aaaabu) >> 23;
  const float mantissa = std::bit_cast<float>(bits - (static_cast<uint32_t>(exponent) << 23));
  return {static_cast<float>(exponent) - (tiny ? 23.0f : 0.0f), mantissa - 1};
}
// ln(1 + f) - f for |f| <= 1/3.
inline float log1p_rest(float f) {
  const float p =
      polynomial(f, 0x1.555558p-2f, -0x1.ffff0ep-3f, 0x1.9995fap-3f, -0x1.559948p-3f,
                 0x1.251ff2p-3f, -0x1.f382d8p-4f, 0x1.b4be78p-4f, -0x1.0720d4p-3f, 0x1.f9f364p-4f);
  const float square = f * f;
  return multiply_add(square * f, p, -0.5f * square);
}
// What logarithms are of numbers that have no finite one.
inline float log_limits(float x, float result) {
  result = x == infinity32 ? x : result;
  return x > 0 ? result : x == 0 ? -infinity32 : nan32;
}
inline float log(float x) {
  const Split s = split_float(x);
  const float low = multiply_add(s.exponent, ln2_low, log1p_rest(s.fraction));
  return log_limits(x, multiply_add(s.exponent, ln2_high, s.fraction + low));
}
// Also exact at powers of two: log2(e) is taken as 1 and the remainder.
inline float log2(float x) {
  const Split s = split_float(x);
  const float rest = log1p_rest(s.fraction);
  const float low = multiply_add(s.fraction + rest, 0x1.c551dap-2f, rest);
  return log_limits(x, s.exponent + (s.fraction + low));
}
// Products with the high parts of log10(2) and log10(e) are exact.
inline float log10(float x) {
  const Split s = split_float(x);
  const float low = multiply_add(s.exponent, 0x1.3509f8p-18f, s.fraction * -0x1.09d5b2p-15f);
  const float rest = multiply_add(log1p_rest(s.fraction), 0x1.bcb7b2p-2f, low);
  const float high = multiply_add(s.fraction, 0x1.bccp-2f, rest);
  return log_limits(x, multiply_add(s.exponent, 0x1.344p-2f, high));
}
// 2 to the power of y log2(x), in float64, which leaves digits for that product: by the series of
// ln((1 + s) / (1 - s)) and of e^r. All of it in one width, without branches.
inline float pow(float base, float exponent) {
  const double x = base, y = exponent, a = abs(x);
  constexpr uint64_t two_thirds = 0x3fe5555555555555, one = uint64_t{1023} << 52;
  const uint64_t bits = std::bit_cast<uint64_t>(a);
  const uint64_t power = (bits - two_thirds + one) >> 52;  // of 2, and 1023
  const double f = std::bit_cast<double>(bits - (power << 52) + one) - 1, s = f / (2 + f);
  const double series =
      polynomial(s * s, 1.0, 1 / 3.0, 1 / 5.0, 1 / 7.0, 1 / 9.0, 1 / 11.0, 1 / 13.0);
  // The power as a number: put behind the point of 2^52.
  const double n = std::bit_cast<double>(power | 0x4330000000000000) - (0x1p52 + 1023);
  constexpr double infinity = infinity32, nan = nan32;
  double log = multiply_add(s * series, 0x1.71547652b82fep+1, n);
  log = a == 0 ? -infinity : log;
  log = a == infinity ? infinity : log;
  double product = y * log;
  product = product > 400 ? 400 : product;
  product = product < -400 ? -400 : product;
  const double shifted = product + 0x1.8p52;
  const double r = (product - (shifted - 0x1.8p52)) * 0x1.62e42fefa39efp-1;
  const double mantissa = polynomial(r, 1.0, 1.0, 1 / 2.0, 1 / 6.0, 1 / 24.0, 1 / 120.0, 1 / 720.0,
                                     1 / 5040.0, 1 / 40320.0);
  double result = mantissa * std::bit_cast<double>((std::bit_cast<uint64_t>(shifted) + 1023) << 52);
  result = a == 1 ? 1 : result;
  result = (x != x) | (y != y) ? nan : result;
  const double whole = floor(y), half = 0.5 * y;
  result = (x < 0) & (whole != y) & (a != infinity) ? nan : result;
  result = (whole == y) & (floor(half) != half) ? copysign(result, x) : result;
  result = (y == 0) | (x == 1) ? 1 : result;
  return static_cast<float>(result);
}
inline float log1p(float x) {
  const float sum = 1 + x;
  // What rounding took away from 1 + x.
  const float lost = x < 1 ? x - (sum - 1) : 1 - (sum - x);
  const Split s = split_float(sum);
  const float exponent = s.exponent > 126 ? 126 : s.exponent < -126 ? -126 : s.exponent;
  const float f = multiply_add(lost, power_of_two(static_cast<int32_t>(-exponent)), s.fraction);
  const float low = multiply_add(s.exponent, ln2_low, log1p_rest(f));
  const float result = log_limits(sum, multiply_add(s.exponent, ln2_high, f + low));
  return abs(x) < 0x1p-25f ? x : result;
}

// With e = e^-|x| and w = e / (1 + e): 1 - w, or e - e w on the negative side, where only the small
// product is inexact.
inline float sigmoid(float x) {
  const float e = exp_negative(-abs(x));
  const float whole = x < 0 ? e : 1.0f;
  return multiply_add(-whole, e / (1 + e), whole);
}
// x * sigmoid(x), in one division, so that tiny results keep their digits.
inline float silu(float x) {
  const float limited = x < -115.0f ? -115.0f : x;
  const Exponential e = exponential(-abs(limited < 90.0f ? limited : 90.0f), rounder + 191);
  const float large = e.mantissa * e.scale;
  const float quotient = (x < 0 ? limited * large : x) / multiply_add(large, 0x1p-64f, 1.0f);
  return x < 0 ? quotient * 0x1p-64f : quotient;
}
// ln(1 + e^x). The exponential e is at most 1, so that ln(1 + e) needs no general logarithm.
inline float softplus(float x) {
  const float e = exp_negative(-abs(x));
  const bool above = e > 0x1.555556p-2f;
  const float f = above ? 0.5f * (e - 1) : e;  // 1 + e is 1 + f or 2 (1 + f)
  const float small = f + log1p_rest(f);
  return (x > 0 ? x : 0.0f) + (above ? (small + ln2_low) + ln2_high : small);
}
inline float logsigmoid(float x) { return -softplus(-x); }

inline float tanh(float x) {
  const float a = abs(x);
  const float z = a * a;
  const float p = polynomial(z, -0x1.555554p-2f, 0x1.111084p-3f, -0x1.b9f4b4p-5f, 0x1.63d17ap-6f,
                             -0x1.0d5e34p-7f, 0x1.1e4246p-9f);
  const float small = multiply_add(a * z, p, a);
  const float large = 1 - 2 / (1 + exp_moderate(2 * (a > 20.0f ? 20.0f : a)));
  return copysign(a < 0.6f ? small : large, x);
}
// Beyond this the reduction below is no longer exact enough; block loops then take the slow way.
inline constexpr float periodic_limit = 1e5f;
// x - n * pi / 2
inline float minus_half_pis(float x, float n) {
  float r = __builtin_fmaf(n, -0x1.921fb6p+0f, x);
  r = __builtin_fmaf(n, 0x1.777a5cp-25f, r);
  return __builtin_fmaf(n, 0x1.ee59dap-50f, r);
}
// sin(x + quarters * pi / 2): x is brought to |r| <= pi / 4, then it is the sine or the cosine of
// r.
inline float sin_shifted(float x, uint32_t quarters) {
  const float shifted = multiply_add(x, 0x1.45f306p-1f, rounder);
  const float r = minus_half_pis(x, shifted - rounder);
  const float z = r * r;
  const float s = polynomial(z, -0x1.555546p-3f, 0x1.110774p-7f, -0x1.99516p-13f);
  const float c = polynomial(z, 0x1.55554ap-5f, -0x1.6c0c1ap-10f, 0x1.99e0e2p-16f);
  const float sine = multiply_add(r * z, s, r);
  const float cosine = multiply_add(z * z, c, multiply_add(z, -0.5f, 1.0f));
  const uint32_t turn = std::bit_cast<uint32_t>(shifted) + quarters;
  const float result = turn & 1 ? cosine : sine;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(result) ^ (turn & 2) << 30);
}
inline float sin(float x) { return x == 0 ? x : sin_shifted(x, 0); }
inline float cos(float x) { return sin_shifted(x, 1); }
// atan(x) for 0 <= x <= 1.
inline float atan_core(float x) {
  const float z = x * x;
  const float p = polynomial(z, -0x1.55553ep-2f, 0x1.9991e4p-3f, -0x1.242086p-3f, 0x1.c08c50p-4f,
                             -0x1.580922p-4f, 0x1.da29d4p-5f, -0x1.fd7c2ap-6f, 0x1.642032p-7f,
                             -0x1.d34b7cp-10f);
  return multiply_add(x * z, p, x);
}
inline constexpr float half_pi_high = 0x1.921fb6p+0f, half_pi_low = -0x1.777a5cp-25f;
inline float atan(float x) {
  const float a = abs(x);
  const float core = atan_core(a > 1 ? 1 / a : a);
  return copysign(a > 1 ? half_pi_high - (core - half_pi_low) : core, x);
}
// asin(|x|), or half of acos(|x|) where |x| > 1/2.
inline float half_arc(float a) {
  const float z = a > 0.5f ? 0.5f * (1 - a) : a * a;
  const float s = a > 0.5f ? sqrt(z) : a;
  const float p = polynomial(z, 0x1.55554cp-3f, 0x1.3338aap-4f, 0x1.6ca7dep-5f, 0x1.04cce8p-5f,
                             0x1.d58d36p-7f, 0x1.349cc0p-5f);
  return multiply_add(s * z, p, s);
}
inline float asin(float x) {
  const float a = abs(x), arc = half_arc(a);
  return copysign(a > 0.5f ? half_pi_high - (2 * arc - half_pi_low) : arc, x);
}
inline float acos(float x) {
  const float a = abs(x), arc = half_arc(a);
  const float outer = x < 0 ? 2 * half_pi_high - (2 * arc - 2 * half_pi_low) : 2 * arc;
  return a > 0.5f ? outer : half_pi_high - (copysign(arc, x) - half_pi_low);
}
// e^(-x^2 / 2) as (1 + rest) * 2^n, and n << 23. The product n ln 2 is taken as n * fl(ln 2): what
// is missing is a smooth function of x, which the quotients below contain. x is in [0, 15].
struct Bell {
  float rest;
  uint32_t shift;
};
inline constexpr float bell_coefficients[] = {0.5f,           0x1.fffffcp-4f,  0x1.555488p-6f,
                                              0x1.555842p-9f, 0x1.1240acp-12f, 0x1.6ae29ep-16f};
inline Bell bell(float x) {
  const float square = x * x;
  const float shifted = multiply_add(square, -0.5f * log2_of_e, rounder);
  const float n = shifted - rounder;
  const float twice = __builtin_fmaf(n, -0x1.62e43p+0f, -square) - square_rest(x, square);
  const auto& c = bell_coefficients;
  return {twice * polynomial(twice, c[0], c[1], c[2], c[3], c[4], c[5]),
          std::bit_cast<uint32_t>(shifted) << 23};
}
// The chance that a normal variable exceeds x, over e^(-x^2 / 2). The rounding errors of so many
// positive terms add up: where digits matter, this is done in float64.
template <class T>
T tail_quotient(T x) {
  return polynomial(x, T(0x1p-1), T(0x1.c2928ep-2), T(0x1.79cf92p-3), T(0x1.503e82p-5),
                    T(0x1.11ad4cp-8)) /
         polynomial(x, T(1), T(0x1.ad8b7ap+0), T(0x1.352db6p+0), T(0x1.e41832p-2), T(0x1.a57138p-4),
                    T(0x1.570014p-7));
}
inline float with_exponent(float x, uint32_t added) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(x) + added);
}
// x * P(normal variable < x) = max(x, 0) - |x| tail(|x|). The product is kept 2^64 times too large
// until the end, so that a tiny result is rounded once.
inline float gelu(float x) {
  const float a = abs(x) > 14.9f ? 14.9f : abs(x);
  const Bell b = bell(a);
  const float scale = with_exponent(0x1p64f, b.shift);
  const float part = static_cast<float>(tail_quotient<double>(a) * a) * scale;
  return multiply_add(multiply_add(b.rest, part, part), -0x1p-64f, x > 0 ? x : 0.0f);
}
// Its derivative, P(normal variable < x) + x density(x).
inline float gelu_slope(float x) {
  const float a = abs(x) > 14.9f ? 14.9f : abs(x);
  const Bell b = bell(a);
  const float part =
      multiply_add(a, -0x1.988454p-2f, tail_quotient(a)) * with_exponent(0x1p64f, b.shift);
  const float rest = multiply_add(b.rest, part, part) * 0x1p-64f;
  return x > 0 ? 1 - rest : rest;
}
// Beyond 1 it is one minus twice the tail of the normal distribution at sqrt(2) |x|.
inline float erf(float x) {
  const float a = abs(x), z = x * x, s = 0x1.6a09e6p+0f * (a > 5.0f ? 5.0f : a);
  const float near = polynomial(z, 0x1.06eba8p-3f, -0x1.81273ep-2f, 0x1.ce2cf6p-4f, -0x1.b7f902p-6f,
                                0x1.540542p-8f, -0x1.a3f366p-11f, 0x1.495f5ep-14f);
  const Bell b = bell(s);
  const float quotient = tail_quotient(s);
  const float tail = with_exponent(multiply_add(b.rest, quotient, quotient), b.shift);
  return a >= 1 ? copysign(1 - 2 * tail, x) : multiply_add(x, near, x);
}

// --- float64 -------------------------------------------------------------------------------------

// The functions that networks use most are written as in float32; the others are the C library's,
// one element at a time.
inline constexpr double infinity64 = std::numeric_limits<double>::infinity();
inline constexpr double nan64 = std::numeric_limits<double>::quiet_NaN();
inline constexpr double rounder64 = 0x1.8p52;
inline constexpr double ln2_high64 = 0x1.62e42feep-1, ln2_low64 = 0x1.a39ef35793c76p-33;

// e^r - 1 for |r| <= ln(2) / 2.
inline double expm1_core(double r) {
  const double q =
      polynomial(r, 0.5, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320,
                 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800);
  return multiply_add(r * r, q, r);
}
inline double exp(double x) {
  x = x > 711.0 ? 711.0 : x;
  x = x < -746.0 ? -746.0 : x;
  const bool grows = x > 0;
  const double bias = grows ? rounder64 + 511 : rounder64 + 1535;
  const double shifted = multiply_add(x, 0x1.71547652b82fep+0, bias);
  const double n = shifted - bias;
  double r = multiply_add(n, -ln2_high64, x);
  r = multiply_add(n, -ln2_low64, r);
  const double scale = std::bit_cast<double>(std::bit_cast<uint64_t>(shifted) << 52);
  return (1 + expm1_core(r)) * scale * (grows ? 0x1p512 : 0x1p-512);
}
inline double expm1(double x) {
  const double clamped = x < -40.0 ? -40.0 : x > 709.9 ? 709.9 : x;
  const double shifted = multiply_add(clamped, 0x1.71547652b82fep+0, rounder64 + 1022);
  const double n = shifted - (rounder64 + 1022);
  double r = multiply_add(n, -ln2_high64, clamped);
  r = multiply_add(n, -ln2_low64, r);
  const double half = std::bit_cast<double>(std::bit_cast<uint64_t>(shifted) << 52);
  const double result = 2 * multiply_add(half, expm1_core(r), half - 0.5);
  return x == 0 ? x : result;
}
inline double log(double x) {
  const bool tiny = x < 0x1p-1022;
  const uint64_t bits = std::bit_cast<uint64_t>(tiny ? x * 0x1p54 : x);
  // The exponent of x / sqrt(1/2), above 1023; in the low bits of a float64 it becomes a number.
  const uint64_t biased = (bits - 0x3fe6a09e667f3bcdu + (uint64_t{1023} << 52)) >> 52;
  const double number = std::bit_cast<double>(biased | 0x4330000000000000u) - 0x1p52;
  const double n = number - 1023 - (tiny ? 54.0 : 0.0);
  const double f = std::bit_cast<double>(bits - ((biased - 1023) << 52)) - 1;
  const double s = f / (2 + f);
  const double z = s * s;
  const double p = polynomial(z, 2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15,
                              2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23);
  const double half = 0.5 * f * f;
  const double low = multiply_add(s, multiply_add(z, p, half), n * ln2_low64);
  double result = multiply_add(n, ln2_high64, f - (half - low));
  result = x == infinity64 ? x : result;
  return x > 0 ? result : x == 0 ? -infinity64 : nan64;
}
inline double log1p(double x) {
  const double sum = 1 + x;
  const double lost = x < 1 ? x - (sum - 1) : 1 - (sum - x);
  const double result = log(sum) + (abs(sum) < 0x1p900 && sum != 0 ? lost / sum : 0.0);
  return abs(x) < 0x1p-54 ? x : result;
}
inline double tanh(double x) {
  const double a = abs(x);
  const double e = expm1(2 * (a > 22.0 ? 22.0 : a));
  return copysign(e / (e + 2), x);
}
inline double sin(double x) { return std::sin(x); }
inline double cos(double x) { return std::cos(x); }
inline double atan(double x) { return std::atan(x); }
inline double sigmoid(double x) {
  const double e = exp(-abs(x));
  return (x < 0 ? e : isnan(x) ? x : 1.0) / (1 + e);
}
inline double silu(double x) { return x * sigmoid(x); }
inline double softplus(double x) { return (x > 0 || isnan(x) ? x : 0.0) + log1p(exp(-abs(x))); }
inline double logsigmoid(double x) { return -softplus(-x); }
inline double gelu_slope(double x) {
  return 0.5 * erfc(-x * 0x1.6a09e667f3bcdp-1) + x * exp(-0.5 * x * x) * 0x1.9884533d43651p-2;
}
inline double gelu(double x) { return 0.5 * x * erfc(-x * 0x1.6a09e667f3bcdp-1); }

// --- functions without SIMD code of their own ----------------------------------------------------

inline double lgamma(double x) {
  // lgamma_r: std::lgamma writes a global.
  int sign = 0;
  return ::lgamma_r(x, &sign);
}
inline float lgamma(float x) { return static_cast<float>(lgamma(static_cast<double>(x))); }

}  // namespace weft::kernels::WEFT_ISA

#include "weft/kernels/cpu/special_math.h"

namespace weft::kernels::WEFT_ISA {

// The derivative of lgamma: reflected to positive x, raised to x >= 10, then the asymptotic series.
inline double digamma(double x) {
  if (x == 0) return copysign(std::numeric_limits<double>::infinity(), -x);
  if (isinf(x)) return x > 0 ? x : std::numeric_limits<double>::quiet_NaN();
  double result = 0;
  if (x < 0) {
    if (x == floor(x)) return std::numeric_limits<double>::quiet_NaN();
    result = -pi / tan(pi * (x - floor(x + 0.5)));  // exact next to a pole on both of its sides
    x = 1 - x;
  }
  for (; x < 10; x += 1) result -= 1 / x;
  const double z = 1 / (x * x);
  const double series =
      z * (1.0 / 12 - z * (1.0 / 120 -
                           z * (1.0 / 252 -
                                z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
  return result + log(x) - 0.5 / x - series;
}
inline float digamma(float x) { return static_cast<float>(digamma(static_cast<double>(x))); }

// sum over k >= 0 of (x + k)^-s, for s > 1: some terms, then Euler and Maclaurin's formula.
inline double zeta(double s, double x) {
  if (!(s >= 1)) return nan64;
  if (s == 1 || (x <= 0 && x == floor(x))) return infinity64;
  if (x < 0) {
    // Below zero are the terms from -x down to `last`, of which only whole powers are real.
    if (s != floor(s)) return nan64;
    const double last = -x - floor(-x);
    const double sign = fmod(s, 2.0) == 0 ? 1 : -1;
    return zeta(s, 1 - last) + sign * zeta(s, last) - sign * zeta(s, 1 - x);
  }
  if (isinf(x)) return 0;
  double sum = 0;
  for (int k = 0; k < 10; ++k, x += 1) sum += pow(x, -s);
  // Bernoulli's numbers B(2j) / (2j)!
  constexpr double terms[] = {1.0 / 12,         -1.0 / 720,     1.0 / 30240,
                              -1.0 / 1209600,   1.0 / 47900160, -691.0 / 1307674368000,
                              1.0 / 74724249600};
  const double power = pow(x, -s);
  sum += x * power / (s - 1) + 0.5 * power;
  double factor = s * power / x;
  for (int j = 0; j < 7; ++j) {
    sum += terms[j] * factor;
    factor *= (s + 2 * j + 1) * (s + 2 * j + 2) / (x * x);
  }
  return sum;
}
inline float zeta(float s, float x) {
  return static_cast<float>(zeta(static_cast<double>(s), static_cast<double>(x)));
}
// The n-th derivative of digamma.
inline double polygamma(double n, double x) {
  if (n == 0) return digamma(x);
  if (n < 0 || n != floor(n) || isnan(x)) return std::numeric_limits<double>::quiet_NaN();
  const double sign = fmod(n, 2.0) == 0 ? -1 : 1;
  return sign * exp(lgamma(n + 1)) * zeta(n + 1, x);
}
inline float polygamma(float n, float x) {
  return static_cast<float>(polygamma(static_cast<double>(n), static_cast<double>(x)));
}

// --- periodic functions of large arguments -------------------------------------------------------

// Stands for a float in formulas with sin or cos when a block has arguments beyond
// periodic_limit: only those elements go to the C library.
struct Periodic {
  float value;
  explicit Periodic(float v) : value(v) {}
  operator float() const { return value; }
};
inline float sin(Periodic x) {
  return abs(x.value) > periodic_limit ? std::sin(x.value) : sin(x.value);
}
inline float cos(Periodic x) {
  return abs(x.value) > periodic_limit ? std::cos(x.value) : cos(x.value);
}

}  // namespace weft::kernels::WEFT_ISA
