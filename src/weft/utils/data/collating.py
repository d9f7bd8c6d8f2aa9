"""Make a batch of examples: stacked, kept as they are, or padded."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from functools import partial
from typing import Any, cast, overload

import numpy as np

from weft._core import ShapeError, Tensor, float64, ops
from weft._tensor import as_tensor, tensor

Collate = Callable[[list[Any]], Any]


def default_convert(data: Any) -> Any:
    """Turn the NumPy arrays in an example into tensors and leave everything else as it is.

    Args:
        data: An example: tensors, arrays, and lists, tuples and dicts of them.

    Example:
        >>> import numpy
        >>> from weft.utils.data import default_convert
        >>> default_convert([numpy.zeros(2, "float32"), "a", 1])
        [tensor([0., 0.]), 'a', 1]
    """
    if _is_array(data):
        return as_tensor(data) if _is_numeric(data) else data
    if isinstance(data, Mapping):
        given = cast("Mapping[Any, Any]", data)
        return _like_mapping(given, {key: default_convert(given[key]) for key in given})
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        given = cast("Sequence[Any]", data)
        return _like_sequence(given, [default_convert(part) for part in given])
    return data


def default_collate(batch: list[Any]) -> Any:
    """Make one batch of a list of examples by stacking what can be stacked.

    Tensors and arrays are stacked, numbers become a tensor, texts a list; tuples, lists and dicts
    are collated part by part.

    Args:
        batch: The examples; they must have the same structure and the same shapes.

    Raises:
        RuntimeError: If shapes or lengths differ; `ragged_collate` takes such examples.
        TypeError: If there is something in them that has no batch, such as None.

    Example:
        >>> import weft
        >>> weft.utils.data.default_collate([(weft.zeros(2), 3), (weft.ones(2), 4)])
        [tensor([[0., 0.],
                [1., 1.]]), tensor([3, 4])]
    """
    return _collated(batch, _stacked, default_collate)


@overload
def ragged_collate(batch: list[Any]) -> Any: ...
@overload
def ragged_collate(*, padding_value: float | None, lengths: bool = ...) -> Collate: ...
def ragged_collate(
    batch: list[Any] | None = None, *, padding_value: float | None = None, lengths: bool = False
) -> Any:
    """Make one batch of examples whose tensors differ in shape.

    Tensors of equal shapes are stacked, as `default_collate` does. Where shapes differ the result
    is the list of tensors as they are, which `weft.map` and lazy evaluation take as they come; with
    a padding value it is one tensor, filled up behind each example's elements.

    Args:
        batch: The examples. If left out, a collate function with the other arguments is returned.
        padding_value: Fill tensors up with this value to the greatest size in each dimension.
        lengths: Give `(tensor, lengths)` in the place of each padded tensor, where the second has
            the length of each example's first dimension.

    Example:
        >>> import weft
        >>> from weft.utils.data import ragged_collate
        >>> examples = [(weft.ones(2), 0), (weft.ones(3), 1)]
        >>> ragged_collate(examples)
        [[tensor([1., 1.]), tensor([1., 1., 1.])], tensor([0, 1])]
        >>> ragged_collate(padding_value=-1.0)(examples)[0]
        tensor([[ 1.,  1., -1.],
                [ 1.,  1.,  1.]])
    """
    if batch is None:
        return partial(_ragged, padding_value=padding_value, lengths=lengths)
    return _ragged(batch, padding_value, lengths)


def _ragged(batch: list[Any], padding_value: float | None, lengths: bool) -> Any:
    again = partial(_ragged, padding_value=padding_value, lengths=lengths)
    join = partial(_joined, padding_value=padding_value, lengths=lengths)
    if _is_ragged_list(batch):
        return [default_convert(part) for part in batch]
    return _collated(batch, join, again)


def _is_ragged_list(batch: list[Any]) -> bool:
    """Tell whether the parts are lists of different lengths: there is nothing to pair them by."""
    return (
        all(isinstance(part, Sequence) and not isinstance(part, (str, bytes)) for part in batch)
        and len({len(part) for part in batch}) > 1
    )


def _joined(tensors: list[Tensor], padding_value: float | None, lengths: bool) -> Any:
    is_equal = all(each.shape == tensors[0].shape for each in tensors)
    if padding_value is None or len({each.ndim for each in tensors}) > 1 or not tensors[0].ndim:
        return ops.stack(tensors) if is_equal else tensors
    if not is_equal:
        sizes = [max(column) for column in zip(*(each.shape for each in tensors), strict=True)]
        joined = ops.full([len(tensors), *sizes], padding_value, dtype=tensors[0].dtype)
        for place, each in enumerate(tensors):
            joined[(place, *(slice(size) for size in each.shape))] = each
    else:
        joined = ops.stack(tensors)
    return (joined, tensor([len(each) for each in tensors])) if lengths else joined


def _stacked(tensors: list[Tensor]) -> Tensor:
    try:
        return ops.stack(tensors)
    except ShapeError as error:
        error.add_note(
            "default_collate: the examples of a batch have different shapes. Give DataLoader "
            "collate_fn=weft.utils.data.ragged_collate to keep lists of tensors, or "
            "collate_fn=ragged_collate(padding_value=0.0) to pad them."
        )
        raise


def _collated(batch: list[Any], join: Callable[[list[Tensor]], Any], again: Collate) -> Any:
    """Make a batch of the parts at one place of the examples; `again` goes one level down."""
    first: Any = batch[0]
    if isinstance(first, Tensor):
        return join(batch)
    if _is_array(first):
        if not _is_numeric(first):
            raise TypeError(f"default_collate: an array of {first.dtype} cannot become a tensor")
        is_scalar = isinstance(first, np.generic)
        return as_tensor(np.array(batch)) if is_scalar else join([as_tensor(a) for a in batch])
    if isinstance(first, float):
        return tensor(batch, dtype=float64)
    if isinstance(first, int):
        return tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        given = cast("Mapping[Any, Any]", first)
        return _like_mapping(given, {key: again([one[key] for one in batch]) for key in given})
    if isinstance(first, Sequence):
        given = cast("Sequence[Any]", first)
        if any(len(each) != len(given) for each in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return _like_sequence(given, [again(list(part)) for part in zip(*batch, strict=True)])
    raise TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
        f"found {type(first)}"
    )


def _is_array(data: Any) -> bool:
    return isinstance(data, (np.ndarray, np.generic))


def _is_numeric(array: Any) -> bool:
    return array.dtype.kind not in "SUO"


def _like_mapping(given: Mapping[Any, Any], values: dict[Any, Any]) -> Any:
    """Return a mapping of the same type, with what else it holds, if it lets itself be made."""
    try:
        if isinstance(given, MutableMapping):
            made = copy.copy(given)
            made.update(values)
            return made
        return type(given)(values)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
    except TypeError:
        return values


def _like_sequence(given: Sequence[Any], values: list[Any]) -> Any:
    """Return a sequence of the same type, if it lets itself be made of values.

    A plain tuple becomes a list, as PyTorch has it.
    """
    if hasattr(given, "_fields"):
        return type(given)(*values)
    if isinstance(given, tuple) or type(given) is list:
        return values
    try:
        return type(given)(values)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
    except TypeError:  # such as range
        return values
