"""Matrices as products of simpler ones: Cholesky, LU, QR, eigenvalues, singular values."""

from __future__ import annotations

from typing import Any, NoReturn

from weft import _core
from weft._core import Tensor
from weft.functional import return_types
from weft.functional.composite import named
from weft.functional.creation import arange
from weft.functional.shaping import tril, triu

ops = _core.ops


def identity(rows: int, columns: int, dtype: Any) -> Tensor:
    """Return a matrix with ones on its diagonal."""
    return ops.eq(arange(columns), arange(rows).unsqueeze(1)).to(dtype)


@named
def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """Return Cholesky factors, and where a matrix has none.

    Args:
        A: symmetric positive definite matrices; only the lower triangle is read.
        upper: whether to read the upper triangle and return the transposed factor.
        check_errors: whether a matrix without a factor is an error.

    Returns:
        `L`, and `info`: 0, or the order of the first minor that is not positive definite.

    Example:
        >>> import weft
        >>> L, info = weft.linalg.cholesky_ex(weft.tensor([[1.0, 0.0], [0.0, -1.0]]))
        >>> info  # the second minor is not positive
        tensor(2, dtype=weft.int32)
    """
    return return_types.linalg_cholesky_ex._make(
        ops.linalg_cholesky_ex(A, upper=upper, check_errors=check_errors)
    )


@named
def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """Factor symmetric positive definite matrices into L @ L.T, L lower triangular.

    Args:
        A: the matrices; only the lower triangle is read.
        upper: whether to read the upper triangle and return the transposed factor.

    Raises:
        LinAlgError: if a matrix is not positive definite.

    Example:
        >>> import weft
        >>> weft.linalg.cholesky(weft.tensor([[4.0, 2.0], [2.0, 5.0]]))
        tensor([[2., 0.],
                [1., 2.]])
    """
    return ops.linalg_cholesky_ex(A, upper=upper, check_errors=True)[0]


def _require_pivot(pivot: bool) -> None:
    if not pivot:
        raise _core.UnsupportedError("lu(A): pivot must be True.")


@named
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """Return LU factors in one matrix, the swapped rows, and where a matrix is singular.

    Args:
        A: the matrices.
        pivot: whether rows are swapped; must be True.
        check_errors: whether a singular matrix is an error.

    Example:
        >>> import weft
        >>> LU, pivots, info = weft.linalg.lu_factor_ex(weft.zeros(2, 2))
        >>> info  # the first pivot is zero
        tensor(1, dtype=weft.int32)
    """
    _require_pivot(pivot)
    return return_types.linalg_lu_factor_ex._make(
        ops.linalg_lu_factor_ex(A, check_errors=check_errors)
    )


@named
def lu_factor(A: Tensor, *, pivot: bool = True) -> Any:
    """Return LU factors in one matrix, for `lu_solve`, and the swapped rows.

    Args:
        A: the matrices.
        pivot: whether rows are swapped; must be True.

    Raises:
        LinAlgError: if a matrix is singular; `lu_factor_ex` and `lu` factor those, too.

    Example:
        >>> import weft
        >>> LU, pivots = weft.linalg.lu_factor(weft.tensor([[0.0, 1.0], [2.0, 3.0]]))
        >>> LU  # L below the diagonal, U above
        tensor([[2., 3.],
                [0., 1.]])
    """
    _require_pivot(pivot)
    return return_types.linalg_lu_factor(*ops.linalg_lu_factor_ex(A, check_errors=True)[:2])


@named
def lu(A: Tensor, *, pivot: bool = True) -> Any:
    """Factor matrices into P @ L @ U: a permutation, a lower and an upper triangle.

    Args:
        A: the matrices.
        pivot: whether rows are swapped; must be True.

    Example:
        >>> import weft
        >>> P, L, U = weft.linalg.lu(weft.tensor([[1.0, 2.0], [4.0, 4.0]]))
        >>> U
        tensor([[4., 4.],
                [0., 1.]])
    """
    _require_pivot(pivot)
    factors, pivots, _ = ops.linalg_lu_factor_ex(A)
    return return_types.linalg_lu(*unpacked(factors, pivots))


