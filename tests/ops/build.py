"""Builders of sample calls that several rows share."""

from __future__ import annotations

from typing import Any

from tests.ops.row import Make, Sample, Samples


def unary(low: float = -3.0, high: float = 3.0, gap: float = 0.0, **kwargs: Any) -> Samples:
    """Build one tensor: 0-d, plain, three-dimensional with a size of one, and zero-size."""

    def build(make: Make) -> list[Sample]:
        shapes = [(), (7,), (2, 1, 3), (0, 3)]
        return [Sample(make(*shape, low=low, high=high, gap=gap), **kwargs) for shape in shapes]

    return build


def binary(
    low: float = -3.0,
    high: float = 3.0,
    gap: float = 0.0,
    second: tuple[float, float, float] | None = None,
    scalar: float | None = 2,
    first_scalar: bool = False,
    **kwargs: Any,
) -> Samples:
    """Build two tensors: equal shapes, broadcast both ways, 0-d, zero-size, and a Python number.

    `second` is (low, high, gap) of the second tensor where they differ from the first's, `scalar` a
    Python number for the second argument, or None where the op takes none; `first_scalar` says
    whether the number may stand first too.
    """

    def build(make: Make) -> list[Sample]:
        low2, high2, gap2 = second or (low, high, gap)
        pairs = [((3, 4), (3, 4)), ((3, 1), (2, 1, 4)), ((2, 3), ()), ((), ()), ((0, 3), (1, 3))]
        samples = [
            Sample(
                make(*left, low=low, high=high, gap=gap),
                make(*right, low=low2, high=high2, gap=gap2),
                **kwargs,
            )
            for left, right in pairs
        ]
        if scalar is not None:
            number = bool(scalar) if make.dtype == "bool" else scalar
            samples.append(Sample(make(2, 3, low=low, high=high, gap=gap), number, **kwargs))
            if first_scalar:
                right = make(2, 3, low=low2, high=high2, gap=gap2)
                samples.append(Sample(number, right, **kwargs))
        return samples

    return build


def ternary(low: float = -3.0, high: float = 3.0, gap: float = 0.0, **kwargs: Any) -> Samples:
    """Build three tensors: equal shapes, all broadcast, zero-size."""

    def build(make: Make) -> list[Sample]:
        triples = [((3, 4),) * 3, ((3, 4), (4,), (3, 1)), ((), (), ()), ((0, 2),) * 3]
        return [
            Sample(*(make(*shape, low=low, high=high, gap=gap) for shape in shapes), **kwargs)
            for shapes in triples
        ]

    return build


def join(*builders: Samples) -> Samples:
    """Chain the samples of several builders."""
    return lambda make: [sample for builder in builders for sample in builder(make)]


def reduction(
    low: float = -3.0,
    high: float = 3.0,
    gap: float = 0.0,
    spread: bool = False,
    several: bool = True,
    whole: bool = True,
    empty: bool = True,
    **kwargs: Any,
) -> Samples:
    """Build reductions of all, of one dimension, of several; 0-d and zero-size.

    `spread` asks for distinct values (the op picks elements), `several` allows a tuple for `dim`,
    `whole` allows no `dim`, `empty` a reduced dimension without elements.
    """

    def build(make: Make) -> list[Sample]:
        def draw(*shape: int) -> Any:
            return make.spread(*shape) if spread else make(*shape, low=low, high=high, gap=gap)

        samples = [
            Sample(draw(3, 4), dim=1, **kwargs),
            Sample(draw(2, 3, 4), dim=-2, keepdim=True, **kwargs),
            Sample(draw(), dim=0, **kwargs),
            Sample(draw(0, 3), dim=1, **kwargs),
        ]
        if several:
            samples.append(Sample(draw(2, 3, 4), dim=(0, -1), **kwargs))
            samples.append(Sample(draw(2, 3, 2), dim=(2, 1), keepdim=True, **kwargs))
        if whole:
            samples += [Sample(draw(3, 4), **kwargs), Sample(draw(), **kwargs)]
        if empty:
            samples.append(Sample(draw(0, 3), dim=0, **kwargs))
        return samples

    return build
