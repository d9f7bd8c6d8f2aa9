"""Views as copies: what `x.view(...)` shows, in memory of its own."""

from __future__ import annotations

from typing import Any

from weft import _core
from weft._core import Tensor
from weft.functional.composite import composite
from weft.functional.joining import split
from weft.functional.shaping import as_strided, diagonal, narrow, unfold

ops = _core.ops


@composite()
def alias_copy(input: Tensor) -> Tensor:
    """Copy a tensor.

    Example:
        >>> import weft
        >>> x = weft.zeros(2)
        >>> weft.alias_copy(x).data_ptr() == x.data_ptr()
        False
    """
    return ops.clone(input)


@composite()
def as_strided_copy(
    input: Tensor, size: Any, stride: Any, storage_offset: int | None = None
) -> Tensor:
    """Copy what `as_strided` shows.

    Example:
        >>> import weft
        >>> weft.as_strided_copy(weft.arange(6), (3,), (2,))
        tensor([0, 2, 4])
    """
    return ops.clone(as_strided(input, size, stride, storage_offset))


@composite()
def detach_copy(input: Tensor) -> Tensor:
    """Copy a tensor without its history.

    Example:
        >>> import weft
        >>> weft.detach_copy(weft.ones(2, requires_grad=True)).requires_grad
        False
    """
    return ops.clone(input.detach())


@composite()
def diagonal_copy(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Copy what `diagonal` shows.

    Example:
        >>> import weft
        >>> weft.diagonal_copy(weft.tensor([[1, 2], [3, 4]]))
        tensor([1, 4])
    """
    return ops.clone(diagonal(input, offset, dim1, dim2))


@composite()
def expand_copy(input: Tensor, size: Any) -> Tensor:
    """Copy what `expand` shows.

    Example:
        >>> import weft
        >>> weft.expand_copy(weft.tensor([[1], [2]]), (2, 3)).stride()  # memory of its own
        (3, 1)
    """
    return ops.contiguous(ops.expand(input, size)).clone()


@composite()
def narrow_copy(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """Copy what `narrow` shows.

    Example:
        >>> import weft
        >>> weft.narrow_copy(weft.arange(5), 0, 1, 3)
        tensor([1, 2, 3])
    """
    return ops.clone(narrow(input, dim, int(start), length))


@composite()
def permute_copy(input: Tensor, dims: Any) -> Tensor:
    """Copy what `permute` shows.

    Example:
        >>> import weft
        >>> weft.permute_copy(weft.zeros(2, 3, 5), (2, 0, 1)).shape
        weft.Size([5, 2, 3])
    """
    return ops.clone(ops.permute(input, dims))


@composite()
def select_copy(input: Tensor, dim: int, index: int) -> Tensor:
    """Copy what `select` shows.

    Example:
        >>> import weft
        >>> weft.select_copy(weft.tensor([[1, 2], [3, 4]]), 0, 1)
        tensor([3, 4])
    """
    return ops.clone(ops.select(input, dim, index))


@composite()
def slice_copy(
    input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """Copy a part of a dimension.

    Example:
        >>> import weft
        >>> weft.slice_copy(weft.arange(6), 0, 1, 6, 2)
        tensor([1, 3, 5])
    """
    return ops.clone(ops.slice(input, dim, start or 0, end, step))


@composite()
def split_copy(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Copy the parts that `split` shows.

    Example:
        >>> import weft
        >>> weft.split_copy(weft.arange(5), 3)
        (tensor([0, 1, 2]), tensor([3, 4]))
    """
    return tuple(ops.clone(part) for part in split(input, split_size, dim))


@composite()
def split_with_sizes_copy(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Copy parts of given sizes.

    Example:
        >>> import weft
        >>> weft.split_with_sizes_copy(weft.arange(5), [1, 4])
        (tensor([0]), tensor([1, 2, 3, 4]))
    """
    return tuple(ops.clone(part) for part in split(input, list(split_sizes), dim))


@composite()
def squeeze_copy(input: Tensor, dim: Any = None) -> Tensor:
    """Copy what `squeeze` shows.

    Example:
        >>> import weft
        >>> weft.squeeze_copy(weft.zeros(1, 2, 1)).shape
        weft.Size([2])
    """
    return ops.clone(input.squeeze() if dim is None else input.squeeze(dim))


@composite()
def t_copy(input: Tensor) -> Tensor:
    """Copy what `t` shows.

    Example:
        >>> import weft
        >>> weft.t_copy(weft.tensor([[1, 2], [3, 4]]))
        tensor([[1, 3],
                [2, 4]])
    """
    return ops.clone(input.t())


@composite()
def transpose_copy(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Copy what `transpose` shows.

    Example:
        >>> import weft
        >>> weft.transpose_copy(weft.zeros(2, 3), 0, 1).shape
        weft.Size([3, 2])
    """
    return ops.clone(ops.transpose(input, dim0, dim1))


@composite()
def unbind_copy(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Copy the slices that `unbind` shows.

    Example:
        >>> import weft
        >>> weft.unbind_copy(weft.tensor([[1, 2], [3, 4]]))
        (tensor([1, 2]), tensor([3, 4]))
    """
    return tuple(ops.clone(part) for part in ops.unbind(input, dim))


@composite()
def unfold_copy(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Copy what `Tensor.unfold` shows.

    Example:
        >>> import weft
        >>> weft.unfold_copy(weft.arange(5), 0, 3, 2)
        tensor([[0, 1, 2],
                [2, 3, 4]])
    """
    return ops.clone(unfold(input, dimension, size, step))


@composite()
def unsqueeze_copy(input: Tensor, dim: int) -> Tensor:
    """Copy what `unsqueeze` shows.

    Example:
        >>> import weft
        >>> weft.unsqueeze_copy(weft.zeros(3), 0).shape
        weft.Size([1, 3])
    """
    return ops.clone(ops.unsqueeze(input, dim))


@composite()
def view_copy(input: Tensor, size: Any) -> Tensor:
    """Copy what `view` shows: a tensor of another shape, or of another dtype over the bytes.

    Example:
        >>> import weft
        >>> weft.view_copy(weft.zeros(2, 3), (6,)).shape
        weft.Size([6])
    """
    return ops.clone(input.view(size))


@composite()
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Cut a dimension into so many parts, as copies.

    Example:
        >>> import weft
        >>> weft.unsafe_chunk(weft.arange(4), 2)
        (tensor([0, 1]), tensor([2, 3]))
    """
    return tuple(ops.clone(part) for part in ops.chunk(input, chunks, dim))


@composite()
def unsafe_split(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Cut a dimension into parts of a size, as copies.

    Example:
        >>> import weft
        >>> weft.unsafe_split(weft.arange(5), 3)
        (tensor([0, 1, 2]), tensor([3, 4]))
    """
    return split_copy(input, split_size, dim)


@composite()
def unsafe_split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Cut a dimension into parts of given sizes, as copies.

    Example:
        >>> import weft
        >>> weft.unsafe_split_with_sizes(weft.arange(5), [1, 4])
        (tensor([0]), tensor([1, 2, 3, 4]))
    """
    return split_with_sizes_copy(input, split_sizes, dim)
