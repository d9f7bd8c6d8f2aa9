"""The categorical distribution: one of several classes."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

from weft import _core
from weft._core import Tensor, ops
from weft._tensor import Size
from weft.autograd import enable_grad, no_grad
from weft.distributions import constraints
from weft.distributions.bernoulli import check_one_given, clamp_probs
from weft.distributions.constraints import Constraint
from weft.distributions.distribution import Distribution, as_shape
from weft.functional.facts import finfo
from weft.functional.joining import broadcast_tensors


class Categorical(Distribution):
    """The distribution of the numbers of classes, from 0.

    Args:
        probs: The probabilities of the classes along the last dimension; they are divided by their
            sum.
        logits: Their logarithms, instead, but for a constant.
        validate_args: Whether arguments are checked.

    Example:
        >>> import weft
        >>> from weft.distributions import Categorical
        >>> policy = Categorical(logits=weft.zeros(4))
        >>> policy.entropy()
        tensor(1.3863)
        >>> policy.log_prob(policy.sample())
        tensor(-1.3863)
    """

    has_enumerate_support = True
    arg_constraints = {  # noqa: RUF012
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        check_one_given("Categorical", probs, logits)
        given = probs if probs is not None else logits
        name = "probs" if probs is not None else "logits"
        if not isinstance(given, Tensor) or given.ndim < 1:
            raise ValueError(f"Categorical: `{name}` parameter must be at least one-dimensional.")
        if probs is not None:
            self.probs = given / given.sum(-1, keepdim=True)
        else:
            self.logits = given - given.logsumexp(dim=-1, keepdim=True)
        self._num_events = given.shape[-1]
        super().__init__(given.shape[:-1], validate_args=validate_args)

    @cached_property
    def probs(self) -> Tensor:
        """The probabilities of the classes."""
        with enable_grad():  # whoever asks first may be `sample`
            return ops.softmax(self.logits, -1)

    @cached_property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        with enable_grad():
            return ops.log(clamp_probs(self.probs))

    @property
    def _given(self) -> Tensor:
        return vars(self)["probs" if "probs" in vars(self) else "logits"]

    @property
    def support(self) -> Constraint:
        """The set of values that can be drawn."""
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def param_shape(self) -> Any:
        """The shape of the argument."""
        return self._given.shape

    @property
    def mean(self) -> Tensor:
        """NaN: classes have no mean."""
        return ops.full(self._extended_shape(), math.nan, dtype=self._given.dtype)

    @property
    def mode(self) -> Tensor:
        """The likeliest class."""
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        """NaN: classes have no variance."""
        return self.mean

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draw numbers of classes."""
        shape = as_shape(sample_shape)
        count = math.prod(shape)
        if count == 0:
            return ops.zeros(self._extended_shape(shape), dtype=_core.int64)
        with no_grad():
            rows = self.probs.reshape(-1, self._num_events)
            drawn = ops.multinomial(rows, count, True)
            return drawn.T.reshape(self._extended_shape(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability of a class."""
        self._validate_sample(value)
        chosen, logits = broadcast_tensors(value.to(_core.int64).unsqueeze(-1), self.logits)
        return logits.gather(-1, chosen[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        """Return the entropy of each distribution, in nats."""
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all classes along a new first dimension."""
        values = ops.arange(0, 1, self._num_events, dtype=_core.int64)
        values = values.view(-1, *[1] * len(self._batch_shape))
        return values.expand(Size((-1, *self._batch_shape))) if expand else values
