"""Functions that are mapped often and seen to be pure: replayed as cells that nobody declared."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from types import CodeType, FunctionType, MethodType
from typing import Any, cast

from weft import _core
from weft.batching.cells import Watch
from weft.batching.worth import Engine, Replays, Worth

# Tells whether nothing of a function is left to Python. Compiling stands above maps, and sets it.
_compiler: Callable[[Any], bool] | None = None


def ask_compiler(ask: Callable[[Any], bool]) -> None:
    """Set what tells whether nothing of a function is left to Python."""
    global _compiler  # noqa: PLW0603 - compiling stands above maps
    _compiler = ask


class Mapped:
    """What was found out about a function that is mapped: it may be a cell that nobody declared."""

    # After so many examples: it takes as long as running some of them.
    warm = 256
    most_failures = 8

    def __init__(self, function: Any = None, called: Any = None) -> None:
        # No references: the function has this, and copies of it may have it, too.
        self.owner = (lambda: None) if function is None else weakref.ref(function)
        self.number = id(called)
        self.examples = 0
        self.cell: _core.Cell | None = None
        self.failures = 0  # in a row
        self.is_off = False
        self.worth = Worth(), Worth()  # without gradients, with them
        name = getattr(called, "__qualname__", "")
        self.engines = Engine(name), Engine(f"{name} with gradients")
        self.is_routine: bool | None = None  # once asked for
        self.replays = Replays()

    def compiles(self, function: Any) -> bool:
        """Tell whether all of the function is a routine, and calls nothing else of Python's."""
        if not _core.runs_routines():
            return False
        if self.is_routine is None:
            self.is_routine = _compiler is not None and _compiler(function)
        return self.is_routine

    def __reduce__(self) -> tuple[type[Mapped], tuple[()]]:
        return Mapped, ()

    def __deepcopy__(self, memo: object) -> Mapped:
        return Mapped()

    def run(self, body: Any, examples: Any, width: int) -> list[Any] | None:
        """Run the function as a cell, if it is seen to be pure."""
        self.examples += len(examples)
        if self.is_off or self.examples - len(examples) < self.warm or _is_traced():
            return None
        if self.cell is None:
            name = type(body.__self__).__name__ if isinstance(body, MethodType) else body.__name__
            self.cell = _core.Cell(body, name, Watch(body, prove=True), True)
        results = _core.map_cell(self.cell, examples, width)
        self.failures = self.failures + 1 if results is None else 0
        self.is_off = bool(self.cell.note) or self.failures > self.most_failures
        return results


def _is_traced() -> bool:
    """Tell whether somebody follows lines: those that are replayed are not run."""
    if sys.gettrace() is not None or sys.getprofile() is not None:
        return True
    watching: Any = getattr(sys, "monitoring", None)
    return watching is not None and any(watching.get_tool(tool) for tool in range(6))


def find_mapped(function: Any) -> tuple[Mapped, Any] | None:
    """Return what was found out about a function, and its body; None of what keeps nothing."""
    name = "_weft_mapped"
    owner: Any
    called: Any
    if is_compiled(function):
        owner = function
        known = owner.__dict__.get(name)
        if known is None or known.owner() is not owner:
            known = owner.__dict__[name] = Mapped(owner)
        return known, None
    if type(function) is FunctionType:
        owner = _made_before(function)
        called = owner
    elif isinstance(function, _core.Forward):
        owner, called = function, _core.find_forward(function)
    elif type(function) is MethodType and isinstance(function.__self__, _core.Forward):
        owner, called = function.__self__, function.__func__
        name += "." + getattr(called, "__name__", "")
    else:
        return None
    if type(called) is not FunctionType:
        return None
    body = called if called is owner else MethodType(called, owner)
    known = owner.__dict__.get(name)
    if known is None or known.owner() is not owner or known.number != id(called):
        known = owner.__dict__[name] = Mapped(owner, called)
    return known, body


def is_compiled(function: Any) -> bool:
    """Tell whether `weft.compile` has made it."""
    kind = cast("type[object]", type(function))
    return issubclass(kind, _core.CompiledCall) or hasattr(kind, "_as_call")


class Made(dict[CodeType, FunctionType | list[int]]):
    """The last function of each code that was mapped: `lambda x: model(x)` is another each time.

    It is kept, with all that it reads, from the second time on that it reads the same objects;
    first only which these are.
    """

    most = 64

    def __reduce__(self) -> tuple[type[Made], tuple[()]]:
        return Made, ()

    def __deepcopy__(self, memo: object) -> Made:
        return Made()


_made = Made()  # of functions that have nothing from where they were made


def _made_before(function: FunctionType) -> FunctionType:
    """Return an earlier function that does the same: what was found out is about that one.

    A module that the function reads keeps it, so that both go together.
    """
    reads = _reads_of(function)
    for item in reads[:]:
        reads += _reads_of(item) if isinstance(item, FunctionType) else []
    module: Any = next((item for item in reads if isinstance(item, _core.Forward)), None)
    if module is None and (
        function.__closure__ or function.__defaults__ or function.__kwdefaults__
    ):
        return function
    made = _made if module is None else module.__dict__.setdefault("_weft_made", Made())
    known = made.get(function.__code__)
    if isinstance(known, FunctionType) and _is_alike(known, function):
        return known
    if len(made) >= Made.most:
        del made[next(iter(made))]
    objects = [id(item) for item in reads if not isinstance(item, (int, FunctionType))]
    made[function.__code__] = function if known == objects else objects
    return function


def _is_alike(one: object, other: object, depth: int = 4) -> bool:
    """Tell whether two objects are the same, or functions of the same code that read the same."""
    if one is other:
        return True
    if type(one) is not type(other) or depth == 0:
        return False
    if type(one) in (int, float, str, bool):
        return repr(one) == repr(other)  # 0.0 is not -0.0
    if not isinstance(one, FunctionType) or not isinstance(other, FunctionType):
        return False
    if one.__code__ is not other.__code__ or one.__globals__ is not other.__globals__:
        return False
    mine, others = _reads_of(one), _reads_of(other)
    return len(mine) == len(others) and all(
        _is_alike(*pair, depth - 1) for pair in zip(mine, others, strict=True)
    )


def _reads_of(function: FunctionType) -> list[object]:
    """Return what a function has from where it was made; an empty place is like no other."""
    defaults, named = function.__defaults__ or (), function.__kwdefaults__ or {}
    found: list[object] = [len(defaults), *defaults, len(named), *named, *named.values()]
    for cell in function.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:
            found.append(object())
    return found
