"""`breakpoint_when`: stop in the debugger, at the user's line, when an op is what one looks for."""

from __future__ import annotations

import bdb
import fnmatch
import inspect
import os
import pdb  # noqa: T100 - it is what this is for
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from weft import _core
from weft._core import Tensor
from weft.debug.wording import Range, line_text
from weft.tracing import Place, Recording
from weft.tracing.recording import statistics_of

if TYPE_CHECKING:
    from types import FrameType

    from weft.tracing import Node

_OWN_FOLDER = os.path.dirname(os.path.dirname(__file__)) + os.sep  # noqa: PTH120
_MOST_NODES = 2_000  # remembered while nothing matches


class Match:
    """One op that has just run, as a condition of `breakpoint_when` sees it.

    Attributes:
        op: Its name.
        phase: "forward", or "backward" for a gradient rule.
        example: Of a `weft.map`: which one; -1 outside.
        inputs: The tensors that it read; None where an argument was left out.
        outputs: The tensors that it gave.

    Example:
        >>> import weft, weft.debug
        >>> large = lambda match: match.op == "mul" and match.values.max() > 100
        >>> with weft.debug.breakpoint_when(large):
        ...     y = weft.ones(2) * 2  # not large: nothing stops
    """

    def __init__(
        self,
        run: Recording,
        frame: FrameType | None,
        phase: str = "forward",
        paths: dict[int, str] | None = None,
    ) -> None:
        self._run = run
        self._frame = frame
        self._paths = {} if paths is None else paths  # of modules, as far as anybody asked
        self._node: Node = run.last()
        self.phase = phase
        self.inputs: tuple[Tensor | None, ...] = run.inputs
        self.outputs: tuple[Tensor | None, ...] = run.outputs
        self.op = self._node.op if phase == "forward" else self._rule_name()
        self.example = self._node.example

    def _rule_name(self) -> str:
        step = self._run.trace().backwards[-1].steps[-1]
        return step.name

    @property
    def values(self) -> Tensor:
        """The first tensor that it gave."""
        for output in self.outputs:
            if output is not None:
                return output
        return _core.tensor([])

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the first tensor that it gave."""
        return tuple(self.values.shape)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of all tensors that it gave."""
        return tuple(tuple(output.shape) for output in self.outputs if output is not None)

    @property
    def dtype(self) -> _core.dtype:
        """The dtype of the first tensor that it gave."""
        return self.values.dtype

    @property
    def attributes(self) -> dict[str, str]:
        """The op's other arguments, as texts."""
        return self._node.attributes

    @property
    def module(self) -> str:
        """The path of the module that it belongs to: "encoder.0"; "" outside of modules."""
        if self._node.module < 0:
            return ""
        if self._node.module not in self._paths:
            self._paths.update(enumerate(self._run.module_paths()))
        return self._paths.get(self._node.module, "")

    @property
    def place(self) -> Place | None:
        """Where in the user's program it is."""
        if self._frame is None:
            return None
        code = self._frame.f_code
        return Place(code.co_filename, self._frame.f_lineno, code.co_name, self._frame.f_lasti)

    @property
    def is_nan(self) -> bool:
        """Whether one of its results has a NaN."""
        return any(_any(_core.ops.isnan, output) for output in self.outputs)

    @property
    def is_finite(self) -> bool:
        """Whether none of its results has a NaN or an infinity."""
        return not self.is_nan and not any(_any(_core.ops.isinf, one) for one in self.outputs)

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        values = self.values
        value = statistics_of(_core.statistics(values))
        text = f"{self.op}, {self.phase}: {Range('', self.shape, values.dtype.name, value)}"
        if self.example >= 0:
            text += f", example {self.example}"
        return f"{text}, at {line_text(self.place)}"


def _any(test: Callable[[Tensor], Tensor], tensor: Tensor | None) -> bool:
    if tensor is None or not tensor.dtype.is_floating_point:
        return False
    return bool(_core.ops.any(test(tensor)))


Condition: TypeAlias = Callable[[Match], object]


# ---- ready conditions ----------------------------------------------------------------------------


def is_nan(node: Match) -> bool:
    """Tell whether a result of a node has a NaN; a condition for `breakpoint_when`.

    Example:
        >>> import weft, weft.debug
        >>> stop = weft.debug.breakpoint_when(weft.debug.is_nan)
        >>> stop.cancel()
    """
    return node.is_nan


def op(*names: str) -> Condition:
    """Make a condition for `breakpoint_when`: the op has one of these names.

    Args:
        names: Names of ops; `*` stands for anything.

    Example:
        >>> import weft, weft.debug
        >>> with weft.debug.breakpoint_when(weft.debug.op("softmax", "log_*")):
        ...     y = weft.ones(2) * 2
    """
    _check_names("op", names)
    return lambda node: any(fnmatch.fnmatchcase(node.op, name) for name in names)


def module(*paths: str) -> Condition:
    """Make a condition for `breakpoint_when`: the op belongs to one of these modules.

    Args:
        paths: Paths of modules as `named_modules` has them; `*` stands for anything. The outermost
            module goes by the name of its class.

    Example:
        >>> import weft, weft.debug
        >>> with weft.debug.breakpoint_when(weft.debug.module("encoder.*")):
        ...     y = weft.ones(2) * 2
    """
    _check_names("module", paths)
    return lambda node: any(fnmatch.fnmatchcase(node.module, path) for path in paths)


