"""Linear algebra under PyTorch's names."""

from __future__ import annotations

from weft import _core
from weft._missing import explain_missing
from weft.functional.factoring import (
    cholesky,
    cholesky_ex,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    lu,
    lu_factor,
    lu_factor_ex,
    qr,
    svd,
    svdvals,
)
from weft.functional.linear_algebra import cross, linalg_norm, matrix_norm, multi_dot
from weft.functional.matrices import (
    cond,
    householder_product,
    matrix_exp,
    matrix_power,
    vander,
    vecdot,
)
from weft.functional.reductions import vector_norm
from weft.functional.shaping import diagonal as _diagonal
from weft.functional.solving import (
    det,
    inv,
    inv_ex,
    lstsq,
    lu_solve,
    matrix_rank,
    pinv,
    slogdet,
    solve,
    solve_ex,
    solve_triangular,
    tensorinv,
    tensorsolve,
)

LinAlgError = _core.LinAlgError
norm = linalg_norm
matmul = _core.ops.matmul


def diagonal(A: _core.Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> _core.Tensor:
    """Return a view of the diagonals of matrices; see `weft.diagonal`.

    Example:
        >>> import weft
        >>> weft.linalg.diagonal(weft.tensor([[[1, 2], [3, 4]]]))  # of the last two dimensions
        tensor([[1, 4]])
    """
    return _diagonal(A, offset, dim1, dim2)


__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]

explain_missing(__name__)
