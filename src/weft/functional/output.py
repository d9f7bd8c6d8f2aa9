"""`out=`: results that are written into tensors of the caller's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, cast

from weft import _core
from weft._core import Tensor
from weft.batching.scope import at_once
from weft.functional.facts import can_cast


def write_out(function: Any, result: Any, out: Any) -> Any:
    """Write a result into `out`, and return that.

    Args:
        function: what was called, for errors.
        result: a tensor, or a tuple of them.
        out: a tensor, or a tuple of as many; a tensor of another shape gets the result's.

    Raises:
        TypeError: if `out` is no tensor, or of a dtype that cannot hold the result.
        RuntimeError: if a gradient is needed through it.
    """
    if out is None:
        return result
    if isinstance(result, tuple):
        pairs = zip(cast("tuple[Any, ...]", result), out, strict=True)
        written = [write_out(function, each, target) for each, target in pairs]
        kind = cast("type[Any]", type(cast("Any", result)))
        return kind(*written) if hasattr(kind, "_fields") else tuple(written)
    name = function.__name__
    if not isinstance(out, Tensor):
        raise _core.DTypeError(f"{name}(): out must be a Tensor, not {type(out).__name__}.")
    if _core.is_grad_enabled() and (out.requires_grad or result.requires_grad):
        raise _core.GradientError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, "
            "but one of the arguments requires grad."
        )
    if not can_cast(result.dtype, out.dtype):
        raise _core.DTypeError(
            f"{name}(): result type {result.dtype} can't be cast to out's {out.dtype}."
        )
    if out.shape != result.shape:
        out.data = out.new_empty(result.shape)
    return out.copy_(result)


def takes_out(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a function the keyword `out`."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if "out" not in kwargs:
            return function(*args, **kwargs)
        out = kwargs.pop("out")
        with at_once(args, kwargs, out):
            return write_out(function, function(*args, **kwargs), out)

    return call


_core.set_out_writer(write_out)
