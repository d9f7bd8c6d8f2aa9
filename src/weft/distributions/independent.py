"""Several distributions as one over all their values together."""

from __future__ import annotations

from typing import Any, Self

from weft._core import Tensor
from weft.distributions import constraints
from weft.distributions.constraints import Constraint
from weft.distributions.distribution import Distribution, as_shape


class Independent(Distribution):
    """Take the last batch dimensions of a distribution as dimensions of its values.

    Args:
        base_distribution: A batch of distributions.
        reinterpreted_batch_ndims: How many dimensions.
        validate_args: Whether arguments are checked.

    Example:
        >>> import weft
        >>> from weft.distributions import Independent, Normal
        >>> together = Independent(Normal(weft.zeros(3), weft.ones(3)), 1)
        >>> together.log_prob(weft.zeros(3))
        tensor(-2.7568)
    """

    def __init__(
        self,
        base_distribution: Distribution,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        shape = (*base_distribution.batch_shape, *base_distribution.event_shape)
        dims = len(base_distribution.batch_shape) - reinterpreted_batch_ndims
        if reinterpreted_batch_ndims < 0 or dims < 0:
            raise ValueError(
                f"Independent: expected reinterpreted_batch_ndims <= len(base_distribution."
                f"batch_shape), actual {reinterpreted_batch_ndims} vs "
                f"{len(base_distribution.batch_shape)}"
            )
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__(shape[:dims], shape[dims:], validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override] # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether values have gradients."""
        return self.base_dist.has_rsample

    @property
    def support(self) -> Constraint:
        """The set of values that can be drawn."""
        inner = self.base_dist.support
        dims = self.reinterpreted_batch_ndims
        return constraints.independent(inner, dims) if dims else inner

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        """The value of the greatest probability or density."""
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.base_dist.variance

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        """Return the same distributions with a larger batch shape."""
        shape = as_shape(batch_shape)
        events = self._event_shape[: self.reinterpreted_batch_ndims]
        base = self.base_dist.expand((*shape, *events))
        return type(self)(base, self.reinterpreted_batch_ndims, validate_args=False)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draw values, without a gradient."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draw values that are differentiable functions of the distribution's arguments."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability or density of all parts together."""
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        """Return the entropy of each distribution, in nats."""
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all values, if no dimension is taken."""
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError(
                "Enumeration over cartesian product is not implemented for Independent"
            )
        return self.base_dist.enumerate_support(expand)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist!r}, {self.reinterpreted_batch_ndims})"


def sum_rightmost(value: Tensor, dims: int) -> Tensor:
    """Sum over the last dimensions.

    Args:
        value: A tensor.
        dims: How many dimensions.
    """
    return value.sum(dim=tuple(range(-dims, 0))) if dims else value
