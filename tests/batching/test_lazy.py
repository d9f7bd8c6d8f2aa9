"""Lazy recording: what runs, when, and that it gives what eager gives."""

from __future__ import annotations

import gc
import math
import warnings

import numpy as np
import pytest

import weft
from weft import _core, nn


def kernels_run() -> int:
    """Return how many batches ran in all plans that are remembered."""
    return sum(len(plan["batches"]) for plan in _core.last_plans())


@pytest.fixture(autouse=True)
def forget() -> None:
    _core.forget_plans()
    gc.collect()  # what other tests left behind may be pending


def test_what_nobody_needs_never_runs() -> None:
    skipped = _core.dropped_count()
    with weft.lazy():
        y = (weft.ones(3) * 2).tanh()
    del y
    assert kernels_run() == 0
    assert _core.dropped_count() - skipped == 3
    assert _core.pending_count() == 0


def test_leaving_the_scope_demands_nothing() -> None:
    with weft.lazy():
        y = weft.ones(3) * 2
    assert _core.is_pending(y)
    assert y.tolist() == [2.0, 2.0, 2.0]
    assert not _core.is_pending(y)


def test_shape_errors_come_at_once() -> None:
    with weft.lazy(), pytest.raises(RuntimeError, match="do not broadcast"):
        weft.ones(3) + weft.ones(4)


@pytest.mark.single_ops
def test_rows_of_one_op_run_together() -> None:
    xs = [weft.randn(4) for _ in range(10)]
    with weft.lazy():
        ys = [x.tanh() * 2 for x in xs]
        total = weft.stack(ys).sum()
    assert total.item() == pytest.approx(sum((x.tanh() * 2).sum().item() for x in xs), rel=1e-5)
    (plan,) = weft.explain().plans
    assert [(batch.op, batch.rows) for batch in plan.batches] == [
        ("tanh", 10),
        ("mul", 10),
        ("stack", 1),
        ("sum", 1),
    ]


def test_a_table_that_rows_share_is_not_copied() -> None:
    table = weft.randn(50, 4, requires_grad=True)
    with weft.lazy():
        total = weft.stack([table[i] for i in range(10)]).sum()
    assert total.item() == pytest.approx(table[:10].sum().item(), rel=1e-4)
    batch = weft.explain().plans[0].batches[0]
    assert (batch.op, batch.rows, batch.bytes_copied) == ("select", 10, 0)


@pytest.mark.single_ops
def test_rows_from_all_over_are_copied_together() -> None:
    xs = [weft.randn(4) for _ in range(10)]
    with weft.lazy():
        total = weft.stack([x.exp() for x in xs]).sum()
    total.item()
    copied = {batch.op: batch.bytes_copied for batch in weft.explain().plans[0].batches}
    assert copied == {"exp": 10 * 4 * 4, "stack": 0, "sum": 0}


@pytest.mark.single_ops
def test_memory_of_others_is_copied_once_for_as_long_as_it_is_the_same() -> None:
    data = np.ones(100_000, dtype=np.float32)  # too much to be compared as a constant
    x = weft.from_numpy(data)
    with weft.lazy():
        first, second = x.exp(), x.exp()
        data[0] = 2
        total = first + second + x.exp()
    assert total[:3].tolist() == pytest.approx([2 * math.e + math.e**2, *[3 * math.e] * 2])
    batches = [b for b in weft.explain().plans[0].batches if b.op == "exp"]
    assert [(batch.rows, batch.equal) for batch in batches] == [(2, 1)]


def test_a_view_of_what_is_there_waits_for_nothing() -> None:
    table, weight = weft.randn(50, 4), weft.randn(4, requires_grad=True)
    with weft.lazy():
        row = table[3][1:]
        assert not _core.is_pending(row)
        assert row.data_ptr() == table.data_ptr() + (3 * 4 + 1) * 4
        assert _core.is_pending(weight[1:])
        with weft.no_grad():
            assert _core.is_pending(weight[1:])  # known by what it is a part of
        product = row * 2
        row.add_(1)
        assert _core.is_pending((table + 0)[3])
    assert weft.allclose(product, (row - 1) * 2, atol=1e-5)
    assert table[3, 1:].tolist() == row.tolist()


def test_reading_elements_of_what_is_there_lets_nobody_wait() -> None:
    order: list[tuple[int, int]] = []

    def model(i: int) -> list[float]:
        scores = (weft.arange(4.0) * i).softmax(0)
        scores.sum().item()  # waits
        found: list[float] = []
        for k in range(4):
            found.append(scores[k].item())
            order.append((i, k))
        return found

    expected = weft.map(model, range(3), batch=False)
    order.clear()
    assert weft.map(model, range(3)) == expected
    assert order == [(i, k) for i in range(3) for k in range(4)]


def test_the_same_op_twice_runs_once() -> None:
    x = weft.randn(4)
    with weft.lazy():
        y = x.exp() + x.exp()
    y.tolist()
    assert [batch.op for batch in weft.explain().plans[0].batches] == ["exp", "add"]


