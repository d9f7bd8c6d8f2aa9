"""Activations as modules."""

from __future__ import annotations

from typing import Any

from weft import _core
from weft._core import Tensor
from weft.functional.composite import ops
from weft.functional.creation import full
from weft.nn import functional as F
from weft.nn import init
from weft.nn.module import Module, one_op
from weft.nn.parameter import Parameter


class _InPlace(Module):
    """An activation whose only setting is whether it overwrites its input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        """Say whether the input is overwritten."""
        return "inplace=True" if self.inplace else ""


class ReLU(_InPlace):
    """Set negative elements to zero.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.ReLU()(weft.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """

    @one_op(ops.relu, None, unless=("inplace",))
    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element of `input`."""
        return F.relu(input, self.inplace)


class ReLU6(_InPlace):
    """Clamp to [0, 6].

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.ReLU6()(weft.tensor([-1.0, 3.0, 9.0]))
        tensor([0., 3., 6.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element of `input`."""
        return F.relu6(input, self.inplace)


class SELU(_InPlace):
    """Apply the scaled exponential linear unit.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.SELU()(weft.tensor([-1.0, 2.0]))
        tensor([-1.1113,  2.1014])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element of `input`."""
        return F.selu(input, self.inplace)


class SiLU(_InPlace):
    """Multiply each element by its sigmoid.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.SiLU()(weft.tensor([-1.0, 2.0]))
        tensor([-0.2689,  1.7616])
    """

    @one_op(ops.silu, None, unless=("inplace",))
    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element of `input`."""
        return F.silu(input, self.inplace)


class Mish(_InPlace):
    """Multiply each element by the tanh of its softplus.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.Mish()(weft.tensor([-1.0, 2.0]))
        tensor([-0.3034,  1.9440])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element of `input`."""
        return F.mish(input, self.inplace)


class Hardsigmoid(_InPlace):
    """Apply the piecewise linear sigmoid.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.Hardsigmoid()(weft.tensor([-4.0, 0.0, 4.0]))
        tensor([0.0000, 0.5000, 1.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element of `input`."""
        return F.hardsigmoid(input, self.inplace)


class Hardswish(_InPlace):
    """Multiply each element by its piecewise linear sigmoid.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.Hardswish()(weft.tensor([-1.0, 1.0, 4.0]))
        tensor([-0.3333,  0.6667,  4.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element of `input`."""
        return F.hardswish(input, self.inplace)


class Sigmoid(Module):
    """Apply the logistic function.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.Sigmoid()(weft.tensor([0.0, 2.0]))
        tensor([0.5000, 0.8808])
    """

    @one_op(ops.sigmoid, None)
    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element of `input`."""
        return F.sigmoid(input)


class Tanh(Module):
    """Apply the hyperbolic tangent.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.Tanh()(weft.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7616])
    """

    @one_op(ops.tanh, None)
    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element of `input`."""
        return F.tanh(input)


class LogSigmoid(Module):
    """Apply the logarithm of the logistic function.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.LogSigmoid()(weft.tensor([-100.0, 0.0]))
        tensor([-100.0000,   -0.6931])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element of `input`."""
        return F.logsigmoid(input)


class Softsign(Module):
    """Apply x / (1 + |x|).

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.Softsign()(weft.tensor([-1.0, 3.0]))
        tensor([-0.5000,  0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element of `input`."""
        return F.softsign(input)


class Tanhshrink(Module):
    """Apply x - tanh(x).

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.Tanhshrink()(weft.tensor([-1.0, 1.0]))
        tensor([-0.2384,  0.2384])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element of `input`."""
        return F.tanhshrink(input)


class GELU(Module):
    """Multiply each element by the normal distribution's share below it.

    Args:
        approximate: "none", or "tanh" for the approximation by tanh.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.GELU(approximate="tanh")(weft.tensor([-1.0, 2.0]))
        tensor([-0.1588,  1.9546])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element of `input`."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """Say the approximation."""
        return f"approximate={self.approximate!r}"


class LeakyReLU(Module):
    """Scale negative elements down.

    Args:
        negative_slope: the factor of negative elements.
        inplace: whether the input is overwritten.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.LeakyReLU(0.1)(weft.tensor([-1.0, 2.0]))
        tensor([-0.1000,  2.0000])
    """

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element of `input`."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        """Say the slope."""
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class _Alpha(Module):
    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def extra_repr(self) -> str:
        """Say alpha."""
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class ELU(_Alpha):
    """Send negative elements through alpha * (exp(x) - 1).

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.ELU(alpha=2.0)(weft.tensor([-1.0, 2.0]))
        tensor([-1.2642,  2.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element of `input`."""
        return F.elu(input, self.alpha, self.inplace)


class CELU(_Alpha):
    """Send negative elements through alpha * (exp(x / alpha) - 1).

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.CELU(alpha=2.0)(weft.tensor([-1.0, 2.0]))
        tensor([-0.7869,  2.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element of `input`."""
        return F.celu(input, self.alpha, self.inplace)


class Softplus(Module):
    """Apply log(1 + exp(beta * x)) / beta.

    Args:
        beta: how sharp the bend is.
        threshold: where beta * x is larger, x itself is returned.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.Softplus(beta=2.0)(weft.tensor([0.0, 1.0]))
        tensor([0.3466, 1.0635])
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element of `input`."""
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """Say beta and the threshold."""
        return f"beta={self.beta}, threshold={self.threshold}"


class Hardtanh(Module):
    """Clamp to [min_val, max_val].

    Args:
        min_val: the least value.
        max_val: the largest value.
        inplace: whether the input is overwritten.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.Hardtanh(-2.0, 2.0)(weft.tensor([-3.0, 0.5, 3.0]))
        tensor([-2.0000,  0.5000,  2.0000])
    """

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        if max_val <= min_val:
            raise ValueError(
                f"Hardtanh(): min_val must be less than max_val; min_val is {min_val}, max_val is "
                f"{max_val}."
            )
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element of `input`."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        """Say the bounds."""
        text = f"min_val={self.min_val}, max_val={self.max_val}"
        return text + (", inplace=True" if self.inplace else "")


class Threshold(Module):
    """Replace elements that are not above a threshold.

    Args:
        threshold: what elements are compared with.
        value: what replaces the others.
        inplace: whether the input is overwritten.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.Threshold(1.0, -9.0)(weft.tensor([0.5, 2.0]))
        tensor([-9.,  2.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element of `input`."""
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        """Say the threshold and the value."""
        text = f"threshold={self.threshold}, value={self.value}"
        return text + (", inplace=True" if self.inplace else "")


class _Shrink(Module):
    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        """Say the width."""
        return str(self.lambd)


class Softshrink(_Shrink):
    """Move elements toward zero by `lambd`.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.Softshrink(0.5)(weft.tensor([-0.7, 0.3, 0.9]))
        tensor([-0.2000,  0.0000,  0.4000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element of `input`."""
        return F.softshrink(input, self.lambd)


class Hardshrink(_Shrink):
    """Set elements within `lambd` of zero to zero.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.Hardshrink(0.5)(weft.tensor([-0.7, 0.3, 0.9]))
        tensor([-0.7000,  0.0000,  0.9000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element of `input`."""
        return F.hardshrink(input, self.lambd)


class PReLU(Module):
    """Scale negative elements by a learned factor.

    Args:
        num_parameters: one factor for all, or one for each channel.
        init: the factors at first.
        device: only "cpu".
        dtype: of the factors.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.PReLU(num_parameters=2, init=0.1)(weft.tensor([[-1.0, 2.0]]))
        tensor([[-0.1000,  2.0000]], grad_fn=<PreluKernelBackward0>)
    """

    weight: Parameter

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(full((num_parameters,), float(init), dtype=dtype, device=device))

    def reset_parameters(self) -> None:
        """Set the factors as at first."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element of `input`."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """Say how many factors there are."""
        return f"num_parameters={self.num_parameters}"


class RReLU(Module):
    """Scale negative elements by a random factor while training, by the middle one otherwise.

    Args:
        lower: the least factor.
        upper: the largest factor.
        inplace: whether the input is overwritten.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.RReLU().eval()(weft.tensor([-6.0, 2.0]))  # while training the slope is random
        tensor([-1.3750,  2.0000])
    """

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element of `input`."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        """Say the factors."""
        return f"lower={self.lower}, upper={self.upper}" + (
            ", inplace=True" if self.inplace else ""
        )


class GLU(Module):
    """Multiply one half of a dimension by the sigmoid of the other.

    Args:
        dim: the dimension that is halved.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.GLU()(weft.tensor([3.0, 0.0]))
        tensor([1.5000])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Gate one half of `input` by the other."""
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        """Say the dimension."""
        return f"dim={self.dim}"


class _OverDimension(Module):
    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def _dim(self, input: Tensor) -> int:
        # The choice that PyTorch makes when none is given.
        if self.dim is not None:
            return self.dim
        return 0 if input.dim() in (0, 1, 3) else 1

    def extra_repr(self) -> str:
        """Say the dimension."""
        return f"dim={self.dim}"


class Softmax(_OverDimension):
    """Make the elements along a dimension positive with sum one.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.Softmax(dim=1)(weft.tensor([[0.0, 0.0], [1.0, 3.0]]))
        tensor([[0.5000, 0.5000],
                [0.1192, 0.8808]])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply along the dimension of `input`."""
        return F.softmax(input, self._dim(input))


class LogSoftmax(_OverDimension):
    """Return the logarithm of softmax.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.LogSoftmax(dim=1)(weft.tensor([[0.0, 0.0]]))
        tensor([[-0.6931, -0.6931]])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply along the dimension of `input`."""
        return F.log_softmax(input, self._dim(input))


class Softmin(_OverDimension):
    """Return softmax of the negated input.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.Softmin(dim=0)(weft.tensor([1.0, 3.0]))
        tensor([0.8808, 0.1192])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply along the dimension of `input`."""
        return F.softmin(input, self._dim(input))


class Softmax2d(Module):
    """Return softmax over the channels of (N, C, H, W) or (C, H, W).

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.Softmax2d()(weft.zeros(1, 4, 2, 2))[0, :, 0, 0]  # over the channels
        tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply over the channels of `input`."""
        if input.dim() not in (3, 4):
            raise _core.ShapeError(
                f"Softmax2d: input must have 3 or 4 dimensions; input is {tuple(input.shape)}."
            )
        return F.softmax(input, -3)
