"""The uniform distribution."""

from __future__ import annotations

import math

import pytest

import weft
from weft.distributions import Uniform


def test_probability_ends_at_the_bounds() -> None:
    uniform = Uniform(0.0, 2.0)
    assert uniform.log_prob(weft.tensor(1.0)).item() == pytest.approx(-math.log(2))
    assert uniform.log_prob(weft.tensor(2.0)).item() == -math.inf
    with pytest.raises(ValueError, match="within the support"):
        uniform.log_prob(weft.tensor(2.5))
    assert Uniform(0.0, 2.0, validate_args=False).cdf(weft.tensor(2.5)).item() == 1


def test_bounds_are_in_order() -> None:
    with pytest.raises(ValueError, match="low>= high"):
        Uniform(2.0, 2.0)


def test_samples_are_between() -> None:
    drawn = Uniform(-1.0, 3.0).sample((1000,))
    assert -1 <= drawn.min().item() < -0.9
    assert 2.9 < drawn.max().item() < 3