def test_gradients_equal_eager() -> None:
    weft.manual_seed(0)
    layer = nn.Linear(4, 3)
    xs = [weft.randn(4) for _ in range(6)]

    def loss() -> weft.Tensor:
        return weft.stack([(layer(x).tanh() * x[0]).sum() for x in xs]).mean()

    loss().backward()
    expected = [p.grad.clone() for p in layer.parameters()]
    layer.zero_grad()
    with weft.lazy():
        value = loss()
    value.backward()
    for p, gradient in zip(layer.parameters(), expected, strict=True):
        assert weft.allclose(p.grad, gradient, atol=1e-6)


def test_two_losses_of_one_plan_are_differentiated_apart() -> None:
    w = weft.tensor([1.0, 2.0], requires_grad=True)
    with weft.lazy():
        losses = [(w * i).sum().exp() for i in (0.5, 0.25)]
    losses[0].backward()
    first = w.grad.clone()
    w.grad = None
    losses[1].backward()
    assert weft.allclose(first, weft.tensor([0.5, 0.5]) * losses[0].detach())
    assert weft.allclose(w.grad, weft.tensor([0.25, 0.25]) * losses[1].detach())
    with pytest.raises(RuntimeError, match="second time"):
        losses[0].backward()


def test_a_dropped_row_with_an_infinite_loss_harms_nobody() -> None:
    w = weft.tensor([1.0], requires_grad=True)
    with weft.lazy():
        losses = [(w / x).sum() * (w * x).log().sum() for x in (2.0, 0.0)]
    values = [loss.item() for loss in losses]
    assert values[1] == float("-inf")
    losses[0].backward()
    eager = weft.tensor([1.0], requires_grad=True)
    ((eager / 2.0).sum() * (eager * 2.0).log().sum()).backward()
    assert weft.allclose(w.grad, eager.grad)


def test_hooks_and_retained_gradients_are_of_one_row() -> None:
    w = weft.tensor([1.0, 2.0], requires_grad=True)
    seen: list[list[float]] = []
    with weft.lazy():
        hidden = [w * i for i in (1.0, 2.0, 3.0)]
        hidden[1].register_hook(lambda gradient: seen.append(gradient.tolist()))
        hidden[2].retain_grad()
        loss = weft.stack([(h * h).sum() for h in hidden]).sum()
    (middle,) = weft.autograd.grad(loss, [hidden[0]], retain_graph=True)
    assert middle.tolist() == [2.0, 4.0]
    loss.backward()
    assert seen[-1] == [4.0, 8.0]
    assert hidden[2].grad.tolist() == [6.0, 12.0]
    assert w.grad.tolist() == [28.0, 56.0]


def test_the_graph_of_one_row() -> None:
    w = weft.tensor([1.0, 2.0], requires_grad=True)
    xs = [weft.ones(2), weft.zeros(2)]
    with weft.lazy():
        ys = [(w * x).tanh().sum() for x in xs]
    node = ys[1].grad_fn
    names = []
    while node is not None:
        names.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    assert names == ["SumBackward0", "TanhBackward0", "MulBackward0", "AccumulateGrad"]


def test_in_place_on_a_row_changes_that_row_only() -> None:
    xs = [weft.ones(2) * i for i in range(3)]
    with weft.lazy():
        ys = [x + 1 for x in xs]
    assert ys[0].tolist() == [1.0, 1.0]
    ys[1].add_(5)
    assert [y.tolist() for y in ys] == [[1.0, 1.0], [7.0, 7.0], [3.0, 3.0]]


def test_in_place_on_one_of_two_that_ran_once() -> None:
    x = weft.ones(2)
    with weft.lazy():
        a, b = weft.zeros(2), weft.zeros(2)
        c, d = x * 2, x * 2
        total = (a + b + c + d).sum()
    assert total.item() == 8.0
    a.add_(5)
    c.add_(5)
    assert [y.tolist() for y in (a, b, c, d)] == [[5.0, 5.0], [0.0, 0.0], [7.0, 7.0], [2.0, 2.0]]


def test_in_place_on_what_is_pending() -> None:
    x = weft.ones(3, requires_grad=True)
    with weft.lazy():
        y = x * 2
        y.mul_(3)
        view = y[1:]
        y.add_(1)
        loss = (y * y).sum() + view.sum()
    assert y.tolist() == [7.0, 7.0, 7.0]
    loss.backward()
    assert x.grad.tolist() == [84.0, 90.0, 90.0]


def test_a_parameter_updated_while_ops_wait() -> None:
    w = weft.ones(2, requires_grad=True)
    with weft.lazy():
        y = w * 3
    with weft.no_grad():
        w.add_(1)
    assert y.tolist() == [3.0, 3.0]


