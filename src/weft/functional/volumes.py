"""Convolutions over three dimensions, as convolutions over two of them."""

from __future__ import annotations

from typing import Any

from weft import _core
from weft._core import Tensor
from weft.functional.composite import composite
from weft.functional.convolution import conv2d, conv_transpose2d, same_padding
from weft.functional.creation import arange
from weft.functional.selection import index_add
from weft.functional.shaping import pad, windows

ops = _core.ops


def _three(name: str, argument: str, value: Any) -> list[int]:
    numbers = list(value) if hasattr(value, "__iter__") else [value] * 3
    if len(numbers) != 3:
        raise _core.ArgumentError(
            f"{name}(): {argument} must be one number or three; {argument} is {value}."
        )
    return numbers


def _batch(name: str, input: Tensor, weight: Tensor) -> Tensor:
    """Return the input with a batch dimension."""
    if weight.ndim != 5:
        raise _core.ShapeError(
            f"{name}(input, weight): weight must have 5 dimensions; weight is {tuple(weight.shape)}"
        )
    if input.ndim not in (4, 5):
        raise _core.ShapeError(
            f"{name}(input, weight): input must have 5 dimensions, or 4 without the batch; input "
            f"is {tuple(input.shape)}"
        )
    return input.unsqueeze(0) if input.ndim == 4 else input


@composite()
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Slide kernels over the last three dimensions.

    Args:
        input: (N, C, D, H, W) or (C, D, H, W).
        weight: (output channels, C / groups, kernel depth, height, width).
        bias: one number for each output channel.
        stride: steps between windows.
        padding: zeros around the input, or "same" or "valid".
        dilation: distance between a kernel's elements.
        groups: how many independent groups the channels form.

    Example:
        >>> import weft
        >>> weft.conv3d(weft.zeros(1, 3, 8, 8, 8), weft.zeros(4, 3, 3, 3, 3), padding=1).shape
        weft.Size([1, 4, 8, 8, 8])
    """
    volumes = _batch("conv3d", input, weight)
    step, gap = _three("conv3d", "stride", stride), _three("conv3d", "dilation", dilation)
    if isinstance(padding, str):
        volumes, padding = same_padding("conv3d", volumes, weight, (step, padding, gap))
    edge = _three("conv3d", "padding", padding)
    if edge[0]:
        volumes = pad(volumes, [0, 0, 0, 0, edge[0], edge[0]])
    # The windows along the depth become channels.
    outputs, inner, depth, height, width = weight.shape
    if volumes.shape[2] < gap[0] * (depth - 1) + 1:
        raise _core.ShapeError(
            f"conv3d(input, weight): the kernel must fit into the input; weight is "
            f"{tuple(weight.shape)}, input is {tuple(input.shape)}"
        )
    slices = windows(volumes.movedim(2, -1), [depth], step[:1], gap[:1])
    count, channels, *_, positions, _ = slices.shape
    slices = ops.permute(slices, [0, 4, 1, 5, 2, 3])
    planes = slices.reshape(count * positions, channels * depth, *volumes.shape[3:])
    kernel = weight.reshape(outputs, inner * depth, height, width)
    result = conv2d(planes, kernel, bias, step[1:], edge[1:], gap[1:], groups)
    result = result.reshape(count, positions, *result.shape[1:]).transpose(1, 2)
    return result.squeeze(0) if input.ndim == 4 else result


@composite()
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """Spread each element over a window of the last three dimensions: a convolution's gradient.

    Args:
        input: (N, C, D, H, W) or (C, D, H, W).
        weight: (C, output channels / groups, kernel depth, height, width).
        bias: one number for each output channel.
        stride: steps between windows.
        padding: how much is cut off at each side.
        output_padding: how much is added at the far sides.
        groups: how many independent groups the channels form.
        dilation: distance between a kernel's elements.

    Example:
        >>> import weft
        >>> x, filters = weft.zeros(1, 4, 2, 2, 2), weft.zeros(4, 3, 2, 2, 2)
        >>> weft.conv_transpose3d(x, filters, stride=2).shape
        weft.Size([1, 3, 4, 4, 4])
    """
    name = "conv_transpose3d"
    volumes = _batch(name, input, weight)
    step, gap = _three(name, "stride", stride), _three(name, "dilation", dilation)
    edge, extra = _three(name, "padding", padding), _three(name, "output_padding", output_padding)
    channels, outer, depth, height, width = weight.shape
    count, positions = volumes.shape[0], volumes.shape[2]
    planes = volumes.transpose(1, 2).reshape(count * positions, channels, *volumes.shape[3:])
    kernel = weight.reshape(channels, outer * depth, height, width)
    spread = conv_transpose2d(planes, kernel, None, step[1:], edge[1:], extra[1:], groups, gap[1:])
    sizes = spread.shape[2:]
    outputs = outer * groups
    spread = spread.reshape(count, positions, outputs, depth, *sizes)
    spread = ops.permute(spread, [0, 2, 1, 3, 4, 5])
    spread = spread.reshape(count, outputs, positions * depth, *sizes)
    # Each plane of a kernel adds to a place of its own along the depth.
    places = (arange(positions) * step[0]).unsqueeze(1) + arange(depth) * gap[0]
    length = (positions - 1) * step[0] + gap[0] * (depth - 1) + 1 + extra[0]
    whole = ops.zeros((count, outputs, length, *sizes), dtype=spread.dtype)
    whole = index_add(whole, 2, places.reshape(-1), spread)
    result = ops.slice(whole, 2, edge[0], length - edge[0])
    if bias is not None:
        result = result + bias.reshape(-1, 1, 1, 1)
    return result.squeeze(0) if input.ndim == 4 else result
