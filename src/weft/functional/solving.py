"""Linear systems: solutions, inverses, determinants, least squares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from weft import _core
from weft._core import Tensor
from weft.functional import return_types
from weft.functional.checks import wrap_dim
from weft.functional.composite import named
from weft.functional.creation import arange
from weft.functional.factoring import identity
from weft.functional.facts import finfo
from weft.functional.joining import broadcast_shapes
from weft.functional.shaping import diagonal

ops = _core.ops


def _swapped(matrices: Tensor) -> Tensor:
    return ops.transpose(matrices, -2, -1)


def _stretched(A: Tensor, B: Tensor) -> tuple[Tensor, Tensor]:
    """Give two batches of matrices the same leading sizes."""
    if A.ndim < 2 or B.ndim < 2 or A.shape[:-2] == B.shape[:-2]:
        return A, B
    leading = list(broadcast_shapes(tuple(A.shape[:-2]), tuple(B.shape[:-2])))
    return A.expand([*leading, *A.shape[-2:]]), B.expand([*leading, *B.shape[-2:]])


def _is_vector(A: Tensor, B: Tensor) -> bool:
    """Tell whether B counts as vectors: one dimension, or as many vectors as A has matrices."""
    return B.ndim == 1 or (A.ndim - 1 == B.ndim and A.shape[:-1] == B.shape)


@named
def solve_triangular(
    A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """Solve A @ X = B, where A is triangular.

    Args:
        A: the matrices, of which one triangle is read.
        B: the right-hand sides, as columns.
        upper: whether A is upper triangular, not lower.
        left: whether A stands left of X; otherwise X @ A = B is solved.
        unitriangular: whether the diagonal counts as ones and is not read.

    Example:
        >>> import weft
        >>> A = weft.tensor([[2.0, 0.0], [1.0, 1.0]])
        >>> weft.linalg.solve_triangular(A, weft.tensor([[4.0], [5.0]]), upper=False)
        tensor([[2.],
                [3.]])
    """
    return ops.linalg_solve_triangular(
        *_stretched(A, B), upper=upper, left=left, unitriangular=unitriangular
    )


def _solved(A: Tensor, B: Tensor, left: bool, check: bool) -> tuple[Tensor, Tensor]:
    if _is_vector(A, B):
        if not left:
            raise _core.ShapeError(
                f"solve(A, B): with left=False B must be matrices; A is {tuple(A.shape)}, B is "
                f"{tuple(B.shape)}."
            )
        result, info = _solved(A, B.unsqueeze(-1), True, check)
        return result.squeeze(-1), info
    if not left:
        result, info = _solved(_swapped(A), _swapped(B), True, check)
        return _swapped(result), info
    return ops.linalg_solve_ex(*_stretched(A, B), check_errors=check)


@named
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    """Solve linear systems, and tell which matrices are singular; see `solve`.

    Args:
        A: square matrices.
        B: the right-hand sides.
        left: whether A stands left of X.
        check_errors: whether a singular matrix is an error.

    Example:
        >>> import weft
        >>> result, info = weft.linalg.solve_ex(weft.eye(2) * 2, weft.ones(2))
        >>> result
        tensor([0.5000, 0.5000])
    """
    return return_types.linalg_solve_ex._make(_solved(A, B, left, check_errors))


@named
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """Solve the linear systems A @ X = B.

    Args:
        A: square matrices.
        B: the right-hand sides: vectors, or matrices of columns.
        left: whether A stands left of X; otherwise X @ A = B is solved.

    Raises:
        LinAlgError: if a matrix is singular.

    Example:
        >>> import weft
        >>> A = weft.tensor([[3.0, 1.0], [1.0, 2.0]])
        >>> weft.linalg.solve(A, weft.tensor([9.0, 8.0]))
        tensor([2., 3.])
    """
    return _solved(A, B, left, True)[0]


def _inverted(A: Tensor, check: bool) -> tuple[Tensor, Tensor]:
    size = A.shape[-1] if A.ndim else 0
    return ops.linalg_solve_ex(*_stretched(A, identity(size, size, A.dtype)), check_errors=check)


@named
def inv_ex(A: Tensor, *, check_errors: bool = False) -> Any:
    """Return inverses, and tell which matrices are singular.

    Args:
        A: square matrices.
        check_errors: whether a singular matrix is an error.

    Example:
        >>> import weft
        >>> inverse, info = weft.linalg.inv_ex(weft.zeros(2, 2))
        >>> info  # not 0: there is none
        tensor(1, dtype=weft.int32)
    """
    return return_types.linalg_inv_ex._make(_inverted(A, check_errors))


@named
def inv(A: Tensor) -> Tensor:
    """Return the inverses of square matrices.

    Raises:
        LinAlgError: if a matrix is singular.

    Example:
        >>> import weft
        >>> weft.linalg.inv(weft.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """
    return _inverted(A, True)[0]


@named
def lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False
) -> Tensor:
    """Solve A @ X = B with the factors of A that `lu_factor` gave.

    Args:
        LU: the factors.
        pivots: the swapped rows.
        B: the right-hand sides, as columns.
        left: whether A stands left of X.
        adjoint: whether A is to be transposed.

    Example:
        >>> import weft
        >>> LU, pivots = weft.linalg.lu_factor(weft.tensor([[2.0, 0.0], [0.0, 4.0]]))
        >>> weft.linalg.lu_solve(LU, pivots, weft.tensor([[2.0], [2.0]]))
        tensor([[1.0000],
                [0.5000]])
    """
    if not left:
        return _swapped(lu_solve(LU, pivots, _swapped(B), adjoint=not adjoint))
    factors, columns = _stretched(LU, B)
    order = ops.lu_permutation(pivots, LU.shape[-1]).unsqueeze(-1).expand(columns.shape)
    if not adjoint:
        lower = ops.linalg_solve_triangular(
            factors, ops.gather(columns, -2, order), upper=False, unitriangular=True
        )
        return ops.linalg_solve_triangular(factors, lower, upper=True)
    turned = _swapped(factors)
    upper = ops.linalg_solve_triangular(turned, columns, upper=False)
    result = ops.linalg_solve_triangular(turned, upper, upper=True, unitriangular=True)
    return ops.scatter(ops.zeros(columns.shape, dtype=B.dtype), -2, order, result)


# ---- determinants --------------------------------------------------------------------------------


def _factors(A: Tensor) -> tuple[Tensor, Tensor]:
    """Return the diagonal of U, and the sign of the permutation."""
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise _core.ShapeError(
            f"det(A): A must be a batch of square matrices, but is {tuple(A.shape)}."
        )
    LU, pivots, _ = ops.linalg_lu_factor_ex(A)
    swaps = ops.sum(ops.ne(pivots, arange(1, A.shape[-1] + 1, dtype=_core.int32)), [-1])
    return diagonal(LU, 0, -2, -1), (1 - 2 * ops.remainder(swaps, 2)).to(A.dtype)


@named
def det(A: Tensor) -> Tensor:
    """Return the determinants of square matrices.

    Example:
        >>> import weft
        >>> weft.linalg.det(weft.tensor([[2.0, 1.0], [0.0, 3.0]]))
        tensor(6.)
    """
    pivots, sign = _factors(A)
    return ops.prod(pivots, -1) * sign


@named
def slogdet(A: Tensor) -> Any:
    """Return the signs of determinants and the logarithms of their sizes.

    Example:
        >>> import weft
        >>> weft.linalg.slogdet(weft.tensor([[0.0, 2.0], [2.0, 0.0]])).sign
        tensor(-1.)
    """
    pivots, sign = _factors(A)
    signs = ops.prod(ops.sign(pivots), -1) * sign
    return return_types.linalg_slogdet(signs, ops.sum(ops.log(ops.abs(pivots)), [-1]))


# ---- rank and least squares ----------------------------------------------------------------------


def _cut(values: Tensor, A: Tensor, atol: Any, rtol: Any) -> Tensor:
    """Return below which size singular values count as zero."""
    if rtol is None:
        # As in PyTorch: whoever says an absolute size means that one.
        given = isinstance(atol, Tensor) or (atol is not None and atol > 0)
        rtol = 0.0 if given else max(A.shape[-2:]) * finfo(A.dtype).eps
    atol = 0.0 if atol is None else atol
    absolute, relative = (
        bound.unsqueeze(-1) if isinstance(bound, Tensor) else bound for bound in (atol, rtol)
    )
    largest = ops.amax(values, [-1], True) if values.shape[-1] else values
    return ops.maximum(largest * relative, ops.zeros((), dtype=values.dtype) + absolute).to(
        values.dtype
    )


def _sizes(A: Tensor, hermitian: bool) -> Tensor:
    if hermitian:
        return ops.abs(ops.linalg_eigh(A, "L")[0])
    return ops.linalg_svd(A, False)[1]


@named
def matrix_rank(
    A: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Tensor:
    """Return the ranks of matrices: how many singular values are not as good as zero.

    Args:
        A: the matrices.
        tol: the absolute bound, under its old name.
        hermitian: whether A is symmetric.
        atol: the absolute bound.
        rtol: the bound relative to the largest; the dtype's precision times the longer side if
            neither is given.

    Example:
        >>> import weft
        >>> weft.linalg.matrix_rank(weft.ones(3, 2))
        tensor(1)
    """
    if tol is not None:
        atol, rtol = tol, 0.0
    values = _sizes(A.detach(), hermitian)
    return ops.sum(ops.gt(values, _cut(values, A, atol, rtol)), [-1])


@named
def pinv(
    A: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Tensor:
    """Return the pseudoinverses of matrices.

    Args:
        A: the matrices.
        rcond: the relative bound, under its old name.
        hermitian: whether A is symmetric.
        atol: singular values up to this count as zero.
        rtol: the same, relative to the largest one.

    Example:
        >>> import weft
        >>> weft.linalg.pinv(weft.tensor([[1.0], [1.0]]))
        tensor([[0.5000, 0.5000]])
    """
    rtol = rcond if rtol is None else rtol
    fixed = A.detach()
    if hermitian:
        values, right = ops.linalg_eigh(fixed, "L")
        left = right
    else:
        left, values, turned = ops.linalg_svd(fixed, False)
        right = _swapped(turned)
    sizes = ops.abs(values)
    counts = ops.gt(sizes, _cut(sizes, A, atol, rtol))
    inverse = ops.where(counts, 1 / ops.where(counts, values, 1.0), 0.0)
    return ops.pinv_of(A, ops.matmul(right * inverse.unsqueeze(-2), _swapped(left)))


@named
def lstsq(A: Tensor, B: Tensor, rcond: Any = None, *, driver: str | None = None) -> Any:
    """Return the X with the smallest norm of A @ X - B, and of these the one of least norm.

    Args:
        A: (..., m, n).
        B: (..., m, k), or vectors (..., m).
        rcond: relative to the largest, singular values up to this count as zero.
        driver: what else is returned, as in PyTorch: "gelsy" the rank, "gelsd" and "gelss" the
            singular values too, "gels" neither. The algorithm is the same.

    Returns:
        `solution`, `residuals` (sums of squares, where A has more rows than columns and full
        rank, and not with "gelsy"), `rank` and `singular_values`.

    Example:
        >>> import weft
        >>> A = weft.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
        >>> weft.linalg.lstsq(A, weft.tensor([1.0, 3.0, 5.0])).solution
        tensor([1.0000, 2.0000])
    """
    driver = "gelsy" if driver is None else driver
    if driver not in ("gelsy", "gelsd", "gelss", "gels"):
        raise _core.ArgumentError(
            f"lstsq(A, B): driver must be 'gelsy', 'gelsd', 'gelss' or 'gels', not {driver!r}."
        )
    vectors = _is_vector(A, B)
    matrices, columns = _stretched(A, B.unsqueeze(-1) if vectors else B)
    rows, width = A.shape[-2:]
    solution = ops.matmul(pinv(matrices, rtol=rcond), columns)
    values = ops.linalg_svd(matrices.detach(), False)[1]
    rank = ops.sum(ops.gt(values, _cut(values, A, None, rcond)), [-1])
    residuals = ops.slice(solution.reshape(-1), 0, 0, 0)
    full = driver == "gels" or (driver != "gelsy" and bool(ops.all(ops.eq(rank, width))))
    if rows > width and full:
        off = ops.matmul(matrices, solution) - columns
        residuals = ops.sum(off * off, [-2])
    nothing = ops.zeros([0], dtype=A.dtype)
    return return_types.linalg_lstsq(
        solution.squeeze(-1) if vectors else solution,
        residuals,
        ops.zeros([0], dtype=_core.int64) if driver == "gels" else rank,
        values if driver in ("gelsd", "gelss") else nothing,
    )


# ---- systems of tensors --------------------------------------------------------------------------


@named
def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """Return the inverse of a tensor as a map: the first `ind` dimensions from the others.

    Args:
        A: a tensor whose first `ind` sizes have the same product as the others.
        ind: how many dimensions count as rows.

    Example:
        >>> import weft
        >>> weft.linalg.tensorinv(weft.eye(6).reshape(2, 3, 6)).shape
        weft.Size([6, 2, 3])
    """
    if ind <= 0:
        raise _core.ArgumentError(f"tensorinv(A): ind must be positive, but is {ind}.")
    first, rest = list(A.shape[:ind]), list(A.shape[ind:])
    return inv(A.reshape(math.prod(first), math.prod(rest))).reshape(rest + first)


@named
def tensorsolve(A: Tensor, B: Tensor, dims: Sequence[int] | None = None) -> Tensor:
    """Solve for the X with tensordot(A, X, X.ndim) = B.

    Args:
        A: a tensor with as many elements as B has, squared.
        B: the right-hand side; its sizes are A's first.
        dims: dimensions of A to move to its end before.

    Example:
        >>> import weft
        >>> weft.linalg.tensorsolve(weft.eye(6).reshape(2, 3, 6), weft.ones(2, 3))
        tensor([1., 1., 1., 1., 1., 1.])
    """
    moved = [wrap_dim(dim, A.ndim) for dim in dims or ()]
    tensor = ops.permute(A, [dim for dim in range(A.ndim) if dim not in moved] + moved)
    rest = list(tensor.shape[B.ndim :])
    rows = math.prod(tensor.shape[: B.ndim])
    return solve(tensor.reshape(rows, math.prod(rest)), B.reshape(-1)).reshape(rest)


def cholesky_solved(B: Tensor, L: Tensor, upper: bool) -> Tensor:
    """Solve A @ X = B with the Cholesky factor of A."""
    lower, columns = _stretched(_swapped(L) if upper else L, B)
    half = ops.linalg_solve_triangular(lower, columns, upper=False)
    return ops.linalg_solve_triangular(_swapped(lower), half, upper=True)
