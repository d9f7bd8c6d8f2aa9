"""Join tensors, and cut them in PyTorch's ways."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations as choices_without
from itertools import combinations_with_replacement
from math import comb
from typing import Any

from weft import _core
from weft._core import Tensor
from weft.functional.checks import broadcast_shapes
from weft.functional.shaping import pad

ops = _core.ops


def _listed(tensors: Any) -> list[Tensor]:
    """Take tensors as separate arguments or as one list."""
    if len(tensors) == 1 and isinstance(tensors[0], list | tuple):
        tensors = tensors[0]
    return list(tensors)


def _each(tensors: Any, function: Any) -> Any:
    """Apply a function to one tensor, or to each of several."""
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return function(tensors[0])
    return tuple(function(tensor) for tensor in _listed(tensors))


def _at_least_1d(tensor: Tensor) -> Tensor:
    return tensor.reshape(1) if tensor.ndim == 0 else tensor


def _at_least_2d(tensor: Tensor) -> Tensor:
    if tensor.ndim == 0:
        return tensor.reshape(1, 1)
    return tensor.unsqueeze(0) if tensor.ndim == 1 else tensor


def _at_least_3d(tensor: Tensor) -> Tensor:
    if tensor.ndim == 0:
        return tensor.reshape(1, 1, 1)
    if tensor.ndim == 1:
        return tensor.unsqueeze(0).unsqueeze(-1)
    return tensor.unsqueeze(-1) if tensor.ndim == 2 else tensor


def atleast_1d(*tensors: Any) -> Any:
    """Give tensors without dimensions one of size 1.

    Example:
        >>> import weft
        >>> weft.atleast_1d(weft.tensor(5))
        tensor([5])
    """
    return _each(tensors, _at_least_1d)


def atleast_2d(*tensors: Any) -> Any:
    """Give tensors with fewer than 2 dimensions new ones of size 1 in front.

    Example:
        >>> import weft
        >>> weft.atleast_2d(weft.tensor([1, 2])).shape
        weft.Size([1, 2])
    """
    return _each(tensors, _at_least_2d)


def atleast_3d(*tensors: Any) -> Any:
    """Give tensors with fewer than 3 dimensions new ones of size 1.

    Example:
        >>> import weft
        >>> weft.atleast_3d(weft.tensor([1, 2])).shape
        weft.Size([1, 2, 1])
    """
    return _each(tensors, _at_least_3d)


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join along the second dimension; vectors along the first.

    Example:
        >>> import weft
        >>> weft.hstack([weft.zeros(2, 1), weft.zeros(2, 3)]).shape
        weft.Size([2, 4])
    """
    parts = [_at_least_1d(tensor) for tensor in tensors]
    return ops.cat(parts, 0 if parts[0].ndim == 1 else 1)


def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join along the first dimension; vectors become rows.

    Example:
        >>> import weft
        >>> weft.vstack([weft.tensor([1, 2]), weft.tensor([3, 4])])
        tensor([[1, 2],
                [3, 4]])
    """
    return ops.cat([_at_least_2d(tensor) for tensor in tensors], 0)


def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join along the third dimension.

    Example:
        >>> import weft
        >>> weft.dstack([weft.zeros(2, 3), weft.zeros(2, 3)]).shape
        weft.Size([2, 3, 2])
    """
    return ops.cat([_at_least_3d(tensor) for tensor in tensors], 2)


def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Join along the second dimension; vectors become columns.

    Example:
        >>> import weft
        >>> weft.column_stack([weft.tensor([1, 2]), weft.tensor([3, 4])])
        tensor([[1, 3],
                [2, 4]])
    """
    parts = [
        tensor.reshape(tensor.numel(), 1) if tensor.ndim <= 1 else tensor for tensor in tensors
    ]
    return ops.cat(parts, 1)


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Expand tensors to their common shape, without copies.

    Example:
        >>> import weft
        >>> x, y = weft.broadcast_tensors(weft.zeros(2, 1), weft.zeros(3))
        >>> x.shape, y.shape
        (weft.Size([2, 3]), weft.Size([2, 3]))
    """
    several = _listed(tensors)
    shape = broadcast_shapes(*(tensor.shape for tensor in several))
    return tuple(tensor.expand(shape) for tensor in several)


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Make grids of coordinates from vectors.

    Args:
        tensors: one vector for each dimension.
        indexing: "ij" for matrices, "xy" to swap the first two dimensions.

    Example:
        >>> import weft
        >>> rows, columns = weft.meshgrid(weft.arange(2), weft.arange(3), indexing="ij")
        >>> rows
        tensor([[0, 0, 0],
                [1, 1, 1]])
    """
    several = [_at_least_1d(tensor) for tensor in _listed(tensors)]
    if indexing not in ("ij", "xy"):
        raise _core.ArgumentError(f"meshgrid(): indexing must be 'ij' or 'xy', not {indexing!r}.")
    swap = indexing == "xy" and len(several) > 1
    if swap:
        several[:2] = several[1::-1]
    sizes = [tensor.numel() for tensor in several]
    grids: list[Tensor] = []
    for i, tensor in enumerate(several):
        shape = [1] * len(several)
        shape[i] = sizes[i]
        grids.append(tensor.reshape(shape).expand(sizes))
    if swap:
        grids[:2] = grids[1::-1]
    return tuple(grids)


def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Return all combinations of elements, one from each vector.

    Example:
        >>> import weft
        >>> weft.cartesian_prod(weft.tensor([1, 2]), weft.tensor([5, 6]))
        tensor([[1, 5],
                [1, 6],
                [2, 5],
                [2, 6]])
    """
    if len(tensors) == 1:
        return tensors[0]
    return ops.stack([grid.reshape(-1) for grid in meshgrid(*tensors)], 1)


