"""Activations that are simple formulas of other ops."""

from __future__ import annotations

from weft import _core
from weft._core import Tensor
from weft.functional.composite import composite

ops = _core.ops

_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


@composite("HardtanhBackward0", in_place=True)
def relu6(input: Tensor) -> Tensor:
    """Limit elements to the range from 0 to 6.

    Example:
        >>> import weft
        >>> weft.relu6(weft.tensor([-1.0, 3.0, 9.0]))
        tensor([0., 3., 6.])
    """
    return ops.hardtanh(input, 0, 6)


@composite("CeluBackward0", in_place=True)
def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """Compute alpha * (exp(x / alpha) - 1) for negative elements and keep positive ones.

    Example:
        >>> import weft
        >>> weft.celu(weft.tensor([-1.0, 2.0]), alpha=2.0)
        tensor([-0.7869,  2.0000])
    """
    return ops.elu(input, alpha, 1.0, 1.0 / alpha)


@composite("EluBackward0", in_place=True)
def selu(input: Tensor) -> Tensor:
    """Compute elu with the constants that keep mean 0 and variance 1.

    Example:
        >>> import weft
        >>> weft.selu(weft.tensor([-1.0, 1.0]))
        tensor([-1.1113,  1.0507])
    """
    return ops.elu(input, _SELU_ALPHA, _SELU_SCALE)


@composite("MishBackward0", in_place=True)
def mish(input: Tensor) -> Tensor:
    """Compute x * tanh(softplus(x)).

    Example:
        >>> import weft
        >>> weft.mish(weft.tensor([-1.0, 1.0]))
        tensor([-0.3034,  0.8651])
    """
    return input * ops.tanh(ops.softplus(input))


@composite("HardsigmoidBackward0", in_place=True)
def hardsigmoid(input: Tensor) -> Tensor:
    """Limit x / 6 + 1 / 2 to the range from 0 to 1.

    Example:
        >>> import weft
        >>> weft.hardsigmoid(weft.tensor([-4.0, 0.0, 4.0]))
        tensor([0.0000, 0.5000, 1.0000])
    """
    return ops.hardtanh(input + 3, 0, 6) / 6


@composite("HardswishBackward0", in_place=True)
def hardswish(input: Tensor) -> Tensor:
    """Compute x * hardsigmoid(x).

    Example:
        >>> import weft
        >>> weft.hardswish(weft.tensor([-4.0, 1.0, 4.0]))
        tensor([-0.0000, 0.6667, 4.0000])
    """
    return input * ops.hardtanh(input + 3, 0, 6) / 6


@composite("HardshrinkBackward0", in_place=True)
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Replace elements between -lambd and lambd by 0.

    Example:
        >>> import weft
        >>> weft.hardshrink(weft.tensor([-0.7, 0.3, 0.9]), lambd=0.5)
        tensor([-0.7000,  0.0000,  0.9000])
    """
    return ops.where(ops.le(ops.abs(input), lambd), 0, input)


@composite("SoftshrinkBackward0", in_place=True)
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Move elements toward 0 by lambd, at most to 0.

    Example:
        >>> import weft
        >>> weft.softshrink(weft.tensor([-0.7, 0.3, 0.9]), lambd=0.5)
        tensor([-0.2000,  0.0000,  0.4000])
    """
    return input - ops.clamp(input, -lambd, lambd)


@composite(in_place=True)
def tanhshrink(input: Tensor) -> Tensor:
    """Compute x - tanh(x).

    Example:
        >>> import weft
        >>> weft.tanhshrink(weft.tensor([-1.0, 1.0]))
        tensor([-0.2384,  0.2384])
    """
    return input - ops.tanh(input)


@composite(in_place=True)
def softsign(input: Tensor) -> Tensor:
    """Compute x / (1 + |x|).

    Example:
        >>> import weft
        >>> weft.softsign(weft.tensor([-1.0, 3.0]))
        tensor([-0.5000,  0.7500])
    """
    return input / (1 + ops.abs(input))


@composite("ThresholdBackward0", in_place=True)
def threshold(input: Tensor, threshold: float, value: float) -> Tensor:
    """Replace elements that do not exceed `threshold` by `value`.

    Example:
        >>> import weft
        >>> weft.threshold(weft.tensor([0.5, 2.0]), threshold=1.0, value=-9.0)
        tensor([-9.,  2.])
    """
    return ops.where(ops.le(input, threshold), value, input)
