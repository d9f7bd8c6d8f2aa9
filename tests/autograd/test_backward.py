"""backward() and grad(): what they compute, their options, and what they refuse."""

from __future__ import annotations

import math
from typing import Any

import pytest

import weft
from weft import Tensor, _core
from weft.autograd import backward, grad


def leaf(*numbers: float) -> Tensor:
    return weft.tensor(list(numbers), dtype=weft.float64, requires_grad=True)


def test_a_gradient_accumulates() -> None:
    x = leaf(1, 2)
    (x * x).sum().backward()
    (x * 3).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [5, 7]


def test_a_tensor_used_twice_gets_both_gradients() -> None:
    x = leaf(2, 3)
    y = x * x
    (y + y * x).sum().backward()
    assert x.grad.tolist() == [2 * 2 + 3 * 4, 2 * 3 + 3 * 9]


@pytest.mark.parametrize("count", [31, 32, 33, 40])
def test_many_outputs_of_one_op_used_again(count: int) -> None:
    x = weft.arange(float(count), requires_grad=True)
    parts = x.unbind()
    (sum(p * i for i, p in enumerate(parts)) + sum(parts) * 2 + sum(parts)).backward()
    assert x.grad.tolist() == [i + 3 for i in range(count)]


def test_accumulating_keeps_the_gradient_object() -> None:
    x = leaf(1)
    (x * 2).sum().backward()
    first = x.grad
    (x * 2).sum().backward()
    assert x.grad is first
    assert first.tolist() == [4]


def test_a_given_gradient_is_not_adopted() -> None:
    x = leaf(1, 2)
    given = weft.ones(2, dtype=weft.float64)
    alias = x.view(2)
    alias.backward(given)
    alias = x.view(2)
    alias.backward(given)
    assert given.tolist() == [1, 1]
    assert x.grad.tolist() == [2, 2]


@pytest.mark.parametrize("saves", [False, True])
def test_a_gradient_that_a_function_keeps_is_not_adopted(saves: bool) -> None:
    class Square(weft.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: weft.Tensor) -> weft.Tensor:
            ctx.slope = None if saves else 2 * x.detach()
            if saves:
                ctx.save_for_backward(2 * x)
            return (x * x).sum()

        @staticmethod
        def backward(ctx: Any, _: weft.Tensor) -> Any:
            return ctx.saved_tensors[0] if saves else ctx.slope

    w = weft.ones(3, requires_grad=True)
    y = Square.apply(w)
    for times in range(1, 5):
        y.backward(retain_graph=True)
        assert w.grad.tolist() == [2.0 * times] * 3


def test_a_gradient_that_a_hook_keeps_is_not_adopted() -> None:
    w = weft.ones(3, requires_grad=True)
    kept: list[weft.Tensor] = []
    w.register_hook(kept.append)
    for _ in range(2):
        (w * 2).sum().backward()
    assert [gradient.tolist() for gradient in kept] == [[2.0] * 3] * 2
    kept[0].zero_()
    w.grad.mul_(2)
    assert (w.grad.tolist(), kept[1].tolist()) == ([8.0] * 3, [2.0] * 3)


def test_a_gradient_that_a_hook_returns_is_not_adopted() -> None:
    constant = weft.full((3,), 5.0)
    w = weft.ones(3, requires_grad=True)
    w.register_hook(lambda _: constant)
    for times in (1, 2):
        (w * 2).sum().backward()
        assert w.grad.tolist() == [5.0 * times] * 3
    assert constant.tolist() == [5.0] * 3


def test_a_gradient_that_nobody_holds_is_adopted() -> None:
    weight = weft.ones(1000, 1000, requires_grad=True)
    loss = (weft.ones(1, 1000) @ weight).sum()
    before = _core.live_bytes()
    _core.reset_peak_bytes()
    loss.backward()
    assert _core.peak_bytes() - before < 1.5 * 4_000_000


def test_two_leaves_do_not_share_a_gradient() -> None:
    a, b = leaf(1), leaf(2)
    (a + b).sum().backward()
    a.grad += 1
    assert b.grad.tolist() == [1]


