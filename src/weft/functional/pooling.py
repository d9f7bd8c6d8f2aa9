"""Pooling: windows are views of the padded input, reduced to one value each."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from weft import _core
from weft._core import Tensor
from weft.functional.creation import arange
from weft.functional.facts import iinfo
from weft.functional.shaping import pad
from weft.functional.shaping import windows as view_windows

ops = _core.ops

_MOST_PARTS = 1 << 20  # of an adaptive pool: more is surely a mistake


class _Windows(NamedTuple):
    """How windows lie over the last dimensions of an input, one number a dimension."""

    kernel: list[int]
    stride: list[int]
    padding: list[int]
    dilation: list[int]
    counts: list[int]  # windows
    after: list[int]  # padding behind the end; negative where the end is not reached


def _each(name: str, argument: str, value: Any, rank: int) -> list[Any]:
    numbers = list(value) if hasattr(value, "__iter__") else [value]
    if len(numbers) not in (1, rank):
        raise _core.ArgumentError(
            f"{name}(): {argument} must be one number or {rank}; {argument} is {value}."
        )
    return numbers * rank if len(numbers) == 1 else numbers


def _lay_out(
    name: str,
    input: Tensor,
    rank: int,
    settings: tuple[Any, Any, Any, Any],
    ceil_mode: bool,
) -> _Windows:
    """Check the settings and count the windows."""
    kernel_size, stride, padding, dilation = settings
    if input.ndim not in (rank + 1, rank + 2):
        raise _core.ShapeError(
            f"{name}(): input must have {rank + 1} or {rank + 2} dimensions; input is "
            f"{tuple(input.shape)}."
        )
    kernel = _each(name, "kernel_size", kernel_size, rank)
    empty = stride is None or (hasattr(stride, "__len__") and len(stride) == 0)
    step = kernel if empty else _each(name, "stride", stride, rank)
    edge, gap = _each(name, "padding", padding, rank), _each(name, "dilation", dilation, rank)
    for argument, numbers in (("kernel_size", kernel), ("stride", step), ("dilation", gap)):
        if min(numbers) <= 0:
            raise _core.ArgumentError(f"{name}(): {argument} must be positive; it is {numbers}.")
    counts: list[int] = []
    after: list[int] = []
    for length, k, s, p, d in zip(input.shape[-rank:], kernel, step, edge, gap, strict=True):
        if p < 0 or 2 * p > k:
            raise _core.ArgumentError(
                f"{name}(): padding must be at most half of kernel_size; padding is {edge}, "
                f"kernel_size is {kernel}."
            )
        span = d * (k - 1) + 1
        room = length + 2 * p - span
        count = (-(-room // s) if ceil_mode else room // s) + 1
        if ceil_mode and (count - 1) * s >= length + p:
            count -= 1  # a last window may not lie in the padding alone
        if count <= 0:
            raise _core.ShapeError(
                f"{name}(): the windows must fit into input; kernel_size is {kernel}, input is "
                f"{tuple(input.shape)}."
            )
        counts.append(count)
        after.append((count - 1) * s + span - length - p)
    return _Windows(kernel, step, edge, gap, counts, after)


def _view(input: Tensor, windows: _Windows, fill: float) -> Tensor:
    """Return all windows as a view (..., counts, kernel sizes)."""
    edges = [
        number
        for pair in zip(reversed(windows.padding), reversed(windows.after), strict=True)
        for number in pair
    ]
    if any(edges):
        input = pad(input, edges, value=fill)
    return view_windows(input, windows.kernel, windows.stride, windows.dilation)


def _least(dtype: Any) -> Any:
    return -math.inf if dtype.is_floating_point else iinfo(dtype).min


def _max_pool(
    name: str,
    rank: int,
    input: Tensor,
    settings: tuple[Any, Any, Any, Any],
    ceil_mode: bool,
    return_indices: bool,
) -> Any:
    windows = _lay_out(name, input, rank, settings, ceil_mode)
    view = _view(input, windows, _least(input.dtype))
    flat = view.reshape((*view.shape[:-rank], math.prod(windows.kernel)))
    values, places = ops.max_dim(flat, -1)
    if not return_indices:
        return values
    # From the place in a window to the place in the input: by dimension, last one first.
    index, factor = ops.zeros_like(places), 1
    for i in reversed(range(rank)):
        within = ops.remainder(places, windows.kernel[i])
        places = ops.floor_divide(places, windows.kernel[i])
        start = arange(windows.counts[i]) * windows.stride[i] - windows.padding[i]
        shape = [1] * rank
        shape[i] = -1
        index = index + (start.reshape(shape) + within * windows.dilation[i]) * factor
        factor *= input.shape[i - rank]
    return values, index


def max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Take the largest element of each window of the last dimension.

    Args:
        input: (N, C, L) or (C, L).
        kernel_size: length of a window.
        stride: step between windows; `kernel_size` if not given.
        padding: how much of negative infinity stands at both ends.
        dilation: distance between a window's elements.
        ceil_mode: whether a last window that is not full counts.
        return_indices: whether to return positions too.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.max_pool1d(weft.tensor([[1.0, 3.0, 2.0, 5.0]]), kernel_size=2)
        tensor([[3., 5.]])
    """
    settings = (kernel_size, stride, padding, dilation)
    return _max_pool("max_pool1d", 1, input, settings, ceil_mode, return_indices)


