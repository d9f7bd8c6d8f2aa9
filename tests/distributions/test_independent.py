"""Several distributions as one."""

from __future__ import annotations

import pytest

import weft
from weft.distributions import Bernoulli, Independent, Normal


def test_dimensions_move_to_the_event() -> None:
    base = Normal(weft.zeros(2, 3), 1.0)
    both = Independent(base, 1)
    assert (both.batch_shape, both.event_shape) == ((2,), (3,))
    value = weft.ones(2, 3)
    assert both.log_prob(value).tolist() == base.log_prob(value).sum(-1).tolist()
    wide = both.expand((5, 2))
    assert wide.log_prob(value).shape == (5, 2)
    assert Independent(base, 0).entropy().shape == (2, 3)


def test_is_as_differentiable_as_its_base() -> None:
    assert Independent(Normal(weft.zeros(2), 1.0), 1).has_rsample
    assert not Independent(Bernoulli(weft.zeros(2)), 1).has_rsample


def test_values_of_all_parts_are_not_listed() -> None:
    with pytest.raises(NotImplementedError, match="cartesian"):
        Independent(Bernoulli(weft.zeros(2)), 1).enumerate_support()
    listed = Independent(Bernoulli(weft.zeros(2)), 0).enumerate_support()
    assert listed.tolist() == [[0, 0], [1, 1]]
