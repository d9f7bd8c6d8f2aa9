"""Products, norms and distances that are made of other ops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from weft import _core
from weft._core import Tensor
from weft.functional.checks import wrap_dim
from weft.functional.composite import composite
from weft.functional.creation import arange
from weft.functional.joining import broadcast_shapes, broadcast_tensors
from weft.functional.reductions import vector_norm
from weft.functional.selection import repeat_interleave
from weft.functional.shaping import movedim, rolled

ops = _core.ops


@composite()
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Multiply each element of a vector with each of another.

    Example:
        >>> import weft
        >>> weft.outer(weft.tensor([1, 2]), weft.tensor([1, 10]))
        tensor([[ 1, 10],
                [ 2, 20]])
    """
    _require_ranks("outer", {"input": (input, 1), "vec2": (vec2, 1)})
    return input.unsqueeze(1) * vec2


def _require_ranks(name: str, arguments: dict[str, tuple[Tensor, int]]) -> None:
    for argument, (tensor, rank) in arguments.items():
        if tensor.ndim != rank:
            raise _core.ShapeError(
                f"{name}({', '.join(arguments)}): {argument} must have {rank} "
                f"dimension{'s' * (rank > 1)}, but is {tuple(tensor.shape)}"
            )


def _added(name: str, input: Tensor, product: Tensor, beta: Any, alpha: Any) -> Tensor:
    """Return beta * input + alpha * product; with beta 0 input counts for nothing, be it NaN."""
    shape = tuple(product.shape)
    try:
        fits = tuple(broadcast_shapes(tuple(input.shape), shape)) == shape
    except RuntimeError:
        fits = False
    if not fits:
        raise _core.ShapeError(
            f"{name}(): input must broadcast to the product's shape; input is "
            f"{tuple(input.shape)}, the product is {shape}"
        )
    scaled = product if alpha == 1 else product * alpha
    if beta == 0:
        return scaled
    return (input if beta == 1 else input * beta) + scaled


@composite("AddmmBackward0", in_place=True)
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return beta * input + alpha * (mat1 @ mat2).

    Example:
        >>> import weft
        >>> x = weft.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> weft.addmm(weft.ones(2), x, x, beta=10)
        tensor([[17., 20.],
                [25., 32.]])
    """
    if beta == 1 and alpha == 1:
        return ops.addmm(input, mat1, mat2)
    return _added("addmm", input, ops.mm(mat1, mat2), beta, alpha)


@composite("AddmvBackward0", in_place=True)
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return beta * input + alpha * (mat @ vec).

    Example:
        >>> import weft
        >>> weft.addmv(weft.ones(2), weft.eye(2), weft.tensor([3.0, 4.0]), alpha=2)
        tensor([7., 9.])
    """
    return _added("addmv", input, ops.mv(mat, vec), beta, alpha)


