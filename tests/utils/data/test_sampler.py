"""Samplers; the oracle's tests compare their draws with PyTorch's."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import weft
from weft.utils.data import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from weft.utils.data.sampler import drawn_seed


def test_seeds_have_63_bits() -> None:
    seeds = [drawn_seed() for _ in range(64)]
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert max(seeds) > 2**62
    generator = weft.Generator().manual_seed(1)
    assert drawn_seed(generator) != drawn_seed(generator)


def test_each_epoch_has_its_order_and_the_seed_decides() -> None:
    sampler = RandomSampler(range(50))
    weft.manual_seed(1)
    first, second = list(sampler), list(sampler)
    assert sorted(first) == sorted(second) == list(range(50))
    assert first != second
    weft.manual_seed(1)
    assert list(sampler) == first


def test_how_many() -> None:
    assert len(list(RandomSampler(range(3), num_samples=8))) == 8
    drawn = list(RandomSampler(range(3), replacement=True, num_samples=100))
    assert Counter(drawn).keys() == {0, 1, 2}
    assert len(drawn) == len(RandomSampler(range(3), True, 100)) == 100
    assert len(RandomSampler(range(3))) == 3


def test_weights() -> None:
    drawn = Counter(WeightedRandomSampler(weft.tensor([0.0, 1.0, 3.0]), 4000))
    assert drawn[0] == 0
    assert drawn[2] == pytest.approx(3000, abs=120)
    assert sorted(WeightedRandomSampler([1, 1, 1], 3, replacement=False)) == [0, 1, 2]


def test_subset_and_sequence() -> None:
    assert sorted(SubsetRandomSampler([9, 4])) == [4, 9]
    assert list(SequentialSampler("abc")) == [0, 1, 2]


@pytest.mark.parametrize(
    ("drop", "lists"), [(True, [[0, 1], [2, 3]]), (False, [[0, 1], [2, 3], [4]])]
)
def test_batches(drop: bool, lists: list[list[int]]) -> None:
    sampler = BatchSampler(SequentialSampler(range(5)), 2, drop)
    assert list(sampler) == lists
    assert len(sampler) == len(lists)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RandomSampler([]), "positive integer value, but got 0"),
        (lambda: RandomSampler([1], num_samples=1.5), "but got 1.5"),
        (lambda: BatchSampler([1], 0, False), "BatchSampler: batch_size"),
        (lambda: WeightedRandomSampler([[1.0]], 1), r"shape \(1, 1\)"),
        (lambda: WeightedRandomSampler([1.0], -1), "num_samples"),
        (lambda: iter(Sampler()), "does not define __iter__"),
    ],
)
def test_errors(make: Any, message: str) -> None:
    with pytest.raises((ValueError, NotImplementedError), match=message):
        make()


def test_flags_are_bools() -> None:
    with pytest.raises(TypeError, match="drop_last should be a boolean"):
        BatchSampler([1], 1, 1)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="replacement should be a boolean"):
        RandomSampler([1], 3)  # pyright: ignore[reportArgumentType]
