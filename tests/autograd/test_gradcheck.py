"""gradcheck finds wrong gradients, and only those."""
# ruff: noqa: ARG004 (backward and forward have fixed signatures)

from __future__ import annotations

from typing import Any

import pytest

import weft
from weft import Tensor
from weft.autograd import Function, gradcheck, gradgradcheck
from weft.autograd.gradcheck import GradcheckError


def leaf(*numbers: float) -> Tensor:
    return weft.tensor(list(numbers), dtype=weft.float64, requires_grad=True)


class Wrong(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 3 * x * gradient


class WrongTwice(Function):
    """Right once, wrong the second time."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 3 * x.detach() * x * gradient


def test_right_gradients_pass() -> None:
    assert gradcheck(lambda x, y: (x * y.sin(), x.sum()), (leaf(1, 2), leaf(3, 4)))
    assert gradgradcheck(lambda x, y: x * y.sin(), (leaf(1, 2), leaf(3, 4)))
    assert gradcheck(lambda x, n: x * n, (leaf(1), 3))
    assert gradcheck(weft.exp, leaf(1))


def test_a_wrong_gradient_is_found() -> None:
    with pytest.raises(GradcheckError) as caught:
        gradcheck(Wrong.apply, (leaf(1, 2),))
    message = str(caught.value)
    assert "Jacobian mismatch for output 0 with respect to input 0" in message
    assert "is 3 by backward and 2" in message
    assert not gradcheck(Wrong.apply, (leaf(1, 2),), raise_exception=False)


def off(slope: float, by: float) -> Any:
    """Return a function with a slope, of which backward says a little more."""

    class Off(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return slope * x

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Tensor:
            return (slope + by) * gradient

    return Off.apply


def half_square(derivative: Any) -> Any:
    """Return a function with a given derivative, a linear one."""

    class HalfSquare(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return x * derivative(x.detach()) / 2

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Tensor:
            (x,) = ctx.saved_tensors
            return derivative(x) * gradient

    return HalfSquare.apply


@pytest.mark.parametrize(
    ("slope", "passes", "fails", "settings"),
    [
        (0.0, 0.99e-5, 1.01e-5, {}),
        (-2.0, 2.00e-3, 2.02e-3, {}),
        (-2.0, -2.00e-3, -2.02e-3, {}),
        (1.0, 0.10, 0.12, {"atol": 0.1}),
        (10.0, 0.9, 1.1, {"rtol": 0.1}),
    ],
)
def test_how_far_a_gradient_may_be_off(
    slope: float, passes: float, fails: float, settings: dict[str, float]
) -> None:
    assert gradcheck(off(slope, passes), (leaf(3),), **settings)
    assert not gradcheck(off(slope, fails), (leaf(3),), raise_exception=False, **settings)
    ones = leaf(1)
    assert gradgradcheck(half_square(off(slope, passes)), (leaf(3),), ones, **settings)
    with pytest.raises(GradcheckError):
        gradgradcheck(half_square(off(slope, fails)), (leaf(3),), ones, **settings)


def test_differences_are_taken_on_both_sides() -> None:
    # (f(x + eps) - f(x - eps)) / (2 * eps) of x**3 is 3 * x**2 + eps**2.
    cube = lambda x: x**3  # noqa: E731
    assert gradcheck(cube, (leaf(0),), eps=0.1, atol=0.0101)
    with pytest.raises(GradcheckError, match=r"is 0 by backward and 0\.01 by differences"):
        gradcheck(cube, (leaf(0),), eps=0.1, atol=0.0099)


def test_a_wrong_second_gradient_is_found() -> None:
    assert gradcheck(WrongTwice.apply, (leaf(1, 2),))
    with pytest.raises(GradcheckError, match="mismatch"):
        gradgradcheck(WrongTwice.apply, (leaf(1, 2),))


def test_a_cut_graph_is_found() -> None:
    with pytest.raises(GradcheckError, match="mismatch"):
        gradcheck(lambda x: x * x.detach(), (leaf(1, 2),))
    with pytest.raises(GradcheckError, match="does not require grad"):
        gradcheck(lambda x: x.detach() * 2, (leaf(1, 2),))


def test_a_gradient_that_changes_is_found() -> None:
    class Restless(Function):
        calls = 0

        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Tensor:
            Restless.calls += 1
            return gradient * (2 + 1e-9 * Restless.calls)

    with pytest.raises(GradcheckError, match="not reentrant"):
        gradcheck(Restless.apply, (leaf(1),))
    with pytest.raises(GradcheckError, match="not reentrant"):
        gradcheck(Restless.apply, (leaf(1),), nondet_tol=0.9e-9)
    assert gradcheck(Restless.apply, (leaf(1),), nondet_tol=1e-6)


def test_a_backward_that_needs_all_gradients_fails() -> None:
    class Needs(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, first: Any, second: Any) -> Tensor:
            return 2 * first + 3 * second

    with pytest.raises(TypeError, match="NoneType"):
        gradcheck(Needs.apply, (leaf(1),))


def test_inputs_that_cannot_be_checked() -> None:
    with pytest.raises(ValueError, match="at least one input"):
        gradcheck(lambda x: x, (weft.ones(1),))
    with pytest.warns(UserWarning, match="not a double precision"):
        gradcheck(lambda x: x * 2, (weft.ones(1, requires_grad=True),), eps=1e-2, atol=1e-2)
    expanded = leaf(1).expand(3).detach().requires_grad_()
    with pytest.raises(RuntimeError, match="stride 0"):
        gradcheck(lambda x: x * 2, (expanded,))
    with pytest.raises(TypeError, match="no Tensor but int"):
        gradcheck(lambda _: 3, (leaf(1),))
    with pytest.raises(NotImplementedError):
        gradcheck(lambda x: x, (leaf(1),), check_forward_ad=True)


def test_inputs_are_as_before() -> None:
    x = leaf(1, 2)
    gradcheck(lambda x: x * x, (x,))
    assert x.tolist() == [1, 2]
    assert x.grad is None


def test_non_contiguous_inputs() -> None:
    x = weft.randn(3, 2, dtype=weft.float64).T.detach().requires_grad_()
    assert not x.is_contiguous()
    assert gradcheck(lambda x: x.exp(), (x,))
    assert gradgradcheck(lambda x: x.exp(), (x,), gen_non_contig_grad_outputs=True)


def test_a_jacobian_that_would_take_hours_is_refused() -> None:
    x = weft.ones(100_000, dtype=weft.float64, requires_grad=True)
    with pytest.raises(ValueError, match="has 100000 x 100000 elements"):
        gradcheck(lambda x: x * 2, x)


def test_what_is_switched_off_is_not_checked() -> None:
    assert gradcheck(Wrong.apply, (leaf(1),), check_backward_ad=False) is True
    assert gradgradcheck(WrongTwice.apply, (leaf(1),), check_rev_over_rev=False) is True
    assert gradgradcheck(WrongTwice.apply, (leaf(1),), raise_exception=False) is False
    for options in ({"check_batched_grad": True}, {"check_batched_forward_grad": True}):
        with pytest.raises(NotImplementedError, match="batched gradients"):
            gradcheck(weft.exp, (leaf(1),), **options)
    with pytest.raises(NotImplementedError, match="batched gradients"):
        gradgradcheck(weft.exp, (leaf(1),), check_batched_grad=True)
    with pytest.raises(NotImplementedError, match="forward-mode"):
        gradgradcheck(weft.exp, (leaf(1),), check_fwd_over_rev=True)
