"""The same seed gives PyTorch's batches."""

from __future__ import annotations

import collections
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import weft

Make = Callable[[Any, Any], Any]


def plain(value: Any) -> Any:
    """Turn tensors into lists, whoever made them."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return value


def dataset(t: Any) -> Any:
    return t.utils.data.TensorDataset(t.arange(23), t.arange(23.0).reshape(23, 1))


def epochs(t: Any, make: Make, count: int = 3) -> list[Any]:
    """Run several epochs with other draws before, in and between them."""
    seen = []
    for seed in (0, 7, 2**40 + 1):
        t.manual_seed(seed)
        loader = make(t, t.utils.data)
        for _ in range(count):
            seen.append(t.randint(0, 1000, (2,)).tolist())
            for batch in loader:
                seen.extend((plain(batch), t.rand(1).item()))
        seen.append(t.randperm(5).tolist())
    return seen


def check(make: Make, count: int = 3) -> None:
    assert epochs(weft, make, count) == epochs(torch, make, count)


LOADERS: dict[str, Make] = {
    "in order": lambda t, d: d.DataLoader(dataset(t), 4),
    "shuffle": lambda t, d: d.DataLoader(dataset(t), 4, shuffle=True),
    "shuffle, drop_last": lambda t, d: d.DataLoader(dataset(t), 5, shuffle=True, drop_last=True),
    "single": lambda t, d: d.DataLoader(dataset(t), None, shuffle=True),
    "generator": lambda t, d: d.DataLoader(
        dataset(t), 4, shuffle=True, generator=t.Generator().manual_seed(3)
    ),
    "replacement": lambda t, d: d.DataLoader(
        dataset(t), 3, sampler=d.RandomSampler(range(23), replacement=True, num_samples=70)
    ),
    "more samples than there are": lambda t, d: d.DataLoader(
        dataset(t), 3, sampler=d.RandomSampler(range(23), num_samples=60)
    ),
    "a sampler's generator": lambda t, d: d.DataLoader(
        dataset(t),
        3,
        sampler=d.RandomSampler(range(23), num_samples=46, generator=t.default_generator),
    ),
    "replacement, default generator": lambda t, d: d.DataLoader(
        dataset(t), 3, sampler=d.RandomSampler(range(23), True, 64, t.default_generator)
    ),
    "weighted": lambda t, d: d.DataLoader(
        dataset(t), 4, sampler=d.WeightedRandomSampler([1.0, 2.0, 0.0, 5.5] * 5, 30)
    ),
    "weighted, no replacement": lambda t, d: d.DataLoader(
        dataset(t), 4, sampler=d.WeightedRandomSampler([1.0, 2.0, 0.5] * 5, 9, replacement=False)
    ),
    "subset": lambda t, d: d.DataLoader(
        dataset(t), 4, sampler=d.SubsetRandomSampler([3, 1, 4, 15, 9, 2, 6])
    ),
    "batch_sampler": lambda t, d: d.DataLoader(
        dataset(t), batch_sampler=d.BatchSampler(d.RandomSampler(range(23)), 6, True)
    ),
    "split": lambda t, d: d.DataLoader(d.random_split(dataset(t), [10, 13])[1], 4, shuffle=True),
    "split by fractions": lambda t, d: d.DataLoader(
        d.random_split(dataset(t), [0.5, 0.3, 0.2], t.Generator().manual_seed(1))[2], 2
    ),
    "concat": lambda t, d: d.DataLoader(dataset(t) + dataset(t), 7, shuffle=True),
    "stack": lambda t, d: d.DataLoader(
        d.StackDataset(a=dataset(t), b=range(23)), 7, shuffle=True
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LOADERS)
def test_batches(name: str) -> None:
    check(LOADERS[name])


class Noisy:
    """Draws from three generators for each item."""

    def __init__(self, t: Any) -> None:
        self.t = t

    def __len__(self) -> int:
        return 9

    def __getitem__(self, index: int) -> Any:
        legacy = np.random.randint(1000)  # noqa: NPY002
        return index, self.t.rand(2), random.random(), float(legacy)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("persistent", [False, True])
def test_workers_draw_the_same_numbers(workers: int, persistent: bool) -> None:
    check(
        lambda t, d: d.DataLoader(
            Noisy(t), 2, shuffle=True, num_workers=workers, persistent_workers=persistent
        ),
        2,
    )


def test_loops_inside_loops_and_early_breaks() -> None:
    def run(t: Any) -> list[Any]:
        t.manual_seed(11)
        outer = t.utils.data.DataLoader(range(6), 2, shuffle=True)
        inner = t.utils.data.DataLoader(range(5), 2, shuffle=True)
        seen = []
        for a in outer:
            for b in inner:
                seen.append((plain(a), plain(b)))
                if len(seen) % 3 == 0:
                    break
        first, second = iter(outer), iter(outer)
        return [*seen, plain(next(second)), plain(next(first)), t.rand(1).item()]

    assert run(weft) == run(torch)


Point = collections.namedtuple("Point", "x y")  # noqa: PYI024 - what users have
EXAMPLES: dict[str, Callable[[Any], list[Any]]] = {
    "tensors": lambda t: [t.ones(2), t.zeros(2)],
    "numbers": lambda t: [1, 2],
    "bools": lambda t: [True, False],
    "floats": lambda t: [1.5, 2.5],
    "texts": lambda t: ["a", "b"],
    "arrays": lambda t: [np.ones((2, 2), np.float32), np.zeros((2, 2), np.float32)],
    "array scalars": lambda t: [np.float32(1.5), np.float32(2)],
    "ints of arrays": lambda t: [np.int64(1), np.int64(2)],
    "0-d": lambda t: [np.array(1.0), np.array(2.0)],
    "dicts": lambda t: [{"a": 1, "b": t.ones(1)}, {"a": 2, "b": t.ones(1)}],
    "tuples": lambda t: [(1, "a", [2.0]), (3, "b", [4.0])],
    "named": lambda t: [Point(1, t.ones(2)), Point(2, t.ones(2))],
}


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("function", ["default_collate", "default_convert"])
def test_collate(name: str, function: str) -> None:
    def run(t: Any) -> Any:
        return getattr(t.utils.data, function)(EXAMPLES[name](t))

    found, wanted = run(weft), run(torch)
    assert str(type(found)).replace("weft", "torch") == str(type(wanted)).replace("weft", "torch")
    assert plain(found) == plain(wanted)
    if hasattr(wanted, "dtype"):
        assert str(found.dtype).split(".")[1] == str(wanted.dtype).split(".")[1]
