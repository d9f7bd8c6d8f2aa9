"""Modules that add elements around the last dimensions."""

from __future__ import annotations

from typing import Any

from weft._core import Tensor
from weft.nn import functional as F
from weft.nn.module import Module


class _Pad(Module):
    """Holds widths: left and right of the last dimension, then of the one before it."""

    dimensions: int
    mode: str

    def __init__(self, padding: Any) -> None:
        super().__init__()
        several = hasattr(padding, "__iter__")
        self.padding = tuple(padding) if several else (padding,) * (2 * self.dimensions)

    def forward(self, input: Tensor) -> Tensor:
        """Pad `input`."""
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        """Say the widths."""
        return f"{self.padding}"


class ReflectionPad1d(_Pad):
    """Mirror the ends of the last dimension.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.ReflectionPad1d(2)(weft.tensor([[1.0, 2.0, 3.0]]))
        tensor([[3., 2., 1., 2., 3., 2., 1.]])
    """

    dimensions, mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """Mirror the edges of the last two dimensions.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> x = weft.tensor([[[1.0, 2.0], [3.0, 4.0]]])
        >>> nn.ReflectionPad2d((1, 0, 1, 0))(x)  # left, right, above, below
        tensor([[[4., 3., 4.],
                 [2., 1., 2.],
                 [4., 3., 4.]]])
    """

    dimensions, mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """Mirror the edges of the last three dimensions.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.ReflectionPad3d(1)(weft.zeros(1, 2, 3, 4, 5)).shape
        weft.Size([1, 2, 5, 6, 7])
    """

    dimensions, mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """Repeat the end elements of the last dimension.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.ReplicationPad1d(2)(weft.tensor([[1.0, 2.0, 3.0]]))
        tensor([[1., 1., 1., 2., 3., 3., 3.]])
    """

    dimensions, mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """Repeat the edges of the last two dimensions.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> x = weft.tensor([[[1.0, 2.0], [3.0, 4.0]]])
        >>> nn.ReplicationPad2d((1, 0, 1, 0))(x)  # left, right, above, below
        tensor([[[1., 1., 2.],
                 [1., 1., 2.],
                 [3., 3., 4.]]])
    """

    dimensions, mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """Repeat the edges of the last three dimensions.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.ReplicationPad3d(1)(weft.zeros(1, 2, 3, 4, 5)).shape
        weft.Size([1, 2, 5, 6, 7])
    """

    dimensions, mode = 3, "replicate"


class CircularPad1d(_Pad):
    """Continue the last dimension with its other end.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.CircularPad1d(2)(weft.tensor([[1.0, 2.0, 3.0]]))
        tensor([[2., 3., 1., 2., 3., 1., 2.]])
    """

    dimensions, mode = 1, "circular"


class CircularPad2d(_Pad):
    """Continue the last two dimensions with their other edges.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> x = weft.tensor([[[1.0, 2.0], [3.0, 4.0]]])
        >>> nn.CircularPad2d((1, 0, 1, 0))(x)  # left, right, above, below
        tensor([[[4., 3., 4.],
                 [2., 1., 2.],
                 [4., 3., 4.]]])
    """

    dimensions, mode = 2, "circular"


class CircularPad3d(_Pad):
    """Continue the last three dimensions with their other edges.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.CircularPad3d(1)(weft.zeros(1, 2, 3, 4, 5)).shape
        weft.Size([1, 2, 5, 6, 7])
    """

    dimensions, mode = 3, "circular"


class ZeroPad1d(_Pad):
    """Add zeros to the last dimension.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.ZeroPad1d((1, 2))(weft.tensor([[1.0, 2.0, 3.0]]))
        tensor([[0., 1., 2., 3., 0., 0.]])
    """

    dimensions, mode = 1, "constant"


class ZeroPad2d(_Pad):
    """Add zeros to the last two dimensions.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> x = weft.tensor([[[1.0, 2.0], [3.0, 4.0]]])
        >>> nn.ZeroPad2d((1, 0, 1, 0))(x)  # left, right, above, below
        tensor([[[0., 0., 0.],
                 [0., 1., 2.],
                 [0., 3., 4.]]])
    """

    dimensions, mode = 2, "constant"


class ZeroPad3d(_Pad):
    """Add zeros to the last three dimensions.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.ZeroPad3d(1)(weft.zeros(1, 2, 3, 4, 5)).shape
        weft.Size([1, 2, 5, 6, 7])
    """

    dimensions, mode = 3, "constant"


class _ConstantPad(_Pad):
    mode = "constant"

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """Pad `input`."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """Say the widths and the value."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """Add one value to the last dimension.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.ConstantPad1d(1, 9.0)(weft.tensor([[1.0, 2.0, 3.0]]))
        tensor([[9., 1., 2., 3., 9.]])
    """

    dimensions = 1


class ConstantPad2d(_ConstantPad):
    """Add one value to the last two dimensions.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> x = weft.tensor([[[1.0, 2.0], [3.0, 4.0]]])
        >>> nn.ConstantPad2d((1, 0, 0, 0), 9.0)(x)  # left, right, above, below
        tensor([[[9., 1., 2.],
                 [9., 3., 4.]]])
    """

    dimensions = 2


class ConstantPad3d(_ConstantPad):
    """Add one value to the last three dimensions.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.ConstantPad3d(1, 9.0)(weft.zeros(1, 2, 3, 4, 5)).shape
        weft.Size([1, 2, 5, 6, 7])
    """

    dimensions = 3
