"""Views and sizes with PyTorch's other spellings, and in-place methods that are no ops."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from weft import _core
from weft._core import Tensor
from weft._tensor import device as device_type
from weft.batching.scope import at_once
from weft.functional.checks import as_list, numbers, wrap_dim, wrap_dims
from weft.functional.composite import composite
from weft.functional.creation import arange, in_memory_order

ops = _core.ops


@composite()
def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """Expand a tensor to a shape, without a copy.

    Example:
        >>> import weft
        >>> weft.broadcast_to(weft.tensor([1, 2]), (2, 2))
        tensor([[1, 2],
                [1, 2]])
    """
    return ops.expand(input, size)


@composite()
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Merge the dimensions from `start_dim` to `end_dim` into one.

    Example:
        >>> import weft
        >>> weft.flatten(weft.zeros(2, 3, 4)).shape, weft.flatten(weft.zeros(2, 3, 4), 1).shape
        (weft.Size([24]), weft.Size([2, 12]))
    """
    if start_dim == 0 and end_dim == -1:
        return ops.reshape(input, -1)
    sizes = tuple(input.shape)
    start = wrap_dim(start_dim, len(sizes))
    end = wrap_dim(end_dim, len(sizes))
    if start > end:
        raise _core.ShapeError(
            f"flatten(): start_dim cannot come after end_dim; they are {start_dim} and {end_dim}."
        )
    merged = math.prod(sizes[start : end + 1])
    return ops.reshape(input, (*sizes[:start], merged, *sizes[end + 1 :]))


@composite()
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """Split a dimension into several.

    Args:
        input: the tensor.
        dim: the dimension.
        sizes: the new sizes; one of them may be -1.

    Example:
        >>> import weft
        >>> weft.unflatten(weft.zeros(2, 6), 1, (3, -1)).shape
        weft.Size([2, 3, 2])
    """
    if input.ndim == 0:
        raise _core.OutOfRangeError("unflatten(): a 0-d tensor has no dimension to split.")
    whole = tuple(input.shape)
    dim = wrap_dim(dim, len(whole))
    parts = list(sizes)
    known = math.prod(size for size in parts if size != -1)
    if parts.count(-1) == 1 and known > 0:
        parts[parts.index(-1)] = whole[dim] // known
    if not parts or math.prod(parts) != whole[dim] or min(parts) < 0:
        raise _core.ShapeError(
            f"unflatten(): sizes must multiply to {whole[dim]}, the size of dimension {dim}; "
            f"sizes is {tuple(sizes)}, input is {whole}."
        )
    return ops.view(input, (*whole[:dim], *parts, *whole[dim + 1 :]))


