"""Modules that drop elements or channels at random while training."""

from __future__ import annotations

from weft._core import Tensor
from weft.nn import functional as F
from weft.nn.module import Module


class _Dropout(Module):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"{type(self).__name__}(): p must be between 0 and 1; p is {p}.")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        """Say the probability."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """While training, set elements to zero with probability `p` and scale the others up.

    Args:
        p: the probability of an element to be dropped.
        inplace: whether the input is overwritten.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> _ = weft.manual_seed(0)
        >>> drop = nn.Dropout(0.5)
        >>> drop(weft.ones(6))  # what stays is scaled
        tensor([0., 0., 2., 0., 0., 0.])
        >>> drop.eval()(weft.ones(3))
        tensor([1., 1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Drop elements of `input` if training."""
        if not self.training:
            return input
        return F.dropout(input, self.p, True, self.inplace)


class Dropout1d(_Dropout):
    """While training, set whole channels of (N, C, L) to zero with probability `p`.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> _ = weft.manual_seed(0)
        >>> nn.Dropout1d()(weft.ones(1, 4, 2))[0, :, 0]  # whole channels
        tensor([0., 0., 2., 0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Drop channels of `input` if training."""
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_Dropout):
    """While training, set whole channels of (N, C, H, W) to zero with probability `p`.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> _ = weft.manual_seed(0)
        >>> nn.Dropout2d()(weft.ones(1, 4, 2, 2))[0, :, 0, 0]  # whole channels
        tensor([0., 0., 2., 0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Drop channels of `input` if training."""
        return F.dropout2d(input, self.p, self.training, self.inplace)


class AlphaDropout(_Dropout):
    """While training, drop elements so that mean and variance stay (for networks of SELU).

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.AlphaDropout(0.2).eval()(weft.ones(2))
        tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Drop elements of `input` if training."""
        return F.alpha_dropout(input, self.p, self.training, self.inplace)


class Dropout3d(_Dropout):
    """While training, set whole channels of (N, C, D, H, W) to zero with probability `p`.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.Dropout3d(0.2)(weft.ones(1, 4, 2, 2, 2)).shape
        weft.Size([1, 4, 2, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Drop channels of `input` if training."""
        return F.dropout3d(input, self.p, self.training, self.inplace)


class FeatureAlphaDropout(_Dropout):
    """While training, drop whole channels so that mean and variance stay (for SELU).

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.FeatureAlphaDropout(0.2)(weft.ones(1, 4, 2)).shape
        weft.Size([1, 4, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Drop channels of `input` if training."""
        return F.feature_alpha_dropout(input, self.p, self.training, self.inplace)
