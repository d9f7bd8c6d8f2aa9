"""Recording: watch a run and turn what the core noted into a Trace.

This is the only place that knows the core's recorder; all tools that show or explain a run begin
here.
"""

from __future__ import annotations

import gc
import inspect
import threading
import time
import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import CodeType, FunctionType, TracebackType
from typing import Any, Protocol, Self, cast

from weft import _core, pytree
from weft._core import Tensor
from weft.autograd.graph import get_gradient_edge
from weft.tracing.model import (
    ENTRY,
    Backward,
    BackwardStep,
    Batch,
    Failure,
    Frame,
    Input,
    ModuleCall,
    Node,
    NodeKind,
    Place,
    Plan,
    Read,
    Result,
    Statistics,
    Trace,
)
from weft.tracing.sources import collect_sources

# How far the search for names goes from function to function.
_FUNCTIONS_SEEN = 100


class _Running(threading.local):
    """The recordings that a thread is in, the innermost last: only that one hears of ops."""

    def __init__(self) -> None:
        self.stack: list[Recording] = []


_running = _Running()


class _Module(Protocol):
    def named_modules(self) -> Iterable[tuple[str, Any]]: ...
    def named_parameters(self) -> Iterable[tuple[str, Tensor]]: ...
    def named_buffers(self) -> Iterable[tuple[str, Tensor]]: ...