@composite()
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Move dimensions to other places; the others keep their order.

    Args:
        input: the tensor.
        source: one dimension, or several.
        destination: where each of them goes.

    Example:
        >>> import weft
        >>> weft.movedim(weft.zeros(2, 3, 4), 0, -1).shape
        weft.Size([3, 4, 2])
    """
    rank = input.ndim
    sources = wrap_dims(source, rank)
    places = wrap_dims(destination, rank)
    if len(sources) != len(places):
        raise _core.ShapeError(
            f"movedim(): source and destination must have the same length; they are {source} and "
            f"{destination}."
        )
    if rank == 0:
        return ops.alias(input)
    moved = dict(zip(places, sources, strict=True))
    rest = iter(sorted(set(range(rank)) - set(sources)))
    return ops.permute(input, [moved[i] if i in moved else next(rest) for i in range(rank)])


@composite()
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """Return a view of `length` indices of a dimension, beginning with `start`.

    Example:
        >>> import weft
        >>> weft.narrow(weft.arange(5), 0, 1, 3)
        tensor([1, 2, 3])
    """
    if input.ndim == 0:
        raise _core.OutOfRangeError("narrow(): a 0-d tensor cannot be narrowed.")
    dim, start = wrap_dim(dim, input.ndim), int(start)
    size = input.shape[dim]
    if not -size <= start <= size:
        raise _core.OutOfRangeError(
            f"narrow(): start must be an index of dimension {dim}; start is {start}, the size is "
            f"{size}."
        )
    start += size if start < 0 else 0
    if not 0 <= length <= size - start:
        raise _core.ShapeError(
            f"narrow(): start ({start}) + length ({length}) must lie within the size of dimension "
            f"{dim}, {size}."
        )
    return ops.slice(input, dim, start, start + length)


@composite()
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """Return a view of the storage with given sizes, strides and offset, all in elements.

    Example:
        >>> import weft
        >>> weft.as_strided(weft.arange(6), (2, 3), (1, 2))
        tensor([[0, 2, 4],
                [1, 3, 5]])
    """
    own = input.storage_offset()
    offset = own if storage_offset is None else storage_offset
    return ops.strided_view(input, size, stride, offset, input.stride(), own)


@composite()
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Return a view of the diagonals over two dimensions, as a new last dimension.

    Args:
        input: the tensor.
        offset: how far above (or below, if negative) the main diagonal.
        dim1: the dimension of rows.
        dim2: the dimension of columns.

    Example:
        >>> import weft
        >>> weft.diagonal(weft.tensor([[1, 2], [3, 4]]), offset=1)
        tensor([2])
    """
    rank = input.ndim
    row, column = wrap_dim(dim1, rank), wrap_dim(dim2, rank)
    if row == column:
        raise _core.ShapeError(
            f"diagonal(): dim1 and dim2 must be two different dimensions; they are {dim1} and "
            f"{dim2}, input is {tuple(input.shape)}."
        )
    sizes, strides, own = list(input.shape), list(input.stride()), input.storage_offset()
    length = max(0, min(sizes[row] + min(offset, 0), sizes[column] - max(offset, 0)))
    skipped = offset * strides[column] if offset >= 0 else -offset * strides[row]
    step = strides[row] + strides[column]
    rest = [dim for dim in range(rank) if dim not in (row, column)]
    return ops.strided_view(
        input,
        [*(sizes[dim] for dim in rest), length],
        [*(strides[dim] for dim in rest), step],
        own + (skipped if length else 0),
        strides,
        own,
    )


_diagonal = diagonal  # diag() has an argument of that name


