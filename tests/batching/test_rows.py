"""What the user does to one row of a batch is done to that row."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft import _core

pytestmark = [
    pytest.mark.python,  # recorded in `weft.lazy`
    pytest.mark.filterwarnings("ignore:more than 20 plans in a row"),
]


def rows_of(
    parameter: weft.Tensor, factors: tuple[float, ...] = (1.0, 2.0, 3.0)
) -> list[weft.Tensor]:
    """Return `parameter * factor` for each factor, computed as one batch."""
    with weft.lazy():
        rows = [parameter * factor for factor in factors]
    _core.run_tensors(rows)
    return rows


def test_losses_of_one_plan_are_freed_apart() -> None:
    w = weft.tensor([0.5, -1.0], requires_grad=True)
    with weft.lazy():
        losses = [(w * i).exp().sum() for i in (1.0, 2.0, 3.0)]
    _core.run_tensors(losses)
    for i, loss in enumerate(losses, 1):
        w.grad = None
        loss.backward()
        assert weft.allclose(w.grad, i * (w.detach() * i).exp())
    for loss in losses:
        with pytest.raises(RuntimeError, match="second time"):
            loss.backward()


@pytest.mark.parametrize("create_graph", [False, True])
def test_infinite_losses_that_are_dropped(create_graph: bool) -> None:
    w = weft.tensor([2.0], requires_grad=True)
    with weft.lazy():
        losses = [(w * x).log().sum() * (w * x).sqrt().sum() for x in (1.0, 0.0, 3.0, 0.0)]
    _core.run_tensors(losses)
    total = losses[0] + losses[2]
    (found,) = weft.autograd.grad(total, [w], create_graph=create_graph)
    eager = weft.tensor([2.0], requires_grad=True)
    loss = sum(((eager * x).log().sum() * (eager * x).sqrt().sum()) for x in (1.0, 3.0))
    (expected,) = weft.autograd.grad(loss, [eager], create_graph=create_graph)
    assert weft.allclose(found, expected)
    if create_graph:
        (second,) = weft.autograd.grad(found.sum(), [w])
        (expected_second,) = weft.autograd.grad(expected.sum(), [eager])
        assert weft.allclose(second, expected_second)


def test_a_hook_that_replaces_the_gradient_of_a_row() -> None:
    w = weft.tensor([1.0, 2.0], requires_grad=True)
    rows = rows_of(w)
    handle = rows[1].register_hook(lambda gradient: gradient * 10)
    weft.stack([row.sum() for row in rows]).sum().backward(retain_graph=True)
    assert w.grad.tolist() == [24.0, 24.0]
    handle.remove()
    w.grad = None
    weft.stack([row.sum() for row in rows]).sum().backward()
    assert w.grad.tolist() == [6.0, 6.0]


def test_gradients_for_rows() -> None:
    w = weft.tensor([1.0, 2.0], requires_grad=True)
    rows = rows_of(w)
    loss = (rows[0] * rows[1]).sum()
    found = weft.autograd.grad(loss, [*rows, w], allow_unused=True)
    assert found[0].tolist() == [2.0, 4.0]
    assert found[1].tolist() == [1.0, 2.0]
    assert found[2] is None
    assert found[3].tolist() == [4.0, 8.0]
    with pytest.raises(RuntimeError, match="not have been used"):
        weft.autograd.grad((rows[0] * 2).sum(), [rows[1]])


def test_retain_grad_of_every_row() -> None:
    rows = rows_of(weft.tensor([1.0, 2.0], requires_grad=True))
    for row in rows:
        row.retain_grad()
    (rows[0] * 2 + rows[2] * 3).sum().backward()
    assert rows[0].grad.tolist() == [2.0, 2.0]
    assert rows[1].grad is None
    assert rows[2].grad.tolist() == [3.0, 3.0]


def test_in_place_with_gradients_on_a_row() -> None:
    w = weft.tensor([1.0, 2.0], requires_grad=True)
    rows = rows_of(w)
    rows[1].mul_(w)
    rows[1][0] = 7.0
    assert [row.tolist() for row in rows] == [[1.0, 2.0], [7.0, 8.0], [3.0, 6.0]]
    weft.stack(rows).sum().backward()
    assert w.grad.tolist() == [4.0, 12.0]


def test_a_view_of_a_row_and_the_row_see_each_other() -> None:
    rows = rows_of(weft.ones(3))
    view = rows[1][1:]
    view.add_(5)
    assert rows[1].tolist() == [2.0, 7.0, 7.0]
    rows[1].mul_(2)
    assert view.tolist() == [14.0, 14.0]
    assert rows[0].tolist() == [1.0, 1.0, 1.0]
    assert rows[2].tolist() == [3.0, 3.0, 3.0]


def test_detach_and_numpy_of_a_row_share_its_memory() -> None:
    rows = rows_of(weft.ones(2))
    rows[0].detach().add_(5)
    array = rows[1].numpy()
    rows[1].add_(1)
    assert rows[0].tolist() == [6.0, 6.0]
    assert array.tolist() == [3.0, 3.0]


def test_what_was_saved_before_a_row_was_written_is_refused() -> None:
    w = weft.tensor([1.0, 2.0], requires_grad=True)
    row = rows_of(w)[1]
    loss = (row * row).sum()
    row.add_(1)
    # Its own memory was written, not the batch's: the old values may still be used.
    try:
        loss.backward()
    except RuntimeError as error:
        assert "inplace" in str(error)  # noqa: PT017 - either of the two is right
    else:
        assert w.grad.tolist() == [8.0, 16.0]


def test_pickle_and_copies_of_a_row_have_its_elements_only() -> None:
    large = [weft.ones(500) * i for i in range(50)]
    with weft.lazy():
        rows = [x + 1 for x in large]
    _core.run_tensors(rows)
    data = pickle.dumps(rows[3])
    assert len(data) < 10_000
    copies = [pickle.loads(data), copy.copy(rows[3]), copy.deepcopy(rows[3]), rows[3].clone()]
    for found in copies:
        assert found.tolist() == [4.0] * 500
    copies[2].add_(1)
    assert rows[3].tolist() == [4.0] * 500
    assert rows[4].tolist() == [5.0] * 500


def test_deepcopy_of_a_row_that_has_a_graph_is_refused_as_in_eager() -> None:
    w = weft.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError) as eager:
        copy.deepcopy(w * 2)
    with pytest.raises(RuntimeError) as found:
        copy.deepcopy(rows_of(w)[0])
    assert type(found.value) is type(eager.value)


def bytes_of_one_kept_row(requires_grad: bool, backward: bool, demanded: str) -> int:
    """Return what stays alive when one row of 4,000 bytes is kept out of a hundred."""
    w = weft.zeros(1000, requires_grad=requires_grad)
    gc.collect()
    before = _core.live_bytes()
    large = [weft.ones(1000) * i for i in range(100)]
    with weft.lazy():
        rows = [(x + w).exp() for x in large]
        total = weft.stack(rows).sum()
    _core.run_tensors(rows if demanded == "rows" else [total])
    kept = rows[1]
    if backward:
        total.backward()
        w.grad = None
    del rows, large, total
    gc.collect()
    assert kept.sum().item() == pytest.approx(1000 * np.e)
    return _core.live_bytes() - before


@pytest.mark.parametrize(
    ("requires_grad", "backward"), [(False, False), (True, True), (True, False)]
)
@pytest.mark.parametrize("demanded", ["rows", "sum"])
def test_one_kept_row_does_not_keep_its_batch(
    requires_grad: bool, backward: bool, demanded: str
) -> None:
    assert bytes_of_one_kept_row(requires_grad, backward, demanded) < 10 * 4000


def test_copies_of_numpy_memory_go_away() -> None:
    gc.collect()
    before = _core.live_bytes()
    arrays = [weft.from_numpy(np.full(1000, i, dtype=np.float32)) for i in range(100)]
    with weft.lazy():
        rows = [x + 1 for x in arrays]
    _core.run_tensors(rows)
    del rows, arrays
    gc.collect()
    assert _core.live_bytes() - before < 10 * 4000


def test_saved_tensors_hooks_on_rows_to_second_order() -> None:
    w = weft.tensor([1.0, 2.0], requires_grad=True)
    row = rows_of(w)[1]
    with weft.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        loss = (row**3).sum()
    (first,) = weft.autograd.grad(loss, [w], create_graph=True)
    (second,) = weft.autograd.grad(first.sum(), [w])
    assert first.tolist() == [24.0, 96.0]
    assert second.tolist() == [48.0, 96.0]


# ---- Ops that are recorded twice and run once ----------------------------------------------------


def test_the_same_op_twice_gives_two_tensors() -> None:
    x = weft.ones(3)
    with weft.lazy():
        a, b = x * 2, x * 2
        c, d = weft.zeros(3), weft.zeros(3)
    _core.run_tensors([a, b, c, d])
    a.add_(1)
    c.add_(1)
    assert [t.tolist() for t in (a, b, c, d)] == [[3.0] * 3, [2.0] * 3, [1.0] * 3, [0.0] * 3]


def test_hooks_on_one_of_two_that_ran_once() -> None:
    x = weft.ones(2, requires_grad=True)
    seen: list[list[float]] = []
    with weft.lazy():
        a, b = x.exp(), x.exp()
        loss = (a * 2 + b * 3).sum()
    _core.run_tensors([loss])
    a.register_hook(lambda gradient: seen.append(gradient.tolist()))
    b.retain_grad()
    loss.backward()
    assert seen == [[2.0, 2.0]]
    assert b.grad.tolist() == [3.0, 3.0]


def test_gradient_for_the_other_of_two_that_ran_once() -> None:
    x = weft.ones(2, requires_grad=True)
    with weft.lazy():
        a, b = x.exp(), x.exp()
        loss = (b * 3).sum()
    _core.run_tensors([a, loss])
    assert weft.autograd.grad(loss, [a], allow_unused=True) == (None,)


def test_equal_examples_have_gradients_of_their_own() -> None:
    w = weft.tensor([1.0, 2.0], requires_grad=True)
    x = weft.tensor([3.0, 4.0])
    first, second = weft.map(lambda example: (w * example).tanh(), [x, x])
    first.retain_grad()
    (first + 3 * second).sum().backward()
    assert first.grad.tolist() == [1.0, 1.0]
    assert weft.allclose(w.grad, 4 * x * (1 - (w.detach() * x).tanh() ** 2))
    assert first.grad_fn.name() == second.grad_fn.name() == "TanhBackward0"
    assert first.grad_fn.next_functions[0][0].name() == "MulBackward0"
    first.detach().add_(1)
    assert weft.allclose(second, (w.detach() * x).tanh())


def test_losses_that_share_what_ran_once_are_freed_apart() -> None:
    x = weft.ones(2, requires_grad=True)
    with weft.lazy():
        first, second = x.exp().sum(), (x.exp() * 2).sum()
    _core.run_tensors([first, second])
    first.backward()
    second.backward()
    assert weft.allclose(x.grad, 3 * x.detach().exp())


def test_negative_zero_is_not_zero() -> None:
    with weft.lazy():
        a, b = weft.full((2,), 0.0), weft.full((2,), -0.0)
        c, d = 1 / a, 1 / b
    assert weft.stack([c, d]).tolist() == [[np.inf, np.inf], [-np.inf, -np.inf]]


@pytest.mark.parametrize("reduce", [lambda x: x.sum(), lambda x: x.amax(63), lambda x: x.mean()])
def test_rows_of_as_many_dimensions_as_a_tensor_may_have(reduce: Callable[..., Any]) -> None:
    xs = [weft.full([1] * 64, float(k)) for k in range(1, 4)]
    found = weft.map(reduce, xs, replay=False)
    assert [y.item() for y in found] == [1.0, 2.0, 3.0]
