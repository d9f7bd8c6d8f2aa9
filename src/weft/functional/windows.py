"""Windows: weights that fade in and out, under the names of `torch.signal.windows`."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from weft import _core
from weft._core import Tensor
from weft.functional.composite import named
from weft.functional.creation import finished, ones

ops = _core.ops


def _window(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Let a window be asked for like other new tensors: by device, layout and requires_grad."""
    checked = named(function)

    @functools.wraps(function)
    def call(
        M: int,
        *,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        **kwargs: Any,
    ) -> Tensor:
        del layout  # there is one
        return finished(checked(M, **kwargs), device, requires_grad)

    return call


def _places(name: str, M: int, dtype: Any) -> Tensor:
    if M < 0:
        raise _core.ArgumentError(f"{name}(M): M must not be negative, but is {M}.")
    dtype = _core.get_default_dtype() if dtype is None else dtype
    if not dtype.is_floating_point:
        raise _core.DTypeError(f"{name}(M): dtype must be floating point, but is {dtype}.")
    return ops.arange(0, 1, M, dtype=dtype)


def _span(M: int, sym: bool) -> int:
    """Return how many steps the window has: a periodic one ends a step after its last element."""
    return M - 1 if sym else M


@_window
def general_cosine(M: int, *, a: Sequence[float], sym: bool = True, dtype: Any = None) -> Tensor:
    """Return a sum of cosines.

    Args:
        M: how many elements.
        a: the weights of the cosines, whose signs alternate.
        sym: whether it is symmetric; otherwise it is one period of a periodic window.
        dtype: the dtype of the result.
    """
    if not a:
        raise _core.ArgumentError("general_cosine(M): a must not be empty.")
    n = _places("general_cosine", M, dtype)
    if M <= 1:
        return ones(M, dtype=n.dtype)
    angle = n * (2 * math.pi / _span(M, sym))
    result = ops.zeros([M], dtype=n.dtype)
    for i, weight in enumerate(a):
        result = result + ops.cos(angle * i) * (-weight if i % 2 else weight)
    return result


@_window
def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, dtype: Any = None) -> Tensor:
    """Return a raised cosine; see `general_cosine`."""
    return general_cosine(M, a=[alpha, 1 - alpha], sym=sym, dtype=dtype)


@_window
def hamming(M: int, *, sym: bool = True, dtype: Any = None) -> Tensor:
    """Return Hamming's window, which does not quite reach zero.

    Example:
        >>> from weft.functional import windows
        >>> windows.hamming(3)
        tensor([0.0800, 1.0000, 0.0800])
    """
    return general_hamming(M, sym=sym, dtype=dtype)


@_window
def hann(M: int, *, sym: bool = True, dtype: Any = None) -> Tensor:
    """Return Hann's window, a raised cosine that reaches zero."""
    return general_hamming(M, alpha=0.5, sym=sym, dtype=dtype)


@_window
def blackman(M: int, *, sym: bool = True, dtype: Any = None) -> Tensor:
    """Return Blackman's window, of three cosines."""
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype)


@_window
def nuttall(M: int, *, sym: bool = True, dtype: Any = None) -> Tensor:
    """Return Nuttall's window, of four cosines."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, dtype=dtype)


@_window
def bartlett(M: int, *, sym: bool = True, dtype: Any = None) -> Tensor:
    """Return a triangle that reaches zero."""
    n = _places("bartlett", M, dtype)
    if M <= 1:
        return ones(M, dtype=n.dtype)
    return 1 - ops.abs(n * (2 / _span(M, sym)) - 1)


@_window
def cosine(M: int, *, sym: bool = True, dtype: Any = None) -> Tensor:
    """Return half a period of a sine."""
    n = _places("cosine", M, dtype)
    return ops.sin((n + 0.5) * (math.pi / (_span(M, sym) + 1))) if M > 1 else ones(M, dtype=n.dtype)


@_window
def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
) -> Tensor:
    """Return a window that falls exponentially on both sides.

    Args:
        M: how many elements.
        center: where it is highest; the middle if not given.
        tau: after how many elements it has fallen to 1 / e.
        sym: whether it is symmetric; then `center` must not be given.
        dtype: the dtype of the result.
    """
    if tau <= 0:
        raise _core.ArgumentError(f"exponential(M): tau must be positive, but is {tau}.")
    if sym and center is not None:
        raise _core.ArgumentError("exponential(M): center must be None when sym is True.")
    n = _places("exponential", M, dtype)
    if M <= 1:
        return ones(M, dtype=n.dtype)
    middle = _span(M, sym) / 2 if center is None else center
    return ops.exp(ops.abs(n - middle) * (-1 / tau))


@_window
def gaussian(M: int, *, std: float = 1.0, sym: bool = True, dtype: Any = None) -> Tensor:
    """Return a bell curve whose standard deviation is `std` elements."""
    if std <= 0:
        raise _core.ArgumentError(f"gaussian(M): std must be positive, but is {std}.")
    n = _places("gaussian", M, dtype)
    if M <= 1:
        return ones(M, dtype=n.dtype)
    off = (n - _span(M, sym) / 2) * (1 / (std * math.sqrt(2)))
    return ops.exp(-off * off)


@_window
def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, dtype: Any = None) -> Tensor:
    """Return Kaiser's window, which has most of its energy at low frequencies.

    Args:
        M: how many elements.
        beta: how narrow it is.
        sym: whether it is symmetric.
        dtype: the dtype of the result.
    """
    if beta < 0:
        raise _core.ArgumentError(f"kaiser(M): beta must not be negative, but is {beta}.")
    n = _places("kaiser", M, dtype)
    if M <= 1:
        return ones(M, dtype=n.dtype)
    half = _span(M, sym) / 2
    off = (n - half) * (1 / half)
    height = ops.i0(ops.full([], beta, dtype=n.dtype))
    return ops.i0(ops.sqrt(ops.clamp_min(1 - off * off, 0.0)) * beta) / height


__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]
