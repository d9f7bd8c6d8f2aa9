"""Windows and sizes of images."""

from __future__ import annotations

import math
from typing import Any

from weft import _core
from weft._core import Tensor
from weft.functional.creation import arange
from weft.functional.pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
)
from weft.functional.shaping import pad, windows

ops = _core.ops


def _pair(value: Any) -> tuple[int, int]:
    if isinstance(value, int):
        return value, value
    first, second = value
    return int(first), int(second)


def _window_count(length: int, kernel: int, dilation: int, padding: int, stride: int) -> int:
    return (length + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def unfold(
    input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Lay the windows of images out as columns.

    Args:
        input: images (N, C, H, W) or one image (C, H, W).
        kernel_size: height and width of a window.
        dilation: distance between a window's elements.
        padding: zeros around the image.
        stride: steps between windows.

    Returns:
        A tensor (N, C * kernel height * kernel width, number of windows).

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.unfold(weft.zeros(1, 3, 8, 8), kernel_size=2, stride=2).shape  # 16 patches
        weft.Size([1, 12, 16])
    """
    if input.ndim not in (3, 4):
        raise _core.ShapeError(
            f"unfold(): input must have 3 or 4 dimensions; input is {tuple(input.shape)}."
        )
    if input.ndim == 3:
        return unfold(input.unsqueeze(0), kernel_size, dilation, padding, stride).squeeze(0)
    kernel, gap, edge, step = map(_pair, (kernel_size, dilation, padding, stride))
    if edge != (0, 0):
        input = pad(input, [edge[1], edge[1], edge[0], edge[0]])
    spans = [gap[i] * (kernel[i] - 1) + 1 for i in (0, 1)]
    if spans[0] > input.shape[2] or spans[1] > input.shape[3]:
        raise _core.ShapeError(
            f"unfold(): the window must fit into the padded input; the window spans "
            f"{tuple(spans)}, the padded input is {tuple(input.shape)}."
        )
    laid_out = windows(input, kernel, step, gap)
    batch, channels, rows, columns = laid_out.shape[:4]
    size = channels * kernel[0] * kernel[1]
    return ops.permute(laid_out, [0, 1, 4, 5, 2, 3]).reshape(batch, size, rows * columns)


def fold(
    input: Tensor,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Tensor:
    """Add up columns of windows to images, the way back of `unfold`.

    Args:
        input: columns (N, C * kernel height * kernel width, number of windows), or without N.
        output_size: height and width of the images.
        kernel_size: height and width of a window.
        dilation: distance between a window's elements.
        padding: zeros around the images, which are cut off.
        stride: steps between windows.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.fold(weft.ones(1, 4, 16), output_size=(8, 8), kernel_size=2, stride=2).shape
        weft.Size([1, 1, 8, 8])
    """
    if input.ndim == 2:
        whole = fold(input.unsqueeze(0), output_size, kernel_size, dilation, padding, stride)
        return whole.squeeze(0)
    size, kernel = _pair(output_size), _pair(kernel_size)
    gap, edge, step = _pair(dilation), _pair(padding), _pair(stride)
    counts = [_window_count(size[i], kernel[i], gap[i], edge[i], step[i]) for i in (0, 1)]
    area = kernel[0] * kernel[1]
    if input.ndim != 3 or input.shape[1] % area or input.shape[2] != counts[0] * counts[1]:
        raise _core.ShapeError(
            f"fold(): input must be (N, C * {area}, {counts[0] * counts[1]}) for these windows; "
            f"input is {tuple(input.shape)}."
        )
    batch, channels = input.shape[0], input.shape[1] // area
    height, width = size[0] + 2 * edge[0], size[1] + 2 * edge[1]
    # The place of every element of every window, and one sum over all of them.
    down = arange(kernel[0]).reshape(-1, 1) * gap[0] + arange(counts[0]) * step[0]
    across = arange(kernel[1]).reshape(-1, 1) * gap[1] + arange(counts[1]) * step[1]
    places = down.reshape(kernel[0], 1, -1, 1) * width + across.reshape(1, kernel[1], 1, -1)
    flat = input.reshape(batch, channels, -1)
    size = (batch, channels, height * width)
    image = ops.index_backward(flat, [places.reshape(-1)], size, [2])
    image = image.reshape(batch, channels, height, width)
    return image[:, :, edge[0] : height - edge[0], edge[1] : width - edge[1]]


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Turn channels into pixels: (..., C * r * r, H, W) becomes (..., C, H * r, W * r).

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.pixel_shuffle(weft.zeros(1, 12, 4, 4), 2).shape
        weft.Size([1, 3, 8, 8])
    """
    factor = upscale_factor
    *batch, channels, height, width = input.shape
    if channels % (factor * factor):
        raise _core.ShapeError(
            f"pixel_shuffle(): input's channels must be divisible by upscale_factor squared; input "
            f"is {tuple(input.shape)}, upscale_factor is {factor}."
        )
    parts = input.reshape(math.prod(batch), channels // factor**2, factor, factor, height, width)
    mixed = ops.permute(parts, [0, 1, 4, 2, 5, 3])
    return mixed.reshape(*batch, channels // factor**2, height * factor, width * factor)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Turn pixels into channels, the way back of `pixel_shuffle`.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.pixel_unshuffle(weft.zeros(1, 3, 8, 8), 2).shape
        weft.Size([1, 12, 4, 4])
    """
    factor = downscale_factor
    *batch, channels, height, width = input.shape
    if height % factor or width % factor:
        raise _core.ShapeError(
            f"pixel_unshuffle(): input's last two sizes must be divisible by downscale_factor; "
            f"input is {tuple(input.shape)}, downscale_factor is {factor}."
        )
    sizes = (channels, height // factor, factor, width // factor, factor)
    parts = input.reshape(math.prod(batch), *sizes)
    mixed = ops.permute(parts, [0, 1, 3, 5, 2, 4])
    return mixed.reshape(*batch, channels * factor**2, height // factor, width // factor)


def _each(value: Any, count: int) -> list[Any]:
    """Repeat a number for every dimension; leave sequences as they are."""
    return list(value) if hasattr(value, "__iter__") else [value] * count


_LINEAR = {"linear": 1, "bilinear": 2, "trilinear": 3}
_SHAPED = {**_LINEAR, "bicubic": 2}


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resize the dimensions after the first two.

    Args:
        input: a tensor (N, C, ...).
        size: the new sizes, or
        scale_factor: how many times larger they are.
        mode: "nearest", "nearest-exact", "linear" (one dimension), "bilinear" or "bicubic" (two),
            "trilinear" (three), or "area" (the mean of what a new element covers).
        align_corners: for the other modes: whether the corner elements stay where they are.
        recompute_scale_factor: whether to go by the sizes that `scale_factor` gives, not by itself.
        antialias: whether an element that becomes smaller than the old ones is a mean over all that
            it covers; for "bilinear" and "bicubic".

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> x = weft.tensor([[[0.0, 1.0]]])
        >>> F.interpolate(x, scale_factor=2)
        tensor([[[0., 0., 1., 1.]]])
        >>> F.interpolate(x, size=3, mode="linear", align_corners=True)
        tensor([[[0.0000, 0.5000, 1.0000]]])
    """
    count = input.ndim - 2
    if mode not in ("nearest", "nearest-exact", "area", *_SHAPED):
        raise _core.UnsupportedError(
            f"interpolate(): mode must be 'nearest', 'nearest-exact', 'area', 'linear', "
            f"'bilinear', 'trilinear' or 'bicubic', not {mode!r}."
        )
    if count < 1 or _SHAPED.get(mode, count) != count:
        raise _core.ShapeError(
            f"interpolate(): mode {mode!r} does not fit the dimensions of input; input is "
            f"{tuple(input.shape)}."
        )
    if antialias and mode not in ("bilinear", "bicubic"):
        raise _core.ArgumentError(
            f"interpolate(): antialias is for modes 'bilinear' and 'bicubic', not {mode!r}."
        )
    of_bytes = input.dtype == _core.uint8 and mode in ("bilinear", "bicubic")
    if mode in _SHAPED and not (input.is_floating_point() or of_bytes):
        raise _core.DTypeError(
            f"interpolate(): mode {mode!r} needs floating-point input, 'bilinear' and 'bicubic' "
            f"take uint8 too; input is {input.dtype}."
        )
    if (size is None) == (scale_factor is None):
        raise _core.ArgumentError(
            "interpolate(): exactly one of size and scale_factor must be given."
        )
    scales = [] if size is not None else [float(s) for s in _each(scale_factor, count)]
    if not scales:
        sizes = [int(length) for length in _each(size, count)]
    else:
        sizes = [int(length * s) for length, s in zip(input.shape[2:], scales, strict=True)]
    if min(sizes) <= 0:
        raise _core.ShapeError(
            f"interpolate(): the new sizes must be positive; they would be {tuple(sizes)}, input "
            f"is {tuple(input.shape)}."
        )
    if mode == "area":
        return (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[count - 1](
            input, sizes
        )
    # As in PyTorch, a scale near 1 that keeps a size changes nothing in these modes, and one near 2
    # that doubles the sizes of images is 2.
    keeps = mode in _LINEAR or of_bytes or antialias or (mode == "nearest" and count == 2)
    # Columns first: the bytes in between are rounded, so that the order shows.
    for i in reversed(range(count)):
        length, new = input.shape[2 + i], sizes[i]
        step = length / new
        by_scale = bool(scales) and not recompute_scale_factor
        if by_scale and not (mode == "nearest" and count == 2 and new == 2 * length):
            step = 1 / scales[i]
        if new == length and keeps:
            continue
        if of_bytes or antialias:
            weights = _weights(length, new, step, mode, bool(align_corners), antialias)
            input = (_mix_bytes if of_bytes else _mix)(input, 2 + i, weights)
        elif mode in _LINEAR:
            input = _resize_linear(input, 2 + i, new, step, bool(align_corners))
        elif mode == "bicubic":
            input = _resize_cubic(input, 2 + i, new, step, bool(align_corners))
        else:
            shift = 0.5 if mode == "nearest-exact" else 0.0
            input = ops.index_select(input, 2 + i, _floored(_places(new, shift) * step, length))
    return input


def _places(count: int, shift: float) -> Tensor:
    """Return the numbers from `shift` on, `count` of them."""
    return ops.arange(shift, 1.0, count, dtype=_core.float64)


def _floored(places: Tensor, length: int) -> Tensor:
    """Round places down to the indices of a dimension."""
    return ops.clamp_max(ops.cast(places, _core.int64), length - 1)


def _between(length: int, new: int, step: float, align_corners: bool) -> Tensor:
    """Return where the new elements of a dimension lie among the old."""
    if align_corners:
        return _places(new, 0.0) * ((length - 1) / (new - 1) if new > 1 else 0.0)
    return _places(new, 0.5) * step - 0.5


def cubic_weights(share: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the weights of the four neighbours of a place, `share` of a step behind the second."""

    def near(x: Tensor) -> Tensor:
        return ((1.25 * x - 2.25) * x) * x + 1

    def far(x: Tensor) -> Tensor:
        return ((-0.75 * x + 3.75) * x - 6) * x + 3

    return far(share + 1), near(share), near(1 - share), far(2 - share)


def _resize_cubic(input: Tensor, dim: int, new: int, step: float, align_corners: bool) -> Tensor:
    """Resize one dimension by a cubic curve through four neighbours."""
    length = input.shape[dim]
    places = _between(length, new, step, align_corners)
    lower = ops.floor(places)
    shape = [1] * input.ndim
    shape[dim] = new
    parts = [
        ops.index_select(input, dim, ops.clamp(lower + (k - 1), 0, length - 1).to(_core.int64))
        * weight.to(input.dtype).reshape(shape)
        for k, weight in enumerate(cubic_weights(places - lower))
    ]
    return parts[0] + parts[1] + parts[2] + parts[3]


def _weights(
    length: int, new: int, step: float, mode: str, align_corners: bool, antialias: bool
) -> Tensor:
    """Return what each old element of a dimension (row) adds to each new one (column)."""
    if align_corners:
        step = (length - 1) / (new - 1) if new > 1 else 0.0
    if antialias:
        places, margin = _places(new, 0.5) * step - 0.5, 0
    else:
        places, margin = _between(length, new, step, align_corners), 2
    wide = max(step, 1.0) if antialias else 1.0
    old = _places(length + 2 * margin, -float(margin)).reshape(-1, 1)
    far = ops.abs(old - places) / wide
    if mode == "bilinear":
        weights = ops.relu(1 - far)
    else:
        # Keys' curve, as bent as the libraries for pictures have it.
        bend = -0.5 if antialias else -0.75
        near = ((bend + 2) * far - (bend + 3)) * far * far + 1
        beyond = ((far - 5) * far + 8) * far * bend - 4 * bend
        weights = ops.where(far < 1, near, ops.where(far < 2, beyond, 0.0))
    if antialias:
        return weights / ops.sum(weights, [0], True)
    # What lies outside is as the border.
    weights[2] += weights[0] + weights[1]
    weights[-3] += weights[-1] + weights[-2]
    return weights[2:-2]


def _mix(input: Tensor, dim: int, weights: Tensor) -> Tensor:
    """Multiply one dimension by a matrix of weights."""
    moved = ops.matmul(ops.transpose(input, dim, -1), weights.to(input.dtype))
    return ops.transpose(moved, dim, -1)


def _mix_bytes(input: Tensor, dim: int, weights: Tensor) -> Tensor:
    """Do what `_mix` does in whole numbers: weights of 16 bits, and results between 0 and 255."""
    bits = ops.floor(ops.log2((2.0**15 - 0.5) / ops.amax(weights)))
    unit = ops.pow(2.0, ops.clamp_max(bits, 22))
    whole = ops.trunc(weights * unit + ops.where(weights < 0, -0.5, 0.5))
    mixed = _mix(input.to(_core.float64), dim, whole)
    return ops.clamp(ops.floor(mixed / unit + 0.5), 0, 255).to(_core.uint8)


def _resize_linear(input: Tensor, dim: int, new: int, step: float, align_corners: bool) -> Tensor:
    """Resize one dimension by mixing neighbours."""
    length = input.shape[dim]
    places = ops.clamp_min(_between(length, new, step, align_corners), 0.0)
    lower = _floored(places, length)
    shape = [1] * input.ndim
    shape[dim] = new
    weight = (places - lower).to(input.dtype).reshape(shape)
    before = ops.index_select(input, dim, lower)
    after = ops.index_select(input, dim, ops.clamp_max(lower + 1, length - 1))
    return before * (1 - weight) + after * weight


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Mix the channels of groups: the first of each, then the second of each, and so on.

    Args:
        input: (N, C, ...).
        groups: how many groups the channels form.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> x = weft.arange(4.0).reshape(1, 4, 1, 1)
        >>> F.channel_shuffle(x, 2).flatten()
        tensor([0., 2., 1., 3.])
    """
    if input.ndim < 3 or groups < 1 or input.shape[1] % groups:
        raise _core.ShapeError(
            f"channel_shuffle(): input must have 3 or more dimensions and channels that are "
            f"divisible by groups; input is {tuple(input.shape)}, groups is {groups}."
        )
    count, channels, *rest = input.shape
    parts = input.reshape(count, groups, channels // groups, *rest)
    return ops.transpose(parts, 1, 2).reshape(input.shape)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Resize by taking the nearest elements; see `interpolate`.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.upsample_nearest(weft.zeros(1, 3, 4, 4), scale_factor=2).shape
        weft.Size([1, 3, 8, 8])
    """
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Resize images linearly, with corners that stay; see `interpolate`.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.upsample_bilinear(weft.zeros(1, 3, 4, 4), size=(6, 6)).shape
        weft.Size([1, 3, 6, 6])
    """
    return interpolate(input, size, scale_factor, "bilinear", True)
