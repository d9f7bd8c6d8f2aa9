"""Functions of matrices: powers, exponentials, reflections, condition."""

from __future__ import annotations

import math
from typing import Any, cast

from weft import _core
from weft._core import Tensor
from weft.functional.composite import named
from weft.functional.creation import arange
from weft.functional.factoring import identity, svdvals
from weft.functional.linear_algebra import matrix_norm
from weft.functional.row_by_row import row_by_row
from weft.functional.shaping import tril
from weft.functional.solving import inv

ops = _core.ops


def _require_square(A: Tensor) -> None:
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise _core.ShapeError(
            f"matrices(A): A must be a batch of square matrices, but is {tuple(A.shape)}."
        )


def _ones_for(A: Tensor) -> Tensor:
    """Return ones on the diagonal, which have a gradient for A: zero."""
    one = identity(A.shape[-2], A.shape[-1], A.dtype)
    return ops.where(ops.ones(A.shape, dtype=_core.bool), one, A)


@named
def matrix_power(A: Tensor, n: int) -> Tensor:
    """Multiply square matrices with themselves; a negative power is one of the inverse.

    Example:
        >>> import weft
        >>> weft.linalg.matrix_power(weft.tensor([[1.0, 1.0], [0.0, 1.0]]), 5)
        tensor([[1., 5.],
                [0., 1.]])
    """
    _require_square(A)
    if not isinstance(cast("Any", n), int):
        raise _core.DTypeError(f"matrix_power(A, n): n must be an int, not {type(n).__name__}.")
    power = (inv(A) if n < 0 else A).clone()
    result = None
    for place, bit in enumerate(reversed(f"{abs(n):b}")):
        power = ops.matmul(power, power) if place else power
        if bit == "1":
            result = power if result is None else ops.matmul(result, power)
    return _ones_for(A) if result is None else result


@named
@row_by_row
def matrix_exp(A: Tensor) -> Tensor:
    """Return the exponentials of square matrices, the sums of A^k / k!.

    Example:
        >>> import weft
        >>> weft.linalg.matrix_exp(weft.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """
    _require_square(A)
    size = A.shape[-1]
    one = identity(size, size, A.dtype)
    if A.numel() == 0:
        return A + one
    # e^A is e^(A / 2^n) squared n times; 18 terms are enough up to these norms.
    norm = ops.amax(ops.sum(ops.abs(A.detach()), [-1])).item()
    enough = 1.0 if A.dtype is _core.float64 else 3.0
    squarings = max(0, math.ceil(math.log2(norm / enough))) if 0 < norm < math.inf else 0
    small = A * 2.0**-squarings
    result = one + small / 18
    for k in range(17, 0, -1):
        result = one + ops.matmul(small, result) / k
    for _ in range(squarings):
        result = ops.matmul(result, result)
    return result


@named
def householder_product(A: Tensor, tau: Tensor) -> Tensor:
    """Return the first columns of a product of reflections I - tau_i v_i v_i.T.

    Args:
        A: (..., m, n); below the diagonal of column i stands v_i, which begins with a one.
        tau: (..., k), k at most n.

    Example:
        >>> import weft
        >>> weft.linalg.householder_product(weft.tensor([[1.0], [2.0]]), weft.tensor([0.5]))
        tensor([[ 0.5000],
                [-1.0000]])
    """
    if A.ndim < 2 or A.shape[-2] < A.shape[-1] or tau.ndim < 1 or tau.shape[-1] > A.shape[-1]:
        raise _core.ShapeError(
            "householder_product(A, tau): A must have at least as many rows as columns, and tau "
            f"at most as many elements; A is {tuple(A.shape)}, tau is {tuple(tau.shape)}."
        )
    rows, columns = A.shape[-2:]
    one = identity(rows, columns, A.dtype)
    vectors = tril(A, -1) + one
    result = one
    for i in range(tau.shape[-1] - 1, -1, -1):
        result = _reflected(vectors, tau, i, result)
    return _ones_for(A) if tau.shape[-1] == 0 else result


def _reflected(vectors: Tensor, tau: Tensor, i: int, matrices: Tensor) -> Tensor:
    """Return H_i times matrices."""
    v = ops.slice(vectors, -1, i, i + 1)
    scale = ops.slice(tau, -1, i, i + 1).unsqueeze(-1)
    return matrices - ops.matmul(v * scale, ops.matmul(ops.transpose(v, -2, -1), matrices))


def reflected(
    vectors: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False
) -> Tensor:
    """Multiply with the product of reflections that `householder_product` describes."""
    if not left:
        turned = reflected(vectors, tau, ops.transpose(other, -2, -1), True, not transpose)
        return ops.transpose(turned, -2, -1)
    rows = vectors.shape[-2]
    columns = tril(vectors, -1) + identity(rows, vectors.shape[-1], vectors.dtype)
    count = tau.shape[-1]
    for i in range(count) if transpose else range(count - 1, -1, -1):
        other = _reflected(columns, tau, i, other)
    return other


@named
def cond(A: Tensor, p: Any = None) -> Tensor:
    """Return the condition numbers of matrices: how much solutions amplify relative errors.

    Args:
        A: the matrices; square unless `p` is None, 2 or -2.
        p: the norm: None or 2, -2, "fro", "nuc", 1, -1, inf or -inf.

    Example:
        >>> import weft
        >>> weft.linalg.cond(weft.tensor([[4.0, 0.0], [0.0, 2.0]]))
        tensor(2.)
    """
    if p in (None, 2, -2):
        if 0 in A.shape[-2:]:
            return ops.zeros(A.shape[:-2], dtype=A.dtype)
        values = svdvals(A)
        largest, smallest = ops.select(values, -1, 0), ops.select(values, -1, -1)
        return smallest / largest if p == -2 else largest / smallest
    _require_square(A)
    result, info = ops.linalg_solve_ex(
        A, identity(A.shape[-1], A.shape[-1], A.dtype).expand(A.shape)
    )
    product = matrix_norm(A, p) * matrix_norm(result, p)
    return ops.where(ops.eq(info, 0), product, math.inf)


@named
def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Return the powers of each element, from 0 to N - 1, as rows of matrices.

    Args:
        x: (..., n).
        N: how many powers; n if not given.

    Example:
        >>> import weft
        >>> weft.linalg.vander(weft.tensor([2, 3]), N=3)
        tensor([[1, 2, 4],
                [1, 3, 9]])
    """
    x = x if x.ndim else x.reshape(1)
    powers = arange(x.shape[-1] if N is None else N)
    return ops.pow(x.unsqueeze(-1), powers.to(x.dtype))


@named
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Return the dot products of vectors along a dimension.

    Example:
        >>> import weft
        >>> weft.linalg.vecdot(weft.tensor([[1.0, 2.0], [3.0, 4.0]]), weft.tensor([1.0, 10.0]))
        tensor([21., 43.])
    """
    return ops.sum(ops.mul(x, y), [dim])
