"""What examples read and then write, while others write it, too: nothing is lost silently."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import weft
from weft import nn

pytestmark = pytest.mark.filterwarnings("ignore:more than 20 plans in a row:RuntimeWarning")

Write = Callable[[weft.Tensor, weft.Tensor], Any]


def _by_places(total: weft.Tensor, x: weft.Tensor) -> None:
    total[weft.tensor([0, 2])] += x[:2]


def _by_mask(total: weft.Tensor, x: weft.Tensor) -> None:
    total[total >= 0] += x


def _by_list(total: weft.Tensor, x: weft.Tensor) -> None:
    total[[1, 3]] = total[[1, 3]] * 2 + x[2:]


def _copied(total: weft.Tensor, x: weft.Tensor) -> None:
    total.copy_(total + x)


def _average(total: weft.Tensor, x: weft.Tensor) -> None:
    total.add_((x - total) * 0.5)


def _part(total: weft.Tensor, x: weft.Tensor) -> None:
    total[1:3] = total[:2] + x[:2]


def _through_a_view(total: weft.Tensor, x: weft.Tensor) -> None:
    total.view(2, 2)[weft.tensor([1])] += x[:2]


@pytest.mark.parametrize("reads", [False, True])
@pytest.mark.parametrize(
    "write", [_by_places, _by_mask, _by_list, _copied, _average, _part, _through_a_view]
)
def test_what_is_read_and_written_in_a_row_is_whole(write: Write, reads: bool) -> None:
    def run(batch: bool) -> list[float]:
        total = weft.zeros(4)

        def add(k: float) -> weft.Tensor:
            x = weft.ones(4) * k
            if reads and x.sum() < 0:
                return x
            write(total, x)
            return x * 2

        weft.map(add, [1.0, 2.0, 3.0, 4.0], batch=batch)
        return total.tolist()

    assert run(batch=True) == run(batch=False)


@pytest.mark.parametrize("what", ["pending", "computed", "read by Python", "by value"])
def test_a_write_after_a_wait_that_would_undo_another_is_refused(what: str) -> None:
    total = weft.zeros(4)

    def add(k: float) -> None:
        x = weft.ones(4) * k
        old = total[total >= 0] if what == "by value" else total * 1.0
        if what == "computed":
            assert old.sum() >= 0
        if what == "read by Python":
            old = weft.tensor(total.tolist())
        if x.sum() > 0:  # the others go on
            total.copy_(old + x)  # here

    with pytest.raises(RuntimeError, match=r"another example of the map has written it") as found:
        weft.map(add, [1.0, 2.0])
    line = add.__code__.co_firstlineno + 8
    assert f"(copy_ at {__file__}:{line})" in str(found.value)
    assert "in example 1 of weft.map" in found.value.__notes__
    assert total.tolist() == [1.0] * 4
    weft.map(add, [5.0])  # nobody else writes
    assert total.tolist() == [6.0] * 4


def test_who_reads_again_may_write() -> None:
    count = weft.zeros(1)

    def step(k: float) -> None:
        before = count.item()
        if (weft.ones(1) * k).sum() > 0:
            assert count.item() >= before
            count.fill_(count.item() + 1)

    weft.map(step, [1.0, 2.0, 3.0])
    assert count.tolist() == [3.0]


def test_writes_of_what_nobody_else_has_read_or_written_are_as_before() -> None:
    table, seen = weft.zeros(4, 2), weft.zeros(4)
    norm, embedding = nn.BatchNorm1d(2), nn.Embedding(5, 2, max_norm=1.0)

    def fill(k: int) -> float:
        seen.add_(1)
        if (weft.ones(1) * k).sum() >= 0:
            table[k] = weft.ones(2) * k
        table[k] += 1
        own = weft.zeros(3)
        total = own + k
        if total.sum() >= 0:
            own.copy_(total)
        norm(norm(weft.randn(3, 2)))
        if embedding(weft.tensor(k)).sum() > -9:
            seen.add_(1)
        return (embedding(weft.tensor(k + 1)) * 0).sum().item() + own.sum().item()

    assert weft.map(fill, range(4)) == [0.0, 3.0, 6.0, 9.0]
    assert table.tolist() == [[k + 1.0] * 2 for k in range(4)]
    assert seen.tolist() == [8.0] * 4


def test_nested_maps_tell_their_examples_apart() -> None:
    total = weft.zeros(1)

    def outer(k: float) -> None:
        def inner(i: float) -> None:
            old = total * 1.0
            if old.sum() >= 0 and (weft.ones(1) * i).sum() > 0:
                total.copy_(old + k * i)

        weft.map(inner, [1.0])

    with pytest.raises(RuntimeError, match="another example"):
        weft.map(outer, [1.0, 2.0])


def test_parameters_made_in_examples_have_memory_of_their_own() -> None:
    def make(k: int) -> tuple[weft.Tensor, nn.Parameter]:
        parameter = nn.Parameter(weft.arange(3.0) + k)
        loss = (parameter * parameter).sum()
        loss.item()
        return loss, parameter

    made = weft.map(make, range(3))
    with weft.no_grad():
        made[0][1].mul_(3)
    for k, (loss, parameter) in enumerate(made[1:], 1):
        loss.backward()
        assert parameter.grad is not None
        assert parameter.grad.tolist() == [2.0 * k, 2.0 * k + 2, 2.0 * k + 4]
