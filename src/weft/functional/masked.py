"""Reductions over the elements that a mask lets through, under the names of `torch.masked`."""

from __future__ import annotations

import math
from typing import Any

from weft import _core
from weft._core import Tensor
from weft._missing import explain_missing
from weft.functional import reductions
from weft.functional.checks import wrap_dim
from weft.functional.creation import ones_like
from weft.functional.elementwise import logaddexp as _logaddexp
from weft.functional.facts import iinfo
from weft.functional.reductions import logsumexp as _logsumexp
from weft.functional.reductions import nanmedian, vector_norm

ops = _core.ops


def _filled(input: Tensor, mask: Tensor | None, value: Any) -> Tensor:
    return input if mask is None else ops.where(mask, input, value).to(input.dtype)


def _dims(input: Tensor, dim: Any) -> list[int]:
    if dim is None or dim == ():
        return list(range(input.ndim))
    given: list[int] = [dim] if isinstance(dim, int) else list(dim)
    return [wrap_dim(each, input.ndim) for each in given] if input.ndim else []


def _typed(input: Tensor, dtype: Any) -> Tensor:
    return input if dtype is None else input.to(dtype)


def _extreme(input: Tensor, largest: bool) -> Any:
    """Return the largest or smallest number of a dtype."""
    if input.is_floating_point():
        return math.inf if largest else -math.inf
    if input.dtype is _core.bool:
        return largest
    limits = iinfo(input.dtype)
    return limits.max if largest else limits.min


def sum(
    input: Tensor,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Add up the elements where `mask` is True.

    Args:
        input: the tensor.
        dim: the dimensions; all of them if not given.
        keepdim: whether they stay with size one.
        dtype: the dtype to add in.
        mask: which elements count; all of them if not given.

    Example:
        >>> import weft
        >>> weft.masked.sum(weft.tensor([1, 2, 4]), mask=weft.tensor([True, False, True]))
        tensor(5)
    """
    return ops.sum(_filled(input, mask, 0), _dims(input, dim), keepdim, dtype=dtype)


def prod(
    input: Tensor,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Multiply the elements where `mask` is True; see `sum`."""
    result = _filled(input, mask, 1)
    if not input.ndim:
        return ops.prod(result.reshape(1), 0, dtype=dtype)
    for each in sorted(_dims(input, dim), reverse=True):
        result = ops.prod(result, each, keepdim, dtype=dtype)
    return result


def amax(
    input: Tensor,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the largest of the elements where `mask` is True; see `sum`."""
    x = _typed(input, dtype)
    return ops.amax(_filled(x, mask, _extreme(x, False)), _dims(x, dim), keepdim)


def amin(
    input: Tensor,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the smallest of the elements where `mask` is True; see `sum`."""
    x = _typed(input, dtype)
    return ops.amin(_filled(x, mask, _extreme(x, True)), _dims(x, dim), keepdim)


def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return where the largest of the elements is where `mask` is True, in input's dtype."""
    x = _typed(input, dtype)
    return ops.argmax(_filled(x, mask, _extreme(x, False)), dim, keepdim).to(x.dtype)


def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return where the smallest of the elements is where `mask` is True, in input's dtype."""
    x = _typed(input, dtype)
    return ops.argmin(_filled(x, mask, _extreme(x, True)), dim, keepdim).to(x.dtype)


def cumsum(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Add up elements along a dimension as they come; those that the mask hides add nothing."""
    return ops.cumsum(_filled(input, mask, 0), dim, dtype=dtype)


def cumprod(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Multiply elements along a dimension as they come, but for those that the mask hides."""
    return ops.cumprod(_filled(input, mask, 1), dim, dtype=dtype)


def _count(input: Tensor, dims: list[int], keepdim: bool, mask: Tensor | None) -> Tensor:
    there = ones_like(input, dtype=_core.bool) if mask is None else mask.expand(input.shape)
    return ops.sum(there.detach(), dims, keepdim)


def mean(
    input: Tensor,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the mean of the elements where `mask` is True; NaN where there is none."""
    x = _typed(input, dtype)
    dims = _dims(x, dim)
    return ops.sum(_filled(x, mask, 0), dims, keepdim) / _count(x, dims, keepdim, mask)


def var(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: int | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the variance of the elements where `mask` is True.

    Args:
        input: the tensor.
        dim: the dimensions; all of them if not given.
        unbiased: whether to divide by one less than the count, as is done if not said.
        correction: by how much less, in place of `unbiased`.
        keepdim: whether the dimensions stay with size one.
        dtype: the dtype to compute in.
        mask: which elements count.
    """
    less = correction if correction is not None else int(unbiased is not False)
    x = _typed(input, dtype)
    x = x if x.is_floating_point() else x.to(_core.get_default_dtype())
    dims = _dims(x, dim)
    count = _count(x, dims, True, mask)
    off = x - ops.sum(_filled(x, mask, 0), dims, True) / count
    total = ops.sum(_filled(off * off, mask, 0), dims, True) / ops.clamp_min(count - less, 0)
    return total if keepdim else ops.squeeze(total, dims)


def std(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: int | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the standard deviation of the elements where `mask` is True; see `var`."""
    return ops.sqrt(
        var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask)
    )


def median(
    input: Tensor,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the middle of the elements where `mask` is True, along a dimension."""
    x = _typed(input, dtype)
    if mask is None:
        return reductions.median(x, dim, keepdim).values
    return nanmedian(_filled(x, mask, math.nan), dim, keepdim).values


def norm(
    input: Tensor,
    ord: float = 2.0,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the norm of the elements where `mask` is True; see `linalg.vector_norm`."""
    x = _typed(input, dtype)
    hidden = _filled(x, mask, math.inf if ord == -math.inf else 0.0)
    return vector_norm(hidden, ord, _dims(x, dim), keepdim)


def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Divide by the norm along a dimension, or by `eps` if that is larger."""
    x = _typed(input, dtype)
    length = norm(x, ord, dim, keepdim=True, mask=mask)
    return _filled(x, mask, 0.0) / ops.clamp_min(length, eps)


def softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Return the softmax over the elements where `mask` is True; the others get 0."""
    x = _typed(input, dtype)
    return ops.softmax(_filled(x, mask, -math.inf), dim)


def log_softmax(
    input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Return the logarithm of `softmax`."""
    x = _typed(input, dtype)
    return ops.log_softmax(_filled(x, mask, -math.inf), dim)


def softmin(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Return the softmax of the negative elements; see `softmax`."""
    return softmax(-input, dim, dtype=dtype, mask=mask)


def logsumexp(
    input: Tensor,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the logarithm of the sum of exponentials where `mask` is True."""
    x = _typed(input, dtype)
    return _logsumexp(_filled(x, mask, -math.inf), _dims(x, dim), keepdim)


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: Any = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """Return log(exp(input) + exp(other)), where a hidden element counts for nothing."""
    return _logaddexp(
        _filled(_typed(input, dtype), input_mask, -math.inf),
        _filled(_typed(other, dtype), other_mask, -math.inf),
    )


__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]

explain_missing(__name__)
