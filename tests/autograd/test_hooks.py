"""Hooks on tensors and leaves, and retain_grad."""

from __future__ import annotations

import gc
import weakref

import pytest

import weft
from weft import Tensor


def leaf(*numbers: float) -> Tensor:
    return weft.tensor(list(numbers), dtype=weft.float32, requires_grad=True)


def test_a_hook_sees_the_gradient_and_may_replace_it() -> None:
    x = leaf(1, 2)
    y = x * 2
    seen: list[list[float]] = []

    def hook(gradient: Tensor) -> Tensor:
        seen.append(gradient.tolist())
        return gradient * 10

    y.register_hook(hook)
    (y * y).sum().backward()
    assert seen == [[4, 8]]
    assert x.grad.tolist() == [80, 160]


def test_a_hook_sees_the_sum_of_all_contributions() -> None:
    x = leaf(3)
    y = x * 1
    seen: list[float] = []
    y.register_hook(lambda g: seen.append(g.item()))
    (y + y + y * y).sum().backward()
    assert seen == [8]


def test_hooks_run_in_order_and_can_be_removed() -> None:
    x = leaf(1)
    order: list[str] = []
    first = x.register_hook(lambda _: order.append("first"))
    x.register_hook(lambda _: order.append("second"))
    (x * 2).sum().backward()
    first.remove()
    first.remove()
    (x * 2).sum().backward()
    assert order == ["first", "second", "second"]


def test_a_handle_is_a_context_manager() -> None:
    x = leaf(1)
    with x.register_hook(lambda g: g * 5):
        (x * 2).sum().backward()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [12]


def test_a_handle_outlives_its_tensor() -> None:
    calls: list[object] = []
    x = leaf(1)
    y = x * 2
    handle = y.register_hook(calls.append)
    total = y.sum()
    del y
    gc.collect()
    handle.remove()
    total.backward()
    assert calls == []
    assert x.grad.tolist() == [2]


def test_hooks_run_with_grad_too() -> None:
    x = leaf(2)
    y = x * x
    y.register_hook(lambda g: g * 3)
    assert weft.autograd.grad(y.sum(), x)[0].tolist() == [12]


def test_a_hook_on_a_leaf_changes_what_accumulates() -> None:
    x = leaf(1, 2)
    x.register_hook(lambda g: g * 0 + 7)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [7, 7]


def test_an_exception_in_a_hook_comes_out() -> None:
    x = leaf(1)

    def hook(_: Tensor) -> None:
        raise KeyError("from the hook")

    x.register_hook(hook)
    with pytest.raises(KeyError, match="from the hook"):
        (x * 2).sum().backward()
    assert weft.is_grad_enabled()


def test_what_cannot_have_a_hook() -> None:
    with pytest.raises(RuntimeError, match="doesn't require grad"):
        weft.ones(1).register_hook(lambda g: g)
    with pytest.raises(TypeError, match="callable"):
        leaf(1).register_hook(3)
    x = leaf(1)
    x.register_hook(lambda g: "text")
    with pytest.raises(TypeError, match="Tensor or None"):
        (x * 2).sum().backward()


def test_a_hook_may_remove_itself() -> None:
    x = leaf(1)
    calls: list[int] = []

    def hook(_: Tensor) -> None:
        calls.append(1)
        handle.remove()

    handle = x.register_hook(hook)
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    assert calls == [1]


def test_a_post_accumulate_hook_sees_the_leaf() -> None:
    x = leaf(1, 2)
    seen: list[list[float]] = []

    def hook(parameter: Tensor) -> None:
        assert parameter is x
        seen.append(parameter.grad.tolist())
        parameter.grad = None

    handle = x.register_post_accumulate_grad_hook(hook)
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    assert seen == [[2, 2], [3, 3]]
    assert x.grad is None
    handle.remove()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_post_accumulate_hooks_are_for_leaves() -> None:
    with pytest.raises(RuntimeError, match="non-leaf"):
        (leaf(1) * 2).register_post_accumulate_grad_hook(lambda _: None)


def test_an_optimizer_step_in_a_post_accumulate_hook() -> None:
    x = leaf(1, 2)

    def step(parameter: Tensor) -> None:
        with weft.no_grad():
            parameter -= 0.5 * parameter.grad

    x.register_post_accumulate_grad_hook(step)
    (x * 2).sum().backward()
    assert x.tolist() == [0, 1]


def test_retain_grad() -> None:
    x = leaf(1, 2)
    y = x * 2
    assert not y.retains_grad
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad
    (y * y).sum().backward()
    assert y.grad.tolist() == [4, 8]
    assert not y.grad.requires_grad
    x.retain_grad()
    assert x.is_leaf
    with pytest.raises(RuntimeError, match="doesn't require grad"):
        weft.ones(1).retain_grad()


def test_retained_gradients_come_after_hooks() -> None:
    y = leaf(1) * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    assert y.grad.tolist() == [10]


def test_retain_grad_does_not_keep_the_tensor() -> None:
    y = leaf(1) * 2
    y.retain_grad()
    z = y.sum()
    gone = weakref.ref(y)
    del y
    assert gone() is None
    z.backward()


def test_a_hook_that_holds_its_tensor_is_collected() -> None:
    """The tensor holds the hook and the hook the tensor: a cycle through the core."""

    def make() -> list[weakref.ref[Tensor]]:
        first, second, third = leaf(1), leaf(2), leaf(3) * 2
        first.register_hook(lambda g: g * first)
        second.register_post_accumulate_grad_hook(lambda _: second.zero_())
        handle = third.register_hook(lambda g: g * third)
        third.handle = handle
        return [weakref.ref(first), weakref.ref(second), weakref.ref(third)]

    before = weft._core.live_nodes()
    references = make()
    gc.collect()
    assert [reference() for reference in references] == [None, None, None]
    assert weft._core.live_nodes() == before


def test_a_hook_stays_while_the_graph_needs_it() -> None:
    x = leaf(1)
    calls: list[float] = []

    def make() -> Tensor:
        y = x * 2
        y.register_hook(lambda g: calls.append(g.item() + y.item()))
        return y * 3

    z = make()
    gc.collect()
    z.sum().backward()
    assert calls == [5]


def test_retained_gradients_add_up() -> None:
    x = weft.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    loss = y.sum()
    loss.backward(retain_graph=True)
    loss.backward()
    assert y.grad is not None
    assert y.grad.tolist() == [2.0, 2.0]
