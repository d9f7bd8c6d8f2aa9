"""Modules of matrix products."""

from __future__ import annotations

import math
from typing import Any

from weft._core import Tensor
from weft.functional.creation import empty
from weft.nn import functional as F
from weft.nn import init
from weft.nn.module import Module, one_op
from weft.nn.parameter import Parameter


class Identity(Module):
    """Return the input as it is, whatever arguments the module was made with.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.Identity()(weft.tensor([1.0, 2.0]))
        tensor([1., 2.])
    """

    def __init__(self, *_args: Any, **_kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """Return `input`."""
        return input


class Linear(Module):
    """Compute `input @ weight.T + bias`.

    Args:
        in_features: size of the input's last dimension.
        out_features: size of the output's last dimension.
        bias: whether there is a bias.
        device: only "cpu".
        dtype: of the parameters.

    Example:
        >>> import weft
        >>> layer = weft.nn.Linear(4, 3)
        >>> layer(weft.ones(2, 4)).shape
        weft.Size([2, 3])
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(empty((out_features, in_features), dtype=dtype, device=device))
        if bias:
            self.bias = Parameter(empty((out_features,), dtype=dtype, device=device))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0.0
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    @one_op(F.linear, None, "weight", "bias")
    def forward(self, input: Tensor) -> Tensor:
        """Multiply `input` by the weight and add the bias."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Say the sizes."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear by the name that PyTorch prints for the last one of an attention.

    Example:
        >>> from weft import nn
        >>> nn.MultiheadAttention(8, 2).out_proj  # where PyTorch has one
        NonDynamicallyQuantizableLinear(in_features=8, out_features=8, bias=True)
    """


class Bilinear(Module):
    """Compute `input1 @ weight[k] @ input2 + bias[k]` for each output feature k.

    Args:
        in1_features: size of the first input's last dimension.
        in2_features: size of the second input's last dimension.
        out_features: size of the output's last dimension.
        bias: whether there is a bias.
        device: only "cpu".
        dtype: of the parameters.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.Bilinear(3, 4, 5)(weft.zeros(2, 3), weft.zeros(2, 4)).shape
        weft.Size([2, 5])
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        sizes = (out_features, in1_features, in2_features)
        self.weight = Parameter(empty(sizes, dtype=dtype, device=device))
        if bias:
            self.bias = Parameter(empty((out_features,), dtype=dtype, device=device))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """Join the two inputs through the weight."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Say the sizes."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )
