"""Facts about tensors and dtypes."""

from __future__ import annotations

from typing import Any

from weft import _core
from weft._core import Tensor

_FLOATS = {
    # name: bits, digits of the mantissa, least exponent, largest exponent, decimal digits
    "float16": (16, 10, -14, 15, 3),
    "bfloat16": (16, 7, -126, 127, 2),
    "float32": (32, 23, -126, 127, 6),
    "float64": (64, 52, -1022, 1023, 15),
}
_INTEGERS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint8": 8}


class finfo:  # noqa: N801 (PyTorch's name)
    """The limits of a floating-point dtype.

    Args:
        dtype: the dtype; the default one if not given.

    Example:
        >>> import weft
        >>> weft.finfo(weft.float32).eps
        1.1920928955078125e-07
    """

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")

    def __init__(self, dtype: Any = None) -> None:
        kind = _core.get_default_dtype() if dtype is None else _core.as_dtype(dtype)
        if kind.name not in _FLOATS:
            raise TypeError(f"finfo(): dtype must be a floating-point dtype, not {kind}.")
        bits, mantissa, least, largest, digits = _FLOATS[kind.name]
        self.dtype = kind.name
        self.bits = bits
        self.eps = 2.0**-mantissa
        self.max = (2 - 2.0**-mantissa) * 2.0**largest
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0**least
        self.resolution = 10.0**-digits

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype})"
        )


class iinfo:  # noqa: N801 (PyTorch's name)
    """The limits of an integer dtype.

    Args:
        dtype: the dtype.

    Example:
        >>> import weft
        >>> weft.iinfo(weft.int8).max
        127
    """

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, dtype: Any) -> None:
        kind = _core.as_dtype(dtype)
        if kind.name not in _INTEGERS:
            raise TypeError(f"iinfo(): dtype must be an integer dtype, not {kind}.")
        self.dtype = kind.name
        self.bits = _INTEGERS[kind.name]
        signed = self.dtype != "uint8"
        self.max = 2 ** (self.bits - signed) - 1
        self.min = -(2 ** (self.bits - 1)) if signed else 0

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


def is_tensor(obj: Any) -> bool:
    """Tell whether an object is a tensor.

    Example:
        >>> import weft
        >>> weft.is_tensor(weft.zeros(1)), weft.is_tensor([0.0])
        (True, False)
    """
    return isinstance(obj, Tensor)


def is_floating_point(input: Tensor) -> bool:
    """Tell whether a tensor's elements are floating-point numbers.

    Example:
        >>> import weft
        >>> weft.is_floating_point(weft.tensor([1.0])), weft.is_floating_point(weft.tensor([1]))
        (True, False)
    """
    return input.dtype.is_floating_point


def is_complex(input: Tensor) -> bool:
    """Tell whether a tensor's elements are complex numbers: never, so far.

    Example:
        >>> import weft
        >>> weft.is_complex(weft.tensor([1.0]))
        False
    """
    del input
    return False


def is_nonzero(input: Tensor) -> bool:
    """Tell whether a tensor's only element is not zero.

    Example:
        >>> import weft
        >>> weft.is_nonzero(weft.tensor([0.0]))
        False
    """
    return bool(input)


def numel(input: Tensor) -> int:
    """Return the number of elements.

    Example:
        >>> import weft
        >>> weft.numel(weft.zeros(2, 3))
        6
    """
    return input.numel()


def _category(dtype: Any) -> int:
    if dtype.is_floating_point:
        return 2
    return 0 if dtype is _core.bool else 1


def can_cast(from_: Any, to: Any) -> bool:
    """Tell whether a conversion between dtypes keeps to the same or a richer kind of number.

    Example:
        >>> import weft
        >>> weft.can_cast(weft.int64, weft.float32), weft.can_cast(weft.float32, weft.int64)
        (True, False)
    """
    return _category(_core.as_dtype(from_)) <= _category(_core.as_dtype(to))


def result_type(tensor1: Any, tensor2: Any) -> Any:
    """Return the dtype of the sum of two tensors or numbers.

    Example:
        >>> import weft
        >>> weft.result_type(weft.tensor([1, 2]), 1.0)
        weft.float32
    """
    return _core.ops.add(_small(tensor1), _small(tensor2)).dtype


def _small(value: Any) -> Any:
    """Return something that promotes as the value does and is cheap to add."""
    if not isinstance(value, Tensor) or value.ndim == 0:
        return value
    return _core.ops.zeros((1,), dtype=value.dtype)
