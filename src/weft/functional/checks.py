"""Check the arguments of functions that are made of ops, with the errors that ops give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft import _core
from weft._tensor import Size

if TYPE_CHECKING:
    from types import TracebackType


def wrap_dim(name: str, dim: int, rank: int) -> int:
    """Return a dimension that may count from the end as one that does not.

    Args:
        name: the function, for the error.
        dim: the dimension.
        rank: how many there are; a tensor without dimensions has 0 and -1.
    """
    count = rank or 1
    if not -count <= dim < count:
        raise _core.OutOfRangeError(
            f"{name}(): Dimension out of range (expected to be in range of [{-count}, "
            f"{count - 1}], but got {dim})"
        )
    return dim % count


def wrap_dims(name: str, dims: Any, rank: int) -> list[int]:
    """Return one or several dimensions as a list without negative ones; none may repeat."""
    wrapped = [wrap_dim(name, dim, rank) for dim in as_list(dims)]
    if len(set(wrapped)) < len(wrapped):
        raise _core.ShapeError(f"{name}(): a dim appears more than once in {tuple(as_list(dims))}.")
    return wrapped


def as_list(value: Any) -> list[Any]:
    """Return one number, or several, as a list."""
    return list(value) if hasattr(value, "__iter__") else [value]


def numbers(values: tuple[Any, ...]) -> list[int]:
    """Return numbers that were given one by one, or as one sequence."""
    return as_list(values[0]) if len(values) == 1 else list(values)


def broadcast_shapes(*shapes: Any) -> Any:
    """Return the common shape that tensors of these shapes are broadcast to."""
    several = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    rank = max((len(shape) for shape in several), default=0)
    result = [1] * rank
    for shape in several:
        for i, size in enumerate(reversed(shape), 1):
            if size not in (1, result[-i]):
                if result[-i] != 1:
                    raise _core.ShapeError(
                        f"broadcast_shapes(): the shapes do not fit together; they are "
                        f"{', '.join(str(s) for s in several)}."
                    )
                result[-i] = size
    return Size(result)


class called:  # noqa: N801 (reads as a clause: `with called("take", "index"):`)
    """Gives errors of an op the name of the function that is made of it.

    Args:
        name: the function's name.
        op: the op's name.
    """

    __slots__ = ("name", "op")

    def __init__(self, name: str, op: str) -> None:
        self.name = name
        self.op = op

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if isinstance(error, RuntimeError | TypeError) and str(error).startswith(f"{self.op}("):
            raise type(error)(self.name + str(error).removeprefix(self.op)) from None
