"""A recorder in Python, for tests: real frames and offsets, small numbers, no core.

`run(function, ...)` calls a function with `Number`s, which record what happens to them as the core
does: the chain of user frames with the offset of the calling instruction, calls of modules, and
what Python reads.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Self

from weft.tracing import (
    Failure,
    Frame,
    Input,
    ModuleCall,
    Node,
    Place,
    Read,
    Result,
    Statistics,
    Trace,
    collect_sources,
)

_current: list[Recorder] = []


class Recorder:
    """Gathers what a trace has."""

    def __init__(self, keep_sources: bool = True) -> None:
        self.places: dict[Place, int] = {}
        self.frames: dict[Frame, int] = {}
        self.modules: list[ModuleCall] = []
        self.open_modules: list[int] = []
        self.paths: list[str] = []
        self.nodes: list[Node] = []
        self.reads: list[Read] = []
        self.example = -1
        self.keep_sources = keep_sources
        self.outermost: FrameType | None = None

    def frame_now(self, frame: FrameType | None = None) -> int:
        """Return the number of the chain of user frames."""
        chain: list[Place] = []
        frame = frame or sys._getframe(1)
        while frame is not None and frame is not self.outermost:
            code = frame.f_code
            if code.co_filename != __file__:
                offset = frame.f_lasti
                while offset > 0 and code.co_code[offset] == 0:  # 3.12: a cache of a call inlined
                    offset -= 2
                place = Place(code.co_filename, frame.f_lineno or 0, code.co_name, offset)
                chain.append(place)
            frame = frame.f_back
        number = -1
        for place in reversed(chain):
            at = self.places.setdefault(place, len(self.places))
            number = self.frames.setdefault(Frame(at, number), len(self.frames))
        return number

    def add(self, op: str, value: list[float], inputs: list[Any], **more: Any) -> Number:
        given = [
            Input(one.node) if isinstance(one, Number) else Input(number=float(one))
            for one in inputs
        ]
        node = Node(
            op,
            inputs=tuple(given),
            results=(result_of(value),),
            frame=more.pop("frame", self.frame_now()),
            module=self.open_modules[-1] if self.open_modules else -1,
            example=self.example,
            start=len(self.nodes) * 1e-6,
            seconds=1e-6,
            **more,
        )
        self.nodes.append(node)
        return Number(value, len(self.nodes) - 1)

    def read(self, kind: str, value: object, number: Number) -> None:
        self.reads.append(
            Read(
                kind,  # type: ignore[arg-type]
                str(value),
                number.node,
                frame=self.frame_now(),
                module=self.open_modules[-1] if self.open_modules else -1,
                after=len(self.nodes),
                example=self.example,
            )
        )

    def trace(self, title: str, outputs: list[Number], failure: Failure | None) -> Trace:
        places = tuple(self.places)
        return Trace(
            title=title,
            places=places,
            frames=tuple(self.frames),
            modules=tuple(self.modules),
            nodes=tuple(self.nodes),
            outputs=tuple(Input(one.node) for one in outputs),
            reads=tuple(self.reads),
            failure=failure,
            sources=collect_sources(places) if self.keep_sources else {},
            seconds=1e-6 * len(self.nodes),
        )


def result_of(value: list[float]) -> Result:
    shape = (len(value),) if len(value) != 1 else ()
    finite = [one for one in value if math.isfinite(one)]
    statistics = Statistics(
        len(value),
        min(finite, default=None),
        max(finite, default=None),
        sum(finite) / len(finite) if finite else None,
        values=tuple(value) if len(value) <= 8 else None,
        nans=sum(map(math.isnan, value)),
    )
    return Result(shape, "float32", 4 * len(value), statistics)


class Number:
    """A row of floats that records what happens to it."""

    def __init__(self, value: list[float], node: int) -> None:
        self.value = value
        self.node = node

    def _with(self, op: str, other: Any, function: Callable[[float, float], Any]) -> Number:
        theirs = other.value if isinstance(other, Number) else [float(other)]
        size = max(len(self.value), len(theirs))
        mine, theirs = self.value * (size // len(self.value)), theirs * (size // len(theirs))
        result = [float(function(a, b)) for a, b in zip(mine, theirs, strict=True)]
        return _current[-1].add(op, result, [self, other])

    def __mul__(self, other: Any) -> Number:
        return self._with("mul", other, lambda a, b: a * b)

    def __add__(self, other: Any) -> Number:
        return self._with("add", other, lambda a, b: a + b)

    def __sub__(self, other: Any) -> Number:
        return self._with("sub", other, lambda a, b: a - b)

    def __truediv__(self, other: Any) -> Number:
        return self._with("div", other, lambda a, b: a / b)

    def __gt__(self, other: Any) -> Number:
        return self._with("gt", other, lambda a, b: a > b)

    def __lt__(self, other: Any) -> Number:
        return self._with("lt", other, lambda a, b: a < b)

    def sum(self) -> Number:
        return _current[-1].add("sum", [math.fsum(self.value)], [self])

    def tanh(self) -> Number:
        return _current[-1].add("tanh", [math.tanh(one) for one in self.value], [self])

    def twice(self, *ops: str) -> Number:
        """Record several ops at one place, as a composite does."""
        result = self
        for op in ops:
            result = _current[-1].add(op, self.value, [result])
        return result

    def __bool__(self) -> bool:
        answer = bool(self.value[0])
        _current[-1].read("bool", answer, self)
        return answer

    def item(self) -> float:
        _current[-1].read("item", self.value[0], self)
        return self.value[0]


class Layer:
    """A module of the library: its own frames are left out. Subclasses may be the user's."""

    def __init__(self, name: str = "", size: int = 1) -> None:
        self.name = name
        self.size = size
        self.weight: Number | None = None

    def __call__(self, *args: Any) -> Any:
        recorder = _current[-1]
        path = ".".join(part for part in (*recorder.paths, self.name) if part)
        parent = recorder.open_modules[-1] if recorder.open_modules else -1
        kind = type(self).__name__
        recorder.modules.append(ModuleCall(path, kind, parent, recorder.frame_now()))
        recorder.open_modules.append(len(recorder.modules) - 1)
        recorder.paths.append(self.name)
        try:
            return self.forward(*args)
        finally:
            recorder.open_modules.pop()
            recorder.paths.pop()

    def forward(self, *args: Any) -> Any:
        x = args[0]
        if self.weight is None or self.weight.node >= len(_current[-1].nodes):
            path = ".".join(part for part in (*_current[-1].paths, "weight") if part)
            self.weight = parameter(path, [0.5] * self.size)
        return x * self.weight + 1


