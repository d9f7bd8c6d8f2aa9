"""Factorisations: gradients of functions of one triangle, errors, and what no table can say."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import weft
from weft.autograd import gradcheck, gradgradcheck

RANDOM = np.random.default_rng(3)


def matrices(*shape: int) -> weft.Tensor:
    return weft.tensor(RANDOM.normal(size=shape), requires_grad=True)


def symmetric(x: weft.Tensor) -> weft.Tensor:
    return x + x.mT


def positive(x: weft.Tensor) -> weft.Tensor:
    return x @ x.mT + weft.eye(x.shape[-1], dtype=x.dtype)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: weft.linalg.cholesky(positive(x)),
        lambda x: weft.linalg.cholesky(positive(x), upper=True),
        lambda x: tuple(weft.linalg.eigh(symmetric(x))),
        lambda x: weft.linalg.eigh(symmetric(x), "U").eigenvectors,
        lambda x: weft.linalg.eigvalsh(symmetric(x)),
        lambda x: weft.linalg.pinv(symmetric(x), hermitian=True),
    ],
)
@pytest.mark.parametrize("shape", [(3, 3), (2, 2, 2)])
def test_gradients_of_symmetric_matrices(function, shape):
    x = matrices(*shape)
    assert gradcheck(function, (x,))
    assert gradgradcheck(function, (x,))


def test_a_singular_matrix_has_a_gradient_of_its_determinant():
    x = weft.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=weft.float64, requires_grad=True)
    weft.linalg.det(x).backward()
    np.testing.assert_allclose(x.grad, [[4.0, -2.0], [-2.0, 1.0]])


def test_a_matrix_of_lower_rank_has_a_gradient_of_its_pseudoinverse():
    left, right = matrices(4, 2), matrices(2, 3)
    assert gradcheck(lambda a, b: weft.linalg.pinv(a @ b), (left, right))
    assert gradgradcheck(lambda a, b: weft.linalg.pinv(a @ b), (left, right))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite(value):
    bad = weft.full((3, 3), value)
    values, vectors = weft.linalg.eigh(bad)
    assert values.isnan().all()
    assert vectors.isnan().all()
    assert weft.linalg.qr(bad).Q.isnan().all()
    with pytest.raises(weft.linalg.LinAlgError, match="NaN or infinite"):
        weft.linalg.svd(bad)
    with pytest.raises(weft.linalg.LinAlgError, match="positive definite"):
        weft.linalg.cholesky(bad)


def test_errors_name_the_matrix_of_a_batch():
    batch = weft.stack([weft.eye(2), -weft.eye(2)])
    with pytest.raises(weft.linalg.LinAlgError, match=r"cholesky\(\).*order 1.*matrix 1 of the"):
        weft.linalg.cholesky(batch)
    assert weft.linalg.cholesky_ex(batch).info.tolist() == [0, 1]
    with pytest.raises(weft.linalg.LinAlgError, match=r"singular.*matrix 0 of the batch"):
        weft.linalg.inv(weft.zeros(2, 2, 2))
    assert weft.linalg.inv_ex(weft.zeros(2, 2, 2)).info.tolist() == [1, 1]
    assert issubclass(weft.linalg.LinAlgError, RuntimeError)


def test_no_gradient_of_a_complete_q():
    x = matrices(3, 2)
    q, _ = weft.linalg.qr(x, "complete")
    with pytest.raises(RuntimeError, match="more rows than columns"):
        q.sum().backward()


@pytest.mark.parametrize("function", [weft.linalg.eig, weft.linalg.eigvals])
def test_complex_results_are_refused(function):
    with pytest.raises(NotImplementedError, match=r"complex.*linalg\.eigh"):
        function(weft.eye(2))


def test_pivots_out_of_range():
    with pytest.raises(IndexError, match="from 1 to 2, but one is 7"):
        weft.lu_unpack(weft.eye(2), weft.tensor([7, 2], dtype=weft.int32))


def test_pivot_must_be_true():
    with pytest.raises(NotImplementedError, match="pivot"):
        weft.linalg.lu_factor(weft.eye(2), pivot=False)


def test_large_batches_run_on_several_threads():
    a = RANDOM.normal(size=(200, 20, 20))
    np.testing.assert_allclose(weft.linalg.inv(weft.tensor(a)), np.linalg.inv(a), rtol=1e-7)


def test_one_bad_example_of_a_map_is_named():
    batch = weft.stack([weft.eye(2), weft.zeros(2, 2)])
    with pytest.raises(weft.linalg.LinAlgError, match="singular"), weft.lazy():
        weft.stack([weft.linalg.inv(one) for one in batch]).sum().item()


def test_without_openblas_the_first_call_says_what_to_install():
    program = """
import weft
weft._core.set_blas_path("/nowhere")
try:
    weft.linalg.inv(weft.eye(2))
except NotImplementedError as error:
    print(error)
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "install scipy-openblas32" in run.stdout


@pytest.mark.parametrize("side", ["L", "U"])
def test_eigh_reads_one_triangle(side: str) -> None:
    matrix = weft.tensor([[2.0, 1.0], [1.0, 2.0]])
    other = (0, 1) if side == "L" else (1, 0)
    matrix[other] = float("nan")
    assert weft.allclose(weft.linalg.eigh(matrix, side).eigenvalues, weft.tensor([1.0, 3.0]))


def test_factors_of_a_singular_matrix() -> None:
    with pytest.raises(weft.linalg.LinAlgError):
        weft.linalg.lu_factor(weft.zeros(2, 2))
    assert weft.linalg.lu_factor_ex(weft.zeros(2, 2)).info.item() == 1


@pytest.mark.parametrize("call", [weft.linalg.inv, weft.linalg.qr, weft.linalg.eigh])
def test_what_is_no_tensor(call: Any) -> None:
    with pytest.raises(TypeError, match=r"\(A\): A must be a Tensor, not str"):
        call("a")


@pytest.mark.parametrize("side", ["L", "U"])
def test_gradient_of_eigenvectors_is_symmetric(side: str) -> None:
    weft.manual_seed(0)
    a = weft.randn(4, 4, dtype=weft.float64)
    a = (a + a.mT).requires_grad_()
    values, vectors = weft.linalg.eigh(a, UPLO=side)
    weight = weft.randn(4, 4, dtype=weft.float64)
    ((vectors * vectors * weight).sum() + (values * weight[0]).sum()).backward()
    assert a.grad is not None
    assert weft.allclose(a.grad, a.grad.mT)
    # Along a symmetric change it is the slope.
    change = weight + weight.mT

    def loss(step: float) -> weft.Tensor:
        values, vectors = weft.linalg.eigh(a.detach() + step * change, UPLO=side)
        return (vectors * vectors * weight).sum() + (values * weight[0]).sum()

    slope = (loss(1e-5) - loss(-1e-5)) / 2e-5
    assert weft.allclose((a.grad * change).sum(), slope, rtol=1e-6)
