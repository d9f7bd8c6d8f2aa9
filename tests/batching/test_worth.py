"""Maps whose batches cost more than they save run their examples one by one."""

from __future__ import annotations

import random
from typing import Any

import pytest

import weft
from weft import _core, nn
from weft.batching.replaying import Mapped
from weft.batching.worth import Engine, Worth


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, strand_threshold: None) -> None:
    """Look at what batches came to from the second map on, for short spells."""
    monkeypatch.setattr(Engine, "fibers", 0)
    monkeypatch.setattr(Engine, "tasks", 0)
    monkeypatch.setattr(Worth, "learning", 2)
    monkeypatch.setattr(Worth, "shortest", 3)
    monkeypatch.setattr(Worth, "longest", 12)


def ragged() -> list[weft.Tensor]:
    """Return examples of which no two have one shape."""
    return [weft.ones(2 + i) for i in range(12)]


def plans_of(function: Any, examples: Any, **options: Any) -> int:
    """Return how many plans a map makes."""
    before = _core.ran_counts()[4]
    weft.map(function, examples, **options)
    return _core.ran_counts()[4] - before


def decide(x: weft.Tensor) -> weft.Tensor:
    """Read values, op by op, that no other example can share."""
    for _ in range(6):
        x = x * 0.5 if x.sum() > 1 else x + 1
    return x


def wide(x: weft.Tensor) -> weft.Tensor:
    """Compute what batches well."""
    for _ in range(8):
        x = (x @ WEIGHT).tanh()
    return x


WEIGHT = weft.ones(16, 16)


@pytest.mark.usefixtures("quick")
@pytest.mark.single_ops
def test_examples_that_share_nothing_run_one_by_one_after_a_while() -> None:
    def body(x: weft.Tensor) -> weft.Tensor:
        return decide(x)

    plans = [plans_of(body, ragged(), replay=False) for _ in range(24)]
    assert plans[0] > 0
    assert plans[1] > 0
    assert plans[2:5] == [0, 0, 0]  # the first spell
    assert plans[5] > 0  # another look
    assert plans[6:18] == [0] * 12  # a longer one
    assert plans[18] > 0


@pytest.mark.usefixtures("quick")
@pytest.mark.single_ops
def test_batches_that_pay_go_on() -> None:
    def body(x: weft.Tensor) -> weft.Tensor:
        return wide(x)

    examples = [weft.ones(16) * i for i in range(32)]
    assert all(plans_of(body, examples, replay=False) > 0 for _ in range(8))


@pytest.mark.usefixtures("quick")
@pytest.mark.single_ops
def test_batches_can_be_wanted_in_any_case() -> None:
    def body(x: weft.Tensor) -> weft.Tensor:
        return decide(x)

    for _ in range(4):
        weft.map(body, ragged(), replay=False)
    assert plans_of(body, ragged(), replay=False) == 0
    assert plans_of(body, ragged(), replay=False, batch=True) > 0


@pytest.mark.usefixtures("quick")
@pytest.mark.single_ops
def test_with_and_without_gradients_are_different_matters() -> None:
    def body(x: weft.Tensor) -> weft.Tensor:
        return decide(x)

    for _ in range(4):
        weft.map(body, ragged(), replay=False)
    with weft.no_grad():
        assert plans_of(body, ragged(), replay=False) > 0


@pytest.mark.usefixtures("quick")
@pytest.mark.single_ops
def test_somebody_who_watches_sees_batches() -> None:
    def body(x: weft.Tensor) -> weft.Tensor:
        return decide(x)

    for _ in range(4):
        weft.map(body, ragged(), replay=False)
    assert plans_of(body, ragged(), replay=False) == 0
    before = _core.ran_counts()[4]
    weft.graph(lambda: weft.map(body, ragged(), replay=False))
    assert _core.ran_counts()[4] > before


@pytest.mark.single_ops
@pytest.mark.parametrize("seed", range(12))
def test_results_are_the_same_whenever_a_map_steps_aside(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(Worth, "learning", rng.choice([1, 2, 4]))
    monkeypatch.setattr(Engine, "fibers", rng.choice([0, 1, 2]))
    monkeypatch.setattr(Engine, "tasks", rng.choice([0, 1, 2]))
    monkeypatch.setattr(Worth, "shortest", rng.choice([1, 2, 5]))
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Dropout(0.3), nn.Linear(3, 3))

    def body(x: weft.Tensor) -> weft.Tensor:
        for _ in range(seed % 3 + 1):
            x = model(x)
            if x.sum() > 0.1:
                x = x - weft.rand(3)
        return x.square().sum()

    def step(**options: Any) -> list[list[float]]:
        weft.manual_seed(seed)
        model.zero_grad()
        examples = [weft.randn(3) for _ in range(5)]
        losses = weft.map(body, examples, **options)
        weft.stack(losses).sum().backward()
        gradients = [p.grad.reshape(-1).tolist() for p in model.parameters() if p.grad is not None]
        return [weft.stack(losses).tolist(), *gradients, weft.rand(2).tolist()]

    expected = step(batch=False)
    for _ in range(12):
        for one, other in zip(step(replay=False), expected, strict=True):
            assert one == pytest.approx(other, rel=1e-5, abs=1e-6)


def tree(depth: int, leaf: int = 0) -> Any:
    """Return a balanced tree of numbers."""
    return leaf if depth == 0 else (tree(depth - 1, 2 * leaf), tree(depth - 1, 2 * leaf + 1))


@pytest.mark.python
@pytest.mark.parametrize(("depth", "loses"), [(0, False), (4, True), (6, True)])
def test_replaying_ends_where_what_is_alike_within_an_example_no_longer_runs_together(
    depth: int, *, loses: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Mapped, "warm", 24)
    table, join = nn.Embedding(64, 4), nn.Linear(8, 4)

    def state(node: Any) -> weft.Tensor:
        if isinstance(node, int):
            return table(weft.tensor(node)).tanh()
        return join(weft.cat([state(node[0]), state(node[1])])).tanh()

    def body(node: Any) -> weft.Tensor:
        return state(node).sum()

    trees = [tree(depth) for _ in range(8)]
    expected = [loss.item() for loss in weft.map(body, trees, batch=False)]
    for _ in range(8):
        assert [loss.item() for loss in weft.map(body, trees)] == pytest.approx(expected)
    assert body.__dict__["_weft_mapped"].is_off is loses
