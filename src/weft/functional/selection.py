"""Choose, write and order elements, with PyTorch's extra arguments."""

from __future__ import annotations

import math
from typing import Any

from weft import _core
from weft._core import Tensor
from weft.autograd.function import Function
from weft.functional import return_types
from weft.functional.checks import broadcast_shapes, wrap_dim
from weft.functional.composite import composite
from weft.functional.counting import searchsorted
from weft.functional.creation import arange
from weft.functional.facts import iinfo

ops = _core.ops


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """Choose elements of `input` where a condition holds, and of `other` elsewhere.

    With the condition alone, return the indices where it holds, one tensor a dimension.

    Example:
        >>> import weft
        >>> x = weft.tensor([-1.0, 2.0])
        >>> weft.where(x > 0, x, 0.0)
        tensor([0., 2.])
        >>> weft.where(x > 0)  # alone: the positions
        (tensor([1]),)
    """
    if input is None or other is None:
        if input is not None or other is not None:
            raise TypeError("where(): input and other must be given together, or neither of them.")
        return nonzero(condition, as_tuple=True)
    return ops.where(condition, input, other)


def where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """Keep elements where a condition holds and take those of `other` elsewhere.

    Example:
        >>> import weft
        >>> x = weft.tensor([-1.0, 2.0])
        >>> x.where(x > 0, 0.0)
        tensor([0., 2.])
    """
    return ops.where(condition, self, other)


def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """Return the indices of elements that are not zero.

    Args:
        input: the tensor.
        as_tuple: whether to return one vector a dimension instead of one row an element.

    Example:
        >>> import weft
        >>> x = weft.tensor([[0, 5], [7, 0]])
        >>> weft.nonzero(x)
        tensor([[0, 1],
                [1, 0]])
        >>> weft.nonzero(x, as_tuple=True)
        (tensor([0, 1]), tensor([1, 0]))
    """
    if not as_tuple:
        return ops.nonzero(input)
    found = ops.nonzero(input.reshape(1) if input.ndim == 0 else input)
    return tuple(ops.unbind(found, 1))


def argwhere(input: Tensor) -> Tensor:
    """Return the indices of elements that are not zero, one row an element.

    Example:
        >>> import weft
        >>> weft.argwhere(weft.tensor([[0, 5], [7, 0]]))
        tensor([[0, 1],
                [1, 0]])
    """
    return ops.nonzero(input)


