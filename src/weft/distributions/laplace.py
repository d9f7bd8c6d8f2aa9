"""The Laplace distribution."""

from __future__ import annotations

import math
from typing import Any

from weft._core import Tensor, ops
from weft.distributions import constraints
from weft.distributions.constraints import Constraint
from weft.distributions.distribution import Distribution, broadcast_all
from weft.functional.facts import finfo


class Laplace(Distribution):
    """The distribution whose density falls off exponentially on both sides.

    Args:
        loc: The mean.
        scale: How fast it falls: the mean distance from the mean.
        validate_args: Whether arguments are checked.

    Example:
        >>> import weft
        >>> from weft.distributions import Laplace
        >>> Laplace(0.0, 1.0).log_prob(weft.tensor(0.0))
        tensor(-0.6931)
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
    def variance(self) -> Tensor:
        """The variance."""
        return 2 * self.scale**2

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return math.sqrt(2) * self.scale

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draw values that are differentiable functions of the distribution's arguments."""
        drawn = ops.zeros(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        drawn = drawn.uniform_(finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * ops.sign(drawn) * ops.log1p(-ops.abs(drawn))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density at a value."""
        self._validate_sample(value)
        return -ops.log(2 * self.scale) - ops.abs(value - self.loc) / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of values up to this one."""
        gap = value - self.loc
        return 0.5 - 0.5 * ops.sign(gap) * ops.expm1(-ops.abs(gap) / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        """Return the value up to which there is this probability."""
        term = value - 0.5
        return self.loc - self.scale * ops.sign(term) * ops.log1p(-2 * ops.abs(term))

    def entropy(self) -> Tensor:
        """Return the entropy of each distribution, in nats."""
        return 1 + ops.log(2 * self.scale)
