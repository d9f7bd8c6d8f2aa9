"""User-written functions."""
# ruff: noqa: ARG004 (backward and forward have fixed signatures)

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import weft
from weft import Tensor
from weft.autograd import Function, grad, gradcheck, gradgradcheck
from weft.autograd.function import once_differentiable


def leaf(*numbers: float) -> Tensor:
    return weft.tensor(list(numbers), dtype=weft.float64, requires_grad=True)


class Square(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 2 * x * gradient


class Exp(Function):
    """Saves its own output."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return y * gradient


class Scale(Function):
    """Takes arguments that are no tensors, and returns two outputs."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float, y: Tensor) -> tuple[Tensor, Tensor]:
        ctx.factor = factor
        ctx.save_for_backward(x, y)
        return x * y * factor, x + y

    @staticmethod
    def backward(ctx: Any, first: Tensor, second: Tensor) -> tuple[Tensor | None, ...]:
        x, y = ctx.saved_tensors
        return first * y * ctx.factor + second, None, first * x * ctx.factor + second


def test_forward_and_backward() -> None:
    x = leaf(1, 2)
    y = Square.apply(x)
    assert y.tolist() == [1, 4]
    assert y.requires_grad
    assert not y.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == [2, 4]


def test_it_is_a_node_with_a_name() -> None:
    x = leaf(1)
    node = Square.apply(x).grad_fn
    assert node.name() == "SquareBackward"
    assert type(node).__name__ == "SquareBackward"
    assert node.next_functions[0][0].variable is x
    assert "grad_fn=<SquareBackward>" in repr(Square.apply(x))


def test_forward_is_not_recorded() -> None:
    x = leaf(1)
    seen: list[bool] = []

    class Look(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            seen.append(weft.is_grad_enabled())
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Tensor:
            seen.append(weft.is_grad_enabled())
            return gradient * 2

    Look.apply(x).sum().backward()
    assert seen == [False, False]
    grad(Look.apply(x).sum(), x, create_graph=True)
    assert seen == [False, False, False, True]


def test_nothing_is_attached_without_need() -> None:
    assert Square.apply(weft.ones(2)).grad_fn is None
    with weft.no_grad():
        assert Square.apply(leaf(1)).grad_fn is None


@pytest.mark.parametrize("function", [Square, Exp])
def test_derivatives_of_any_order(function: type[Function]) -> None:
    x = leaf(0.5, 1.5)
    assert gradcheck(function.apply, (x,))
    assert gradgradcheck(function.apply, (x,))


def test_a_third_derivative() -> None:
    x = leaf(0.5, 1.5)
    y = Exp.apply(x)
    for _ in range(3):
        (y,) = grad(y.sum(), x, create_graph=True)
    assert y.tolist() == pytest.approx(x.exp().tolist())


def test_several_inputs_and_outputs() -> None:
    x, y = leaf(1, 2), leaf(3, 4)
    assert gradcheck(lambda x, y: Scale.apply(x, 3.0, y), (x, y))
    assert gradgradcheck(lambda x, y: Scale.apply(x, 3.0, y), (x, y))


def test_a_missing_gradient_is_zeros() -> None:
    x, y = leaf(1, 2), leaf(3, 4)
    first, _ = Scale.apply(x, 1.0, y)
    first.sum().backward()
    assert x.grad.tolist() == [3, 4]


def test_a_missing_gradient_is_none_where_asked_for() -> None:
    seen: list[Any] = []

    class Two(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, first: Tensor | None, second: Tensor | None) -> Tensor | None:
            seen.append((first is None, second is None))
            return second

    x = leaf(1)
    Two.apply(x)[1].sum().backward()
    assert seen == [(True, False)]
    assert x.grad.tolist() == [1]


def test_backward_may_return_none() -> None:
    class Stop(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
            return x * y

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor]:
            return None, gradient

    x, y = leaf(1), leaf(2)
    Stop.apply(x, y).sum().backward()
    assert x.grad is None
    assert y.grad.tolist() == [1]
    assert grad(Stop.apply(x, y).sum(), [x, y], allow_unused=True)[0] is None


def test_needs_input_grad() -> None:
    seen: list[Any] = []

    class Look(Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Tensor:
            seen.append(ctx.needs_input_grad)
            return args[0] * 2

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
            assert ctx.needs_input_grad == seen[0]
            return gradient, None, None

    Look.apply(leaf(1), weft.ones(1), "text").sum().backward()
    assert seen == [(True, False, False)]


def test_outputs_that_are_not_differentiable() -> None:
    class Best(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor, Tensor, str]:
            marked = x + 1
            ctx.mark_non_differentiable(marked)
            return x * 2, marked, x.long(), "text"

        @staticmethod
        def backward(ctx: Any, *gradients: Tensor | None) -> Tensor:
            assert [g is None for g in gradients] == [False, False, False, True]
            assert gradients[1].tolist() == [0, 0]
            return gradients[0] * 2

    x = leaf(1, 2)
    doubled, marked, integers, text = Best.apply(x)
    assert doubled.requires_grad
    assert not marked.requires_grad
    assert not integers.requires_grad
    assert text == "text"
    doubled.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_an_input_that_is_returned_becomes_its_own_tensor() -> None:
    class Same(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Tensor:
            return gradient * 5

    x = leaf(1, 2)
    y = Same.apply(x)
    assert y is not x
    assert x.is_leaf
    assert y.grad_fn.name() == "SameBackward"
    y.sum().backward()
    assert x.grad.tolist() == [5, 5]
    with weft.no_grad():
        assert Same.apply(x) is not x


def test_a_view_of_an_input_may_be_returned() -> None:
    class First(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x[0]

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Tensor:
            return weft.stack([gradient, gradient * 0])

    x = leaf(3, 4)
    y = First.apply(x)
    assert y.grad_fn.name() == "FirstBackward"
    y.backward()
    assert x.grad.tolist() == [1, 0]


class Increment(Function):
    """Changes its input in place."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        x += 1
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient * 3


def test_an_input_that_is_changed_in_place() -> None:
    x = leaf(1, 2)
    y = x * 2
    z = Increment.apply(y)
    assert z is y
    assert y.tolist() == [3, 5]
    y.sum().backward()
    assert x.grad.tolist() == [6, 6]


def test_a_view_that_is_changed_in_place_changes_its_base() -> None:
    x = leaf(1, 2)
    y = x * 2
    Increment.apply(y[1:])
    assert y.tolist() == [2, 5]
    y.sum().backward()
    assert x.grad.tolist() == [2, 6]


def test_a_leaf_cannot_be_changed_in_place() -> None:
    with pytest.raises(RuntimeError, match="leaf Variable"):
        Increment.apply(leaf(1))
    plain = weft.ones(1)
    assert Increment.apply(plain) is plain


def test_what_is_dirty_must_be_returned() -> None:
    class Forgets(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.mark_dirty(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Tensor:
            return gradient

    with pytest.raises(RuntimeError, match="marked dirty must be returned"):
        Forgets.apply(leaf(1) * 1)


def test_a_context_that_is_set_up_afterwards() -> None:
    class Power(Function):
        @staticmethod
        def forward(x: Tensor, exponent: int) -> Tensor:
            return x**exponent

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
            x, ctx.exponent = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
            (x,) = ctx.saved_tensors
            return gradient * ctx.exponent * x ** (ctx.exponent - 1), None

    assert gradcheck(lambda x: Power.apply(x, 3), (leaf(1, 2),))
    assert gradgradcheck(lambda x: Power.apply(x, 3), (leaf(1, 2),))


def test_none_may_be_saved() -> None:
    class Maybe(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(None, x, None)
            assert len(ctx.saved_tensors) == 3
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Tensor:
            first, x, last = ctx.saved_tensors
            assert first is None
            assert last is None
            return gradient * x

    x = leaf(5)
    Maybe.apply(x).sum().backward()
    assert x.grad.tolist() == [5]


def test_only_tensors_may_be_saved() -> None:
    class Wrong(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward("text")
            return x

    with pytest.raises(TypeError, match="can only save tensors and None, not str"):
        Wrong.apply(leaf(1))


def test_saved_tensors_are_freed() -> None:
    x = leaf(1, 2)
    y = Square.apply(x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time: the result of SquareBackward"):
        y.backward()
    y = Square.apply(x).sum()
    y.backward(retain_graph=True)
    y.backward()


def test_a_function_that_saved_nothing_runs_twice() -> None:
    class Double(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Tensor:
            return gradient * 2

    x = leaf(1)
    y = Double.apply(x).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [4]


def test_once_differentiable() -> None:
    class Once(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, gradient: Tensor) -> Tensor:
            assert not weft.is_grad_enabled()
            (x,) = ctx.saved_tensors
            return 2 * x * gradient

    x = leaf(3)
    assert grad(Once.apply(x).sum(), x)[0].tolist() == [6]
    y = x * 1
    (first,) = grad((Once.apply(y) * y).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match=r"differentiate twice.*once_differentiable.*Once"):
        grad(first.sum(), x)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ((1, 2, 3), "incorrect number of gradients .expected 2, got 3"),
        ((weft.ones(1), weft.ones(1)), "position 2, .* was not a Tensor"),
        (("text", None), "must return tensors or None, not str"),
    ],
)
def test_wrong_results_of_backward(result: Any, message: str) -> None:
    class Wrong(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, number: int) -> Tensor:
            return x * number

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Any:
            return result

    with pytest.raises((RuntimeError, TypeError), match=message):
        Wrong.apply(leaf(1), 3).sum().backward()


def test_more_nones_than_arguments_are_allowed() -> None:
    class Extra(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Any:
            return gradient * 2, None, None

    x = leaf(1)
    Extra.apply(x).sum().backward()
    assert x.grad.tolist() == [2]


def test_missing_methods() -> None:
    class Empty(Function):
        pass

    class NoBackward(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x * 2

    with pytest.raises(NotImplementedError, match="implement the forward"):
        Empty.apply(leaf(1))
    with pytest.raises(NotImplementedError, match="backward or vjp"):
        NoBackward.apply(leaf(1)).sum().backward()
    with pytest.raises(RuntimeError, match=r"Square\.apply"):
        Square()


def test_a_gradient_may_be_larger_by_broadcasting() -> None:
    class Grow(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x.expand(3, 2).clone()

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Tensor:
            return gradient

    x = leaf(1, 2)
    Grow.apply(x).sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_backward_inside_backward() -> None:
    class Inner(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            with weft.enable_grad():
                ctx.x = x.detach().requires_grad_()
                ctx.y = (ctx.x**3).sum()
            return ctx.y.detach()

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Tensor:
            (result,) = grad(ctx.y, ctx.x)
            return result * gradient

    x = leaf(2)
    Inner.apply(x).backward()
    assert x.grad.tolist() == [12]


def test_deeply_nested_backward() -> None:
    """Each backward runs another one inside itself."""

    class Nest(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, depth: int) -> Tensor:
            ctx.depth = depth
            return x.clone()

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Any:
            if ctx.depth:
                with weft.enable_grad():
                    y = weft.ones(1, dtype=weft.float64, requires_grad=True)
                    Nest.apply(y, ctx.depth - 1).sum().backward()
                assert y.grad.tolist() == [2 ** (ctx.depth - 1)]
                return 2 * gradient * y.grad, None
            return gradient, None

    x = leaf(1)
    Nest.apply(x, 50).sum().backward()
    assert x.grad.tolist() == [2**50]


def test_nothing_stays_alive() -> None:
    gc.collect()
    before = weft._core.live_nodes()
    x = leaf(1, 2)
    y = Exp.apply(Scale.apply(Square.apply(x), 2.0, x)[0])
    gone = weakref.ref(y)
    (first,) = grad(y.sum(), x, create_graph=True)
    first.sum().backward()
    x.grad = None
    del y, first
    assert gone() is None
    assert weft._core.live_nodes() == before + 1
    del x
    assert weft._core.live_nodes() == before


def test_a_context_that_holds_its_output_is_collected() -> None:
    class Keeps(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.output = x * 2
            return ctx.output

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Tensor:
            return gradient * 2

    gc.collect()
    before = weft._core.live_nodes()
    Keeps.apply(leaf(1))
    gc.collect()
    assert weft._core.live_nodes() == before


def test_a_long_chain() -> None:
    class Pass(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Tensor:
            assert len(ctx.saved_tensors) == 1
            return gradient * 1

    before = weft._core.live_nodes()
    x = leaf(1)
    y = x
    for _ in range(100_000):
        y = Pass.apply(y)
    y.sum().backward()
    assert x.grad.tolist() == [1]
    for _ in range(20_000):
        y = Pass.apply(y)
    del x, y
    assert weft._core.live_nodes() == before


def test_defaults_of_forward_are_inputs() -> None:
    class Scale(Function):
        @staticmethod
        def forward(x: Any, factor: float = 2.0, more: float = 3.0) -> Any:
            return x * factor * more

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            _, ctx.factor, ctx.more = inputs

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient * ctx.factor * ctx.more, None, None

    x = weft.ones(1, requires_grad=True)
    Scale.apply(x).backward()
    assert x.grad.tolist() == [6]
    Scale.apply(x, 5.0).backward()
    assert x.grad.tolist() == [21]
