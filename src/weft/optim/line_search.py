"""A line search that satisfies the strong Wolfe conditions, by cubic interpolation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from weft._core import Tensor

_ENOUGH_DESCENT = 1e-4
_ENOUGH_FLATNESS = 0.9


@dataclass(frozen=True, slots=True)
class Point:
    """A place on the line: how far along, the loss, the gradient, and its slope along the line."""

    distance: float
    loss: float
    gradient: Tensor
    slope: float


def strong_wolfe(
    at: Callable[[float], Point],
    start: Point,
    distance: float,
    width: float,
    *,
    tolerance: float = 1e-9,
    most: int = 25,
) -> tuple[Point, int]:
    """Find a point of sufficient descent where the line is flat enough.

    Args:
        at: evaluates the line at a distance.
        start: the beginning of the line.
        distance: where to look first.
        width: the largest element of the direction.
        tolerance: the smallest step that is worth a further look.
        most: how many points to look at, at most.

    Returns:
        The point, and how many were looked at.
    """
    before, here, looks, count = start, at(distance), 1, 0
    while count < most:
        if _too_high(here, start) or (count > 1 and here.loss >= before.loss):
            break
        if _flat_enough(here, start):
            return here, looks
        if here.slope >= 0:
            break
        bounds = (here.distance + 0.01 * (here.distance - before.distance), here.distance * 10)
        before, here = here, at(_lowest(before, here, bounds))
        looks += 1
        count += 1
    else:
        before = start
    return _narrow(at, start, [before, here], width, tolerance, most - count, looks)


def _narrow(
    at: Callable[[float], Point],
    start: Point,
    bracket: list[Point],
    width: float,
    tolerance: float,
    left: int,
    looks: int,
) -> tuple[Point, int]:
    """Look inside two points that have a good one between them."""
    low, high = _by_loss(bracket)
    stuck = False
    while left > 0:
        ends = sorted(point.distance for point in bracket)
        if (ends[1] - ends[0]) * width < tolerance:
            break
        distance = _lowest(bracket[0], bracket[1], (ends[0], ends[1]))
        distance, stuck = _away_from_ends(distance, ends, stuck)
        here = at(distance)
        looks += 1
        left -= 1
        if _too_high(here, start) or here.loss >= bracket[low].loss:
            bracket[high] = here
            low, high = _by_loss(bracket)
            continue
        if _flat_enough(here, start):
            return here, looks
        if here.slope * (bracket[high].distance - bracket[low].distance) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = here
    return bracket[low], looks


def _too_high(here: Point, start: Point) -> bool:
    return here.loss > start.loss + _ENOUGH_DESCENT * here.distance * start.slope


def _flat_enough(here: Point, start: Point) -> bool:
    return abs(here.slope) <= -_ENOUGH_FLATNESS * start.slope


def _by_loss(bracket: list[Point]) -> tuple[int, int]:
    return (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)


def _away_from_ends(distance: float, ends: list[float], stuck: bool) -> tuple[float, bool]:
    """Keep a tenth of the bracket away from its ends, from the second time on."""
    first, last = ends
    margin = 0.1 * (last - first)
    if min(last - distance, distance - first) >= margin:
        return distance, False
    if stuck or not first < distance < last:
        nearer_last = abs(distance - last) < abs(distance - first)
        return (last - margin if nearer_last else first + margin), False
    return distance, True


def _lowest(one: Point, other: Point, bounds: tuple[float, float]) -> float:
    """Return where the cubic through two points and their slopes is lowest, within bounds."""
    left, right = (one, other) if one.distance <= other.distance else (other, one)
    gap = right.distance - left.distance
    if gap == 0.0:
        return one.distance
    bend = left.slope + right.slope - 3 * (right.loss - left.loss) / gap
    square = bend * bend - left.slope * right.slope
    if not square >= 0:
        return sum(bounds) / 2
    root = math.sqrt(square)
    above, below = right.slope + root - bend, right.slope - left.slope + 2 * root
    if below == 0.0:
        # A straight line falls for as long as one follows it.
        return bounds[above < 0]
    place = right.distance - gap * (above / below)
    return min(max(place, bounds[0]), bounds[1])
