// Rounding, exponents, logarithms, trigonometry and special functions, element by element.
#include <cmath>
#include <limits>
#include <numbers>

#include "ops.h"

namespace weft::ops {
using namespace graph;
using base::ErrorKind;

namespace {

constexpr double ln2 = std::numbers::ln2;
constexpr double ln10 = std::numbers::ln10;
constexpr double pi = std::numbers::pi;
const double two_over_root_pi = 2 / std::sqrt(pi);

// Zeros like a gradient, also where that is infinite.
Value zeros_of(const Value& gradient) { return where(lt(gradient, gradient), gradient, 0); }

}  // namespace

// --- rounding -------------------------------------------------------------------------------------

OP(floor, "(input: Tensor) -> Tensor") {
  .doc = "Rounds each element down.",
  .run = FORMULA(numbers, (x), floor(x)),
  .gradient = [](Gradient& g) -> Values { return {zeros_of(g.grad())}; },
};

OP(ceil, "(input: Tensor) -> Tensor") {
  .doc = "Rounds each element up.",
  .run = FORMULA(numbers, (x), ceil(x)),
  .gradient = [](Gradient& g) -> Values { return {zeros_of(g.grad())}; },
};

OP(trunc, "(input: Tensor) -> Tensor") {
  .doc = "Rounds each element toward zero.",
  .run = FORMULA(numbers, (x), trunc(x)),
  .gradient = [](Gradient& g) -> Values { return {zeros_of(g.grad())}; },
};

OP(round, "(input: Tensor) -> Tensor") {
  .doc = "Rounds each element to the nearest integer, halves to the even one.",
  .run = FORMULA(numbers, (x), round(x)),
  .gradient = [](Gradient& g) -> Values { return {zeros_of(g.grad())}; },
};

// --- exponents and logarithms ---------------------------------------------------------------------

OP(sqrt, "(input: Tensor) -> Tensor") {
  .doc = "Returns the square root of each element.",
  .run = FORMULA(floats, (x), sqrt(x)),
  .gradient = [](Gradient& g) -> Values { return {g.grad() / (2 * g.output())}; },
};

OP(rsqrt, "(input: Tensor) -> Tensor") {
  .doc = "Returns 1 over the square root of each element.",
  .run = FORMULA(floats, (x), rsqrt(x)),
  .gradient = [](Gradient& g) -> Values {
    const Value& y = g.output();
    return {-0.5 * g.grad() * (y * y * y)};
  },
};

OP(exp, "(input: Tensor) -> Tensor") {
  .doc = "Raises e to the power of each element.",
  .run = FORMULA(floats, (x), exp(x)),
  .gradient = [](Gradient& g) -> Values { return {g.grad() * g.output()}; },
};

OP(expm1, "(input: Tensor) -> Tensor") {
  .doc = "Computes exp(input) - 1 without losing digits near zero.",
  .run = FORMULA(floats, (x), expm1(x)),
  .gradient = [](Gradient& g) -> Values { return {g.grad() * (g.output() + 1)}; },
};

OP(log, "(input: Tensor) -> Tensor") {
  .doc = "Returns the natural logarithm of each element.",
  .run = FORMULA(floats, (x), log(x)),
  .gradient = [](Gradient& g) -> Values { return {g.grad() / g.input()}; },
};

OP(log2, "(input: Tensor) -> Tensor") {
  .doc = "Returns the logarithm to base 2 of each element.",
  .run = FORMULA(floats, (x), log2(x)),
  .gradient = [](Gradient& g) -> Values { return {g.grad() / (g.input() * ln2)}; },
};

OP(log10, "(input: Tensor) -> Tensor") {
  .doc = "Returns the logarithm to base 10 of each element.",
  .run = FORMULA(floats, (x), log10(x)),
  .gradient = [](Gradient& g) -> Values { return {g.grad() / (g.input() * ln10)}; },
};

OP(log1p, "(input: Tensor) -> Tensor") {
  .doc = "Computes log(1 + input) without losing digits near zero.",
  .run = FORMULA(floats, (x), log1p(x)),
  .gradient = [](Gradient& g) -> Values { return {g.grad() / (g.input() + 1)}; },
};

OP(xlogy, "(input: Tensor|Number, other: Tensor|Number) -> Tensor") {
  .doc = "Computes input * log(other), which is 0 where input is 0 and other is a number.",
  .run = FORMULA(floats, (x, y), isnan(y) ? y : x == 0 ? x : x * log(y)),
  .gradient = [](Gradient& g) -> Values {
    const Value &x = g.input(0), &y = g.input(1);
    Values result(2);
    // xlogy of the gradient is its product with log(y), also where y is a plain number.
    if (g.needs(0)) result[0] = where(logical_and(eq(x, 0), le(y, 0)), 0, xlogy(g.grad(), y));
    if (g.needs(1)) result[1] = g.grad() * (x / y);
    return result;
  },
};

// --- trigonometry ---------------------------------------------------------------------------------

OP(sin, "(input: Tensor) -> Tensor") {
  .doc = "Returns the sine of each element.",
  .run = FORMULA(floats, (x), sin(x)),
  .gradient = [](Gradient& g) -> Values { return {g.grad() * cos(g.input())}; },
};

OP(cos, "(input: Tensor) -> Tensor") {
  .doc = "Returns the cosine of each element.",
  .run = FORMULA(floats, (x), cos(x)),
  .gradient = [](Gradient& g) -> Values { return {-g.grad() * sin(g.input())}; },
};

OP(asin, "(input: Tensor) -> Tensor") {
  .doc = "Returns the angle whose sine each element is.",
  .run = FORMULA(floats, (x), asin(x)),
  .gradient = [](Gradient& g) -> Values { return {g.grad() * rsqrt(1 - g.input() * g.input())}; },
};

OP(acos, "(input: Tensor) -> Tensor") {
  .doc = "Returns the angle whose cosine each element is.",
  .run = FORMULA(floats, (x), acos(x)),
  .gradient = [](Gradient& g) -> Values { return {-g.grad() * rsqrt(1 - g.input() * g.input())}; },
};

OP(atan, "(input: Tensor) -> Tensor") {
  .doc = "Returns the angle whose tangent each element is.",
  .run = FORMULA(floats, (x), atan(x)),
  .gradient = [](Gradient& g) -> Values { return {g.grad() / (1 + g.input() * g.input())}; },
};

OP(atan2, "(input: Tensor, other: Tensor) -> Tensor") {
  .doc = "Returns the angle of the point (other, input), from -pi to pi.",
  .run = FORMULA(floats, (y, x), atan2(y, x)),
  .gradient = [](Gradient& g) -> Values {
    const Value &y = g.input(0), &x = g.input(1);
    // At the origin, where the angle jumps, the gradient counts as zero.
    const Value square = x * x + y * y;
    const Value over = g.grad() * masked_fill(reciprocal(square), eq(square, 0), 0);
    return {over * x, -over * y};
  },
};

OP(hypot, "(input: Tensor, other: Tensor) -> Tensor") {
  .doc = "Returns the length of the vector (input, other).",
  .run = FORMULA(floats, (x, y), hypot(x, y)),
  .gradient = [](Gradient& g) -> Values {
    const Value over = g.grad() / g.output();
    return {over * g.input(0), over * g.input(1)};
  },
};

OP(sinh, "(input: Tensor) -> Tensor") {
  .doc = "Returns the hyperbolic sine of each element.",
  .run = FORMULA(floats, (x), sinh(x)),
  .gradient = [](Gradient& g) -> Values { return {g.grad() * cosh(g.input())}; },
};

OP(cosh, "(input: Tensor) -> Tensor") {
  .doc = "Returns the hyperbolic cosine of each element.",
  .run = FORMULA(floats, (x), cosh(x)),
  .gradient = [](Gradient& g) -> Values { return {g.grad() * sinh(g.input())}; },
};

OP(tanh, "(input: Tensor) -> Tensor") {
  .doc = "Returns the hyperbolic tangent of each element.",
  .run = FORMULA(floats, (x), tanh(x)),
  .gradient = [](Gradient& g) -> Values { return {tanh_backward(g.grad(), g.output())}; },
};

OP(tanh_backward, "(grad: Tensor, output: Tensor) -> Tensor") {
  .doc = "Returns the gradient of tanh's input: one pass instead of three.",
  .run = FORMULA(floats, (g, y), g * (1 - y * y)),
  .gradient = [](Gradient& g) -> Values {
    const Value &slope = g.input(0), &y = g.input(1);
    return {tanh_backward(g.grad(), y), g.grad() * slope * y * -2};
  },
};

OP(asinh, "(input: Tensor) -> Tensor") {
  .doc = "Returns the number whose hyperbolic sine each element is.",
  .run = FORMULA(floats, (x), asinh(x)),
  .gradient = [](Gradient& g) -> Values { return {g.grad() * rsqrt(g.input() * g.input() + 1)}; },
};

OP(acosh, "(input: Tensor) -> Tensor") {
  .doc = "Returns the number whose hyperbolic cosine each element is.",
  .run = FORMULA(floats, (x), acosh(x)),
  .gradient = [](Gradient& g) -> Values { return {g.grad() * rsqrt(g.input() * g.input() - 1)}; },
};

// --- special functions ----------------------------------------------------------------------------

OP(erf, "(input: Tensor) -> Tensor") {
  .doc = "Returns the error function of each element.",
  .run = FORMULA(floats, (x), erf(x)),
  .gradient = [](Gradient& g) -> Values {
    return {g.grad() * (two_over_root_pi * exp(-(g.input() * g.input())))};
  },
};

OP(erfc, "(input: Tensor) -> Tensor") {
  .doc = "Computes 1 - erf(input) without losing digits for large elements.",
  .run = FORMULA(floats, (x), erfc(x)),
  .gradient = [](Gradient& g) -> Values {
    return {g.grad() * (-two_over_root_pi * exp(-(g.input() * g.input())))};
  },
};

OP(erfinv, "(input: Tensor) -> Tensor") {
  .doc = "Returns the number whose error function each element is.",
  .run = FORMULA(floats, (x), erfinv(x)),
  .gradient = [](Gradient& g) -> Values {
    return {g.grad() * (1 / two_over_root_pi * exp(g.output() * g.output()))};
  },
};

OP(lgamma, "(input: Tensor) -> Tensor") {
  .doc = "Returns the logarithm of the absolute value of the gamma function.",
  .run = FORMULA(floats, (x), lgamma(x)),
  .gradient = [](Gradient& g) -> Values { return {g.grad() * digamma(g.input())}; },
};

OP(digamma, "(input: Tensor) -> Tensor") {
  .doc = "Returns the derivative of lgamma.",
  .run = FORMULA(floats, (x), digamma(x)),
  .gradient = [](Gradient& g) -> Values { return {g.grad() * polygamma(1, g.input())}; },
};

OP(polygamma, "(n: Tensor|Number, input: Tensor) -> Tensor") {
  .doc = "Returns the n-th derivative of digamma.",
  .run = FORMULA(floats, (n, x), polygamma(n, x)),
  .gradient = [](Gradient& g) -> Values {
    return {Value(), g.grad() * polygamma(g.input(0) + 1, g.input(1))};
  },
};

// --- odd numbers ----------------------------------------------------------------------------------

OP(copysign, "(input: Tensor, other: Tensor|Number) -> Tensor") {
  .doc = "Gives each element of input the sign of other.",
  .run = FORMULA(floats, (x, y), copysign(x, y)),
  .gradient = [](Gradient& g) -> Values {
    const Value& x = g.input(0);
    const Value ratio = where(eq(x, 0), 0, g.output() / x);
    return {g.grad() * ratio, g.needs(1) ? zeros_of(g.grad()) : Value()};
  },
};

}  // namespace weft::ops
