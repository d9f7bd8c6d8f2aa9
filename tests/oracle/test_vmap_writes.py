"""Writes inside vmap, against PyTorch's."""

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


WRITES: tuple[Call, ...] = (
    lambda t, row: row.mul_(2),
    lambda t, row: row[0].add_(3),
    lambda t, row: row[1:].mul_(row[:1]),
    lambda t, row: row.view(-1)[0].zero_(),
    lambda t, row: row.detach().add_(1),
    lambda t, row: row.T.mul_(2),
    lambda t, row: row.diagonal().fill_(5.0),
    lambda t, row: row.masked_fill_(row > 4, 1.0),
    lambda t, row: row.index_fill_(0, t.tensor([1]), 2.0),
    lambda t, row: row.copy_(row.flip(0)),
    lambda t, row: row.cumsum_(0),
    lambda t, row: row.clamp_(2, 9),
    lambda t, row: t.func.vmap(lambda part: part.mul_(3))(row),
    lambda t, row: t.func.vmap(lambda part: part[0].sub_(1), in_dims=1)(row),
    lambda t, row: row.squeeze().add_(row),
    lambda t, row: row.as_strided((2,), (row.stride(1),)).add_(1),
)


@pytest.mark.parametrize("seed", range(60))
def test_writes_inside_vmap(seed: int) -> None:
    dice = random.Random(seed)
    dim, writes = dice.choice([0, 1, 2]), dice.sample(WRITES, dice.randint(1, 3))
    chunk = dice.choice([None, 2])

    def call(t: Any) -> Any:
        x = t.arange(27.0).reshape(3, 3, 3)

        def run(row: Any) -> Any:
            for write in writes:
                write(t, row)
            return row.sum(0)

        y = t.func.vmap(run, in_dims=dim, chunk_size=chunk)(x)
        return y, x

    assert_alike(call)
