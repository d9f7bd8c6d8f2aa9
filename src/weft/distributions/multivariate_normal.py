"""The normal distribution of vectors."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

from weft._core import Tensor, ops
from weft.autograd import enable_grad
from weft.distributions import constraints
from weft.distributions.constraints import Constraint
from weft.distributions.distribution import Distribution
from weft.functional.checks import broadcast_shapes
from weft.functional.shaping import diag_embed


def cholesky(matrix: Tensor) -> Tensor:
    """Return the lower triangular L with L @ L.mT equal to a positive definite matrix.

    One column at a time, of ops: meant for the few dimensions that such distributions have.

    Args:
        matrix: Positive definite matrices in the last two dimensions.
    """
    matrix = (matrix + matrix.mT) / 2  # so that the gradient is symmetric too
    size = matrix.shape[-1]
    columns: list[Tensor] = []
    for j in range(size):
        rest = matrix[..., j:, j]
        for done in columns:
            rest = rest - done[..., j:] * done[..., j : j + 1]
        column = rest / ops.sqrt(rest[..., :1])
        zeros = ops.zeros((*column.shape[:-1], j), dtype=column.dtype)
        columns.append(ops.cat([zeros, column], -1))
    return ops.stack(columns, -1)


def solve_lower(lower: Tensor, right: Tensor) -> Tensor:
    """Return X with lower @ X equal to `right`, row by row.

    Args:
        lower: Lower triangular matrices in the last two dimensions.
        right: Matrices.
    """
    rows: list[Tensor] = []
    for i in range(lower.shape[-1]):
        rest = right[..., i, :]
        for j, row in enumerate(rows):
            rest = rest - lower[..., i, j : j + 1] * row
        rows.append(rest / lower[..., i, i : i + 1])
    return ops.stack(rows, -2)


class MultivariateNormal(Distribution):
    """The normal distribution of vectors.

    Args:
        loc: The mean.
        covariance_matrix: A positive definite matrix.
        precision_matrix: Not supported; give one of the others.
        scale_tril: The lower triangular factor of the covariance, instead.
        validate_args: Whether arguments are checked.

    Example:
        >>> import weft
        >>> from weft.distributions import MultivariateNormal
        >>> policy = MultivariateNormal(weft.zeros(2), weft.diag(weft.tensor([1.0, 4.0])))
        >>> policy.log_prob(weft.zeros(2))
        tensor(-2.5310)
    """

    has_rsample = True
    arg_constraints = {  # noqa: RUF012
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if precision_matrix is not None:
            raise NotImplementedError(
                "MultivariateNormal: precision_matrix is not supported; give covariance_matrix or "
                "scale_tril"
            )
        given = covariance_matrix if covariance_matrix is not None else scale_tril
        if given is None or (covariance_matrix is not None and scale_tril is not None):
            raise ValueError(
                "MultivariateNormal: exactly one of covariance_matrix or scale_tril may be "
                "specified."
            )
        if loc.ndim < 1 or given.ndim < 2:
            raise ValueError(
                f"MultivariateNormal: loc must be at least one-dimensional and the matrix "
                f"two-dimensional; their shapes are {tuple(loc.shape)} and {tuple(given.shape)}."
            )
        batch = broadcast_shapes(loc.shape[:-1], given.shape[:-2])
        size = loc.shape[-1]
        self.loc = loc.expand(*batch, size)
        if covariance_matrix is not None:
            self.covariance_matrix = given.expand(*batch, size, size)
        else:
            self.scale_tril = given.expand(*batch, size, size)
        super().__init__(batch, (size,), validate_args)

    @cached_property
    def scale_tril(self) -> Tensor:
        """The lower triangular factor of the covariance."""
        with enable_grad():
            return cholesky(self.covariance_matrix)

    @cached_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        with enable_grad():
            return self.scale_tril @ self.scale_tril.mT

    @property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        ones = ops.ones(self._event_shape, dtype=self.loc.dtype)
        inverse = solve_lower(self.scale_tril, diag_embed(ones).expand_as(self.scale_tril))
        return inverse.mT @ inverse

    @property
    def support(self) -> Constraint:
        """The set of values that can be drawn."""
        return constraints.real_vector

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """The value of the greatest density."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variance of each part."""
        return (self.scale_tril**2).sum(-1)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draw values that are differentiable functions of the distribution's arguments."""
        drawn = ops.randn(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        return self.loc + (self.scale_tril @ drawn.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density at a value."""
        self._validate_sample(value)
        distance = solve_lower(self.scale_tril, (value - self.loc).unsqueeze(-1))
        squared = (distance.squeeze(-1) ** 2).sum(-1)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + squared) - self.half_log_det()

    def entropy(self) -> Tensor:
        """Return the entropy of each distribution, in nats."""
        constant = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return self.half_log_det() + constant

    def half_log_det(self) -> Tensor:
        """Return half the logarithm of the covariance's determinant.

        Example:
            >>> import weft
            >>> from weft import distributions
            >>> distributions.MultivariateNormal(weft.zeros(2), 4 * weft.eye(2)).half_log_det()
            tensor(1.3863)
        """
        return ops.log(self.scale_tril.diagonal(dim1=-2, dim2=-1)).sum(-1)
