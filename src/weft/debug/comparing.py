"""`compare`: run a function in several modes and find the first op whose numbers differ."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import partial
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from weft import _core, batching, pytree
from weft._core import Tensor
from weft._reports import Report
from weft.debug.wording import Range, place_of, place_text
from weft.random import get_rng_state, set_rng_state
from weft.tracing import Recording
from weft.tracing.recording import statistics_of

if TYPE_CHECKING:
    from weft.tracing import Node, Place, Trace

MODES = ("eager", "lazy", "map", "batch=False", "cells", "parts")

_NOT_REPEATABLE = (
    "The function does not repeat itself: two runs in one mode differ, so nothing can be said of "
    "the others. It reads something that changes; name tensors and modules of it as `state`."
)

# Relative to the largest number of the tensor, and of each number.
_TOLERANCES = {"float64": 1e-9, "float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}


@dataclass(frozen=True, repr=False)
class Comparison(Report):
    """Whether a function did the same in several modes; true if it differed.

    Attributes:
        modes: What was compared: the first with each of the others.
        mode: The mode that differed from the first one.
        op: The first op whose numbers differ.
        place: Its line.
        values: What it gave in the first mode, and in the other.
        difference: The largest difference between the two.
        what: What differs: "values", "ops" (other ops were recorded), "decision" (Python took
            another branch), "results", "gradients", "error", or "" if nothing does.
        note: What else is to be known.
        ops: How many ops were compared.

    Example:
        >>> import weft, weft.debug
        >>> same = weft.debug.compare(lambda: weft.ones(2).exp().sum())
        >>> bool(same), same.modes
        (False, ('eager', 'lazy'))
    """

    modes: tuple[str, ...]
    mode: str = ""
    op: str = ""
    place: Place | None = None
    values: tuple[Range, ...] = ()
    difference: float = 0.0
    what: str = ""
    note: str = ""
    ops: int = 0
    errors: Mapping[str, BaseException] = field(
        default_factory=dict[str, BaseException], repr=False
    )

    def __bool__(self) -> bool:
        return self.what != ""

    def __str__(self) -> str:
        first = self.modes[0]
        if not self:
            others = " and ".join(self.modes[1:])
            if self.errors:
                error = f"{first} and {others} raise {kind(self.errors[first])}"
                return f"{error}; what ran until then agrees: {self.ops} ops."
            return f"{first} and {others} agree: {self.ops} ops, their results and gradients."
        lines = [f"{first} and {self.mode} differ in {self.what}."]
        if self.op:
            lines = [f"{first} and {self.mode} differ in the {self.what} of {self.op}."]
            lines.append(f"  at {place_text(self.place)}")
        for mode, one in zip((first, self.mode), self.values, strict=False):
            lines.append(f"  {mode}: {one}")
        if self.difference:
            lines.append(f"  largest difference: {self.difference:g}")
        if self.note:
            lines.append(f"  {self.note}")
        return "\n".join(lines)


def compare(
    function: Callable[[], Any],
    modes: Sequence[str] = ("eager", "lazy"),
    *,
    state: Any = (),
    tolerance: float | None = None,
) -> Comparison:
    """Run a function in several modes and find the first op whose numbers differ.

    Each run begins with the same random numbers, and with the same parameters: those of modules,
    optimizers and tensors that the function refers to are put back. Results and gradients are
    compared as well, without anybody watching the run.

    Args:
        function: Takes nothing; may call `backward`.
        modes: Names of modes: "eager" (each op at once, maps and lazy scopes too), "lazy" (inside
            `weft.lazy()`), "map" (as one example of a `weft.map`), "batch=False" (as one that runs
            by itself), "cells" (as it is, cells as one op), "parts" (as it is, cells as their
            parts). The others are compared with the first.
        state: More tensors, modules or containers of them to put back before each run.
        tolerance: How much numbers may differ, relative to the largest; by dtype if not given.

    Returns:
        A report that is true if something differs, and prints as text.

    Raises:
        ValueError: If a mode is not known, or there are fewer than two.

    Example:
        >>> import weft, weft.debug
        >>> w = weft.ones(3, requires_grad=True)
        >>> print(weft.debug.compare(lambda: (w * 2).exp().sum()))
        eager and lazy agree: 3 ops, their results and gradients.
    """
    if not callable(function):
        raise TypeError(f"compare takes a function to run, not a {type(function).__name__}")
    names = tuple(modes)
    unknown = [name for name in names if name not in MODES]
    if unknown or len(names) < 2:
        wrong = f"{unknown[0]!r} is not one of them" if unknown else f"{len(names)} given"
        raise ValueError(f"compare: give two or more of the modes {', '.join(MODES)}; {wrong}")
    # An example of a map has random numbers of its own: then the other modes run as one, too.
    is_mapped = "map" in names or "batch=False" in names
    snapshot = _Snapshot([function, state])

    def run_in(mode: str) -> _Run:
        snapshot.restore()
        try:
            return _Run(mode, function, snapshot, is_mapped=is_mapped)
        finally:
            snapshot.restore()

    runs = [run_in(name) for name in names]
    for other in runs[1:]:
        found = _Pair(runs[0], other, names, tolerance).report()
        if found:
            # Nobody's mode is to blame if it does not even do the same in one of them twice.
            itself = _Pair(runs[0], run_in(names[0]), (names[0], names[0]), tolerance).report()
            return replace(itself, note=_NOT_REPEATABLE) if itself else found
    errors = {run.mode: run.error for run in runs if run.error is not None}
    return Comparison(names, ops=len(runs[0].values), errors=errors)


# ---- runs ----------------------------------------------------------------------------------------


class _Run:
    """One run in one mode: results and gradients unwatched, then each op's numbers."""

    def __init__(
        self, mode: str, function: Callable[[], Any], snapshot: _Snapshot, *, is_mapped: bool
    ) -> None:
        self.mode = mode
        self._is_mapped = is_mapped
        self._snapshot = snapshot
        self.values: dict[int, list[Tensor | None]] = {}
        self._waiting: list[tuple[int, int, Tensor]] = []
        self.error: Exception | None = None
        self.results: list[Tensor] = []
        try:
            self.results = _tensors(self._call(function))
        except Exception as error:  # noqa: BLE001 - compared with those of other modes
            self.error = error
        self.gradients = snapshot.gradients()
        self.changed = snapshot.changed()
        snapshot.restore()
        run = Recording(
            values=False,
            parts=mode != "cells",
            at_once=mode in {"eager", "batch=False"},
            on_node=self._keep,
            on_event=self._happened,
        )
        with suppress(Exception), run:  # the same as above, which is compared
            self._call(function)
        self._take_computed()
        self.trace = run.trace()

    def _call(self, function: Callable[[], Any]) -> Any:
        def one(_: Any) -> Any:
            scope: AbstractContextManager[Any] = (
                batching.lazy() if self.mode == "lazy" else nullcontext()
            )
            with scope:
                return function()

        is_batch = self.mode == "map"
        with warnings.catch_warnings():
            # That there is little to batch is as it should be here.
            warnings.filterwarnings("ignore", "more than .* plans in a row")
            result = batching.map(one, [None], batch=is_batch)[0] if self._is_mapped else one(None)
            _core.run_tensors([*_tensors(result), *self._snapshot.live()])
        return result

    def _keep(self, run: Recording) -> None:
        # What is there may be written over later; what waits is copied when it has been computed.
        number = len(run) - 1
        self.values[number] = [
            None if one is None or _core.is_pending(one) else one.detach().clone()
            for one in run.outputs
        ]
        self._waiting.extend(
            (number, i, one)
            for i, one in enumerate(run.outputs)
            if one is not None and _core.is_pending(one)
        )

    def _happened(self, _: Recording, kind: str) -> None:
        if kind == "plan":
            self._take_computed()

    def _take_computed(self) -> None:
        left: list[tuple[int, int, Tensor]] = []
        for number, i, tensor in self._waiting:
            if _core.is_pending(tensor):
                left.append((number, i, tensor))
            else:
                self.values[number][i] = tensor.detach().clone()
        self._waiting = left


