"""Linear algebra under the older names that stand in the package itself."""

from __future__ import annotations

from typing import Any

from weft import _core
from weft._core import Tensor
from weft.functional import factoring, matrices, return_types, solving
from weft.functional.composite import composite
from weft.functional.creation import arange
from weft.functional.factoring import identity
from weft.functional.linear_algebra import multi_dot
from weft.functional.shaping import tril, triu

ops = _core.ops


@composite("LinalgCholeskyExBackward0")
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """Factor positive definite matrices; see `linalg.cholesky`.

    Example:
        >>> import weft
        >>> weft.cholesky(weft.tensor([[4.0, 2.0], [2.0, 2.0]]))
        tensor([[2., 0.],
                [1., 1.]])
    """
    return factoring.cholesky(input, upper=upper)


@composite()
def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """Solve A @ X = input with the Cholesky factor `input2` of A.

    Example:
        >>> import weft
        >>> L = weft.tensor([[2.0, 0.0], [0.0, 1.0]])
        >>> weft.cholesky_solve(weft.tensor([[8.0], [3.0]]), L)
        tensor([[2.],
                [3.]])
    """
    return solving.cholesky_solved(input, input2, upper)


@composite()
def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:
    """Return the inverse of the matrices that have these Cholesky factors.

    Example:
        >>> import weft
        >>> weft.cholesky_inverse(weft.tensor([[2.0]]))
        tensor([[0.2500]])
    """
    size = input.shape[-1]
    whole = triu(input) if upper else tril(input)
    return solving.cholesky_solved(identity(size, size, input.dtype), whole, upper)


@composite()
def inverse(input: Tensor) -> Tensor:
    """Return the inverses of square matrices; see `linalg.inv`.

    Example:
        >>> import weft
        >>> weft.inverse(weft.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """
    return solving.inv(input)


@composite()
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """Return the pseudoinverses of matrices; see `linalg.pinv`.

    Example:
        >>> import weft
        >>> weft.pinverse(weft.tensor([[2.0], [0.0]]))
        tensor([[0.5000, 0.0000]])
    """
    return solving.pinv(input, rcond)


@composite()
def det(input: Tensor) -> Tensor:
    """Return the determinants of square matrices; see `linalg.det`.

    Example:
        >>> import weft
        >>> weft.det(weft.tensor([[2.0, 1.0], [0.0, 3.0]]))
        tensor(6.)
    """
    return solving.det(input)


@composite()
def slogdet(input: Tensor) -> Any:
    """Return the signs of determinants and the logarithms of their sizes.

    Example:
        >>> import weft
        >>> sign, logarithm = weft.slogdet(weft.tensor([[1.0, 2.0], [3.0, 4.0]]))
        >>> sign
        tensor(-1.)
    """
    return return_types.slogdet._make(solving.slogdet(input))


@composite()
def logdet(input: Tensor) -> Tensor:
    """Return the logarithms of determinants; NaN where one is negative.

    Example:
        >>> import weft
        >>> weft.logdet(weft.eye(3))
        tensor(0.)
    """
    sign, size = solving.slogdet(input)
    return ops.where(ops.lt(sign, 0), float("nan"), size)


@composite()
def qr(input: Tensor, some: bool = True) -> Any:
    """Factor matrices into Q @ R; see `linalg.qr`.

    Example:
        >>> import weft
        >>> Q, R = weft.qr(weft.tensor([[3.0], [4.0]]))
        >>> (Q @ R).tolist()
        [[3.0], [4.0]]
    """
    return return_types.qr._make(factoring.qr(input, "reduced" if some else "complete"))


@composite()
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """Factor matrices into U @ diag(S) @ V.T; see `linalg.svd`.

    Args:
        input: the matrices.
        some: whether U and V have only as many columns as there are singular values.
        compute_uv: whether U and V are wanted; they are zeros if not.

    Example:
        >>> import weft
        >>> U, S, V = weft.svd(weft.tensor([[3.0, 0.0], [0.0, 2.0]]))  # V, not its transpose
        >>> S
        tensor([3., 2.])
    """
    U, S, Vh = factoring.svd(input, not (some and compute_uv))
    if not compute_uv:
        return return_types.svd(ops.zeros_like(U), S, ops.zeros_like(Vh))
    return return_types.svd(U, S, ops.transpose(Vh, -2, -1))


@composite()
def matrix_power(input: Tensor, n: int) -> Tensor:
    """Multiply square matrices with themselves; see `linalg.matrix_power`.

    Example:
        >>> import weft
        >>> weft.matrix_power(weft.tensor([[1.0, 1.0], [0.0, 1.0]]), 3)
        tensor([[1., 3.],
                [0., 1.]])
    """
    return matrices.matrix_power(input, n)


@composite()
def matrix_exp(input: Tensor) -> Tensor:
    """Return the exponentials of square matrices; see `linalg.matrix_exp`.

    Example:
        >>> import weft
        >>> weft.matrix_exp(weft.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """
    return matrices.matrix_exp(input)


