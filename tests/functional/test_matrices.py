"""Functions of matrices: what the op table cannot say."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import weft


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_exponential_at_any_scale(scale):
    a = np.random.default_rng(0).normal(size=(4, 4)) * scale
    expected = scipy.linalg.expm(a)
    found = weft.linalg.matrix_exp(weft.tensor(a)).numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def test_condition_of_a_singular_matrix_is_infinite():
    assert weft.linalg.cond(weft.ones(2, 2), 1).item() == float("inf")
    assert weft.linalg.cond(weft.zeros(0, 0)).item() == 0


@pytest.mark.parametrize("transpose", [False, True])
def test_reflections_of_batches_from_either_side(transpose):
    vectors, tau = weft.randn(2, 3, 3), weft.rand(2, 3)
    q = weft.linalg.householder_product(vectors, tau)
    turn = q.mT if transpose else q
    left, right = weft.randn(2, 3, 4), weft.randn(2, 4, 3)
    found = weft.ormqr(vectors, tau, left, transpose=transpose)
    assert weft.allclose(found, turn @ left, atol=1e-5)
    found = weft.ormqr(vectors, tau, right, left=False, transpose=transpose)
    assert weft.allclose(found, right @ turn, atol=1e-5)