def _tensors(tree: Any) -> list[Tensor]:
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, Tensor)]


class _Snapshot:
    """The tensors that a function refers to, as they were, and the state of random numbers."""

    def __init__(self, roots: Iterable[Any]) -> None:
        self._tensors: dict[int, Tensor] = {}
        self._dicts: list[tuple[dict[Any, Any], dict[Any, Any]]] = []
        self._collect(roots)
        self._random = (get_rng_state(), random.getstate(), np.random.get_state())  # noqa: NPY002
        with _no_grad():
            self._kept = {
                key: (one.detach().clone(), None if one.grad is None else one.grad.detach().clone())
                for key, one in self._tensors.items()
            }

    def _collect(self, roots: Iterable[Any]) -> None:
        waiting, seen = list(roots), set[int]()
        while waiting:
            one = waiting.pop()
            if id(one) in seen or len(seen) > 100_000:
                continue
            seen.add(id(one))
            if isinstance(one, Tensor):
                if one.is_leaf:
                    self._tensors[id(one)] = one
            else:
                waiting.extend(_parts(one))
                if _is_optimizer(one):
                    states: dict[Any, Any] = one.state
                    self._dicts.append((states, {k: dict(v) for k, v in states.items()}))

    def restore(self) -> None:
        """Put everything back."""
        set_rng_state(self._random[0])
        random.setstate(self._random[1])
        np.random.set_state(self._random[2])  # noqa: NPY002
        with _no_grad():
            for key, one in self._tensors.items():
                value, gradient = self._kept[key]
                if not _same(one, value):
                    one.detach().copy_(value)
                one.grad = None if gradient is None else gradient.clone()
        for live, kept in self._dicts:
            live.clear()
            live.update({k: dict(v) for k, v in kept.items()})

    def live(self) -> list[Tensor]:
        """Return the tensors and their gradients themselves."""
        gradients = [one.grad for one in self._tensors.values() if one.grad is not None]
        return [*self._tensors.values(), *gradients]

    def gradients(self) -> list[Tensor | None]:
        """Return the gradients as they are now."""
        return [
            None if one.grad is None else one.grad.detach().clone()
            for one in self._tensors.values()
        ]

    def changed(self) -> list[Tensor]:
        """Return the tensors as they are now."""
        return [one.detach().clone() for one in self._tensors.values()]


