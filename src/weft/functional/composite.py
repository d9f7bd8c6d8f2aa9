"""The decorator of functions that are made of ops and behave like one.

Such a function names itself in the errors of its parts, its last node goes by the name that PyTorch
gives it, and it has an in-place form where PyTorch has one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from weft import _core
from weft._core import Tensor
from weft.batching.scope import at_once
from weft.functional.output import write_out
from weft.functional.row_by_row import row_by_row

ops = _core.ops

_Function = TypeVar("_Function", bound=Callable[..., Any])

# By name: the composites, those that are methods too, and the in-place forms of some.
COMPOSITES: dict[str, Callable[..., Any]] = {}
COMPOSITE_METHODS: dict[str, Callable[..., Any]] = {}
WRITERS: dict[str, Callable[..., Any]] = {}


def composite(
    shown_as: str | None = None, *, in_place: bool = False, reads_values: bool = False
) -> Callable[[_Function], _Function]:
    """Make a function of tensors behave like an op.

    Args:
        shown_as: the name of the result's `grad_fn`; that of the last part if not given.
        in_place: whether there is a form with a trailing underscore, which writes its first
            argument.
        reads_values: whether it must run row by row inside vmap.
    """

    def decorate(function: _Function) -> _Function:
        name = function.__name__
        body = row_by_row(function) if reads_values else function

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            out = kwargs.pop("out") if "out" in kwargs else None
            if out is not None and _core.is_lazy():
                with at_once(args, kwargs, out):
                    return call(*args, **kwargs, out=out)
            try:
                result = body(*args, **kwargs)
            except (AttributeError, RuntimeError, TypeError) as error:
                text = str(error)
                if text.startswith(f"{name}("):
                    raise
                if name in COMPOSITE_METHODS and args and not isinstance(args[0], Tensor):
                    kind = type(args[0]).__name__
                    raise _core.DTypeError(
                        f"{name}(): argument 'input' must be a Tensor, not {kind}"
                    ) from None
                if isinstance(error, AttributeError):
                    raise
                raise type(error)(f"{name}(): {text}") from None
            if shown_as is not None:
                show_as(result, shown_as)
            return result if out is None else write_out(call, result, out)

        _core.set_composite(call)
        COMPOSITES[name] = call
        # As with ops: what takes a tensor `input` first is a method.
        if function.__code__.co_varnames[0] == "input":
            COMPOSITE_METHODS[name] = call
        if in_place:
            WRITERS[f"{name}_"] = _writer(call, f"{name}_", shown_as)
        return call  # type: ignore[return-value] # it has the function's signature

    return decorate


def named(function: _Function) -> _Function:
    """Let the errors of a function's parts name the function, not the part."""
    name = function.__name__
    body: Any = getattr(function, "__wrapped__", function)
    takes_matrices = body.__code__.co_varnames[:1] == ("A",)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if takes_matrices and args and isinstance(args[0], str | int | float | None):
            raise _core.DTypeError(f"{name}(A): A must be a Tensor, not {type(args[0]).__name__}.")
        try:
            return function(*args, **kwargs)
        except RuntimeError as error:
            heading, _, words = str(error).partition("): ")
            if not words or heading.startswith(f"{name}("):
                raise
            raise type(error)(f"{name}(): {words}") from None

    return call  # type: ignore[return-value] # it has the function's signature


def show_as(result: Any, name: str) -> None:
    """Let the last node of a result, or of each tensor of a tuple, go by a name."""
    for tensor in (result,) if isinstance(result, Tensor) else result:
        _core.show_as(tensor, name)


def _writer(function: Callable[..., Any], name: str, shown_as: str | None) -> Callable[..., Any]:
    def call(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        # What is pending, and no view, is written without waiting for values.
        waits_not = _core.is_pending(input) and input._base is None
        if not _core.is_lazy() or (
            waits_not and (_core.is_grad_enabled() or not input.requires_grad)
        ):
            return write(input, *args, **kwargs)
        with at_once(input, args, kwargs):
            return write(input, *args, **kwargs)

    def write(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        # What the parts save must stay as it was before the write.
        recorded = _core.is_grad_enabled() and any(
            isinstance(arg, Tensor) and arg.requires_grad for arg in (input, *args)
        )
        try:
            result = function(input.clone() if recorded else input, *args, **kwargs)
        except (RuntimeError, TypeError) as error:
            raise type(error)(name + str(error).removeprefix(name[:-1])) from None
        if result.is_floating_point() and not input.is_floating_point():
            raise _core.DTypeError(
                f"{name}(): result type {result.dtype} can't be cast to input's {input.dtype}."
            )
        try:
            ops.copy_(input, result)
        except _core.GradientError as error:
            raise _core.GradientError(str(error).replace("copy_", name, 1)) from None
        if shown_as is not None:
            show_as(input, shown_as)
        return input

    functools.update_wrapper(call, function)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Write the result of `{name[:-1]}` over `input`."
    return call
