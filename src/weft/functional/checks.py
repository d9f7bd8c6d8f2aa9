"""Check the arguments of functions that are made of ops, with the errors that ops give."""

from __future__ import annotations

from typing import Any

from weft import _core
from weft._tensor import Size
from weft.functional.composite import composite


def wrap_dim(dim: int, rank: int) -> int:
    """Return a dimension that may count from the end as one that does not.

    Args:
        dim: the dimension.
        rank: how many there are; a tensor without dimensions has 0 and -1.
    """
    count = rank or 1
    if not -count <= dim < count:
        raise _core.OutOfRangeError(
            f"Dimension out of range (expected to be in range of [{-count}, "
            f"{count - 1}], but got {dim})"
        )
    return dim % count


def wrap_dims(dims: Any, rank: int) -> list[int]:
    """Return one or several dimensions as a list without negative ones; none may repeat."""
    wrapped = [wrap_dim(dim, rank) for dim in as_list(dims)]
    if len(set(wrapped)) < len(wrapped):
        raise _core.ShapeError(f"a dim appears more than once in {tuple(as_list(dims))}.")
    return wrapped


def as_list(value: Any) -> list[Any]:
    """Return one number, or several, as a list."""
    return list(value) if hasattr(value, "__iter__") else [value]


def numbers(values: tuple[Any, ...]) -> list[int]:
    """Return numbers that were given one by one, or as one sequence."""
    return as_list(values[0]) if len(values) == 1 else list(values)


@composite()
def broadcast_shapes(*shapes: Any) -> Any:
    """Return the common shape that tensors of these shapes are broadcast to.

    Example:
        >>> import weft
        >>> weft.broadcast_shapes((3, 1), (2,))
        weft.Size([3, 2])
    """
    several = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    rank = max((len(shape) for shape in several), default=0)
    result = [1] * rank
    for shape in several:
        for i, size in enumerate(reversed(shape), 1):
            if size not in (1, result[-i]):
                if result[-i] != 1:
                    raise _core.ShapeError(
                        f"the shapes do not fit together; they are "
                        f"{', '.join(str(s) for s in several)}."
                    )
                result[-i] = size
    return Size(result)
