"""Reductions with PyTorch's overloads."""

from __future__ import annotations

import math
from typing import Any

from weft import _core
from weft._core import Tensor
from weft.autograd.function import Function
from weft.functional import return_types
from weft.functional.checks import wrap_dim
from weft.functional.composite import composite, show_as
from weft.functional.creation import arange
from weft.functional.row_by_row import row_by_row
from weft.functional.selection import kth_smallest
from weft.functional.shaping import diagonal, movedim

ops = _core.ops


def max(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """Return the largest element, the largest ones along a dimension, or the larger of two.

    Args:
        input: the tensor.
        dim: a dimension, for values and indices along it; or a tensor to compare with.
        keepdim: whether the dimension stays with size one.
        other: a tensor to compare with.

    Example:
        >>> import weft
        >>> x = weft.tensor([[1, 5], [7, 2]])
        >>> weft.max(x)
        tensor(7)
        >>> weft.max(x, dim=1)
        weft.return_types.max(
        values=tensor([5, 7]),
        indices=tensor([1, 0]))
    """
    if other is not None or isinstance(dim, Tensor):
        return ops.maximum(input, dim if other is None else other)
    if dim is None:
        return _extreme("max", ops.max_all, input)
    return return_types.max._make(ops.max_dim(input, dim, keepdim))


def min(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """Return the smallest element, the smallest ones along a dimension, or the smaller of two.

    Args:
        input: the tensor.
        dim: a dimension, for values and indices along it; or a tensor to compare with.
        keepdim: whether the dimension stays with size one.
        other: a tensor to compare with.

    Example:
        >>> import weft
        >>> x = weft.tensor([[1, 5], [7, 2]])
        >>> weft.min(x)
        tensor(1)
        >>> weft.min(x, dim=1).indices
        tensor([0, 1])
    """
    if other is not None or isinstance(dim, Tensor):
        return ops.minimum(input, dim if other is None else other)
    if dim is None:
        return _extreme("min", ops.min_all, input)
    return return_types.min._make(ops.min_dim(input, dim, keepdim))


def _extreme(name: str, function: Any, input: Tensor) -> Tensor:
    """Return the largest or smallest of all elements."""
    if input.numel() == 0:
        raise _core.ShapeError(
            f"{name}(input): Expected reduction dim to be specified for input.numel() == 0; input "
            f"is {tuple(input.shape)}."
        )
    return function(input)


def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return the smallest and the largest element, of all or along a dimension.

    Example:
        >>> import weft
        >>> weft.aminmax(weft.tensor([3, 1, 2]))
        weft.return_types.aminmax(
        min=tensor(1),
        max=tensor(3))
    """
    return return_types.aminmax(ops.amin(input, dim, keepdim), ops.amax(input, dim, keepdim))


class EvenlyShared(Function):
    """A number whose gradient is shared by the elements that equal it; NaN equals NaN."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, value: Tensor) -> Tensor:
        """Return the value, which is that of some elements of the input."""
        ctx.save_for_backward(input, value)
        return value.clone()

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Give each of those elements the same part of the gradient."""
        (grad,) = grad_outputs
        input, value = ctx.saved_tensors
        both_nan = ops.logical_and(ops.isnan(input), ops.isnan(value))
        mask = ops.logical_or(ops.eq(input, value), both_nan)
        return grad / ops.sum(mask, dtype=grad.dtype) * mask, None


@composite()
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return the middle element (the lower of two), of all or along a dimension with its index.

    NaN is the middle of everything that has one. The middle of all elements shares its gradient
    among those that equal it.

    Example:
        >>> import weft
        >>> weft.median(weft.tensor([1.0, 4.0, 2.0, 3.0]))  # the lower of the two in the middle
        tensor(2.)
    """
    if dim is None:
        flat = ops.reshape(input.detach(), -1)
        value = _middle(flat, 0, False)[0]
        middle = EvenlyShared.apply(input, value) if input.requires_grad else value
        show_as(middle, "MedianBackward0")
        return middle
    values, indices = _middle(input, dim, keepdim)
    show_as(values, "MedianBackward1")
    return return_types.median(values, indices)


def _middle(input: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, ...]:
    """Return the middle elements and their places; the first NaN of what has one."""
    size = input.shape[wrap_dim(dim, input.ndim)] if input.ndim else 1
    found = kth_smallest(input, (size + 1) // 2, dim, keepdim or input.is_floating_point())
    if input.ndim == 0 or not input.is_floating_point():
        return found
    is_nan = ops.isnan(input)
    first = ops.argmax(is_nan.to(_core.uint8), dim, True)
    indices = ops.where(ops.any(is_nan, [dim], True), first, found[1])
    found = ops.gather(input, dim, indices), indices
    return found if keepdim else tuple(ops.squeeze(each, [dim]) for each in found)


@composite()
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return the middle of the elements that are not NaN; NaN where there is none.

    Args:
        input: the tensor.
        dim: the dimension; if not given, the middle of all elements without an index.
        keepdim: whether the dimension stays with size one.

    Example:
        >>> import weft
        >>> weft.nanmedian(weft.tensor([3.0, float("nan"), 1.0]))
        tensor(1.)
    """
    if dim is None:
        value = nanmedian(input.detach().reshape(-1), 0).values
        middle = EvenlyShared.apply(input, value) if input.requires_grad else value
        show_as(middle, "NanmedianBackward0")
        return middle
    if input.ndim == 0:
        return return_types.nanmedian(input.clone(), ops.zeros((), dtype=_core.int64))
    values, indices = ops.sort(input, dim)
    # NaN is sorted behind the numbers.
    count = ops.sum(ops.logical_not(ops.isnan(input)), [dim], True)
    middle = ops.clamp_min(ops.div_floor(count - 1, 2), 0)
    found = tuple(ops.gather(each, dim, middle) for each in (values, indices))
    return return_types.nanmedian(
        *(found if keepdim else (ops.squeeze(each, [dim]) for each in found))
    )


def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """Return the most frequent element along a dimension (the smallest of several), and an index.

    Args:
        input: the tensor.
        dim: the dimension.
        keepdim: whether the dimension stays with size one.

    Example:
        >>> import weft
        >>> weft.mode(weft.tensor([1, 3, 3, 2]))
        weft.return_types.mode(
        values=tensor(3),
        indices=tensor(2))
    """
    if input.ndim == 0:
        return return_types.mode(input.clone(), ops.zeros((), dtype=_core.int64))
    ordered, places = ops.sort(input, dim, False, True)
    same = ops.eq(ordered.unsqueeze(dim if dim < 0 else dim + 1), ordered.unsqueeze(_before(dim)))
    # For each sorted element, how many are equal to it; the first of the most frequent wins.
    counts = ops.sum(same, [_before(dim)])
    first = ops.argmax(counts, dim, True)
    most = ops.clamp_min(ops.amax(counts, dim, True), 1)  # NaN does not even equal itself
    indices = ops.gather(places, dim, first + most - 1)
    values = ops.gather(input, dim, indices)
    if not keepdim:
        values, indices = ops.squeeze(values, dim), ops.squeeze(indices, dim)
    return return_types.mode(values, indices)


def _before(dim: int) -> int:
    """Return where to insert a dimension so that it stands before `dim`."""
    return dim - 1 if dim < 0 else dim


def _running(input: Tensor, dim: int, largest: bool) -> tuple[Tensor, Tensor]:
    """Return the extremes so far along a dimension, and where each was last.

    Stretches of doubling length are joined, so there are few steps.
    """
    if input.ndim == 0:
        return input.clone(), ops.zeros((), dtype=_core.int64)
    size = input.shape[dim]
    values = input.detach()
    shape = [1] * input.ndim
    shape[dim] = size
    places = arange(size).reshape(shape).expand(input.shape)
    length = 1
    while length < size:
        head, old = ops.slice(values, dim, 0, length), ops.slice(values, dim, 0, -length)
        new, places_head = ops.slice(values, dim, length), ops.slice(places, dim, 0, length)
        # NaN wins, and of equal ones the last.
        better = ops.gt(old, new) if largest else ops.lt(old, new)
        better = ops.logical_and(
            ops.logical_or(better, ops.isnan(old)), ops.logical_not(ops.isnan(new))
        )
        values = ops.cat([head, ops.where(better, old, new)], dim)
        old, new = ops.slice(places, dim, 0, -length), ops.slice(places, dim, length)
        places = ops.cat([places_head, ops.where(better, old, new)], dim)
        length *= 2
    places = places.contiguous()
    return ops.gather(input, dim, places), places


@composite()
def cummax(input: Tensor, dim: int) -> Any:
    """Return the largest elements so far along a dimension, and where they are.

    Example:
        >>> import weft
        >>> weft.cummax(weft.tensor([1, 3, 2]), dim=0).values
        tensor([1, 3, 3])
    """
    result = return_types.cummax._make(_running(input, dim, True))
    show_as(result.values, "CummaxBackward0")
    return result


@composite()
def cummin(input: Tensor, dim: int) -> Any:
    """Return the smallest elements so far along a dimension, and where they are.

    Example:
        >>> import weft
        >>> weft.cummin(weft.tensor([3, 1, 2]), dim=0).values
        tensor([3, 1, 1])
    """
    result = return_types.cummin._make(_running(input, dim, False))
    show_as(result.values, "CumminBackward0")
    return result


@composite("LogcumsumexpBackward0")
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """Return the logarithms of the running sums of exponentials along a dimension.

    Example:
        >>> import weft
        >>> weft.logcumsumexp(weft.zeros(3), dim=0)
        tensor([0.0000, 0.6931, 1.0986])
    """
    if input.ndim == 0:
        return input.clone()
    result = input
    length = 1
    while length < input.shape[dim]:
        # Stretches of doubling length are joined, each pair without overflow.
        pairs = [ops.slice(result, dim, 0, -length), ops.slice(result, dim, length)]
        joined = logsumexp(ops.stack(pairs, -1), -1)
        result = ops.cat([ops.slice(result, dim, 0, length), joined], dim)
        length *= 2
    return result


@composite("ProdBackward0")
def prod(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Multiply elements. Products of integers and bools are int64.

    Args:
        input: the tensor.
        dim: the dimensions; all of them if not given.
        keepdim: whether they stay with size one.
        dtype: the dtype of the result.

    Example:
        >>> import weft
        >>> weft.prod(weft.tensor([[1, 2], [3, 4]]), dim=1)
        tensor([ 2, 12])
    """
    if isinstance(dim, int):
        return ops.prod(input, dim, keepdim, dtype=dtype)
    if not dim:
        result = ops.prod(input.reshape(-1), 0, dtype=dtype)
        return result.reshape([1] * input.ndim) if keepdim else result
    dims = sorted(axis % (input.ndim or 1) for axis in dim)
    for axis in reversed(dims):
        input = ops.prod(input, axis, keepdim, dtype=dtype)
    return input


def _variance(function: Any, args: tuple[Any, ...], keepdim: bool) -> Any:
    """Call a variance op with PyTorch's old and new spellings of its arguments."""
    input, dim, unbiased, correction = args
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    return function(input, dim, correction=correction, keepdim=keepdim)


def var(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Any = None,
) -> Tensor:
    """Return the variance, of all elements or along dimensions.

    Args:
        input: the tensor.
        dim: the dimensions; all of them if not given.
        unbiased: whether to divide by one less than the count (unless `correction` is given).
        keepdim: whether the dimensions stay with size one.
        correction: what the count is reduced by; 1 if not given.

    Example:
        >>> import weft
        >>> x = weft.tensor([1.0, 2.0, 3.0])
        >>> weft.var(x), weft.var(x, correction=0)
        (tensor(1.), tensor(0.6667))
    """
    return _variance(ops.var, (input, dim, unbiased, correction), keepdim)


@composite("StdBackward0")
def std(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Any = None,
) -> Tensor:
    """Return the standard deviation; arguments as for `var`.

    Example:
        >>> import weft
        >>> weft.std(weft.tensor([[1.0, 3.0], [0.0, 8.0]]), dim=1)
        tensor([1.4142, 5.6569])
    """
    return _root(_variance(ops.var, (input, dim, unbiased, correction), keepdim))


def _root(variance: Tensor) -> Tensor:
    """Return the square root, whose gradient counts as zero where nothing deviates."""
    if not variance.requires_grad:
        return ops.sqrt(variance)
    is_zero = ops.eq(variance.detach(), 0)
    return ops.where(is_zero, 0.0, ops.sqrt(ops.where(is_zero, 1.0, variance)))


@composite("VarMeanBackward0")
def var_mean(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Any = None,
) -> tuple[Tensor, Tensor]:
    """Return the variance and the mean; arguments as for `var`.

    Example:
        >>> import weft
        >>> weft.var_mean(weft.tensor([1.0, 2.0, 3.0]))
        (tensor(1.), tensor(2.))
    """
    variance = _variance(ops.var, (input, dim, unbiased, correction), keepdim)
    return variance, ops.mean(input, None if isinstance(dim, bool) else dim, keepdim)


@composite("StdMeanBackward0")
def std_mean(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Any = None,
) -> tuple[Tensor, Tensor]:
    """Return the standard deviation and the mean; arguments as for `var`.

    Example:
        >>> import weft
        >>> weft.std_mean(weft.tensor([1.0, 2.0, 3.0]))
        (tensor(1.), tensor(2.))
    """
    variance, mean = var_mean(input, dim, unbiased, keepdim, correction=correction)
    return _root(variance), mean


@composite("NansumBackward0")
def nansum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Add up elements like `sum`, counting NaN as zero.

    Example:
        >>> import weft
        >>> weft.nansum(weft.tensor([1.0, weft.nan, 2.0]))
        tensor(3.)
    """
    return ops.sum(ops.where(ops.isnan(input), 0, input), dim, keepdim, dtype=dtype)


def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Return the mean of the elements that are not NaN.

    Example:
        >>> import weft
        >>> weft.nanmean(weft.tensor([1.0, weft.nan, 2.0]))
        tensor(1.5000)
    """
    present = ops.logical_not(ops.isnan(input.detach()))
    return nansum(input, dim, keepdim, dtype=dtype) / ops.sum(present, dim, keepdim)


@composite()
def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """Count the elements that are not zero, over all dimensions or those in `dim`.

    Example:
        >>> import weft
        >>> weft.count_nonzero(weft.tensor([[0, 1], [2, 3]]), dim=1)
        tensor([1, 2])
    """
    return ops.sum(ops.ne(input, 0), dim)


@composite("LogsumexpBackward0")
def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """Return the logarithm of the sum of exponentials, without overflow.

    Example:
        >>> import weft
        >>> weft.logsumexp(weft.tensor([[1000.0, 1000.0]]), dim=1)  # nothing overflows
        tensor([1000.6932])
    """
    if input.numel() == 0:
        return ops.log(ops.sum(ops.exp(input), dim, keepdim))
    largest = ops.amax(input.detach(), dim, True)
    # Infinities are not taken away: their difference is no number.
    shift = ops.where(ops.isinf(largest), 0, largest)
    result = ops.log(ops.sum(ops.exp(input - shift), dim, True)) + shift
    return result if keepdim or not input.ndim else ops.squeeze(result, dim)


@composite("LinalgVectorNormBackward0")
def vector_norm(
    input: Tensor,
    ord: float = 2.0,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """Return the norm of the elements as one vector.

    Args:
        input: the tensor.
        ord: which norm: 0 counts, 1 adds up sizes, 2 is Euclid's, inf and -inf are extremes.
        dim: the dimensions; all of them if not given.
        keepdim: whether they stay with size one.
        dtype: the dtype to compute in; input's if not given.

    Example:
        >>> import weft
        >>> weft.linalg.vector_norm(weft.tensor([[3.0, 4.0], [6.0, 8.0]]), dim=1)
        tensor([ 5., 10.])
    """
    result = input.dtype if dtype is None else _core.as_dtype(dtype)
    if not result.is_floating_point:
        raise _core.DTypeError(
            "vector_norm(input): input must be floating point; could not infer output dtype from "
            f"{result}."
        )
    # Squares of half precision need more range.
    x = input.to(_core.float64 if result is _core.float64 else _core.float32)
    return _norm(x, ord, dim, keepdim).to(result)


def _norm(x: Tensor, order: float, dim: Any, keepdim: bool) -> Tensor:
    if order == 0:  # a count, whose slope is zero
        is_there = ops.ne(x.detach(), 0).to(x.dtype)
        return ops.sum(
            ops.abs(ops.sign(x)) * 0 + is_there if x.requires_grad else is_there, dim, keepdim
        )
    if order == 1:
        return ops.sum(ops.abs(x), dim, keepdim)
    if order == 2:
        return _root(ops.sum(x * x, dim, keepdim))
    if math.isinf(order):
        if order > 0 and x.numel() == 0:
            return ops.sum(x, dim, keepdim)
        return (ops.amax if order > 0 else ops.amin)(ops.abs(x), dim, keepdim)
    # Powers of zero have no slope where they are steep; it counts as zero.
    is_zero = ops.eq(x.detach(), 0)
    exponent = ops.full([], order, dtype=x.dtype)
    powers = ops.pow(ops.where(is_zero, 1.0, ops.abs(x)), exponent)
    powers = ops.where(is_zero, 0.0 if order > 0 else math.inf, powers)
    total = ops.sum(powers, dim, keepdim)
    is_zero = ops.eq(total.detach(), 0)
    root = ops.pow(ops.where(is_zero, 1.0, total), 1 / exponent)
    return ops.where(is_zero, 0.0 if order > 0 else math.inf, root)


def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """Return the differences of neighbours along a dimension, `n` times.

    Args:
        input: the tensor.
        n: how often.
        dim: the dimension.
        prepend: what stands before the first element.
        append: what stands after the last element.

    Example:
        >>> import weft
        >>> weft.tensor([1, 4, 9]).diff()
        tensor([3, 5])
    """
    if n == 0:
        return input
    parts = [part for part in (prepend, input, append) if part is not None]
    result = input if len(parts) == 1 else ops.cat(parts, dim)
    for _ in range(n):
        if result.shape[dim] == 0:
            break
        after, before = ops.slice(result, dim, 1), ops.slice(result, dim, 0, -1)
        result = ops.ne(after, before) if result.dtype is _core.bool else ops.sub(after, before)
    return result


def trace(input: Tensor) -> Tensor:
    """Return the sum of a matrix's diagonal.

    Example:
        >>> import weft
        >>> weft.trace(weft.tensor([[1, 2], [3, 4]]))
        tensor(5)
    """
    if input.ndim != 2:
        raise _core.ShapeError(
            f"trace(input): input must have 2 dimensions; input is {tuple(input.shape)}."
        )
    return ops.sum(diagonal(input))


@row_by_row
def quantile(
    input: Tensor,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """Return values below which given shares of the elements lie.

    Args:
        input: the tensor.
        q: a share between 0 and 1, or a vector of them (which becomes the first dimension).
        dim: the dimension; all elements if not given.
        keepdim: whether the dimension stays with size one.
        interpolation: between two elements: "linear", "lower", "higher", "nearest" or "midpoint".

    Example:
        >>> import weft
        >>> weft.quantile(weft.tensor([0.0, 1.0, 2.0, 3.0]), 0.5)
        tensor(1.5000)
    """
    single = not isinstance(q, Tensor) or q.ndim == 0
    shares = [float(q)] if single else [float(share) for share in q.tolist()]
    if any(not 0.0 <= share <= 1.0 for share in shares):
        raise _core.ArgumentError(f"quantile(): q must be between 0 and 1; q is {shares}.")
    flat = input.reshape(-1) if dim is None or input.ndim == 0 else movedim(input, dim, -1)
    ordered = ops.sort(flat, -1)[0]
    results: list[Tensor] = []
    for share in shares:
        place = share * (ordered.shape[-1] - 1)
        low = int(place)
        high = low + 1 if place > low else low
        if interpolation == "nearest":
            results.append(ops.select(ordered, -1, round(place)))
            continue
        weights = {"linear": place - low, "lower": 0.0, "higher": 1.0, "midpoint": 0.5}
        if interpolation not in weights:
            raise _core.ArgumentError(f"quantile(): interpolation {interpolation!r} is not known.")
        lower, upper = ops.select(ordered, -1, low), ops.select(ordered, -1, high)
        results.append(ops.lerp(lower, upper, weights[interpolation]))
    # NaN is sorted behind the numbers, and wins.
    last = ops.select(ordered, -1, -1)
    results = [ops.where(ops.isnan(last), last, result) for result in results]
    if keepdim:
        if dim is None or input.ndim == 0:
            results = [result.reshape((1,) * input.ndim) for result in results]
        else:
            results = [result.unsqueeze(dim) for result in results]
    return results[0] if single else ops.stack(results, 0)
