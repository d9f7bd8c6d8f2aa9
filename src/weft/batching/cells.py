"""`cell`: a pure function, or a module's forward, recorded as one op."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from weft import _core

Target = TypeVar("Target", bound=Callable[..., Any])


class Epoch:
    """Counts how often an attribute of any module was set: what a cell has seen may be old then."""

    value = 0


class Replay:
    """What one module's cell has recorded, for as long as no attribute of the module changes."""

    def __init__(self, module: Any, body: Callable[..., Any]) -> None:
        self.modules = list(module.modules())
        self.epoch = Epoch.value
        self.versions = self._versions()
        parameters = [*module.parameters(), *module.buffers()]
        hooked = any(part._hooks is not None for part in self.modules[1:])
        bound = body.__get__(module)
        self.call = bound if hooked else _core.Cell(bound, type(module).__name__, parameters)

    def _versions(self) -> list[int]:
        return [module.__dict__.get("_version", 0) for module in self.modules]

    def is_current(self) -> bool:
        """Tell whether no attribute of the module was set since."""
        if self.epoch == Epoch.value:
            return True
        self.epoch = Epoch.value
        return self.versions == self._versions()

    def __deepcopy__(self, memo: Any) -> None:
        return None

    def __reduce__(self) -> Any:
        return (type(None), ())


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
        kind = _core.Cell(target, getattr(target, "__name__", "cell"), [])
    else:
        kind.forward = _cell_of(kind.forward)
    return kind


def _cell_of(body: Callable[..., Any]) -> Callable[..., Any]:
    names = list(inspect.signature(body).parameters)[1:]

    @wraps(body)
    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            given = dict(zip(names, args, strict=False)) | kwargs
            args = tuple(given[name] for name in names if name in given)
            if names[: len(args)] != list(given):
                return body(self, **given)
        replay = self.__dict__.get("_replay")
        if replay is None or not replay.is_current():
            replay = self.__dict__["_replay"] = Replay(self, body)
        return replay.call(*args)

    return forward
