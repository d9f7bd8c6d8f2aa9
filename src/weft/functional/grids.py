"""Images read at places that a grid names."""

from __future__ import annotations

import itertools
import math
from typing import Any

from weft import _core
from weft._core import Tensor
from weft.functional.composite import composite
from weft.functional.images import cubic_weights

ops = _core.ops

_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


def _reflected(places: Tensor, low: float, high: float) -> Tensor:
    """Fold places back and forth between two ends."""
    span = high - low
    if span <= 0:
        return places * 0
    off = ops.abs(places - low)
    rest = ops.fmod(off, span)
    back = ops.eq(ops.remainder(ops.floor(off.detach() / span), 2), 1)
    return ops.where(back, span - rest, rest) + low


def _kept_inside(places: Tensor, size: int, padding_mode: str, align_corners: bool) -> Tensor:
    if padding_mode == "zeros":
        return places
    if padding_mode == "reflection":
        edge = 0.0 if align_corners else 0.5
        places = _reflected(places, -edge, size - 1 + edge)
    return ops.clamp(places, 0, size - 1)


def _read(flat: Tensor, sizes: list[int], indices: tuple[Tensor, ...]) -> Tensor:
    """Return the elements (N, C, places) at whole indices; zeros outside."""
    place, inside = None, None
    for index, size in zip(indices, sizes, strict=True):
        whole = index.detach()
        here = ops.logical_and(ops.ge(whole, 0), ops.lt(whole, size))
        step = ops.clamp(whole.to(_core.int64), 0, size - 1)
        place = step if place is None else place * size + step
        inside = here if inside is None else ops.logical_and(inside, here)
    assert place is not None
    assert inside is not None
    count, channels = flat.shape[:2]
    spread = place.reshape(count, 1, -1).expand([count, channels, place[0].numel()])
    return ops.where(inside.reshape(count, 1, -1), ops.gather(flat, 2, spread), 0.0)


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Read images (or volumes) at places between their elements.

    Args:
        input: (N, C, H, W) or (N, C, D, H, W).
        grid: (N, height, width, 2) places (x, y), or (N, depth, height, width, 3) places
            (x, y, z), from -1 at one end to 1 at the other.
        mode: "bilinear" mixes neighbours, "nearest" takes one, "bicubic" (images only) bends.
        padding_mode: what lies outside: "zeros", the "border", or the "reflection".
        align_corners: whether -1 and 1 are the middles of the corner elements, not their edges.

    Example:
        >>> import weft
        >>> image = weft.arange(4.0).reshape(1, 1, 2, 2)
        >>> weft.nn.functional.grid_sample(image, weft.zeros(1, 1, 1, 2), align_corners=True)
        tensor([[[[1.5000]]]])
    """
    rank = input.ndim - 2
    if (
        rank not in (2, 3)
        or grid.ndim != input.ndim
        or grid.shape[-1] != rank
        or grid.shape[0] != input.shape[0]
    ):
        raise _core.ShapeError(
            "grid_sample(input, grid): input must be (N, C, H, W) with grid (N, h, w, 2), or "
            f"(N, C, D, H, W) with grid (N, d, h, w, 3); input is {tuple(input.shape)}, grid is "
            f"{tuple(grid.shape)}."
        )
    if mode not in _MODES or padding_mode not in _PADDINGS or (mode == "bicubic" and rank != 2):
        raise _core.ArgumentError(
            f"grid_sample(): mode must be one of {_MODES} (bicubic for images) and padding_mode "
            f"one of {_PADDINGS}; they are {mode!r} and {padding_mode!r}."
        )
    if input.dtype != grid.dtype:
        raise _core.DTypeError(
            f"grid_sample(): input and grid must have the same dtype; input is {input.dtype}, "
            f"grid is {grid.dtype}."
        )
    if 0 in input.shape[2:]:
        raise _core.ShapeError(
            f"grid_sample(): input must have elements to read; input is {tuple(input.shape)}."
        )
    aligned = bool(align_corners)
    sizes = [int(size) for size in input.shape[2:]]
    flat = input.reshape(input.shape[0], input.shape[1], math.prod(sizes))
    places: list[Tensor] = []
    for dim, size in enumerate(sizes):
        given = ops.select(grid, -1, rank - 1 - dim)
        raw = (given + 1) * ((size - 1) / 2) if aligned else ((given + 1) * size - 1) / 2
        kept = raw if mode == "bicubic" else _kept_inside(raw, size, padding_mode, aligned)
        places.append(kept)

    def neighbours(dim: int) -> list[tuple[Tensor, Any]]:
        """Return the indices around the places along a dimension, with their weights."""
        place, size = places[dim], sizes[dim]
        if mode == "nearest":
            return [(ops.round(place), None)]
        lower = ops.floor(place.detach())
        share = place - lower
        if mode == "bilinear":
            return [(lower, 1 - share), (lower + 1, share)]
        return [
            (_kept_inside(lower + (k - 1), size, padding_mode, aligned), weight)
            for k, weight in enumerate(cubic_weights(share))
        ]

    result = None
    for corner in itertools.product(*map(neighbours, range(rank))):
        values = _read(flat, sizes, tuple(index for index, _ in corner))
        for _, weight in corner:
            values = values if weight is None else values * weight.reshape(len(weight), 1, -1)
        result = values if result is None else result + values
    assert result is not None
    return result.reshape([*input.shape[:2], *grid.shape[1:-1]])


@composite()
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """Read images at the places of a grid; see `nn.functional.grid_sample`.

    Args:
        input: the images.
        grid: the places.
        interpolation_mode: 0 for bilinear, 1 for nearest, 2 for bicubic.
        padding_mode: 0 for zeros, 1 for border, 2 for reflection.
        align_corners: whether -1 and 1 are the middles of the corner elements.

    Example:
        >>> import weft
        >>> image = weft.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
        >>> weft.grid_sampler(image, weft.zeros(1, 1, 1, 2), 0, 0, False)  # in the middle
        tensor([[[[2.5000]]]])
    """
    return grid_sample(
        input, grid, _MODES[interpolation_mode], _PADDINGS[padding_mode], align_corners
    )


@composite()
def grid_sampler_2d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """Read images at the places of a grid; see `grid_sampler`.

    Example:
        >>> import weft
        >>> image = weft.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
        >>> weft.grid_sampler_2d(image, weft.zeros(1, 1, 1, 2), 0, 0, False)
        tensor([[[[2.5000]]]])
    """
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


@composite()
def grid_sampler_3d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """Read volumes at the places of a grid; see `grid_sampler`.

    Example:
        >>> import weft
        >>> weft.grid_sampler_3d(weft.ones(1, 1, 2, 2, 2), weft.zeros(1, 1, 1, 1, 3), 0, 0, False)
        tensor([[[[[1.]]]]])
    """
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)