@composite("AddrBackward0", in_place=True)
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return beta * input + alpha * outer(vec1, vec2).

    Example:
        >>> import weft
        >>> weft.addr(weft.zeros(2, 2), weft.tensor([1.0, 2.0]), weft.tensor([1.0, 10.0]))
        tensor([[ 1., 10.],
                [ 2., 20.]])
    """
    return _added("addr", input, outer(vec1, vec2), beta, alpha)


@composite("BaddbmmBackward0", in_place=True)
def baddbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    """Return beta * input + alpha * bmm(batch1, batch2).

    Example:
        >>> import weft
        >>> weft.baddbmm(weft.zeros(4, 2, 5), weft.ones(4, 2, 3), weft.ones(4, 3, 5)).shape
        weft.Size([4, 2, 5])
    """
    return _added("baddbmm", input, ops.bmm(batch1, batch2), beta, alpha)


@composite("AddbmmBackward0", in_place=True)
def addbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    """Return beta * input + alpha * the sum of the products in a batch.

    Example:
        >>> import weft
        >>> weft.addbmm(weft.zeros(2, 5), weft.ones(4, 2, 3), weft.ones(4, 3, 5)).shape
        weft.Size([2, 5])
    """
    product = ops.sum(ops.bmm(batch1, batch2), [0], dtype=batch1.dtype)
    return _added("addbmm", input, product, beta, alpha)


def inner(input: Tensor, other: Tensor) -> Tensor:
    """Sum the products along the last dimensions of two tensors.

    Example:
        >>> import weft
        >>> weft.inner(weft.tensor([1, 2]), weft.tensor([3, 4]))
        tensor(11)
    """
    if input.ndim == 0 or other.ndim == 0:
        return ops.mul(input, other)
    return tensordot(input, other, ([-1], [-1]))


def vdot(input: Tensor, other: Tensor) -> Tensor:
    """Return the dot product of two vectors.

    Example:
        >>> import weft
        >>> weft.vdot(weft.tensor([1, 2]), weft.tensor([3, 4]))
        tensor(11)
    """
    return ops.dot(input, other)


def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Multiply two tensors and sum over pairs of their dimensions.

    Args:
        a: the left tensor.
        b: the right tensor.
        dims: how many of the last dimensions of `a` meet the first of `b`, or two lists of
            dimensions.

    Example:
        >>> import weft
        >>> weft.tensordot(weft.zeros(2, 3, 4), weft.zeros(4, 3, 5), dims=([1, 2], [1, 0])).shape
        weft.Size([2, 5])
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0 or dims > min(a.ndim, b.ndim):
            raise _core.ArgumentError(
                f"tensordot(): dims must be between 0 and the tensors' dimensions; dims is {dims}, "
                f"a is {tuple(a.shape)}, b is {tuple(b.shape)}."
            )
        left, right = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    else:
        left = [dim % a.ndim for dim in dims[0]]
        right = [dim % b.ndim for dim in dims[1]]
    for dim, other in zip(left, right, strict=False):  # a size of one meets any
        if a.shape[dim] == 1 != b.shape[other]:
            b = ops.sum(b, [other], True)
        elif b.shape[other] == 1 != a.shape[dim]:
            a = ops.sum(a, [dim], True)
    sizes = [a.shape[dim] for dim in left]
    if sizes != [b.shape[dim] for dim in right]:
        raise _core.ShapeError(
            f"tensordot(): the dimensions that are summed over must have equal sizes; a is "
            f"{tuple(a.shape)}, b is {tuple(b.shape)}, dims is {(left, right)}."
        )
    rest_left = [dim for dim in range(a.ndim) if dim not in left]
    rest_right = [dim for dim in range(b.ndim) if dim not in right]
    shape = [a.shape[dim] for dim in rest_left] + [b.shape[dim] for dim in rest_right]
    inner = math.prod(sizes)
    rows = math.prod(a.shape[dim] for dim in rest_left)
    columns = math.prod(b.shape[dim] for dim in rest_right)
    matrix = ops.permute(a, rest_left + left).reshape(rows, inner)
    other = ops.permute(b, right + rest_right).reshape(inner, columns)
    return ops.mm(matrix, other).reshape(shape)


def kron(input: Tensor, other: Tensor) -> Tensor:
    """Return the Kronecker product: `other`, scaled by each element of `input`.

    Example:
        >>> import weft
        >>> weft.kron(weft.tensor([1, 10]), weft.tensor([1, 2]))
        tensor([ 1,  2, 10, 20])
    """
    rank = max(input.ndim, other.ndim)
    left = [1] * (rank - input.ndim) + list(input.shape)
    right = [1] * (rank - other.ndim) + list(other.shape)
    wide_left = input.reshape([size for length in left for size in (length, 1)])
    wide_right = other.reshape([size for length in right for size in (1, length)])
    return (wide_left * wide_right).reshape([x * y for x, y in zip(left, right, strict=True)])


def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """Multiply a chain of matrices in the order that needs the fewest multiplications.

    The first and the last may be vectors.

    Example:
        >>> import weft
        >>> weft.linalg.multi_dot([weft.ones(2, 3), weft.ones(3, 4), weft.ones(4, 5)]).shape
        weft.Size([2, 5])
    """
    if len(tensors) < 2:
        raise _core.ArgumentError(
            f"multi_dot(): there must be at least 2 tensors; there are {len(tensors)}."
        )
    matrices = list(tensors)
    first_is_vector, last_is_vector = matrices[0].ndim == 1, matrices[-1].ndim == 1
    if first_is_vector:
        matrices[0] = matrices[0].unsqueeze(0)
    if last_is_vector:
        matrices[-1] = matrices[-1].unsqueeze(1)
    sizes = [matrix.shape[0] for matrix in matrices] + [matrices[-1].shape[1]]
    count = len(matrices)
    cost = [[0] * count for _ in range(count)]
    cut = [[0] * count for _ in range(count)]
    for span in range(1, count):
        for i in range(count - span):
            j = i + span
            options = [
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            ]
            cost[i][j], cut[i][j] = min(options)

    def product(i: int, j: int) -> Tensor:
        if i == j:
            return matrices[i]
        return ops.mm(product(i, cut[i][j]), product(cut[i][j] + 1, j))

    result = product(0, count - 1)
    if first_is_vector:
        result = result.squeeze(0)
    return result.squeeze(-1) if last_is_vector else result


def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """Return the cross product of vectors with 3 elements along a dimension.

    Example:
        >>> import weft
        >>> weft.cross(weft.tensor([1, 0, 0]), weft.tensor([0, 1, 0]), dim=0)
        tensor([0, 0, 1])
    """
    if input.shape[dim] != 3 or other.shape[dim] != 3:
        raise _core.ShapeError(
            f"cross(): both tensors must have size 3 in dim; input is {tuple(input.shape)}, "
            f"other is {tuple(other.shape)}, dim is {dim}."
        )
    return rolled(input, -1, dim) * rolled(other, 1, dim) - (
        rolled(input, 1, dim) * rolled(other, -1, dim)
    )


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return `input1 @ weight[k] @ input2 + bias[k]` for each k, over the last dimensions.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.bilinear(weft.ones(2, 3), weft.ones(2, 4), weft.ones(5, 3, 4)).shape
        weft.Size([2, 5])
    """
    # (..., i) x (k, i, j) x (..., j): first contract i, then sum over j.
    middle = tensordot(input1, weight, ([input1.ndim - 1], [1]))
    result = ops.sum(middle * input2.unsqueeze(-2), [-1])
    return result if bias is None else result + bias


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """Return the distances of all pairs of rows.

    Args:
        input: (N, M).
        p: the norm.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.pdist(weft.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))  # pairs 01, 02, 12
        tensor([5.0000, 1.0000, 4.2426])
    """
    if input.ndim != 2:
        raise _core.ShapeError(f"pdist(): input must have 2 dimensions; it is {input.ndim}.")
    count = input.shape[0]
    first = [i for i in range(count) for _ in range(i + 1, count)]
    second = [j for i in range(count) for j in range(i + 1, count)]
    rows = ops.index_select(input, 0, _core.tensor(first, _core.int64))
    others = ops.index_select(input, 0, _core.tensor(second, _core.int64))
    return vector_norm(rows - others, p, -1)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Mix values by how well their keys fit the queries.

    Args:
        query: (..., queries, features).
        key: (..., keys, features).
        value: (..., keys, value features).
        attn_mask: booleans (True takes part) or numbers that are added to the scores.
        dropout_p: the probability of dropping a weight.
        is_causal: whether a query sees only the keys up to its own place.
        scale: the factor of the scores; one over the root of the features if not given.
        enable_gqa: whether several query heads share a key head.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> query, memory = weft.zeros(2, 5, 8), weft.zeros(2, 7, 8)
        >>> F.scaled_dot_product_attention(query, memory, memory).shape
        weft.Size([2, 5, 8])
    """
    if is_causal and attn_mask is not None:
        raise _core.ArgumentError(
            "scaled_dot_product_attention(): attn_mask must be None when is_causal is True."
        )
    if enable_gqa:
        groups = query.shape[-3] // key.shape[-3]
        key = repeat_interleave(key, groups, -3)
        value = repeat_interleave(value, groups, -3)
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = ops.matmul(query * factor, ops.transpose(key, -2, -1))
    if is_causal:
        queries, keys = scores.shape[-2:]
        later = ops.gt(arange(keys), arange(queries).unsqueeze(1))
        scores = ops.masked_fill(scores, later, -math.inf)
    elif attn_mask is not None:
        if attn_mask.dtype == _core.bool:
            scores = ops.masked_fill(scores, ops.logical_not(attn_mask), -math.inf)
        else:
            scores = scores + attn_mask
    weights = ops.softmax(scores, -1)
    if dropout_p:
        weights = ops.dropout(weights, dropout_p)
    return ops.matmul(weights, value)


def norm(
    input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Tensor:
    """Return the norm of a tensor's elements.

    Args:
        input: the tensor.
        p: which norm; "fro" is the norm of order 2, "nuc" the sum of a matrix's singular values.
        dim: the dimensions; all of them if not given.
        keepdim: whether they stay with size one.
        dtype: convert to this first.

    Example:
        >>> import weft
        >>> x = weft.tensor([[3.0, 4.0]])
        >>> weft.norm(x)
        tensor(5.)
        >>> weft.norm(x, p=1, dim=1)
        tensor([7.])
    """
    if p == "nuc":
        return matrix_norm(input, "nuc", (0, 1) if dim is None else dim, keepdim, dtype=dtype)
    if p is None or p == "fro":
        p = 2.0
    elif isinstance(p, str):
        raise _core.ArgumentError(f"norm(): p must be a number, 'fro' or 'nuc', not {p!r}.")
    return vector_norm(input, p, dim, keepdim, dtype=dtype)


def matrix_norm(
    A: Tensor,
    ord: Any = "fro",
    dim: Any = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """Return the norm of matrices.

    Args:
        A: the tensor.
        ord: "fro", "nuc" (the sum of singular values), 2 or -2 (the largest, the smallest), 1,
            -1, inf or -inf.
        dim: the dimensions of the matrices.
        keepdim: whether they stay with size one.
        dtype: convert to this first.

    Example:
        >>> import weft
        >>> weft.linalg.matrix_norm(weft.tensor([[3.0, 0.0], [0.0, 4.0]]))
        tensor(5.)
    """
    axes: list[int] = [dim] if isinstance(dim, int) else list(dim)
    if A.ndim < 2 or len(axes) != 2:
        raise _core.ShapeError(
            f"matrix_norm(A): A must have 2 dimensions or more and dim must be two of them; A is "
            f"{tuple(A.shape)}, dim is {dim}."
        )
    x = A if dtype is None else A.to(dtype)
    if ord == "fro":
        return vector_norm(x, 2.0, dim, keepdim)
    rows, columns = (wrap_dim(axis, x.ndim) for axis in axes)
    if ord in ("nuc", 2, -2):
        values = ops.linalg_svd(movedim(x, (rows, columns), (-2, -1)), False)[1]
        chosen = {"nuc": ops.sum, 2: ops.amax, -2: ops.amin}[ord](values, [-1])
        for axis in sorted((rows, columns)) if keepdim else ():
            chosen = chosen.unsqueeze(axis)
        return chosen
    if ord not in (1, -1, math.inf, -math.inf):
        raise _core.ArgumentError(
            f"matrix_norm(A): ord must be 'fro', 'nuc', 2, -2, 1, -1, inf or -inf, not {ord!r}."
        )
    summed, chosen = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = ops.sum(ops.abs(x), [summed], True)
    extreme = ops.amax if ord > 0 else ops.amin
    result = extreme(sums, [chosen], True)
    return result if keepdim else ops.squeeze(result, [rows, columns])


def linalg_norm(
    A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """Return the norm of vectors or matrices.

    Args:
        A: the tensor.
        ord: which norm; the one of order 2 over all elements if not given.
        dim: one dimension for vectors, two for matrices; all if not given.
        keepdim: whether they stay with size one.
        dtype: convert to this first.

    Example:
        >>> import weft
        >>> weft.linalg.norm(weft.tensor([3.0, -4.0]), ord=1)
        tensor(7.)
    """
    if ord is None:
        return vector_norm(A, 2.0, dim, keepdim, dtype=dtype)
    if dim is None and A.ndim == 2:
        return matrix_norm(A, ord, (0, 1), keepdim, dtype=dtype)
    if dim is not None and not isinstance(dim, int) and len(dim) == 2:
        return matrix_norm(A, ord, dim, keepdim, dtype=dtype)
    return vector_norm(A, ord, dim, keepdim, dtype=dtype)


def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Tensor:
    """Divide vectors along a dimension by their norm, or by `eps` if that is larger.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.normalize(weft.tensor([[3.0, 4.0]]), dim=1)
        tensor([[0.6000, 0.8000]])
    """
    return input / ops.clamp(vector_norm(input, p, dim, True), eps)


def dist(input: Tensor, other: Tensor, p: float = 2.0) -> Tensor:
    """Return the norm of the difference of two tensors.

    Example:
        >>> import weft
        >>> weft.dist(weft.tensor([0.0, 0.0]), weft.tensor([3.0, 4.0]))
        tensor(5.)
    """
    return vector_norm(input - other, p)


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """Return the norms of differences along the last dimension, `eps` added to each element.

    Example:
        >>> import weft
        >>> weft.pairwise_distance(weft.tensor([[0.0, 0.0]]), weft.tensor([[3.0, 4.0]]))
        tensor([5.0000])
    """
    return vector_norm(x1 - x2 + eps, p, -1, keepdim)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Return the cosine of the angle between vectors along a dimension.

    Args:
        x1: vectors.
        x2: vectors.
        dim: where they lie.
        eps: the least length.

    Example:
        >>> import weft
        >>> weft.cosine_similarity(weft.tensor([[1.0, 0.0]]), weft.tensor([[1.0, 1.0]]))
        tensor([0.7071])
    """
    common = _core.promote_types(x1.dtype, x2.dtype)
    x1, x2 = (x if x.is_floating_point() else x.to(common) for x in (x1, x2))
    x1, x2 = broadcast_tensors(x1, x2)  # a dimension of vectors may be stretched too
    left = x1 / ops.clamp(vector_norm(x1, 2.0, dim, True), eps)
    right = x2 / ops.clamp(vector_norm(x2, 2.0, dim, True), eps)
    return ops.sum(left * right, [dim])


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "") -> Tensor:
    """Return the distances of each row of `x1` from each row of `x2`.

    Args:
        x1: (..., P, M).
        x2: (..., R, M).
        p: the norm.
        compute_mode: accepted for PyTorch programs; distances are always computed directly.

    Example:
        >>> import weft
        >>> weft.cdist(weft.tensor([[0.0, 0.0]]), weft.tensor([[3.0, 4.0], [0.0, 1.0]]))
        tensor([[5., 1.]])
    """
    del compute_mode
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1]:
        raise _core.ShapeError(
            f"cdist(): x1 and x2 must have 2 or more dimensions and equal last sizes; x1 is "
            f"{tuple(x1.shape)}, x2 is {tuple(x2.shape)}."
        )
    return vector_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)
