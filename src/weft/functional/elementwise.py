"""Element-wise functions that are simple formulas of others."""

from __future__ import annotations

import math
from typing import Any

from weft import _core
from weft._core import Tensor
from weft.functional.composite import composite, show_as
from weft.functional.facts import finfo
from weft.functional.joining import broadcast_tensors
from weft.functional.reductions import logsumexp

ops = _core.ops


@composite("SgnBackward0", in_place=True)
def sgn(input: Tensor) -> Tensor:
    """Return -1, 0 or 1 by the sign of each element."""
    return ops.sign(input)


@composite("FmaxBackward0")
def fmax(input: Tensor, other: Tensor) -> Tensor:
    """Return the larger of two elements; a number wins over a NaN."""
    return ops.where(ops.logical_or(ops.ge(input, other), ops.isnan(other)), input, other)


@composite("FminBackward0")
def fmin(input: Tensor, other: Tensor) -> Tensor:
    """Return the smaller of two elements; a number wins over a NaN."""
    return ops.where(ops.logical_or(ops.le(input, other), ops.isnan(other)), input, other)


@composite()
def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Tell where abs(input - other) <= atol + rtol * abs(other).

    Args:
        input: one tensor.
        other: the other.
        rtol: allowed difference as a share of `other`.
        atol: allowed difference on top of it.
        equal_nan: whether two NaN are close.
    """
    if rtol < 0 or atol < 0:
        raise _core.ArgumentError(
            f"isclose(input, other): rtol and atol must not be negative, got {rtol} and {atol}."
        )
    x, y = (
        side.detach() if side.is_floating_point() else side.to(_core.float64)
        for side in (input, other)
    )
    near = ops.le(ops.abs(x - y), atol + ops.abs(rtol * y))
    close = ops.logical_or(ops.eq(x, y), ops.logical_and(near, ops.isfinite(y)))
    if equal_nan:
        close = ops.logical_or(close, ops.logical_and(ops.isnan(x), ops.isnan(y)))
    return close


@composite()
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Tell whether all elements are close.

    Args:
        input: one tensor.
        other: the other.
        rtol: allowed difference as a share of `other`.
        atol: allowed difference on top of it.
        equal_nan: whether two NaN are close.
    """
    return bool(ops.all(isclose(input, other, rtol, atol, equal_nan)))


@composite()
def isposinf(input: Tensor) -> Tensor:
    """Tell which elements are positive infinity."""
    return ops.eq(input, math.inf)


@composite()
def isneginf(input: Tensor) -> Tensor:
    """Tell which elements are negative infinity."""
    return ops.eq(input, -math.inf)


@composite()
def signbit(input: Tensor) -> Tensor:
    """Tell which elements have a negative sign, -0.0 included."""
    if not input.is_floating_point():
        return ops.lt(input, 0)
    return ops.lt(ops.copysign(ops.ones(input.shape, dtype=input.dtype), input.detach()), 0)


@composite(in_place=True)
def logical_xor(input: Tensor, other: Tensor) -> Tensor:
    """Tell where exactly one of two elements is nonzero."""
    return ops.ne(ops.ne(input, 0), ops.ne(other, 0))


@composite(in_place=True)
def lcm(input: Tensor, other: Tensor) -> Tensor:
    """Return the least common multiple of two integers."""
    return ops.abs(ops.div_trunc(input, ops.gcd(input, other)) * other)


@composite(in_place=True)
def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """Round each element to a number of decimals, halves to the even neighbour."""
    if decimals == 0:
        return ops.round(input)
    if not input.is_floating_point():
        raise _core.DTypeError(
            "round(input): decimals can be given for floating-point numbers only, got "
            f"{input.dtype}."
        )
    scale = 10.0 ** abs(decimals)
    result = ops.round(input / scale if decimals < 0 else input * scale)
    result = result * scale if decimals < 0 else result / scale
    show_as(result, "RoundBackward1")
    return result


@composite("FracBackward0", in_place=True)
def frac(input: Tensor) -> Tensor:
    """Return what `trunc` takes away."""
    return input - ops.trunc(input)


@composite("AddcdivBackward0", in_place=True)
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """Compute input + value * tensor1 / tensor2."""
    quotient = ops.div(tensor1, tensor2)
    return ops.add(input, quotient * value)


@composite("Exp2Backward0", in_place=True)
def exp2(input: Tensor) -> Tensor:
    """Raise 2 to the power of each element."""
    return ops.pow(2.0, input)


@composite("TanBackward0", in_place=True)
def tan(input: Tensor) -> Tensor:
    """Return the tangent of each element."""
    return ops.sin(input) / ops.cos(input)


@composite("AtanhBackward0", in_place=True)
def atanh(input: Tensor) -> Tensor:
    """Return the number whose hyperbolic tangent each element is."""
    return 0.5 * ops.log1p(2 * input / (1 - input))


@composite("LogaddexpBackward0")
def logaddexp(input: Tensor, other: Tensor) -> Tensor:
    """Compute log(exp(input) + exp(other)) without overflow."""
    return logsumexp(ops.stack(broadcast_tensors(input, other), -1), -1)


@composite("Logaddexp2Backward0")
def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    """Compute log2(2^input + 2^other) without overflow."""
    return logaddexp(input * math.log(2), other * math.log(2)) / math.log(2)


@composite("SincBackward0", in_place=True)
def sinc(input: Tensor) -> Tensor:
    """Compute sin(pi x) / (pi x), which is 1 at 0."""
    is_zero = ops.eq(input, 0)
    angle = ops.where(is_zero, 1.0, input * math.pi)
    return ops.where(is_zero, 1.0, ops.sin(angle) / angle)


@composite("Deg2RadBackward0", in_place=True)
def deg2rad(input: Tensor) -> Tensor:
    """Convert degrees to radians."""
    return ops.mul(input, math.pi / 180)


@composite("Rad2DegBackward0", in_place=True)
def rad2deg(input: Tensor) -> Tensor:
    """Convert radians to degrees."""
    return ops.mul(input, 180 / math.pi)


@composite("LogitBackward0", in_place=True)
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """Compute log(x / (1 - x)), the inverse of sigmoid.

    Args:
        input: the tensor.
        eps: if given, x is first limited to [eps, 1 - eps].
    """
    x = input if eps is None else ops.clamp(input, eps, 1 - eps)
    return ops.log(x / (1 - x))


@composite("NanToNumBackward0", in_place=True)
def nan_to_num(
    input: Tensor,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor:
    """Replace NaN and the infinities.

    Args:
        input: the tensor.
        nan: what to put for NaN; 0 if not given.
        posinf: what to put for infinity; the largest finite number if not given.
        neginf: what to put for negative infinity; the smallest finite number if not given.
    """
    if not input.is_floating_point():
        return input.clone()
    limits = finfo(input.dtype)
    result = ops.where(ops.isnan(input), 0.0 if nan is None else nan, input)
    result = ops.where(isposinf(result), limits.max if posinf is None else posinf, result)
    return ops.where(isneginf(input), limits.min if neginf is None else neginf, result)


@composite(in_place=True)
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """Return 0 for negative elements, 1 for positive ones, and `values` where input is 0."""
    x = input.detach()
    step: Any = ops.where(ops.isnan(x), x, ops.gt(x, 0).to(x.dtype))
    return ops.where(ops.eq(x, 0), values.detach(), step)
