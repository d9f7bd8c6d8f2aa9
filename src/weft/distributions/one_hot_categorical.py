"""Categorical distributions over vectors with one 1, and smooth ones near them."""

from __future__ import annotations

import math
from typing import Any

from weft._core import Tensor, ops
from weft.distributions import constraints
from weft.distributions.bernoulli import Bernoulli, clamp_probs
from weft.distributions.categorical import Categorical
from weft.distributions.constraints import Constraint
from weft.distributions.distribution import Distribution
from weft.distributions.transformed_distribution import TransformedDistribution
from weft.distributions.transforms import ExpTransform, SigmoidTransform
from weft.functional.selection import one_hot


def _log(number: Any) -> Any:
    return ops.log(number) if isinstance(number, Tensor) else math.log(number)


class _OverClasses(Distribution):
    """Keeps a Categorical whose classes are the last dimension of values."""

    arg_constraints = Categorical.arg_constraints

    def __init__(self, probs: Any, logits: Any, validate_args: bool | None) -> None:
        self.categorical = Categorical(probs, logits, validate_args=validate_args)
        shape = self.categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args)

    @property
    def probs(self) -> Tensor:
        """The probabilities of the classes."""
        return self.categorical.probs

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self.categorical.logits


class OneHotCategorical(_OverClasses):
    """The distribution of vectors that are 1 at a class and 0 elsewhere.

    Args:
        probs: The probabilities of the classes along the last dimension.
        logits: Their logarithms, instead.
        validate_args: Whether arguments are checked.

    Example:
        >>> import weft
        >>> from weft.distributions import OneHotCategorical
        >>> OneHotCategorical(weft.tensor([0.0, 1.0])).sample()
        tensor([0., 1.])
    """

    has_enumerate_support = True

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(probs, logits, validate_args)

    @property
    def support(self) -> Constraint:
        """The set of values that can be drawn."""
        return constraints.simplex

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.probs

    @property
    def mode(self) -> Tensor:
        """The likeliest vector."""
        return self._vectors(self.categorical.mode)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.probs * (1 - self.probs)

    def _vectors(self, classes: Tensor) -> Tensor:
        return one_hot(classes, self._event_shape[0]).to(self.probs.dtype)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draw vectors, without a gradient."""
        return self._vectors(self.categorical.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability of a vector."""
        self._validate_sample(value)
        return self.categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        """Return the entropy of each distribution, in nats."""
        return self.categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all vectors along a new first dimension."""
        return self._vectors(self.categorical.enumerate_support(expand))


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same, with the gradient of the probabilities.

    Example:
        >>> import weft
        >>> from weft import distributions as D
        >>> probs = weft.tensor([0.5, 0.5], requires_grad=True)
        >>> D.OneHotCategoricalStraightThrough(probs).rsample().requires_grad
        True
    """

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draw vectors whose gradient is that of the probabilities."""
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class _ExpRelaxed(_OverClasses):
    """The logarithms of relaxed vectors."""

    has_rsample = True

    def __init__(self, temperature: Any, probs: Any, logits: Any, validate_args: Any) -> None:
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)

    @property
    def support(self) -> Constraint:
        """The set of values that can be drawn."""
        return constraints.real_vector

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draw values that are differentiable functions of the distribution's arguments."""
        shape = self._extended_shape(sample_shape)
        uniform = clamp_probs(ops.rand(shape, dtype=self.logits.dtype))
        gumbel = -ops.log(-ops.log(uniform))
        scores = (self.logits + gumbel) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density at a value."""
        classes, warmth = self._event_shape[0], self.temperature
        score = self.logits - value * warmth
        score = (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1)
        return score + math.lgamma(classes) + (classes - 1) * _log(warmth)


class RelaxedOneHotCategorical(TransformedDistribution):
    """A smooth distribution near the vectors with one 1 (Gumbel-softmax).

    Args:
        temperature: How smooth: near 0 values are near vectors with one 1.
        probs: The probabilities of the classes along the last dimension.
        logits: Their logarithms, instead.
        validate_args: Whether arguments are checked.

    Example:
        >>> import weft
        >>> from weft import distributions as D
        >>> soft = D.RelaxedOneHotCategorical(weft.tensor(0.5), probs=weft.tensor([0.2, 0.8]))
        >>> soft.rsample().shape
        weft.Size([2])
    """

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        base = _ExpRelaxed(temperature, probs, logits, validate_args)
        self.temperature = temperature
        super().__init__(base, ExpTransform(), validate_args)

    @property
    def support(self) -> Constraint:
        """The set of values that can be drawn."""
        return constraints.simplex

    @property
    def probs(self) -> Tensor:
        """The probabilities of the classes."""
        return self.base_dist.probs  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self.base_dist.logits  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]


class _LogitRelaxed(Distribution):
    """The log-odds of relaxed values."""

    has_rsample = True

    def __init__(self, temperature: Any, probs: Any, logits: Any, validate_args: Any) -> None:
        self.temperature = temperature
        self._bernoulli = Bernoulli(probs, logits, validate_args=validate_args)
        super().__init__(self._bernoulli.batch_shape, validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        """The set of values that can be drawn."""
        return constraints.real

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draw values that are differentiable functions of the distribution's arguments."""
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self._bernoulli.probs.expand(shape))
        uniform = clamp_probs(ops.rand(shape, dtype=probs.dtype))
        odds = ops.log(uniform) - ops.log1p(-uniform) + ops.log(probs) - ops.log1p(-probs)
        return odds / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density at a value."""
        gap = self._bernoulli.logits - value * self.temperature
        return _log(self.temperature) + gap - 2 * ops.log1p(ops.exp(gap))


class RelaxedBernoulli(TransformedDistribution):
    """A smooth distribution between 0 and 1, near both.

    Args:
        temperature: How smooth: near 0 values are near 0 or 1.
        probs: The probability of 1.
        logits: Its log-odds, instead.
        validate_args: Whether arguments are checked.

    Example:
        >>> import weft
        >>> from weft import distributions as D
        >>> D.RelaxedBernoulli(weft.tensor(0.5), probs=weft.tensor([0.5])).rsample().shape
        weft.Size([1])
    """

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        base = _LogitRelaxed(temperature, probs, logits, validate_args)
        self.temperature = temperature
        super().__init__(base, SigmoidTransform(), validate_args)
