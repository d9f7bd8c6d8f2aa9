"""Jacobians, Hessians and products with them."""

from __future__ import annotations

from typing import Any

import pytest

import weft
from weft import Tensor
from weft.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp


def vector(*numbers: float) -> Tensor:
    return weft.tensor(list(numbers), dtype=weft.float64)


def product(x: Tensor, y: Tensor) -> Tensor:
    return x * y.exp()


def two(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return x * y, (x * x).sum()


def test_vjp() -> None:
    x, y = vector(1, 2), vector(0, 1)
    output, result = vjp(product, (x, y), vector(3, 4))
    assert output.tolist() == pytest.approx(product(x, y).tolist())
    by_x, by_y = result
    assert by_x.tolist() == pytest.approx((vector(3, 4) * y.exp()).tolist())
    assert by_y.tolist() == pytest.approx((vector(3, 4) * x * y.exp()).tolist())
    assert not output.requires_grad
    assert not by_x.requires_grad


def test_jvp_is_the_transpose_of_vjp() -> None:
    x, y = vector(1, 2), vector(0, 1)
    tangents, weights = (vector(1, -1), vector(0.5, 2)), vector(3, 4)
    _, pushed = jvp(product, (x, y), tangents)
    _, pulled = vjp(product, (x, y), weights)
    left = (pushed * weights).sum().item()
    right = sum((a * b).sum().item() for a, b in zip(pulled, tangents, strict=True))
    assert left == pytest.approx(right)


def test_several_outputs() -> None:
    x, y = vector(1, 2), vector(3, 4)
    (first, second), result = vjp(two, (x, y), (vector(1, 1), weft.tensor(2.0).double()))
    assert first.tolist() == [3, 8]
    assert second.item() == 5
    assert result[0].tolist() == [3 + 4, 4 + 8]
    _, (along, total) = jvp(two, (x, y), (vector(1, 0), vector(0, 1)))
    assert along.tolist() == [3, 2]
    assert total.item() == 2


def test_jacobian() -> None:
    x = vector(1, 2)
    assert jacobian(lambda x: x**2, x).tolist() == [[2, 0], [0, 4]]
    assert jacobian(lambda x: (x**2).sum(), x).tolist() == [2, 4]
    matrix = weft.ones(2, 3, dtype=weft.float64)
    assert tuple(jacobian(lambda m: m.sum(0), matrix).shape) == (3, 2, 3)
    for strategy in ("forward-mode", "reverse-mode"):
        same = jacobian(lambda x: x**2, x, vectorize=True, strategy=strategy)
        assert same.tolist() == [[2, 0], [0, 4]]
    with pytest.raises(ValueError, match="strategy"):
        jacobian(lambda x: x, x, strategy="sideways")


def test_a_jacobian_of_tuples() -> None:
    x, y = vector(1, 2), vector(3, 4)
    result = jacobian(two, (x, y))
    assert isinstance(result, tuple)
    assert isinstance(result[0], tuple)
    assert result[0][0].tolist() == [[3, 0], [0, 4]]
    assert result[0][1].tolist() == [[1, 0], [0, 2]]
    assert result[1][0].tolist() == [2, 4]
    assert result[1][1].tolist() == [0, 0]


def test_an_empty_jacobian() -> None:
    assert tuple(jacobian(lambda x: x[:0], vector(1, 2)).shape) == (0, 2)


def test_a_jacobian_that_can_be_differentiated() -> None:
    x = vector(1, 2).requires_grad_()
    result = jacobian(lambda x: x**3, x, create_graph=True)
    assert result.requires_grad
    result.sum().backward()
    assert x.grad.tolist() == [6, 12]


def test_the_caller_is_left_alone() -> None:
    x = vector(1, 2).requires_grad_()
    jacobian(lambda x: x**2, x)
    hessian(lambda x: (x**2).sum(), x)
    assert x.grad is None
    with weft.no_grad():
        assert jacobian(lambda x: x**2, x).tolist() == [[2, 0], [0, 4]]


def test_hessian() -> None:
    x = vector(1, 2)
    assert hessian(lambda x: (x**3).sum(), x).tolist() == [[6, 0], [0, 12]]
    assert hessian(lambda x: (x * 2).sum(), x).tolist() == [[0, 0], [0, 0]]
    result = hessian(lambda x, y: (x * x * y).sum(), (vector(1, 2), vector(3, 4)))
    assert result[0][0].tolist() == [[6, 0], [0, 8]]
    assert result[0][1].tolist() == [[2, 0], [0, 4]]
    assert result[1][0].tolist() == [[2, 0], [0, 4]]
    assert result[1][1].tolist() == [[0, 0], [0, 0]]


def test_a_hessian_that_can_be_differentiated() -> None:
    x = vector(2).requires_grad_()
    result = hessian(lambda x: (x**4).sum(), x, create_graph=True)
    assert weft.autograd.grad(result.sum(), x)[0].tolist() == [48]


@pytest.mark.parametrize("function", [hvp, vhp])
def test_products_with_a_hessian(function: Any) -> None:
    x, direction = vector(1, 2), vector(3, -1)

    def cubic(x: Tensor) -> Tensor:
        return (x**3).sum() + x[0] * x[1]

    output, result = function(cubic, x, direction)
    assert output.item() == 11
    wanted = hessian(cubic, x) @ direction
    assert result.tolist() == wanted.tolist()


def test_an_unused_input_gives_zeros_or_an_error() -> None:
    x, y = vector(1, 2), vector(3, 4)

    def ignores(x: Tensor, _: Tensor) -> Tensor:
        return x * 2

    assert jacobian(ignores, (x, y))[1].tolist() == [[0, 0], [0, 0]]
    for function in (jacobian, lambda f, i, **k: vjp(f, i, vector(1, 1), **k)):
        with pytest.raises(RuntimeError, match="independent of input 1"):
            function(ignores, (x, y), strict=True)
    with pytest.raises(RuntimeError, match=r"output 0 .* strict"):
        jacobian(lambda _: vector(1), x, strict=True)


def test_wrong_arguments() -> None:
    x = vector(1, 2)
    with pytest.raises(TypeError, match="inputs must be a Tensor"):
        vjp(lambda x: x, 3)
    with pytest.raises(TypeError, match="what the function returns"):
        vjp(lambda _: 3, x)
    with pytest.raises(RuntimeError, match="can only be None"):
        vjp(lambda x: x, x)
    with pytest.raises(RuntimeError, match=r"v\[0\] must have the shape"):
        jvp(lambda x: x, x, vector(1, 2, 3))
    with pytest.raises(RuntimeError, match="v has 2 tensors"):
        jvp(lambda x: x, x, (x, x))
    with pytest.raises(RuntimeError, match="must have one element"):
        hessian(lambda x: x, x)
    with pytest.raises(TypeError, match="single Tensor"):
        hvp(lambda x: (x, x), x, x)


def test_a_matrix_larger_than_the_machine_is_refused_at_once() -> None:
    with pytest.raises(MemoryError, match="the result would take"):
        weft.autograd.functional.hessian(lambda x: (x * x).sum(), weft.ones(1 << 21))
