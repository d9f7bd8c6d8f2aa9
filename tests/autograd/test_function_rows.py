"""User-written functions inside vmap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from tests.test_vmap import assert_equal, floats
from weft import Tensor
from weft.autograd import Function
from weft.func import grad, jacrev, vmap


class Cube(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 3 * x * x * gradient


class NumpyCube(Function):
    """Reads values, so it has to say itself what it does with many examples."""

    power = 3

    @staticmethod
    def forward(x: Tensor, power: int) -> Tensor:
        return weft.tensor(np.power(x.detach().numpy(), power))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        del output
        ctx.save_for_backward(inputs[0])
        ctx.power = inputs[1]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        return ctx.power * NumpyCube.apply(x, ctx.power - 1) * gradient, None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], x: Tensor, power: int
    ) -> tuple[Tensor, int]:
        assert info.batch_size == x.shape[0]
        assert info.randomness == "error"
        assert in_dims == (0, None)
        return NumpyCube.apply(x.movedim(0, -1), power), -1


@pytest.mark.parametrize("cube", [Cube.apply, lambda x: NumpyCube.apply(x, 3)])
def test_rows(cube: Any) -> None:
    x = floats(4, 3)
    assert_equal(vmap(cube)(x), x**3)
    assert_equal(vmap(vmap(cube))(x), x**3)
    assert_equal(vmap(vmap(grad(cube)))(x), 3 * x**2)
    assert_equal(vmap(vmap(grad(grad(cube))))(x), 6 * x)
    assert_equal(vmap(jacrev(cube))(x), (3 * x**2).diag_embed())


@pytest.mark.parametrize("cube", [Cube.apply, lambda x: NumpyCube.apply(x, 3)])
def test_gradients_outside(cube: Any) -> None:
    x = floats(4, 3).requires_grad_()
    assert_equal(weft.autograd.grad(vmap(cube)(x).sum(), x)[0], 3 * x**2)
    inner = vmap(grad(lambda r: cube(r).sum()))(x)
    assert_equal(weft.autograd.grad(inner.sum(), x)[0], 6 * x)
    (twice,) = weft.autograd.grad(vmap(vmap(cube))(x).sum(), x, create_graph=True)
    assert_equal(weft.autograd.grad(twice.sum(), x)[0], 6 * x)


def test_several_outputs_and_shared_inputs() -> None:
    class Both(Function):
        @staticmethod
        def forward(
            ctx: Any, x: Tensor, scale: Tensor, n: int, nothing: None
        ) -> tuple[Tensor, Tensor]:
            assert nothing is None
            ctx.save_for_backward(x, scale)
            return x * scale, x.sum() * n

        @staticmethod
        def backward(ctx: Any, first: Tensor, second: Tensor) -> tuple[Any, ...]:
            x, scale = ctx.saved_tensors
            return first * scale + second * 2, (first * x).sum(), None, None

    x, scale = floats(4, 3).requires_grad_(), floats().requires_grad_()
    first, second = vmap(lambda r: Both.apply(r, scale, 2, None))(x)
    assert_equal(first, x * scale)
    assert_equal(second, 2 * x.sum(1))
    by_x, by_scale = weft.autograd.grad(first.sum() + second.sum(), (x, scale))
    assert_equal(by_x, weft.ones_like(x) * scale + 2)
    assert_equal(by_scale, x.sum())


def test_forward_runs_again_for_each_row_only_if_a_history_is_wanted() -> None:
    calls: list[int] = []

    class Counted(Cube):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            calls.append(x.numel())
            return Cube.forward(ctx, x)

    x = floats(4, 3)
    vmap(Counted.apply)(x)
    assert calls == [3]
    x.requires_grad_()
    with weft.no_grad():
        vmap(Counted.apply)(x)
    assert calls == [3, 3]
    vmap(Counted.apply)(x)
    assert calls == [3] * 7


@pytest.mark.parametrize("wrong", [lambda x: x[0, 0], lambda x: x[:2]])
def test_a_rule_with_too_few_rows(wrong: Any) -> None:
    class Wrong(Cube):
        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Tensor) -> tuple[Tensor, int]:
            del info, in_dims
            return wrong(x).reshape(-1), 0

    with pytest.raises(ValueError, match="vmap: expected 4 rows in dimension 0"):
        vmap(Wrong.apply)(floats(4, 3))
