"""Deciding how tensors lie in a file: which memory is written, under which name.

Tensors whose memory overlaps are written once and overlap again when they are loaded. All others
are written by themselves, in the order of their indices, as every reader of the format expects.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from weft import _core
from weft.serialization.header import METADATA

if TYPE_CHECKING:
    import numpy as np

    from weft._core import Tensor, dtype


@dataclass(slots=True)
class Item:
    """One tensor of the tree, with the stretch of memory that it reaches."""

    name: str
    tensor: Tensor
    array: np.ndarray[Any, Any]
    begin: int
    end: int


@dataclass(slots=True)
class Placement:
    """What is written, by name, and how each tensor of the tree is found in it."""

    written: dict[str, tuple[dtype, np.ndarray[Any, Any]]] = field(
        default_factory=dict[str, "tuple[dtype, np.ndarray[Any, Any]]"]
    )
    views: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


def place(named: list[tuple[str, Tensor]]) -> Placement:
    """Place tensors; `views` describes each of them, in order."""
    items = [_item(name, tensor) for name, tensor in named]
    placement = Placement(views=[{} for _ in items])
    for group in _groups(items):
        if len(group) == 1:
            _place_alone(placement, group[0], items[group[0]])
        else:
            _place_together(placement, group, [items[number] for number in group])
    for view, item in zip(placement.views, items, strict=True):
        if item.tensor.requires_grad:
            view["grad"] = True
    return placement


def _item(name: str, tensor: Tensor) -> Item:
    array = _core.array_of(tensor)  # computes what is pending
    begin = array.ctypes.data
    if array.size == 0:
        return Item(name, tensor, array, begin, begin)
    reach = sum((n - 1) * step for n, step in zip(array.shape, array.strides, strict=True))
    return Item(name, tensor, array, begin, begin + reach + array.itemsize)


def _groups(items: list[Item]) -> list[list[int]]:
    """Return the numbers of the tensors whose memory hangs together, in the order of the tree."""
    groups = [[number] for number, item in enumerate(items) if item.begin == item.end]
    filled = [number for number, item in enumerate(items) if item.begin < item.end]
    end = -1
    for number in sorted(filled, key=lambda number: items[number].begin):
        item = items[number]
        if item.begin < end:
            groups[-1].append(number)
        else:
            groups.append([number])
        end = max(end, item.end)
    return sorted((sorted(group) for group in groups), key=lambda group: group[0])


def _unused(placement: Placement, name: str) -> str:
    """Return a name that nothing is written under yet."""
    name = name.encode("utf-8", "replace").decode()
    chosen, count = name, 1
    while chosen in placement.written or chosen == METADATA:
        count += 1
        chosen = f"{name}#{count}"
    return chosen


def _strides(item: Item) -> list[int]:
    """Return strides in elements; those along dimensions of one element say nothing."""
    steps: list[int] = []
    following = 1
    for size, step in reversed(list(zip(item.array.shape, item.tensor.stride(), strict=True))):
        steps.append(following if size == 1 else step)
        following = steps[-1] * max(size, 1)
    return steps[::-1]


def _place_alone(placement: Placement, number: int, item: Item) -> None:
    if item.end - item.begin < item.array.nbytes:
        _place_together(placement, [number], [item])  # expanded: its few elements are enough
        return
    name = _unused(placement, item.name)
    placement.written[name] = (item.tensor.dtype, item.array)
    view = placement.views[number]
    view["of"] = name
    order = _memory_order(item)
    if order is not None:
        view["order"] = order


def _memory_order(item: Item) -> list[int] | None:
    """Return the dimensions as they lie in memory, outermost first; None for the usual order.

    Also None where memory has gaps: such a tensor comes back without them.
    """
    steps = _strides(item)
    order = sorted(range(len(steps)), key=lambda dim: -steps[dim])
    expected = 1
    for dim in reversed(order):
        if steps[dim] != expected:
            return None
        expected *= item.array.shape[dim]
    return None if order == list(range(len(steps))) else order


def _place_together(placement: Placement, numbers: list[int], items: list[Item]) -> None:
    begin = min(item.begin for item in items)
    end = max(item.end for item in items)
    kinds = {item.tensor.dtype for item in items}
    kind = items[0].tensor.dtype if len(kinds) == 1 else _core.uint8
    if any((item.begin - begin) % kind.itemsize for item in items):
        kind = _core.uint8
    whole = next(
        (
            item
            for item in items
            if (item.begin, item.end, item.tensor.dtype) == (begin, end, kind)
            and item.array.flags.c_contiguous
        ),
        None,
    )
    name = _unused(placement, (whole or items[0]).name)
    placement.written[name] = (kind, _memory(items, begin, end) if whole is None else whole.array)
    for number, item in zip(numbers, items, strict=True):
        view = placement.views[number]
        view["of"] = name
        if item is whole:
            continue
        view["shape"] = list(item.array.shape)
        view["stride"] = _strides(item)
        if kind is item.tensor.dtype:
            view["offset"] = (item.begin - begin) // kind.itemsize
        else:
            view["offset"] = item.begin - begin
            view["dtype"] = item.tensor.dtype.name


def _memory(items: list[Item], begin: int, end: int) -> np.ndarray[Any, Any]:
    """Return the bytes of overlapping tensors, from the first to the last that one reaches.

    Bytes between them that none of them reaches are zeros: they may hold anything.
    """
    import numpy as np  # noqa: PLC0415 - as in the rest of the package: only where it is needed

    memory = np.zeros(end - begin, dtype=np.uint8)
    for item in items:
        # One index is enough along a dimension that stays in its place.
        once = tuple(slice(0, 1 if step == 0 else None) for step in item.array.strides)
        part = item.array[once]
        np.ndarray(part.shape, part.dtype, memory, item.begin - begin, part.strides)[...] = part
    return memory
