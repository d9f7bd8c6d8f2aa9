"""PyTorch's old names of tensor types: `torch.FloatTensor` and its kin."""

from __future__ import annotations

from typing import Any

from weft import _core
from weft._core import Tensor, dtype
from weft._tensor import Size, device, tensor

__all__ = [
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "Device",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "Number",
    "ShortTensor",
    "Size",
    "Tensor",
    "device",
    "dtype",
]

Device = Any
Number = int | float | bool


class _OldType(type):
    """Makes `isinstance(x, torch.LongTensor)` a question about the dtype."""

    dtype: dtype

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype


class _OldTensor(metaclass=_OldType):
    """Make a tensor of one dtype, from sizes or from data."""

    dtype = _core.float32

    def __new__(cls, *args: Any) -> Any:
        if not args:
            return _core.ops.zeros((0,), dtype=cls.dtype)
        if all(isinstance(arg, int) for arg in args):
            return _core.ops.zeros(args, dtype=cls.dtype)
        (data,) = args
        if isinstance(data, Size):
            return _core.ops.zeros(data, dtype=cls.dtype)
        return tensor(data, dtype=cls.dtype)


class FloatTensor(_OldTensor):
    """Make a tensor of float32."""


class DoubleTensor(_OldTensor):
    """Make a tensor of float64."""

    dtype = _core.float64


class HalfTensor(_OldTensor):
    """Make a tensor of float16."""

    dtype = _core.float16


class LongTensor(_OldTensor):
    """Make a tensor of int64."""

    dtype = _core.int64


class IntTensor(_OldTensor):
    """Make a tensor of int32."""

    dtype = _core.int32


class ShortTensor(_OldTensor):
    """Make a tensor of int16."""

    dtype = _core.int16


class CharTensor(_OldTensor):
    """Make a tensor of int8."""

    dtype = _core.int8


class ByteTensor(_OldTensor):
    """Make a tensor of uint8."""

    dtype = _core.uint8


class BoolTensor(_OldTensor):
    """Make a tensor of bool."""

    dtype = _core.bool
