"""How tensors lie in memory: what was recorded as a view is one, whatever rows ran together."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

import weft
from weft import _core
from weft.batching.replaying import Mapped
from weft.batching.worth import Worth

Function = Callable[[weft.Tensor], weft.Tensor]


def _results(function: Function, rows: list[weft.Tensor], weight: weft.Tensor, **options: bool):
    """Return the results and the weight's gradient, or what was raised."""
    weight.grad = None
    try:
        found = weft.map(function, rows, **options)
        weft.stack([one.sum() for one in found]).sum().backward()
    except (weft.ShapeError, IndexError) as error:
        return type(error).__name__
    assert weight.grad is not None
    return [one.tolist() for one in found], weight.grad.tolist()


def _assert_close(found: list, expected: list) -> None:
    assert weft.allclose(weft.tensor(found), weft.tensor(expected), equal_nan=True)


@pytest.mark.single_ops  # thresholds of its own
@pytest.mark.parametrize("threshold", [3, 8, 13])
def test_views_of_stretched_rows_inside_gradients(threshold: int) -> None:
    weight = weft.ones(4, requires_grad=True)

    def inner(x: weft.Tensor) -> weft.Tensor:
        v = x * weight
        u = (-v).reshape(2, 2).t().sum() * v
        return weft.autograd.grad(u.sum(), v, create_graph=True)[0]

    rows = [weft.arange(4.0) * k for k in range(4)]
    expected = _results(inner, rows, weight, batch=False)
    before = _core.set_strand_threshold(threshold)
    try:
        for _ in range(40):
            assert _results(inner, rows, weight, replay=False) == expected
    finally:
        _core.set_strand_threshold(before)


_STEPS: list[tuple[str, Callable[[weft.Tensor, random.Random], weft.Tensor]]] = [
    ("transpose", lambda x, _: x.t()),
    ("rows", lambda x, rng: x[rng.randrange(2) :]),
    ("columns", lambda x, rng: x[:, :: rng.randint(1, 2)]),
    ("stretch", lambda x, _: x[:1].expand(3, x.shape[1])),
    ("column", lambda x, rng: x[:, rng.randrange(-1, 2)].unsqueeze(1).expand(-1, 2)),
    ("flat view", lambda x, _: x.view(1, -1)),
    ("flat", lambda x, _: x.reshape(1, -1)),
    ("halves", lambda x, _: x.reshape(-1, 1)),
    ("negative", lambda x, _: -x),
    ("scaled", lambda x, _: x * 0.5 + 1),
    ("in order", lambda x, _: x.contiguous()),
]


def _program(seed: int, weight: weft.Tensor) -> Function:
    rng = random.Random(seed)
    steps = [(rng.choice(_STEPS), rng.randrange(1 << 30)) for _ in range(rng.randint(3, 9))]
    reads = rng.random() < 0.5

    def run(x: weft.Tensor) -> weft.Tensor:
        y = x * weight
        for (_, step), number in steps:
            y = step(y, random.Random(number))
            if reads and number % 3 == 0 and y.sum() < -1e9:
                y = y * 2
        return y

    return run


@pytest.mark.single_ops
@pytest.mark.parametrize("part", range(8))
def test_random_views(part: int) -> None:
    refused = 0
    for seed in range(40 * part, 40 * part + 40):
        rng = random.Random(seed)
        weight = weft.randn(4, 4).requires_grad_()
        function = _program(seed, weight)
        # Rows of one shape that lie in different ways, and rows that are no tensors of their own.
        table = weft.randn(6, 4, 4)
        rows = [row.t() if rng.random() < 0.3 else row for row in table]
        expected = _results(function, rows, weight, batch=False)
        refused += isinstance(expected, str)
        before = _core.set_strand_threshold(rng.choice([0, 2, 5, 2**62]))
        warm, Mapped.warm = Mapped.warm, rng.choice([0, 7, 2**62])
        learning, Worth.learning = Worth.learning, rng.choice([1, 3, 2**62])
        try:
            for _ in range(6):
                found = _results(function, rows, weight, replay=rng.random() < 0.5)
                if isinstance(expected, str) or isinstance(found, str):
                    assert found == expected, seed
                    continue
                for one, other in zip(found[0], expected[0], strict=True):
                    _assert_close(one, other)
                _assert_close(found[1], expected[1])
        finally:
            _core.set_strand_threshold(before)
            Mapped.warm = warm
            Worth.learning = learning
    assert 0 < refused < 30


@pytest.mark.single_ops
def test_a_transposed_result_stays_transposed() -> None:
    def sides(x: weft.Tensor) -> list[weft.Tensor]:
        y = (x + 1).t()
        return [y, y.contiguous(), x.expand(2, 3, 2)]

    rows = [weft.randn(3, 2) for _ in range(8)]
    for threshold in (0, 2**62):
        before = _core.set_strand_threshold(threshold)
        for transposed, ordered, stretched in weft.map(sides, rows, replay=False):
            assert (transposed.is_contiguous(), ordered.is_contiguous()) == (False, True)
            assert transposed.t().is_contiguous()
            assert stretched[0].is_contiguous()
        _core.set_strand_threshold(before)
