"""Seeds and states of random streams."""

from __future__ import annotations

import copy
import pickle

import pytest

import weft


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))]
)
def test_a_copied_generator_goes_on_where_it_was(again) -> None:
    generator = weft.Generator().manual_seed(3)
    weft.rand(5, generator=generator)
    other = again(generator)
    assert other is not generator
    assert other.initial_seed() == 3
    assert weft.rand(7, generator=other).tolist() == weft.rand(7, generator=generator).tolist()


def test_random_uses_all_bits_of_int64() -> None:
    drawn = weft.empty(4000, dtype=weft.int64).random_()
    assert drawn.min().item() >= 0
    for bit in range(63):
        ones = ((drawn >> bit) & 1).sum().item()
        assert ones == pytest.approx(2000, abs=200), f"bit {bit}"
