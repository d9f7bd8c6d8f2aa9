"""Curves of a run that may go on for ever, in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

Point: TypeAlias = tuple[int, float]


class Series:
    """A curve: points are added at its end, and at most `most` are kept.

    When there are more, neighbours are kept together in buckets of equal width, each as its lowest and
    highest point and its first that is not finite. So nothing that stands out is lost.

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
        self.version = 0
        self._most_buckets = max(most // 3 - 1, 2)
        self._width = 1
        self._buckets: list[list[Point]] = []
        self._open: list[Point] = []
        self._in_open = 0

    def add(self, step: int, value: float) -> None:
        """Add a point; steps count upward."""
        self._open = _notable([*self._open, (step, value)])
        self._in_open += 1
        self.version += 1
        if self._in_open < self._width:
            return
        self._buckets.append(self._open)
        self._open, self._in_open = [], 0
        if len(self._buckets) > self._most_buckets:
            pairs = zip(self._buckets[::2], [*self._buckets[1::2], []], strict=False)
            whole = len(self._buckets) // 2
            merged = [_notable([*one, *other]) for one, other in pairs]
            if len(merged) > whole:  # the last has no neighbour yet
                self._open, self._in_open = merged.pop(), self._width
            self._buckets = merged
            self._width *= 2

    def points(self) -> list[Point]:
        """Return the points that are kept, in order."""
        return [point for bucket in (*self._buckets, self._open) for point in bucket]


def _notable(points: Sequence[Point]) -> list[Point]:
    """Return the lowest and the highest of some points, and the first that is not finite."""
    if len(points) <= 1:
        return list(points)
    finite = [point for point in points if math.isfinite(point[1])]
    chosen = {point for point in points if not math.isfinite(point[1])}
    kept = {min(chosen)} if chosen else set[Point]()
    if finite:
        kept |= {min(finite, key=lambda point: point[1]), max(finite, key=lambda point: point[1])}
    return sorted(kept, key=lambda point: point[0])
