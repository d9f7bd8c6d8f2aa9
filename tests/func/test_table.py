"""Every op of the table inside vmap, against the same op example by example."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import weft
from tests.ops.examples import ROWS, assert_same, examples_of, map_tensors
from tests.ops.row import Call, Row, flatten, is_tensor, to_call
from tests.ops.table import row_id
from weft.func import grad, vmap

# What these return is no tensor, or has a shape that depends on values.
BY_VALUE = frozenset(
    "Tensor.__getitem__ allclose argwhere bincount equal histogramdd index_put masked_select "
    "nonzero unique unique_consecutive".split()
)
# It would write each row into what all share.
WRITES_SHARED = "nn.functional.batch_norm"


def call_of(row: Row, example: Any) -> Call:
    return to_call(weft, example, row.dtypes[0])


def differentiable(row: Row, example: Any) -> list[bool]:
    """Tell for each tensor of an example's call whether there is a gradient for it."""
    call = to_call(weft, example, row.dtypes[0], gradient=row.order > 0)
    return [x.requires_grad for x in tensors_of(call)]


def tensors_of(call: Call) -> list[weft.Tensor]:
    """Return the tensors among a call's arguments."""
    return [
        value for value in flatten((call.args, tuple(call.kwargs.values()))) if is_tensor(value)
    ]


def function_of(row: Row, call: Call) -> Callable[..., list[weft.Tensor]]:
    """Return the op as a function of the call's tensors alone; it may write into copies of them."""

    def run(*tensors: weft.Tensor) -> list[weft.Tensor]:
        supply = iter(tensors)
        args = map_tensors(call.args, lambda _: next(supply).clone())
        kwargs = {
            name: map_tensors(value, lambda _: next(supply).clone())
            for name, value in call.kwargs.items()
        }
        result = row.function(weft)(*args, **kwargs)
        return [leaf for leaf in flatten(result) if is_tensor(leaf)]

    return run


def number_of(outputs: Sequence[weft.Tensor]) -> weft.Tensor:
    """Return one number that depends on all outputs."""
    number = weft.zeros((), dtype=weft.float64)
    for output in outputs:
        wide = output.to(weft.float64)
        number = number + (wide * (wide + 0.7)).sum()
    return number


def numbered(function: Callable[..., list[weft.Tensor]]) -> Callable[..., weft.Tensor]:
    return lambda *given: number_of(function(*given))


def run_or_refuse(
    row: Row, function: Callable[..., Any], given: Sequence[weft.Tensor], shared: bool = False
) -> Any:
    """Call a function; what cannot run for all rows gives None instead."""
    try:
        return function(*given)
    except weft.UnsupportedError:
        if row.name in BY_VALUE or (shared and row.name == WRITES_SHARED):
            return None
        raise


@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("row", ROWS, ids=row_id)
def test_vmap_equals_a_loop(row: Row, shared: bool) -> None:
    for examples in examples_of(row):
        calls = [call_of(row, example) for example in examples]
        tensors = [tensors_of(call) for call in calls]
        if not tensors[0]:
            continue
        dims: list[int | None] = [0] * len(tensors[0])
        if shared:
            dims[1:] = [None] * (len(dims) - 1)
            tensors = [[own[0], *tensors[0][1:]] for own in tensors]
        given = [
            weft.stack([own[i] for own in tensors]) if dim == 0 else tensors[0][i]
            for i, dim in enumerate(dims)
        ]
        chosen = differentiable(row, examples[0])
        leaves = [x.requires_grad_() for x, is_leaf in zip(given, chosen, strict=True) if is_leaf]
        function = function_of(row, calls[0])
        got = run_or_refuse(row, vmap(function, in_dims=tuple(dims)), given, shared)
        if got is None:
            continue
        rows = [
            [x[n] if dim == 0 else x for x, dim in zip(given, dims, strict=True)]
            for n in range(len(calls))
        ]
        separate = [function(*one) for one in rows]
        expected = [weft.stack(list(column)) for column in zip(*separate, strict=True)]
        assert_same(row, got, expected)
        numbers = [number_of(outputs) for outputs in (got, expected)]
        assert numbers[0].requires_grad == numbers[1].requires_grad
        if numbers[1].requires_grad:
            ours, theirs = (
                weft.autograd.grad(number, leaves, allow_unused=True, materialize_grads=True)
                for number in numbers
            )
            assert_same(row, ours, theirs)


@pytest.mark.parametrize("row", [row for row in ROWS if row.order > 0], ids=row_id)
def test_first_and_second_gradients_of_each_example(row: Row) -> None:
    for examples in examples_of(row):
        calls = [call_of(row, example) for example in examples]
        tensors = [tensors_of(call) for call in calls]
        wanted = tuple(i for i, is_leaf in enumerate(differentiable(row, examples[0])) if is_leaf)
        if not wanted:
            continue
        function = function_of(row, calls[0])
        gradient = grad(numbered(function), argnums=wanted)
        given = [weft.stack(list(column)) for column in zip(*tensors, strict=True)]
        leaves = [given[i].requires_grad_(row.order > 1) for i in wanted]
        got = run_or_refuse(row, vmap(gradient), given)
        if got is None:
            continue
        separate = [gradient(*(x[n] for x in given)) for n in range(len(calls))]
        expected = [weft.stack(list(column)) for column in zip(*separate, strict=True)]
        assert_same(row, got, expected)
        numbers = [number_of(gradients) for gradients in (got, expected)]
        assert numbers[0].requires_grad == numbers[1].requires_grad
        if numbers[1].requires_grad:
            ours, theirs = (weft.autograd.grad(x, leaves, materialize_grads=True) for x in numbers)
            assert_same(row, ours, theirs)


@pytest.mark.parametrize("name", BY_VALUE)
def test_what_depends_on_values_is_refused(name: str) -> None:
    refused = False
    for row in ROWS:
        for examples in examples_of(row) if row.name == name else ():
            calls = [call_of(row, example) for example in examples]
            given = [weft.stack(list(x)) for x in zip(*map(tensors_of, calls), strict=True)]
            refused |= run_or_refuse(row, vmap(function_of(row, calls[0])), given) is None
    assert refused
