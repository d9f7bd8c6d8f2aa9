"""What values an argument may have, or a distribution may give."""

from __future__ import annotations

from typing import Any

from weft._core import Tensor, ops

__all__ = [
    "Constraint",
    "boolean",
    "greater_than",
    "greater_than_eq",
    "independent",
    "integer_interval",
    "interval",
    "lower_cholesky",
    "nonnegative",
    "positive",
    "positive_definite",
    "real",
    "real_vector",
    "simplex",
    "unit_interval",
]


class Constraint:
    """A set of values.

    Attributes:
        is_discrete: Whether the values lie apart.
        event_dim: How many of the last dimensions belong to one value.

    Example:
        >>> import weft
        >>> from weft.distributions import constraints
        >>> constraints.unit_interval.check(weft.tensor([0.5, 2.0]))
        tensor([ True, False])
    """

    is_discrete = False
    event_dim = 0

    def check(self, value: Tensor) -> Tensor:
        """Tell of each value whether it is in the set.

        Example:
            >>> import weft
            >>> from weft.distributions import constraints
            >>> constraints.positive.check(weft.tensor([0.5, -2.0]))
            tensor([ True, False])
        """
        raise NotImplementedError

    def __repr__(self) -> str:
        return type(self).__name__.removeprefix("_") + "()"


class _Real(Constraint):
    def check(self, value: Tensor) -> Tensor:
        return ops.eq(value, value)  # not NaN


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return ops.logical_or(ops.eq(value, 0), ops.eq(value, 1))


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        is_one = ops.lt(ops.abs(value.sum(-1) - 1), 1e-5)  # float32 with thousands of classes
        return ops.logical_and(ops.ge(value, 0).all(-1), is_one)


class _LowerCholesky(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        is_lower = ops.eq(value.tril(), value).all(-1).all(-1)
        return ops.logical_and(is_lower, ops.gt(value.diagonal(dim1=-2, dim2=-1), 0).all(-1))


class _PositiveDefinite(Constraint):
    """Checked as far as it is cheap: symmetric, with a positive diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        is_near = ops.le(ops.abs(value - value.mT), 1e-6 + 1e-5 * ops.abs(value.mT))
        is_symmetric = is_near.all(-1).all(-1)
        return ops.logical_and(is_symmetric, ops.gt(value.diagonal(dim1=-2, dim2=-1), 0).all(-1))


class _Bounded(Constraint):
    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def __repr__(self) -> str:
        bounds = f"lower_bound={self.lower_bound}, upper_bound={self.upper_bound}"
        return f"{type(self).__name__}({bounds})"


class interval(_Bounded):  # noqa: N801 - PyTorch's name
    """Numbers from a lower bound to an upper bound, both included.

    Example:
        >>> import weft
        >>> from weft.distributions import constraints
        >>> constraints.interval(0, 10).check(weft.tensor([5.0, 20.0]))
        tensor([ True, False])
    """

    def check(self, value: Tensor) -> Tensor:
        """Tell of each value whether it is in the set."""
        return ops.logical_and(ops.ge(value, self.lower_bound), ops.le(value, self.upper_bound))


class integer_interval(_Bounded):  # noqa: N801
    """Whole numbers from a lower bound to an upper bound, both included.

    Example:
        >>> import weft
        >>> from weft.distributions import constraints
        >>> constraints.integer_interval(0, 10).check(weft.tensor([5.0, 5.5]))
        tensor([ True, False])
    """

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        """Tell of each value whether it is in the set."""
        inside = ops.logical_and(ops.ge(value, self.lower_bound), ops.le(value, self.upper_bound))
        is_whole = ops.eq(ops.floor(value), value) if value.is_floating_point() else True
        return inside if is_whole is True else ops.logical_and(inside, is_whole)


class greater_than(Constraint):  # noqa: N801
    """Numbers above a lower bound.

    Example:
        >>> import weft
        >>> from weft.distributions import constraints
        >>> constraints.greater_than(1).check(weft.tensor([1.0, 2.0]))
        tensor([False,  True])
    """

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        """Tell of each value whether it is in the set."""
        return ops.gt(value, self.lower_bound)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(lower_bound={self.lower_bound})"


class greater_than_eq(greater_than):  # noqa: N801
    """Numbers that are not below a lower bound.

    Example:
        >>> import weft
        >>> from weft.distributions import constraints
        >>> constraints.greater_than_eq(1).check(weft.tensor([1.0, 0.0]))
        tensor([ True, False])
    """

    def check(self, value: Tensor) -> Tensor:
        """Tell of each value whether it is in the set."""
        return ops.ge(value, self.lower_bound)


class independent(Constraint):  # noqa: N801
    """Values whose parts are all in another set.

    Args:
        base_constraint: The set of the parts.
        reinterpreted_batch_ndims: How many more of the last dimensions belong to one value.

    Example:
        >>> import weft
        >>> from weft.distributions import constraints
        >>> whole = constraints.independent(constraints.positive, 1)  # of all, at once
        >>> whole.check(weft.tensor([[1.0, 2.0], [1.0, -2.0]]))
        tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        self.is_discrete = base_constraint.is_discrete
        self.event_dim = base_constraint.event_dim + reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        """Tell of each value whether it is in the set."""
        result = self.base_constraint.check(value)
        for _ in range(min(self.reinterpreted_batch_ndims, result.ndim)):
            result = result.all(-1)
        return result


real = _Real()
real_vector = independent(real, 1)
boolean = _Boolean()
positive = greater_than(0.0)
nonnegative = greater_than_eq(0.0)
unit_interval = interval(0.0, 1.0)
simplex = _Simplex()
lower_cholesky = _LowerCholesky()
positive_definite = _PositiveDefinite()
