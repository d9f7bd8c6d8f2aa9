// Special functions that networks seldom use: Bessel functions, tails, incomplete gammas.
#include <cmath>
#include <numbers>

#include "ops.h"

namespace weft::ops {
using namespace graph;

namespace {

const double two_over_root_pi = 2 / std::sqrt(std::numbers::pi);

// y / x where y is a function of x with y(0) = 0 and this slope there.
Value over(const Value& y, const Value& x, double slope_at_zero) {
  const Value is_zero = eq(x, 0);
  return where(is_zero, slope_at_zero, y / where(is_zero, 1, x));
}

// Of two inputs only the second has a gradient.
Values of_second(const Gradient& g, const Value& gradient) {
  if (g.needs(0)) {
    base::fail(base::ErrorKind::unsupported, g.op.name,
               "(input, other): there is no gradient for input, only for other; detach input");
  }
  return {Value(), gradient};
}

}  // namespace

OP(i0, "(input: Tensor) -> Tensor") {
  .doc = "Returns the modified Bessel function of the first kind of order 0.",
  .run = FORMULA(floats, (x), bessel_i0(x)),
  .gradient = [](Gradient& g) -> Values { return {g.grad() * special_i1(g.input())}; },
};

OP(special_i0e, "(input: Tensor) -> Tensor") {
  .doc = "Computes i0(input) times exp(-|input|).",
  .run = FORMULA(floats, (x), bessel_i0e(x)),
  .gradient = [](Gradient& g) -> Values {
    const Value& x = g.input();
    return {g.grad() * (special_i1e(x) - sign(x) * g.output())};
  },
};

OP(special_i1, "(input: Tensor) -> Tensor") {
  .doc = "Returns the modified Bessel function of the first kind of order 1.",
  .run = FORMULA(floats, (x), bessel_i1(x)),
  .gradient = [](Gradient& g) -> Values {
    const Value& x = g.input();
    return {g.grad() * (i0(x) - over(g.output(), x, 0.5))};
  },
};

OP(special_i1e, "(input: Tensor) -> Tensor") {
  .doc = "Computes i1(input) times exp(-|input|).",
  .run = FORMULA(floats, (x), bessel_i1e(x)),
  .gradient = [](Gradient& g) -> Values {
    const Value &x = g.input(), &y = g.output();
    return {g.grad() * (special_i0e(x) - sign(x) * y - over(y, x, 0.5))};
  },
};

OP(special_modified_bessel_k0, "(input: Tensor) -> Tensor") {
  .doc = "Returns the modified Bessel function of the second kind of order 0.",
  .run = FORMULA(floats, (x), bessel_k0(x)),
  .gradient = [](Gradient& g) -> Values { return {-g.grad() * special_modified_bessel_k1(g.input())}; },
};

OP(special_modified_bessel_k1, "(input: Tensor) -> Tensor") {
  .doc = "Returns the modified Bessel function of the second kind of order 1.",
  .run = FORMULA(floats, (x), bessel_k1(x)),
  .gradient = [](Gradient& g) -> Values {
    const Value& x = g.input();
    return {-g.grad() * (special_modified_bessel_k0(x) + g.output() / x)};
  },
};

OP(special_scaled_modified_bessel_k0, "(input: Tensor) -> Tensor") {
  .doc = "Computes modified_bessel_k0(input) times exp(input).",
  .run = FORMULA(floats, (x), bessel_k0e(x)),
  .gradient = [](Gradient& g) -> Values {
    return {g.grad() * (g.output() - special_scaled_modified_bessel_k1(g.input()))};
  },
};

OP(special_scaled_modified_bessel_k1, "(input: Tensor) -> Tensor") {
  .doc = "Computes modified_bessel_k1(input) times exp(input).",
  .run = FORMULA(floats, (x), bessel_k1e(x)),
  .gradient = [](Gradient& g) -> Values {
    const Value &x = g.input(), &y = g.output();
    return {g.grad() * (y - special_scaled_modified_bessel_k0(x) - y / x)};
  },
};

OP(special_bessel_j0, "(input: Tensor) -> Tensor") {
  .doc = "Returns the Bessel function of the first kind of order 0.",
  .run = FORMULA(floats, (x), bessel_j0(x)),
  .gradient = [](Gradient& g) -> Values { return {-g.grad() * special_bessel_j1(g.input())}; },
};

OP(special_bessel_j1, "(input: Tensor) -> Tensor") {
  .doc = "Returns the Bessel function of the first kind of order 1.",
  .run = FORMULA(floats, (x), bessel_j1(x)),
  .gradient = [](Gradient& g) -> Values {
    const Value& x = g.input();
    return {g.grad() * (special_bessel_j0(x) - over(g.output(), x, 0.5))};
  },
};

OP(special_bessel_y0, "(input: Tensor) -> Tensor") {
  .doc = "Returns the Bessel function of the second kind of order 0.",
  .run = FORMULA(floats, (x), bessel_y0(x)),
  .gradient = [](Gradient& g) -> Values { return {-g.grad() * special_bessel_y1(g.input())}; },
};

OP(special_bessel_y1, "(input: Tensor) -> Tensor") {
  .doc = "Returns the Bessel function of the second kind of order 1.",
  .run = FORMULA(floats, (x), bessel_y1(x)),
  .gradient = [](Gradient& g) -> Values {
    const Value& x = g.input();
    return {g.grad() * (special_bessel_y0(x) - g.output() / x)};
  },
};

OP(special_airy_ai, "(x: Tensor) -> Tensor") {
  .doc = "Returns Airy's function of the first kind.",
  .run = FORMULA(floats, (x), airy_ai(x)),
  .gradient = no_gradient("there is no function for the slope of Airy's"),
};

OP(special_erfcx, "(input: Tensor) -> Tensor") {
  .doc = "Computes erfc(input) times exp(input * input).",
  .run = FORMULA(floats, (x), erfcx(x)),
  .gradient = [](Gradient& g) -> Values {
    return {g.grad() * (2 * g.input() * g.output() - two_over_root_pi)};
  },
};

OP(special_log_ndtr, "(input: Tensor) -> Tensor") {
  .doc = "Returns the logarithm of the share of a standard normal distribution below each element.",
  .run = FORMULA(floats, (x), log_ndtr(x)),
  .gradient = [](Gradient& g) -> Values {
    return {g.grad() * (std::sqrt(2 / std::numbers::pi) / special_erfcx(-std::sqrt(0.5) * g.input()))};
  },
};

OP(special_ndtri, "(input: Tensor) -> Tensor") {
  .doc = "Returns below what each share of a standard normal distribution lies.",
  .run = FORMULA(floats, (x), ndtri(x)),
  .gradient = [](Gradient& g) -> Values {
    return {g.grad() * (std::sqrt(2 * std::numbers::pi) * exp(0.5 * (g.output() * g.output())))};
  },
};

OP(special_zeta, "(input: Tensor|Number, other: Tensor|Number) -> Tensor") {
  .doc = "Adds up (other + k) to the power of -input over all k from 0: Hurwitz's zeta function.",
  .run = FORMULA(floats, (s, x), zeta(s, x)),
  .gradient = [](Gradient& g) -> Values {
    const Value& s = g.input(0);
    return of_second(g, -g.grad() * s * special_zeta(s + 1, g.input(1)));
  },
};

OP(igamma, "(input: Tensor, other: Tensor) -> Tensor") {
  .doc = "Returns the share of a gamma distribution of shape `input` below `other`.",
  .run = FORMULA(floats, (a, x), gammainc(a, x)),
  .gradient = [](Gradient& g) -> Values {
    const Value &a = g.input(0), &x = g.input(1);
    return of_second(g, g.grad() * exp(xlogy(a - 1, x) - x - lgamma(a)));
  },
};

OP(igammac, "(input: Tensor, other: Tensor) -> Tensor") {
  .doc = "Returns the share of a gamma distribution of shape `input` above `other`.",
  .run = FORMULA(floats, (a, x), gammaincc(a, x)),
  .gradient = [](Gradient& g) -> Values {
    const Value &a = g.input(0), &x = g.input(1);
    return of_second(g, -g.grad() * exp(xlogy(a - 1, x) - x - lgamma(a)));
  },
};

}  // namespace weft::ops
