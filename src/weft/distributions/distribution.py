"""The base class of distributions, and what their arguments go through."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Self

from weft import _core
from weft._core import Tensor, ops
from weft._tensor import Size, tensor
from weft.autograd import no_grad
from weft.distributions.constraints import Constraint
from weft.functional.joining import broadcast_tensors

_default_validate_args = __debug__


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Turn numbers into tensors like the other arguments, and give all one shape.

    Args:
        values: Tensors and numbers.
    """
    for value in values:
        if not isinstance(value, (Tensor, int, float)):
            kind = type(value).__name__
            raise ValueError(f"Input arguments must all be Tensor or number, not {kind}")  # noqa: TRY004 - PyTorch's
    given = [value for value in values if isinstance(value, Tensor)]
    dtype = given[0].dtype if given else _core.get_default_dtype()
    made = [each if isinstance(each, Tensor) else tensor(each, dtype=dtype) for each in values]
    return tuple(broadcast_tensors(*made))


def as_shape(shape: Any) -> Size:
    """Return a shape that may be given as a number, as a sequence or as a shape."""
    return Size((shape,) if isinstance(shape, int) else shape)


class Distribution:
    """Base class of probability distributions.

    Arguments are checked when a distribution is made, and values by `log_prob`, unless
    `validate_args` is False. A check needs values: under `weft.lazy` and `weft.map`, where values
    come later, only `validate_args=True` checks.

    Args:
        batch_shape: The shape of the distributions that this object stands for.
        event_shape: The shape of one value.
        validate_args: Whether arguments are checked.

    Example:
        >>> import weft
        >>> from weft import distributions
        >>> normal = distributions.Normal(weft.zeros(3), 1.0)
        >>> isinstance(normal, distributions.Distribution), normal.batch_shape
        (True, weft.Size([3]))
    """

    has_rsample = False
    has_enumerate_support = False
    arg_constraints: Mapping[str, Constraint] = {}

    def __init__(
        self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None
    ) -> None:
        self._batch_shape = as_shape(batch_shape)
        self._event_shape = as_shape(event_shape)
        self._validate_args = validate_args
        if not self._is_validated:
            return
        for name, constraint in self.arg_constraints.items():
            value = vars(self).get(name)
            if isinstance(value, Tensor) and not bool(constraint.check(value.detach()).all()):
                raise ValueError(
                    f"Expected parameter {name} (Tensor of shape {tuple(value.shape)}) of "
                    f"distribution {self!r} to satisfy the constraint {constraint!r}, but found "
                    f"invalid values:\n{value}"
                )

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether distributions check their arguments if they are not told.

        Example:
            >>> from weft import distributions
            >>> distributions.Distribution.set_default_validate_args(True)
        """
        global _default_validate_args  # noqa: PLW0603 - PyTorch's switch is one for all
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args: expected a bool, not {value!r}")
        _default_validate_args = value

    @property
    def _is_validated(self) -> bool:
        if self._validate_args is not None:
            return self._validate_args
        return _default_validate_args and not _core.is_lazy()

    @property
    def batch_shape(self) -> Size:
        """The shape of the distributions that this object stands for."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one value."""
        return self._event_shape

    @property
    def support(self) -> Constraint:
        """The set of values that can be drawn."""
        raise NotImplementedError(f"{type(self).__name__} has no support")

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError(f"{type(self).__name__} has no mean")

    @property
    def mode(self) -> Tensor:
        """The value of the greatest probability or density."""
        raise NotImplementedError(f"{type(self).__name__} has no mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError(f"{type(self).__name__} has no variance")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draw values, without a gradient.

        Args:
            sample_shape: The shape of values for each distribution of the batch.

        Example:
            >>> import weft
            >>> from weft import distributions
            >>> _ = weft.manual_seed(0)
            >>> distributions.Normal(0.0, 1.0).sample((3,))
            tensor([ 1.5410, -0.2934, -2.1788])
        """
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draw values that are differentiable functions of the distribution's arguments.

        Args:
            sample_shape: The shape of values for each distribution of the batch.

        Example:
            >>> import weft
            >>> from weft import distributions
            >>> mean = weft.tensor(0.0, requires_grad=True)
            >>> distributions.Normal(mean, 1.0).rsample().backward()  # gradients flow through
            >>> mean.grad
            tensor(1.)
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no rsample: its values do not depend on its arguments "
            f"smoothly. Use sample() and log_prob() (the score function) instead."
        )

    def sample_n(self, n: int) -> Tensor:
        """Draw n values, without a gradient.

        Example:
            >>> from weft import distributions
            >>> distributions.Normal(0.0, 1.0).sample_n(3).shape
            weft.Size([3])
        """
        return self.sample((n,))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability or density at a value.

        Example:
            >>> import weft
            >>> from weft import distributions
            >>> distributions.Normal(0.0, 1.0).log_prob(weft.tensor([0.0, 1.0]))
            tensor([-0.9189, -1.4189])
        """
        raise NotImplementedError(f"{type(self).__name__} has no log_prob")

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of values up to this one.

        Example:
            >>> import weft
            >>> from weft import distributions
            >>> distributions.Normal(0.0, 1.0).cdf(weft.tensor([0.0, 1.96]))
            tensor([0.5000, 0.9750])
        """
        raise NotImplementedError(f"{type(self).__name__} has no cdf")

    def icdf(self, value: Tensor) -> Tensor:
        """Return the value up to which there is this probability.

        Example:
            >>> import weft
            >>> from weft import distributions
            >>> distributions.Normal(0.0, 1.0).icdf(weft.tensor([0.5, 0.975]))
            tensor([0.0000, 1.9600])
        """
        raise NotImplementedError(f"{type(self).__name__} has no icdf")

    def entropy(self) -> Tensor:
        """Return the entropy of each distribution, in nats.

        Example:
            >>> from weft import distributions
            >>> distributions.Uniform(0.0, 2.0).entropy()
            tensor(0.6931)
        """
        raise NotImplementedError(f"{type(self).__name__} has no entropy")

    def perplexity(self) -> Tensor:
        """Return the exponential of the entropy.

        Example:
            >>> import weft
            >>> from weft import distributions
            >>> distributions.Categorical(weft.ones(4)).perplexity()
            tensor(4.)
        """
        return ops.exp(self.entropy())

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all values of a discrete distribution along a new first dimension.

        Args:
            expand: Whether to repeat them for each distribution of the batch.

        Example:
            >>> import weft
            >>> from weft import distributions
            >>> distributions.Categorical(weft.ones(3)).enumerate_support()
            tensor([0, 1, 2])
        """
        raise NotImplementedError(f"{type(self).__name__} has no enumerate_support")

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        """Return the same distributions with a larger batch shape.

        Args:
            batch_shape: A shape that the present one can be broadcast to.

        Example:
            >>> from weft import distributions
            >>> distributions.Normal(0.0, 1.0).expand((3,)).batch_shape
            weft.Size([3])
        """
        wanted, present = as_shape(batch_shape), len(self._batch_shape)
        made = copy.copy(self)
        made._batch_shape = wanted
        for name in self.arg_constraints:
            value = vars(self).get(name)
            if isinstance(value, Tensor):
                vars(made)[name] = value.expand(*wanted, *value.shape[present:])
        for name, value in vars(self).items():
            if isinstance(value, Distribution):
                vars(made)[name] = value.expand((*wanted, *value.batch_shape[present:]))
        return made

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        return Size((*as_shape(sample_shape), *self._batch_shape, *self._event_shape))

    def _validate_sample(self, value: Any) -> None:
        """Refuse a value that the distribution cannot give."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")  # noqa: TRY004
        if not self._is_validated:
            return
        own = (*self._batch_shape, *self._event_shape)
        events = len(self._event_shape)
        pairs = zip(reversed(value.shape), reversed(own), strict=False)
        fits = all(given == size or 1 in (given, size) for given, size in pairs)
        if not fits or tuple(value.shape[value.ndim - events :]) != tuple(self._event_shape):
            raise ValueError(
                f"Value is not broadcastable with batch_shape + event_shape: its shape is "
                f"{tuple(value.shape)}, that of {type(self).__name__} is {own}."
            )
        if not bool(self.support.check(value.detach()).all()):
            raise ValueError(
                f"Expected value argument (Tensor of shape {tuple(value.shape)}) to be within the "
                f"support ({self.support!r}) of the distribution {self!r}, but found invalid "
                f"values:\n{value}"
            )

    def __repr__(self) -> str:
        def shown(value: Any) -> str:
            return f"{value}" if value.numel() == 1 else str(Size(value.shape))

        present = [name for name in self.arg_constraints if name in vars(self)]
        inner = ", ".join(f"{name}: {shown(vars(self)[name])}" for name in present)
        return f"{type(self).__name__}({inner})"
