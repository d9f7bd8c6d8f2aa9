"""The normal distribution."""

from __future__ import annotations

import math
from typing import Any

from weft._core import Tensor, ops
from weft.distributions import constraints
from weft.distributions.constraints import Constraint
from weft.distributions.distribution import Distribution, broadcast_all


class Normal(Distribution):
    """The normal distribution.

    Args:
        loc: The mean.
        scale: The standard deviation.
        validate_args: Whether arguments are checked.

    Example:
        >>> import weft
        >>> from weft.distributions import Normal
        >>> standard = Normal(0.0, 1.0)
        >>> standard.log_prob(weft.tensor(0.0))
        tensor(-0.9189)
        >>> standard.sample((3,)).shape
        weft.Size([3])
    """

    has_rsample = True
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}  # noqa: RUF012

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        """The set of values that can be drawn."""
        return constraints.real

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """The value of the greatest density."""
        return self.loc

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.scale

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.scale**2

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draw values that are differentiable functions of the distribution's arguments."""
        drawn = ops.randn(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        return self.loc + drawn * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density at a value."""
        self._validate_sample(value)
        distance = (value - self.loc) ** 2 / (2 * self.scale**2)
        return -distance - ops.log(self.scale) - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of values up to this one."""
        self._validate_sample(value)
        return 0.5 * (1 + ops.erf((value - self.loc) / self.scale / math.sqrt(2)))

    def icdf(self, value: Tensor) -> Tensor:
        """Return the value up to which there is this probability."""
        return self.loc + self.scale * ops.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Tensor:
        """Return the entropy of each distribution, in nats."""
        return 0.5 + 0.5 * math.log(2 * math.pi) + ops.log(self.scale)