class Recording:
    """Record what the block of a `with` statement does.

    Everything that this thread records, runs, differentiates and reads inside is noted. An
    exception that leaves the block is noted too, and goes on.

    Args:
        values: Keep statistics of values and gradients. Without, a node costs about a microsecond.
        parts: See the parts of cells instead of the cells.
        at_once: Run ops when they are recorded, in lazy mode too.
        title: What the run is called.
        on_node: Called with this recording after each node, at the user's line.
        on_event: Called with "plan", "backward" or, with `rules`, "rule" after each of them.
        rules: Tell `on_event` of each gradient rule.

    Example:
        >>> import weft
        >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
        >>> with weft.tracing.Recording() as run:
        ...     y = (x * 2).sum()
        >>> [node.op for node in run.trace().nodes]
        ['parameter', 'mul', 'sum']
    """

    def __init__(
        self,
        *,
        values: bool = True,
        parts: bool = False,
        at_once: bool = False,
        title: str = "",
        on_node: Callable[[Recording], object] | None = None,
        on_event: Callable[[Recording, str], object] | None = None,
        rules: bool = False,
    ) -> None:
        self.title = title
        self.began = time.perf_counter()  # the times of the trace count from here
        self.failure: BaseException | None = None
        self.value: Any = None
        self.was_interrupted = False  # another recording began inside, and heard in its place
        self.outer: list[int] = []  # the chain of calls around the run, which is not part of it
        self._names: list[tuple[str, Tensor]] = []
        self._around: list[tuple[str, Tensor]] = []
        self._outputs: list[Tensor] = []
        self._recorder = _core.Recorder(
            values,
            None if on_node is None else lambda _: on_node(self),
            None if on_event is None else lambda kind: on_event(self, kind),
        )
        self._recorder.parts = parts
        self._recorder.at_once = at_once
        self._recorder.wants_rules = rules

    def __enter__(self) -> Self:
        self._recorder.start()
        for outer in _running.stack:
            outer.was_interrupted = True
        _running.stack.append(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._recorder.stop()
        if self in _running.stack:
            _running.stack.remove(self)
        self.failure = error

    def __len__(self) -> int:
        return len(self._recorder)

    @property
    def inputs(self) -> tuple[Tensor | None, ...]:
        """What the node read, while `on_node` runs; the gradients that a rule was given."""
        return self._recorder.inputs

    @property
    def outputs(self) -> tuple[Tensor | None, ...]:
        """What the node gave, while `on_node` runs; the gradients that a rule made."""
        return self._recorder.outputs

    def name(self, names: Mapping[str, Any]) -> None:
        """Give tensors, or trees of them, names that the trace shows.

        Example:
            >>> import weft
            >>> from weft import tracing
            >>> x = weft.ones(2)
            >>> with tracing.Recording() as run:
            ...     run.name({"x": x})
            ...     y = x * 3
            >>> run.trace().nodes[0].name
            'x'
        """
        for name, tree in names.items():
            for path, leaf in _named_leaves(name, tree):
                self._names.append((path, leaf))

    def name_surroundings(self, *functions: object) -> None:
        """Name the tensors that functions find around themselves as they call them.

        Example:
            >>> import weft
            >>> from weft import tracing
            >>> w = weft.ones(2)
            >>> step = lambda: w * 2
            >>> with tracing.Recording() as run:
            ...     run.name_surroundings(step)
            ...     y = step()
            >>> run.trace().nodes[0].name
            'w'
        """
        self._around.extend(_surroundings(functions).items())

    def result(self, tree: Any) -> None:
        """Say what the run's results are: the trace's outputs.

        Example:
            >>> import weft
            >>> from weft import tracing
            >>> with tracing.Recording() as run:
            ...     run.result(weft.ones(2) * 3)
            >>> len(run.trace().outputs)
            1
        """
        self._outputs = [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, Tensor)]

    def number(self, tensor: Tensor) -> int:
        """Return the number of the node that made a tensor, -1 if it is not in the trace.

        Example:
            >>> import weft
            >>> from weft import tracing
            >>> with tracing.Recording() as run:
            ...     x = weft.ones(2)
            ...     y = x * 3
            >>> run.number(y)
            1
        """
        return self._recorder.node_of(tensor)

    def warn_if_interrupted(self, name: str) -> None:
        """Warn that a tool has not seen everything, because another one watched meanwhile.

        Example:
            >>> import weft
            >>> from weft import tracing
            >>> with tracing.Recording() as run:
            ...     x = weft.ones(2)
            ...     y = x * 3
            >>> run.warn_if_interrupted("my tool")  # nothing else watched
        """
        if self.was_interrupted:
            warnings.warn(
                f"{name}: another tool watched inside of this block, and only the innermost one "
                "sees what runs. What ran then is missing here: use one after the other.",
                stacklevel=3,
            )

    def clear(self) -> None:
        """Forget what was recorded so far.

        Example:
            >>> import weft
            >>> from weft import tracing
            >>> with tracing.Recording() as run:
            ...     x = weft.ones(2)
            ...     y = x * 3
            ...     run.clear()
            >>> len(run.trace().nodes)
            0
        """
        self._recorder.clear()

    def trace(self) -> Trace:
        """Return what was recorded so far.

        Example:
            >>> import weft
            >>> from weft import tracing
            >>> with tracing.Recording() as run:
            ...     x = weft.ones(2)
            ...     y = x * 3
            >>> [node.op for node in run.trace().nodes]
            ['ones', 'mul']
        """
        # So many new objects would make the garbage collector look through them again and again.
        was_on = gc.isenabled()
        gc.disable()
        try:
            return _Assembly(
                self._recorder,
                self._names,
                self._outputs,
                self.failure,
                self.title,
                self.outer,
                around=self._around,
            ).trace
        finally:
            if was_on:
                gc.enable()

    def last(self) -> Node:
        """Return the last node alone, for `on_node`: cheap in a long run.

        It has no names and no statistics, which only the whole trace has.

        Example:
            >>> import weft
            >>> from weft import tracing
            >>> with tracing.Recording() as run:
            ...     x = weft.ones(2)
            ...     y = x * 3
            >>> run.last().op
            'mul'
        """
        return _lone_node(self._recorder.nodes(len(self._recorder) - 1)[0])

    def module_paths(self) -> tuple[str, ...]:
        """Return the path of each call of a module so far; a node's `module` counts them.

        Example:
            >>> import weft
            >>> from weft import tracing
            >>> with tracing.Recording() as run:
            ...     y = weft.nn.Sequential(weft.nn.ReLU())(weft.ones(2))
            >>> run.module_paths()
            ('Sequential', '0')
        """
        return tuple(call.path for call in _module_calls(self._recorder.modules()))


def record(
    function: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    title: str = "",
    values: bool = True,
) -> Recording:
    """Call a function or module and return the recording of it, with what it returned as `value`.

    An exception ends the run and is the recording's `failure`.

    Example:
        >>> import weft
        >>> from weft import tracing
        >>> run = tracing.record(lambda x: x * 2, (weft.ones(2),))
        >>> run.value
        tensor([2., 2.])
        >>> [node.op for node in run.trace().nodes]
        ['input', 'mul']
    """
    kwargs = dict(kwargs or {})
    run = Recording(values=values, title=title or _name_of(function))
    run.name(argument_names(function, args, kwargs))
    run.name_surroundings(function, *args)
    run.outer = _core.positions_now()
    with suppress(Exception), run:
        run.value = function(*args, **kwargs)
    run.result(run.value)
    return run


def _name_of(function: Any) -> str:
    name = getattr(function, "__qualname__", None)
    return str(name) if name else type(function).__name__


