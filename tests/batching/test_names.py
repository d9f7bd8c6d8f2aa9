"""What made a tensor goes by the same name, however it was computed."""

from __future__ import annotations

from typing import Any

import pytest

import weft
from tests.batching.test_table import to_calls
from tests.ops.examples import ROWS, examples_of
from tests.ops.row import Call, Row, flatten, is_tensor
from tests.ops.table import row_id
from weft.functional.composite import COMPOSITES

F = weft.nn.functional
pytestmark = pytest.mark.filterwarnings("ignore:more than 20 plans")


def names_of(result: Any) -> list[str | None]:
    tensors = [leaf for leaf in flatten(result) if is_tensor(leaf)]
    return [leaf.grad_fn and leaf.grad_fn.name() for leaf in tensors]


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.name.split(".")[-1] in COMPOSITES], ids=row_id
)
def test_composites_are_named_as_in_eager_code(row: Row) -> None:
    def call(given: Call) -> Any:
        return row.function(weft)(*given.args, **given.kwargs)

    for examples in examples_of(row):
        expected = [names_of(call(given)) for given in to_calls(row, examples)]
        with weft.lazy():
            lazy = [call(given) for given in to_calls(row, examples)]
        assert [names_of(result) for result in lazy] == expected
        mapped = weft.map(call, to_calls(row, examples))
        assert [names_of(result) for result in mapped] == expected


def mish_by_hand(x: weft.Tensor) -> weft.Tensor:
    return x * F.softplus(x).tanh()


def name_of(x: weft.Tensor) -> str:
    assert f"grad_fn=<{type(x.grad_fn).__name__}>" in repr(x)
    return type(x.grad_fn).__name__


def test_rows_and_equal_ops_that_run_together_keep_names_of_their_own() -> None:
    xs = [weft.full((3,), float(i), requires_grad=True) for i in (1, 2, 1)]
    with weft.lazy():
        found = [function(x) for x in xs for function in (F.mish, mish_by_hand, F.mish)]
        read = found[0] * 2
    assert [name_of(y) for y in found] == ["MishBackward0", "MulBackward0", "MishBackward0"] * 3
    assert name_of(read) == "MulBackward0"
    before: Any = read.grad_fn
    assert before.next_functions[0][0].name() == "MishBackward0"


def test_what_cells_give_is_named_as_their_bodies_name_it() -> None:
    def body(x: weft.Tensor) -> Any:
        return F.mish(x * 2), mish_by_hand(x)

    def names(results: Any) -> list[list[str]]:
        return [[name_of(y) for y in result] for result in results]

    cell: Any = weft.cell(body)
    xs = [weft.full((3,), i + 1.0, requires_grad=True) for i in range(3)]
    expected = names(body(x) for x in xs)
    assert names(cell(x) for x in xs) == expected
    with weft.lazy():
        lazy = [cell(x) for x in xs]
    assert names(lazy) == expected
    assert names(weft.map(cell, xs)) == expected
    assert cell.programs
    assert not cell.note
