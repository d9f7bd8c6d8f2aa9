"""Sets of values."""

from __future__ import annotations

import pytest

import weft
from weft.distributions import constraints


@pytest.mark.parametrize(
    ("constraint", "values", "expected"),
    [
        (constraints.real, [1.0, float("nan")], [True, False]),
        (constraints.boolean, [0.0, 1.0, 0.5], [True, True, False]),
        (constraints.positive, [0.0, 1.0], [False, True]),
        (constraints.nonnegative, [0.0, -1.0], [True, False]),
        (constraints.unit_interval, [0.0, 1.0, 1.1], [True, True, False]),
        (constraints.integer_interval(0, 2), [0.0, 2.0, 1.5, 3.0], [True, True, False, False]),
        (constraints.simplex, [[0.5, 0.5], [0.5, 0.6]], [True, False]),
        (constraints.real_vector, [[0.5, 0.5], [0.5, float("nan")]], [True, False]),
        (constraints.lower_cholesky, [[[1.0, 0.0], [5.0, 1.0]]], [True]),
        (constraints.lower_cholesky, [[[1.0, 1.0], [5.0, 1.0]]], [False]),
        (constraints.positive_definite, [[[1.0, 0.5], [0.5, 1.0]]], [True]),
        (constraints.positive_definite, [[[1.0, 0.5], [0.4, 1.0]]], [False]),
    ],
    ids=str,
)
def test_check(
    constraint: constraints.Constraint, values: list[float], expected: list[bool]
) -> None:
    assert constraint.check(weft.tensor(values)).tolist() == expected


def test_shows_its_bounds() -> None:
    assert repr(constraints.positive) == "greater_than(lower_bound=0.0)"
    assert repr(constraints.real) == "Real()"
    assert "upper_bound=1.0" in repr(constraints.unit_interval)
