"""Convolutions and their transposes."""

from __future__ import annotations

import math
from typing import Any, TypeAlias, cast

from weft import _core
from weft._core import Tensor
from weft.functional.creation import empty
from weft.nn import functional as F
from weft.nn import init
from weft.nn.module import Module
from weft.nn.parameter import Parameter

Window: TypeAlias = int | tuple[int, ...]


def as_tuple(value: Any, length: int) -> tuple[int, ...]:
    """Repeat a number for every dimension; leave sequences as they are."""
    return tuple(value) if hasattr(value, "__iter__") else (value,) * length


class Convolution(Module):
    """What all convolutions share: sizes, parameters and text."""

    dimensions: int
    transposed = False
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Window,
        stride: Window,
        padding: Window | str,
        output_padding: Window,
        groups: int,
        bias: bool,
        dilation: Window,
        padding_mode: str,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        name, count = type(self).__name__, self.dimensions
        if groups <= 0:
            raise ValueError(f"{name}(): groups must be positive; groups is {groups}.")
        for argument, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups:
                raise ValueError(
                    f"{name}(): {argument} must be divisible by groups; {argument} is {channels}, "
                    f"groups is {groups}."
                )
        if isinstance(padding, str) and padding not in ("valid", "same"):
            raise ValueError(
                f"{name}(): padding must be 'valid', 'same' or sizes, not {padding!r}."
            )
        if padding == "same" and any(step != 1 for step in as_tuple(stride, count)):
            raise ValueError(f"{name}(): padding 'same' needs a stride of 1; stride is {stride}.")
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise ValueError(
                f"{name}(): padding_mode must be 'zeros', 'reflect', 'replicate' or 'circular', "
                f"not {padding_mode!r}."
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = as_tuple(kernel_size, count)
        self.stride = as_tuple(stride, count)
        self.padding = padding if isinstance(padding, str) else as_tuple(padding, count)
        self.dilation = as_tuple(dilation, count)
        self.output_padding = as_tuple(output_padding, count)
        self.groups = groups
        self.padding_mode = padding_mode
        channels = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        sizes = (channels[0], channels[1] // groups, *self.kernel_size)
        self.weight = Parameter(empty(sizes, dtype=dtype, device=device))
        if bias:
            self.bias = Parameter(empty((out_channels,), dtype=dtype, device=device))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        fan_in = math.prod(self.weight.shape[1:])
        bound = 1 / math.sqrt(fan_in) if fan_in else 0.0
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def _edges(self) -> list[int]:
        """List how much to pad at both ends of each dimension, the last dimension first."""
        edges: list[int] = []
        for i in reversed(range(self.dimensions)):
            if self.padding == "valid":
                edges += [0, 0]
            elif self.padding == "same":
                total = self.dilation[i] * (self.kernel_size[i] - 1)
                edges += [total // 2, total - total // 2]
            else:
                edges += [cast("tuple[int, ...]", self.padding)[i]] * 2
        return edges

    def extra_repr(self) -> str:
        """Say the sizes and what differs from the defaults."""
        ones, zeros = (1,) * self.dimensions, (0,) * self.dimensions
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        )
        if self.padding != zeros:
            text += f", padding={self.padding}"
        if self.dilation != ones:
            text += f", dilation={self.dilation}"
        if self.output_padding != zeros:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class _Forward(Convolution):
    """A convolution, with the arguments of Conv1d and Conv2d."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Window,
        stride: Window = 1,
        padding: Window | str = 0,
        dilation: Window = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            0,
            groups,
            bias,
            dilation,
            padding_mode,
            device,
            dtype,
        )

    def _run(self, convolve: Any, input: Tensor) -> Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._edges(), self.padding_mode)
            padding = 0
        return convolve(
            input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups
        )


class Conv1d(_Forward):
    """Slide a kernel over the last dimension of (N, C, L) or (C, L).

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: length of the kernel.
        stride: step between windows.
        padding: zeros at both ends, or "same" or "valid".
        dilation: distance between the kernel's elements.
        groups: how many independent groups the channels form.
        bias: whether there is a bias.
        padding_mode: "zeros", "reflect", "replicate" or "circular".
        device: only "cpu".
        dtype: of the parameters.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.Conv1d(3, 16, kernel_size=3, stride=2, padding=1)(weft.zeros(8, 3, 32)).shape
        weft.Size([8, 16, 16])
    """

    dimensions = 1

    def forward(self, input: Tensor) -> Tensor:
        """Convolve `input`."""
        return self._run(F.conv1d, input)


class Conv2d(_Forward):
    """Slide a kernel over the last two dimensions of (N, C, H, W) or (C, H, W).

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: height and width of the kernel.
        stride: steps between windows.
        padding: zeros at both ends, or "same" or "valid".
        dilation: distance between the kernel's elements.
        groups: how many independent groups the channels form.
        bias: whether there is a bias.
        padding_mode: "zeros", "reflect", "replicate" or "circular".
        device: only "cpu".
        dtype: of the parameters.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.Conv2d(3, 16, kernel_size=3, stride=2, padding=1)(weft.zeros(8, 3, 32, 32)).shape
        weft.Size([8, 16, 16, 16])
    """

    dimensions = 2

    def forward(self, input: Tensor) -> Tensor:
        """Convolve `input`."""
        return self._run(F.conv2d, input)


class _Transposed(Convolution):
    """The gradient of a convolution as an operation of its own."""

    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Window,
        stride: Window = 1,
        padding: Window = 0,
        output_padding: Window = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Window = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(
                f"{type(self).__name__}(): padding_mode must be 'zeros', not {padding_mode!r}."
            )
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            output_padding,
            groups,
            bias,
            dilation,
            padding_mode,
            device,
            dtype,
        )

    def _extra_sizes(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        """Find the output padding that gives the wanted output sizes."""
        if output_size is None:
            return self.output_padding
        sizes = tuple(output_size)[-self.dimensions :]
        padding = cast("tuple[int, ...]", self.padding)
        extra: list[int] = []
        for i, wanted in enumerate(sizes):
            length = input.shape[i - self.dimensions]
            least = (
                (length - 1) * self.stride[i]
                - 2 * padding[i]
                + self.dilation[i] * (self.kernel_size[i] - 1)
                + 1
            )
            if not least <= wanted < least + self.stride[i]:
                raise _core.ShapeError(
                    f"{type(self).__name__}: output_size must lie between {least} and "
                    f"{least + self.stride[i] - 1} in dimension {i}; output_size is {sizes}."
                )
            extra.append(wanted - least)
        return tuple(extra)

    def _run(self, convolve: Any, input: Tensor, output_size: Any) -> Tensor:
        return convolve(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self._extra_sizes(input, output_size),
            self.groups,
            self.dilation,
        )


class ConvTranspose1d(_Transposed):
    """Spread each element of (N, C, L) over a window, the way back of Conv1d.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: length of the kernel.
        stride: step between windows.
        padding: what the output loses at both ends.
        output_padding: what the output gains at its end.
        groups: how many independent groups the channels form.
        bias: whether there is a bias.
        dilation: distance between the kernel's elements.
        padding_mode: only "zeros".
        device: only "cpu".
        dtype: of the parameters.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.ConvTranspose1d(3, 16, kernel_size=2, stride=2)(weft.zeros(8, 3, 32)).shape
        weft.Size([8, 16, 64])
    """

    dimensions = 1

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """Spread `input`; `output_size` chooses among the sizes that are possible."""
        return self._run(F.conv_transpose1d, input, output_size)


class ConvTranspose2d(_Transposed):
    """Spread each element of (N, C, H, W) over a window, the way back of Conv2d.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: height and width of the kernel.
        stride: steps between windows.
        padding: what the output loses at both ends.
        output_padding: what the output gains at its ends.
        groups: how many independent groups the channels form.
        bias: whether there is a bias.
        dilation: distance between the kernel's elements.
        padding_mode: only "zeros".
        device: only "cpu".
        dtype: of the parameters.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.ConvTranspose2d(3, 16, kernel_size=2, stride=2)(weft.zeros(8, 3, 32, 32)).shape
        weft.Size([8, 16, 64, 64])
    """

    dimensions = 2

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """Spread `input`; `output_size` chooses among the sizes that are possible."""
        return self._run(F.conv_transpose2d, input, output_size)


class Conv3d(_Forward):
    """Slide a kernel over the last three dimensions of (N, C, D, H, W); arguments as for Conv2d.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.Conv3d(3, 16, kernel_size=3, stride=2, padding=1)(weft.zeros(2, 3, 8, 8, 8)).shape
        weft.Size([2, 16, 4, 4, 4])
    """

    dimensions = 3

    def forward(self, input: Tensor) -> Tensor:
        """Convolve `input`."""
        return self._run(F.conv3d, input)


class ConvTranspose3d(_Transposed):
    """Spread each element of (N, C, D, H, W) over a window; arguments as for ConvTranspose2d.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.ConvTranspose3d(3, 16, kernel_size=2, stride=2)(weft.zeros(2, 3, 8, 8, 8)).shape
        weft.Size([2, 16, 16, 16, 16])
    """

    dimensions = 3

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """Spread `input`; `output_size` chooses among the sizes that are possible."""
        return self._run(F.conv_transpose3d, input, output_size)