@composite()
def orgqr(input: Tensor, tau: Tensor) -> Tensor:
    """Return the first columns of a product of reflections; see `linalg.householder_product`.

    Example:
        >>> import weft
        >>> weft.orgqr(weft.tensor([[1.0], [0.0]]), weft.tensor([2.0]))
        tensor([[-1.],
                [ 0.]])
    """
    return matrices.householder_product(input, tau)


@composite()
def ormqr(
    input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False
) -> Tensor:
    """Multiply with a product of reflections, which `linalg.householder_product` describes.

    Args:
        input: the reflections' vectors.
        tau: their scales.
        other: the matrices to multiply.
        left: whether the product stands left of `other`.
        transpose: whether it is transposed.

    Example:
        >>> import weft
        >>> a, tau = weft.tensor([[1.0], [0.0]]), weft.tensor([2.0])
        >>> weft.ormqr(a, tau, weft.tensor([[3.0], [4.0]]))
        tensor([[-3.],
                [ 4.]])
    """
    return matrices.reflected(input, tau, other, left, transpose)


@composite()
def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> Any:
    """Solve A @ X = input, where A is triangular; see `linalg.solve_triangular`.

    Args:
        input: the right-hand sides, as columns.
        A: the matrices.
        upper: whether A is upper triangular.
        transpose: whether A is to be transposed.
        unitriangular: whether the diagonal counts as ones.

    Example:
        >>> import weft
        >>> A = weft.tensor([[2.0, 0.0], [1.0, 1.0]])
        >>> weft.triangular_solve(weft.tensor([[2.0], [3.0]]), A, upper=False).solution
        tensor([[1.],
                [2.]])
    """
    matrix, side = (ops.transpose(A, -2, -1), not upper) if transpose else (A, upper)
    result = solving.solve_triangular(matrix, input, upper=side, unitriangular=unitriangular)
    leading = [*result.shape[:-2], *A.shape[-2:]]
    return return_types.triangular_solve(result, A.expand(leading).clone())


@composite()
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False) -> tuple[Tensor, ...]:
    """Return LU factors in one matrix and the swapped rows; see `linalg.lu_factor`.

    Args:
        A: the matrices.
        pivot: whether rows are swapped; must be True.
        get_infos: whether to tell which matrices are singular.

    Example:
        >>> import weft
        >>> factors, pivots = weft.lu(weft.tensor([[0.0, 1.0], [2.0, 3.0]]))
        >>> pivots
        tensor([2, 2], dtype=weft.int32)
    """
    factors, pivots, info = factoring.lu_factor_ex(A, pivot=pivot)
    return (factors, pivots, info) if get_infos else (factors, pivots)


@composite()
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """Solve A @ X = input with the factors of A; see `linalg.lu_solve`.

    Example:
        >>> import weft
        >>> LU, pivots = weft.linalg.lu_factor(weft.tensor([[2.0, 0.0], [0.0, 4.0]]))
        >>> weft.lu_solve(weft.tensor([[2.0], [2.0]]), LU, pivots)
        tensor([[1.0000],
                [0.5000]])
    """
    return solving.lu_solve(LU_data, LU_pivots, input)


@composite()
def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    """Return P, L and U from the results of `linalg.lu_factor`.

    Args:
        LU_data: the factors in one matrix.
        LU_pivots: the swapped rows.
        unpack_data: whether L and U are wanted; they are empty if not.
        unpack_pivots: whether P is wanted.

    Example:
        >>> import weft
        >>> LU, pivots = weft.linalg.lu_factor(weft.tensor([[0.0, 1.0], [2.0, 3.0]]))
        >>> P, L, U = weft.lu_unpack(LU, pivots)
        >>> P @ L @ U
        tensor([[0., 1.],
                [2., 3.]])
    """
    P, L, U = factoring.unpacked(LU_data, LU_pivots)
    empty = ops.zeros([0], dtype=LU_data.dtype)
    return return_types.lu_unpack(
        P if unpack_pivots else empty, *((L, U) if unpack_data else (empty, empty))
    )


@composite()
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Return the powers of each element of a vector as rows, the highest first.

    Args:
        x: a vector.
        N: how many powers; as many as elements if not given.
        increasing: whether the lowest comes first.

    Example:
        >>> import weft
        >>> weft.vander(weft.tensor([2, 3]))
        tensor([[2, 1],
                [3, 1]])
    """
    result = ops.pow(x.unsqueeze(-1), arange(x.shape[0] if N is None else N).to(x.dtype))
    return result if increasing else ops.flip(result, [-1])


@composite()
def chain_matmul(*matrices: Tensor) -> Tensor:
    """Multiply a chain of matrices in the order that needs the fewest multiplications.

    Example:
        >>> import weft
        >>> weft.chain_matmul(weft.ones(2, 3), weft.ones(3, 4), weft.ones(4, 1)).shape
        weft.Size([2, 1])
    """
    return matrices[0].clone() if len(matrices) == 1 else multi_dot(matrices)