def unpacked(factors: Tensor, pivots: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return P, L and U from LU factors in one matrix and the swapped rows."""
    rows, columns = factors.shape[-2:]
    rank = min(rows, columns)
    left, right = ops.slice(factors, -1, 0, rank), ops.slice(factors, -2, 0, rank)
    lower = tril(left, -1) + identity(rows, rank, factors.dtype)
    order = ops.lu_permutation(pivots, rows)
    # Row i of A[order] is row order[i] of A, so column i of P has its one there.
    permutation = ops.eq(arange(rows).unsqueeze(1), order.unsqueeze(-2)).to(factors.dtype)
    return permutation, lower, triu(right)


@named
def qr(A: Tensor, mode: str = "reduced") -> Any:
    """Factor matrices into Q @ R: orthonormal columns times an upper triangle.

    Args:
        A: the matrices.
        mode: "reduced", "complete" (Q is square) or "r" (Q is empty).

    Example:
        >>> import weft
        >>> Q, R = weft.linalg.qr(weft.tensor([[3.0, 1.0], [4.0, 2.0]]))
        >>> weft.allclose(Q @ R, weft.tensor([[3.0, 1.0], [4.0, 2.0]]))
        True
    """
    Q, R = ops.linalg_qr(A, mode)
    return return_types.linalg_qr(ops.zeros([0], dtype=A.dtype) if mode == "r" else Q, R)


@named
def eigh(A: Tensor, UPLO: str = "L") -> Any:
    """Return the eigenvalues of symmetric matrices, rising, and the eigenvectors as columns.

    Args:
        A: the matrices.
        UPLO: which triangle is read: "L" for the lower, "U" for the upper.

    Raises:
        LinAlgError: if the algorithm did not converge.

    Example:
        >>> import weft
        >>> weft.linalg.eigh(weft.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
        tensor([1., 2.])
    """
    return return_types.linalg_eigh._make(ops.linalg_eigh(A, UPLO))


@named
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """Return the eigenvalues of symmetric matrices, rising; see `eigh`.

    Example:
        >>> import weft
        >>> weft.linalg.eigvalsh(weft.tensor([[2.0, 1.0], [1.0, 2.0]]))
        tensor([1., 3.])
    """
    return ops.linalg_eigh(A, UPLO)[0]


@named
def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """Factor matrices into U @ diag(S) @ Vh, with singular values S in falling order.

    Args:
        A: the matrices.
        full_matrices: whether U and Vh are square.
        driver: accepted for PyTorch programs; the algorithm is always LAPACK's gesdd.

    Raises:
        LinAlgError: if A has elements that are not finite, or the algorithm did not converge.

    Example:
        >>> import weft
        >>> weft.linalg.svd(weft.tensor([[0.0, 2.0], [1.0, 0.0]])).S
        tensor([2., 1.])
    """
    del driver
    return return_types.linalg_svd._make(ops.linalg_svd(A, full_matrices))


@named
def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """Return the singular values of matrices in falling order; see `svd`.

    Example:
        >>> import weft
        >>> weft.linalg.svdvals(weft.tensor([[0.0, 2.0], [3.0, 0.0]]))
        tensor([3., 2.])
    """
    del driver
    return ops.linalg_svd(A, False)[1]


@named
def eig(A: Tensor) -> NoReturn:
    """Refuse: eigenvalues of matrices that are not symmetric are complex.

    Example:
        >>> import weft
        >>> try:
        ...     weft.linalg.eig(weft.zeros(2, 2))
        ... except RuntimeError:
        ...     print("complex numbers are not there")
        complex numbers are not there
    """
    raise _core.UnsupportedError(
        f"eig(A): eigenvalues of matrices like A, {tuple(A.shape)}, are complex, which Weft has no "
        "dtype for; symmetric matrices have linalg.eigh."
    )


@named
def eigvals(A: Tensor) -> NoReturn:
    """Refuse: eigenvalues of matrices that are not symmetric are complex.

    Example:
        >>> import weft
        >>> try:
        ...     weft.linalg.eigvals(weft.zeros(2, 2))
        ... except RuntimeError:
        ...     print("complex numbers are not there")
        complex numbers are not there
    """
    eig(A)