def test_numpy_input_changed_after_recording() -> None:

    data = np.ones(3, dtype=np.float32)
    x = weft.from_numpy(data)
    with weft.lazy():
        y = x * 2
    data[:] = 7
    assert y.tolist() == [2.0, 2.0, 2.0]


def test_a_long_chain_runs_and_frees() -> None:
    x = weft.ones(2, requires_grad=True)
    with weft.lazy():
        y = x
        for _ in range(100_000):
            y = y + 1
    assert y.tolist() == [100_001.0, 100_001.0]
    with weft.lazy():
        y = x
        for _ in range(100_000):
            y = y + 1
    del y
    assert _core.pending_count() == 0


def test_errors_of_values_name_the_line() -> None:
    table = nn.Embedding(3, 2)
    with weft.lazy():
        rows = [table(weft.tensor(i)) for i in (0, 7)]
    with pytest.raises(IndexError, match=r"test_lazy\.py"):
        rows[0].tolist()
        rows[1].tolist()


def test_explain_says_why_batches_are_apart() -> None:
    xs = [weft.ones(3), weft.ones(4), weft.ones(3)]
    with weft.lazy():
        ys = [x.exp() for x in xs]
        total = weft.cat(ys).sum()
    total.item()
    notes = [batch.note for batch in weft.explain().plans[0].batches if batch.op == "exp"]
    assert notes == ["", "apart: the shape of input differs: (3,) and (4,)"]
    assert weft.explain().to_dict()["plans"][0]["nodes"] == 5
    assert "exp" in str(weft.explain())


@pytest.mark.single_ops
def test_a_line_that_keeps_asking_for_little_is_told_so() -> None:
    def ask_often() -> None:
        for _ in range(60):
            with weft.lazy():
                y = (weft.ones(3) * 2).sum()
            y.item()

    with pytest.warns(RuntimeWarning, match="little to gain") as caught:
        ask_often()
    assert len(caught) == 1
    assert caught[0].filename == __file__


@pytest.mark.single_ops
@pytest.mark.parametrize(
    ("lengths", "warns"),
    # The line is told once: what must not be told comes first.
    [
        ([1, 5] * 20, False),
        ([60] + [20] * 30, False),
        ([8] * 2, False),
        ([60], False),
        ([40] * 3, False),
        ([40] * 2 + [1] * 10, True),
    ],
    ids=["many", "last one alone", "short", "one", "three", "two that last"],
)
def test_a_map_is_told_by_the_average_of_its_plans(lengths: list[int], warns: bool) -> None:
    def model(length: int) -> float:
        x = weft.ones(3) * length
        for _ in range(length):
            x = x / x.sum().item()
        return x.sum().item()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        weft.map(model, lengths)
    assert [str(warning.message)[:20] for warning in caught] == ["more than 20 plans i"] * warns


@pytest.mark.parametrize("is_cell", [False, True])
def test_maps_of_single_requests_are_told_nothing(is_cell: bool) -> None:
    def model(x: weft.Tensor) -> weft.Tensor:
        return x * 2 if x.sum() > 0 else x

    function = weft.cell(model) if is_cell else model
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(60):
            weft.map(function, [weft.ones(3)])
    assert not caught


def test_backward_adds_no_plans() -> None:
    weight = weft.randn(30, 6).requires_grad_()

    def model(i: int) -> weft.Tensor:
        scaled = (weight * i).tanh()
        return (weft.ones(1, 30) @ scaled).sum() if i == 1 else scaled.mean()

    loss = weft.stack(weft.map(model, range(3))).sum()
    before = weft.explain().plans
    loss.backward()
    assert weft.explain().plans == before


@pytest.mark.python
def test_what_all_rows_would_share_is_named_when_it_keeps_them_apart() -> None:
    start = weft.ones(6, 5).requires_grad_()

    def model(i: int) -> weft.Tensor:
        memory = start.clone() if i else start.clone() * 2
        return ((weft.ones(6) * i).softmax(0) @ memory).sum()

    weft.map(model, range(4), replay=False)
    notes = [batch.note for batch in weft.explain().plans[0].batches]
    assert "apart: mat2 is another tensor" in notes


def test_a_kept_row_does_not_keep_its_batch() -> None:
    xs = [weft.ones(1000) * i for i in range(100)]
    before = _core.live_bytes()
    results = weft.map(lambda x: x.exp(), xs)
    assert weft.explain().plans[0].batches[0].rows == 100
    kept = results[3]
    del results
    assert _core.live_bytes() - before <= 8192
    assert kept[0].item() == pytest.approx(2.718281828**3, rel=1e-5)


def test_what_is_pending_stays_within_its_limit() -> None:
    before = weft.batching.set_memory_limit(40_000)
    try:
        with weft.lazy():
            ys = [weft.ones(1000) * i for i in range(30)]
        assert 0 < _core.pending_count() < 30
        assert [y[0].item() for y in ys] == list(range(30))
    finally:
        weft.batching.set_memory_limit(before)
