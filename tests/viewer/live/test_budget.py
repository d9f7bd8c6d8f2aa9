"""Which steps are looked at."""

from __future__ import annotations

import itertools

from weft.viewer.budget import Budget


def looks(*, rate: float, share: float, step: float, look: float, seconds: float) -> list[float]:
    """Simulate a run: steps that take `step` seconds, and `look` more if they are looked at."""
    budget = Budget(rate, share, now=0.0)
    now, found = 0.0, []
    while now < seconds:
        if budget.allows_look(now):
            now += step + look
            budget.looked(now, step + look / 2, look / 2)
            found.append(now)
        else:
            now += step
            budget.passed(step)
    return found


def test_first_steps_are_looked_at() -> None:
    assert len(looks(rate=2, share=0.05, step=0.01, look=0.001, seconds=0.04)) == 3


def test_expensive_first_steps_are_fewer() -> None:
    assert len(looks(rate=2, share=0.05, step=0.1, look=2.0, seconds=10)) == 1


def test_rate_bounds_cheap_looks() -> None:
    found = looks(rate=2, share=0.05, step=0.01, look=0.001, seconds=20)
    assert 30 <= len(found) <= 44
    assert all(after - before > 0.48 for before, after in itertools.pairwise(found[3:]))


def test_share_bounds_expensive_looks() -> None:
    found = looks(rate=2, share=0.05, step=0.05, look=0.8, seconds=200)
    assert 0.03 * 200 < len(found) * 0.8 < 0.07 * 200


def test_no_two_long_steps_in_a_row() -> None:
    found = looks(rate=2, share=0.5, step=10.0, look=0.01, seconds=200)
    assert 5 <= len(found) <= 11 + 3
