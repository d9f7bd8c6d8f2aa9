"""Invertible functions whose volume change is known, for distributions of transformed values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from weft._core import Tensor, ops
from weft.distributions import constraints
from weft.distributions.constraints import Constraint
from weft.functional.facts import finfo

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "ComposeTransform",
    "ExpTransform",
    "PowerTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]


class Transform:
    """Base class of transforms: `t(x)` goes forward, `t.inv(y)` back.

    Subclasses define `_call`, `_inverse` and `log_abs_det_jacobian`.

    Args:
        cache_size: 1 keeps the last pair of values, so that going back gives the value itself.

    Attributes:
        bijective: whether each value comes from one value only.
        event_dim: how many of the last dimensions belong to one value.

    Example:
        >>> import weft
        >>> from weft import distributions as D
        >>> shift = D.AffineTransform(loc=1.0, scale=2.0)
        >>> shift(weft.tensor(3.0)), shift.inv(weft.tensor(7.0))
        (tensor(7.), tensor(3.))
    """

    bijective = False
    event_dim = 0
    domain: Constraint = constraints.real
    codomain: Constraint = constraints.real

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._last: tuple[Any, Any] = (None, None)

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} must define _call().")

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no inverse")

    def __call__(self, x: Tensor) -> Tensor:
        """Go forward."""
        if self._cache_size and x is self._last[0]:
            return self._last[1]
        y = self._call(x)
        if self._cache_size:
            self._last = (x, y)
        return y

    def back(self, y: Tensor) -> Tensor:
        """Go back.

        Example:
            >>> import weft
            >>> from weft import distributions as D
            >>> D.ExpTransform().back(weft.tensor(1.0))
            tensor(0.)
        """
        if self._cache_size and y is self._last[1]:
            return self._last[0]
        x = self._inverse(y)
        if self._cache_size:
            self._last = (x, y)
        return x

    @property
    def inv(self) -> Transform:
        """The inverse."""
        return _Inverse(self)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the logarithm of how much the transform stretches at x, where it gives y.

        Example:
            >>> import weft
            >>> from weft import distributions as D
            >>> x = weft.tensor(3.0)
            >>> D.ExpTransform().log_abs_det_jacobian(x, x.exp())
            tensor(3.)
        """
        raise NotImplementedError(f"{type(self).__name__} has no log_abs_det_jacobian")

    def forward_shape(self, shape: Any) -> Any:
        """Return the shape that values of a shape get.

        Example:
            >>> import weft
            >>> from weft import distributions as D
            >>> D.ExpTransform().forward_shape((2, 3))
            (2, 3)
        """
        return shape

    inverse_shape = forward_shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _Inverse(Transform):
    def __init__(self, transform: Transform) -> None:
        super().__init__()
        self._transform = transform
        self.bijective = transform.bijective
        self.event_dim = transform.event_dim
        self.domain, self.codomain = transform.codomain, transform.domain

    def __call__(self, x: Tensor) -> Tensor:
        return self._transform.back(x)

    def back(self, y: Tensor) -> Tensor:
        return self._transform(y)

    @property
    def inv(self) -> Transform:
        return self._transform

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._transform.log_abs_det_jacobian(y, x)

    def __repr__(self) -> str:
        return f"_InverseTransform({self._transform!r})"


class ComposeTransform(Transform):
    """Several transforms, the first one first.

    Args:
        parts: the transforms.
        cache_size: as of Transform.

    Example:
        >>> import weft
        >>> from weft import distributions as D
        >>> both = D.ComposeTransform([D.ExpTransform(), D.AffineTransform(0.0, 2.0)])
        >>> both(weft.tensor(0.0))
        tensor(2.)
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = list(parts)
        self.bijective = all(part.bijective for part in self.parts)
        self.event_dim = max((part.event_dim for part in self.parts), default=0)
        if self.parts:
            self.domain, self.codomain = self.parts[0].domain, self.parts[-1].codomain

    def _call(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def _inverse(self, y: Tensor) -> Tensor:
        for part in reversed(self.parts):
            y = part.back(y)
        return y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the sum of the parts'."""
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        total: Tensor = ops.zeros(())
        for i, part in enumerate(self.parts):
            own = part.log_abs_det_jacobian(values[i], values[i + 1])
            dims = self.event_dim - part.event_dim
            total = total + (own.sum(tuple(range(-dims, 0))) if dims else own)
        return total if self.parts else ops.zeros_like(x)

    def __repr__(self) -> str:
        return "ComposeTransform(\n    " + ",\n    ".join(map(repr, self.parts)) + "\n)"


