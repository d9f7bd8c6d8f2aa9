"""The Bernoulli distribution."""

from __future__ import annotations

import math

import pytest

import weft
from weft.distributions import Bernoulli


def test_whole_numbers_are_values() -> None:
    coin = Bernoulli(weft.tensor([0.25, 0.75]))
    wanted = [math.log(0.25), math.log(0.25)]
    assert coin.log_prob(weft.tensor([1, 0])).tolist() == pytest.approx(wanted, rel=1e-5)


def test_mode_of_a_fair_coin_is_unknown() -> None:
    mode = Bernoulli(weft.tensor([0.2, 0.5, 0.7])).mode.tolist()
    assert mode[0] == 0
    assert math.isnan(mode[1])
    assert mode[2] == 1


def test_exactly_one_argument() -> None:
    with pytest.raises(ValueError, match="neither was given"):
        Bernoulli()
    with pytest.raises(ValueError, match="both were given"):
        Bernoulli(weft.ones(1), weft.ones(1))


def test_support() -> None:
    coins = Bernoulli(logits=weft.zeros(3))
    assert coins.enumerate_support().tolist() == [[0, 0, 0], [1, 1, 1]]
    assert coins.enumerate_support(expand=False).shape == (2, 1)
    assert coins.expand((2, 3)).param_shape == (2, 3)
