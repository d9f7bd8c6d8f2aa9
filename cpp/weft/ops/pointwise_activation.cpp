// Activations of neural networks, and the element-wise parts of losses.
#include "ops.h"

namespace weft::ops {
using namespace graph;

OP(sigmoid) {
  .signature = "sigmoid(input: Tensor) -> Tensor",
  .doc = "Computes 1 / (1 + exp(-x)).",
  .shape = elementwise(floating),
  .run = FORMULA(floats, (x), sigmoid(x)),
  .gradient = [](Gradient& g) -> Values { return {sigmoid_backward(g.grad(), g.output())}; },
};

OP(sigmoid_backward) {
  .signature = "sigmoid_backward(grad: Tensor, output: Tensor) -> Tensor",
  .doc = "Returns the gradient of sigmoid's input: one pass instead of three.",
  .shape = elementwise(floating),
  .run = FORMULA(floats, (g, y), g * ((1 - y) * y)),
  .gradient = [](Gradient& g) -> Values {
    const Value &slope = g.input(0), &y = g.input(1);
    return {sigmoid_backward(g.grad(), y), g.grad() * slope * (1 - 2 * y)};
  },
};

OP(logsigmoid) {
  .signature = "logsigmoid(input: Tensor) -> Tensor",
  .doc = "Computes log(sigmoid(x)) without underflow.",
  .shape = elementwise(floating),
  .run = FORMULA(floats, (x), logsigmoid(x)),
  .gradient = [](Gradient& g) -> Values { return {g.grad() * sigmoid(-g.input())}; },
  .shown_as = "LogSigmoidBackward0",
};

OP(relu) {
  .signature = "relu(input: Tensor) -> Tensor",
  .doc = "Replaces negative elements by 0. The gradient at 0 is 0.",
  .shape = elementwise(promoted),
  .run = FORMULA(numbers, (x), x > 0 || isnan(x) ? x : 0),
  .gradient = [](Gradient& g) -> Values { return {where(le(g.output(), 0), 0, g.grad())}; },
};

OP(relu6) {
  .signature = "relu6(input: Tensor) -> Tensor",
  .doc = "Limits elements to the range from 0 to 6.",
  .shape = elementwise(promoted),
  .run = FORMULA(numbers, (x), x > 6 ? 6 : x > 0 || isnan(x) ? x : 0),
  .gradient = [](Gradient& g) -> Values {
    const Value& x = g.input();
    return {where(gt(x, 0), where(lt(x, 6), g.grad(), 0), 0)};
  },
  .shown_as = "HardtanhBackward0",
};

OP(leaky_relu) {
  .signature = "leaky_relu(input: Tensor, negative_slope: Tensor|Number = 0.01) -> Tensor",
  .doc = "Multiplies negative elements by negative_slope.",
  .shape = elementwise(floating),
  .run = FORMULA(floats, (x, slope), x > 0 ? x : x * slope),
  .gradient = [](Gradient& g) -> Values {
    const Value& x = g.input();
    return {where(gt(x, 0), g.grad(), g.grad() * g.input(1)),
            g.needs(1) ? where(gt(x, 0), 0, g.grad() * x) : Value()};
  },
};

OP(prelu_elements) {
  .signature = "prelu_elements(input: Tensor, weight: Tensor) -> Tensor",
  .doc = "Multiplies negative elements by weight, which broadcasts.",
  .shape = elementwise(floating),
  .run = FORMULA(floats, (x, weight), x > 0 ? x : x * weight),
  .gradient = [](Gradient& g) -> Values {
    const Value& x = g.input();
    return {g.needs(0) ? where(gt(x, 0), g.grad(), g.grad() * g.input(1)) : Value(),
            g.needs(1) ? where(gt(x, 0), 0, g.grad() * x) : Value()};
  },
  .shown_as = "PreluKernelBackward0",
};

OP(elu) {
  .signature = "elu(input: Tensor, alpha: Tensor|Number = 1.0) -> Tensor",
  .doc = "Computes alpha * (exp(x) - 1) for negative elements and keeps positive ones.",
  .shape = elementwise(floating),
  .run = FORMULA(floats, (x, alpha), x > 0 ? x : alpha * expm1(x)),
  .gradient = [](Gradient& g) -> Values {
    const Value &x = g.input(0), &alpha = g.input(1);
    // The exponent is limited, so that nothing overflows in the branch that is not taken.
    const Value e = exp(where(gt(x, 0), 0, x));
    return {where(gt(x, 0), g.grad(), g.grad() * (alpha * e)),
            g.needs(1) ? where(gt(x, 0), 0, g.grad() * (e - 1)) : Value()};
  },
};

OP(celu) {
  .signature = "celu(input: Tensor, alpha: Tensor|Number = 1.0) -> Tensor",
  .doc = "Computes alpha * (exp(x / alpha) - 1) for negative elements and keeps positive ones.",
  .shape = elementwise(floating),
  .run = FORMULA(floats, (x, alpha), x > 0 ? x : alpha * expm1(x / alpha)),
  .gradient = [](Gradient& g) -> Values {
    const Value& x = g.input(0);
    const Value e = exp(where(gt(x, 0), 0, x) / g.input(1));
    return {where(gt(x, 0), g.grad(), g.grad() * e), Value()};
  },
};

OP(selu) {
  .signature = "selu(input: Tensor) -> Tensor",
  .doc = "Computes elu with the constants that keep mean 0 and variance 1.",
  .shape = elementwise(floating),
  .run = FORMULA(floats, (x), 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * expm1(x))),
  .gradient = [](Gradient& g) -> Values {
    const Value& x = g.input();
    constexpr double scale = 1.0507009873554805, alpha = 1.6732632423543772;
    const Value e = exp(where(gt(x, 0), 0, x)) * (scale * alpha);
    return {g.grad() * where(gt(x, 0), scale, e)};
  },
  .shown_as = "EluBackward0",
};

