"""Curves keep few points, and everything that stands out."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from weft.viewer.series import Series


def test_few_points_are_kept_as_they_are() -> None:
    series = Series("loss", "")
    for step in range(100):
        series.add(step, step**0.5)
    assert series.points() == [(step, step**0.5) for step in range(100)]


@pytest.mark.parametrize("count", [10, 666, 2000, 2001, 5000, 123_456])
def test_many_points_keep_extremes_order_and_ends(count: int) -> None:
    random.seed(count)
    series = Series("loss", "", most=2000)
    values = [random.gauss(0, 1) for _ in range(count)]
    for step, value in enumerate(values):
        series.add(step, value)
    points = series.points()
    assert len(points) <= 2000
    steps = [step for step, _ in points]
    assert steps == sorted(set(steps))
    assert all(values[step] == value for step, value in points)
    kept = [value for _, value in points]
    assert (min(kept), max(kept)) == (min(values), max(values))
    # Equally dense everywhere: no stretch of the run is forgotten.
    widest = max(after - before for before, after in itertools.pairwise(steps))
    assert widest <= max(count // 100, 2)
    assert steps[0] <= count // 100
    assert steps[-1] >= count - 1 - count // 100


def test_what_is_not_finite_is_kept() -> None:
    series = Series("loss", "", most=30)
    for step in range(10_000):
        series.add(step, math.nan if step == 4321 else math.inf if step == 77 else 1.0)
    found = {step: value for step, value in series.points() if not math.isfinite(value)}
    assert set(found) <= {77, 4321}
    assert found
    assert len(series.points()) <= 30


def test_version_says_that_points_came() -> None:
    series = Series("loss", "")
    before = series.version
    series.add(1, 1.0)
    assert series.version != before
