"""Arithmetic with PyTorch's extra arguments, and comparison of whole tensors."""

from __future__ import annotations

from typing import Any

from weft import _core
from weft._core import Tensor
from weft.functional.checks import wrap_dim
from weft.functional.composite import composite

ops = _core.ops


def _scaled(name: str, input: Any, other: Any, alpha: Any) -> Any:
    """Return `other * alpha`; a fraction does not fit integers."""
    if isinstance(alpha, float):
        for side in (input, other):
            if isinstance(side, Tensor) and not side.is_floating_point():
                raise _core.DTypeError(
                    f"{name}(): alpha must be an integer for tensors of integers; alpha is {alpha}."
                )
    return ops.mul(other, alpha)


def add(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """Return `input + alpha * other`.

    Example:
        >>> import weft
        >>> weft.add(weft.tensor([1, 2]), weft.tensor([10, 20]), alpha=2)
        tensor([21, 42])
    """
    return ops.add(input, other if alpha == 1 else _scaled("add", input, other, alpha))


def add_(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """Add `alpha * other` in place.

    Example:
        >>> import weft
        >>> x = weft.tensor([1.0, 2.0])
        >>> x.add_(10)
        tensor([11., 12.])
        >>> x
        tensor([11., 12.])
    """
    return ops.add_(input, other if alpha == 1 else _scaled("add_", input, other, alpha))


def sub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """Return `input - alpha * other`.

    Example:
        >>> import weft
        >>> weft.sub(weft.tensor([1, 2]), weft.tensor([10, 20]), alpha=2)
        tensor([-19, -38])
    """
    return ops.sub(input, other if alpha == 1 else _scaled("sub", input, other, alpha))


def sub_(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """Subtract `alpha * other` in place.

    Example:
        >>> import weft
        >>> weft.tensor([1.0, 2.0]).sub_(1)
        tensor([0., 1.])
    """
    return ops.sub_(input, other if alpha == 1 else _scaled("sub_", input, other, alpha))


def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """Return `other - alpha * input`.

    Example:
        >>> import weft
        >>> weft.rsub(weft.tensor([1, 2]), 10)  # 10 - x
        tensor([9, 8])
    """
    scaled = input if alpha == 1 else _scaled("rsub", other, input, alpha)
    try:
        return ops.sub(other, scaled)
    except _core.ShapeError:
        raise _core.ShapeError(
            f"rsub(input, other): the shapes do not broadcast; input is {tuple(input.shape)}, "
            f"other is {tuple(other.shape)}"
        ) from None


_QUOTIENTS = {None: "div", "floor": "div_floor", "trunc": "div_trunc"}


def _quotient(rounding_mode: str | None, suffix: str) -> Any:
    if rounding_mode not in _QUOTIENTS:
        raise _core.ArgumentError(
            f"div{suffix}(): rounding_mode must be None, 'floor' or 'trunc', not {rounding_mode!r}."
        )
    return getattr(ops, _QUOTIENTS[rounding_mode] + suffix)


def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """Return `input / other`, rounded down ("floor") or toward zero ("trunc") if asked.

    Example:
        >>> import weft
        >>> x = weft.tensor([-7, 7])
        >>> weft.div(x, 2)
        tensor([-3.5000,  3.5000])
        >>> weft.div(x, 2, rounding_mode="floor")
        tensor([-4,  3])
    """
    if rounding_mode is None:
        return ops.div(input, other)
    return _quotient(rounding_mode, "")(input, other)


def div_(input: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """Divide in place; see `div`.

    Example:
        >>> import weft
        >>> weft.tensor([-7.0, 7.0]).div_(2, rounding_mode="trunc")
        tensor([-3.,  3.])
    """
    if rounding_mode is None:
        return ops.div_(input, other)
    return _quotient(rounding_mode, "_")(input, other)


def _as_double(value: Any) -> Any:
    return value.to(_core.float64) if isinstance(value, Tensor) else float(value)


def float_power(input: Any, exponent: Any) -> Tensor:
    """Return `input ** exponent`, computed in float64.

    Example:
        >>> import weft
        >>> weft.float_power(weft.tensor([1, 2]), 3).dtype  # always in double precision
        weft.float64
    """
    return ops.pow(_as_double(input), _as_double(exponent))


def positive(input: Tensor) -> Tensor:
    """Return the input as it is; booleans have no sign.

    Example:
        >>> import weft
        >>> weft.positive(weft.tensor([-1, 2]))
        tensor([-1,  2])
    """
    if input.dtype is _core.bool:
        raise _core.DTypeError("positive(): input must not be a tensor of bool.")
    return input


def equal(input: Tensor, other: Tensor) -> bool:
    """Tell whether two tensors have the same shape and the same elements.

    Example:
        >>> import weft
        >>> weft.equal(weft.tensor([1, 2]), weft.tensor([1, 2]))  # one bool, not one per element
        True
    """
    if tuple(input.shape) != tuple(other.shape):
        return False
    return bool(ops.all(ops.eq(input, other)))


def isreal(input: Tensor) -> Tensor:
    """Tell for each element whether it is real: all are.

    Example:
        >>> import weft
        >>> weft.isreal(weft.tensor([1.0, 2.0]))
        tensor([True, True])
    """
    return ops.ones(input.shape, dtype=_core.bool)


@composite()
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Return the first half along a dimension, gated by the sigmoid of the second half.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.glu(weft.tensor([3.0, 0.0]))  # the first half times the sigmoid of the second
        tensor([1.5000])
    """
    if input.ndim == 0:
        raise _core.ShapeError("glu(input): input must have at least one dimension.")
    size = input.shape[wrap_dim(dim, input.ndim)]
    if size % 2:
        raise _core.ShapeError(
            f"glu(input): input must have an even size along dim; it is {size} of "
            f"{tuple(input.shape)}."
        )
    value, gate = ops.split_with_sizes(input, [size // 2, size // 2], dim)
    return value * ops.sigmoid(gate)


def renamed(function: Any, name: str, alias: str) -> Any:
    """Give a function another name, in the text of its errors too."""

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (RuntimeError, TypeError) as error:
            text = str(error)
            if not text.startswith(f"{name}("):
                raise
            raise type(error)(alias + text.removeprefix(name)) from None

    call.__name__ = call.__qualname__ = alias
    call.__doc__ = f"Do what `{name}` does."
    call.__wrapped__ = function  # type: ignore[attr-defined] # its signature, for stubs and docs
    return call