OP(silu) {
  .signature = "silu(input: Tensor) -> Tensor",
  .doc = "Computes x * sigmoid(x).",
  .shape = elementwise(floating),
  .run = FORMULA(floats, (x), silu(x)),
  .gradient = [](Gradient& g) -> Values {
    const Value& x = g.input();
    const Value s = sigmoid(x);
    return {g.grad() * s + sigmoid_backward(g.grad() * x, s)};
  },
};

OP(mish) {
  .signature = "mish(input: Tensor) -> Tensor",
  .doc = "Computes x * tanh(softplus(x)).",
  .shape = elementwise(floating),
  .run = FORMULA(floats, (x), x * tanh_softplus(x)),
  .gradient = [](Gradient& g) -> Values {
    const Value& x = g.input();
    const Value t = tanh(softplus(x));
    return {g.grad() * (t + x * sigmoid(x) * (1 - t * t))};
  },
};

OP(gelu_erf) {
  .signature = "gelu_erf(input: Tensor) -> Tensor",
  .doc = "Multiplies each element by the chance that a standard normal variable is below it.",
  .shape = elementwise(floating),
  .run = FORMULA(floats, (x), gelu(x)),
  .gradient = [](Gradient& g) -> Values { return {g.grad() * gelu_erf_slope(g.input())}; },
  .shown_as = "GeluBackward0",
};

OP(gelu_erf_slope) {
  .signature = "gelu_erf_slope(input: Tensor) -> Tensor",
  .doc = "Computes the derivative of gelu_erf.",
  .shape = elementwise(floating),
  .run = FORMULA(floats, (x), gelu_slope(x)),
  .gradient = [](Gradient& g) -> Values {
    const Value square = g.input() * g.input();
    return {g.grad() * (exp(square * -0.5) * 0.3989422804014327 * (2 - square))};
  },
};

