"""Distributions of transformed values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from weft._core import Tensor, ops
from weft.autograd import no_grad
from weft.distributions import constraints
from weft.distributions.constraints import Constraint
from weft.distributions.distribution import Distribution, broadcast_all
from weft.distributions.independent import Independent, sum_rightmost
from weft.distributions.normal import Normal
from weft.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    Transform,
)
from weft.distributions.uniform import Uniform
from weft.functional.facts import finfo

_EULER = 0.57721566490153286060


class TransformedDistribution(Distribution):
    """The distribution of values that went through transforms.

    Args:
        base_distribution: The distribution before.
        transforms: A transform, or several, the first one first.
        validate_args: Whether arguments are checked.

    Example:
        >>> import weft
        >>> from weft.distributions import Normal, TransformedDistribution
        >>> from weft.distributions.transforms import TanhTransform
        >>> squashed = TransformedDistribution(Normal(0.0, 1.0), TanhTransform())
        >>> squashed.log_prob(weft.tensor(0.0))
        tensor(-0.9189)
    """

    arg_constraints = {}  # noqa: RUF012

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | Sequence[Transform],
        validate_args: bool | None = None,
    ) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        whole = ComposeTransform(self.transforms)
        events = len(base_distribution.event_shape)
        if whole.event_dim > events:
            base_distribution = Independent(base_distribution, whole.event_dim - events)
        self.base_dist = base_distribution
        super().__init__(
            base_distribution.batch_shape, base_distribution.event_shape, validate_args
        )

    @property
    def has_rsample(self) -> bool:  # type: ignore[override] # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether values have gradients."""
        return self.base_dist.has_rsample

    @property
    def support(self) -> Constraint:
        """The set of values that can be drawn."""
        if not self.transforms:
            return self.base_dist.support
        inner = self.transforms[-1].codomain
        dims = len(self._event_shape) - inner.event_dim
        return constraints.independent(inner, dims) if dims else inner

    def _through(self, value: Tensor) -> Tensor:
        for transform in self.transforms:
            value = transform(value)
        return value

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draw values, without a gradient."""
        with no_grad():
            return self._through(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draw values that are differentiable functions of the distribution's arguments."""
        return self._through(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density at a value."""
        self._validate_sample(value)
        events = len(self._event_shape)
        total: Any = 0.0
        for transform in reversed(self.transforms):
            before = transform.back(value)
            stretch = transform.log_abs_det_jacobian(before, value)
            total = total - sum_rightmost(stretch, events - transform.event_dim)
            value = before
        return total + self.base_dist.log_prob(value)

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of values up to this one, for growing transforms."""
        for transform in reversed(self.transforms):
            value = transform.back(value)
        return self.base_dist.cdf(value)

    def icdf(self, value: Tensor) -> Tensor:
        """Return the value up to which there is this probability, for growing transforms."""
        return self._through(self.base_dist.icdf(value))


class LogNormal(TransformedDistribution):
    """The distribution of values whose logarithms are normal.

    Args:
        loc: The mean of the logarithms.
        scale: Their standard deviation.
        validate_args: Whether arguments are checked.

    Example:
        >>> import weft
        >>> from weft import distributions as D
        >>> D.LogNormal(0.0, 1.0).mean  # exp(1 / 2)
        tensor(1.6487)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}  # noqa: RUF012

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args)

    @property
    def loc(self) -> Tensor:
        """The mean of the logarithms."""
        return cast("Normal", self.base_dist).loc

    @property
    def scale(self) -> Tensor:
        """Their standard deviation."""
        return cast("Normal", self.base_dist).scale

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return ops.exp(self.loc + self.scale**2 / 2)

    @property
    def mode(self) -> Tensor:
        """The value of the greatest density."""
        return ops.exp(self.loc - self.scale**2)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        square = self.scale**2
        return ops.expm1(square) * ops.exp(2 * self.loc + square)

    def entropy(self) -> Tensor:
        """Return the entropy of each distribution, in nats."""
        return self.base_dist.entropy() + self.loc


class HalfNormal(TransformedDistribution):
    """The distribution of the sizes of normal values with mean 0.

    Args:
        scale: The standard deviation of the normal values.
        validate_args: Whether arguments are checked.

    Example:
        >>> import weft
        >>> from weft import distributions as D
        >>> D.HalfNormal(1.0).mean
        tensor(0.7979)
    """

    arg_constraints = {"scale": constraints.positive}  # noqa: RUF012

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args)

    @property
    def scale(self) -> Tensor:
        """The standard deviation of the normal values."""
        return cast("Normal", self.base_dist).scale

    @property
    def support(self) -> Constraint:
        """The set of values that can be drawn."""
        return constraints.nonnegative

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.scale**2 * (1 - 2 / math.pi)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density at a value."""
        self._validate_sample(value)
        return self.base_dist.log_prob(value) + math.log(2)

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of values up to this one."""
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        """Return the value up to which there is this probability."""
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        """Return the entropy of each distribution, in nats."""
        return self.base_dist.entropy() - math.log(2)


class Gumbel(TransformedDistribution):
    """The distribution of the largest of many values.

    Args:
        loc: Where the density is greatest.
        scale: How wide it is.
        validate_args: Whether arguments are checked.

    Example:
        >>> import weft
        >>> from weft import distributions as D
        >>> D.Gumbel(0.0, 1.0).log_prob(weft.tensor(0.0))
        tensor(-1.)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}  # noqa: RUF012

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = finfo(self.loc.dtype)
        low = ops.full(self.loc.shape, limits.tiny, dtype=self.loc.dtype)
        high = ops.full(self.loc.shape, 1 - limits.eps, dtype=self.loc.dtype)
        parts = [
            ExpTransform().inv,
            AffineTransform(0, -1.0),
            ExpTransform().inv,
            AffineTransform(self.loc, -self.scale),
        ]
        super().__init__(Uniform(low, high, validate_args=False), parts, validate_args)

    @property
    def support(self) -> Constraint:
        """The set of values that can be drawn."""
        return constraints.real

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.loc + self.scale * _EULER

    @property
    def mode(self) -> Tensor:
        """The value of the greatest density."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return (math.pi / math.sqrt(6) * self.scale) ** 2

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density at a value."""
        self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return (y - ops.exp(y)) - ops.log(self.scale)

    def entropy(self) -> Tensor:
        """Return the entropy of each distribution, in nats."""
        return ops.log(self.scale) + (1 + _EULER)
