"""`cell`: a pure function, or a module's forward, recorded as one op."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any, TypeVar

from weft import _core

Target = TypeVar("Target", bound=Callable[..., Any])


class Watch:
    """Tells whether an attribute of a module, or of one inside it, was set since the last look."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.versions: list[tuple[int, int]] = []

    def __call__(self) -> list[_core.Tensor] | bool | None:
        """Return the module's parameters and buffers if so, None if nothing has changed.

        False means that a module inside has hooks, which a replay would not call.
        """
        parts = list(self.module.modules())
        versions = [(id(part), part.__dict__.get("_version", 0)) for part in parts]
        if versions == self.versions:
            return None
        self.versions = versions
        if any(part._hooks is not None for part in parts if part is not self.module):
            return False
        return [*self.module.parameters(), *self.module.buffers()]


def cell(target: Target) -> Target:
    """Make a function, or the forward of a Module class, one op of the graph.

    The body is run once for each kind of call (shapes, dtypes, nesting of arguments) to see which
    ops it is made of; from then on a call replays those in C++. In a batch, cells of many examples
    run together, op by op. The body must be pure: it may not read values or change anything, and
    it sees the module's parameters and buffers as they are at each call. A body that reads a value,
    draws random numbers or has hooks inside runs as it is.

    Args:
        target: A function of tensors, numbers and tuples or lists of them, or a Module class.

    Example:
        >>> import weft
        >>> @weft.cell
        ... def gate(x, y):
        ...     return x.sigmoid() * y.tanh()
        >>> gate(weft.zeros(2), weft.ones(2))
        tensor([0.3808, 0.3808])
    """
    kind: Any = target
    if not isinstance(target, type):
        kind = _core.Cell(kind, getattr(target, "__name__", "cell"))
    else:
        _make_cell_class(kind)
    return kind


def _make_cell_class(kind: Any) -> None:
    body = kind.forward

    def make(module: Any) -> _core.Cell:
        made = _core.Cell(MethodType(body, module), type(module).__name__, Watch(module))
        module.__dict__["_weft_cell"] = made
        return made

    kind.forward = _core.CellForward(body, body.__name__, make)