@composite(reads_values=True)
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Turn class numbers into vectors with a one at that place.

    Args:
        tensor: int64 numbers.
        num_classes: size of the vectors; one more than the largest number if negative.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.one_hot(weft.tensor([0, 2]), num_classes=3)
        tensor([[1, 0, 0],
                [0, 0, 1]])
    """
    if tensor.dtype is not _core.int64:
        raise _core.DTypeError(f"one_hot(): tensor must be int64, not {tensor.dtype}.")
    if tensor.numel() == 0 and num_classes <= 0:
        raise _core.ArgumentError("one_hot(): num_classes must be given for an empty tensor.")
    if tensor.numel():
        least, largest = int(ops.amin(tensor)), int(ops.amax(tensor))
        if least < 0:
            raise _core.ArgumentError(
                f"one_hot(): class numbers must not be negative; one is {least}."
            )
        if num_classes < 0:
            num_classes = largest + 1
        elif largest >= num_classes:
            raise _core.ArgumentError(
                f"one_hot(): class numbers must be below num_classes; one is {largest}, "
                f"num_classes is {num_classes}."
            )
    chosen = ops.eq(tensor.unsqueeze(-1), arange(num_classes))
    return chosen.to(_core.int64)


_MISSING: Any = object()


def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Any = _MISSING,
    *,
    value: Any = _MISSING,
    reduce: str | None = None,
) -> Tensor:
    """Write elements to the places along a dimension that `index` names.

    Args:
        input: the tensor that is written over (a copy of it).
        dim: the dimension.
        index: a place for each element.
        src: the elements, or one number.
        value: one number, as a keyword.
        reduce: "add" or "multiply" to combine with what is there.

    Example:
        >>> import weft
        >>> weft.scatter(weft.zeros(3), 0, weft.tensor([2, 0]), weft.tensor([5.0, 6.0]))
        tensor([6., 0., 5.])
    """
    source = value if src is _MISSING else src
    if reduce is None:
        return ops.scatter(input, dim, index, _covered(source, index))
    if reduce not in ("add", "multiply"):
        raise _core.ArgumentError(f"scatter(): reduce must be 'add' or 'multiply', not {reduce!r}.")
    if not isinstance(source, Tensor):
        source = ops.full(index.shape, source, dtype=input.dtype)
    return scatter_reduce(input, dim, index, source, "sum" if reduce == "add" else "prod")


def scatter_(self: Tensor, dim: int, index: Tensor, src: Any = _MISSING, **options: Any) -> Tensor:
    """Do what `scatter` does, in place.

    Example:
        >>> import weft
        >>> weft.zeros(2, 3).scatter_(1, weft.tensor([[2], [0]]), 1.0)  # one-hot rows
        tensor([[0., 0., 1.],
                [1., 0., 0.]])
    """
    if src is not _MISSING and not options:
        return ops.scatter_(self, dim, index, _covered(src, index))
    return self.copy_(scatter(self, dim, index, src, **options))


def _covered(src: Any, index: Tensor) -> Any:
    """Return the part of `src` that an index of the same rank covers; others are checked later."""
    if not isinstance(src, Tensor) or src.shape == index.shape or src.ndim != index.ndim:
        return src
    for dim, size in enumerate(index.shape):
        src = ops.slice(src, dim, 0, size)
    return src


def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Add elements at the places along a dimension that `index` names, in order.

    Args:
        input: the tensor that is added to (a copy of it).
        dim: the dimension.
        index: a place for each element.
        src: the elements; those that `index` does not cover are left out.

    Example:
        >>> import weft
        >>> weft.scatter_add(weft.zeros(3), 0, weft.tensor([2, 2]), weft.tensor([5.0, 6.0]))
        tensor([ 0.,  0., 11.])
    """
    return ops.scatter_add(input, dim, index, _covered(src, index))


