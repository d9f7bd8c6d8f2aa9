"""Modules that reduce windows to one value each."""

from __future__ import annotations

from typing import Any

from weft._core import Tensor
from weft.nn import functional as F
from weft.nn.module import Module


class _MaxPool(Module):
    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def _run(self, pool: Any, input: Tensor) -> Any:
        return pool(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        """Say the sizes."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """Take the largest element of each window of the last dimension.

    Args:
        kernel_size: length of a window.
        stride: step between windows; `kernel_size` if not given.
        padding: how much of negative infinity stands at both ends.
        dilation: distance between a window's elements.
        return_indices: whether to return positions too.
        ceil_mode: whether a last window that is not full counts.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.MaxPool1d(2)(weft.tensor([[1.0, 3.0, 2.0, 5.0]]))
        tensor([[3., 5.]])
    """

    def forward(self, input: Tensor) -> Any:
        """Pool `input`."""
        return self._run(F.max_pool1d, input)


class MaxPool2d(_MaxPool):
    """Take the largest element of each window of the last two dimensions; see MaxPool1d.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.MaxPool2d(3, stride=2, padding=1)(weft.zeros(1, 3, 32, 32)).shape
        weft.Size([1, 3, 16, 16])
    """

    def forward(self, input: Tensor) -> Any:
        """Pool `input`."""
        return self._run(F.max_pool2d, input)


class MaxPool3d(_MaxPool):
    """Take the largest element of each window of the last three dimensions; see MaxPool1d.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.MaxPool3d(3, stride=2, padding=1)(weft.zeros(1, 3, 8, 8, 8)).shape
        weft.Size([1, 3, 4, 4, 4])
    """

    def forward(self, input: Tensor) -> Any:
        """Pool `input`."""
        return self._run(F.max_pool3d, input)


def _one(value: Any) -> tuple[int, ...]:
    return tuple(value) if hasattr(value, "__iter__") else (value,)


class AvgPool1d(Module):
    """Take the mean of each window of the last dimension.

    Args:
        kernel_size: length of a window.
        stride: step between windows; `kernel_size` if not given.
        padding: zeros at both ends.
        ceil_mode: whether a last window that is not full counts.
        count_include_pad: whether padding counts in the mean.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.AvgPool1d(2, stride=1)(weft.tensor([[1.0, 3.0, 2.0, 5.0]]))
        tensor([[2.0000, 2.5000, 3.5000]])
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = _one(kernel_size)
        self.stride = _one(kernel_size if stride is None else stride)
        self.padding = _one(padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        """Pool `input`."""
        return F.avg_pool1d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
        )

    def extra_repr(self) -> str:
        """Say the sizes."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPool(Module):
    pool: Any

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """Pool `input`."""
        return type(self).pool(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        """Say the sizes."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPool):
    """Take the mean of each window of the last two dimensions.

    Args:
        kernel_size: height and width of a window.
        stride: steps between windows; `kernel_size` if not given.
        padding: zeros at both ends.
        ceil_mode: whether last windows that are not full count.
        count_include_pad: whether padding counts in the mean.
        divisor_override: divide by this instead of the number of elements.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.AvgPool2d(2)(weft.zeros(1, 3, 32, 32)).shape
        weft.Size([1, 3, 16, 16])
    """

    pool = staticmethod(F.avg_pool2d)


class AvgPool3d(_AvgPool):
    """Take the mean of each window of the last three dimensions; arguments as for AvgPool2d.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.AvgPool3d(2)(weft.zeros(1, 3, 8, 8, 8)).shape
        weft.Size([1, 3, 4, 4, 4])
    """

    pool = staticmethod(F.avg_pool3d)


class _AdaptivePool(Module):
    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        """Say the output's size."""
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptivePool):
    """Take means over as many windows as the output has elements.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.AdaptiveAvgPool1d(1)(weft.tensor([[1.0, 3.0, 2.0, 5.0]]))
        tensor([[2.7500]])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Pool `input`."""
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptivePool):
    """Take means over as many windows as the output has elements, in two dimensions.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.AdaptiveAvgPool2d(1)(weft.zeros(1, 3, 32, 32)).shape
        weft.Size([1, 3, 1, 1])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Pool `input`."""
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptivePool):
    """Take means over as many windows as the output has elements, in three dimensions.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.AdaptiveAvgPool3d(1)(weft.zeros(1, 3, 8, 8, 8)).shape
        weft.Size([1, 3, 1, 1, 1])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Pool `input`."""
        return F.adaptive_avg_pool3d(input, self.output_size)


