"""Random programs over one example: eager, lazy, mapped and NumPy must agree.

A program is a list of steps over three-vectors; each step reads two earlier results, so what is
computed is a DAG with shared parts. The same code runs on NumPy arrays. NumPy's first derivatives
come from complex numbers (see tests/test_views_inplace.py), the second ones from differences of
those.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import weft
from weft import _core
from weft.batching.replaying import Mapped
from weft.batching.worth import Engine, Worth

# Few rows are the point here, not a mistake.
pytestmark = pytest.mark.filterwarnings("ignore:more than 20 plans")

# ---- Programs ------------------------------------------------------------------------------------

KINDS = (
    *("add", "multiply", "tanh", "shared_matrix", "shared_bias", "own_matrix", "own_number"),
    *("own_index", "own_row", "rotate", "average", "mean", "select_by_mask", "decide", "gate"),
    *("write", "view", "transposed", "take", "softmax", "tree"),
)
WRITES = ("write", "write_part", "write_element", "add", "view", "own_number", "decide")


@dataclass(frozen=True)
class Step:
    """One result: what is done to which two earlier ones."""

    kind: str
    first: int
    second: int


def programs_of(kinds: tuple[str, ...]) -> st.SearchStrategy[list[list[Step]]]:
    """Return a strategy for one or two programs made of some kinds of steps."""
    steps = st.builds(Step, st.sampled_from(kinds), st.integers(0, 9), st.integers(0, 9))
    return st.lists(st.lists(steps, min_size=2, max_size=8), min_size=1, max_size=2)


@dataclass(frozen=True)
class Example:
    """What one example brings: a program, and data of its own."""

    steps: list[Step]
    x: Any
    matrix: Any
    number: float
    index: int


@weft.cell
def gate_cell(x: weft.Tensor, y: weft.Tensor) -> weft.Tensor:
    """Return what the step "gate" computes, as one op."""
    return (x.tanh() * y).sin()


class Numpy:
    """The reference: arrays, real or complex."""

    def __init__(self) -> None:
        self.margin = np.inf  # how near a decision was to going the other way

    def tanh(self, x: Any) -> Any:
        return np.tanh(x)

    def sin(self, x: Any) -> Any:
        return np.sin(x)

    def gate(self, x: Any, y: Any) -> Any:
        return np.sin(np.tanh(x) * y)

    def softmax(self, x: Any) -> Any:
        return np.exp(x) / np.exp(x).sum()

    def cat(self, parts: list[Any]) -> Any:
        return np.concatenate(parts)

    def stack(self, parts: list[Any]) -> Any:
        return np.stack(parts)

    def mean(self, x: Any) -> Any:
        return x.mean(0)

    def where(self, mask: np.ndarray, x: Any, y: Any) -> Any:
        return np.where(mask, x, y)

    def take(self, x: Any, index: list[int]) -> Any:
        return x[index]

    def is_positive(self, x: Any) -> bool:
        self.margin = min(self.margin, abs(x.sum().real))
        return bool(x.sum().real > 0)

    def copy(self, x: Any) -> Any:
        return x.copy()


class Weft:
    """The side under test."""

    def tanh(self, x: Any) -> Any:
        return x.tanh()

    def sin(self, x: Any) -> Any:
        return weft.sin(x)

    def gate(self, x: Any, y: Any) -> Any:
        return gate_cell(x, y)

    def softmax(self, x: Any) -> Any:
        return weft.softmax(x, -1)

    def cat(self, parts: list[Any]) -> Any:
        return weft.cat(parts)

    def stack(self, parts: list[Any]) -> Any:
        return weft.stack(parts)

    def mean(self, x: Any) -> Any:
        return x.mean(0)

    def where(self, mask: np.ndarray, x: Any, y: Any) -> Any:
        return weft.where(weft.tensor(mask), x, y)

    def take(self, x: Any, index: list[int]) -> Any:
        return x[weft.tensor(index)]

    def is_positive(self, x: Any) -> bool:
        return bool(x.sum() > 0)

    def copy(self, x: Any) -> Any:
        return x.clone()


def run_step(step: Step, side: Any, example: Example, shared: tuple[Any, Any], known: Any) -> Any:
    """Return a new three-vector; the same code for arrays and tensors."""
    x, y = known[step.first % len(known)], known[step.second % len(known)]
    matrix, bias = shared
    writes: dict[str, Callable[[Any], None]] = {
        "write": lambda c: c.__imul__(y),
        "write_part": lambda c: c[1:].__iadd__(y[:2]),
        "write_element": lambda c: c.__setitem__(example.index, y[0]),
    }
    if step.kind in writes:
        copy = side.copy(x * 1.5)
        writes[step.kind](copy)
        return side.sin(copy)
    if step.kind == "decide":
        return side.tanh(x) if side.is_positive(x) else side.sin(x + y)
    results: dict[str, Callable[[], Any]] = {
        "add": lambda: side.sin(x + y),
        "multiply": lambda: side.sin(x * y),
        "tanh": lambda: side.tanh(x),
        "shared_matrix": lambda: side.tanh(matrix @ x),
        "shared_bias": lambda: x * 0.5 + bias,
        "own_matrix": lambda: side.tanh(x @ example.matrix),
        "own_number": lambda: side.sin(x * example.number - example.index),
        "own_index": lambda: side.sin(x[example.index] * y),
        "own_row": lambda: side.sin(x * example.matrix[example.index]),
        "rotate": lambda: side.cat([x[1:], y[:1]]),
        "average": lambda: side.mean(side.stack([x, y, x])),
        "mean": lambda: x - side.mean(y),
        "select_by_mask": lambda: side.where(np.array([True, False, True]), x, y),
        "gate": lambda: side.gate(x, y),
        "view": lambda: side.sin(side.stack([x, y]).reshape(3, 2)[:, step.first % 2] * 2),
        "transposed": lambda: side.tanh(matrix.T @ x + example.matrix.T @ y),
        "take": lambda: side.take(x, [2, 0, 2]),
        "softmax": lambda: side.softmax(x),
        "tree": lambda: run_tree(side, [x, y, x * y, y, x], shared),
    }
    return results[step.kind]()


def run_tree(side: Any, leaves: list[Any], shared: tuple[Any, Any]) -> Any:
    """Return what a small recursive model makes of some leaves."""
    if len(leaves) == 1:
        return leaves[0]
    half = (len(leaves) + 1) // 2
    left, right = (run_tree(side, part, shared) for part in (leaves[:half], leaves[half:]))
    return side.tanh(shared[0] @ (left * right) + shared[1] - left)


def run_example(side: Any, example: Example, shared: tuple[Any, Any]) -> Any:
    """Return the loss of one example."""
    known = [example.x * shared[1]]
    for step in example.steps:
        known.append(run_step(step, side, example, shared, known))
    total = known[-1].sum()
    for result in known[1:-1]:
        total = total + (result * result).sum() * 0.25
    return total


# ---- NumPy's derivatives -------------------------------------------------------------------------

SHARED = np.concatenate([np.sin(np.arange(9.0)), [0.25, -0.5, 0.75]])
DIRECTION = np.cos(np.arange(12.0))


def unflatten(flat: Any) -> tuple[Any, Any]:
    return flat[:9].reshape(3, 3), flat[9:]


def numpy_losses(examples: list[Example], flat: np.ndarray) -> tuple[np.ndarray, float]:
    side = Numpy()
    losses = [run_example(side, example, unflatten(flat)) for example in examples]
    return np.array(losses), side.margin


def numpy_gradient(examples: list[Example], flat: np.ndarray, weights: np.ndarray) -> np.ndarray:
    gradient = []
    for i in range(flat.size):
        moved = flat.astype(complex)
        moved[i] += 1e-40j
        gradient.append((numpy_losses(examples, moved)[0] * weights).sum().imag / 1e-40)
    return np.array(gradient)


def numpy_second(examples: list[Example], flat: np.ndarray, weights: np.ndarray) -> np.ndarray:
    step = 1e-5
    ahead = numpy_gradient(examples, flat + step * DIRECTION, weights)
    behind = numpy_gradient(examples, flat - step * DIRECTION, weights)
    return (ahead - behind) / (2 * step)


# ---- Weft's ways ---------------------------------------------------------------------------------


def eager(function: Callable[[Example], Any], examples: list[Example]) -> list[Any]:
    return [function(example) for example in examples]


def lazy(function: Callable[[Example], Any], examples: list[Example]) -> list[Any]:
    with weft.lazy():
        return [function(example) for example in examples]


def mapped(function: Callable[[Example], Any], examples: list[Example]) -> list[Any]:
    return weft.map(function, examples, width=3)


def celled(function: Callable[[Example], Any], examples: list[Example]) -> list[Any]:
    """Make a cell of each program, and map those."""
    results: dict[int, Any] = {}
    for steps in {id(example.steps): example.steps for example in examples}.values():
        cell = weft.cell(partial(_run_given, function, steps))
        own = [i for i, example in enumerate(examples) if example.steps is steps]
        given = [(e.x, e.matrix, e.number, e.index) for e in (examples[i] for i in own)]
        results.update(zip(own, weft.map(cell, given, width=3), strict=True))
    return [results[i] for i in range(len(examples))]


def _run_given(function: Callable[[Example], Any], steps: list[Step], given: Any) -> Any:
    return function(Example(steps, *given))


def weft_results(
    way: Callable[..., list[Any]], examples: list[Example], weights: np.ndarray, dtype: weft.dtype
) -> list[np.ndarray]:
    """Return the losses, the gradient and the second derivative in one direction."""
    flat = weft.tensor(SHARED, dtype=dtype, requires_grad=True)
    own = [
        Example(
            example.steps,
            weft.tensor(example.x, dtype=dtype),
            weft.tensor(example.matrix, dtype=dtype),
            example.number,
            example.index,
        )
        for example in examples
    ]
    losses = way(lambda example: run_example(Weft(), example, unflatten(flat)), own)
    # A weight of 0 stands for an example that is dropped.
    used = [(loss, weight) for loss, weight in zip(losses, weights, strict=True) if weight]
    total = weft.stack([loss * float(weight) for loss, weight in used]).sum()
    (gradient,) = weft.autograd.grad(
        total, [flat], create_graph=True, allow_unused=True, materialize_grads=True
    )
    second: Any = None
    if gradient.requires_grad:
        along = (gradient * weft.tensor(DIRECTION, dtype=dtype)).sum()
        (second,) = weft.autograd.grad(along, [flat], allow_unused=True)
    if second is None:
        second = weft.zeros(12)
    values = np.array([loss.item() for loss in losses])
    return [values, gradient.detach().numpy(), second.detach().numpy()]


def make_examples(programs: list[list[Step]], which: list[int]) -> list[Example]:
    return [
        Example(
            programs[w % len(programs)],
            np.sin(np.arange(3.0) + i),
            np.cos(np.arange(9.0) * (i + 1)).reshape(3, 3) * 0.5,
            0.5 + 0.25 * i,
            i % 3,
        )
        for i, w in enumerate(which)
    ]


def check(
    ways: tuple[Callable[..., list[Any]], ...],
    dtype: weft.dtype,
    examples: list[Example],
    dropped: int,
) -> None:
    weights = np.array([0.0 if i == dropped else 1.0 + i for i in range(len(examples))])
    losses, margin = numpy_losses(examples, SHARED)
    assume(margin > 1e-3)  # otherwise rounding decides
    expected = [
        losses,
        numpy_gradient(examples, SHARED, weights),
        numpy_second(examples, SHARED, weights),
    ]
    tolerance = 1e-6 if dtype == weft.float64 else 2e-3
    for way in ways:
        found = weft_results(way, examples, weights, dtype)
        for name, a, b in zip(("value", "gradient", "second"), found, expected, strict=True):
            scale = 1 + np.abs(b).max()
            np.testing.assert_allclose(
                a / scale, b / scale, atol=tolerance, err_msg=f"{name}, {way.__name__}"
            )


WHICH = st.lists(st.integers(0, 1), min_size=2, max_size=6)


@pytest.mark.parametrize("dtype", [weft.float64, weft.float32])
@settings(max_examples=150)
@given(programs=programs_of(KINDS), which=WHICH, dropped=st.integers(0, 5))
def test_all_ways_agree(
    dtype: weft.dtype, programs: list[list[Step]], which: list[int], dropped: int
) -> None:
    check((eager, lazy, mapped, celled), dtype, make_examples(programs, which), dropped)


@settings(max_examples=100)
@given(programs=programs_of(WRITES), which=WHICH, dropped=st.integers(0, 5))
def test_writes_agree(programs: list[list[Step]], which: list[int], dropped: int) -> None:
    check((eager, lazy, mapped, celled), weft.float64, make_examples(programs, which), dropped)


# ---- Thresholds ----------------------------------------------------------------------------------

# So many programs that nobody has run before, where somebody wants them.
PROGRAMS = int(os.environ.get("WEFT_PROGRAMS", "0"))
THRESHOLDS = st.sampled_from((0, 1, 2, 3, 5, 8, 13, 2**62))


@contextmanager
def thresholds(strands: int, warm: int, learning: int, fibers: int) -> Iterator[None]:
    """Inside, set when strands begin, when maps replay, step aside, and try routines."""
    before = _core.set_strand_threshold(strands), Mapped.warm, Worth.learning, Engine.fibers
    Mapped.warm, Worth.learning, Engine.fibers = warm, learning, fibers
    try:
        yield
    finally:
        _core.set_strand_threshold(before[0])
        _, Mapped.warm, Worth.learning, Engine.fibers = before


def mapped_often(times: int) -> Callable[..., list[Any]]:
    """Return a way that maps a function so many times and gives the last results."""

    def way(function: Callable[[Example], Any], examples: list[Example]) -> list[Any]:
        for _ in range(times - 1):
            weft.map(function, examples, width=3)
        return weft.map(function, examples, width=3)

    way.__name__ = f"mapped {times} times"
    return way


@pytest.mark.single_ops
@settings(max_examples=PROGRAMS or 100, derandomize=not PROGRAMS)
@given(
    programs=programs_of(KINDS),
    which=WHICH,
    dropped=st.integers(0, 5),
    at=st.tuples(THRESHOLDS, THRESHOLDS, THRESHOLDS, THRESHOLDS),
    times=st.integers(1, 9),
)
def test_thresholds_change_nothing(
    programs: list[list[Step]],
    which: list[int],
    dropped: int,
    at: tuple[int, int, int, int],
    times: int,
) -> None:
    # What a program writes it makes itself, so the last map gives what the first one gives.
    with thresholds(*at):
        ways = (lazy, mapped_often(times), celled, mapped_often(times))
        check(ways, weft.float64, make_examples(programs, which), dropped)
