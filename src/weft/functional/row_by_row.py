"""The decorator of functions that read values: inside `vmap` they run row by row."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from weft import _core
from weft._core import Tensor
from weft.autograd.function import Function
from weft.autograd.function_rows import VmapInfo
from weft.autograd.level import Level
from weft.pytree import tree_flatten, tree_unflatten

_Function = TypeVar("_Function", bound=Callable[..., Any])


def row_by_row(function: _Function) -> _Function:
    """Let a function that reads values of its tensors run inside vmap.

    Args:
        function: Returns a tensor or a tuple of them, whose shapes are the same for all rows.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except _core.UnsupportedError:
            leaves, spec = tree_flatten((args, kwargs))
            if not any(map(_core.is_row, leaves)):
                raise

        def of_tensors(*tensors: Tensor) -> Any:
            supply = iter(tensors)
            given = [next(supply) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
            args, kwargs = tree_unflatten(given, spec)
            return call(*args, **kwargs)

        return _RowByRow.apply(of_tensors, *(leaf for leaf in leaves if isinstance(leaf, Tensor)))

    return call  # type: ignore[return-value] # it has the function's signature


class _RowByRow(Function):
    """A function of tensors, applied to one row after the other, with its gradient."""

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        del output
        ctx.function = inputs[0]
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        tensors = ctx.saved_tensors
        floats = [x.is_floating_point() for x in tensors]

        def pull(*values: Tensor) -> tuple[Tensor, ...]:
            given = list(values[: len(tensors)])
            places = [place for place, is_float in enumerate(floats) if is_float]
            level = Level([given[place] for place in places], "vmap")
            for place, new in zip(places, level.inputs, strict=True):
                given[place] = new
            output = level.run(ctx.function, *given)
            outputs = cast("tuple[Tensor, ...]", output if isinstance(output, tuple) else (output,))
            return tuple(level.run(level.pull, outputs, values[len(tensors) :]))

        found = iter(_RowByRow.apply(pull, *tensors, *gradients))
        return None, *(next(found) if is_float else None for is_float in floats)

    @staticmethod
    def vmap(info: VmapInfo, in_dims: tuple[int | None, ...], *args: Any) -> tuple[Any, Any]:
        function, *tensors = args
        if info.batch_size == 0:
            raise _core.UnsupportedError("vmap: a function that reads values needs a row to read")
        results = [
            function(
                *(
                    tensor if dim is None else tensor.select(dim, row)
                    for tensor, dim in zip(tensors, in_dims[1:], strict=True)
                )
            )
            for row in range(info.batch_size)
        ]
        columns = list(zip(*results, strict=True)) if isinstance(results[0], tuple) else [results]
        for column in columns:
            if len({tuple(item.shape) for item in column}) > 1:
                raise _core.UnsupportedError(
                    "vmap: the shape of a result depends on values and differs from row to row; "
                    "weft.map runs functions whose results differ in shape"
                )
        stacked = tuple(_core.ops.stack(list(column)) for column in columns)
        return (stacked, 0) if isinstance(results[0], tuple) else (stacked[0], 0)
