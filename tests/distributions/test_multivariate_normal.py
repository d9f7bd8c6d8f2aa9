"""The normal distribution of vectors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import weft
from weft.distributions import MultivariateNormal
from weft.distributions.multivariate_normal import cholesky, solve_lower


def matrices() -> weft.Tensor:
    root = weft.randn(5, 4, 4, dtype=weft.float64)
    return root @ root.mT + weft.eye(4, dtype=weft.float64)


def test_cholesky_is_numpys() -> None:
    given = matrices()
    lower = cholesky(given)
    np.testing.assert_allclose(lower.numpy(), np.linalg.cholesky(given.numpy()), rtol=1e-9)
    right = weft.randn(5, 4, 2, dtype=weft.float64)
    np.testing.assert_allclose((lower @ solve_lower(lower, right)).numpy(), right.numpy())
    assert weft.autograd.gradcheck(cholesky, (given.requires_grad_(),))


def test_is_scipys() -> None:
    covariance = matrices()[0]
    mine = MultivariateNormal(weft.ones(4, dtype=weft.float64), covariance)
    theirs = stats.multivariate_normal([1] * 4, covariance.numpy())
    value = [0.1, 0.2, -0.3, 2.0]
    found = mine.log_prob(weft.tensor(value, dtype=weft.float64)).item()
    assert found == pytest.approx(theirs.logpdf(value))
    assert mine.entropy().item() == pytest.approx(theirs.entropy())


def test_one_matrix_is_given() -> None:
    with pytest.raises(ValueError, match="exactly one"):
        MultivariateNormal(weft.zeros(2))
    with pytest.raises(NotImplementedError, match="precision_matrix"):
        MultivariateNormal(weft.zeros(2), precision_matrix=weft.eye(2))
