"""Find, compare and count elements: results that are places and numbers."""

from __future__ import annotations

import math
from typing import Any

from weft import _core
from weft._core import Tensor
from weft.functional import return_types
from weft.functional.checks import wrap_dim
from weft.functional.composite import composite
from weft.functional.creation import arange, linspace
from weft.functional.shaping import movedim

ops = _core.ops
_numbers = range  # some functions have an argument of that name


def _in_order(rows: Tensor) -> Tensor:
    """Return the places that sort the rows of a matrix, compared from their first element on."""
    if rows.shape[1] == 0:
        return arange(rows.shape[0])
    order = ops.sort(ops.select(rows, 1, -1))[1]
    for column in reversed(range(rows.shape[1] - 1)):
        key = ops.index_select(ops.select(rows, 1, column), 0, order)
        order = ops.index_select(order, 0, ops.sort(key)[1])
    return order


def _groups(input: Tensor, dim: int | None, ordered: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Return different elements (or slices), which one each is, and how many of each there are."""
    input = input.detach()
    flat = dim is None or input.ndim == 0
    parts = input.reshape(-1) if flat else movedim(input, dim, 0)
    count = parts.shape[0]
    rows = parts.reshape(count, math.prod(parts.shape[1:]))
    order = _in_order(rows) if ordered else arange(count)
    rows = ops.index_select(rows, 0, order)
    differs = ops.any(ops.ne(ops.slice(rows, 0, 1), ops.slice(rows, 0, 0, -1)), [1])
    starts = ops.cat([ops.ones((min(count, 1),), dtype=_core.bool), differs])
    inverse = ops.scatter(ops.zeros_like(order), 0, order, ops.cumsum(starts, 0) - 1)
    first = ops.nonzero(starts).reshape(-1)
    ends = ops.cat([ops.slice(first, 0, 1), ops.full((min(count, 1),), count)])
    values = ops.index_select(parts, 0, ops.index_select(order, 0, first))
    if flat:
        return values, inverse.reshape(input.shape if dim is None else (count,)), ends - first
    return ops.contiguous(movedim(values, 0, dim)), inverse, ends - first


def _wanted(found: Any, return_inverse: bool, return_counts: bool) -> Any:
    values, inverse, counts = found
    results = (values,) + (inverse,) * return_inverse + (counts,) * return_counts
    return results if len(results) > 1 else values


@composite()
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Return the different elements (or slices along a dimension), sorted.

    Args:
        input: the tensor.
        sorted: accepted for PyTorch programs; the result is always sorted.
        return_inverse: whether to return where each element of the input went.
        return_counts: whether to return how often each one appears.
        dim: compare slices along this dimension.

    Example:
        >>> import weft
        >>> weft.unique(weft.tensor([3, 1, 3]), return_counts=True)
        (tensor([1, 3]), tensor([1, 2]))
    """
    del sorted
    if dim is not None:
        dim = wrap_dim(dim, input.ndim)
    return _wanted(_groups(input, dim, True), return_inverse, return_counts)


@composite()
def unique_consecutive(
    input: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Return the elements that differ from the one before them; arguments as for `unique`.

    Example:
        >>> import weft
        >>> weft.unique_consecutive(weft.tensor([1, 1, 2, 1]))
        tensor([1, 2, 1])
    """
    if dim is not None:
        dim = wrap_dim(dim, input.ndim)
    return _wanted(_groups(input, dim, False), return_inverse, return_counts)


@composite()
def isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Tell for each element whether it is among the others.

    Args:
        elements: a tensor, or a number.
        test_elements: what to look among: a tensor, or a number.
        assume_unique: accepted for PyTorch programs.
        invert: whether to tell the opposite.

    Example:
        >>> import weft
        >>> weft.isin(weft.tensor([1, 2, 3]), weft.tensor([2, 3, 5]))
        tensor([False,  True,  True])
    """
    del assume_unique
    if not isinstance(elements, Tensor):
        elements = ops.full((), elements)
    if isinstance(test_elements, Tensor):
        matches = ops.eq(elements.unsqueeze(-1), test_elements.reshape(-1))
        found = ops.any(matches, [-1])
    else:
        found = ops.eq(elements, test_elements)
    return ops.logical_not(found) if invert else found


@composite()
def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Find where values belong in rows that are sorted.

    Args:
        sorted_sequence: one row for all values, or rows with the leading sizes of the values.
        input: the values, or a number.
        out_int32: whether to return int32 instead of int64.
        right: whether a value belongs behind equal elements instead of before them.
        side: "left" or "right", the same in words.
        sorter: places that sort each row, if they are not sorted.

    Example:
        >>> import weft
        >>> weft.searchsorted(weft.tensor([1, 3, 5]), weft.tensor([3, 4]), right=True)
        tensor([2, 2])
    """
    if side not in (None, "left", "right") or (side == "left" and right):
        raise _core.ArgumentError(
            f"searchsorted(): side must be 'left' or 'right' and not contradict right; side is "
            f"{side!r}, right is {right}."
        )
    if sorter is not None:
        if sorter.shape != sorted_sequence.shape or sorter.is_floating_point():
            raise _core.ShapeError(
                f"searchsorted(): sorter must hold integers and have the shape of sorted_sequence, "
                f"{tuple(sorted_sequence.shape)}; sorter is {tuple(sorter.shape)}."
            )
        if sorter.numel() and int(ops.amin(sorter)) < 0:
            raise _core.OutOfRangeError("searchsorted(): sorter must not hold negative places.")
        sorted_sequence = ops.gather(sorted_sequence, -1, sorter)
    places = ops.searchsorted(sorted_sequence, input, right or side == "right")
    return places.to(_core.int32) if out_int32 else places


@composite()
def bucketize(
    input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    """Return the number of the bucket, between sorted boundaries, that each value falls into.

    Args:
        input: the values, or a number.
        boundaries: a sorted vector.
        out_int32: whether to return int32 instead of int64.
        right: whether a value that is a boundary belongs to the bucket after it.

    Example:
        >>> import weft
        >>> weft.bucketize(weft.tensor([0, 3, 9]), weft.tensor([1, 3, 5]))
        tensor([0, 1, 3])
    """
    if boundaries.ndim != 1:
        raise _core.ShapeError(
            f"bucketize(): boundaries must have one dimension; they are {tuple(boundaries.shape)}."
        )
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


@composite(reads_values=True)
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """Count how often each non-negative integer occurs, or add up weights at its occurrences.

    Args:
        input: a vector of integers.
        weights: a weight for each of them.
        minlength: the least size of the result.

    Example:
        >>> import weft
        >>> weft.bincount(weft.tensor([0, 2, 2]), minlength=4)
        tensor([1, 0, 2, 0])
    """
    integers = not (input.is_floating_point() or input.dtype is _core.bool)
    if input.ndim != 1 or not (integers or input.numel() == 0):
        raise _core.ShapeError(
            f"bincount(): input must be a vector of integers; it is {tuple(input.shape)} of "
            f"{input.dtype}."
        )
    if weights is not None and weights.shape != input.shape:
        raise _core.ShapeError(
            f"bincount(): weights must have the shape of input, {tuple(input.shape)}; weights is "
            f"{tuple(weights.shape)}."
        )
    if minlength < 0:
        raise _core.ArgumentError(f"bincount(): minlength must not be negative: {minlength}.")
    if input.numel() and int(ops.amin(input)) < 0:
        raise _core.ArgumentError("bincount(): input must not hold negative values.")
    length = max(minlength, int(ops.amax(input)) + 1) if input.numel() else minlength
    if weights is None:
        added = ops.ones(input.shape, dtype=_core.int64)
    else:
        added = weights.detach()
        added = added if added.dtype is _core.float32 else added.to(_core.float64)
    return ops.index_backward(added, [input.to(_core.int64)], (length,), [0])


@composite(reads_values=True)
def histc(input: Tensor, bins: int = 100, min: float = 0.0, max: float = 0.0) -> Tensor:
    """Count elements in equal bins.

    Args:
        input: the tensor.
        bins: how many bins.
        min: where the first bin begins; if it is `max`, the smallest element.
        max: where the last bin ends; elements outside are not counted.

    Example:
        >>> import weft
        >>> weft.histc(weft.tensor([0.1, 0.2, 0.9]), bins=4, min=0, max=1)
        tensor([2., 0., 0., 1.])
    """
    if bins <= 0:
        raise _core.ArgumentError(f"histc(): bins must be positive; bins is {bins}.")
    if not input.is_floating_point():
        raise _core.DTypeError(f"histc(): input must be of a floating dtype, not {input.dtype}.")
    values = input.detach().reshape(-1).to(_core.float64)
    low, high = float(min), float(max)
    if low == high and values.numel():
        low, high = float(ops.amin(values)), float(ops.amax(values))
    if low == high:
        low, high = low - 1, high + 1
    if not (low < high and math.isfinite(low) and math.isfinite(high)):
        raise _core.ArgumentError(
            f"histc(): the bins must span a finite range; it is from {low} to {high}."
        )
    inside = values[ops.logical_and(ops.ge(values, low), ops.le(values, high))]
    places = ((inside - low) / (high - low) * bins).to(_core.int64)
    counts = bincount(ops.clamp(places, 0, bins - 1), minlength=bins)
    return counts.to(input.dtype)


@composite(reads_values=True)
def histogram(
    input: Tensor,
    bins: Any,
    *,
    range: Any = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """Count elements between edges.

    Args:
        input: the tensor.
        bins: how many equal bins, or their edges in rising order.
        range: the first and the last edge of equal bins; those of the elements if not given.
        weight: how much each element counts.
        density: whether to divide by the total and by the bins' widths.

    Returns:
        `hist` and `bin_edges`. The last bin has both of its edges.

    Example:
        >>> import weft
        >>> weft.histogram(weft.tensor([1.0, 2.0, 2.5, 3.0]), 2).hist
        tensor([1., 3.])
    """
    if not input.is_floating_point():
        raise _core.DTypeError(f"histogram(): input must be floating point, not {input.dtype}.")
    values = input.detach().reshape(-1)
    edges = _edges(values, bins, range)
    hist = _counted([values], [edges], weight)
    if density:
        hist = hist / (ops.sum(hist) * _widths(edges))
    return return_types.histogram(hist, edges)


def _edges(values: Tensor, bins: Any, span: Any) -> Tensor:
    """Return the edges of bins: those that are given, or of so many equal ones."""
    if isinstance(bins, Tensor):
        return bins.detach()
    if bins <= 0:
        raise _core.ArgumentError(f"bins must be positive; bins is {bins}.")
    low, high = (0.0, 1.0) if span is None else (float(end) for end in span)
    if span is None and values.numel():
        low, high = float(ops.amin(values)), float(ops.amax(values))
    if not (low <= high and math.isfinite(low) and math.isfinite(high)):
        raise _core.ArgumentError(f"the bins must span a finite range; it is from {low} to {high}.")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return linspace(low, high, bins + 1, dtype=values.dtype)


def _widths(edges: Tensor) -> Tensor:
    return ops.slice(edges, 0, 1) - ops.slice(edges, 0, 0, edges.shape[0] - 1)


def _counted(columns: list[Tensor], edges: list[Tensor], weight: Tensor | None) -> Tensor:
    """Add up weights by the bins that the columns of points fall into."""
    dtype, sizes = columns[0].dtype, [each.shape[0] - 1 for each in edges]
    place = ops.zeros(columns[0].shape, dtype=_core.int64)
    inside = ops.ones(columns[0].shape, dtype=_core.bool)
    for values, ends, size in zip(columns, edges, sizes, strict=True):
        found = ops.searchsorted(ends, values, True) - 1
        # The last bin has both of its edges.
        found = ops.where(ops.eq(values, ops.select(ends, 0, -1)), size - 1, found)
        inside = ops.logical_and(inside, ops.logical_and(ops.ge(found, 0), ops.lt(found, size)))
        place = place * size + ops.clamp(found, 0, size - 1)
    amounts = ops.ones(place.shape, dtype=dtype) if weight is None else weight.detach().reshape(-1)
    kept = ops.where(inside, amounts, 0.0).to(dtype)
    return ops.scatter_add(ops.zeros([math.prod(sizes)], dtype=dtype), 0, place, kept).reshape(
        sizes
    )


@composite()
def histogramdd(
    input: Tensor,
    bins: Any,
    *,
    range: Any = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """Count points in boxes.

    Args:
        input: (..., D) points.
        bins: how many equal bins for all dimensions or each, or D tensors of edges.
        range: 2 * D numbers: the first and the last edge along each dimension.
        weight: how much each point counts.
        density: whether to divide by the total and by the boxes' volumes.

    Returns:
        `hist` and `bin_edges`, a tensor for each dimension.

    Example:
        >>> import weft
        >>> weft.histogramdd(weft.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), 2).hist
        tensor([[0., 1.],
                [1., 1.]])
    """
    if not input.is_floating_point() or input.ndim < 2:
        raise _core.ArgumentError(
            f"histogramdd(): input must be (..., D) of a floating dtype; it is "
            f"{tuple(input.shape)}, {input.dtype}."
        )
    rank = input.shape[-1]
    columns = [ops.select(input.detach(), -1, i).reshape(-1) for i in _numbers(rank)]
    each = [bins] * rank if isinstance(bins, int) else list(bins)
    spans = [None] * rank if range is None else [range[2 * i : 2 * i + 2] for i in _numbers(rank)]
    if len(each) != rank or len(spans) != rank or any(span == [] for span in spans):
        raise _core.ArgumentError(
            f"histogramdd(): bins and range must be for {rank} dimensions, as input has; bins has "
            f"{len(each)}."
        )
    edges = [_edges(*given) for given in zip(columns, each, spans, strict=True)]
    hist = _counted(columns, edges, weight)
    if density:
        hist = hist / ops.sum(hist)
        for i, ends in enumerate(edges):
            hist = hist / _widths(ends).reshape([-1 if i == k else 1 for k in _numbers(rank)])
    return return_types.histogramdd(hist, tuple(edges))
