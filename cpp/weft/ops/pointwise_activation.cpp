// Activations of neural networks.
#include "ops.h"

namespace weft::ops {
using namespace graph;

OP(sigmoid, "(input: Tensor) -> Tensor") {
  .doc = "Computes 1 / (1 + exp(-x)).",
  .run = FORMULA(floats, (x), sigmoid(x)),
  .gradient = [](Gradient& g) -> Values { return {sigmoid_backward(g.grad(), g.output())}; },
};

OP(sigmoid_backward, "(grad: Tensor, output: Tensor) -> Tensor") {
  .doc = "Returns the gradient of sigmoid's input: one pass instead of three.",
  .run = FORMULA(floats, (g, y), g * ((1 - y) * y)),
  .gradient = [](Gradient& g) -> Values {
    const Value &slope = g.input(0), &y = g.input(1);
    return {sigmoid_backward(g.grad(), y), g.grad() * slope * (1 - 2 * y)};
  },
};

OP(logsigmoid, "(input: Tensor) -> Tensor") {
  .doc = "Computes log(sigmoid(x)) without underflow.",
  .run = FORMULA(floats, (x), logsigmoid(x)),
  .gradient = [](Gradient& g) -> Values { return {g.grad() * sigmoid(-g.input())}; },
  .shown_as = "LogSigmoidBackward0",
};

OP(relu, "(input: Tensor) -> Tensor") {
  .doc = "Replaces negative elements by 0. The gradient at 0 is 0.",
  .run = FORMULA(numbers, (x), x > 0 || isnan(x) ? x : 0),
  .gradient = [](Gradient& g) -> Values { return {where(le(g.output(), 0), 0, g.grad())}; },
};

OP(leaky_relu, "(input: Tensor, negative_slope: Tensor|Number = 0.01) -> Tensor") {
  .doc = "Multiplies negative elements by negative_slope.",
  .run = FORMULA(floats, (x, slope), x > 0 ? x : x * slope),
  .gradient = [](Gradient& g) -> Values {
    const Value& x = g.input();
    return {where(gt(x, 0), g.grad(), g.grad() * g.input(1)),
            g.needs(1) ? where(gt(x, 0), 0, g.grad() * x) : Value()};
  },
};

OP(elu,
   "(input: Tensor, alpha: Tensor|Number = 1.0, scale: Tensor|Number = 1.0, input_scale: "
   "Tensor|Number = 1.0) -> Tensor") {
  .doc = "Computes alpha * (exp(input_scale * x) - 1) for negative elements and keeps positive ones; "
         "scale multiplies both.",
  .run = FORMULA(floats, (x, alpha, scale, rate), scale * (x > 0 ? x : alpha * expm1(rate * x))),
  .gradient = [](Gradient& g) -> Values {
    const Value &x = g.input(0), &alpha = g.input(1), &rate = g.input(3);
    const Value slope = g.grad() * g.input(2);
    // The exponent is limited, so that nothing overflows in the branch that is not taken.
    const Value e = exp(where(gt(x, 0), 0, x) * rate);
    return {where(gt(x, 0), slope, slope * (e * alpha * rate)),
            g.needs(1) ? where(gt(x, 0), 0, slope * (e - 1)) : Value(), Value(), Value()};
  },
};

OP(silu, "(input: Tensor) -> Tensor") {
  .doc = "Computes x * sigmoid(x).",
  .run = FORMULA(floats, (x), silu(x)),
  .gradient = [](Gradient& g) -> Values {
    const Value& x = g.input();
    const Value s = sigmoid(x);
    return {g.grad() * s + sigmoid_backward(g.grad() * x, s)};
  },
};

OP(gelu_erf, "(input: Tensor) -> Tensor") {
  .doc = "Multiplies each element by the chance that a standard normal variable is below it.",
  .run = FORMULA(floats, (x), gelu(x)),
  .gradient = [](Gradient& g) -> Values { return {g.grad() * gelu_erf_slope(g.input())}; },
  .shown_as = "GeluBackward0",
};

OP(gelu_erf_slope, "(input: Tensor) -> Tensor") {
  .doc = "Computes the derivative of gelu_erf.",
  .run = FORMULA(floats, (x), gelu_slope(x)),
  .gradient = [](Gradient& g) -> Values {
    const Value square = g.input() * g.input();
    return {g.grad() * (exp(square * -0.5) * 0.3989422804014327 * (2 - square))};
  },
};

OP(gelu_tanh, "(input: Tensor) -> Tensor") {
  .doc = "Computes gelu's approximation by tanh.",
  .run = FORMULA(floats, (x),
                 x * sigmoid(1.5957691216057308 * x * (1 + 0.044715 * x * x))),
  .gradient = [](Gradient& g) -> Values {
    const Value& x = g.input();
    const Value square = x * x;
    const Value s = sigmoid(1.5957691216057308 * x * (1 + 0.044715 * square));
    const Value inner = 1.5957691216057308 * (1 + 3 * 0.044715 * square);
    return {g.grad() * (s * (1 + x * (1 - s) * inner))};
  },
  .shown_as = "GeluBackward0",
};

OP(gelu, "(input: Tensor, *, approximate: str = 'none') -> Tensor") {
  .doc = "Computes the Gaussian error linear unit, exactly or by its approximation 'tanh'.",
  .run = composite([](const Call& call) -> Values {
    const std::string& approximate = call.string("approximate");
    if (approximate == "tanh") return {gelu_tanh(call[0])};
    call.require(approximate == "none", base::ErrorKind::value,
                 "approximate must be 'none' or 'tanh', got '", approximate, "'");
    return {gelu_erf(call[0])};
  }),
};

OP(softplus,
   "(input: Tensor, beta: Tensor|Number = 1.0, threshold: Tensor|Number = 20.0) -> Tensor") {
  .doc = "Computes log(1 + exp(beta * x)) / beta, and keeps x where beta * x exceeds threshold.",
  .run = FORMULA(floats, (x, beta, threshold),
                 select(x * beta > threshold, x, softplus(x * beta) / beta)),
  .gradient = [](Gradient& g) -> Values {
    const Value scaled = g.input(0) * g.input(1);
    return {where(gt(scaled, g.input(2)), g.grad(), g.grad() * sigmoid(scaled)), Value(), Value()};
  },
};

OP(hardtanh,
   "(input: Tensor, min_val: Tensor|Number = -1.0, max_val: Tensor|Number = 1.0) -> Tensor") {
  .doc = "Limits elements to the range from min_val to max_val. The gradient at the bounds is 0.",
  .run = FORMULA(numbers, (x, low, high), min(max(x, low), high)),
  .gradient = [](Gradient& g) -> Values {
    const Value& x = g.input();
    return {where(gt(x, g.input(1)), where(lt(x, g.input(2)), g.grad(), 0), 0), Value(), Value()};
  },
};

}  // namespace weft::ops
