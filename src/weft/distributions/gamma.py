"""The gamma distribution and its kin: beta, Dirichlet, chi-squared."""

from __future__ import annotations

import math
from typing import Any

from weft import _core
from weft._core import Tensor, ops
from weft._tensor import tensor
from weft.autograd import no_grad
from weft.distributions import constraints
from weft.distributions.constraints import Constraint
from weft.distributions.distribution import Distribution, broadcast_all
from weft.functional.facts import finfo

# In the digits of float32, in which PyTorch has them.
_THIRD = 0.3333333432674408
_SQUEEZE = 0.033100001513957977


def _drawn(alpha: float) -> float:
    """Draw one value of the gamma distribution with rate 1 (Marsaglia and Tsang, 2000)."""
    scale = 1.0
    if alpha < 1:
        if alpha == 0:
            return 0.0
        scale = (1 - _uniform()) ** (1 / alpha)
        alpha += 1
    d = alpha - _THIRD
    c = 1 / math.sqrt(9 * d)
    while True:
        y = 0.0
        x = 0.0
        while y <= 0:
            x = ops.randn((), dtype=_core.float64).item()
            y = 1 + c * x
        v = y**3
        u = 1 - _uniform()
        if u < 1 - _SQUEEZE * x**4 or math.log(u) < 0.5 * x * x + d * (1 - v + math.log(v)):
            return scale * d * v


def _uniform() -> float:
    return ops.rand((), dtype=_core.float64).item()


def _gammas(alpha: Tensor) -> Tensor:
    """Draw a value in float64 for each element."""
    values = [_drawn(each) for each in alpha.reshape(-1).tolist()]
    drawn = tensor(values, dtype=_core.float64).reshape(alpha.shape)
    return drawn.clamp(min=finfo(_core.float64).tiny)  # zeros have no shares in their sum


class Gamma(Distribution):
    """The gamma distribution.

    Args:
        concentration: The shape, often called alpha.
        rate: The inverse of the scale, often called beta.
        validate_args: Whether arguments are checked.

    Example:
        >>> from weft.distributions import Gamma
        >>> Gamma(2.0, 4.0).mean
        tensor(0.5000)
    """

    arg_constraints = {  # noqa: RUF012
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        """The set of values that can be drawn."""
        return constraints.nonnegative

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        """The value of the greatest density."""
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.concentration / self.rate**2

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draw values, without a gradient."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            values = _gammas(self.concentration.expand(shape)).to(self.concentration.dtype)
            tiny = finfo(values.dtype).tiny
            return (values.clamp(min=tiny) / self.rate).clamp(min=tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density at a value."""
        self._validate_sample(value)
        alpha = self.concentration
        powers = ops.xlogy(alpha, self.rate) + ops.xlogy(alpha - 1, value)
        return powers - self.rate * value - ops.lgamma(alpha)

    def entropy(self) -> Tensor:
        """Return the entropy of each distribution, in nats."""
        alpha = self.concentration
        return alpha - ops.log(self.rate) + ops.lgamma(alpha) + (1.0 - alpha) * ops.digamma(alpha)


class Chi2(Gamma):
    """The chi-squared distribution.

    Args:
        df: The degrees of freedom.
        validate_args: Whether arguments are checked.

    Example:
        >>> import weft
        >>> from weft import distributions as D
        >>> D.Chi2(weft.tensor(3.0)).mean
        tensor(3.)
    """

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args)

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self.concentration * 2


class Dirichlet(Distribution):
    """The distribution of probabilities that add up to 1.

    Args:
        concentration: How much each of them weighs, along the last dimension.
        validate_args: Whether arguments are checked.

    Example:
        >>> import weft
        >>> from weft import distributions as D
        >>> D.Dirichlet(weft.tensor([1.0, 3.0])).mean
        tensor([0.2500, 0.7500])
    """

    arg_constraints = {  # noqa: RUF012
        "concentration": constraints.independent(constraints.positive, 1)
    }

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.ndim < 1:
            raise ValueError("Dirichlet: `concentration` must be at least one-dimensional.")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args)

    @property
    def support(self) -> Constraint:
        """The set of values that can be drawn."""
        return constraints.simplex

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.concentration / self.concentration.sum(-1, keepdim=True)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        total = self.concentration.sum(-1, keepdim=True)
        return self.concentration * (total - self.concentration) / (total**2 * (total + 1))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draw values, without a gradient."""
        with no_grad():
            values = _gammas(self.concentration.expand(self._extended_shape(sample_shape)))
            shares = (values / values.sum(-1, keepdim=True)).to(self.concentration.dtype)
            limits = finfo(shares.dtype)
            return shares.clamp(min=limits.tiny, max=1 - limits.eps / 2)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density at a value."""
        self._validate_sample(value)
        alpha = self.concentration
        powers = ops.xlogy(alpha - 1.0, value).sum(-1)
        return powers + ops.lgamma(alpha.sum(-1)) - ops.lgamma(alpha).sum(-1)

    def entropy(self) -> Tensor:
        """Return the entropy of each distribution, in nats."""
        alpha, count = self.concentration, self.concentration.shape[-1]
        total = alpha.sum(-1)
        return (
            ops.lgamma(alpha).sum(-1)
            - ops.lgamma(total)
            - (count - total) * ops.digamma(total)
            - ((alpha - 1.0) * ops.digamma(alpha)).sum(-1)
        )


class Beta(Distribution):
    """The beta distribution, between 0 and 1.

    Args:
        concentration1: How much the side of 1 weighs, often called alpha.
        concentration0: How much the side of 0 weighs, often called beta.
        validate_args: Whether arguments are checked.

    Example:
        >>> from weft.distributions import Beta
        >>> Beta(1.0, 3.0).mean
        tensor(0.2500)
    """

    arg_constraints = {  # noqa: RUF012
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        super().__init__(self.concentration1.shape, validate_args=validate_args)

    @property
    def both(self) -> Dirichlet:
        """The distribution of a value and of what is left to 1."""
        pair = ops.stack([self.concentration1, self.concentration0], -1)
        return Dirichlet(pair, validate_args=False)

    @property
    def support(self) -> Constraint:
        """The set of values that can be drawn."""
        return constraints.unit_interval

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total**2 * (total + 1))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draw values, without a gradient."""
        return self.both.sample(sample_shape)[..., 0]

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density at a value."""
        self._validate_sample(value)
        return self.both.log_prob(ops.stack([value, 1.0 - value], -1))

    def entropy(self) -> Tensor:
        """Return the entropy of each distribution, in nats."""
        return self.both.entropy()
