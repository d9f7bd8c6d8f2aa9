"""Rows that read parts of a few large tensors: what they read is not copied for each of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import weft
from weft import nn

pytestmark = pytest.mark.filterwarnings("ignore:more than 20 plans in a row")

LENGTH, WIDTH, EXAMPLES = 50, 48, 6

Reads = Callable[[weft.Tensor, int], weft.Tensor]
READS: dict[str, Reads] = {
    "select": lambda x, t: x[t],
    "slice": lambda x, t: x[t : t + 1].sum(0),
    "window": lambda x, t: x[max(0, t - 2) : t + 1].mean(0),
    "tensor index": lambda x, t: x[weft.tensor(t)],
    "list": lambda x, t: x[[t, t - 1]].sum(0),
    "index_select": lambda x, t: x.index_select(0, weft.tensor([t]))[0],
    "column": lambda x, t: x.t()[:, t],
    "two": lambda x, t: x[t, t % WIDTH] * x[t],
    "product": lambda x, t: (x @ x[t]).softmax(0) @ x,
}


def copied() -> int:
    """Return how many bytes the last plan copied to bring rows together."""
    return sum(batch.bytes_copied for batch in weft.explain().plans[-1].batches)


def run(
    read: Reads, batch: bool, inner: bool, used: slice = slice(None)
) -> tuple[list[weft.Tensor], list[weft.Tensor]]:
    weft.manual_seed(0)
    layer, cell = nn.Linear(WIDTH, WIDTH).double(), nn.GRUCell(WIDTH, WIDTH).double()
    xs = [weft.randn(LENGTH, WIDTH, dtype=weft.float64).requires_grad_() for _ in range(EXAMPLES)]

    def model(x: weft.Tensor) -> weft.Tensor:
        y = layer(x).tanh() if inner else x
        h = weft.zeros(WIDTH, dtype=weft.float64)
        for t in range(LENGTH):
            h = cell(read(y, t), h)
        return h.pow(2).sum()

    losses = weft.map(model, xs, batch=batch)
    parameters = [*layer.parameters(), *cell.parameters()]
    total = weft.stack(losses[used]).sum()
    grads = weft.autograd.grad(total, [*parameters, *xs], create_graph=True, allow_unused=True)
    seconds = weft.autograd.grad(
        sum(g.pow(2).sum() for g in grads if g is not None), parameters[2:], allow_unused=True
    )
    return losses, [g for g in (*grads, *seconds) if g is not None]


@pytest.mark.parametrize("inner", [False, True], ids=["given", "computed"])
@pytest.mark.parametrize("name", READS)
def test_reads_of_many_parts_give_what_eager_gives(name: str, inner: bool) -> None:
    expected, result = (run(READS[name], batch, inner) for batch in (False, True))
    assert len(expected[1]) == len(result[1])
    for one, other in zip(expected[0] + expected[1], result[0] + result[1], strict=True):
        weft.testing.assert_close(other, one)


@pytest.mark.parametrize("name", ["select", "slice", "tensor index", "column"])
def test_what_is_read_in_parts_is_not_copied_for_each(name: str) -> None:
    xs = [weft.randn(400, 64) for _ in range(EXAMPLES)]
    layer = nn.Linear(64, 64)

    def model(x: weft.Tensor) -> weft.Tensor:
        y = layer(x)
        return weft.stack([READS[name](y, t) * t for t in range(400)]).sum()

    weft.map(model, xs, replay=False)
    whole = sum(x.count_nonzero().item() for x in xs) * 4
    assert copied() < 4 * whole  # and not 400 times that


def test_examples_that_read_in_parts_stay_apart() -> None:
    """Of two that read the same lines one is dropped: its infinities reach nobody."""
    weight = weft.ones(64, requires_grad=True)
    xs = [weft.full((100, 64), value) for value in (1.0, 0.0)]

    def model(x: weft.Tensor) -> weft.Tensor:
        y = (x * weight).sqrt()
        return weft.stack([y[t].log().sum() for t in range(100)]).sum()

    kept, dropped = weft.map(model, xs)
    assert dropped.item() == -weft.inf
    kept.backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [50.0] * 64


def test_explain_says_that_a_batch_ran_in_parts() -> None:
    xs = [weft.randn(400, 64).requires_grad_() for _ in range(3)]
    weft.map(lambda x: weft.stack([x[t] for t in range(400)]).sum(), xs, replay=False)
    notes = {batch.note for plan in weft.explain().plans for batch in plan.batches}
    assert "in 3 parts, by the large tensors that they read" in notes


VIEWS: dict[str, Callable[[weft.Tensor], weft.Tensor]] = {
    "t": lambda x: x.t(),
    "slice": lambda x: x[:32].t(),
    "view of a view": lambda x: x.t()[:, 3:].t(),
    "chunk": lambda x: weft.cat(x.chunk(2), 1),
}


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_of_what_all_examples_compute_is_not_copied_for_each(view: str) -> None:
    weight, mask = weft.randn(256, 256).requires_grad_(), weft.ones(256, 256).tril()

    def model(x: weft.Tensor) -> weft.Tensor:
        part = VIEWS[view](weight * mask)
        return (x[: part.shape[0]] @ part).sum()

    xs = [weft.randn(256) for _ in range(16)]
    expected = weft.autograd.grad(weft.stack(weft.map(model, xs, batch=False)).sum(), weight)
    found = weft.autograd.grad(weft.stack(weft.map(model, xs, replay=False)).sum(), weight)
    weft.testing.assert_close(found, expected)
    assert copied() < 256 * 256 * 4  # less than the weight once


@pytest.mark.parametrize("first", ["sum", "view", "none"])
def test_views_of_equal_results_that_users_hold_are_their_own(first: str) -> None:
    """What waits for a later plan, and is held, must not show the memory of other examples."""
    weight = weft.ones(3, 2)

    def model(_: int) -> tuple[weft.Tensor, ...]:
        base = weight * 2
        part = base.t()
        inner = part[1]
        if first == "sum":
            part.sum().item()
        elif first == "view":
            part[0].sum().item()
        return inner, part[0] if first == "view" else inner

    with weft.lazy():
        results = [model(i) for i in range(3)]
    results[1][0].add_(5)
    assert [r[0].tolist() for r in results] == [[2.0] * 3, [7.0] * 3, [2.0] * 3]
    results[2][1].mul_(0)
    assert results[0][0].tolist() == [2.0] * 3
    assert results[1][0].tolist() == [7.0] * 3
