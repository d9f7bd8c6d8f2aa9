"""Sums over curves, covariances, and other numbers of data."""

from __future__ import annotations

import math
from typing import Any

from weft import _core
from weft._core import Tensor
from weft.functional.checks import wrap_dim
from weft.functional.composite import composite
from weft.functional.creation import arange
from weft.functional.reductions import quantile, vector_norm
from weft.functional.selection import masked_select
from weft.functional.shaping import diag_embed, diagonal, movedim

ops = _core.ops


def _steps(y: Tensor, x: Tensor | None, dx: Any, dim: int) -> Tensor:
    """Return the area between each two neighbours."""
    length = y.shape[dim]
    if length < 2:
        return ops.slice(y, dim, 0, 0) * 1.0
    heights = ops.slice(y, dim, 1) + ops.slice(y, dim, 0, length - 1)
    if x is None:
        return heights * (dx / 2)
    if x.ndim == 1:
        shape = [1] * y.ndim
        shape[dim] = -1
        x = x.reshape(shape)
    elif x.ndim < y.ndim:
        x = x.reshape([1] * (y.ndim - x.ndim) + list(x.shape))
    count = x.shape[dim]
    return heights * (ops.slice(x, dim, 1) - ops.slice(x, dim, 0, count - 1)) / 2


@composite()
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """Return the area below a curve, by the trapezoidal rule.

    Args:
        y: the heights.
        x: where they are, or
        dx: how far apart; 1 if neither is given.
        dim: the dimension that the curve lies along.

    Example:
        >>> import weft
        >>> weft.trapezoid(weft.tensor([0.0, 1.0, 2.0]), dx=0.5)
        tensor(1.)
    """
    dim = wrap_dim(dim, y.ndim)
    return ops.sum(_steps(y, x, 1 if dx is None else dx, dim), [dim])


@composite()
def trapz(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """Return the area below a curve; see `trapezoid`.

    Example:
        >>> import weft
        >>> weft.trapz(weft.tensor([0.0, 1.0]), weft.tensor([0.0, 3.0]))
        tensor(1.5000)
    """
    return trapezoid(y, x, dx=dx, dim=dim)


@composite()
def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1
) -> Tensor:
    """Return the area below a curve up to each element but the first; see `trapezoid`.

    Example:
        >>> import weft
        >>> weft.cumulative_trapezoid(weft.tensor([0.0, 1.0, 2.0]))
        tensor([0.5000, 2.0000])
    """
    dim = wrap_dim(dim, y.ndim)
    return ops.cumsum(_steps(y, x, 1 if dx is None else dx, dim), dim)


def _is_there(tensor: Tensor) -> bool:
    """Whether numbers can be looked at without waiting, or for all rows at once."""
    return not (_core.is_lazy() or _core.is_row(tensor))


def _check_weights(name: str, weights: Tensor, rows: Tensor) -> None:
    if weights.ndim > 1 or weights.numel() != rows.shape[1]:
        raise _core.ShapeError(
            f"cov(): {name} must have one weight for each of {rows.shape[1]} observations; it is "
            f"{tuple(weights.shape)}."
        )
    if weights.numel() and _is_there(weights) and not bool(ops.ge(ops.amin(weights), 0)):
        raise _core.ArgumentError(f"cov(): {name} must not be negative.")


