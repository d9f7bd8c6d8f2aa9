"""The geometric distribution: how many failures come before the first success."""

from __future__ import annotations

from typing import Any

from weft._core import Tensor, ops
from weft.autograd import no_grad
from weft.distributions import constraints
from weft.distributions.bernoulli import Bernoulli
from weft.distributions.constraints import Constraint
from weft.distributions.distribution import Distribution
from weft.functional.facts import finfo


class Geometric(Distribution):
    """The distribution of the number of failures before the first success.

    Args:
        probs: The probability of success.
        logits: Its log-odds, instead.
        validate_args: Whether arguments are checked.

    Example:
        >>> from weft.distributions import Geometric
        >>> Geometric(0.25).mean
        tensor(3.)
    """

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._try = Bernoulli(probs, logits, validate_args=validate_args)
        super().__init__(self._try.batch_shape, validate_args=validate_args)

    @property
    def probs(self) -> Tensor:
        """The probability of success."""
        return self._try.probs

    @property
    def logits(self) -> Tensor:
        """The log-odds of success."""
        return self._try.logits

    @property
    def support(self) -> Constraint:
        """The set of values that can be drawn."""
        return constraints.nonnegative

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return 1 / self.probs - 1

    @property
    def mode(self) -> Tensor:
        """0: the likeliest number."""
        return ops.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return (1 / self.probs - 1) / self.probs

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draw values, without a gradient."""
        with no_grad():
            dtype = self.probs.dtype
            drawn = ops.zeros(self._extended_shape(sample_shape), dtype=dtype)
            drawn = drawn.uniform_(finfo(dtype).tiny, 1)
            return ops.floor(ops.log(drawn) / ops.log1p(-self.probs))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability of a value."""
        self._validate_sample(value)
        return ops.xlogy(value, 1 - self.probs) + ops.log(self.probs)

    def entropy(self) -> Tensor:
        """Return the entropy of each distribution, in nats."""
        return self._try.entropy() / self.probs