def test_backward_of_several_tensors() -> None:
    x = leaf(1, 2)
    y, z = x * 2, (x * x).sum()
    backward([y, z], [weft.ones(2, dtype=weft.float64), None])
    assert x.grad.tolist() == [4, 6]


def test_backward_accumulates_into_inputs_only() -> None:
    a, b = leaf(1), leaf(2)
    (a * b).sum().backward(inputs=[a])
    assert a.grad.tolist() == [2]
    assert b.grad is None
    with pytest.raises(RuntimeError, match="cannot be empty"):
        (a * b).sum().backward(inputs=[])


def test_backward_into_an_inner_tensor() -> None:
    a = leaf(3)
    b = a * a
    (b * b).sum().backward(inputs=[a])
    assert a.grad.tolist() == [4 * 27]


def test_grad_touches_no_leaf() -> None:
    x = leaf(1, 2)
    (result,) = grad((x * x).sum(), x)
    assert result.tolist() == [2, 4]
    assert x.grad is None


def test_grad_of_inner_tensors() -> None:
    x = leaf(2)
    y = x * x
    z = (y * y).sum()
    by_y, by_x = grad(z, [y, x])
    assert by_y.tolist() == [8]
    assert by_x.tolist() == [32]


def test_grad_with_respect_to_the_output_itself() -> None:
    x = leaf(2)
    y = (x * x).sum()
    assert grad(y, y)[0].item() == 1


def test_grad_outputs() -> None:
    x = leaf(1, 2)
    given = weft.tensor([3.0, 4.0], dtype=weft.float64)
    assert grad(x * x, x, given)[0].tolist() == [6, 16]
    assert grad([x * x, x], [x], [given, given])[0].tolist() == [9, 20]


def test_unused_inputs() -> None:
    x, unused = leaf(1), leaf(2)
    with pytest.raises(RuntimeError, match=r"not have been used in the graph \(input 1"):
        grad((x * x).sum(), [x, unused])
    assert grad((x * x).sum(), [x, unused], allow_unused=True)[1] is None
    assert grad((x * x).sum(), [x, unused], materialize_grads=True)[1].tolist() == [0]


def test_only_what_leads_to_the_inputs_runs() -> None:
    a, b = leaf(1), leaf(2)
    seen: list[str] = []
    c = b * b
    c.register_hook(lambda _: seen.append("c"))
    grad((a * a + c).sum(), a)
    assert seen == []


def test_derivatives_of_any_order() -> None:
    x = leaf(2)
    y = (x**5).sum()
    wanted = [5 * 16, 20 * 8, 60 * 4, 120 * 2, 120, 0]
    for number in wanted:
        (result,) = grad(y, x, create_graph=True)
        assert result.tolist() == pytest.approx([number])
        y = result.sum()


def test_powers_of_negative_numbers_along_a_vector() -> None:
    """The exponent is a constant, also where the gradient is differentiated for its own."""
    x, v = leaf(-2), leaf(0)
    (pulled,) = grad(x**3, x, v, create_graph=True)
    (pushed,) = grad(pulled.sum(), v, create_graph=True)
    assert pushed.tolist() == [12]
    assert grad(pushed.sum(), x)[0].tolist() == [-12]


def test_create_graph_through_backward() -> None:
    x = leaf(3)
    (x**3).sum().backward(create_graph=True)
    first = x.grad
    assert first.requires_grad
    x.grad = None
    first.sum().backward()
    assert x.grad.tolist() == [18]


def test_retain_graph() -> None:
    x = leaf(1, 2)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4, 8]
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_a_graph_that_saved_nothing_can_run_twice() -> None:
    x = leaf(1, 2)
    y = (x + 1).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [2, 2]


def test_saved_tensors_are_freed_by_backward() -> None:
    x = weft.ones(1000, requires_grad=True)
    before = weft._core.live_bytes()
    y = (x * 2).exp().sum()
    node = y.grad_fn.next_functions[0][0]
    assert node._saved_bytes == 4000
    assert weft._core.live_bytes() >= before + 4000
    y.backward()
    assert node._saved_bytes == 0
    x.grad = None
    assert weft._core.live_bytes() < before + 4000


