// Bessel functions and their kin, the incomplete gamma function, and the tails of the normal
// distribution, in float64, one element at a time. Included by formula_math.h.
//
// There are no tables: small arguments are power series whose terms do not cancel, large ones
// integrals over a whole period or the whole line, which the trapezoidal rule gives to full
// precision with about 15 points.
#pragma once

namespace weft::kernels::WEFT_ISA {

inline constexpr double pi = 0x1.921fb54442d18p+1;
inline constexpr double root_two_over_pi = 0x1.9884533d43651p-1;
inline constexpr double root_half = 0x1.6a09e667f3bcdp-1;
inline constexpr double two_over_root_pi = 0x1.20dd750429b6dp+0;

// --- Bessel functions ----------------------------------------------------------------------------

// 0F1(b; z), the sum over k of z^k / (k! b (b + 1) ... (b + k - 1)).
inline double hypergeometric_0f1(double b, double z) {
  double sum = 1, term = 1;
  for (int k = 0; k < 200 && abs(term) > 0x1p-60 * abs(sum); ++k) {
    term *= z / ((k + 1) * (b + k));
    sum += term;
  }
  return sum;
}

// The step with which the trapezoidal rule gives integrals of e^(-x t^2 / 2), or faster, exactly.
inline double trapezoid_step(double x) { return x < 4 ? 0.15 : 0.3 / sqrt(x); }

// e^x K_n(x) for x > 0: the integral of e^(-x (cosh t - 1)) cosh(n t) over t > 0.
inline double scaled_bessel_k(double n, double x) {
  if (!(x > 0)) return x == 0 ? infinity64 : nan64;
  if (isinf(x)) return 0;
  const double step = trapezoid_step(x);
  double sum = 0.5;
  for (double t = step;; t += step) {
    const double half = sinh(0.5 * t), term = exp(-2 * x * half * half) * cosh(n * t);
    sum += term;
    if (term < 0x1p-60 * sum) return sum * step;
  }
}

// e^-|x| I_n(x) for n = 0 or 1.
inline double scaled_bessel_i(int n, double x) {
  const double a = abs(x);
  double result = 0;
  if (a < 25) {
    result = exp(-a) * hypergeometric_0f1(n + 1, 0.25 * a * a) * (n == 0 ? 1 : 0.5 * a);
  } else if (a < infinity64) {  // the mean of e^(a (cos t - 1)) cos(n t) over a period
    const double points = ceil(pi / trapezoid_step(a)), step = pi / points;
    double sum = 0.5;
    for (double k = 1; k < points; k += 1) {
      const double half = std::sin(0.5 * k * step), term = exp(-2 * a * half * half);
      sum += n == 0 ? term : term * std::cos(k * step);
      if (term < 0x1p-60) break;
    }
    result = sum / points;
  } else if (isnan(x)) {
    return x;
  }
  return n == 1 && x < 0 ? -result : result;
}

// J_n(x) and Y_n(x) for x > 0, by the integral of K_n at ix along its path of steepest descent.
struct Hankel {
  double j, y;
};
inline Hankel hankel(double n, double x) {
  const double step = trapezoid_step(x);
  double real = 0, imaginary = 0;
  for (double s = 0;; s += step) {
    const double high = cosh(s), wide = sinh(s), angle = std::atan(wide);
    const double weight = exp(-x * wide * wide / high) * (s == 0 ? 0.5 : 1.0);
    const double a = cosh(n * s) * std::cos(n * angle), b = -sinh(n * s) * std::sin(n * angle);
    // (a + ib) (1 - i / high)
    const double re = weight * (a + b / high), im = weight * (b - a / high);
    real += re, imaginary += im;
    if (!(abs(re) + abs(im) >= 0x1p-60 * (abs(real) + abs(imaginary)))) break;
  }
  // J - iY = 2i / pi e^(i n pi / 2 - ix) (real + i imaginary) step
  const double c = std::cos(x), s = std::sin(x), m = std::cos(n * pi / 2), l = std::sin(n * pi / 2);
  const double turn_re = m * c + l * s, turn_im = l * c - m * s, scale = 2 / pi * step;
  return {-scale * (turn_re * imaginary + turn_im * real),
          -scale * (turn_re * real - turn_im * imaginary)};
}

inline double bessel_j(int n, double x) {
  const double a = abs(x);
  if (isinf(x)) return 0;
  const double value =
      a < 2 ? hypergeometric_0f1(n + 1, -0.25 * a * a) * (n == 0 ? 1 : 0.5 * a) : hankel(n, a).j;
  return n == 1 && x < 0 ? -value : value;
}
inline double bessel_y(int n, double x) {
  if (!(x > 0)) return x == 0 ? -infinity64 : nan64;
  return isinf(x) ? 0 : hankel(n, x).y;
}

// Airy's function: near zero its power series, beyond it Bessel functions of order 1/3.
inline double airy_ai(double x) {
  if (isinf(x) || x > 110) return 0;
  const double a = abs(x), z = 2.0 / 3 * a * sqrt(a);
  if (x > 2) return sqrt(x / 3) / pi * exp(-z) * scaled_bessel_k(1.0 / 3, z);
  if (x < -2) {
    const Hankel h = hankel(1.0 / 3, z);
    return 0.5 * sqrt(a) * (h.j - h.y * 0x1.279a74590331cp-1);
  }
  const double cube = x * x * x / 9;
  return 0x1.6b8c7962715b8p-2 * hypergeometric_0f1(2.0 / 3, cube) -
         0x1.0907f42b70f8ap-2 * x * hypergeometric_0f1(4.0 / 3, cube);
}

// --- the normal distribution's tails -------------------------------------------------------------

// e^(x^2) erfc(x).
inline double erfcx(double x) {
  if (x < -27) return infinity64;
  if (x < 25) {
    const double square = x * x;
    return exp(square) * (1 + std::fma(x, x, -square)) * erfc(x);
  }
  const double z = 0.5 / (x * x);
  double sum = 1, term = 1;
  for (int k = 1; k < 12; ++k) sum += term *= -(2 * k - 1) * z;
  return two_over_root_pi / 2 / x * sum;
}

// The logarithm of the share of a standard normal distribution below x.
inline double log_ndtr(double x) {
  return x < -1 ? log(0.5 * erfcx(-x * root_half)) - 0.5 * x * x
                : log1p(-0.5 * erfc(x * root_half));
}

// The y > 0 with erfc(y) = q, for q in (0, 1/2]: a guess of two digits, then Newton's steps on
// logarithms.
inline double erfc_inverse(double q) {
  const double level = log(q) + log(2 - q), middle = 2 / (pi * 0.147) + level / 2;
  double y = sqrt(sqrt(middle * middle - level / 0.147) - middle);
  for (int step = 0; step < 5; ++step) {
    const double tail = erfcx(y);
    y += (log(tail) - y * y - log(q)) * tail / two_over_root_pi;
  }
  return y;
}
// Near zero Halley's steps; near one the complement keeps the digits.
inline double erfinv(double x) {
  const double a = abs(x);
  if (!(a < 1)) return a == 1 ? x * infinity64 : nan64;
  if (a > 0.5) return copysign(erfc_inverse(1 - a), x);
  double y = x / two_over_root_pi * (1 + pi / 12 * x * x);
  for (int step = 0; step < 3; ++step) {
    const double newton = (erf(y) - x) / two_over_root_pi * exp(y * y);
    y -= newton / (1 + y * newton);
  }
  return y;
}
// Below what a share p of a standard normal distribution lies.
inline double ndtri(double p) {
  if (!(p > 0 && p < 1)) return p == 0 ? -infinity64 : p == 1 ? infinity64 : nan64;
  if (p >= 0.25 && p <= 0.75) return erfinv(2 * p - 1) / root_half;
  const double y = erfc_inverse(2 * (p < 0.5 ? p : 1 - p)) / root_half;
  return p < 0.5 ? -y : y;
}

// --- the incomplete gamma function ---------------------------------------------------------------

// x^a e^-x / gamma(a + 1). Large numbers are kept apart until they have cancelled.
inline double gamma_weight(double a, double x) {
  if (a < 20) return exp(a * log(x) - x - lgamma(a + 1));
  const double off = (x - a) / a, z = 1 / (a * a);
  const double rest =
      (1.0 / 12 - z * (1.0 / 360 - z * (1.0 / 1260 - z * (1.0 / 1680 - z / 1188)))) / a;
  // log(1 + off) - off without cancellation: its series where it converges fast.
  double bent = 0;
  if (abs(off) < 0.2) {
    double power = off;
    for (int k = 2; k < 24; ++k) bent += (power *= -off) / k;
  } else {
    bent = log1p(off) - off;
  }
  return exp(a * bent - rest) / sqrt(2 * pi * a);
}

// The share of a gamma distribution of shape a below x, or above it.
inline double incomplete_gamma(double a, double x, bool above) {
  if (!(a >= 0 && x >= 0) || (a == 0 && x == 0)) return nan64;
  if (isinf(a)) return isinf(x) ? nan64 : above;
  if (x == 0 || a == 0 || isinf(x)) return (x == 0) == above;
  const double weight = gamma_weight(a, x);
  if (x < a + 1) {
    double sum = 1, term = 1;
    for (double k = 1; term > 0x1p-56 * sum && k < 1e6; k += 1) sum += term *= x / (a + k);
    return above ? 1 - weight * sum : weight * sum;
  }
  // A continued fraction, from its beginning.
  double b = x + 1 - a, c = 0x1p1000, d = 1 / b, fraction = d;
  for (double k = 1; k < 1e6; k += 1) {
    const double numerator = k * (a - k);
    b += 2;
    d = 1 / (b + numerator * d);
    c = b + numerator / c;
    fraction *= c * d;
    if (abs(c * d - 1) < 0x1p-52) break;
  }
  return above ? weight * a * fraction : 1 - weight * a * fraction;
}

// --- the names that formulas use, for both float lanes -------------------------------------------

template <Real T>
T bessel_j0(T x) {
  return T(bessel_j(0, x));
}
template <Real T>
T bessel_j1(T x) {
  return T(bessel_j(1, x));
}
template <Real T>
T bessel_y0(T x) {
  return T(bessel_y(0, x));
}
template <Real T>
T bessel_y1(T x) {
  return T(bessel_y(1, x));
}
template <Real T>
T bessel_i0e(T x) {
  return T(scaled_bessel_i(0, x));
}
template <Real T>
T bessel_i1e(T x) {
  return T(scaled_bessel_i(1, x));
}
template <Real T>
T bessel_i0(T x) {
  return T(exp(abs(double(x))) * scaled_bessel_i(0, x));
}
template <Real T>
T bessel_i1(T x) {
  return T(exp(abs(double(x))) * scaled_bessel_i(1, x));
}
template <Real T>
T bessel_k0e(T x) {
  return T(scaled_bessel_k(0, x));
}
template <Real T>
T bessel_k1e(T x) {
  return T(scaled_bessel_k(1, x));
}
template <Real T>
T bessel_k0(T x) {
  return T(exp(-double(x)) * scaled_bessel_k(0, x));
}
template <Real T>
T bessel_k1(T x) {
  return T(exp(-double(x)) * scaled_bessel_k(1, x));
}
template <Real T>
T gammainc(T a, T x) {
  return T(incomplete_gamma(a, x, false));
}
template <Real T>
T gammaincc(T a, T x) {
  return T(incomplete_gamma(a, x, true));
}
inline float airy_ai(float x) { return static_cast<float>(airy_ai(double(x))); }
inline float erfcx(float x) { return static_cast<float>(erfcx(double(x))); }
inline float log_ndtr(float x) { return static_cast<float>(log_ndtr(double(x))); }
inline float ndtri(float x) { return static_cast<float>(ndtri(double(x))); }
inline float erfinv(float x) { return static_cast<float>(erfinv(double(x))); }

}  // namespace weft::kernels::WEFT_ISA
