"""grad, products with Jacobians, and how they nest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import weft
from tests.test_vmap import assert_equal, floats
from weft import Tensor
from weft.func import grad, grad_and_value, jvp, linearize, vjp, vmap


def number(value: float) -> Tensor:
    return weft.tensor(value, dtype=weft.float64)


def test_grad_of_any_order() -> None:
    function: Callable[[Tensor], Tensor] = lambda x: x**5  # noqa: E731
    for expected in (5 * 16.0, 20 * 8.0, 60 * 4.0, 120 * 2.0, 120.0, 0.0):
        function = grad(function)
        result = function(number(2))
        assert result.item() == pytest.approx(expected)
        assert not result.requires_grad


def test_argnums_and_nesting() -> None:
    def loss(tree: dict[str, Any], y: Tensor, *, scale: float = 1) -> Tensor:
        return (tree["a"] * y + tree["b"][0]).sum() * scale

    tree, y = {"a": floats(3), "b": [floats(3)]}, floats(3)
    by_tree = grad(loss)(tree, y, scale=2)
    assert_equal(by_tree["a"], 2 * y)
    assert_equal(by_tree["b"][0], 2 * weft.ones_like(y))
    assert_equal(grad(loss, argnums=1)(tree, y), tree["a"])
    assert_equal(grad(loss, argnums=-1)(tree, y), tree["a"])
    both = grad(loss, argnums=(1, 0))(tree, y)
    assert_equal(both[0], tree["a"])
    assert_equal(both[1]["a"], y)
    assert len(grad(loss, argnums=(1,))(tree, y)) == 1


def test_values_and_the_rest() -> None:
    x = floats(3)
    gradient, (value, rest) = grad_and_value(
        lambda x: ((x * x).sum(), {"x": x, "n": 1}), has_aux=True
    )(x)
    assert_equal(gradient, 2 * x)
    assert_equal(value, (x * x).sum())
    assert rest["n"] == 1
    assert not value.requires_grad
    assert not rest["x"].requires_grad
    assert_equal(grad(lambda x: (x.sum(), x * 2), has_aux=True)(x)[1], x * 2)


def test_what_does_not_depend_on_the_input() -> None:
    x = floats(3)
    assert grad(lambda x: number(3))(x).tolist() == [0, 0, 0]
    assert grad(lambda x, y: x.sum(), argnums=1)(x, x).tolist() == [0, 0, 0]
    assert grad(lambda x: x.detach().sum())(x).tolist() == [0, 0, 0]


def test_no_grad_is_touched() -> None:
    x, w = floats(3).requires_grad_(), floats(3).requires_grad_()
    grad(lambda x: (x * w).sum())(x)
    assert x.grad is None
    assert w.grad is None


def test_outside_gradients_of_what_is_closed_over() -> None:
    x, w = floats(3), floats(3).requires_grad_()
    result = grad(lambda x: (x * x * w).sum())(x)
    assert_equal(weft.autograd.grad(result.sum(), w)[0], 2 * x)
    assert not grad(lambda x: (x * x).sum() + w.sum() * 0 + (x * 0 * w.detach()).sum())(
        x
    ).requires_grad


def test_outside_gradients_of_the_input() -> None:
    x = floats(3).requires_grad_()
    result = grad(lambda x: (x**3).sum())(x)
    assert_equal(weft.autograd.grad(result.sum(), x)[0], 6 * x)
    value = grad_and_value(lambda x: (x**3).sum())(x)[1]
    assert_equal(weft.autograd.grad(value, x)[0], 3 * x * x)


def test_modes() -> None:
    x = floats(3).requires_grad_()
    with weft.no_grad():
        result = grad(lambda x: (x**3).sum())(x)
        assert not weft.is_grad_enabled()
    assert_equal(result, 3 * x * x)
    assert not result.requires_grad

    def cut(x: Tensor) -> Tensor:
        with weft.no_grad():
            constant = x**2
        return (x * constant).sum()

    assert_equal(grad(cut)(x), x**2)
    with pytest.raises(ZeroDivisionError):
        grad(lambda x: x.sum() / (1 // 0))(x)
    assert weft.is_grad_enabled()


def test_examples_of_a_gradient() -> None:
    x, w = floats(4, 3), floats(3, 3).requires_grad_()
    function = lambda r: (r @ w).tanh().pow(2).sum()  # noqa: E731
    got = vmap(grad(function))(x)
    expected = weft.stack([grad(function)(r) for r in x])
    assert_equal(got, expected)
    ours, theirs = (weft.autograd.grad(y.pow(2).sum(), w)[0] for y in (got, expected))
    assert_equal(ours, theirs)
    outer = grad(lambda x: vmap(grad(function))(x).pow(2).sum())(x)
    assert_equal(outer, weft.stack([grad(lambda r: grad(function)(r).pow(2).sum())(r) for r in x]))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (grad(weft.sin), "without dimensions; its shape is (3,)"),
        (grad(lambda x: (x.sum(), 1)), "must return a tensor, not tuple"),
        (grad(lambda x: x.sum(), has_aux=True), "must return a pair"),
        (grad(lambda x: x.sum(), argnums=2), "argnums has 2, but there are 1"),
        (
            lambda x: grad(lambda x: x.sum())(3.0),
            "only tensors can be differentiated for, not float",
        ),
        (lambda x: grad(lambda x: x.sum())(weft.arange(3)), "only Tensors of floating point"),
        (lambda x: vjp(weft.sin, x)[1](weft.ones(2)), "shape (2,) for (3,)"),
        (lambda x: vjp(weft.sin, x)[1]((x, x)), "must be nested like the output"),
        (lambda x: vjp(lambda x: 3, x), "must give tensors only, not int"),
        (lambda x: jvp(weft.sin, x, (x,)), "primals must be a tuple"),
        (lambda x: jvp(weft.sin, (x,), x), "tangents must be a tuple"),
        (lambda x: jvp(weft.sin, (x,), (x[:2],)), "shape (2,) for (3,)"),
        (lambda x: jvp(weft.sin, (x,), (x, x)), "must be nested like the primals"),
        (lambda x: jvp(lambda x: x.detach(), (x,), (x,), strict=True), "does not depend on"),
    ],
)
def test_messages(call: Callable[[Tensor], Any], says: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        call(floats(3))
    assert says in str(caught.value)


def two(x: Tensor, y: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
    return x * y["a"].exp(), {"s": (x * x).sum(), "c": y["a"].detach()}


def test_vjp_and_jvp_are_transposes() -> None:
    x, y = floats(3), {"a": floats(3)}
    output, pull = vjp(two, x, y)
    weights = (floats(3), {"s": floats(), "c": floats(3)})
    by_x, by_y = pull(weights)
    tangents = (floats(3), {"a": floats(3)})
    pushed_output, pushed = jvp(two, (x, y), tangents)
    assert_equal(pushed_output[0], output[0])
    assert pushed[1]["c"].tolist() == [0, 0, 0]
    left = (pushed[0] * weights[0]).sum() + pushed[1]["s"] * weights[1]["s"]
    right = (by_x * tangents[0]).sum() + (by_y["a"] * tangents[1]["a"]).sum()
    assert left.item() == pytest.approx(right.item())
    assert not output[0].requires_grad
    assert not pushed[0].requires_grad


def test_pulling_again_and_again() -> None:
    x = floats(3)
    _, pull = vjp(weft.sin, x)
    assert_equal(pull(weft.ones_like(x))[0], x.cos())
    assert_equal(vmap(pull)(weft.eye(3, dtype=x.dtype))[0], weft.diag(x.cos()))
    v = floats(3).requires_grad_()
    assert_equal(weft.autograd.grad(pull(v)[0].sum(), v)[0], x.cos())


def test_products_can_be_differentiated() -> None:
    x, v = floats(3).requires_grad_(), floats(3).requires_grad_()
    _, pushed = jvp(lambda x: x**3, (x,), (v,))
    by_x, by_v = weft.autograd.grad(pushed.sum(), (x, v))
    assert_equal(by_x, 6 * x * v)
    assert_equal(by_v, 3 * x * x)
    product = grad(lambda x: jvp(lambda x: x**3, (x,), (v.detach(),))[1].sum())(x.detach())
    assert_equal(product, 6 * x * v)
    hvp = jvp(grad(lambda x: (x**3).sum()), (x.detach(),), (v.detach(),))[1]
    assert_equal(hvp, 6 * x * v)


def test_rest_of_products() -> None:
    x = floats(3)
    output, pull, rest = vjp(lambda x: (x * 2, x), x, has_aux=True)
    assert_equal(output, rest * 2)
    assert_equal(pull(x)[0], 2 * x)
    output, pushed, rest = jvp(lambda x: (x * 2, x), (x,), (x,), has_aux=True)
    assert_equal(pushed, 2 * x)
    assert not rest.requires_grad


def test_linearize_calls_the_function_once() -> None:
    calls: list[Tensor] = []
    x = floats(3)

    def function(x: Tensor) -> Tensor:
        calls.append(x)
        return x.sin()

    output, push = linearize(function, x)
    for _ in range(3):
        v = floats(3)
        assert_equal(push(v), x.cos() * v)
    assert_equal(vmap(push)(weft.eye(3, dtype=x.dtype)), weft.diag(x.cos()))
    assert_equal(output, x.sin())
    assert len(calls) == 1