def block_diag(*tensors: Tensor) -> Tensor:
    """Put matrices along the diagonal of a larger one.

    Example:
        >>> import weft
        >>> weft.block_diag(weft.tensor([[1]]), weft.tensor([[2, 3]]))
        tensor([[1, 0, 0],
                [0, 2, 3]])
    """
    blocks = [_at_least_2d(tensor) for tensor in tensors]
    width = sum(block.shape[1] for block in blocks)
    rows: list[Tensor] = []
    start = 0
    for block in blocks:
        after = width - start - block.shape[1]
        rows.append(pad(block, [start, after]))
        start += block.shape[1]
    return ops.cat(rows, 0)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Return all choices of `r` elements of a vector, in order.

    Example:
        >>> import weft
        >>> weft.combinations(weft.tensor([1, 2, 3]))
        tensor([[1, 2],
                [1, 3],
                [2, 3]])
    """
    if input.ndim != 1:
        raise _core.ShapeError(
            f"combinations(input): input must be a vector; input is {tuple(input.shape)}."
        )
    if r < 0:
        raise _core.ArgumentError(f"combinations(): r must not be negative, got {r}.")
    count = input.numel()
    most = comb(count + r - 1, r) if with_replacement and count else comb(count, r)
    if most * max(r, 1) > 1 << 28:
        raise _core.OutOfMemoryError(f"combinations(): there are {most} of them")
    choose = combinations_with_replacement if with_replacement else choices_without
    chosen = list(choose(range(count), r))
    index = _core.tensor([place for choice in chosen for place in choice], _core.int64)
    return ops.index_select(input, 0, index).reshape(len(chosen), r)


def split(input: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Cut into views of one size, or of the given sizes.

    Args:
        input: the tensor.
        split_size_or_sections: the size of each part (the last may be smaller), or all sizes.
        dim: the dimension that is cut.

    Example:
        >>> import weft
        >>> x = weft.arange(5)
        >>> weft.split(x, 2)  # the size of each part
        (tensor([0, 1]), tensor([2, 3]), tensor([4]))
        >>> weft.split(x, [1, 4])  # or all sizes
        (tensor([0]), tensor([1, 2, 3, 4]))
    """
    if isinstance(split_size_or_sections, int):
        return ops.split(input, split_size_or_sections, dim)
    return ops.split_with_sizes(input, list(split_size_or_sections), dim)


def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Cut into a number of parts whose sizes differ by at most one, or at the given indices.

    Example:
        >>> import weft
        >>> weft.tensor_split(weft.arange(5), 2)  # the number of parts
        (tensor([0, 1, 2]), tensor([3, 4]))
    """
    if isinstance(indices_or_sections, Tensor):
        indices_or_sections = indices_or_sections.tolist()
    size = input.shape[dim]
    if isinstance(indices_or_sections, int):
        count = indices_or_sections
        if count <= 0:
            raise _core.ArgumentError(
                f"tensor_split(): indices_or_sections must be positive; it is {count}."
            )
        if count > size + 65_536:
            raise _core.ArgumentError(
                f"tensor_split(): {count} parts are too many for a size of {size}."
            )
        base, more = divmod(size, count)
        cuts = [i * base + min(i, more) for i in range(1, count)]
    else:
        cuts = list(indices_or_sections)
    starts, ends = [0, *cuts], [*cuts, size]
    return tuple(
        ops.slice(input, dim, start, max(start, end) if end >= 0 else end)
        for start, end in zip(starts, ends, strict=True)
    )


def hsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Cut along the second dimension; vectors along the first.

    Example:
        >>> import weft
        >>> [part.shape for part in weft.hsplit(weft.zeros(2, 4), 2)]
        [weft.Size([2, 2]), weft.Size([2, 2])]
    """
    return tensor_split(input, indices_or_sections, 0 if input.ndim == 1 else 1)


def vsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Cut along the first dimension.

    Example:
        >>> import weft
        >>> [part.shape for part in weft.vsplit(weft.zeros(4, 2), [1])]
        [weft.Size([1, 2]), weft.Size([3, 2])]
    """
    return tensor_split(input, indices_or_sections, 0)


def dsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Cut along the third dimension.

    Example:
        >>> import weft
        >>> [part.shape for part in weft.dsplit(weft.zeros(1, 2, 4), 2)]
        [weft.Size([1, 2, 2]), weft.Size([1, 2, 2])]
    """
    return tensor_split(input, indices_or_sections, 2)
