"""Tensors over bytes of a file: read into memory of their own, or mapped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft import _core
from weft.serialization.elements import numpy_name
from weft.serialization.errors import LoadError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft._core import Tensor, dtype
    from weft.serialization.sources import Source


def read_tensor(
    source: Source, offset: int, kind: dtype, shape: tuple[int, ...], what: str
) -> Tensor:
    """Make a contiguous tensor of the bytes that begin at an offset.

    Args:
        source: the file.
        offset: where the bytes begin.
        kind: the element type.
        shape: the sizes; the bytes must be there.
        what: names the tensor in messages.

    Raises:
        LoadError: if a truth value is neither 0 nor 1.
    """
    made = None if source.mapped is None else _mapped(source, offset, kind, shape)
    if made is None:
        made = _core.ops.zeros(shape, dtype=kind)
        if made.numel():
            elements: Any = _core.array_of(made)
            source.fill(offset, memoryview(elements.reshape(-1).view("uint8")))
    _check_truths(made, what)
    return made


def _check_truths(tensor: Tensor, what: str) -> None:
    """Refuse a bool that is neither 0 nor 1: no kernel expects one."""
    if tensor.dtype is _core.bool and tensor.numel():
        bits: Any = _core.array_of(tensor)
        if int(bits.view("uint8").max()) > 1:
            raise LoadError(f"{what}: a truth value is neither 0 nor 1")


def _mapped(source: Source, offset: int, kind: dtype, shape: tuple[int, ...]) -> Tensor | None:
    """Make a tensor over mapped memory; None if the bytes do not lie as elements must lie."""
    count = kind.itemsize
    for size in shape:
        count *= size
    memory: Any = source.mapped
    if count == 0 or (memory.ctypes.data + offset) % kind.itemsize:
        return None
    array = memory[offset : offset + count].view(numpy_name(kind)).reshape(shape)
    return _core.from_buffer(array, kind)


def view_of(
    base: Tensor, kind: dtype, shape: Sequence[int], stride: Sequence[int], offset: int, what: str
) -> Tensor:
    """Make a tensor over the memory of another one.

    Args:
        base: a contiguous tensor.
        kind: the element type; another one than the base's only if that is uint8.
        shape: the sizes.
        stride: the distances, in elements.
        offset: where the first element lies, in elements of the base.
        what: names the tensor in messages.

    Raises:
        LoadError: if an element lies outside of the memory.
    """
    reach = sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
    reach = 0 if 0 in shape else (reach + 1) * kind.itemsize
    if offset * base.itemsize + reach > base.numel() * base.itemsize:
        raise LoadError(
            f"{what} reaches beyond its storage of {base.numel()} elements: shape {tuple(shape)}, "
            f"stride {tuple(stride)}, offset {offset}"
        )
    if kind is not base.dtype:
        base = _seen_as(base, kind, offset)
        offset = 0
        _check_truths(base, what)
    return base.as_strided(shape, stride, offset).detach()


def _seen_as(base: Tensor, kind: dtype, offset: int) -> Tensor:
    """See bytes as elements of another type, from an offset on."""
    count = (base.numel() - offset) // kind.itemsize
    array: Any = _core.array_of(base)[offset : offset + count * kind.itemsize]
    if array.ctypes.data % kind.itemsize:
        array = array.copy()  # so oddly shared memory is shared no more
    return _core.from_buffer(array.view(numpy_name(kind)), kind)


def rearranged(values: Tensor, order: Sequence[int]) -> Tensor:
    """Return the same values with their dimensions in another order in memory, outermost first."""
    back = sorted(range(len(order)), key=lambda position: order[position])
    return values.permute(list(order)).contiguous().permute(back).detach()