def windows(input: Tensor, kernel: Any, step: Any, gap: Any) -> Tensor:
    """Return a view of all windows over the last dimensions: (..., counts, kernel sizes).

    Args:
        input: the tensor.
        kernel: how many elements a window has, for each of the dimensions.
        step: the distance between windows.
        gap: the distance between the elements of a window.
    """
    input = ops.contiguous(input)
    first, own = input.ndim - len(kernel), input.storage_offset()
    sizes, strides = tuple(input.shape), input.stride()
    spans = [g * (k - 1) + 1 for k, g in zip(kernel, gap, strict=True)]
    counts = [(n - span) // s + 1 for n, span, s in zip(sizes[first:], spans, step, strict=True)]
    apart = [stride * s for stride, s in zip(strides[first:], step, strict=True)]
    within = [stride * g for stride, g in zip(strides[first:], gap, strict=True)]
    return ops.strided_view(
        input,
        [*sizes[:first], *counts, *kernel],
        [*strides[:first], *apart, *within],
        own,
        strides,
        own,
    )


@composite()
def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Return a view of all windows along a dimension; the window is a new last dimension.

    Args:
        input: the tensor.
        dimension: the dimension.
        size: how many elements a window has.
        step: the distance between windows.

    Example:
        >>> import weft
        >>> weft.arange(5).unfold(0, 3, 1)  # each window of three
        tensor([[0, 1, 2],
                [1, 2, 3],
                [2, 3, 4]])
    """
    dim = wrap_dim(dimension, input.ndim)
    whole = input.shape[dim] if input.ndim else 1
    if not 0 <= size <= whole:
        raise _core.ShapeError(
            f"unfold(): size must be between 0 and the size of dimension {dim}; size is {size}, "
            f"input is {tuple(input.shape)}."
        )
    if step <= 0:
        raise _core.ArgumentError(f"unfold(): step must be positive; step is {step}.")
    if input.ndim == 0:
        return ops.slice(ops.reshape(input, 1), 0, 0, size)
    if _overlaps(input):
        input = ops.clone(input)
    sizes, strides, own = list(input.shape), list(input.stride()), input.storage_offset()
    count = (whole - size) // step + 1
    return ops.strided_view(
        input,
        [*sizes[:dim], count, *sizes[dim + 1 :], size],
        [*strides[:dim], strides[dim] * min(step, whole), *strides[dim + 1 :], strides[dim]],
        own,
        strides,
        own,
    )


def _overlaps(input: Tensor) -> bool:
    """Tell whether elements may share a place, so that a gradient could not tell them apart."""
    reach = 0
    for stride, size in sorted(zip(input.stride(), input.shape, strict=True)):
        if size > 1 and stride <= reach:
            return True
        reach += (size - 1) * stride
    return False


def _written(copied: Tensor, src: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
    """Write into a part of a tensor that nobody else holds."""
    target = part(copied)
    if target.shape != src.shape:
        raise _core.ShapeError(
            f"src must have shape {tuple(target.shape)}; src is {tuple(src.shape)}."
        )
    ops.copy_(target, src)
    return copied


@composite()
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """Return a copy with `src` at one index of a dimension.

    Example:
        >>> import weft
        >>> weft.select_scatter(weft.zeros(2, 2), weft.ones(2), 0, 1)
        tensor([[0., 0.],
                [1., 1.]])
    """
    copied = ops.clone(input)
    return _written(copied, src, lambda x: ops.select(x, dim, index))


@composite()
def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    """Return a copy with `src` in a slice of a dimension.

    Example:
        >>> import weft
        >>> weft.slice_scatter(weft.zeros(4), weft.ones(2), start=1, end=3)
        tensor([0., 1., 1., 0.])
    """
    copied = ops.clone(input)
    return _written(copied, src, lambda x: ops.slice(x, dim, start, end, step))


@composite()
def diagonal_scatter(
    input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    """Return a copy with `src` on the diagonals over two dimensions.

    Example:
        >>> import weft
        >>> weft.diagonal_scatter(weft.zeros(2, 2), weft.tensor([5.0, 6.0]))
        tensor([[5., 0.],
                [0., 6.]])
    """
    copied = ops.clone(input)
    return _written(copied, src, lambda x: diagonal(x, offset, dim1, dim2))


@composite()
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None
) -> Tensor:
    """Return a copy with `src` where `as_strided` would look.

    Example:
        >>> import weft
        >>> weft.as_strided_scatter(weft.zeros(4), weft.ones(2), (2,), (2,))
        tensor([1., 0., 1., 0.])
    """
    strides, own = input.stride(), input.storage_offset()
    offset = own if storage_offset is None else storage_offset
    # A storage of its own, laid out like the input's.
    last = own + sum((n - 1) * s for n, s in zip(input.shape, strides, strict=True))
    other = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=False))
    storage = ops.zeros((max(last, other, -1) + 1,), dtype=input.dtype)
    ops.copy_(as_strided(storage, input.shape, strides, own), input)
    _written(storage, src, lambda x: as_strided(x, size, stride, offset))
    return ops.clone(as_strided(storage, input.shape, strides, own))


@composite()
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Make matrices whose diagonals are the rows of the last dimension.

    Example:
        >>> import weft
        >>> weft.diag_embed(weft.tensor([1, 2]))
        tensor([[1, 0],
                [0, 2]])
    """
    if input.ndim == 0:
        raise _core.ShapeError("diag_embed(input): input must have at least one dimension.")
    first, second = sorted(wrap_dims((dim1, dim2), input.ndim + 1))
    *sizes, length = input.shape
    sizes.insert(first, length + abs(offset))
    sizes.insert(second, length + abs(offset))
    result = ops.zeros(sizes, dtype=input.dtype)
    ops.copy_(diagonal(result, offset, dim1, dim2), input)
    return result


@composite()
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """Return the diagonal of a matrix, or the matrix that has a vector as its diagonal.

    Example:
        >>> import weft
        >>> weft.diag(weft.tensor([1, 2]))
        tensor([[1, 0],
                [0, 2]])
        >>> weft.diag(weft.tensor([[1, 2], [3, 4]]))
        tensor([1, 4])
    """
    if input.ndim not in (1, 2):
        raise _core.ShapeError(
            f"diag(input): input must be a vector or a matrix; input is {tuple(input.shape)}."
        )
    if input.ndim == 1:
        return diag_embed(input, diagonal)
    return ops.clone(_diagonal(input, diagonal))


@composite()
def roll(input: Tensor, shifts: Any, dims: Any = ()) -> Tensor:
    """Move indices along dimensions; what leaves at one end comes back at the other.

    Args:
        input: the tensor.
        shifts: how far, for each of `dims`.
        dims: the dimensions; without them the tensor is rolled as if it were flat.

    Example:
        >>> import weft
        >>> weft.roll(weft.arange(5), 2)
        tensor([3, 4, 0, 1, 2])
    """
    distances, places = as_list(shifts), [] if dims is None else as_list(dims)
    if not places and len(distances) == 1:
        return ops.reshape(rolled(ops.reshape(input, -1), distances[0], 0), input.shape)
    if not distances or len(distances) != len(places):
        raise _core.ShapeError(
            f"roll(): shifts and dims must have the same length; they are {distances} and {places}."
        )
    if input.ndim == 0:
        wrap_dims(places, 0)
        return ops.clone(input)
    for shift, dim in zip(distances, places, strict=True):
        input = rolled(input, shift, wrap_dim(dim, input.ndim))
    return input


def rolled(input: Tensor, shift: int, dim: int) -> Tensor:
    """Roll one dimension, for several functions."""
    size = input.shape[dim]
    shift %= size or 1
    return ops.cat(
        [ops.slice(input, dim, size - shift), ops.slice(input, dim, 0, size - shift)], dim
    )


def _outside(input: Tensor, diagonal: int, compare: Any) -> Tensor:
    """Return a mask of the elements on one side of a diagonal."""
    if input.ndim < 2:
        raise _core.ShapeError(
            f"input must have at least 2 dimensions; input is {tuple(input.shape)}."
        )
    rows, columns = input.shape[-2:]
    # Diagonals far outside are as good as those just outside.
    diagonal = max(-rows - 1, min(diagonal, columns + 1))
    return compare(arange(columns), arange(diagonal, rows + diagonal).unsqueeze(1))


@composite(in_place=True)
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """Return the lower triangle of each matrix; the rest is zero.

    Example:
        >>> import weft
        >>> weft.tril(weft.ones(2, 3))
        tensor([[1., 0., 0.],
                [1., 1., 0.]])
    """
    return ops.masked_fill(input, _outside(input, diagonal, ops.gt), 0)


@composite(in_place=True)
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """Return the upper triangle of each matrix; the rest is zero.

    Example:
        >>> import weft
        >>> weft.triu(weft.ones(3, 3), diagonal=1)
        tensor([[0., 1., 1.],
                [0., 0., 1.],
                [0., 0., 0.]])
    """
    return ops.masked_fill(input, _outside(input, diagonal, ops.lt), 0)


def _triangle_places(triangle: Any, sizes: tuple[int, int], offset: int, dtype: Any) -> Tensor:
    inside = triangle(ops.ones(sizes, dtype=_core.bool), offset)
    places = ops.transpose(ops.nonzero(inside), 0, 1)
    return ops.contiguous(places.to(dtype or _core.int64))


@composite()
def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """Return the row and column indices of the lower triangle of a matrix.

    Example:
        >>> import weft
        >>> weft.tril_indices(2, 2)
        tensor([[0, 1, 1],
                [0, 0, 1]])
    """
    device_type("cpu" if device is None else device)
    return _triangle_places(tril, (row, col), offset, dtype)


@composite()
def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """Return the row and column indices of the upper triangle of a matrix.

    Example:
        >>> import weft
        >>> weft.triu_indices(2, 2, offset=1)
        tensor([[0],
                [1]])
    """
    device_type("cpu" if device is None else device)
    return _triangle_places(triu, (row, col), offset, dtype)


@composite()
def rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    """Rotate by `k` quarters of a turn in the plane of two dimensions, from the first on.

    Example:
        >>> import weft
        >>> weft.rot90(weft.tensor([[1, 2], [3, 4]]))
        tensor([[2, 4],
                [1, 3]])
    """
    plane = wrap_dims(dims, input.ndim)
    if len(plane) != 2 or input.ndim < 2:
        raise _core.ShapeError(
            f"rot90(): dims must be two dimensions of input; dims is {tuple(as_list(dims))}, input "
            f"is {tuple(input.shape)}."
        )
    if k % 2 == 0:
        return ops.flip(input, plane) if k % 4 else ops.clone(input)
    return ops.transpose(ops.flip(input, plane[1 if k % 4 == 1 else 0]), *plane)


def _repeated(input: Tensor, counts: list[int]) -> Tensor:
    if len(counts) < input.ndim or any(count < 0 for count in counts):
        raise _core.ShapeError(
            f"repeats must have a number that is not negative for each dimension of "
            f"input; repeats is {tuple(counts)}, input is {tuple(input.shape)}."
        )
    sizes = [1] * (len(counts) - input.ndim) + list(input.shape)
    # Repeated dimensions become (count, size), in which the count is stretched.
    split: list[int] = []
    stretched: list[int] = []
    for count, size in zip(counts, sizes, strict=True):
        split += [1, size] if count != 1 else [size]
        stretched += [count, size] if count != 1 else [size]
    copied = ops.clone(ops.expand(ops.reshape(input, split), stretched))
    return ops.view(copied, [count * size for count, size in zip(counts, sizes, strict=True)])


@composite()
def repeat(input: Tensor, *repeats: Any) -> Tensor:
    """Repeat along each dimension; new dimensions go in front.

    Args:
        input: the tensor.
        repeats: how often, one number a dimension.

    Example:
        >>> import weft
        >>> weft.tensor([1, 2]).repeat(2, 2)
        tensor([[1, 2, 1, 2],
                [1, 2, 1, 2]])
    """
    return _repeated(input, numbers(repeats))


@composite()
def tile(input: Tensor, *dims: Any) -> Tensor:
    """Repeat along the last dimensions.

    Args:
        input: the tensor.
        dims: how often, one number a dimension.

    Example:
        >>> import weft
        >>> weft.tile(weft.tensor([1, 2]), (2,))
        tensor([1, 2, 1, 2])
    """
    counts = numbers(dims)
    return _repeated(input, [1] * (input.ndim - len(counts)) + counts)


_PADDING = ("reflect", "replicate", "circular")


@composite()
def pad(input: Tensor, pad: Any, mode: str = "constant", value: Any = None) -> Tensor:
    """Add elements at both ends of the last dimensions.

    Args:
        input: the tensor.
        pad: how many before and after, for the last dimension, the one before it, and so on;
            negative numbers crop.
        mode: "constant", "reflect", "replicate" or "circular".
        value: the number that "constant" adds; 0 if not given.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.pad(weft.ones(1, 2), (1, 2))  # the last dimension first: one before, two after
        tensor([[0., 1., 1., 0., 0.]])
    """
    edges = list(pad)
    if len(edges) % 2 or len(edges) > 2 * input.ndim:
        raise _core.ShapeError(
            f"pad(): pad needs two numbers for each of at most {input.ndim} dimensions; pad is "
            f"{tuple(edges)}, input is {tuple(input.shape)}."
        )
    if mode == "constant":
        return _surrounded(input, edges, 0 if value is None else value)
    if mode not in _PADDING:
        raise _core.ArgumentError(f"pad(): mode must be 'constant' or one of {_PADDING}: {mode!r}.")
    if value is not None:
        raise _core.ArgumentError(f"pad(): mode {mode!r} does not take a value.")
    result = input
    for i in range(len(edges) // 2):
        before, after = edges[2 * i : 2 * i + 2]
        if before or after:
            result = _padded(result, input.ndim - 1 - i, before, after, mode)
    return ops.clone(input) if result is input else result


def _surrounded(input: Tensor, edges: list[int], value: Any) -> Tensor:
    """Put a tensor, or the part of it that is not cropped, into one of a number."""
    sizes, starts = list(input.shape), [0] * input.ndim
    for i, (before, after) in enumerate(zip(edges[::2], edges[1::2], strict=True)):
        dim = input.ndim - 1 - i
        size = sizes[dim]
        sizes[dim], starts[dim] = size + before + after, max(before, 0)
        if before < 0 or after < 0:
            input = ops.slice(input, dim, max(-before, 0), max(size + min(after, 0), 0))
    if min(sizes, default=0) < 0:
        raise _core.ShapeError(f"pad(): pad {tuple(edges)} would give the sizes {tuple(sizes)}.")
    if math.prod(sizes) >= 2**59:
        raise _core.OutOfMemoryError(f"pad(): a tensor of {tuple(sizes)} is too large.")
    if value == 0:
        strides = [math.prod(sizes[dim + 1 :]) for dim in range(len(sizes))]
        offset = sum(start * stride for start, stride in zip(starts, strides, strict=True))
        return ops.restride(input, strides, offset, sizes, strides, 0)
    result = target = ops.full(sizes, value, dtype=input.dtype)
    for dim, start in enumerate(starts):
        if target.shape[dim] != input.shape[dim]:
            target = ops.slice(target, dim, start, start + input.shape[dim])
    ops.copy_(target, input)
    return result


def _padded(input: Tensor, dim: int, before: int, after: int, mode: str) -> Tensor:
    """Pad one dimension with elements of its own."""
    size = input.shape[dim]
    if mode == "circular" and min(before, after) < 0 < size + min(before, 0) + min(after, 0):
        # What is cropped does not come back at the other end.
        input = ops.slice(input, dim, max(-before, 0), size + min(after, 0))
        size, before, after = input.shape[dim], max(before, 0), max(after, 0)
    longest = {"reflect": size - 1, "circular": size}.get(mode, max(before, after))
    if size == 0 or max(before, after) > longest or min(before, after) <= -size:
        raise _core.ShapeError(
            f"pad(): mode {mode!r} cannot pad dimension {dim} of size {size} by {before} and "
            f"{after}."
        )
    if size + before + after < 0:
        raise _core.ShapeError(
            f"pad(): a size of {size} cannot be cropped by {-before} and {-after}."
        )
    places = arange(-before, size + after)
    if mode == "circular":
        places = ops.remainder(places, size)
    elif mode == "replicate":
        places = ops.clamp(places, 0, size - 1)
    else:
        places = size - 1 - ops.abs(size - 1 - ops.abs(places))
    return ops.index_select(input, dim, places)


@composite()
def fliplr(input: Tensor) -> Tensor:
    """Reverse the second dimension.

    Example:
        >>> import weft
        >>> weft.fliplr(weft.tensor([[1, 2], [3, 4]]))
        tensor([[2, 1],
                [4, 3]])
    """
    if input.ndim < 2:
        raise _core.ShapeError(
            f"fliplr(input): input must have 2 or more dimensions; input is {tuple(input.shape)}."
        )
    return ops.flip(input, 1)


@composite()
def flipud(input: Tensor) -> Tensor:
    """Reverse the first dimension.

    Example:
        >>> import weft
        >>> weft.flipud(weft.tensor([[1, 2], [3, 4]]))
        tensor([[3, 4],
                [1, 2]])
    """
    if input.ndim < 1:
        raise _core.ShapeError("flipud(input): input must have 1 or more dimensions; input is ().")
    return ops.flip(input, 0)


@composite()
def ravel(input: Tensor) -> Tensor:
    """Return all elements as one vector, a view where that is possible.

    Example:
        >>> import weft
        >>> weft.ravel(weft.zeros(2, 3)).shape
        weft.Size([6])
    """
    return ops.reshape(input, -1)


@composite()
def adjoint(input: Tensor) -> Tensor:
    """Swap the last two dimensions.

    Example:
        >>> import weft
        >>> weft.adjoint(weft.zeros(5, 2, 3)).shape
        weft.Size([5, 3, 2])
    """
    return ops.transpose(input, -2, -1)


def view_as(self: Tensor, other: Tensor) -> Tensor:
    """Return a view with the sizes of another tensor.

    Example:
        >>> import weft
        >>> weft.arange(6).view_as(weft.zeros(2, 3)).shape
        weft.Size([2, 3])
    """
    return ops.view(self, other.shape)


def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """Return the same elements with the sizes of another tensor.

    Example:
        >>> import weft
        >>> weft.arange(6).reshape_as(weft.zeros(2, 3)).shape
        weft.Size([2, 3])
    """
    return ops.reshape(self, other.shape)


def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """Expand to the sizes of another tensor, without a copy.

    Example:
        >>> import weft
        >>> weft.tensor([[1], [2]]).expand_as(weft.zeros(2, 3)).shape
        weft.Size([2, 3])
    """
    return ops.expand(self, other.shape)


def type_as(self: Tensor, tensor: Tensor) -> Tensor:
    """Convert to the dtype of another tensor.

    Example:
        >>> import weft
        >>> weft.tensor([1, 2]).type_as(weft.zeros(1, dtype=weft.float64))
        tensor([1., 2.], dtype=weft.float64)
    """
    return self.to(tensor.dtype)


def random_(
    self: Tensor, start: int = 0, to: int | None = None, *, generator: Any = None
) -> Tensor:
    """Fill with random integers: from `start` to before `to`, or from 0 to before one argument.

    Example:
        >>> import weft
        >>> _ = weft.manual_seed(0)
        >>> weft.zeros(4).random_(0, 10)
        tensor([4., 9., 3., 0.])
    """
    if to is None and not start and self.dtype is _core.int64:
        # 2**63 is no bound that an int64 can say: draw all 64 bits and leave the sign out.
        low, high = -(2**63), 2**63 - 1
        drawn = in_memory_order(
            self, lambda size: ops.randint(low, high, size, generator=generator)
        )
        return self.copy_(ops.bitwise_and(drawn, 2**63 - 1))
    if to is None:
        low, high = (0, start) if start else (0, _beyond_largest(self.dtype))
    else:
        low, high = start, to
    return self.copy_(
        in_memory_order(self, lambda size: ops.randint(low, high, size, generator=generator))
    )


def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with numbers from the exponential distribution with rate `lambd`.

    Example:
        >>> import weft
        >>> _ = weft.manual_seed(0)
        >>> weft.zeros(2).exponential_(lambd=2.0)
        tensor([1.7542, 0.6152])
    """
    if not self.is_floating_point():
        raise _core.DTypeError(
            f"exponential_(): needs a floating-point dtype, self is {self.dtype}."
        )
    if not lambd > 0:
        raise _core.ArgumentError(f"exponential_(): lambd must be positive; lambd is {lambd}.")
    drawn = in_memory_order(
        self, lambda size: ops.rand(size, generator=generator, dtype=_core.float64)
    )
    return self.copy_(ops.log1p(-drawn) / -lambd)


def _beyond_largest(dtype: Any) -> int:
    """Return where the integers end that `random_` draws for a dtype."""
    digits = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
    if dtype.name in digits:
        return 2 ** digits[dtype.name] + 1
    return 2 ** {"bool": 1, "uint8": 8, "int8": 7, "int16": 15, "int32": 31}[dtype.name]


def fill_diagonal_(self: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Set the main diagonal to a value, in place.

    Example:
        >>> import weft
        >>> weft.zeros(2, 3).fill_diagonal_(7)
        tensor([[7., 0., 0.],
                [0., 7., 0.]])
    """
    if wrap:
        raise _core.UnsupportedError("fill_diagonal_(): wrap is not supported.")
    if self.ndim == 2:
        self.diagonal().fill_(fill_value)
    else:
        for i in range(min(self.shape)):
            self[(i,) * self.ndim] = fill_value
    return self


# What a tensor of shape (2, 1) becomes with which arguments.
_BECOMING_EXAMPLES = {
    "squeeze": ("", [2]),
    "t": ("", [1, 2]),
    "transpose": ("0, 1", [1, 2]),
    "unsqueeze": ("0", [1, 2, 1]),
}


def _becoming(name: str) -> Callable[..., Tensor]:
    """Make the in-place form of a view: the tensor becomes a view of what it was."""
    look = getattr(ops, name)

    def call(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if self.requires_grad and not _core.is_grad_enabled():
            self.data = look(self.detach(), *args, **kwargs)
        elif self.requires_grad and self.is_leaf:
            raise _core.GradientError(
                f"{name}_(): a leaf Variable that requires grad is being used in an in-place "
                "operation."
            )
        else:
            _core.become(self, look(self, *args, **kwargs))
        return self

    call.__name__ = call.__qualname__ = f"{name}_"
    given, shape = _BECOMING_EXAMPLES[name]
    call.__doc__ = f"""Do what `{name}` does, in place: the same memory is seen in another shape.

    Example:
        >>> import weft
        >>> x = weft.zeros(2, 1)
        >>> x.{name}_({given}).shape
        weft.Size({shape})
    """
    return call


BECOMING = {f"{name}_": _becoming(name) for name in _BECOMING_EXAMPLES}


def resize_(self: Tensor, *sizes: Any, memory_format: Any = None) -> Tensor:
    """Change the shape in place: elements stay in order, and new ones are zeros.

    Args:
        self: the tensor; it may not require a gradient.
        sizes: the new sizes.
        memory_format: changes nothing: there is one.

    Example:
        >>> import weft
        >>> weft.arange(6.0).resize_(2, 2)
        tensor([[0., 1.],
                [2., 3.]])
    """
    del memory_format
    if self.requires_grad:
        raise _core.GradientError("resize_(): cannot resize variables that require grad.")
    made = ops.zeros(*sizes, dtype=self.dtype)
    count = min(made.numel(), self.numel())
    made.view(-1)[:count] = self.reshape(-1)[:count]
    self.data = made
    return self


def resize_as_(self: Tensor, other: Tensor, memory_format: Any = None) -> Tensor:
    """Change the shape in place to that of another tensor.

    Example:
        >>> import weft
        >>> weft.arange(4.0).resize_as_(weft.zeros(1, 2))
        tensor([[0., 1.]])
    """
    return resize_(self, other.shape, memory_format=memory_format)


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element by what a function makes of it. It is slow.

    Example:
        >>> import weft
        >>> weft.tensor([1.0, 2.0]).apply_(lambda x: x * 10)
        tensor([10., 20.])
    """
    with at_once(self):
        made = [callable(item) for item in self.reshape(-1).tolist()]
        return self.copy_(_core.tensor(made, self.dtype).reshape(self.shape))


def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element by what a function makes of it and another tensor's. It is slow.

    Example:
        >>> import weft
        >>> weft.tensor([1.0, 2.0]).map_(weft.tensor([3.0, 1.0]), max)
        tensor([3., 2.])
    """
    with at_once(self, tensor):
        others = ops.expand(tensor, self.shape).reshape(-1).tolist()
        made = [callable(*pair) for pair in zip(self.reshape(-1).tolist(), others, strict=True)]
        return self.copy_(_core.tensor(made, self.dtype).reshape(self.shape))
