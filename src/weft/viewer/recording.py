"""The one place where the viewer meets the recorder: runs become traces here."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from weft._core import Tensor
from weft.trace import Trace


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
    record = _recorder().record
    raised: list[BaseException] = []

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            raised.append(error)
            raise

    trace: Trace = record(call, args, kwargs, title=title)
    return trace, raised[0] if raised else None


def trace_tensors(tensors: Sequence[Tensor]) -> Trace:
    """Return the trace of the graph behind tensors, named as the caller's variables are."""
    return _recorder().of_tensors(list(tensors), _names(tensors))


def _recorder() -> Any:
    return sys.modules["weft.trace"]


def _names(tensors: Sequence[Tensor]) -> Mapping[str, Tensor]:
    """Return the tensors by the names that the user's function has for them."""
    frame = inspect.currentframe()
    own = __name__.rpartition(".")[0]
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith(own):
        frame = frame.f_back
    wanted = {id(tensor) for tensor in tensors}
    found = frame.f_locals if frame is not None else {}
    return {
        name: value
        for name, value in found.items()
        if id(value) in wanted and not name.startswith("_")
    }