def test_an_implicit_gradient_needs_one_element() -> None:
    x = leaf(1, 2)
    with pytest.raises(RuntimeError, match=r"only for scalar outputs; this output has shape \(2"):
        (x * 2).backward()
    (leaf(5).view(1, 1) * 2).backward()


def test_a_gradient_has_the_shape_of_its_tensor() -> None:
    x = leaf(1, 2)
    with pytest.raises(RuntimeError, match=r"grad_output\[0\] has a shape of \(3.*output\[0\]"):
        (x * 2).backward(weft.ones(3))
    with pytest.raises(RuntimeError, match="1 tensors and 2 gradients"):
        backward([x * 2], [weft.ones(2), weft.ones(2)])
    with pytest.raises(TypeError):
        (x * 2).backward(3.0)


def test_a_gradient_has_the_dtype_of_its_leaf() -> None:
    x = weft.ones(2, requires_grad=True)
    (x.double() * 2).sum().backward()
    assert x.grad.dtype == weft.float32
    half = weft.ones(2, dtype=weft.float16, requires_grad=True)
    (half * x.detach()).sum().backward()
    assert half.grad.dtype == weft.float16


def test_gradients_are_summed_over_broadcast_dimensions() -> None:
    row, column = leaf(1, 2, 3), leaf(4, 5).view(2, 1).detach().requires_grad_()
    (row * column).sum().backward()
    assert row.grad.tolist() == [9, 9, 9]
    assert column.grad.tolist() == [[6], [6]]


def test_wrong_arguments_are_refused() -> None:
    x = leaf(1)
    with pytest.raises(TypeError):
        grad(3, x)
    with pytest.raises(TypeError):
        grad((x * x).sum(), [3])
    with pytest.raises(RuntimeError, match="does not require grad"):
        grad((x * x).sum(), weft.ones(1))


def test_backward_inside_a_hook() -> None:
    """Backward may start while another one runs."""
    x, inner = leaf(2), leaf(3)

    def hook(gradient: Tensor) -> Tensor:
        with weft.enable_grad():
            (inner * inner).sum().backward()
        return gradient * 2

    y = x * x
    y.register_hook(hook)
    y.sum().backward()
    assert x.grad.tolist() == [8]
    assert inner.grad.tolist() == [6]


def test_gradient_with_respect_to_a_view() -> None:
    x = leaf(1, 2, 3, 4)
    part = x[1:3]
    (by_part,) = grad((part * part).sum(), part)
    assert by_part.tolist() == [4, 6]


def test_requires_grad_is_for_floats_and_leaves() -> None:
    with pytest.raises(RuntimeError, match=r"floating point.*int64"):
        weft.tensor([1]).requires_grad_()
    y = leaf(1) * 2
    with pytest.raises(RuntimeError, match="leaf variables"):
        y.requires_grad_(False)
    x = leaf(1)
    x.requires_grad_(False)
    assert not (x * 2).requires_grad


def test_assigning_a_gradient() -> None:
    x = leaf(1, 2)
    x.grad = weft.ones(2, dtype=weft.float64)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="shape"):
        x.grad = weft.ones(3, dtype=weft.float64)
    with pytest.raises(RuntimeError, match="dtype"):
        x.grad = weft.ones(2)
    with pytest.raises(TypeError):
        x.grad = 3


def test_a_leaf_that_is_gone_gets_no_gradient() -> None:
    x = leaf(1)
    y = (x * leaf(2)).sum()
    y.backward()
    assert x.grad.tolist() == [2]


def test_a_leaf_whose_shape_has_changed_since() -> None:
    x = weft.ones(1, 3, requires_grad=True)
    y = (x * 2).sum()
    x.data = weft.ones(4, 3)
    with pytest.raises(weft.ShapeError, match=r"a leaf was \(1, 3\) .* and is \(4, 3\) now"):
        y.backward()
    assert x.grad is None