def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Take the largest element of each window of the last two dimensions; see `max_pool1d`.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.max_pool2d(weft.zeros(1, 3, 32, 32), 3, stride=2, padding=1).shape
        weft.Size([1, 3, 16, 16])
    """
    settings = (kernel_size, stride, padding, dilation)
    return _max_pool("max_pool2d", 2, input, settings, ceil_mode, return_indices)


def max_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Take the largest element of each window of the last three dimensions; see `max_pool1d`.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.max_pool3d(weft.zeros(1, 3, 8, 8, 8), 2).shape
        weft.Size([1, 3, 4, 4, 4])
    """
    settings = (kernel_size, stride, padding, dilation)
    return _max_pool("max_pool3d", 3, input, settings, ceil_mode, return_indices)


def _counts(windows: _Windows, i: int, length: int, include_pad: bool) -> list[int]:
    """Count the elements of each window along one dimension that a mean divides by."""
    low, high = (-windows.padding[i], length + windows.padding[i]) if include_pad else (0, length)
    starts = [j * windows.stride[i] - windows.padding[i] for j in range(windows.counts[i])]
    return [min(start + windows.kernel[i], high) - max(start, low) for start in starts]


def _avg_pool(
    name: str,
    rank: int,
    input: Tensor,
    settings: tuple[Any, Any, Any],
    options: tuple[bool, bool, int | None],
) -> Tensor:
    ceil_mode, count_include_pad, divisor_override = options
    windows = _lay_out(name, input, rank, (*settings, 1), ceil_mode)
    total = ops.sum(_view(input, windows, 0), list(range(-rank, 0)))
    if divisor_override is not None:
        if divisor_override == 0:
            raise _core.ArgumentError(f"{name}(): divisor_override must not be zero.")
        return total / divisor_override
    divisor: Any = 1
    for i in range(rank):
        counts = _counts(windows, i, input.shape[i - rank], count_include_pad)
        if len(set(counts)) == 1:
            divisor = divisor * counts[0]
        else:
            shape = [1] * rank
            shape[i] = -1
            divisor = _core.tensor(counts, input.dtype).reshape(shape) * divisor
    return total / divisor


def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Take the mean of each window of the last dimension.

    Args:
        input: (N, C, L) or (C, L).
        kernel_size: length of a window.
        stride: step between windows; `kernel_size` if not given.
        padding: zeros at both ends.
        ceil_mode: whether a last window that is not full counts.
        count_include_pad: whether padding counts in the mean.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.avg_pool1d(weft.tensor([[1.0, 3.0, 2.0, 5.0]]), kernel_size=2, stride=1)
        tensor([[2.0000, 2.5000, 3.5000]])
    """
    settings = (kernel_size, stride, padding)
    return _avg_pool("avg_pool1d", 1, input, settings, (ceil_mode, count_include_pad, None))


def avg_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Take the mean of each window of the last two dimensions; see `avg_pool1d`.

    `divisor_override` divides by a number of its own instead of the number of elements.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.avg_pool2d(weft.zeros(1, 3, 32, 32), 2).shape
        weft.Size([1, 3, 16, 16])
    """
    settings = (kernel_size, stride, padding)
    options = (ceil_mode, count_include_pad, divisor_override)
    return _avg_pool("avg_pool2d", 2, input, settings, options)