class Chain(Layer):
    """A module of the library that calls others."""

    def __init__(self, name: str, *layers: Layer) -> None:
        super().__init__(name)
        self.layers = layers

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x

    def __iter__(self) -> Iterator[Layer]:
        return iter(self.layers)


def parameter(name: str, value: list[float]) -> Number:
    return _current[-1].add("parameter", value, [], kind="parameter", name=name, frame=-1)


class example:
    """Record what is inside as one example of a map."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __enter__(self) -> Self:
        _current[-1].example = self.number
        return self

    def __exit__(self, *_: object) -> None:
        _current[-1].example = -1


def run(
    function: Callable[..., Any], *rows: list[float] | float | Layer, sources: bool = True
) -> Trace:
    """Call a function with rows of numbers and return the trace."""
    recorder = Recorder(sources)
    _current.append(recorder)
    recorder.outermost = sys._getframe()
    failure = None
    outputs: list[Number] = []
    try:
        given = [
            recorder.add("input", _row(row), [], kind="input", name=f"x{number}", frame=-1)
            if isinstance(row, list | float)
            else row
            for number, row in enumerate(rows)
        ]
        result = function(*given)
        outputs = [
            one
            for one in (result if isinstance(result, list | tuple) else [result])
            if one is not None
        ]
    except Exception as error:  # noqa: BLE001 - a trace of what failed is what is wanted
        found = error.__traceback__
        while found is not None and found.tb_next is not None:
            found = found.tb_next
        frame = recorder.frame_now(found.tb_frame if found else None)
        failure = Failure(type(error).__name__, str(error), frame, len(recorder.nodes))
    finally:
        _current.pop()
    return recorder.trace(getattr(function, "__name__", "run"), outputs, failure)


def _row(row: list[float] | float) -> list[float]:
    return row if isinstance(row, list) else [row]
