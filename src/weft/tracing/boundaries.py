"""Boundaries: where one step of a running program ends and the next begins.

An observer hears of everything, but inside its callbacks it cannot be exchanged for another. So the
few functions of the core at which a step can end have a stand-in while somebody asks, and cost
nothing otherwise.
"""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Callable, Sequence
from types import CodeType, TracebackType
from typing import Any, Protocol, Self

from weft import _core
from weft._core import Tensor
from weft.batching import mapping

_own_folder = __file__.removesuffix(f"tracing{os.sep}boundaries.py")


class Listener(Protocol):
    """Who is told. It is called between the ops of the program, in the thread that runs it."""

    def ended_backward(self, roots: Sequence[Tensor]) -> None:
        """Hear that the gradients of `roots` are there."""
        ...

    def began_lazy(self) -> None:
        """Hear that a `weft.map` or a `weft.lazy` scope begins."""
        ...

    def ended_map(self, results: Sequence[Tensor]) -> None:
        """Hear that a `weft.map` has computed its results."""
        ...


class Boundaries:
    """Tell a listener of each boundary that this thread passes inside a `with` block.

    Only outermost ones count: not a backward inside a backward (a checkpoint's), not what happens
    inside the examples of a `weft.map`, and not a backward that is itself to be differentiated.

    Args:
        listener: Who is told.
    """

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._thread = 0
        self._depth = 0
        self._originals: dict[str, Callable[..., Any]] = {}

    def __enter__(self) -> Self:
        self._thread = threading.get_ident()
        for name, stand_in in {
            "backward_of_one": self._backward_of_one,
            "run_backward": self._run_backward,
            "set_lazy": self._set_lazy,
            "keep_stacks": self._keep_stacks,
            "run_tensors": self._run_tensors,
        }.items():
            self._originals[name] = getattr(_core, name)
            setattr(_core, name, stand_in)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for name, original in self._originals.items():
            setattr(_core, name, original)
        self._originals.clear()

    @property
    def is_outermost(self) -> bool:
        """Whether the thread is inside of no backward and no `weft.map`."""
        return (
            self._depth == 0 and not mapping.is_running() and threading.get_ident() == self._thread
        )

    def _differentiate(self, name: str, *args: Any) -> Any:
        if threading.get_ident() != self._thread:
            return self._originals[name](*args)
        self._depth += 1
        try:
            return self._originals[name](*args)
        finally:
            self._depth -= 1

    def _backward_of_one(self, root: Tensor) -> None:
        self._differentiate("backward_of_one", root)
        if self.is_outermost:
            self._listener.ended_backward((root,))

    def _run_backward(self, roots: Sequence[Tensor], *args: Any) -> Any:
        results = self._differentiate("run_backward", roots, *args)
        create_graph = args[3]
        if not create_graph and self.is_outermost:
            self._listener.ended_backward(tuple(roots))
        return results

    def _set_lazy(self, enabled: bool) -> bool:
        before = self._originals["set_lazy"](enabled)
        if enabled and not before and self.is_outermost:
            self._listener.began_lazy()
        return before

    def _keep_stacks(self) -> None:
        if self.is_outermost:
            self._listener.began_lazy()
        self._originals["keep_stacks"]()

    def _run_tensors(self, tensors: Sequence[Tensor], *examples: int) -> None:
        self._originals["run_tensors"](tensors, *examples)
        if self.is_outermost:
            self._listener.ended_map(tensors)


_lines: dict[tuple[CodeType, int], str] = {}


def caller_line() -> str:
    """Return the user's line that is running now: "train.py:12"."""
    own = _own_folder
    frame = inspect.currentframe()
    assert frame is not None  # as in every CPython
    while frame.f_back is not None and frame.f_code.co_filename.startswith(own):
        frame = frame.f_back
    place = (frame.f_code, frame.f_lasti)
    if place not in _lines:
        file = frame.f_code.co_filename.replace("\\", "/").rpartition("/")[2]
        _lines[place] = f"{file}:{frame.f_lineno}"
    return _lines[place]
