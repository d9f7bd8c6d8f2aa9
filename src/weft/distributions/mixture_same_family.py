"""Mixtures of distributions of one kind."""

from __future__ import annotations

from typing import Any

from weft._core import Tensor, ops
from weft.autograd import no_grad
from weft.distributions.categorical import Categorical
from weft.distributions.constraints import Constraint
from weft.distributions.distribution import Distribution, as_shape


class MixtureSameFamily(Distribution):
    """Values of one of several distributions, chosen at random.

    Args:
        mixture_distribution: Chooses; its classes are the components.
        component_distribution: The components, along the last batch dimension.
        validate_args: Whether arguments are checked.

    Example:
        >>> import weft
        >>> from weft.distributions import Categorical, MixtureSameFamily, Normal
        >>> two = Normal(weft.tensor([-1.0, 1.0]), weft.ones(2))
        >>> MixtureSameFamily(Categorical(weft.ones(2)), two).mean
        tensor(0.)
    """

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        shape = component_distribution.batch_shape
        if not shape or mixture_distribution.param_shape[-1] != shape[-1]:
            raise ValueError(
                f"MixtureSameFamily: the mixture has {mixture_distribution.param_shape[-1]} "
                f"components, and the components' batch shape is {tuple(shape)}."
            )
        self._mixture = mixture_distribution
        self._components = component_distribution
        super().__init__(shape[:-1], component_distribution.event_shape, validate_args)

    @property
    def mixture_distribution(self) -> Categorical:
        """What chooses."""
        return self._mixture

    @property
    def component_distribution(self) -> Distribution:
        """The components."""
        return self._components

    @property
    def support(self) -> Constraint:
        """The set of values that can be drawn."""
        return self._components.support

    def _weights(self) -> Tensor:
        probs = self._mixture.probs
        return probs.reshape(*probs.shape, *[1] * len(self._event_shape))

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return (self._weights() * self._components.mean).sum(-1 - len(self._event_shape))

    @property
    def variance(self) -> Tensor:
        """The variance."""
        dim = -1 - len(self._event_shape)
        inside = (self._weights() * self._components.variance).sum(dim)
        gap = self._components.mean - self.mean.unsqueeze(dim)
        return inside + (self._weights() * gap**2).sum(dim)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density at a value."""
        self._validate_sample(value)
        inner = self._components.log_prob(value.unsqueeze(-1 - len(self._event_shape)))
        return (inner + ops.log_softmax(self._mixture.logits, -1)).logsumexp(-1)

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of values up to this one."""
        inner = self._components.cdf(value.unsqueeze(-1 - len(self._event_shape)))
        return (inner * self._mixture.probs).sum(-1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draw values, without a gradient."""
        with no_grad():
            chosen = self._mixture.sample(sample_shape)
            drawn = self._components.sample(sample_shape)
            dim = len(as_shape(sample_shape)) + len(self._batch_shape)
            events = len(self._event_shape)
            index = chosen.reshape(*chosen.shape, *[1] * (events + 1))
            index = index.expand(*chosen.shape, 1, *self._event_shape)
            return drawn.gather(dim, index).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture},\n  {self._components})"
