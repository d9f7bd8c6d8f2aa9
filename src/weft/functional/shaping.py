"""Views and sizes with PyTorch's other spellings, and in-place methods that are no ops."""

from __future__ import annotations

from typing import Any

from weft import _core
from weft._core import Tensor

ops = _core.ops


def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """Expand a tensor to a shape, without a copy."""
    try:
        return ops.expand(input, size)
    except _core.ShapeError as error:
        raise _core.ShapeError(str(error).replace("expand(", "broadcast_to(", 1)) from None


def fliplr(input: Tensor) -> Tensor:
    """Reverse the second dimension."""
    if input.ndim < 2:
        raise _core.ShapeError(
            f"fliplr(input): input must have 2 or more dimensions; input is {tuple(input.shape)}."
        )
    return ops.flip(input, 1)


def flipud(input: Tensor) -> Tensor:
    """Reverse the first dimension."""
    if input.ndim < 1:
        raise _core.ShapeError("flipud(input): input must have 1 or more dimensions; input is ().")
    return ops.flip(input, 0)


def ravel(input: Tensor) -> Tensor:
    """Return all elements as one vector, a view where that is possible."""
    return ops.reshape(input, -1)


def adjoint(input: Tensor) -> Tensor:
    """Swap the last two dimensions."""
    return ops.transpose(input, -2, -1)


def view_as(self: Tensor, other: Tensor) -> Tensor:
    """Return a view with the sizes of another tensor."""
    return ops.view(self, other.shape)


def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """Return the same elements with the sizes of another tensor."""
    return ops.reshape(self, other.shape)


def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """Expand to the sizes of another tensor, without a copy."""
    return ops.expand(self, other.shape)


def type_as(self: Tensor, tensor: Tensor) -> Tensor:
    """Convert to the dtype of another tensor."""
    return self.to(tensor.dtype)


def random_(
    self: Tensor, start: int = 0, to: int | None = None, *, generator: Any = None
) -> Tensor:
    """Fill with random integers: from `start` to before `to`, or from 0 to before one argument."""
    if to is None:
        low, high = (0, start) if start else (0, _largest(self.dtype))
    else:
        low, high = start, to
    drawn = ops.randint(low, high, self.shape, generator=generator)
    return self.copy_(drawn)


def _largest(dtype: Any) -> int:
    """Return where integers stop that a dtype holds exactly."""
    digits = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53, "bool": 1, "uint8": 8}
    digits |= {"int8": 7, "int16": 15, "int32": 31, "int64": 62}
    return 2 ** digits[dtype.name]


def fill_diagonal_(self: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Set the main diagonal to a value, in place."""
    if wrap:
        raise _core.UnsupportedError("fill_diagonal_(): wrap is not supported.")
    if self.ndim == 2:
        self.diagonal().fill_(fill_value)
    else:
        for i in range(min(self.shape)):
            self[(i,) * self.ndim] = fill_value
    return self