def shape(*sizes: int | None) -> Condition:
    """Make a condition for `breakpoint_when`: a result of the op has this shape.

    Args:
        sizes: The sizes of the dimensions; None stands for any size.

    Example:
        >>> import weft, weft.debug
        >>> with weft.debug.breakpoint_when(weft.debug.shape(None, 7)):
        ...     y = weft.ones(2) * 2
    """
    given: tuple[Any, ...] = sizes
    if not all(size is None or isinstance(size, int) for size in given):
        raise TypeError(f"shape: sizes must be integers or None, not {given}")

    def matches(found: tuple[int, ...]) -> bool:
        return len(found) == len(sizes) and all(
            wanted is None or size == wanted for size, wanted in zip(found, sizes, strict=True)
        )

    return lambda node: any(map(matches, node.shapes))


def _check_names(what: str, names: tuple[Any, ...]) -> None:
    if not names or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{what}: give one or more names as texts, not {names}")


# ---- the switch ----------------------------------------------------------------------------------


class breakpoint_when:  # noqa: N801 - used like the function `breakpoint`
    """Stop in pdb at the user's line as soon as an op meets a condition.

    It begins at once, and ends with the block of a `with` statement or with `cancel()`. The
    debugger stands in the function that called the op: its variables, `up`, `down`, `next` and so
    on are there. Ops run one by one, also in lazy scopes, maps and cells, so the line that stops is
    the line that is to blame. `PYTHONBREAKPOINT=0` switches it off.

    Args:
        condition: Called with each op (a `Match`) after it ran; stop if it returns something true.
            `weft.debug.is_nan`, `weft.debug.op("softmax")`, `weft.debug.module("encoder.*")` and
            `weft.debug.shape(None, 3)` are ready conditions.
        times: How often to stop; None is without end.
        backward: Look at gradient rules as well; `values` is then the gradient that one made, and
            the line that of the call of `backward`.
        debugger: Makes the debugger.

    Raises:
        TypeError: If the condition cannot be called.

    Example:
        >>> import weft, weft.debug
        >>> with weft.debug.breakpoint_when(lambda node: node.op == "log" and node.is_nan):
        ...     y = weft.tensor([1.0, 2.0]).log()
    """

    def __init__(
        self,
        condition: Condition,
        *,
        times: int | None = 1,
        backward: bool = False,
        debugger: Callable[[], pdb.Pdb] | None = None,
    ) -> None:
        if not callable(condition):
            raise TypeError(
                "breakpoint_when takes a condition to call with each node, such as "
                f"`lambda node: node.is_nan`, not a {type(condition).__name__}"
            )
        self._condition = condition
        self._left = times
        self._debugger = debugger or _make_debugger
        self._is_on = os.environ.get("PYTHONBREAKPOINT") != "0"
        self._is_looking = False
        self._paths: dict[int, str] = {}
        self._run = Recording(
            values=False,
            parts=True,
            at_once=True,
            on_node=self._look,
            on_event=self._happened,
            rules=backward,
        )
        self._run.__enter__()
        self._is_running = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()

    def cancel(self) -> None:
        """Stop no more; a second call does nothing.

        Example:
            >>> import weft, weft.debug
            >>> stop = weft.debug.breakpoint_when(weft.debug.is_nan)
            >>> stop.cancel()
        """
        self._is_on = False
        # It still observes while the core waits for an answer, or from inside another recording or
        # a fiber; but it does nothing there.
        if not self._is_looking and self._is_running:
            with suppress(ValueError):
                self._run.__exit__(None, None, None)
                self._is_running = False

    def _happened(self, run: Recording, kind: str) -> None:
        if kind == "rule":
            self._look(run, "backward")

    def _look(self, run: Recording, phase: str = "forward") -> None:
        if not self._is_on or self._is_looking:
            return
        self._is_looking = True
        try:
            frame = _user_frame()
            node = Match(run, frame, phase, self._paths)
            if self._condition(node):
                self._stop(node, frame)
            elif len(run) > _MOST_NODES and phase == "forward":
                self._forget(run)
        finally:
            self._is_looking = False

    def _forget(self, run: Recording) -> None:
        last = run.last()
        if last.module < 0 and last.phase == "forward":
            run.clear()
            self._paths = {}

    def _stop(self, node: Match, frame: FrameType | None) -> None:
        if self._left is not None:
            self._left -= 1
            self._is_on = self._left > 0
        if frame is not None:
            _interact(self._debugger(), frame, f"weft: {node}")


def _make_debugger() -> pdb.Pdb:
    return pdb.Pdb(skip=["weft", "weft.*"], nosigint=True)


def _user_frame() -> FrameType | None:
    """Return the innermost frame that is not Weft's own."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(_OWN_FOLDER):
        frame = frame.f_back
    return frame


def _interact(debugger: pdb.Pdb, frame: FrameType, message: str) -> None:
    """Let the user look around in a frame that is in the midst of a line, and go on from there."""
    others = sys.gettrace()
    debugger.reset()
    with suppress(AttributeError):  # newer versions stop by other means as well
        debugger.botframe = _outermost(frame)
    walk: FrameType | None = frame
    before: list[tuple[FrameType, Any]] = []
    while walk is not None:
        before.append((walk, walk.f_trace))
        walk.f_trace = debugger.trace_dispatch
        walk = walk.f_back
    debugger.message(message)
    debugger.interaction(frame, None)
    if debugger.quitting:
        sys.settrace(others)
        raise bdb.BdbQuit
    goes_on = debugger.stoplineno == -1 and not debugger.breaks
    if goes_on:
        for one, trace in before:
            one.f_trace = trace
        sys.settrace(others)
    else:
        sys.settrace(debugger.trace_dispatch)


def _outermost(frame: FrameType) -> FrameType:
    while frame.f_back is not None:
        frame = frame.f_back
    return frame
