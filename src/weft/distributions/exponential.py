"""The exponential distribution."""

from __future__ import annotations

from typing import Any

from weft._core import Tensor, ops
from weft.distributions import constraints
from weft.distributions.constraints import Constraint
from weft.distributions.distribution import Distribution, broadcast_all


class Exponential(Distribution):
    """The exponential distribution: how long it takes until something happens.

    Args:
        rate: How often it happens in a unit of time.
        validate_args: Whether arguments are checked.

    Example:
        >>> from weft.distributions import Exponential
        >>> Exponential(4.0).mean
        tensor(0.2500)
    """

    has_rsample = True
    arg_constraints = {"rate": constraints.positive}  # noqa: RUF012

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        """The set of values that can be drawn."""
        return constraints.nonnegative

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return 1 / self.rate

    @property
    def mode(self) -> Tensor:
        """The value of the greatest density: 0."""
        return ops.zeros_like(self.rate)

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return 1 / self.rate

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.rate**-2

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draw values that are differentiable functions of the distribution's arguments."""
        drawn = ops.zeros(self._extended_shape(sample_shape), dtype=self.rate.dtype)
        return drawn.exponential_() / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density at a value."""
        self._validate_sample(value)
        return ops.log(self.rate) - self.rate * value

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of values up to this one."""
        self._validate_sample(value)
        return 1 - ops.exp(-self.rate * value)

    def icdf(self, value: Tensor) -> Tensor:
        """Return the value up to which there is this probability."""
        return -ops.log1p(-value) / self.rate

    def entropy(self) -> Tensor:
        """Return the entropy of each distribution, in nats."""
        return 1.0 - ops.log(self.rate)
