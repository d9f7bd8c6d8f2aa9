"""Curves of a run that may go on for ever, in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple, TypeAlias

Point: TypeAlias = tuple[int, float]

_MOST_NEW = 512  # points that wait until they are put into buckets together


class Series:
    """A curve: points are added at its end, and at most `most` are kept.

    When there are more, neighbours are kept together in buckets of equal width, each as its lowest
    and highest point and its first that is not finite. So nothing that stands out is lost.

    Args:
        name: What it shows.
        unit: In which unit.
        most: How many points are kept.

    Example:
        >>> loss = Series("loss", "", most=12)
        >>> for step in range(1000):
        ...     loss.add(step, -5.0 if step == 345 else 1.0)
        >>> len(loss.points()) <= 12, (345, -5.0) in loss.points()
        (True, True)
    """

    def __init__(self, name: str, unit: str, most: int = 2000) -> None:
        self.name = name
        self.unit = unit
        self._most_buckets = max(most // 3 - 1, 2)
        self._count = 0
        # One object, so that a reader in another thread never sees half a change.
        self._state = _State(1, [], [])

    @property
    def version(self) -> int:
        """How many points were ever added."""
        return self._count

    def add(self, step: int, value: float) -> None:
        """Add a point; steps count upward."""
        self._count += 1
        new = self._state.new
        new.append((step, value))
        if len(new) >= _MOST_NEW:
            self._state = _absorb(self._state, self._most_buckets)

    def points(self) -> list[Point]:
        """Return the points that are kept, in order."""
        state = self._state
        state = _absorb(_State(state.width, state.buckets, list(state.new)), self._most_buckets)
        return [point for bucket in (*state.buckets, _notable(state.new)) for point in bucket]


class _State(NamedTuple):
    """Buckets of `width` points each, and points that are in none yet."""

    width: int
    buckets: list[list[Point]]
    new: list[Point]


def _absorb(state: _State, most_buckets: int) -> _State:
    """Put new points into buckets; where there are too many, make one of each two neighbours."""
    width, buckets, new = state.width, list(state.buckets), state.new
    whole = len(new) - len(new) % width
    buckets += [_notable(new[i : i + width]) for i in range(0, whole, width)]
    new = new[whole:]
    while len(buckets) > most_buckets:
        if len(buckets) % 2:  # the last has no neighbour yet
            new = buckets.pop() + new
        buckets = [
            _notable([*one, *other]) for one, other in zip(buckets[::2], buckets[1::2], strict=True)
        ]
        width *= 2
    return _State(width, buckets, new)


def _notable(points: Sequence[Point]) -> list[Point]:
    """Return the lowest and the highest of some points, and the first that is not finite."""
    if len(points) <= 1:
        return list(points)
    kept = {point for point in points if not math.isfinite(point[1])}
    kept = set(sorted(kept, key=_step)[:1])
    finite = [point for point in points if math.isfinite(point[1])]
    if finite:
        kept |= {min(finite, key=_value), max(finite, key=_value)}
    return sorted(kept, key=_step)


_step = itemgetter(0)
_value = itemgetter(1)
