"""Checkpoints: fewer saved bytes, the same gradients."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

import weft
from weft import Tensor
from weft.autograd import Function, grad
from weft.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential


def leaf(*numbers: float) -> Tensor:
    return weft.tensor(list(numbers), dtype=weft.float64, requires_grad=True)


def layer(x: Tensor, weight: Tensor) -> Tensor:
    return (x * weight).tanh() + (x * x).exp() * 0.1


def compare(function: Callable[[Callable[..., Any]], Tensor], *leaves: Tensor) -> None:
    """Check that a function has the same value and gradients with and without checkpoints."""
    plain = function(lambda f, *args, **kwargs: f(*args, **kwargs))
    wanted = grad(plain, leaves)
    gc.collect()
    before = weft._core.live_nodes()
    checked = function(checkpoint)
    assert checked.item() == plain.item()
    for result, other in zip(grad(checked, leaves), wanted, strict=True):
        assert result.tolist() == pytest.approx(other.tolist())
    del checked
    assert weft._core.live_nodes() == before


def test_the_gradients_are_the_same() -> None:
    x, weight = leaf(0.1, 0.2), leaf(1, 2)

    def function(call: Callable[..., Any]) -> Tensor:
        y = x
        for _ in range(4):
            y = call(layer, y, weight=weight)
        return y.sum()

    compare(function, x, weight)


def test_backward_accumulates() -> None:
    x = leaf(1, 2)
    checkpoint(lambda x: (x * x).sum(), x).backward()
    checkpoint(lambda x: (x * x).sum(), x, use_reentrant=True).backward()
    assert x.grad.tolist() == [4, 8]


def test_far_fewer_bytes_are_saved() -> None:
    weft.manual_seed(0)
    weights = [weft.randn(64, 64).requires_grad_() for _ in range(20)]
    x = weft.randn(128, 64)

    def block(x: Tensor, weight: Tensor) -> Tensor:
        hidden = (x @ weight).tanh()
        hidden = (hidden * hidden).sigmoid()
        return (x + hidden * hidden.exp()) * 0.5

    def saved_bytes(call: Callable[..., Any]) -> tuple[int, list[list[float]]]:
        gc.collect()
        before = weft._core.live_bytes()
        y = x
        for weight in weights:
            y = call(block, y, weight)
        loss = y.mean()
        saved = weft._core.live_bytes() - before
        return saved, [g.tolist() for g in grad(loss, weights)]

    plain, wanted = saved_bytes(lambda f, *args: f(*args))
    checked, found = saved_bytes(checkpoint)
    assert checked * 3 <= plain
    assert found == wanted


def test_random_numbers_are_replayed() -> None:
    x = weft.ones(1000, requires_grad=True)

    def noisy(x: Tensor) -> Tensor:
        return weft.nn.functional.dropout(x * x, 0.5)

    weft.manual_seed(3)
    y = checkpoint(noisy, x)
    state = weft.get_rng_state()
    kept = y.detach() != 0
    y.sum().backward()
    assert weft.equal(weft.get_rng_state(), state)
    assert ((x.grad != 0) == kept).all()
    assert 300 < int(kept.sum()) < 700


def test_random_numbers_that_are_not_replayed() -> None:
    x = weft.ones(1000, requires_grad=True)
    y = checkpoint(lambda x: x * weft.rand(1000) * x, x, preserve_rng_state=False)
    y.sum().backward()
    assert not bool((x.grad == 2 * y.detach()).all())


def test_nested() -> None:
    x, weight = leaf(0.1, 0.2), leaf(1, 2)

    def function(call: Callable[..., Any]) -> Tensor:
        def inner(y: Tensor) -> Tensor:
            return call(layer, call(layer, y, weight), weight)

        def outer(y: Tensor) -> Tensor:
            return layer(call(inner, layer(y, weight)), weight)

        return call(outer, call(outer, x)).sum()

    compare(function, x, weight)


def test_nested_ones_keep_their_arguments_only_outside() -> None:
    x = weft.ones(10_000, requires_grad=True)

    def inner(y: Tensor) -> Tensor:
        return y.exp().sin()

    def outer(y: Tensor) -> Tensor:
        for _ in range(5):
            y = checkpoint(inner, y)
        return y

    gc.collect()
    before = weft._core.live_bytes()
    y = checkpoint(outer, x)
    # The result, and nothing of what is between.
    assert weft._core.live_bytes() - before <= 2 * 40_000
    y.sum().backward()
    wanted = x.detach().requires_grad_()
    z = wanted
    for _ in range(5):
        z = inner(z)
    z.sum().backward()
    assert x.grad.tolist() == wanted.grad.tolist()


def test_higher_derivatives() -> None:
    x, weight = leaf(0.1, 0.2), leaf(1, 2)

    def second(call: Callable[..., Any]) -> list[list[float]]:
        y = call(layer, call(layer, x, weight), weight)
        (first,) = grad(y.sum(), x, create_graph=True)
        return [result.tolist() for result in grad((first * first).sum(), (x, weight))]

    wanted = second(lambda f, *args: f(*args))
    found = second(checkpoint)
    for one, other in zip(found, wanted, strict=True):
        assert one == pytest.approx(other)


def test_retain_graph() -> None:
    x = leaf(1, 2)
    calls: list[int] = []

    def function(x: Tensor) -> Tensor:
        calls.append(1)
        return (x * x).exp()

    y = checkpoint(function, x).sum()
    (first,) = grad(y, x, retain_graph=True)
    (second,) = grad(y, x)
    assert first.tolist() == second.tolist()
    assert len(calls) == 3
    with pytest.raises(RuntimeError, match="second time"):
        grad(y, x)


def test_a_decision_inside() -> None:
    for number in (1.0, -1.0):
        x = leaf(number)

        def function(x: Tensor) -> Tensor:
            if x.sum() > 0:
                return x * x
            return x.exp() * x

        y = checkpoint(function, x)
        assert grad(y.sum(), x)[0].tolist() == pytest.approx(grad(function(x).sum(), x)[0].tolist())


def test_a_function_without_tensors_to_differentiate() -> None:
    assert checkpoint(lambda x: x * 2, weft.ones(2)).tolist() == [2, 2]
    with weft.no_grad():
        assert not checkpoint(lambda x: x * 2, leaf(1)).requires_grad
    assert checkpoint(lambda text: text + "!", "hello") == "hello!"


def test_captured_tensors_get_gradients() -> None:
    weight = leaf(3)

    def square() -> Tensor:
        return (weight * weight).sum()

    checkpoint(square).backward()
    assert weight.grad.tolist() == [6]


def test_several_outputs_and_containers() -> None:
    x = leaf(1, 2)
    result = checkpoint(
        lambda items, scale: {"a": items[0] * scale, "b": (items[0].exp(),)}, [x], 3
    )
    (result["a"].sum() + result["b"][0].sum()).backward()
    assert x.grad.tolist() == pytest.approx((3 + x.exp()).tolist())


def test_a_function_that_saves_less_the_second_time() -> None:
    x = leaf(1, 2)
    runs: list[int] = []

    def function(x: Tensor) -> Tensor:
        runs.append(1)
        y = x.exp()
        return y.exp() if len(runs) == 1 else y

    y = checkpoint(function, x)
    with pytest.raises(CheckpointError, match=r"test_checkpoint.py:\d+ saved 1 tensors, and 2"):
        y.sum().backward()


def test_a_function_that_saves_more_the_second_time() -> None:
    x = leaf(1, 2)
    runs: list[int] = []

    def function(x: Tensor) -> Tensor:
        runs.append(1)
        y = x.exp()
        return y if len(runs) == 1 else y.exp()

    y = checkpoint(function, x)
    with pytest.raises(CheckpointError, match="saved 2 tensors, and 1 the first time"):
        y.sum().backward()
    assert weft.is_grad_enabled()


def test_a_function_that_saves_other_shapes_the_second_time() -> None:
    x = leaf(1, 2)
    size = [2]
    y = checkpoint(lambda x: x[: size[0]].exp().sum(), x)
    size[0] = 1
    with pytest.raises(CheckpointError, match=r"shape \(1,\).*first saved one of shape \(2,\)"):
        y.backward()


def test_an_in_place_change_of_an_argument_is_noticed() -> None:
    x = leaf(1, 2)
    y = x * 2
    z = checkpoint(lambda y: y * y, y)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_an_exception_comes_out() -> None:
    def function(_: Tensor) -> Tensor:
        raise KeyError("from the function")

    with pytest.raises(KeyError, match="from the function"):
        checkpoint(function, leaf(1))
    x = leaf(1)
    x.exp().sum().backward()
    assert x.grad is not None


def test_a_gradient_inside() -> None:
    """Backward inside the checkpointed function needs what it saved at once."""
    x = leaf(1, 2)

    def function(x: Tensor) -> Tensor:
        inside = x * 1.0
        (slope,) = grad((inside**3).sum(), inside, create_graph=True)
        return (slope * x).sum()

    (found,) = grad(checkpoint(function, x), x)
    (wanted,) = grad(function(x), x)
    assert found.tolist() == pytest.approx(wanted.tolist())


def test_a_users_function_inside() -> None:
    class Cube(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Tensor:
            (x,) = ctx.saved_tensors
            return 3 * x * x * gradient

    x = leaf(1, 2)
    checkpoint(Cube.apply, x).sum().backward()
    assert x.grad.tolist() == [3, 12]


def test_contexts() -> None:
    order: list[str] = []

    class Note:
        def __init__(self, text: str) -> None:
            self.text = text

        def __enter__(self) -> None:
            order.append(self.text)

        def __exit__(self, *_: object) -> None:
            pass

    x = leaf(1)
    y = checkpoint(lambda x: x.exp(), x, context_fn=lambda: (Note("first"), Note("second")))
    y.sum().backward()
    assert order == ["first", "second"]


def test_sequential() -> None:
    weft.manual_seed(0)
    steps = [weft.nn.Linear(4, 4), weft.nn.Tanh(), weft.nn.Linear(4, 4), weft.nn.ReLU()]
    model = weft.nn.Sequential(*steps)
    x = weft.randn(3, 4, requires_grad=True)
    wanted = model(x)
    wanted_gradients = grad(wanted.sum(), [x, *model.parameters()])
    for segments in (1, 2, 3, 4, 9):
        y = checkpoint_sequential(model, segments, x, use_reentrant=False)
        assert y.tolist() == wanted.tolist()
        gradients = grad(y.sum(), [x, *model.parameters()])
        for one, other in zip(gradients, wanted_gradients, strict=True):
            assert one.tolist() == other.tolist()
    with pytest.raises(ValueError, match="segments"):
        checkpoint_sequential(steps, 0, x)


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="determinism_check"):
        checkpoint(lambda x: x, leaf(1), determinism_check="sometimes")


def test_checks_can_be_switched_off() -> None:
    x = leaf(1, 2)
    runs: list[int] = []

    def function(x: Tensor) -> Tensor:
        runs.append(1)
        y = x.exp()
        if len(runs) > 1:
            y.exp()
        return y

    checkpoint(function, x, determinism_check="none").sum().backward()
    assert x.grad.tolist() == pytest.approx(x.exp().tolist())