def _same(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and np.array_equal(
        _core.array_of(a.detach()), _core.array_of(b), equal_nan=a.dtype.is_floating_point
    )


class _no_grad:  # noqa: N801 - a small one, without the layers above
    def __enter__(self) -> None:
        self._before = _core.set_grad_enabled(False)

    def __exit__(self, *_: object) -> None:
        _core.set_grad_enabled(self._before)


def _is_optimizer(one: Any) -> bool:
    return hasattr(one, "param_groups") and isinstance(getattr(one, "state", None), dict)


def _parts(one: Any) -> list[Any]:
    """Return what an object refers to, as far as it may lead to tensors."""
    if isinstance(one, dict):
        return list(cast("dict[Any, Any]", one).values())
    if isinstance(one, list | tuple | set):
        return list(cast("list[Any]", one))
    if isinstance(one, partial):
        done = cast("partial[Any]", one)
        return [done.func, *done.args, *done.keywords.values()]
    if isinstance(one, MethodType):
        return [one.__self__, one.__func__]
    if isinstance(one, FunctionType):
        cells = [cell for cell in one.__closure__ or () if _is_filled(cell)]
        names = [one.__globals__[name] for name in one.__code__.co_names if name in one.__globals__]
        defaults = [*(one.__defaults__ or ()), *(one.__kwdefaults__ or {}).values()]
        return [*(cell.cell_contents for cell in cells), *names, *defaults]
    attributes: Any = getattr(one, "__dict__", None)
    is_data = hasattr(one, "named_parameters") or _is_optimizer(one)
    if is_data or (isinstance(attributes, dict) and type(one).__module__ == "__main__"):
        return list(cast("dict[str, Any]", attributes).values())
    if isinstance(attributes, dict) and not isinstance(one, type | FunctionType) and _is_plain(one):
        return list(cast("dict[str, Any]", attributes).values())
    return []


def _is_plain(one: Any) -> bool:
    """Whether it is an object of the user's own, not a module of Python or of a library."""
    module = type(one).__module__.partition(".")[0]
    return module not in {"builtins", "types", "weft", "numpy", "_frozen_importlib"}


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


# ---- comparing -----------------------------------------------------------------------------------


class _Pair:
    """Two runs, op by op."""

    def __init__(
        self, one: _Run, other: _Run, modes: tuple[str, ...], tolerance: float | None
    ) -> None:
        self._one = one
        self._other = other
        self._modes = modes
        self._tolerance = tolerance

    def report(self) -> Comparison | None:
        errors = {run.mode: run.error for run in (self._one, self._other) if run.error is not None}
        if len({type(run.error) for run in (self._one, self._other)}) > 1:
            return self._with(
                what="error",
                note="; ".join(f"{mode}: {kind(error)}" for mode, error in errors.items()),
                errors=errors,
            )
        found = self._first_op()
        if found:
            return found
        for what, first, second in (
            ("results", self._one.results, self._other.results),
            ("gradients", self._one.gradients, self._other.gradients),
            ("tensors that it changes", self._one.changed, self._other.changed),
        ):
            for i, (a, b) in enumerate(zip(first, second, strict=False)):
                if self._differ(a, b):
                    return self._with(
                        what=what,
                        values=(_range(f"number {i}", a), _range(f"number {i}", b)),
                        difference=_difference(a, b),
                        note="Watched op by op, the two agree: what runs together differs.",
                    )
        return None

    def _with(self, **facts: Any) -> Comparison:
        return Comparison(self._modes, self._other.mode, **facts)

    def _first_op(self) -> Comparison | None:
        pairs, strays = self._aligned()
        for a, b in sorted(pairs):
            for inputs in self._unmatched_inputs(a, b, pairs):
                found = self._values_differ(*inputs)
                if found:
                    return found
            found = self._values_differ(a, b)
            if found:
                return found
        if strays:
            return self._stray(*strays)
        return None

    def _values_differ(self, a: int, b: int) -> Comparison | None:
        node = self._one.trace.nodes[a]
        for first, second in zip(
            self._one.values.get(a, ()), self._other.values.get(b, ()), strict=False
        ):
            if first is None or second is None or not self._differ(first, second):
                continue
            return self._with(
                what="values",
                op=node.op,
                place=place_of(self._one.trace, node),
                values=(_range("", first), _range("", second)),
                difference=_difference(first, second),
                note=_other_line(self._one, a, self._other, b),
            )
        return None

    def _unmatched_inputs(
        self, a: int, b: int, pairs: dict[tuple[int, int], None]
    ) -> list[tuple[int, int]]:
        """Return nodes that two alike ones read, where those were recorded in another way."""
        known_a, known_b = {x for x, _ in pairs}, {y for _, y in pairs}
        first, second = self._one.trace.nodes[a].inputs, self._other.trace.nodes[b].inputs
        return [
            (x.node, y.node)
            for x, y in zip(first, second, strict=False)
            if x.node >= 0 and y.node >= 0 and (x.node not in known_a or y.node not in known_b)
        ]

    def _aligned(self) -> tuple[dict[tuple[int, int], None], tuple[int, int] | None]:
        """Pair the nodes of the two runs, example by example; tell where they first part."""
        first, second = _by_example(self._one.trace), _by_example(self._other.trace)
        pairs: dict[tuple[int, int], None] = {}
        strays: tuple[int, int] | None = None
        for example, mine in first.items():
            theirs = second.get(example, [])
            keys = [_key(self._one.trace, i) for i in mine]
            others = [_key(self._other.trace, i) for i in theirs]
            if keys == others:
                pairs.update(dict.fromkeys(zip(mine, theirs, strict=True)))
                continue
            matcher = SequenceMatcher(None, keys, others, autojunk=False)
            for tag, i1, i2, j1, j2 in matcher.get_opcodes():
                if tag == "equal":
                    pairs.update(dict.fromkeys(zip(mine[i1:i2], theirs[j1:j2], strict=True)))
                elif strays is None:
                    at = (
                        mine[i1] if i1 < len(mine) else -1,
                        theirs[j1] if j1 < len(theirs) else -1,
                    )
                    strays = at
        return pairs, strays

    def _stray(self, a: int, b: int) -> Comparison | None:
        """Report that other ops were recorded, unless one run only has cells for the other's."""
        if "cells" in (self._one.mode, self._other.mode):
            return None
        run, number = (self._one, a) if a >= 0 else (self._other, b)
        node = run.trace.nodes[number]
        decision = _first_decision(self._one.trace, self._other.trace)
        texts = [
            f"{run.mode} recorded {run.trace.nodes[i].op} at "
            f"{place_text(place_of(run.trace, run.trace.nodes[i]))}"
            if i >= 0
            else f"{run.mode} recorded nothing more"
            for run, i in ((self._one, a), (self._other, b))
        ]
        return self._with(
            what="decision" if decision else "ops",
            op=node.op,
            place=decision or place_of(run.trace, node),
            note="; ".join(texts),
        )

    def _differ(self, a: Tensor | None, b: Tensor | None) -> bool:
        if a is None or b is None:
            return (a is None) != (b is None)
        if a.shape != b.shape or a.dtype != b.dtype:
            return True
        first, second = _numbers(a), _numbers(b)
        if not a.dtype.is_floating_point:
            return not np.array_equal(first, second)
        tolerance = self._tolerance
        if tolerance is None:
            tolerance = _TOLERANCES.get(a.dtype.name, 1e-4)
        finite = first[np.isfinite(first)]
        largest = float(np.abs(finite).max()) if finite.size else 0.0
        return not np.allclose(
            first, second, rtol=tolerance, atol=tolerance * largest, equal_nan=True
        )


def kind(error: BaseException) -> str:
    """Name an exception and what it says."""
    return f"{type(error).__name__}: {error}"


def _numbers(tensor: Tensor) -> np.ndarray[Any, Any]:
    plain = tensor.detach()
    is_narrow = plain.dtype.is_floating_point and plain.element_size() < 4
    return np.asarray(_core.array_of(plain.float() if is_narrow else plain))


def _difference(a: Tensor | None, b: Tensor | None) -> float:
    if a is None or b is None or a.shape != b.shape or not a.numel():
        return 0.0
    first, second = _numbers(a).astype(np.float64), _numbers(b).astype(np.float64)
    with np.errstate(invalid="ignore"):
        apart = np.abs(first - second)
    return float(np.nanmax(apart)) if not np.isnan(apart).all() else float("nan")


def _range(name: str, tensor: Tensor | None) -> Range:
    if tensor is None:
        return Range(name, (), "None")
    value = statistics_of(_core.statistics(tensor))
    return Range(name, tuple(tensor.shape), tensor.dtype.name, value)


def _by_example(trace: Trace) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for i, node in enumerate(trace.nodes):
        if node.kind in {"op", "cell"}:
            found.setdefault(max(node.example, 0), []).append(i)  # the whole run may be example 0
    return found


def _key(trace: Trace, number: int) -> tuple[str, str, int]:
    node: Node = trace.nodes[number]
    place = place_of(trace, node)
    name = node.op.removesuffix("_")  # what waits is not written over but replaced
    return (name, place.file, place.line) if place else (name, "", 0)


def _other_line(one: _Run, a: int, other: _Run, b: int) -> str:
    first, second = _key(one.trace, a), _key(other.trace, b)
    if first == second:
        return ""
    place = place_text(place_of(other.trace, other.trace.nodes[b]))
    return f"In {other.mode} it is {second[0]} at {place}."


def _first_decision(one: Trace, other: Trace) -> Place | None:
    """Return the line at which Python first read something else."""
    for a, b in zip(one.reads, other.reads, strict=False):
        if a.kind == b.kind and a.value != b.value and a.frame >= 0:
            place = one.frames[a.frame].place
            return one.places[place] if place >= 0 else None
    return None