@composite()
def cov(
    input: Tensor,
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """Return the covariances of variables.

    Args:
        input: one row a variable, one column an observation.
        correction: subtracted from the number of observations.
        fweights: how often each observation was made.
        aweights: how much each observation counts.

    Example:
        >>> import weft
        >>> weft.cov(weft.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))  # a row is a variable
        tensor([[ 1., -1.],
                [-1.,  1.]])
    """
    if input.ndim > 2:
        raise _core.ShapeError(f"cov(): input must have 2 or fewer dimensions, not {input.ndim}.")
    if input.dtype is _core.bool:
        raise _core.DTypeError("cov(): input must not be of dtype bool.")
    rows = input if input.ndim == 2 else input.reshape(1, -1)
    rows = rows if rows.is_floating_point() else rows.to(_core.get_default_dtype())
    weights: Any = None
    if fweights is not None:
        _check_weights("fweights", fweights, rows)
        if fweights.is_floating_point() or fweights.dtype is _core.bool:
            raise _core.DTypeError(
                f"cov(): fweights must be of an integer dtype, not {fweights.dtype}."
            )
        weights = fweights
    if aweights is not None:
        _check_weights("aweights", aweights, rows)
        if not aweights.is_floating_point():
            raise _core.DTypeError(
                f"cov(): aweights must be of a floating dtype, not {aweights.dtype}."
            )
        weights = aweights if weights is None else weights * aweights
    if weights is None:
        total: Any = rows.shape[1]
        mean = ops.mean(rows, 1, True)
        scaled = rows - mean
        shifted = scaled
        divisor: Any = total - correction
    else:
        weights = weights.to(rows.dtype)
        total = ops.sum(weights)
        if _is_there(total) and not bool(ops.ne(total, 0)):
            raise _core.ArgumentError("cov(): the weights must not sum to zero.")
        mean = ops.sum(rows * weights, [1], True) / total
        shifted = rows - mean
        scaled = shifted * weights
        divisor = total - correction
        if aweights is not None and correction:
            divisor = total - correction * ops.sum(weights * aweights) / total
    if not isinstance(divisor, Tensor):
        divisor = max(divisor, 0)
        divisor = math.nan if divisor == 0 and rows.shape[1] == 0 else divisor
    product = ops.matmul(scaled, shifted.transpose(0, 1))
    divisor = divisor if isinstance(divisor, Tensor) else ops.full((), divisor, dtype=rows.dtype)
    result = product / ops.clamp(divisor, 0)
    return result.reshape(()) if rows.shape[0] == 1 else result


@composite()
def corrcoef(input: Tensor) -> Tensor:
    """Return the correlations of variables, one row a variable.

    Example:
        >>> import weft
        >>> weft.corrcoef(weft.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
        tensor([[ 1., -1.],
                [-1.,  1.]])
    """
    covariances = cov(input)
    if covariances.ndim == 0:
        return covariances / covariances
    spread = ops.sqrt(diagonal(covariances))
    scaled = covariances / spread.unsqueeze(1) / spread.unsqueeze(0)
    return ops.clamp(scaled, -1.0, 1.0)


@composite()
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """Make a matrix with all elements on a diagonal.

    Example:
        >>> import weft
        >>> weft.diagflat(weft.tensor([1, 2]))
        tensor([[1, 0],
                [0, 2]])
    """
    return diag_embed(input.reshape(-1), offset)


@composite()
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """Multiply by two to the power of another tensor.

    Example:
        >>> import weft
        >>> weft.ldexp(weft.tensor([1.5]), weft.tensor([3]))  # 1.5 * 2**3
        tensor([12.])
    """
    return input * ops.pow(2.0, other)


@composite()
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Shorten the slices along a dimension whose norm is above a bound.

    Args:
        input: the tensor.
        p: the norm.
        dim: which dimension's slices.
        maxnorm: the bound.

    Example:
        >>> import weft
        >>> weft.renorm(weft.tensor([[3.0, 4.0], [0.3, 0.4]]), p=2, dim=0, maxnorm=1.0)
        tensor([[0.6000, 0.8000],
                [0.3000, 0.4000]])
    """
    dim = wrap_dim(dim, input.ndim)
    others = [i for i in range(input.ndim) if i != dim]
    norms = vector_norm(input, float(p), others, True)
    factor = ops.where(norms > maxnorm, maxnorm / (norms + 1e-7), 1.0)
    return input * factor.to(input.dtype)


@composite()
def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    """Sum over the dimensions that broadcasting from a size would have added or stretched.

    Example:
        >>> import weft
        >>> weft.ones(2, 3).sum_to_size(2, 1)
        tensor([[3.],
                [3.]])
    """
    sizes = list(size[0]) if len(size) == 1 and hasattr(size[0], "__iter__") else list(size)
    extra = input.ndim - len(sizes)
    dims = list(range(extra))
    for i, wanted in enumerate(sizes):
        if wanted == 1 and input.shape[extra + i] != 1:
            dims.append(extra + i)
        elif wanted != input.shape[extra + i]:
            raise _core.ShapeError(
                f"sum_to_size(): a tensor of {tuple(input.shape)} cannot be summed to "
                f"{tuple(sizes)}."
            )
    result = ops.sum(input, dims, True) if dims else input
    return result.reshape(sizes)


@composite(reads_values=True)
def nanquantile(
    input: Tensor,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """Return quantiles of what is not NaN; arguments as for `quantile`.

    Example:
        >>> import weft
        >>> weft.nanquantile(weft.tensor([0.0, weft.nan, 2.0]), 0.5)
        tensor(1.)
    """
    flat = input.reshape(-1) if dim is None or input.ndim == 0 else movedim(input, dim, -1)
    rows = flat.reshape(-1, flat.shape[-1])
    single = not isinstance(q, Tensor) or q.ndim == 0
    found: list[Tensor] = []
    for row in ops.unbind(rows, 0):
        kept = ops.logical_not(ops.isnan(row.detach()))
        row = masked_select(row, kept) if bool(kept.any()) else ops.slice(row, 0, 0, 1)
        found.append(quantile(row, q, 0, interpolation=interpolation))
    stacked = ops.stack(found, -1)
    shape = list(flat.shape[:-1])
    result = stacked.reshape(shape if single else [stacked.shape[0], *shape])
    if not keepdim:
        return result
    if dim is None:
        ones = [1] * input.ndim
        return result.reshape(ones if single else [result.shape[0], *ones])
    place = wrap_dim(dim, input.ndim)
    return result if input.ndim == 0 else result.unsqueeze(place if single else place + 1)


@composite()
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Turn places in a flattened tensor into places along its dimensions.

    Example:
        >>> import weft
        >>> weft.unravel_index(weft.tensor([5]), (2, 3))
        (tensor([1]), tensor([2]))
    """
    if indices.dtype.is_floating_point or indices.dtype is _core.bool:
        raise _core.DTypeError(
            f"unravel_index(): indices must be of an integer dtype, not {indices.dtype}."
        )
    indices = indices.to(_core.int64)
    sizes = list(shape) if hasattr(shape, "__iter__") else [shape]
    if not all(isinstance(size, int) for size in sizes):
        raise TypeError(f"unravel_index(): shape must be ints, not {shape!r}.")
    if min(sizes, default=0) < 0:
        raise _core.ArgumentError(f"unravel_index(): shape must not be negative: {shape!r}.")
    found: list[Tensor] = []
    for size in reversed(sizes):
        found.append(ops.remainder(indices, size))
        indices = ops.floor_divide(indices, size)
    return tuple(reversed(found))


@composite()
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Write elements to places of the flattened input, in a copy.

    Args:
        input: the tensor.
        index: the places.
        source: what to write, as many elements.
        accumulate: whether to add instead.

    Example:
        >>> import weft
        >>> weft.zeros(2, 2).put(weft.tensor([3]), weft.tensor([9.0]))  # as if it were flat
        tensor([[0., 0.],
                [0., 9.]])
    """
    values = source.reshape(-1).to(input.dtype)
    places = [index.reshape(-1)]
    return ops.index_put(input.reshape(-1), places, values, [0], accumulate).reshape(input.shape)


@composite()
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """Return the logarithm of the gamma function of `p` dimensions.

    Example:
        >>> import weft
        >>> weft.mvlgamma(weft.tensor([3.0]), p=2)
        tensor([1.5502])
    """
    if p < 1:
        raise _core.ArgumentError(f"mvlgamma(input, p): p must be at least 1, not {p}.")
    floats = input if input.is_floating_point() else input.to(_core.get_default_dtype())
    steps = (arange(p) * -0.5).to(floats.dtype)
    total = ops.sum(ops.lgamma(floats.unsqueeze(-1) + steps), [-1])
    return total + p * (p - 1) / 4 * math.log(math.pi)


@composite()
def gradient(
    input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    """Estimate slopes along dimensions from neighbours on both sides.

    Args:
        input: the heights.
        spacing: how far apart they are: a number, one for each dimension, or tensors of places.
        dim: the dimensions; all of them if not given.
        edge_order: 1 or 2: of what order the estimates at the ends are.

    Example:
        >>> import weft
        >>> weft.gradient(weft.tensor([1.0, 2.0, 4.0]))
        (tensor([1.0000, 1.5000, 2.0000]),)
    """
    dim = range(input.ndim) if dim is None else dim
    spacing = 1 if spacing is None else spacing
    chosen: list[int] = [dim] if isinstance(dim, int) else list(dim)
    several = type(spacing) in (list, tuple)
    steps: list[Any] = list(spacing) if several else [spacing] * len(chosen)
    if len(steps) != len(chosen) or edge_order not in (1, 2):
        raise _core.ArgumentError(
            f"gradient(): spacing must have one item for each dimension and edge_order must be 1 "
            f"or 2; spacing has {len(steps)}, dim is {tuple(chosen)}, edge_order is {edge_order}."
        )
    x = input if input.is_floating_point() else input.to(_core.get_default_dtype())
    return tuple(
        _slope(x, wrap_dim(each, x.ndim), step, edge_order)
        for each, step in zip(chosen, steps, strict=True)
    )


def _slope(x: Tensor, dim: int, step: Any, edge_order: int) -> Tensor:
    length = x.shape[dim]
    if length <= edge_order:
        raise _core.ShapeError(
            f"gradient(): dimension {dim} must have more than edge_order {edge_order} elements; "
            f"input is {tuple(x.shape)}."
        )
    shape = [1] * x.ndim
    shape[dim] = length - 1
    if isinstance(step, Tensor) and step.ndim:
        gaps = (ops.slice(step, 0, 1) - ops.slice(step, 0, 0, length - 1)).to(x.dtype)
    else:
        gaps = ops.full([length - 1], float(step), dtype=x.dtype)
    gaps = gaps.reshape(shape)
    slopes = (ops.slice(x, dim, 1) - ops.slice(x, dim, 0, length - 1)) / gaps
    # Inside, the slopes on both sides; the nearer neighbour counts for more.
    before, after = ops.slice(gaps, dim, 0, length - 2), ops.slice(gaps, dim, 1)
    left, right = ops.slice(slopes, dim, 0, length - 2), ops.slice(slopes, dim, 1)
    inside = (left * after + right * before) / (before + after)
    first, last = ops.slice(slopes, dim, 0, 1), ops.slice(slopes, dim, length - 2)
    if edge_order == 2:
        first, last = _ends(slopes, gaps, dim, length)
    return ops.cat([first, inside, last], dim)


def _ends(slopes: Tensor, gaps: Tensor, dim: int, length: int) -> tuple[Tensor, Tensor]:
    """Return the slopes at both ends of a parabola through three places."""

    def end(near: int, next_one: int) -> Tensor:
        h, k = (ops.slice(gaps, dim, i, i + 1) for i in (near, next_one))
        s, t = (ops.slice(slopes, dim, i, i + 1) for i in (near, next_one))
        return s + (s - t) * h / (h + k)

    return end(0, 1), end(length - 2, length - 3)