def scatter_add_(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Do what `scatter_add` does, in place.

    Example:
        >>> import weft
        >>> weft.zeros(3).scatter_add_(0, weft.tensor([2, 2]), weft.tensor([5.0, 6.0]))
        tensor([ 0.,  0., 11.])
    """
    return ops.scatter_add_(self, dim, index, _covered(src, index))


def _as_places(input: Tensor, indices: Any) -> tuple[list[Tensor], list[int]]:
    """Turn indices (numbers, masks, None for all of a dimension) into int64 tensors and dims."""
    places: list[Tensor] = []
    dims: list[int] = []
    dim = 0
    for index in indices:
        if index is None:
            dim += 1
        elif index.dtype in (_core.bool, _core.uint8):
            found = nonzero(index, as_tuple=True)
            places += found
            dims += range(dim, dim + len(found))
            dim += len(found)
        else:
            places.append(index)
            dims.append(dim)
            dim += 1
    if dim > input.ndim:
        raise _core.OutOfRangeError(
            f"index_put(): there are indices for {dim} dimensions; input is {tuple(input.shape)}."
        )
    return places, dims


def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """Write values to the places that indices name, in a copy.

    Args:
        input: the tensor.
        indices: one tensor of places (or mask) a dimension; None takes all of it.
        values: what to write; broadcast to the places.
        accumulate: whether to add to what is there.

    Example:
        >>> import weft
        >>> index = (weft.tensor([0, 0]),)
        >>> weft.index_put(weft.zeros(2), index, weft.ones(2), accumulate=True)
        tensor([2., 0.])
    """
    places, dims = _as_places(input, indices)
    return ops.index_put(input, places, values, dims, accumulate)


def index_put_(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """Do what `index_put` does, in place.

    Example:
        >>> import weft
        >>> weft.zeros(3).index_put_((weft.tensor([0, 2]),), weft.tensor([5.0, 6.0]))
        tensor([5., 0., 6.])
    """
    places, dims = _as_places(input, indices)
    return ops.index_put_(input, places, values, dims, accumulate)


def _put_slices(
    input: Tensor,
    dim: int,
    index: Tensor,
    values: Tensor,
    *,
    accumulate: bool = False,
    wrap: bool = False,
) -> Tensor:
    """Write at indices of one dimension; a tensor without any counts as a vector."""
    if index.ndim > 1:
        raise _core.ShapeError(
            f"index must have at most one dimension; index is {tuple(index.shape)}."
        )
    places = [index.reshape(-1)]
    if input.ndim > 0:
        return ops.index_put(input, places, values, [dim], accumulate, wrap)
    return ops.index_put(input.reshape(1), places, values, [dim], accumulate, wrap).reshape(())


def _check_source(input: Tensor, dim: int, index: Tensor, source: Tensor) -> None:
    expected = list(input.shape) or [1]
    expected[wrap_dim(dim, input.ndim)] = index.numel()
    if list(source.shape or (1,)) != expected:
        raise _core.ShapeError(
            f"source must have shape {tuple(expected)}; source is {tuple(source.shape)}, "
            f"input is {tuple(input.shape)}, index has {index.numel()} elements."
        )


@composite(in_place=True)
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """Add slices of `source`, times `alpha`, at their indices of a dimension.

    Args:
        input: the tensor that is added to (a copy of it).
        dim: the dimension.
        index: where each slice goes; they may repeat, and are added in order.
        source: the slices.
        alpha: a factor for them.

    Example:
        >>> import weft
        >>> weft.index_add(weft.zeros(3), 0, weft.tensor([1, 1]), weft.tensor([5.0, 6.0]))
        tensor([ 0., 11.,  0.])
    """
    _check_source(input, dim, index, source)
    scaled = source if alpha == 1 else ops.mul(source, alpha)
    return _put_slices(input, dim, index, scaled, accumulate=True)


@composite(in_place=True)
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Replace slices of a dimension by those of `source`, in a copy.

    Example:
        >>> import weft
        >>> weft.index_copy(weft.zeros(3), 0, weft.tensor([2, 0]), weft.tensor([5.0, 6.0]))
        tensor([6., 0., 5.])
    """
    _check_source(input, dim, index, source)
    return _put_slices(input, dim, index, source)


@composite(in_place=True)
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """Fill slices of a dimension with a number, in a copy.

    Example:
        >>> import weft
        >>> weft.index_fill(weft.zeros(2, 3), 1, weft.tensor([0, 2]), -1.0)
        tensor([[-1.,  0., -1.],
                [-1.,  0., -1.]])
    """
    if not isinstance(value, Tensor):
        value = ops.full((), value, dtype=input.dtype)
    if value.ndim > 0:
        raise _core.ShapeError(
            f"index_fill(): value must be a number or 0-d; value is {tuple(value.shape)}."
        )
    # A mask, not one write an index: the gradient of the value counts each slice once.
    count = input.shape[wrap_dim(dim, input.ndim)] if input.ndim > 0 else 1
    chosen = ops.zeros((count,), dtype=_core.bool)
    chosen = _put_slices(chosen, 0, index, ops.full((), True), wrap=True)
    shape = [1] * input.ndim
    if shape:
        shape[dim] = count
    return ops.where(chosen.reshape(shape), value.to(input.dtype), input)


@composite()
def take(input: Tensor, index: Tensor) -> Tensor:
    """Pick elements of the flattened input; the result has the shape of `index`.

    Example:
        >>> import weft
        >>> weft.take(weft.tensor([[1, 2], [3, 4]]), weft.tensor([0, 3]))  # as if it were flat
        tensor([1, 4])
    """
    return ops.index(input.reshape(-1), [index], [0])


@composite()
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """Pick elements along a dimension, after input and indices are broadcast to each other.

    Args:
        input: the tensor.
        indices: int64 places, with as many dimensions as the input.
        dim: the dimension, from whose end negative indices count; the flattened input if not given.

    Example:
        >>> import weft
        >>> x = weft.tensor([[3, 1, 2]])
        >>> weft.take_along_dim(x, x.argsort(dim=1), dim=1)
        tensor([[1, 2, 3]])
    """
    if dim is None:
        return ops.gather(input.reshape(-1), 0, indices.reshape(-1))
    dim = wrap_dim(dim, input.ndim)
    if indices.ndim != input.ndim:
        raise _core.ShapeError(
            f"take_along_dim(): input and indices must have the same number of dimensions; "
            f"input is {tuple(input.shape)}, indices is {tuple(indices.shape)}."
        )
    indices = indices + ops.lt(indices, 0) * (input.shape[dim] if input.ndim else 1)
    if input.ndim == 0:
        return ops.gather(input, dim, indices)
    sizes, counts = list(input.shape), list(indices.shape)
    # Along dim they need not agree.
    size, count = sizes[dim], counts[dim]
    sizes[dim] = counts[dim] = 1
    common = list(broadcast_shapes(sizes, counts))
    whole, places = ([*common[:dim], n, *common[dim + 1 :]] for n in (size, count))
    return ops.gather(ops.expand(input, whole), dim, ops.expand(indices, places))


class ScatterReduce(Function):
    """The gradient of products and of largest and smallest elements at repeating places."""

    @staticmethod
    def forward(
        ctx: Any, input: Tensor, index: Tensor, src: Tensor, dim: int, reduce: str
    ) -> Tensor:
        """Combine elements of `src` into a copy of the input."""
        result = ops.scatter_combine(input, dim, index, src, reduce)
        ctx.dim, ctx.reduce = dim, reduce
        ctx.save_for_backward(input, index, src, result)
        return result

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Share the gradient among the elements that made a result."""
        (grad,) = grad_outputs
        input, index, src, result = ctx.saved_tensors
        dim = ctx.dim
        if ctx.reduce != "prod":
            # Those that are equal to the result share its gradient.
            input_wins = ops.eq(input, result).to(grad.dtype)
            src_wins = ops.eq(src, ops.gather(result, dim, index)).to(grad.dtype)
            shared = grad / ops.scatter_add(input_wins, dim, index, src_wins)
            return input_wins * shared, None, src_wins * ops.gather(shared, dim, index), None, None
        # Where exactly one factor is zero, its gradient is the product of the others.
        whole = ops.masked_fill(input, ops.eq(input, 0), 1)
        to_input = grad * ScatterReduce.apply(whole, index, src, dim, "prod") / whole
        is_zero = ops.eq(src, 0)
        zeros = ops.scatter_add(ops.zeros_like(result), dim, index, is_zero.to(result.dtype))
        alone = ops.logical_and(is_zero, ops.eq(ops.gather(zeros, dim, index), 1))
        others = ScatterReduce.apply(input, index, ops.masked_fill(src, alone, 1), dim, "prod")
        to_src = ops.where(
            alone,
            ops.gather(grad * others, dim, index),
            ops.gather(grad * result, dim, index) / ops.masked_fill(src, is_zero, 1),
        )
        return to_input, None, to_src, None, None


def _identity(reduce: str, dtype: Any) -> Any:
    """Return the number that changes nothing when others are combined with it."""
    if reduce not in ("amax", "amin"):
        return 1 if reduce == "prod" else 0
    if dtype is _core.bool:
        return reduce == "amin"
    if dtype.is_floating_point:
        return -math.inf if reduce == "amax" else math.inf
    return iinfo(dtype).min if reduce == "amax" else iinfo(dtype).max


@composite(in_place=True)
def index_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Tensor:
    """Combine slices of `source` into those of `input` that `index` names.

    Args:
        input: the tensor that they are combined into (a copy of it).
        dim: the dimension of the slices.
        index: a place for each slice of `source`.
        source: the slices.
        reduce: "prod", "mean", "amax" or "amin".
        include_self: whether the input's own slices take part.

    Example:
        >>> import weft
        >>> index, source = weft.tensor([0, 0]), weft.tensor([2.0, 5.0])
        >>> weft.index_reduce(weft.ones(2), 0, index, source, "amax")
        tensor([5., 1.])
    """
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise _core.ArgumentError(
            f"index_reduce(): reduce must be 'prod', 'mean', 'amax' or 'amin', not {reduce!r}."
        )
    if not source.ndim:
        return index_reduce(
            input.reshape(1), 0, index, source.reshape(1), reduce, include_self=include_self
        ).reshape(input.shape)
    shape = [1] * source.ndim
    shape[dim] = -1
    places = index.reshape(shape).expand(source.shape)
    return scatter_reduce(input, dim, places, source, reduce, include_self)


@composite(in_place=True)
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool = True
) -> Tensor:
    """Combine elements of `src` that have the same index along a dimension.

    Args:
        input: the tensor that they are combined into (a copy of it).
        dim: the dimension.
        index: a place for each element.
        src: the elements.
        reduce: "sum", "prod", "mean", "amax" or "amin".
        include_self: whether the input's own elements take part.

    Example:
        >>> import weft
        >>> index, values = weft.tensor([0, 0, 1]), weft.tensor([1.0, 3.0, 5.0])
        >>> weft.scatter_reduce(weft.zeros(2), 0, index, values, reduce="amax")
        tensor([3., 5.])
    """
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise _core.ArgumentError(
            f"scatter_reduce(): reduce must be 'sum', 'prod', 'mean', 'amax' or 'amin', not "
            f"{reduce!r}."
        )
    src = _covered(src, index)
    if not include_self:
        input = ops.scatter(input, dim, index, _identity(reduce, input.dtype))
    if reduce not in ("sum", "mean"):
        return ScatterReduce.apply(input, index, src, dim, reduce)
    total = ops.scatter_add(input, dim, index, src)
    if reduce == "sum":
        return total
    own = ops.full(input.shape, int(include_self), dtype=input.dtype)
    counts = ops.scatter_add(own, dim, index, ops.ones(src.shape, dtype=src.dtype))
    divide = ops.div if input.is_floating_point() else ops.div_floor
    return divide(total, ops.clamp(counts, 1))


def _masked_places(input: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Any]:
    """Return the flattened input, where the mask holds in it, and the common shape."""
    if mask.dtype is not _core.bool:
        raise _core.DTypeError(f"mask must be of dtype bool, not {mask.dtype}.")
    shape = broadcast_shapes(input.shape, mask.shape)
    places = ops.nonzero(ops.reshape(ops.expand(mask, shape), -1))
    return ops.reshape(ops.expand(input, shape), -1), places.reshape(-1), shape


@composite()
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """Return the elements where a mask holds, as a vector.

    Example:
        >>> import weft
        >>> x = weft.tensor([[1, 2], [3, 4]])
        >>> weft.masked_select(x, x > 1)
        tensor([2, 3, 4])
    """
    flat, places, _ = _masked_places(input, mask)
    return ops.index_select(flat, 0, places)


@composite(in_place=True, reads_values=True)
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Write the elements of `source`, in order, where a mask holds, in a copy.

    Example:
        >>> import weft
        >>> mask = weft.tensor([True, False, True])
        >>> weft.masked_scatter(weft.zeros(3), mask, weft.tensor([5.0, 6.0]))
        tensor([5., 0., 6.])
    """
    flat, places, shape = _masked_places(input, mask)
    count = places.numel()
    if source.numel() < count:
        raise _core.ShapeError(
            f"masked_scatter(): source must have an element for each place; source has "
            f"{source.numel()}, mask is true at {count}."
        )
    values = ops.slice(source.reshape(-1), 0, 0, count)
    return ops.reshape(ops.index_put(flat, [places], values, [0]), shape)


@composite(reads_values=True)
def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Repeat elements, each one right after itself.

    Args:
        input: the tensor; alone, it is the numbers of repeats of 0, 1, 2 ...
        repeats: how often, for all or for each.
        dim: the dimension; the flattened tensor if not given.
        output_size: accepted for PyTorch programs.

    Example:
        >>> import weft
        >>> weft.repeat_interleave(weft.tensor([1, 2]), weft.tensor([2, 1]))
        tensor([1, 1, 2])
    """
    del output_size
    if repeats is None:
        return _repeated_places(input)
    if dim is None or input.ndim == 0:
        input, dim = input.reshape(-1), 0
    dim = wrap_dim(dim, input.ndim)
    if not isinstance(repeats, Tensor) or repeats.numel() == 1:
        count, sizes = int(repeats), list(input.shape)
        if count < 0:
            raise _core.ArgumentError(
                f"repeat_interleave(): repeats must not be negative; repeats is {count}."
            )
        stretched = [*sizes[: dim + 1], count, *sizes[dim + 1 :]]
        sizes[dim] *= count
        return ops.reshape(ops.expand(ops.unsqueeze(input, dim + 1), stretched), sizes)
    if repeats.ndim != 1 or repeats.numel() != input.shape[dim]:
        raise _core.ShapeError(
            f"repeat_interleave(): repeats must have one number for each index of dim; repeats is "
            f"{tuple(repeats.shape)}, input is {tuple(input.shape)}, dim is {dim}."
        )
    return ops.index_select(input, dim, _repeated_places(repeats))


def _repeated_places(repeats: Tensor) -> Tensor:
    """Return each place i of a vector repeats[i] times."""
    if repeats.ndim != 1 or repeats.is_floating_point() or repeats.dtype is _core.bool:
        raise _core.ShapeError(
            f"repeat_interleave(): repeats must be a vector of integers; it is "
            f"{tuple(repeats.shape)} of {repeats.dtype}."
        )
    if repeats.numel() == 0:
        return ops.zeros((0,), dtype=_core.int64)
    if int(ops.amin(repeats)) < 0:
        raise _core.ArgumentError("repeat_interleave(): repeats must not be negative.")
    ends = ops.cumsum(repeats, 0)
    return searchsorted(ends, arange(int(ends[-1])), right=True)


def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """Sort along a dimension; return the values and where they were.

    Example:
        >>> import weft
        >>> weft.sort(weft.tensor([3, 1, 2]), descending=True)
        weft.return_types.sort(
        values=tensor([3, 2, 1]),
        indices=tensor([0, 2, 1]))
    """
    return return_types.sort._make(ops.sort(input, dim, descending, stable))


def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """Return the indices that sort along a dimension.

    Example:
        >>> import weft
        >>> weft.argsort(weft.tensor([3, 1, 2]))
        tensor([1, 2, 0])
    """
    return ops.sort(input.detach(), dim, descending, stable)[1]


def msort(input: Tensor) -> Tensor:
    """Sort along the first dimension.

    Example:
        >>> import weft
        >>> weft.msort(weft.tensor([[3, 1], [2, 4]]))
        tensor([[2, 1],
                [3, 4]])
    """
    return ops.sort(input, 0)[0]


def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """Return the k largest (or smallest) elements along a dimension, and where they are.

    Example:
        >>> import weft
        >>> weft.topk(weft.tensor([3, 1, 2]), k=2)
        weft.return_types.topk(
        values=tensor([3, 2]),
        indices=tensor([0, 2]))
    """
    return return_types.topk._make(ops.topk(input, k, dim, largest, sorted))


@composite()
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """Return the kth smallest element along a dimension, and where it is.

    Example:
        >>> import weft
        >>> weft.kthvalue(weft.tensor([30, 10, 20]), 2)  # the second smallest
        weft.return_types.kthvalue(
        values=tensor(20),
        indices=tensor(2))
    """
    return return_types.kthvalue._make(kth_smallest(input, k, dim, keepdim))


def kth_smallest(input: Tensor, k: int, dim: int, keepdim: bool) -> tuple[Tensor, ...]:
    """Return the kth smallest elements and their places, for several functions.

    Args:
        input: the tensor.
        k: which one, from 1 on.
        dim: the dimension.
        keepdim: whether the dimension stays with size one.
    """
    dim = wrap_dim(dim, input.ndim)
    size = input.shape[dim] if input.ndim else 1
    if not 1 <= k <= size:
        raise _core.OutOfRangeError(
            f"selected number k out of range: k is {k}, dimension {dim} has size {size}."
        )
    # Unsorted, the last one is where it belongs.
    found = ops.topk(input, k, dim, False, False)
    if input.ndim == 0:
        return found
    if keepdim:
        return tuple(ops.slice(each, dim, k - 1, k) for each in found)
    return tuple(ops.select(each, dim, k - 1) for each in found)
