"""What PyTorch's programs ask complex numbers for; all of Weft's are real."""

from __future__ import annotations

import math

from weft import _core
from weft._core import Tensor
from weft.functional.composite import composite

ops = _core.ops


@composite()
def real(input: Tensor) -> Tensor:
    """Return the tensor itself: it is real.

    Example:
        >>> import weft
        >>> weft.real(weft.tensor([1.0, 2.0]))
        tensor([1., 2.])
    """
    return input


@composite()
def conj(input: Tensor) -> Tensor:
    """Return the tensor itself: it is real.

    Example:
        >>> import weft
        >>> weft.conj(weft.tensor([1.0, 2.0]))  # a real number is its own conjugate
        tensor([1., 2.])
    """
    return input


@composite()
def conj_physical(input: Tensor) -> Tensor:
    """Return a copy: the tensor is real.

    Example:
        >>> import weft
        >>> weft.conj_physical(weft.tensor([1.0, 2.0]))
        tensor([1., 2.])
    """
    return ops.clone(input)


@composite()
def resolve_conj(input: Tensor) -> Tensor:
    """Return the tensor itself: nothing is pending.

    Example:
        >>> import weft
        >>> weft.resolve_conj(weft.tensor([1.0, 2.0]))
        tensor([1., 2.])
    """
    return input


@composite()
def resolve_neg(input: Tensor) -> Tensor:
    """Return the tensor itself: nothing is pending.

    Example:
        >>> import weft
        >>> weft.resolve_neg(weft.tensor([1.0, 2.0]))
        tensor([1., 2.])
    """
    return input


@composite()
def is_conj(input: Tensor) -> bool:
    """Return False: the tensor is real.

    Example:
        >>> import weft
        >>> weft.is_conj(weft.tensor([1.0]))
        False
    """
    del input
    return False


@composite()
def is_neg(input: Tensor) -> bool:
    """Return False: nothing is pending.

    Example:
        >>> import weft
        >>> weft.is_neg(weft.tensor([1.0]))
        False
    """
    del input
    return False


@composite()
def angle(input: Tensor) -> Tensor:
    """Return pi for negative elements and 0 for others; NaN stays.

    Example:
        >>> import weft
        >>> weft.angle(weft.tensor([1.0, -1.0]))
        tensor([0.0000, 3.1416])
    """
    floats = input if input.is_floating_point() else input.to(_core.get_default_dtype())
    flat = floats * 0.0 if floats.requires_grad else ops.zeros_like(floats)
    turned = ops.masked_fill(ops.masked_fill(flat, ops.isinf(floats), 0.0), floats < 0, math.pi)
    return ops.where(ops.isnan(floats.detach()), floats, turned)


def _turned(self: Tensor) -> Tensor:
    return self if self.ndim == 0 else ops.transpose(self, -2, -1)


PROPERTIES = {
    "H": property(_turned, doc="Return the transposed matrix."),
    "mH": property(_turned, doc="Return the transposed matrices."),
}
