"""The Bernoulli distribution: 1 with a probability, otherwise 0."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from weft import _core
from weft._core import Tensor, ops
from weft.autograd import enable_grad, no_grad
from weft.distributions import constraints
from weft.distributions.constraints import Constraint
from weft.distributions.distribution import Distribution, broadcast_all
from weft.functional.facts import finfo
from weft.functional.losses import binary_cross_entropy_with_logits
from weft.functional.selection import where


def clamp_probs(probs: Tensor) -> Tensor:
    """Keep probabilities so far from 0 and 1 that their logarithms are finite."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def check_one_given(name: str, probs: Any, logits: Any) -> None:
    """Refuse both and neither of two arguments that say the same."""
    if (probs is None) == (logits is None):
        given = "both were given" if probs is not None else "neither was given"
        raise ValueError(f"{name}: either `probs` or `logits` must be specified; {given}.")


class Bernoulli(Distribution):
    """The distribution of 1 with a probability and otherwise 0.

    Args:
        probs: The probability of 1.
        logits: Its log-odds, instead.
        validate_args: Whether arguments are checked.

    Example:
        >>> import weft
        >>> from weft.distributions import Bernoulli
        >>> Bernoulli(weft.tensor([0.0, 1.0])).sample()
        tensor([0., 1.])
    """

    has_enumerate_support = True
    arg_constraints = {  # noqa: RUF012
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        check_one_given("Bernoulli", probs, logits)
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
        else:
            (self.logits,) = broadcast_all(logits)
        super().__init__(self._given.shape, validate_args=validate_args)

    @cached_property
    def probs(self) -> Tensor:
        """The probability of 1."""
        with enable_grad():  # whoever asks first may be `sample`
            return ops.sigmoid(self.logits)

    @cached_property
    def logits(self) -> Tensor:
        """The log-odds of 1."""
        with enable_grad():
            clamped = clamp_probs(self.probs)
            return ops.log(clamped) - ops.log1p(-clamped)

    @property
    def _given(self) -> Tensor:
        return vars(self)["probs" if "probs" in vars(self) else "logits"]

    @property
    def support(self) -> Constraint:
        """The set of values that can be drawn."""
        return constraints.boolean

    @property
    def param_shape(self) -> Any:
        """The shape of the argument."""
        return self._given.shape

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.probs

    @property
    def mode(self) -> Tensor:
        """The likelier value; NaN if both are equally likely."""
        likelier = ops.ge(self.probs, 0.5).to(self.probs.dtype)
        return where(ops.eq(self.probs, 0.5), float("nan"), likelier)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draw values, without a gradient."""
        with no_grad():
            return ops.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability of a value."""
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        value = value.to(_core.promote_types(value.dtype, logits.dtype))
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        """Return the entropy of each distribution, in nats."""
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return 0 and 1 along a new first dimension."""
        values = ops.arange(0.0, 1.0, 2, dtype=self._given.dtype)
        values = values.view(2, *[1] * len(self._batch_shape))
        return values.expand(2, *self._batch_shape) if expand else values
