// Arithmetic, comparison, logic and choice, element by element.
#include "ops.h"
#include "weft/tensor/promotion.h"

namespace weft::ops {
using namespace graph;
using base::ErrorKind;

namespace {

constexpr std::string_view constant_result = "its result is constant almost everywhere";

// Zeros like a gradient, also where that is infinite.
Value zeros_of(const Value& gradient) { return where(lt(gradient, gradient), gradient, 0); }

// A number in the gradient's dtype: by itself it is computed with in the default one, which may be
// narrower. Tensors are as they are.
Value in_dtype_of(const Value& gradient, const Value& operand) {
  if (!operand->is_number) return operand;
  const Value number = where(lt(gradient, gradient), gradient, operand);
  return number->requires_grad ? graph::detach(number) : number;
}

// Of the larger or smaller of two: equal ones share the gradient evenly.
Values extreme_gradient(Gradient& g, bool largest) {
  const Value &x = g.input(0), &y = g.input(1);
  const Value shared = where(eq(x, y), g.grad() * 0.5, g.grad());
  const Value below = where(lt(x, y), 0, shared), above = where(gt(x, y), 0, shared);
  return largest ? Values{below, above} : Values{above, below};
}

// Quotients of integers have no value for a divisor that is zero. A number is seen here; an element of
// a tensor is not, and gives 0.
void infer_quotient(Call& call) {
  infer_elementwise(call, numeric);
  const Value& other = call[1];
  const bool is_zero = other->is_number && other.dtype() == DType::i64 &&
                       *other.array().as<int64_t>() == 0;
  call.require(!is_zero || tensor::is_floating(call.compute), ErrorKind::value,
               "ZeroDivisionError: other is zero, and integers cannot be divided by zero");
}

// A formula that tells something of each element.
Declaration predicate(std::string_view doc, Formula formula) {
  return {{}, doc, elementwise(boolean), formula, no_gradient(constant_result)};
}

Declaration of_integers(std::string_view doc, Formula formula) {
  return {.doc = doc, .run = formula, .gradient = no_gradient("its operands are integers")};
}

}  // namespace

// --- arithmetic -----------------------------------------------------------------------------------

OP(add, "(input: Tensor|Number, other: Tensor|Number) -> Tensor") {
  .doc = "Adds two tensors.",
  .run = FORMULA(numbers, (x, y), x + y),
  .gradient = [](Gradient& g) -> Values { return {g.grad(), g.grad()}; },
};

OP(sub, "(input: Tensor|Number, other: Tensor|Number) -> Tensor") {
  .doc = "Subtracts other from input.",
  .shape = elementwise(numeric),
  .run = FORMULA(numbers, (x, y), x - y),
  .gradient = [](Gradient& g) -> Values {
    return {g.grad(), g.needs(1) ? -g.grad() : Value()};
  },
};

OP(mul, "(input: Tensor|Number, other: Tensor|Number) -> Tensor") {
  .doc = "Multiplies two tensors.",
  .run = FORMULA(numbers, (x, y), x * y),
  .gradient = [](Gradient& g) -> Values {
    return {g.needs(0) ? g.grad() * g.input(1) : Value(),
            g.needs(1) ? g.grad() * g.input(0) : Value()};
  },
};

OP(div, "(input: Tensor|Number, other: Tensor|Number) -> Tensor") {
  .doc = "Divides input by other; integers give floating-point quotients.",
  .run = FORMULA(floats, (x, y), x / y),
  .gradient = [](Gradient& g) -> Values {
    const Value over = g.grad() / g.input(1);
    return {over, g.needs(1) ? -over * g.output() : Value()};
  },
};

OP(div_floor, "(input: Tensor|Number, other: Tensor|Number) -> Tensor") {
  .doc = "Divides and rounds down: div with rounding_mode='floor'.",
  .shape = infer_quotient,
  .run = FORMULA(numbers, (x, y), floor_divide(x, y)),
  .gradient = [](Gradient& g) -> Values {
    const Value zeros = zeros_of(g.grad());
    return {zeros, zeros};
  },
  .shown_as = "DivBackward0",
};

OP(div_trunc, "(input: Tensor|Number, other: Tensor|Number) -> Tensor") {
  .doc = "Divides and rounds toward zero: div with rounding_mode='trunc'.",
  .shape = infer_quotient,
  .run = FORMULA(numbers, (x, y), trunc(x / y)),
  .gradient = [](Gradient& g) -> Values {
    const Value zeros = zeros_of(g.grad());
    return {zeros, zeros};
  },
  .shown_as = "DivBackward0",
};

OP(floor_divide, "(input: Tensor|Number, other: Tensor|Number) -> Tensor") {
  .doc = "Divides and rounds down. Integers divided by zero give 0.",
  .shape = infer_quotient,
  .run = FORMULA(numbers, (x, y), floor_divide(x, y)),
  .gradient = no_gradient(constant_result),
};

OP(remainder, "(input: Tensor|Number, other: Tensor|Number) -> Tensor") {
  .doc = "Computes Python's modulus: the remainder has the sign of other.",
  .shape = infer_quotient,
  .run = FORMULA(numbers, (x, y), remainder(x, y)),
  .gradient = [](Gradient& g) -> Values {
    return {g.grad(),
            g.needs(1) ? -g.grad() * div_floor(g.input(0), g.input(1)) : Value()};
  },
};

OP(fmod, "(input: Tensor|Number, other: Tensor|Number) -> Tensor") {
  .doc = "Computes C's remainder, which has the sign of input.",
  .shape = infer_quotient,
  .run = FORMULA(numbers, (x, y), fmod(x, y)),
  .gradient = [](Gradient& g) -> Values {
    return {g.grad(),
            g.needs(1) ? -g.grad() * div_trunc(g.input(0), g.input(1)) : Value()};
  },
};

OP(pow, "(input: Tensor|Number, exponent: Tensor|Number) -> Tensor") {
  .doc = "Raises input to the power of exponent.",
  .shape = [](Call& call) {
    infer_elementwise(call, promoted);
    const Value& exponent = call[1];
    call.require(!exponent->is_number || exponent.dtype() != DType::i64 ||
                     tensor::is_floating(call.compute) || *exponent.array().as<int64_t>() >= 0,
                 ErrorKind::value, "Integers to negative integer powers are not allowed.");
  },
  .run = FORMULA(numbers, (x, y), pow(x, y)),
  .gradient = [](Gradient& g) -> Values {
    const Value x = in_dtype_of(g.grad(), g.input(0)), y = in_dtype_of(g.grad(), g.input(1));
    Values result(2);
    if (g.needs(0)) result[0] = where(eq(y, 0), 0, g.grad() * (y * pow(x, y - 1)));
    if (g.needs(1)) {
      // 0^y is 0 for all y near a positive one.
      const Value slope = where(eq(x, 0), where(ge(y, 0), 0, log(x)), g.output() * log(x));
      result[1] = g.grad() * slope;
    }
    return result;
  },
};

OP(neg, "(input: Tensor) -> Tensor") {
  .doc = "Turns the sign of each element.",
  .shape = elementwise(numeric),
  .run = FORMULA(numbers, (x), -x),
  .gradient = [](Gradient& g) -> Values { return {-g.grad()}; },
};

OP(abs, "(input: Tensor) -> Tensor") {
  .doc = "Returns the absolute value of each element.",
  .shape = elementwise(numeric),
  .run = FORMULA(numbers, (x), abs(x)),
  .gradient = [](Gradient& g) -> Values { return {g.grad() * sign(g.input())}; },
};

OP(sign, "(input: Tensor) -> Tensor") {
  .doc = "Returns -1, 0 or 1 by the sign of each element.",
  .run = FORMULA(numbers, (x), sign(x)),
  .gradient = [](Gradient& g) -> Values { return {zeros_of(g.grad())}; },
};

OP(square, "(input: Tensor) -> Tensor") {
  .doc = "Multiplies each element by itself.",
  .shape = elementwise(counted),
  .run = FORMULA(numbers, (x), x * x),
  .gradient = [](Gradient& g) -> Values { return {g.grad() * (2 * g.input())}; },
  .shown_as = "PowBackward0",
};

OP(reciprocal, "(input: Tensor) -> Tensor") {
  .doc = "Returns 1 / input.",
  .run = FORMULA(floats, (x), 1 / x),
  .gradient = [](Gradient& g) -> Values { return {-g.grad() * (g.output() * g.output())}; },
};

OP(addcmul,
   "(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Tensor|Number = 1) -> Tensor") {
  .doc = "Computes input + value * tensor1 * tensor2.",
  .run = FORMULA(numbers, (x, a, b, value), x + value * a * b),
  .gradient = [](Gradient& g) -> Values {
    Values result(4);
    result[0] = g.grad();
    if (g.needs(1)) result[1] = g.grad() * (g.input(2) * g.input(3));
    if (g.needs(2)) result[2] = g.grad() * (g.input(1) * g.input(3));
    if (g.needs(3)) result[3] = g.grad() * (g.input(1) * g.input(2));
    return result;
  },
};

OP(lerp, "(input: Tensor, end: Tensor, weight: Tensor|Number) -> Tensor") {
  .doc = "Interpolates between input (weight 0) and end (weight 1).",
  .run = FORMULA(floats, (x, y, w), abs(w) < 0.5 ? x + w * (y - x) : y - (y - x) * (1 - w)),
  .gradient = [](Gradient& g) -> Values {
    Values result(3);
    if (g.needs(0)) result[0] = g.grad() - g.grad() * g.input(2);
    if (g.needs(1)) result[1] = g.grad() * g.input(2);
    if (g.needs(2)) result[2] = g.grad() * (g.input(1) - g.input(0));
    return result;
  },
};

// --- choice ---------------------------------------------------------------------------------------

OP(where, "(condition: Tensor, input: Tensor|Number, other: Tensor|Number) -> Tensor") {
  .doc = "Takes elements of input where condition holds, of other where it does not.",
  .shape = elementwise(promoted, 1),
  .run = FORMULA(numbers, (c, x, y), c != 0 ? x : y),
  .gradient = [](Gradient& g) -> Values {
    return {Value(), g.needs(1) ? where(g.input(0), g.grad(), 0) : Value(),
            g.needs(2) ? where(g.input(0), 0, g.grad()) : Value()};
  },
};

OP(maximum, "(input: Tensor, other: Tensor) -> Tensor") {
  .doc = "Returns the larger of two elements; a NaN wins. At equal ones each gets half of the "
         "gradient.",
  .run = FORMULA(numbers, (x, y), max(x, y)),
  .gradient = [](Gradient& g) -> Values { return extreme_gradient(g, true); },
};

OP(minimum, "(input: Tensor, other: Tensor) -> Tensor") {
  .doc = "Returns the smaller of two elements; a NaN wins. At equal ones each gets half of the "
         "gradient.",
  .run = FORMULA(numbers, (x, y), min(x, y)),
  .gradient = [](Gradient& g) -> Values { return extreme_gradient(g, false); },
};

OP(clamp_min, "(input: Tensor, min: Tensor|Number) -> Tensor") {
  .doc = "Raises elements that are below min to min.",
  .run = FORMULA(numbers, (x, low), max(x, low)),
  .gradient = [](Gradient& g) -> Values {
    const Value &x = g.input(0), &low = g.input(1);
    return {where(ge(x, low), g.grad(), 0), g.needs(1) ? where(lt(x, low), g.grad(), 0) : Value()};
  },
};

OP(clamp_max, "(input: Tensor, max: Tensor|Number) -> Tensor") {
  .doc = "Lowers elements that are above max to max.",
  .run = FORMULA(numbers, (x, high), min(x, high)),
  .gradient = [](Gradient& g) -> Values {
    const Value &x = g.input(0), &high = g.input(1);
    return {where(le(x, high), g.grad(), 0),
            g.needs(1) ? where(gt(x, high), g.grad(), 0) : Value()};
  },
};

OP(clamp_range, "(input: Tensor, min: Tensor|Number, max: Tensor|Number) -> Tensor") {
  .doc = "Limits elements to the range from min to max; max wins where min is larger.",
  .run = FORMULA(numbers, (x, low, high), min(max(x, low), high)),
  .gradient = [](Gradient& g) -> Values {
    const Value &x = g.input(0), &low = g.input(1), &high = g.input(2);
    Values result(3);
    if (g.needs(0)) result[0] = where(ge(x, low), where(le(x, high), g.grad(), 0), 0);
    if (g.needs(1)) result[1] = where(lt(x, low), where(lt(low, high), g.grad(), 0), 0);
    if (g.needs(2)) result[2] = where(gt(maximum(x, low), high), g.grad(), 0);
    return result;
  },
  .shown_as = "ClampBackward1",
};

OP(clamp, "(input: Tensor, min: Tensor|Number? = None, max: Tensor|Number? = None) -> Tensor") {
  .doc = "Limits elements to the range from min to max. The gradient passes at the bounds.",
  .run = composite([](const Call& call) -> Values {
    call.require(call[1] || call[2], ErrorKind::value, "at least one of min and max must be given");
    if (!call[2]) return {clamp_min(call[0], call[1])};
    if (!call[1]) return {clamp_max(call[0], call[2])};
    return {clamp_range(call[0], call[1], call[2])};
  }),
};

// --- comparison -----------------------------------------------------------------------------------

OP(eq, "(input: Tensor|Number, other: Tensor|Number) -> Tensor") {predicate(
  "Tells where input equals other.",
  FORMULA(numbers, (x, y), x == y))};

OP(ne, "(input: Tensor|Number, other: Tensor|Number) -> Tensor") {predicate(
  "Tells where input differs from other.",
  FORMULA(numbers, (x, y), x != y))};

OP(lt, "(input: Tensor|Number, other: Tensor|Number) -> Tensor") {predicate(
  "Tells where input is less than other.",
  FORMULA(numbers, (x, y), x < y))};

OP(le, "(input: Tensor|Number, other: Tensor|Number) -> Tensor") {predicate(
  "Tells where input is less than or equal to other.",
  FORMULA(numbers, (x, y), x <= y))};

OP(gt, "(input: Tensor|Number, other: Tensor|Number) -> Tensor") {predicate(
  "Tells where input is greater than other.",
  FORMULA(numbers, (x, y), x > y))};

OP(ge, "(input: Tensor|Number, other: Tensor|Number) -> Tensor") {predicate(
  "Tells where input is greater than or equal to other.",
  FORMULA(numbers, (x, y), x >= y))};

OP(isnan, "(input: Tensor) -> Tensor") {predicate(
  "Tells which elements are NaN.",
  FORMULA(numbers, (x), isnan(x)))};

OP(isinf, "(input: Tensor) -> Tensor") {predicate(
  "Tells which elements are infinite.",
  FORMULA(numbers, (x), isinf(x)))};

OP(isfinite, "(input: Tensor) -> Tensor") {predicate(
  "Tells which elements are neither infinite nor NaN.",
  FORMULA(numbers, (x), !(isinf(x) || isnan(x))))};

// --- logic and bits -------------------------------------------------------------------------------

OP(logical_and, "(input: Tensor, other: Tensor) -> Tensor") {predicate(
  "Tells where both elements are nonzero.",
  FORMULA(numbers, (x, y), x != 0 && y != 0))};

OP(logical_or, "(input: Tensor, other: Tensor) -> Tensor") {predicate(
  "Tells where an element of the two is nonzero.",
  FORMULA(numbers, (x, y), x != 0 || y != 0))};

OP(logical_not, "(input: Tensor) -> Tensor") {predicate(
  "Tells which elements are zero.",
  FORMULA(numbers, (x), x == 0))};

OP(bitwise_and, "(input: Tensor|Number, other: Tensor|Number) -> Tensor") {of_integers(
  "Combines the bits of two integers by and; for bool it is logical and.",
  FORMULA(integers, (x, y), x & y))};

OP(bitwise_or, "(input: Tensor|Number, other: Tensor|Number) -> Tensor") {of_integers(
  "Combines the bits of two integers by or; for bool it is logical or.",
  FORMULA(integers, (x, y), x | y))};

OP(bitwise_xor, "(input: Tensor|Number, other: Tensor|Number) -> Tensor") {of_integers(
  "Combines the bits of two integers by exclusive or; for bool it is logical xor.",
  FORMULA(integers, (x, y), x ^ y))};

OP(bitwise_not, "(input: Tensor) -> Tensor") {
  .doc = "Turns every bit of an integer; for bool it is logical not.",
  .run = composite([](const Call& call) -> Values {
    const DType dtype = call[0].dtype();
    call.require(!tensor::is_floating(dtype), ErrorKind::dtype, "needs integers or bool, got ",
                 tensor::name_of(dtype));
    if (dtype == DType::boolean) return {logical_not(call[0])};
    return {bitwise_xor(call[0], -1)};
  }),
};

OP(bitwise_left_shift, "(input: Tensor|Number, other: Tensor|Number) -> Tensor") {of_integers(
  "Shifts bits to the left by other places. A shift by more bits than there are gives 0.",
  FORMULA(integers, (x, y), shift_left(x, y)))};

OP(bitwise_right_shift, "(input: Tensor|Number, other: Tensor|Number) -> Tensor") {of_integers(
  "Shifts bits to the right by other places; the sign stays.",
  FORMULA(integers, (x, y), shift_right(x, y)))};

OP(gcd, "(input: Tensor, other: Tensor) -> Tensor") {of_integers(
  "Returns the greatest common divisor of two integers.",
  FORMULA(integers, (x, y), gcd(x, y)))};

}  // namespace weft::ops
