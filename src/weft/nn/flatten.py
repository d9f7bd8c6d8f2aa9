"""Modules that change shapes."""

from __future__ import annotations

from typing import Any

from weft._core import Tensor
from weft.nn import functional as F
from weft.nn.module import Module


class Flatten(Module):
    """Join neighbouring dimensions into one.

    Args:
        start_dim: the first of them; the batch stays by default.
        end_dim: the last of them.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.Flatten()(weft.zeros(8, 3, 4, 4)).shape  # dimension 0 stays
        weft.Size([8, 48])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        """Flatten `input`."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """Say the dimensions."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Split one dimension into several.

    Args:
        dim: the dimension.
        unflattened_size: the sizes it becomes.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.Unflatten(1, (3, 4))(weft.zeros(8, 12)).shape
        weft.Size([8, 3, 4])
    """

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        """Unflatten `input`."""
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """Say the dimension and the sizes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Unfold(Module):
    """Lay the windows of images out as columns; see `functional.unfold`.

    Args:
        kernel_size: height and width of a window.
        dilation: distance between a window's elements.
        padding: zeros around the image.
        stride: steps between windows.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.Unfold(2, stride=2)(weft.zeros(1, 3, 8, 8)).shape  # 16 patches of 3 * 2 * 2 numbers
        weft.Size([1, 12, 16])
    """

    def __init__(
        self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """Return the windows of `input` as columns."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """Say the sizes."""
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
            f"stride={self.stride}"
        )


class Fold(Module):
    """Add up columns of windows to images; see `functional.fold`.

    Args:
        output_size: height and width of the image.
        kernel_size: height and width of a window.
        dilation: distance between a window's elements.
        padding: zeros around the image.
        stride: steps between windows.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.Fold((8, 8), 2, stride=2)(weft.zeros(1, 12, 16)).shape
        weft.Size([1, 3, 8, 8])
    """

    def __init__(
        self,
        output_size: Any,
        kernel_size: Any,
        dilation: Any = 1,
        padding: Any = 0,
        stride: Any = 1,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """Add the columns of `input` up."""
        return F.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )

    def extra_repr(self) -> str:
        """Say the sizes."""
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, "
            f"dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
        )


class PixelShuffle(Module):
    """Turn channels into pixels: (N, C * r * r, H, W) becomes (N, C, H * r, W * r).

    Args:
        upscale_factor: r.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.PixelShuffle(2)(weft.zeros(1, 12, 4, 4)).shape
        weft.Size([1, 3, 8, 8])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Rearrange `input`."""
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        """Say the factor."""
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Turn pixels into channels, the way back of PixelShuffle.

    Args:
        downscale_factor: r.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.PixelUnshuffle(2)(weft.zeros(1, 3, 8, 8)).shape
        weft.Size([1, 12, 4, 4])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Rearrange `input`."""
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        """Say the factor."""
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Mix the channels of groups.

    Args:
        groups: how many groups the channels form.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.ChannelShuffle(2)(weft.arange(4.0).reshape(1, 4, 1, 1)).flatten()
        tensor([0., 2., 1., 3.])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        """Rearrange `input`."""
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        """Say how many groups there are."""
        return f"groups={self.groups}"


class Upsample(Module):
    """Enlarge by interpolation; see `functional.interpolate`.

    Args:
        size: the output's sizes, or
        scale_factor: how many times larger it is.
        mode: "nearest", "linear", "bilinear" ...
        align_corners: whether the corner elements stay where they are.
        recompute_scale_factor: whether to go by the sizes that `scale_factor` gives.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.Upsample(scale_factor=2, mode="bilinear")(weft.zeros(1, 3, 4, 4)).shape
        weft.Size([1, 3, 8, 8])
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size = size
        several = hasattr(scale_factor, "__iter__")
        if several:
            self.scale_factor: Any = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Enlarge `input`."""
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        """Say the size or the factor."""
        if self.scale_factor is not None:
            return f"scale_factor={self.scale_factor!r}, mode={self.mode!r}"
        return f"size={self.size!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Enlarge images by taking the nearest pixels.

    Args:
        size: height and width of the output, or
        scale_factor: how many times larger it is.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.UpsamplingNearest2d(scale_factor=2)(weft.zeros(1, 3, 4, 4)).shape
        weft.Size([1, 3, 8, 8])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """Enlarge images linearly, with corners that stay.

    Args:
        size: height and width of the output, or
        scale_factor: how many times larger it is.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.UpsamplingBilinear2d(size=(6, 6))(weft.zeros(1, 3, 4, 4)).shape
        weft.Size([1, 3, 6, 6])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "bilinear", True)
