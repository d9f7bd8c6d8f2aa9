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
    """Return -1, 0 or 1 by the sign of each element.

    Example:
        >>> import weft
        >>> weft.sgn(weft.tensor([-3.0, 0.0, 2.0]))
        tensor([-1.,  0.,  1.])
    """
    return ops.sign(input)


@composite("FmaxBackward0")
def fmax(input: Tensor, other: Tensor) -> Tensor:
    """Return the larger of two elements; a number wins over a NaN.

    Example:
        >>> import weft
        >>> weft.fmax(weft.tensor([1.0, weft.nan]), weft.tensor([3.0, 2.0]))  # nan loses
        tensor([3., 2.])
    """
    return ops.where(ops.logical_or(ops.ge(input, other), ops.isnan(other)), input, other)


@composite("FminBackward0")
def fmin(input: Tensor, other: Tensor) -> Tensor:
    """Return the smaller of two elements; a number wins over a NaN.

    Example:
        >>> import weft
        >>> weft.fmin(weft.tensor([1.0, weft.nan]), weft.tensor([3.0, 2.0]))
        tensor([1., 2.])
    """
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

    Example:
        >>> import weft
        >>> weft.isclose(weft.tensor([1.0, 2.0]), weft.tensor([1.001, 2.0]), rtol=1e-2)
        tensor([True, True])
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

    Example:
        >>> import weft
        >>> weft.allclose(weft.tensor([1.0]), weft.tensor([1.001]), atol=1e-2)
        True
    """
    return bool(ops.all(isclose(input, other, rtol, atol, equal_nan)))


@composite()
def isposinf(input: Tensor) -> Tensor:
    """Tell which elements are positive infinity.

    Example:
        >>> import weft
        >>> weft.isposinf(weft.tensor([weft.inf, -weft.inf, 1.0]))
        tensor([ True, False, False])
    """
    return ops.eq(input, math.inf)


@composite()
def isneginf(input: Tensor) -> Tensor:
    """Tell which elements are negative infinity.

    Example:
        >>> import weft
        >>> weft.isneginf(weft.tensor([weft.inf, -weft.inf, 1.0]))
        tensor([False,  True, False])
    """
    return ops.eq(input, -math.inf)


@composite()
def signbit(input: Tensor) -> Tensor:
    """Tell which elements have a negative sign, -0.0 included.

    Example:
        >>> import weft
        >>> weft.signbit(weft.tensor([-0.0, 0.0, -2.0]))
        tensor([ True, False,  True])
    """
    if not input.is_floating_point():
        return ops.lt(input, 0)
    return ops.lt(ops.copysign(ops.ones(input.shape, dtype=input.dtype), input.detach()), 0)


@composite(in_place=True)
def logical_xor(input: Tensor, other: Tensor) -> Tensor:
    """Tell where exactly one of two elements is nonzero.

    Example:
        >>> import weft
        >>> weft.logical_xor(weft.tensor([True, True]), weft.tensor([True, False]))
        tensor([False,  True])
    """
    return ops.ne(ops.ne(input, 0), ops.ne(other, 0))


@composite(in_place=True)
def lcm(input: Tensor, other: Tensor) -> Tensor:
    """Return the least common multiple of two integers.

    Example:
        >>> import weft
        >>> weft.lcm(weft.tensor([4, 6]), weft.tensor([6, 10]))
        tensor([12, 30])
    """
    return ops.abs(ops.div_trunc(input, ops.gcd(input, other)) * other)


@composite(in_place=True)
def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """Round each element to a number of decimals, halves to the even neighbour.

    Example:
        >>> import weft
        >>> weft.round(weft.tensor([0.5, 1.5]))  # halves go to the even number
        tensor([0., 2.])
        >>> weft.round(weft.tensor([3.14159]), decimals=2)
        tensor([3.1400])
    """
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
    """Return what `trunc` takes away.

    Example:
        >>> import weft
        >>> weft.frac(weft.tensor([1.25, -1.25]))
        tensor([ 0.2500, -0.2500])
    """
    return input - ops.trunc(input)


@composite("AddcdivBackward0", in_place=True)
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """Compute input + value * tensor1 / tensor2.

    Example:
        >>> import weft
        >>> weft.addcdiv(weft.tensor([1.0]), weft.tensor([6.0]), weft.tensor([3.0]), value=10)
        tensor([21.])
    """
    quotient = ops.div(tensor1, tensor2)
    return ops.add(input, quotient * value)


@composite("Exp2Backward0", in_place=True)
def exp2(input: Tensor) -> Tensor:
    """Raise 2 to the power of each element.

    Example:
        >>> import weft
        >>> weft.exp2(weft.tensor([0.0, 3.0]))
        tensor([1., 8.])
    """
    return ops.pow(2.0, input)


@composite("TanBackward0", in_place=True)
def tan(input: Tensor) -> Tensor:
    """Return the tangent of each element.

    Example:
        >>> import weft
        >>> weft.tan(weft.tensor([0.0, 1.0]))
        tensor([0.0000, 1.5574])
    """
    return ops.sin(input) / ops.cos(input)


@composite("AtanhBackward0", in_place=True)
def atanh(input: Tensor) -> Tensor:
    """Return the number whose hyperbolic tangent each element is.

    Example:
        >>> import weft
        >>> weft.atanh(weft.tensor([0.0, 0.5]))
        tensor([0.0000, 0.5493])
    """
    return 0.5 * ops.log1p(2 * input / (1 - input))


@composite("LogaddexpBackward0")
def logaddexp(input: Tensor, other: Tensor) -> Tensor:
    """Compute log(exp(input) + exp(other)) without overflow.

    Example:
        >>> import weft
        >>> weft.logaddexp(weft.tensor([1000.0]), weft.tensor([1000.0]))  # nothing overflows
        tensor([1000.6932])
    """
    return logsumexp(ops.stack(broadcast_tensors(input, other), -1), -1)


@composite("Logaddexp2Backward0")
def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    """Compute log2(2^input + 2^other) without overflow.

    Example:
        >>> import weft
        >>> weft.logaddexp2(weft.tensor([3.0]), weft.tensor([3.0]))
        tensor([4.])
    """
    return logaddexp(input * math.log(2), other * math.log(2)) / math.log(2)


@composite("SincBackward0", in_place=True)
def sinc(input: Tensor) -> Tensor:
    """Compute sin(pi x) / (pi x), which is 1 at 0.

    Example:
        >>> import weft
        >>> weft.sinc(weft.tensor([0.0, 0.5]))
        tensor([1.0000, 0.6366])
    """
    is_zero = ops.eq(input, 0)
    angle = ops.where(is_zero, 1.0, input * math.pi)
    return ops.where(is_zero, 1.0, ops.sin(angle) / angle)


@composite("Deg2RadBackward0", in_place=True)
def deg2rad(input: Tensor) -> Tensor:
    """Convert degrees to radians.

    Example:
        >>> import weft
        >>> weft.deg2rad(weft.tensor([180.0]))
        tensor([3.1416])
    """
    return ops.mul(input, math.pi / 180)


@composite("Rad2DegBackward0", in_place=True)
def rad2deg(input: Tensor) -> Tensor:
    """Convert radians to degrees.

    Example:
        >>> import weft
        >>> weft.rad2deg(weft.tensor([3.14159265]))
        tensor([180.])
    """
    return ops.mul(input, 180 / math.pi)


@composite("LogitBackward0", in_place=True)
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """Compute log(x / (1 - x)), the inverse of sigmoid.

    Args:
        input: the tensor.
        eps: if given, x is first limited to [eps, 1 - eps].

    Example:
        >>> import weft
        >>> weft.logit(weft.tensor([0.5, 1.0]), eps=0.01)
        tensor([0.0000, 4.5951])
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

    Example:
        >>> import weft
        >>> weft.nan_to_num(weft.tensor([weft.nan, weft.inf]), posinf=9.0)
        tensor([0., 9.])
    """
    if not input.is_floating_point():
        return input.clone()
    limits = finfo(input.dtype)
    result = ops.where(ops.isnan(input), 0.0 if nan is None else nan, input)
    result = ops.where(isposinf(result), limits.max if posinf is None else posinf, result)
    return ops.where(isneginf(input), limits.min if neginf is None else neginf, result)


@composite(in_place=True)
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """Return 0 for negative elements, 1 for positive ones, and `values` where input is 0.

    Example:
        >>> import weft
        >>> weft.heaviside(weft.tensor([-1.0, 0.0, 1.0]), weft.tensor([0.5]))
        tensor([0.0000, 0.5000, 1.0000])
    """
    x = input.detach()
    step: Any = ops.where(ops.isnan(x), x, ops.gt(x, 0).to(x.dtype))
    return ops.where(ops.eq(x, 0), values.detach(), step)