class _AdaptiveMaxPool(_AdaptivePool):
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """Take the largest elements of as many windows as the output has elements.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.AdaptiveMaxPool1d(2)(weft.tensor([[1.0, 3.0, 2.0, 5.0]]))
        tensor([[3., 5.]])
    """

    def forward(self, input: Tensor) -> Any:
        """Pool `input`."""
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """Take the largest elements of as many windows as the output has, in two dimensions.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.AdaptiveMaxPool2d(4)(weft.zeros(1, 3, 32, 32)).shape
        weft.Size([1, 3, 4, 4])
    """

    def forward(self, input: Tensor) -> Any:
        """Pool `input`."""
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """Take the largest elements of as many windows as the output has, in three dimensions.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.AdaptiveMaxPool3d(4)(weft.zeros(1, 3, 8, 8, 8)).shape
        weft.Size([1, 3, 4, 4, 4])
    """

    def forward(self, input: Tensor) -> Any:
        """Pool `input`."""
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class _LPPool(Module):
    def __init__(
        self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        """Say the power and the sizes."""
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPool):
    """Take the root of the sum of powers of each window of the last dimension.

    Args:
        norm_type: the power.
        kernel_size: length of a window.
        stride: step between windows; `kernel_size` if not given.
        ceil_mode: whether a last window that is not full counts.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.LPPool1d(2, kernel_size=2)(weft.tensor([[3.0, 4.0, 0.0, 2.0]]))
        tensor([[5., 2.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Pool `input`."""
        return F.lp_pool1d(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )


class LPPool2d(_LPPool):
    """Take norms of windows of the last two dimensions; arguments as for LPPool1d.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.LPPool2d(2, kernel_size=2)(weft.ones(1, 3, 32, 32)).shape
        weft.Size([1, 3, 16, 16])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Pool `input`."""
        return F.lp_pool2d(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )


class LPPool3d(_LPPool):
    """Take norms of windows of the last three dimensions; arguments as for LPPool1d.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.LPPool3d(2, kernel_size=2)(weft.ones(1, 3, 8, 8, 8)).shape
        weft.Size([1, 3, 4, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Pool `input`."""
        return F.lp_pool3d(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )


class _MaxUnpool(Module):
    pool: Any
    rank: int

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size = self._each(kernel_size)
        self.stride = self._each(kernel_size if stride is None else stride)
        self.padding = self._each(padding)

    def _each(self, value: Any) -> tuple[int, ...]:
        return tuple(value) if hasattr(value, "__iter__") else (value,) * self.rank

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        """Put the elements of `input` back to `indices`."""
        settings = (self.kernel_size, self.stride, self.padding, output_size)
        return type(self).pool(input, indices, *settings)

    def extra_repr(self) -> str:
        """Say the sizes."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """Put the elements that MaxPool1d took back where they were, among zeros.

    Args:
        kernel_size: length of a window.
        stride: step between windows; `kernel_size` if not given.
        padding: what was added at both ends.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> x = weft.tensor([[[1.0, 3.0, 2.0, 5.0]]])
        >>> pooled, indices = nn.MaxPool1d(2, return_indices=True)(x)
        >>> nn.MaxUnpool1d(2)(pooled, indices)
        tensor([[[0., 3., 0., 5.]]])
    """

    pool, rank = staticmethod(F.max_unpool1d), 1


class MaxUnpool2d(_MaxUnpool):
    """Put elements back where MaxPool2d took them; arguments as for MaxUnpool1d.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> pooled, indices = nn.MaxPool2d(2, return_indices=True)(weft.rand(1, 3, 32, 32))
        >>> nn.MaxUnpool2d(2)(pooled, indices).shape
        weft.Size([1, 3, 32, 32])
    """

    pool, rank = staticmethod(F.max_unpool2d), 2


class MaxUnpool3d(_MaxUnpool):
    """Put elements back where MaxPool3d took them; arguments as for MaxUnpool1d.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> pooled, indices = nn.MaxPool3d(2, return_indices=True)(weft.rand(1, 3, 8, 8, 8))
        >>> nn.MaxUnpool3d(2)(pooled, indices).shape
        weft.Size([1, 3, 8, 8, 8])
    """

    pool, rank = staticmethod(F.max_unpool3d), 3
