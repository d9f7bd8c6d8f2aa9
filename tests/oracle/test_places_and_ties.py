"""Indices out of range, equal elements and NaN, against PyTorch's."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import weft

pytestmark = pytest.mark.filterwarnings("ignore")

Call = Callable[..., Any]


def outcome(call: Call, *args: Any) -> Any:
    """Return the result as nested numbers, or that the call was refused."""
    try:
        found = call(*args)
    except Exception:  # noqa: BLE001 - their classes differ
        return "refused"
    if isinstance(found, tuple | list):
        return [np.asarray(part.tolist()) for part in found]
    return [np.asarray(found.tolist())]


def assert_alike(call: Call) -> None:
    ours, theirs = outcome(call, weft), outcome(call, torch)
    if "refused" in (ours, theirs):
        assert ours == theirs
        return
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


PLACES: dict[str, Call] = {
    "gather": lambda t, x, i: x.gather(0, i.unsqueeze(1)),
    "index_select": lambda t, x, i: x.index_select(0, i),
    "take": lambda t, x, i: x.take(i * 3),
    "getitem": lambda t, x, i: x[i],
    "embedding": lambda t, x, i: t.nn.functional.embedding(i, x),
    "bags": lambda t, x, i: t.nn.functional.embedding_bag(i.unsqueeze(0), x),
    "scatter": lambda t, x, i: x.scatter(0, i.unsqueeze(1), 1.0),
    "scatter_add": lambda t, x, i: x.scatter_add(0, i.unsqueeze(1), x[:2]),
    "scatter_reduce": lambda t, x, i: x.scatter_reduce(0, i.unsqueeze(1), x[:2], "amax"),
    "index_add": lambda t, x, i: x.index_add(0, i, x[:2]),
    "index_copy": lambda t, x, i: x.index_copy(0, i, x[:2]),
    "index_fill": lambda t, x, i: x.index_fill(0, i, 1.0),
    "index_put": lambda t, x, i: x.index_put((i,), x[0]),
    "index_reduce": lambda t, x, i: x.index_reduce(0, i, x[:2], "mean"),
    "put": lambda t, x, i: x.put(i * 3, x[0, :2]),
    "nll_loss": lambda t, x, i: t.nn.functional.nll_loss(x[:2], i),
    "cross_entropy": lambda t, x, i: t.nn.functional.cross_entropy(x[:2], i),
    "multi_margin_loss": lambda t, x, i: t.nn.functional.multi_margin_loss(x[:2], i),
    "one_hot": lambda t, x, i: t.nn.functional.one_hot(i, 4),
}


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("first", range(-5, 5))
def test_places(name: str, first: int) -> None:
    # Not twice the same place, for which writes have no order in PyTorch.
    second = (first + 1) % 3
    if first % 4 == second:
        second += 1

    def call(t: Any) -> Any:
        return PLACES[name](t, t.arange(12.0).reshape(4, 3), t.tensor([first, second]))

    assert_alike(call)


EXTREMES = ("max", "min", "amax", "amin", "median", "nanmedian", "nansum", "sum")


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("seed", range(20))
def test_ties_of_all_elements(name: str, seed: int) -> None:
    dice = np.random.default_rng(seed)
    values = dice.integers(0, 3, dice.integers(1, 4, 2)).astype(np.float64)
    values[dice.random(values.shape) < 0.2 * (seed % 3)] = np.nan

    def call(t: Any) -> Any:
        x = t.tensor(values.tolist(), dtype=t.float64, requires_grad=True)
        found = getattr(t, name)(x)
        found.backward()
        return found, x.grad

    assert_alike(call)


@pytest.mark.parametrize("name", ["max", "min", "median", "nanmedian", "cummax", "cummin"])
@pytest.mark.parametrize("seed", range(20))
def test_ties_along_a_dimension(name: str, seed: int) -> None:
    dice = np.random.default_rng(seed)
    dim = int(dice.integers(-2, 2))
    values = dice.permutation(12).reshape(3, 4).astype(np.float64)
    values[dice.random(values.shape) < 0.2 * (seed % 3)] = np.nan

    def call(t: Any) -> Any:
        x = t.tensor(values.tolist(), dtype=t.float64, requires_grad=True)
        found, places = getattr(t, name)(x, dim)
        (found * t.arange(1.0, found.numel() + 1).reshape(found.shape)).sum().backward()
        return found, places, x.grad

    # Of several NaN in one row, sorting decides which one nanmedian points to.
    if name == "nanmedian" and np.isnan(values).all(dim).any():
        return
    assert_alike(call)


@pytest.mark.parametrize("seed", range(20))
def test_warm_restarts(seed: int) -> None:
    dice = random.Random(seed)
    first, factor = dice.randint(1, 5), dice.choice([1, 2])
    steps = [dice.choice([None, None, dice.randint(0, 20), dice.uniform(0, 20)]) for _ in range(12)]

    def call(t: Any) -> Any:
        optimizer = t.optim.SGD([t.nn.Parameter(t.zeros(1))], lr=0.1)
        schedulers = t.optim.lr_scheduler
        scheduler = schedulers.CosineAnnealingWarmRestarts(optimizer, first, factor, 0.01)
        rates = []
        for step in steps:
            optimizer.step()
            scheduler.step(step)
            rates.append([*scheduler.get_last_lr(), scheduler.T_cur, scheduler.T_i])
        return t.tensor(rates, dtype=t.float64)

    assert_alike(call)