def argument_names(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """Return what a function is called with by the names of its parameters."""
    try:
        return inspect.signature(function).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return {f"argument {i}": arg for i, arg in enumerate(args)} | kwargs


def _surroundings(functions: Iterable[object]) -> dict[str, Tensor]:
    """Return the tensors outside of functions that they, or what they call, have names for."""
    found: dict[str, Tensor] = {}
    waiting = [getattr(one, "__func__", one) for one in functions]
    seen: set[int] = set()
    while waiting and len(seen) < _FUNCTIONS_SEEN:
        one = waiting.pop()
        if not isinstance(one, FunctionType) or id(one) in seen:
            continue
        seen.add(id(one))
        for name, value in _free_names(one):
            if isinstance(value, Tensor):
                found.setdefault(name, value)
            elif isinstance(value, FunctionType) and value.__module__ == one.__module__:
                waiting.append(value)
    return found


def _free_names(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the names that a function takes from around itself, with what they stand for now."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        with suppress(ValueError):  # not bound yet
            yield name, cell.cell_contents
    codes = [function.__code__]
    for code in codes:
        codes.extend(one for one in code.co_consts if isinstance(one, CodeType))
        for name in code.co_names:
            if name in function.__globals__:
                yield name, function.__globals__[name]


def _named_leaves(name: str, tree: Any) -> list[tuple[str, Tensor]]:
    if isinstance(tree, Tensor):
        return [(name, tree)]
    leaves = [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, Tensor)]
    return [(f"{name}[{i}]", leaf) for i, leaf in enumerate(leaves)]


class Places:
    """Source positions of the core as places of a trace, each once."""

    def __init__(self) -> None:
        self.places: list[Place] = []
        self._numbers: dict[int, int] = {}

    def number(self, position: int) -> int:
        """Return the number of a position's place; -1 if it is not known."""
        if position not in self._numbers:
            file, line, function = _core.resolve_position(position)
            if line == 0:
                return -1
            self._numbers[position] = len(self.places)
            offset = _core.position_offset(position)
            self.places.append(Place(file, line, function, offset))
        return self._numbers[position]

    def mark_entries(self, positions: Iterable[int]) -> None:
        """Mark places around a run: what is recorded there belongs to the call that was made."""
        for position in positions:
            number = self._numbers.get(position, -1)
            if number >= 0:
                self.places[number] = replace(self.places[number], offset=ENTRY)


def statistics_of(data: tuple[Any, ...]) -> Statistics:
    """Make Statistics of what the core counted."""
    count, is_finite, low, high, mean, deviation, nans, infinities, zeros, histogram, values = data
    return Statistics(
        count=count,
        minimum=low if is_finite else None,
        maximum=high if is_finite else None,
        mean=mean if is_finite else None,
        deviation=deviation if is_finite else None,
        nans=nans,
        infinities=infinities,
        zeros=zeros,
        histogram=tuple(histogram),
        values=None if values is None else tuple(values),
    )


class _Assembly:
    """Makes one Trace from what a recorder noted."""

    def __init__(
        self,
        recorder: _core.Recorder,
        names: list[tuple[str, Tensor]],
        outputs: list[Tensor],
        failure: BaseException | None,
        title: str,
        outer: list[int],
        around: Sequence[tuple[str, Tensor]] = (),
    ) -> None:
        self._recorder = recorder
        self._places = Places()
        self._statistics = [statistics_of(data) for data in recorder.statistics()]
        self._frames = self._inner_frames(recorder.frames(), outer)
        self._raw = recorder.nodes()
        self._leaf_numbers: dict[int, int] | None = None  # by node of the graph of gradients
        modules = recorder.modules()
        self._given: set[int] = set()  # arguments, with gradients or not
        self._leaf_names = self._find_leaf_names(modules, names)
        self._found: set[int] = set()  # what the function found around itself
        self._name_found(around)
        plans = recorder.plans()
        covering = _Covering(self._raw, plans)
        gradients = self._gradients(recorder.backwards())
        ended_by = self._failure(failure)  # adds frames
        self.trace = Trace(
            title=title,
            frames=tuple(self._frames),
            modules=_module_calls(
                (module, caller, -1 if frame in self._around else frame)
                for module, caller, frame in modules
            ),
            nodes=tuple(self._node(i, gradients) for i in range(len(self._raw))),
            outputs=tuple(
                Input(node) for node in (recorder.node_of(one) for one in outputs) if node >= 0
            ),
            reads=tuple(self._read(data) for data in recorder.reads()),
            plans=tuple(self._plan(data) for data in plans),
            backwards=tuple(self._backward(data, covering) for data in recorder.backwards()),
            failure=ended_by,
            seconds=max((data[10] + data[11] for data in self._raw), default=0.0),
        )
        places = self._places.places
        self.trace = replace(self.trace, places=tuple(places), sources=collect_sources(places))

    def _inner_frames(self, frames: list[tuple[int, int]], outer: list[int]) -> list[Frame]:
        """Return the frames, cut off from the chain of calls around the run."""
        depths: dict[int, int] = {-1: 0}  # of those that belong to the chain
        found: list[Frame] = []
        for index, (position, caller) in enumerate(frames):
            depth = depths.get(caller)
            if depth is not None and depth < len(outer) and outer[depth] == position:
                depths[index] = depth + 1
            found.append(Frame(self._places.number(position), -1 if caller in depths else caller))
        self._around = depths.keys()
        self._places.mark_entries(outer)
        return found

    def _find_leaf_names(
        self, modules: list[tuple[Any, int, int]], names: list[tuple[str, Tensor]]
    ) -> dict[int, str]:
        found: dict[int, str] = {}
        roots = {id(module): module for module, caller, _ in modules if caller < 0}
        for module in cast("Iterable[_Module]", roots.values()):
            for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
                found.setdefault(self._leaf_of(tensor), name)
        for name, tensor in names:
            index = self._leaf_of(tensor)
            if type(tensor) is Tensor and index not in found:
                self._given.add(index)
            found.setdefault(index, name)
        found.pop(-1, None)
        return found

    def _name_found(self, around: Sequence[tuple[str, Tensor]]) -> None:
        for name, tensor in around:
            index = self._leaf_of(tensor)
            if index >= 0 and index not in self._leaf_names:
                self._leaf_names[index] = name
                self._found.add(index)

    def _leaf_of(self, tensor: Tensor) -> int:
        """Find the node of a tensor, also after another recording has numbered its value."""
        number = self._recorder.node_of(tensor)
        if 0 <= number < len(self._raw):
            return number
        if not (tensor.is_leaf and tensor.requires_grad):
            return -1
        if self._leaf_numbers is None:
            self._leaf_numbers = {
                result[4]: index
                for index, data in enumerate(self._raw)
                if data[1] == "leaf"
                for result in data[4]
                if result[4]
            }
        return self._leaf_numbers.get(get_gradient_edge(tensor).node._sequence_nr(), -1)

    def _gradients(self, backwards: list[tuple[Any, ...]]) -> dict[tuple[int, int, int], int]:
        """Find the statistics of each gradient: by node of the graph, output and row."""
        found: dict[tuple[int, int, int], int] = {}
        for rules, *_ in backwards:
            for _, node, _, _, live, incoming, _ in rules:
                rows = live or [-1]
                for i, number in enumerate(incoming):
                    if number >= 0:
                        found[node, i // len(rows), rows[i % len(rows)]] = number
        return found

    def _node(self, index: int, gradients: dict[tuple[int, int, int], int]) -> Node:
        data = self._raw[index]
        results = tuple(self._result(result, gradients) for result in data[4])
        leaf: NodeKind | None = None
        if index in self._given:
            leaf = "input"
        elif index in self._found and not data[2]:
            leaf = "constant"
        return _lone_node(data, self._leaf_names.get(index, ""), results, leaf)

    def _result(self, data: tuple[Any, ...], gradients: dict[tuple[int, int, int], int]) -> Result:
        shape, dtype, size, statistics, producer, output, row = data
        gradient: int | None = gradients.get((producer, output, row)) if producer else None
        return Result(
            shape=tuple(shape),
            dtype=dtype,
            bytes=size,
            value=self._statistic(statistics),
            gradient=self._statistic(-1 if gradient is None else gradient),
            requires_grad=producer != 0,
        )

    def _read(self, data: tuple[Any, ...]) -> Read:
        kind, value, node, output, frame, module, after, example = data
        return Read(kind, value, node, output, frame, module, after, example)

    def _plan(self, data: tuple[Any, ...]) -> Plan:
        batches, seconds, planning, start, position = data
        return Plan(
            tuple(
                Batch(op, tuple(nodes), copied, took, begin, self._places.number(position), note)
                for op, nodes, copied, took, begin, position, note, *_ in batches
            ),
            seconds,
            planning,
            start,
            self._places.number(position),
        )

    def _backward(self, data: tuple[Any, ...], covering: _Covering) -> Backward:
        rules, seconds, start, position = data
        steps = tuple(
            BackwardStep(
                name,
                covering.nodes(node, live),
                took,
                begin,
                max(len(live), 1),
                self._some(incoming[:: max(len(live), 1)]),
                self._some(outgoing),
                node,
            )
            for name, node, took, begin, live, incoming, outgoing in rules
        )
        return Backward(steps, seconds, start, self._places.number(position))

    def _some(self, numbers: list[int]) -> tuple[Statistics | None, ...]:
        return tuple(self._statistic(number) for number in numbers)

    def _statistic(self, number: int) -> Statistics | None:
        return self._statistics[number] if number >= 0 else None

    def _failure(self, error: BaseException | None) -> Failure | None:
        if error is None:
            return None
        caller = -1
        own = _own_folder()
        walk = error.__traceback__
        while walk is not None:
            code = walk.tb_frame.f_code
            if not code.co_filename.startswith(own):
                place = Place(code.co_filename, walk.tb_lineno, code.co_name, walk.tb_lasti)
                self._places.places.append(place)
                self._frames.append(Frame(len(self._places.places) - 1, caller))
                caller = len(self._frames) - 1
            walk = walk.tb_next
        return Failure(type(error).__name__, str(error), caller, len(self._raw))


def _lone_node(
    data: tuple[Any, ...],
    name: str = "",
    results: tuple[Result, ...] | None = None,
    leaf: NodeKind | None = None,
) -> Node:
    (
        op, kind, requires_grad, inputs, given, attributes, frame, module, example, in_backward,
        start, seconds, saved, _, last,
    ) = data  # fmt: skip
    if kind == "leaf":
        kind = op = leaf or ("parameter" if requires_grad else "input" if name else "constant")
    if results is None:
        results = tuple(
            Result(tuple(shape), dtype, size, requires_grad=producer != 0)
            for shape, dtype, size, _, producer, *_ in given
        )
    return Node(
        op=op.removesuffix("Backward"),  # of a user's function
        kind=kind,
        inputs=tuple(
            Input(node, output) if node >= 0 else Input(number=number)
            for node, output, number in inputs
        ),
        results=results,
        attributes=attributes,
        frame=frame,
        module=module,
        start=start,
        seconds=seconds,
        example=example,
        name=name,
        saved=saved,
        sequence=last,
        phase="backward" if in_backward else "forward",
    )


def _own_folder() -> str:
    return __file__[: -len("tracing/recording.py")]


def _module_calls(modules: Iterable[tuple[Any, int, int]]) -> tuple[ModuleCall, ...]:
    calls: list[ModuleCall] = []
    names: dict[int, dict[int, str]] = {}  # of the modules below each outermost one
    roots: list[Any] = []
    for module, caller, frame in modules:
        kind = type(module).__name__
        root = module if caller < 0 else roots[caller]
        roots.append(root)
        if caller < 0:
            calls.append(ModuleCall(kind, kind, -1, frame))
            continue
        if id(root) not in names:
            known = cast("_Module", root).named_modules()
            names[id(root)] = {id(below): name for name, below in known}
        path = names[id(root)].get(id(module)) or f"{calls[caller].path}.{kind}"
        calls.append(ModuleCall(path, kind, caller, frame))
    return tuple(calls)


class _Covering:
    """Tells which nodes of the trace a node of the graph of gradients was made for."""

    def __init__(self, nodes: list[tuple[Any, ...]], plans: list[tuple[Any, ...]]) -> None:
        spans: list[tuple[int, int, list[int], bool]] = []
        for index, data in enumerate(nodes):
            first, last = data[13], data[14]
            if first < last:
                spans.append((last, first, [index], False))
        for batches, *_ in plans:
            for _, rows, _, _, _, _, _, first, last in batches:
                spans.append((last, first, rows, True))
        self._leaves = {
            result[4]: index
            for index, data in enumerate(nodes)
            if data[1] == "leaf" and data[2]
            for result in data[4]
            if result[4]
        }
        self._spans = sorted(spans, key=lambda span: span[0])
        self._ends = [span[0] for span in self._spans]

    def nodes(self, sequence: int, live: list[int]) -> tuple[int, ...]:
        if sequence in self._leaves:
            return (self._leaves[sequence],)
        place = bisect_left(self._ends, sequence)
        if place == len(self._spans):
            return ()
        _, first, rows, is_batch = self._spans[place]
        if sequence <= first:
            return ()
        if is_batch and live:
            return tuple(rows[row] for row in live if row < len(rows))
        return tuple(rows)
