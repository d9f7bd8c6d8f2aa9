"""Choose, order and count elements, with PyTorch's extra arguments."""

from __future__ import annotations

from typing import Any

from weft import _core
from weft._core import Tensor
from weft.functional import return_types
from weft.functional.creation import arange

ops = _core.ops


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """Choose elements of `input` where a condition holds, and of `other` elsewhere.

    With the condition alone, return the indices where it holds, one tensor a dimension.
    """
    if input is None or other is None:
        if input is not None or other is not None:
            raise TypeError("where(): input and other must be given together, or neither of them.")
        return nonzero(condition, as_tuple=True)
    return ops.where(condition, input, other)


def where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """Keep elements where a condition holds and take those of `other` elsewhere."""
    return ops.where(condition, self, other)


def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """Return the indices of elements that are not zero.

    Args:
        input: the tensor.
        as_tuple: whether to return one vector a dimension instead of one row an element.
    """
    if not as_tuple:
        return ops.nonzero(input)
    found = ops.nonzero(input.reshape(1) if input.ndim == 0 else input)
    return tuple(ops.unbind(found, 1))


def argwhere(input: Tensor) -> Tensor:
    """Return the indices of elements that are not zero, one row an element."""
    return ops.nonzero(input)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Turn class numbers into vectors with a one at that place.

    Args:
        tensor: int64 numbers.
        num_classes: size of the vectors; one more than the largest number if negative.
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
    """
    source = value if src is _MISSING else src
    if reduce is None:
        return ops.scatter(input, dim, index, source)
    if reduce not in ("add", "multiply"):
        raise _core.ArgumentError(f"scatter(): reduce must be 'add' or 'multiply', not {reduce!r}.")
    if not isinstance(source, Tensor):
        source = ops.full(index.shape, source, dtype=input.dtype)
    return ops.scatter_reduce(input, dim, index, source, "sum" if reduce == "add" else "prod")


def scatter_(self: Tensor, dim: int, index: Tensor, src: Any = _MISSING, **options: Any) -> Tensor:
    """Do what `scatter` does, in place."""
    if src is not _MISSING and not options:
        return ops.scatter_(self, dim, index, src)
    return self.copy_(scatter(self, dim, index, src, **options))


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
    """
    places, dims = _as_places(input, indices)
    return ops.index_put(input, places, values, dims, accumulate)


def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """Do what `index_put` does, in place."""
    places, dims = _as_places(self, indices)
    return ops.index_put_(self, places, values, dims, accumulate)


def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Repeat elements, each one right after itself.

    Args:
        input: the tensor; alone, it is the numbers of repeats of 0, 1, 2 ...
        repeats: how often, for all or for each.
        dim: the dimension; the flattened tensor if not given.
        output_size: accepted for PyTorch programs.
    """
    del output_size
    if repeats is None:
        return ops.repeat_interleave_index(input)
    if not isinstance(repeats, Tensor):
        return ops.repeat_interleave(input, repeats, dim)
    if repeats.numel() == 1:
        return ops.repeat_interleave(input, int(repeats), dim)
    if dim is None:
        input, dim = input.reshape(-1), 0
    if repeats.ndim != 1 or repeats.numel() != input.shape[dim]:
        raise _core.ShapeError(
            f"repeat_interleave(): repeats must have one number for each index of dim; repeats is "
            f"{tuple(repeats.shape)}, input is {tuple(input.shape)}, dim is {dim}."
        )
    return ops.index_select(input, dim, ops.repeat_interleave_index(repeats))


def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """Sort along a dimension; return the values and where they were."""
    return return_types.sort._make(ops.sort(input, dim, descending, stable))


def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """Return the indices that sort along a dimension."""
    return ops.sort(input.detach(), dim, descending, stable)[1]


def msort(input: Tensor) -> Tensor:
    """Sort along the first dimension."""
    return ops.sort(input, 0)[0]


def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """Return the k largest (or smallest) elements along a dimension, and where they are."""
    return return_types.topk._make(ops.topk(input, k, dim, largest, sorted))


def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """Return the kth smallest element along a dimension, and where it is."""
    return return_types.kthvalue._make(ops.kthvalue(input, k, dim, keepdim))


def _wanted(found: Any, return_inverse: bool, return_counts: bool) -> Any:
    values, inverse, counts = found
    results = (values,) + (inverse,) * return_inverse + (counts,) * return_counts
    return results if len(results) > 1 else values


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Return the different elements (or slices along a dimension), sorted.

    Args:
        input: the tensor.
        sorted: accepted for PyTorch programs; the result is always sorted.
        return_inverse: whether to return where each element of the input went.
        return_counts: whether to return how often each one appears.
        dim: compare slices along this dimension.
    """
    del sorted
    return _wanted(ops.unique_all(input, dim), return_inverse, return_counts)


def unique_consecutive(
    input: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Return the elements that differ from the one before them; arguments as for `unique`."""
    return _wanted(ops.unique_consecutive_all(input, dim), return_inverse, return_counts)


def isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Tell for each element whether it is among the others.

    Args:
        elements: a tensor, or a number.
        test_elements: what to look among: a tensor, or a number.
        assume_unique: accepted for PyTorch programs.
        invert: whether to tell the opposite.
    """
    del assume_unique
    if not isinstance(elements, Tensor):
        elements = ops.full((), elements)
    if isinstance(test_elements, Tensor):
        matches = ops.eq(elements.unsqueeze(-1), test_elements.reshape(-1))
        found = ops.any(matches, [-1])
    else:
        found = ops.eq(elements, test_elements)
    return ops.logical_not(found) if invert else found
