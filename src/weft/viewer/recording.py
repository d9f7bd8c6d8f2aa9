"""The one place where the viewer meets the recorder: runs become traces here."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from weft import _core
from weft._core import Tensor
from weft.tracing import Trace, of_tensors, record


def record_call(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], title: str
) -> tuple[Trace, BaseException | None]:
    """Call a function and return the trace, and what the function raised.

    Args:
        function: A function or module.
        args: Its arguments.
        kwargs: Its arguments by name.
        title: The title of the trace.
    """
    run = record(function, args, kwargs, title=title)
    return run.trace(), run.failure


def trace_tensors(tensors: Sequence[Tensor]) -> Trace:
    """Return the trace of the graph behind tensors, named as the caller's variables are."""
    return of_tensors(tensors, _names())


def _names() -> Mapping[str, Tensor]:
    """Return the tensors that the user's function has names for."""
    frame = inspect.currentframe()
    own = __name__.rpartition(".")[0]
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith(own):
        frame = frame.f_back
    found = frame.f_locals if frame is not None else {}
    return {
        name: value
        for name, value in found.items()
        if isinstance(value, Tensor) and not name.startswith("_") and not _core.is_pending(value)
    }
