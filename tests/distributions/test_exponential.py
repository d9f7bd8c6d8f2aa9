"""The exponential distribution."""

from __future__ import annotations

import pytest

import weft
from weft.distributions import Exponential


def test_icdf_undoes_cdf() -> None:
    waiting = Exponential(weft.tensor([0.5, 2.0]))
    value = weft.tensor([1.0, 0.3])
    assert waiting.icdf(waiting.cdf(value)).tolist() == pytest.approx([1.0, 0.3])
    assert waiting.mode.tolist() == [0, 0]


def test_samples_follow_it() -> None:
    drawn = Exponential(4.0).sample((20_000,))
    assert drawn.mean().item() == pytest.approx(0.25, rel=0.03)
    assert drawn.min().item() >= 0
