"""Cells see tensors as they lie in memory, and give what their bodies give of those."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

import weft

held = weft.arange(6.0).reshape(2, 3)


def asks_whether_in_order(x: weft.Tensor) -> weft.Tensor:
    return x * 2 if x.is_contiguous() else x - 1


def asks_of_a_view(x: weft.Tensor) -> weft.Tensor:
    return x * 2 if x.transpose(0, 1).is_contiguous() else x - 1


def asks_for_strides(x: weft.Tensor) -> weft.Tensor:
    return x * x.stride(0)


def asks_where_it_begins(x: weft.Tensor) -> weft.Tensor:
    return x + x.storage_offset()


def asks_what_it_is_a_view_of(x: weft.Tensor) -> weft.Tensor:
    return x * 2 if x._is_view() else x - 1


def reshapes(x: weft.Tensor) -> weft.Tensor:
    return x.reshape(-1) * 2


def views(x: weft.Tensor) -> Any:
    try:
        return x.view(-1) * 2
    except RuntimeError:
        return x - 1


def views_by_strides(x: weft.Tensor) -> weft.Tensor:
    return x.as_strided((2,), (0,)) * 2 + x.as_strided((1,), (1,), 0)


def asks_of_what_it_made(x: weft.Tensor) -> weft.Tensor:
    y = (x * 2).t()
    return y + y.stride(0) + y.storage_offset()


def asks_of_what_it_reads(x: weft.Tensor) -> weft.Tensor:
    return x * 2 if held.is_contiguous() else x - 1


def layouts() -> list[weft.Tensor]:
    whole = weft.arange(36.0).reshape(6, 6)
    return [
        whole[:2, :3].clone(),
        whole[:2, :3].clone().t(),
        whole[:3, :2].clone().t(),
        whole[2:4, 1:4],
        whole[1:3, ::2],
        weft.ones(1, 1).expand(2, 3),
        whole[:, 0].reshape(2, 3),
    ]


@pytest.mark.parametrize("how", ["eager", "lazy", "map"])
@pytest.mark.parametrize(
    "body",
    [
        asks_whether_in_order,
        asks_of_a_view,
        asks_for_strides,
        asks_where_it_begins,
        asks_what_it_is_a_view_of,
        reshapes,
        views,
        views_by_strides,
        asks_of_what_it_made,
        asks_of_what_it_reads,
    ],
)
@pytest.mark.filterwarnings("ignore:more than 20 plans")
def test_a_cell_sees_how_tensors_lie(body: Callable[[Any], weft.Tensor], how: str) -> None:
    cell = weft.cell(body)
    for wide in (True, False):
        held.data = weft.arange(6.0).reshape(2, 3) if wide else weft.arange(6.0).reshape(3, 2).t()
        for _ in range(2):
            expected = [body(x).tolist() for x in layouts()]
            xs = layouts()
            with weft.lazy() if how == "lazy" else nullcontext():
                found = weft.map(cell, xs) if how == "map" else [cell(x) for x in xs]
            assert [result.tolist() for result in found] == expected


def test_what_lies_in_order_is_of_one_kind_wherever_it_is() -> None:
    cell: Any = weft.cell(reshapes)
    for row in weft.arange(24.0).reshape(4, 2, 3):
        cell(row)
    assert not cell.note
    assert len(cell.programs) == 1
