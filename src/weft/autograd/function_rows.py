"""User-written functions inside `vmap`.

Inside, forward and backward run on rows like any other ops. Outside, where forward's ops are not
recorded, the outputs get their history by applying the function to all rows there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from weft import _core
from weft._tensor import Tensor
from weft._vmap import RANDOMNESS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.autograd.function import Function


class VmapInfo(NamedTuple):
    """What a Function's own vmap is told.

    Attributes:
        batch_size: How many examples there are.
        randomness: What random ops are to do.
    """

    batch_size: int
    randomness: str


def has_rule(function: type[Function]) -> bool:
    """Tell whether a Function says itself what it does inside vmap.

    Args:
        function: The Function.
    """
    return any("vmap" in vars(base) for base in function.__mro__[:-2])


def apply_to_rows(function: type[Function], args: tuple[Any, ...]) -> Any:
    """Apply a Function to all rows, outside of the innermost vmap.

    Args:
        function: The Function.
        args: Its arguments inside.

    Returns:
        The output as it is inside; None if nobody outside needs its history.
    """
    places = [place for place, item in enumerate(args) if isinstance(item, Tensor)]
    several: list[bool] = []

    def outside(
        rows: int, randomness: int, has_rows: list[bool], given: list[Tensor]
    ) -> Sequence[Tensor]:
        whole = list(args)
        dims: list[int | None] = [None] * len(args)
        for place, has, item in zip(places, has_rows, given, strict=True):
            whole[place] = item
            dims[place] = 0 if has else None
        if has_rule(function):
            info = VmapInfo(rows, RANDOMNESS[randomness])
            output, out_dims = function.vmap(info, tuple(dims), *whole)
            several.append(isinstance(output, tuple))
            return _with_rows_first(output, out_dims, rows)
        if rows == 0 or not _core.is_grad_enabled() or not any(x.requires_grad for x in given):
            return ()
        results = [
            function.apply(
                *(item if dim is None else item[row] for item, dim in zip(whole, dims, strict=True))
            )
            for row in range(rows)
        ]
        several.append(isinstance(results[0], tuple))
        columns = zip(*results, strict=True) if several[0] else (results,)
        return [
            _core.ops.stack(list(column)) for column in columns if isinstance(column[0], Tensor)
        ]

    outputs = _core.outside_vmap(outside, [args[place] for place in places])
    if not several:
        return None
    return outputs if several[0] else outputs[0]


def _with_rows_first(output: Any, dims: Any, rows: int) -> list[Tensor]:
    outputs = output if isinstance(output, tuple) else (output,)  # pyright: ignore[reportUnknownVariableType]
    places = dims if isinstance(dims, tuple) else (dims,) * len(outputs)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return [
        item.expand(rows, *item.shape) if dim is None else item.movedim(dim, 0)
        for item, dim in zip(outputs, places, strict=True)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    ]


def take_rows(outputs: tuple[Any, ...], others: tuple[Any, ...]) -> None:
    """Give outputs of forward the rows that have a history outside.

    Args:
        outputs: What forward returned.
        others: The same, as `apply_to_rows` returned it.
    """
    tensors = [item for item in outputs if isinstance(item, Tensor)]
    for item, other in zip(tensors, others, strict=True):
        _core.take_rows(item, other)
