"""Convolutions over one or two dimensions, of batches and of single images."""

from __future__ import annotations

from typing import Any

from weft import _core
from weft._core import Tensor
from weft.functional.composite import composite
from weft.functional.shaping import pad

ops = _core.ops


def _over_images(
    function: Any,
    name: str,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    options: tuple[Any, ...],
) -> Tensor:
    """Call an op for batches; a single image is a batch of one."""
    rank = 3 if name.endswith("1d") else 4
    if weight.ndim != rank:
        raise _core.ShapeError(
            f"{name}(input, weight): weight must have {rank} dimensions; weight is "
            f"{tuple(weight.shape)}"
        )
    if input.ndim == rank:
        return function(input, weight, bias, *options)
    if input.ndim != rank - 1:
        raise _core.ShapeError(
            f"{name}(input, weight): input must have {rank} dimensions, or {rank - 1} without the "
            f"batch; input is {tuple(input.shape)}"
        )
    return function(input.unsqueeze(0), weight, bias, *options).squeeze(0)


def same_padding(name: str, input: Tensor, weight: Tensor, options: tuple[Any, ...]) -> Any:
    """Turn a padding by name into numbers; pads the input itself if both ends differ."""
    stride, padding, dilation = options
    count = weight.ndim - 2
    if padding == "valid":
        return input, [0] * count
    if padding != "same":
        raise _core.ArgumentError(
            f"{name}(): padding must be 'valid', 'same' or sizes, not {padding!r}."
        )
    steps = [stride] * count if isinstance(stride, int) else list(stride)
    if any(step != 1 for step in steps):
        raise _core.ArgumentError(
            f"{name}(): padding 'same' needs a stride of 1; stride is {steps}."
        )
    gaps = [dilation] * count if isinstance(dilation, int) else list(dilation)
    totals = [gap * (size - 1) for gap, size in zip(gaps, weight.shape[2:], strict=True)]
    if all(total % 2 == 0 for total in totals):
        return input, [total // 2 for total in totals]
    edges = [edge for total in reversed(totals) for edge in (total // 2, total - total // 2)]
    return pad(input, edges), [0] * count


@composite()
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Slide kernels over the last dimension.

    Args:
        input: (N, C, L) or (C, L).
        weight: (output channels, C / groups, kernel length).
        bias: one number for each output channel.
        stride: step between windows.
        padding: zeros at both ends, or "same" or "valid".
        dilation: distance between a kernel's elements.
        groups: how many independent groups the channels form.

    Example:
        >>> import weft
        >>> weft.conv1d(weft.tensor([[[1.0, 2.0, 3.0]]]), weft.tensor([[[1.0, -1.0]]]))
        tensor([[[-1., -1.]]])
    """
    if isinstance(padding, str):
        input, padding = same_padding("conv1d", input, weight, (stride, padding, dilation))
    options = (stride, padding, dilation, groups)
    return _over_images(ops.convolution, "conv1d", input, weight, bias, options)


@composite()
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Slide kernels over the last two dimensions.

    Args:
        input: (N, C, H, W) or (C, H, W).
        weight: (output channels, C / groups, kernel height, kernel width).
        bias: one number for each output channel.
        stride: steps between windows.
        padding: zeros around the input, or "same" or "valid".
        dilation: distance between a kernel's elements.
        groups: how many independent groups the channels form.

    Example:
        >>> import weft
        >>> images, filters = weft.zeros(8, 3, 32, 32), weft.zeros(16, 3, 5, 5)
        >>> weft.conv2d(images, filters).shape
        weft.Size([8, 16, 28, 28])
        >>> weft.conv2d(images, filters, stride=2, padding=2).shape
        weft.Size([8, 16, 16, 16])
    """
    if isinstance(padding, str):
        input, padding = same_padding("conv2d", input, weight, (stride, padding, dilation))
    options = (stride, padding, dilation, groups)
    return _over_images(ops.convolution, "conv2d", input, weight, bias, options)


@composite()
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """Spread each element over a window of the last dimension: a convolution's gradient.

    Args:
        input: (N, C, L) or (C, L).
        weight: (C, output channels / groups, kernel length).
        bias: one number for each output channel.
        stride: step between windows.
        padding: how much is cut off at both ends.
        output_padding: how much is added at one end.
        groups: how many independent groups the channels form.
        dilation: distance between a kernel's elements.

    Example:
        >>> import weft
        >>> weft.conv_transpose1d(weft.tensor([[[1.0, 2.0]]]), weft.ones(1, 1, 2), stride=2)
        tensor([[[1., 1., 2., 2.]]])
    """
    options = (stride, padding, output_padding, dilation, groups)
    return _over_images(ops.convolution_transpose, "conv_transpose1d", input, weight, bias, options)


@composite()
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """Spread each element over a window of the last two dimensions: a convolution's gradient.

    Args:
        input: (N, C, H, W) or (C, H, W).
        weight: (C, output channels / groups, kernel height, kernel width).
        bias: one number for each output channel.
        stride: steps between windows.
        padding: how much is cut off at each side.
        output_padding: how much is added at the far sides.
        groups: how many independent groups the channels form.
        dilation: distance between a kernel's elements.

    Example:
        >>> import weft
        >>> weft.conv_transpose2d(weft.zeros(1, 8, 4, 4), weft.zeros(8, 3, 2, 2), stride=2).shape
        weft.Size([1, 3, 8, 8])
    """
    options = (stride, padding, output_padding, dilation, groups)
    return _over_images(ops.convolution_transpose, "conv_transpose2d", input, weight, bias, options)