def avg_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Take the mean of each window of the last three dimensions; see `avg_pool2d`.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.avg_pool3d(weft.zeros(1, 3, 8, 8, 8), 2).shape
        weft.Size([1, 3, 4, 4, 4])
    """
    settings = (kernel_size, stride, padding)
    options = (ceil_mode, count_include_pad, divisor_override)
    return _avg_pool("avg_pool3d", 3, input, settings, options)


def _adaptive_sizes(name: str, input: Tensor, output_size: Any, rank: int) -> list[int]:
    if input.ndim not in (rank + 1, rank + 2):
        raise _core.ShapeError(
            f"{name}(): input must have {rank + 1} or {rank + 2} dimensions; input is "
            f"{tuple(input.shape)}."
        )
    sizes = _each(name, "output_size", output_size, rank)
    lengths = input.shape[-rank:]
    wanted = [n if size is None else size for size, n in zip(sizes, lengths, strict=True)]
    if max(wanted) > _MOST_PARTS:
        raise _core.ArgumentError(f"{name}(): output_size is absurdly large: {max(wanted)}.")
    return wanted


def _parts(input: Tensor, dim: int, count: int) -> list[Tensor]:
    """Cut a dimension into so many parts of nearly equal size, which may overlap by one."""
    length = input.shape[dim]
    return [
        ops.slice(input, dim, i * length // count, -(-(i + 1) * length // count))
        for i in range(count)
    ]


def _adaptive_avg_pool(name: str, rank: int, input: Tensor, output_size: Any) -> Tensor:
    for i, count in enumerate(_adaptive_sizes(name, input, output_size, rank)):
        dim = i - rank
        means = [ops.mean(part, [dim], True) for part in _parts(input, dim, count)]
        input = ops.cat(means, dim)
    return input


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Take means over as many windows as the output has elements.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.adaptive_avg_pool1d(weft.tensor([[1.0, 3.0, 2.0, 5.0]]), 2)
        tensor([[2.0000, 3.5000]])
    """
    return _adaptive_avg_pool("adaptive_avg_pool1d", 1, input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Take means over windows so that the output has the given height and width.

    A size of None keeps that of the input.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.adaptive_avg_pool2d(weft.zeros(1, 3, 17, 31), (1, 1)).shape
        weft.Size([1, 3, 1, 1])
    """
    return _adaptive_avg_pool("adaptive_avg_pool2d", 2, input, output_size)


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Take means over windows so that the output has the given depth, height and width.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.adaptive_avg_pool3d(weft.zeros(1, 3, 5, 6, 7), 2).shape
        weft.Size([1, 3, 2, 2, 2])
    """
    return _adaptive_avg_pool("adaptive_avg_pool3d", 3, input, output_size)


def _adaptive_max_pool(
    name: str, rank: int, input: Tensor, output_size: Any, return_indices: bool
) -> Any:
    sizes = _adaptive_sizes(name, input, output_size, rank)
    values, index, factor = input, None, 1
    for dim in range(-1, -rank - 1, -1):
        length, count = input.shape[dim], sizes[dim]
        results = [ops.max_dim(part, dim, True) for part in _parts(values, dim, count)]
        values = ops.cat([result[0] for result in results], dim)
        # Places count from the part's start; move them to the dimension's.
        places = ops.cat([result[1] + i * length // count for i, result in enumerate(results)], dim)
        index = places if index is None else ops.gather(index, dim, places) + places * factor
        factor *= length
    return (values, index) if return_indices else values


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Take the largest elements of as many windows as the output has elements.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.adaptive_max_pool1d(weft.tensor([[1.0, 3.0, 2.0, 5.0]]), 2)
        tensor([[3., 5.]])
    """
    return _adaptive_max_pool("adaptive_max_pool1d", 1, input, output_size, return_indices)


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Take the largest elements of windows so that the output has the given height and width.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.adaptive_max_pool2d(weft.zeros(1, 3, 17, 31), (None, 4)).shape  # None keeps a size
        weft.Size([1, 3, 17, 4])
    """
    return _adaptive_max_pool("adaptive_max_pool2d", 2, input, output_size, return_indices)


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Take the largest elements of windows so that the output has the given sizes.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.adaptive_max_pool3d(weft.zeros(1, 3, 5, 6, 7), 2).shape
        weft.Size([1, 3, 2, 2, 2])
    """
    return _adaptive_max_pool("adaptive_max_pool3d", 3, input, output_size, return_indices)


# ---- norms of windows, and the way back ---------------------------------------------------------


def _lp_pool(
    pool: Any, count: int, input: Tensor, norm_type: float, settings: tuple[Any, Any, bool]
) -> Tensor:
    kernel_size, stride, ceil_mode = settings
    sizes = _each("lp_pool", "kernel_size", kernel_size, count)
    means = pool(ops.pow(input, float(norm_type)), sizes, stride, 0, ceil_mode)
    total = ops.sign(means) * ops.relu(ops.abs(means)) * math.prod(sizes)
    return ops.pow(total, 1.0 / norm_type)


def lp_pool1d(
    input: Tensor,
    norm_type: float,
    kernel_size: Any,
    stride: Any = None,
    ceil_mode: bool = False,
) -> Tensor:
    """Take the root of the sum of powers of each window of the last dimension.

    Args:
        input: (N, C, L) or (C, L).
        norm_type: the power.
        kernel_size: length of a window.
        stride: step between windows; `kernel_size` if not given.
        ceil_mode: whether a last window that is not full counts.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.lp_pool1d(weft.tensor([[3.0, 4.0, 0.0, 2.0]]), norm_type=2, kernel_size=2)
        tensor([[5., 2.]])
    """
    return _lp_pool(avg_pool1d, 1, input, norm_type, (kernel_size, stride, ceil_mode))


def lp_pool2d(
    input: Tensor,
    norm_type: float,
    kernel_size: Any,
    stride: Any = None,
    ceil_mode: bool = False,
) -> Tensor:
    """Take norms of windows of the last two dimensions; see `lp_pool1d`.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.lp_pool2d(weft.ones(1, 1, 4, 4), norm_type=2, kernel_size=2)
        tensor([[[[2., 2.],
                  [2., 2.]]]])
    """
    return _lp_pool(avg_pool2d, 2, input, norm_type, (kernel_size, stride, ceil_mode))


def lp_pool3d(
    input: Tensor,
    norm_type: float,
    kernel_size: Any,
    stride: Any = None,
    ceil_mode: bool = False,
) -> Tensor:
    """Take norms of windows of the last three dimensions; see `lp_pool1d`.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.lp_pool3d(weft.ones(1, 1, 4, 4, 4), norm_type=2, kernel_size=2).shape
        weft.Size([1, 1, 2, 2, 2])
    """
    return _lp_pool(avg_pool3d, 3, input, norm_type, (kernel_size, stride, ceil_mode))


def _max_unpool(
    name: str,
    rank: int,
    input: Tensor,
    indices: Tensor,
    settings: tuple[Any, Any, Any, Any],
) -> Tensor:
    kernel_size, stride, padding, output_size = settings
    kernel = _each(name, "kernel_size", kernel_size, rank)
    step = kernel if stride is None else _each(name, "stride", stride, rank)
    edge = _each(name, "padding", padding, rank)
    lengths = input.shape[input.ndim - rank :]
    if output_size is None:
        pairs = zip(lengths, kernel, step, edge, strict=True)
        sizes = [(n - 1) * s - 2 * p + k for n, k, s, p in pairs]
    else:
        sizes = list(output_size)[-rank:]
    if tuple(indices.shape) != tuple(input.shape):
        raise _core.ShapeError(
            f"{name}(input, indices): indices must have input's shape; input is "
            f"{tuple(input.shape)}, indices is {tuple(indices.shape)}."
        )
    outer = tuple(input.shape[: input.ndim - rank])
    flat = ops.zeros((*outer, math.prod(sizes)), dtype=input.dtype)
    values = input.reshape(*outer, math.prod(lengths))
    places = indices.reshape(*outer, math.prod(lengths))
    return ops.scatter(flat, -1, places, values).reshape(*outer, *sizes)


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
) -> Tensor:
    """Put the elements that `max_pool1d` took back where they were, among zeros.

    Args:
        input: what `max_pool1d` returned.
        indices: the positions that it returned.
        kernel_size: length of a window.
        stride: step between windows; `kernel_size` if not given.
        padding: what was added at both ends.
        output_size: the size to return to, where several are possible.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> x = weft.tensor([[[1.0, 3.0, 2.0, 5.0]]])
        >>> F.max_unpool1d(*F.max_pool1d(x, 2, return_indices=True), 2)
        tensor([[[0., 3., 0., 5.]]])
    """
    settings = (kernel_size, stride, padding, output_size)
    return _max_unpool("max_unpool1d", 1, input, indices, settings)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
) -> Tensor:
    """Put elements back where `max_pool2d` took them; see `max_unpool1d`.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> pooled, indices = F.max_pool2d(weft.rand(1, 1, 4, 4), 2, return_indices=True)
        >>> F.max_unpool2d(pooled, indices, 2).shape
        weft.Size([1, 1, 4, 4])
    """
    settings = (kernel_size, stride, padding, output_size)
    return _max_unpool("max_unpool2d", 2, input, indices, settings)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
) -> Tensor:
    """Put elements back where `max_pool3d` took them; see `max_unpool1d`.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> pooled, indices = F.max_pool3d(weft.rand(1, 1, 4, 4, 4), 2, return_indices=True)
        >>> F.max_unpool3d(pooled, indices, 2).shape
        weft.Size([1, 1, 4, 4, 4])
    """
    settings = (kernel_size, stride, padding, output_size)
    return _max_unpool("max_unpool3d", 3, input, indices, settings)
