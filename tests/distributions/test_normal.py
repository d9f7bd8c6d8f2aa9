"""The normal distribution."""

from __future__ import annotations

import math

import pytest
from scipy import stats

import weft
from weft.distributions import Normal


def test_is_scipys() -> None:
    mine, theirs = Normal(weft.tensor(1.0, dtype=weft.float64), 2.0), stats.norm(1, 2)
    value = weft.tensor(0.3, dtype=weft.float64)
    assert mine.log_prob(value).item() == pytest.approx(theirs.logpdf(0.3))
    assert mine.cdf(value).item() == pytest.approx(theirs.cdf(0.3))
    assert mine.icdf(value).item() == pytest.approx(theirs.ppf(0.3))
    assert mine.entropy().item() == pytest.approx(theirs.entropy())


def test_samples_follow_it() -> None:
    drawn = Normal(weft.tensor([0.0, 5.0]), weft.tensor([1.0, 0.1])).sample((20_000,))
    assert drawn.mean(0).tolist() == pytest.approx([0, 5], abs=0.03)
    assert drawn.std(0).tolist() == pytest.approx([1, 0.1], rel=0.03)


def test_expand_keeps_the_type() -> None:
    class Own(Normal):
        pass

    wide = Own(weft.zeros(3), weft.ones(3)).expand((2, 3))
    assert type(wide) is Own
    assert wide.batch_shape == (2, 3)
    assert wide.sample((4,)).shape == (4, 2, 3)
    assert wide.log_prob(weft.zeros(3)).tolist()[1][2] == pytest.approx(-math.log(2 * math.pi) / 2)