identity_transform = ComposeTransform([])


class ExpTransform(Transform):
    """Maps x to exp(x).

    Example:
        >>> import weft
        >>> from weft import distributions as D
        >>> D.ExpTransform()(weft.tensor(0.0))
        tensor(1.)
    """

    bijective = True
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return ops.exp(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return ops.log(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return x."""
        del y
        return x


class PowerTransform(Transform):
    """Maps positive x to x ** exponent.

    Example:
        >>> import weft
        >>> from weft import distributions as D
        >>> D.PowerTransform(2.0)(weft.tensor(3.0))
        tensor(9.)
    """

    bijective = True
    domain = codomain = constraints.positive

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent = exponent

    def _call(self, x: Tensor) -> Tensor:
        return x**self.exponent

    def _inverse(self, y: Tensor) -> Tensor:
        return y ** (1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return log(|exponent * y / x|)."""
        return ops.log(ops.abs(self.exponent * y / x))


def _inside(y: Tensor) -> Tensor:
    """Keep values so far from 0 and 1 that their logarithms are finite."""
    limits = finfo(y.dtype)
    return y.clamp(min=limits.tiny, max=1 - limits.eps)


class SigmoidTransform(Transform):
    """Maps x to sigmoid(x).

    Example:
        >>> import weft
        >>> from weft import distributions as D
        >>> D.SigmoidTransform()(weft.tensor(0.0))
        tensor(0.5000)
    """

    bijective = True
    codomain = constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        return _inside(ops.sigmoid(x))

    def _inverse(self, y: Tensor) -> Tensor:
        y = _inside(y)
        return ops.log(y) - ops.log1p(-y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return log(y * (1 - y)), without loss of digits."""
        del y
        return -ops.softplus(-x) - ops.softplus(x)


class SoftplusTransform(Transform):
    """Maps x to log(1 + exp(x)).

    Example:
        >>> import weft
        >>> from weft import distributions as D
        >>> D.SoftplusTransform()(weft.tensor(0.0))
        tensor(0.6931)
    """

    bijective = True
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return ops.softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return ops.log(-ops.expm1(-y)) + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return log(sigmoid(x))."""
        del y
        return -ops.softplus(-x)


class TanhTransform(Transform):
    """Maps x to tanh(x).

    Example:
        >>> import weft
        >>> from weft import distributions as D
        >>> D.TanhTransform()(weft.tensor(1.0))
        tensor(0.7616)
    """

    bijective = True
    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        return ops.tanh(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return log(1 - y ** 2), without loss of digits."""
        del y
        return 2.0 * (math.log(2.0) - x - ops.softplus(-2.0 * x))


class AbsTransform(Transform):
    """Maps x to |x|; not invertible.

    Example:
        >>> import weft
        >>> from weft import distributions as D
        >>> D.AbsTransform()(weft.tensor(-2.0))
        tensor(2.)
    """

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return ops.abs(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """Maps x to loc + scale * x.

    Args:
        loc: what is added.
        scale: the factor.
        event_dim: how many of the last dimensions belong to one value.
        cache_size: as of Transform.

    Example:
        >>> import weft
        >>> from weft.distributions.transforms import AffineTransform
        >>> AffineTransform(1.0, 2.0).inv(weft.tensor(5.0))
        tensor(2.)
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc = loc
        self.scale = scale
        self.event_dim = event_dim

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return log(|scale|)."""
        del y
        size = self.scale.abs().log() if isinstance(self.scale, Tensor) else None
        if size is None:
            result = ops.full(x.shape, math.log(abs(self.scale)), dtype=x.dtype)
        else:
            result = size.expand(x.shape)
        return result.sum(tuple(range(-self.event_dim, 0))) if self.event_dim else result


class SoftmaxTransform(Transform):
    """Maps x to softmax(x) along the last dimension; not invertible, but log goes back.

    Example:
        >>> import weft
        >>> from weft import distributions as D
        >>> D.SoftmaxTransform()(weft.tensor([1.0, 1.0]))
        tensor([0.5000, 0.5000])
    """

    event_dim = 1
    codomain = constraints.simplex
    domain = constraints.real_vector

    def _call(self, x: Tensor) -> Tensor:
        return ops.softmax(x, -1)

    def _inverse(self, y: Tensor) -> Tensor:
        return ops.log(y)
