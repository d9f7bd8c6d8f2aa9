"""The categorical distribution."""

from __future__ import annotations

import math

import pytest

import weft
from weft.distributions import Categorical


def test_policy_gradient() -> None:
    logits = weft.zeros(3, requires_grad=True)
    (-Categorical(logits=logits).log_prob(weft.tensor(1))).backward()
    assert logits.grad is not None
    assert logits.grad.tolist() == pytest.approx([1 / 3, -2 / 3, 1 / 3])


def test_probs_are_divided_by_their_sum() -> None:
    die = Categorical(weft.tensor([2.0, 6.0]))
    assert die.probs.tolist() == [0.25, 0.75]
    assert die.mode.item() == 1
    assert math.isnan(die.mean.item())


def test_shapes() -> None:
    many = Categorical(weft.ones(4, 2, 3))
    assert many.sample((5,)).shape == (5, 4, 2)
    assert many.sample((0,)).shape == (0, 4, 2)
    assert many.log_prob(weft.zeros(5, 1, 2)).shape == (5, 4, 2)
    assert many.enumerate_support().shape == (3, 4, 2)
    assert many.expand((7, 4, 2)).probs.shape == (7, 4, 2, 3)


def test_samples_follow_it() -> None:
    drawn = Categorical(weft.tensor([0.1, 0.0, 0.9])).sample((10_000,))
    assert weft.bincount(drawn, minlength=3).tolist() == pytest.approx([1000, 0, 9000], abs=150)


def test_needs_classes() -> None:
    with pytest.raises(ValueError, match="at least one-dimensional"):
        Categorical(weft.tensor(1.0))
