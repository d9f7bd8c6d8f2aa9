"""The uniform distribution."""

from __future__ import annotations

from typing import Any

from weft._core import Tensor, ops
from weft.distributions import constraints
from weft.distributions.constraints import Constraint
from weft.distributions.distribution import Distribution, broadcast_all


class Uniform(Distribution):
    """The uniform distribution over the numbers from `low` to before `high`.

    Args:
        low: The least value.
        high: Where values end.
        validate_args: Whether arguments are checked.

    Example:
        >>> from weft.distributions import Uniform
        >>> Uniform(1.0, 3.0).mean
        tensor(2.)
    """

    has_rsample = True
    arg_constraints = {"low": constraints.real, "high": constraints.real}  # noqa: RUF012

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)
        if self._is_validated and not bool(ops.lt(self.low, self.high).all()):
            raise ValueError(
                f"Uniform is not defined when low>= high: low is {self.low}, high is {self.high}"
            )

    @property
    def support(self) -> Constraint:
        """The set of values that can be drawn."""
        return constraints.interval(self.low.detach(), self.high.detach())

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        """NaN: all values are equally likely."""
        return float("nan") * self.high

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return (self.high - self.low) ** 2 / 12

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draw values that are differentiable functions of the distribution's arguments."""
        drawn = ops.rand(self._extended_shape(sample_shape), dtype=self.low.dtype)
        return self.low + drawn * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density at a value; minus infinity outside of the range."""
        self._validate_sample(value)
        is_inside = ops.logical_and(ops.le(self.low, value), ops.gt(self.high, value))
        return ops.log(is_inside.to(self.low.dtype)) - ops.log(self.high - self.low)

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of values up to this one."""
        self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        """Return the value up to which there is this probability."""
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        """Return the entropy of each distribution, in nats."""
        return ops.log(self.high - self.low)