def _result(values=(1.0, 1.0)):
    x = weft.tensor(list(values), requires_grad=True)
    return x, x * 1


def test_retained_gradient_is_that_of_what_was_written() -> None:
    _, a = _result()
    seen: list[list[float]] = []
    a.register_hook(lambda gradient: seen.append(gradient.tolist()))
    a.retain_grad()
    a.mul_(2)
    a.exp_()
    (a * 3).sum().backward()
    assert a.grad.tolist() == [3, 3]
    assert a.retains_grad
    # A hook stays with the value that it was given for.
    assert seen == [[pytest.approx(6 * math.exp(2))] * 2]


def test_retained_gradient_of_what_other_results_saw_before() -> None:
    x, a = _result()
    a.retain_grad()
    b = a + 1
    a.mul_(3)
    (a.sum() * 2 + b.sum()).backward()
    assert a.grad.tolist() == [2, 2]
    assert x.grad.tolist() == [7, 7]


def test_retained_gradients_of_views_and_bases_that_are_written() -> None:
    _, a = _result()
    a.retain_grad()
    part = a[:1]
    part.retain_grad()
    part.mul_(2)
    (a * a).sum().backward()
    assert a.grad.tolist() == [4, 2]
    assert part.grad is None  # nothing came through it since
    _, a = _result()
    part = a[:1]
    part.retain_grad()
    a.mul_(2)
    (part * part).sum().backward()
    assert part.grad.tolist() == [4]


def test_retained_gradient_of_a_pending_tensor_that_is_written() -> None:
    with weft.lazy():
        _, a = _result()
        a.retain_grad()
        a.mul_(2)
        (a * a).sum().backward()
    assert a.grad.tolist() == [4, 4]


def test_backward_accumulates_into_results_that_are_named() -> None:
    x = weft.ones(2, requires_grad=True)
    other = weft.ones(2, requires_grad=True)
    h = x * 2
    loss = (h * h * other).sum()
    loss.backward(inputs=[x, h, h], retain_graph=True)
    assert (x.grad.tolist(), h.grad.tolist(), other.grad) == ([8, 8], [4, 4], None)
    assert h.retains_grad
    weft.autograd.backward(loss, inputs=h)
    assert (x.grad.tolist(), h.grad.tolist()) == ([8, 8], [8, 8])
    (first, second) = (x * 2).chunk(2)
    (first * second).sum().backward(inputs=[first])
    assert (first.grad.tolist(), second.grad) == ([2], None)


def test_a_gradient_with_a_history_is_left_alone() -> None:
    x = leaf(1)
    y = x * 2
    y.sum().backward(retain_graph=True)
    first, view = x.grad, x.grad.view(1, 1)
    y.sum().backward(create_graph=True)
    second = x.grad
    assert (first.tolist(), view.tolist(), second.tolist()) == ([2], [[2]], [4])
    assert second is not first
    (x**3).sum().backward(create_graph=True)
    third = x.grad
    (third**2).sum().backward()
    # 7 and the slope of its square, 2 * 7 * 6 x; what was squared is as it was.
    assert (second.tolist(), third.tolist(), x.grad.tolist()) == ([4], [7], [91])


def test_create_graph_adopts_no_gradient() -> None:
    x, given = leaf(1, 2), weft.ones(2, dtype=weft.float64)
    x.view(2).backward(given, create_graph=True)
    (x * 3).sum().backward()
    assert (given.tolist(), x.grad.tolist()) == ([1, 1], [4, 4])
    x, y = leaf(1, 2, 3), leaf(1, 2, 3)
    (x + y).sum().backward(create_graph=True)  # of a sum: one number, seen by all elements
    x.sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([2, 2, 2], [1, 1, 1])


def test_create_graph_keeps_an_assigned_gradient() -> None:
    x, given = leaf(1, 2), weft.zeros(2, dtype=weft.float64)
    x.grad = given
    (x * 2).sum().backward(create_graph=True)
    assert (given.tolist(), x.grad.tolist()) == ([0, 0], [2, 2])