OP(gelu_tanh) {
  .signature = "gelu_tanh(input: Tensor) -> Tensor",
  .doc = "Computes gelu's approximation by tanh.",
  .shape = elementwise(floating),
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

OP(gelu) {
  .signature = "gelu(input: Tensor, *, approximate: str = 'none') -> Tensor",
  .doc = "Computes the Gaussian error linear unit, exactly or by its approximation 'tanh'.",
  .shape = of_parts(),
  .run = composite([](const Call& call) -> Values {
    const std::string& approximate = call.string("approximate");
    if (approximate == "tanh") return {gelu_tanh(call[0])};
    call.require(approximate == "none", base::ErrorKind::value,
                 "approximate must be 'none' or 'tanh', got '", approximate, "'");
    return {gelu_erf(call[0])};
  }),
  .gradient = of_parts(),
};

OP(softplus) {
  .signature = "softplus(input: Tensor, beta: Tensor|Number = 1.0, "
               "threshold: Tensor|Number = 20.0) -> Tensor",
  .doc = "Computes log(1 + exp(beta * x)) / beta, and keeps x where beta * x exceeds threshold.",
  .shape = elementwise(floating),
  .run = FORMULA(floats, (x, beta, threshold),
                 select(x * beta > threshold, x, softplus(x * beta) / beta)),
  .gradient = [](Gradient& g) -> Values {
    const Value scaled = g.input(0) * g.input(1);
    return {where(gt(scaled, g.input(2)), g.grad(), g.grad() * sigmoid(scaled)), Value(), Value()};
  },
};

OP(hardtanh) {
  .signature = "hardtanh(input: Tensor, min_val: Tensor|Number = -1.0, "
               "max_val: Tensor|Number = 1.0) -> Tensor",
  .doc = "Limits elements to the range from min_val to max_val. The gradient at the bounds is 0.",
  .shape = elementwise(promoted),
  .run = FORMULA(numbers, (x, low, high), min(max(x, low), high)),
  .gradient = [](Gradient& g) -> Values {
    const Value& x = g.input();
    return {where(gt(x, g.input(1)), where(lt(x, g.input(2)), g.grad(), 0), 0), Value(), Value()};
  },
};

OP(hardsigmoid) {
  .signature = "hardsigmoid(input: Tensor) -> Tensor",
  .doc = "Limits x / 6 + 1 / 2 to the range from 0 to 1.",
  .shape = elementwise(floating),
  .run = FORMULA(floats, (x), min(max(x + 3, T(0)), T(6)) / 6),
  .gradient = [](Gradient& g) -> Values {
    const Value& x = g.input();
    return {where(gt(x, -3), where(lt(x, 3), g.grad() * (1.0 / 6), 0), 0)};
  },
};

OP(hardswish) {
  .signature = "hardswish(input: Tensor) -> Tensor",
  .doc = "Computes x * hardsigmoid(x).",
  .shape = elementwise(floating),
  .run = FORMULA(floats, (x), x * min(max(x + 3, T(0)), T(6)) / 6),
  .gradient = [](Gradient& g) -> Values {
    const Value& x = g.input();
    const Value middle = g.grad() * (x * (1.0 / 3) + 0.5);
    return {where(le(x, -3), 0, where(lt(x, 3), middle, g.grad()))};
  },
};

OP(hardshrink) {
  .signature = "hardshrink(input: Tensor, lambd: Tensor|Number = 0.5) -> Tensor",
  .doc = "Replaces elements between -lambd and lambd by 0.",
  .shape = elementwise(floating),
  .run = FORMULA(floats, (x, limit), x >= -limit && x <= limit ? 0 : x),
  .gradient = [](Gradient& g) -> Values {
    const Value &x = g.input(0), &limit = g.input(1);
    return {where(ge(x, -limit), where(le(x, limit), 0, g.grad()), g.grad()), Value()};
  },
};

OP(softshrink) {
  .signature = "softshrink(input: Tensor, lambd: Tensor|Number = 0.5) -> Tensor",
  .doc = "Moves elements toward 0 by lambd, at most to 0.",
  .shape = elementwise(floating),
  .run = FORMULA(floats, (x, limit), x > limit ? x - limit : x < -limit ? x + limit
                                     : isnan(x) ? x : 0),
  .gradient = [](Gradient& g) -> Values {
    const Value &x = g.input(0), &limit = g.input(1);
    return {where(ge(x, -limit), where(le(x, limit), 0, g.grad()), g.grad()), Value()};
  },
};

OP(tanhshrink) {
  .signature = "tanhshrink(input: Tensor) -> Tensor",
  .doc = "Computes x - tanh(x).",
  .shape = elementwise(floating),
  .run = FORMULA(floats, (x), x - tanh(x)),
  .gradient = [](Gradient& g) -> Values {
    const Value t = tanh(g.input());
    return {g.grad() * (t * t)};
  },
};

OP(softsign) {
  .signature = "softsign(input: Tensor) -> Tensor",
  .doc = "Computes x / (1 + |x|).",
  .shape = elementwise(floating),
  .run = FORMULA(floats, (x), x / (1 + abs(x))),
  .gradient = [](Gradient& g) -> Values {
    const Value slope = 1 / (1 + abs(g.input()));
    return {g.grad() * (slope * slope)};
  },
};

OP(threshold) {
  .signature = "threshold(input: Tensor, threshold: Tensor|Number, value: Tensor|Number) -> Tensor",
  .doc = "Replaces elements that do not exceed threshold by value.",
  .shape = elementwise(promoted),
  .run = FORMULA(numbers, (x, limit, value), x <= limit ? value : x),
  .gradient = [](Gradient& g) -> Values {
    return {where(le(g.input(0), g.input(1)), 0, g.grad()), Value(), Value()};
  },
};

// --- losses ---------------------------------------------------------------------------------------

OP(smooth_l1_elements) {
  .signature = "smooth_l1_elements(input: Tensor, target: Tensor, beta: Tensor|Number = 1.0) -> "
               "Tensor",
  .doc = "Computes the smooth L1 distance of two elements: squared below beta, linear above.",
  .shape = elementwise(floating),
  .run = FORMULA(floats, (x, y, beta), abs(x - y) < beta ? 0.5 * (x - y) * (x - y) / beta
                                                         : abs(x - y) - 0.5 * beta),
  .gradient = [](Gradient& g) -> Values {
    const Value difference = g.input(0) - g.input(1);
    const Value& beta = g.input(2);
    const Value near = difference / beta;
    const Value slope =
        g.grad() * where(lt(abs(difference), beta), near, sign(difference));
    return {slope, g.needs(1) ? -slope : Value(), Value()};
  },
  .shown_as = "SmoothL1LossBackward0",
};

OP(huber_elements) {
  .signature = "huber_elements(input: Tensor, target: Tensor, delta: Tensor|Number = 1.0) -> Tensor",
  .doc = "Computes Huber's distance of two elements: squared below delta, linear above.",
  .shape = elementwise(floating),
  .run = FORMULA(floats, (x, y, delta), abs(x - y) <= delta ? 0.5 * (x - y) * (x - y)
                                                            : delta * (abs(x - y) - 0.5 * delta)),
  .gradient = [](Gradient& g) -> Values {
    const Value difference = g.input(0) - g.input(1);
    const Value& delta = g.input(2);
    const Value slope = g.grad() * where(le(abs(difference), delta), difference,
                                         delta * sign(difference));
    return {slope, g.needs(1) ? -slope : Value(), Value()};
  },
  .shown_as = "HuberLossBackward0",
};

}  // namespace weft::ops
