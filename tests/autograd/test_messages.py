"""Errors of backward name the lines of the program that explain them."""
# ruff: noqa: ARG004 (backward and forward have fixed signatures)

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

import weft
from weft import Tensor
from weft.autograd import Function


def line_with(marker: str, function: Callable[..., Any]) -> str:
    """Return "file:line" of the line of a function that carries a marker."""
    lines, first = inspect.getsourcelines(function)
    (number,) = [i for i, text in enumerate(lines) if text.rstrip().endswith(f"# {marker}")]
    return f"{__file__}:{first + number}"


def message_of(function: Callable[[], Any]) -> str:
    with pytest.raises(RuntimeError) as caught:
        function()
    return str(caught.value)


def leaf(*numbers: float) -> Tensor:
    return weft.tensor(list(numbers), dtype=weft.float32, requires_grad=True)


def test_an_in_place_change_names_both_lines() -> None:
    def program() -> None:
        y = leaf(1, 2) * 2
        z = y * y  # saved
        y.add_(1)  # changed
        z.sum().backward()

    message = message_of(program)
    assert "modified by an inplace operation" in message
    assert f"mul at {line_with('saved', program)} saved its input of shape (2,)" in message
    assert f"add_ at {line_with('changed', program)} changed" in message
    assert "version 0" in message
    assert "now version 1" in message


def test_an_in_place_change_of_a_result() -> None:
    def program() -> None:
        y = leaf(1, 2).exp()  # saved
        y[0] = 5  # changed
        y.sum().backward()

    message = message_of(program)
    assert f"exp at {line_with('saved', program)} saved its result" in message
    assert line_with("changed", program) in message


def test_an_in_place_change_through_a_view() -> None:
    def program() -> None:
        y = leaf(1, 2) * 2
        z = y * y  # saved
        y[1:].zero_()  # changed
        z.sum().backward()

    message = message_of(program)
    assert line_with("saved", program) in message
    assert line_with("changed", program) in message


def test_an_in_place_change_of_a_functions_saved_tensor() -> None:
    class Square(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Tensor:
            (x,) = ctx.saved_tensors
            return 2 * x * gradient

    def program() -> None:
        y = leaf(1, 2) * 2
        z = Square.apply(y)  # saved
        y.mul_(3)  # changed
        z.sum().backward()

    message = message_of(program)
    assert f"SquareBackward at {line_with('saved', program)} saved its input" in message
    assert f"mul_ at {line_with('changed', program)} changed" in message


def test_a_second_backward_says_what_to_do() -> None:
    def program() -> None:
        y = leaf(1, 2).exp()  # made
        y.sum().backward()  # freed
        y.sum().backward()

    message = message_of(program)
    assert "backward through the graph a second time" in message
    assert f"the result of exp at {line_with('made', program)}" in message
    assert f"(at {line_with('freed', program)})" in message
    assert "retain_graph=True" in message


@pytest.mark.parametrize("way", ["detach", "data", "no_grad", "integer", "argmax"])
def test_a_cut_graph_names_the_line(way: str) -> None:
    def detach() -> Tensor:
        y = leaf(1, 2).detach()  # cut
        return (y * 2).sum()

    def data() -> Tensor:
        y = (leaf(1, 2) * 2).data  # cut
        return (y * 2).sum()

    def no_grad() -> Tensor:
        x = leaf(1, 2)
        with weft.no_grad():
            y = x * 2  # cut
        return (y + 1).sum()

    def integer() -> Tensor:
        y = (leaf(1, 2) * 2).long()  # cut
        return y.sum() * 1.5

    def argmax() -> Tensor:
        y = (leaf(1, 2) * 2).argmax()  # cut
        return y * 1.5

    functions = {f.__name__: f for f in (detach, data, no_grad, integer, argmax)}
    words = {"no_grad": "no_grad()", "integer": "integer", "argmax": "integer"}
    message = message_of(lambda: functions[way]().backward())
    assert message.startswith(
        "element 0 of tensors does not require grad and does not have a grad_fn"
    )
    assert words.get(way, "detach()") in message
    assert line_with("cut", functions[way]) in message


@pytest.mark.parametrize("read", [Tensor.item, float, Tensor.tolist])
def test_a_number_has_no_graph(read: Callable[[Tensor], Any]) -> None:
    def program() -> None:
        y = leaf(3) * 2
        number = read(y)  # read
        weft.tensor(number).sum().backward()

    message = message_of(program)
    assert "requires_grad=True" in message
    assert f"last read as a number at {line_with('read', program)}" in message


def test_a_failing_gradient_names_the_forward_line() -> None:
    class Broken(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Tensor:
            return gradient @ weft.ones(7, 7)

    def program() -> None:
        y = Broken.apply(leaf(1, 2))  # applied
        y.sum().backward()

    with pytest.raises(RuntimeError) as caught:
        program()
    notes = "\n".join(caught.value.__notes__)
    assert f"in the backward of Broken, applied at {line_with('applied', program)}" in notes


def test_a_wrong_shape_from_backward_names_the_forward_line() -> None:
    class Wrong(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Tensor:
            return weft.ones(3)

    def program() -> None:
        y = Wrong.apply(leaf(1, 2))  # applied
        y.sum().backward()

    message = message_of(program)
    assert re.search(r"invalid gradient at index 0 - got \(3,?\) but expected .*\(2,?\)", message)
    assert line_with("applied", program) in message


def test_a_hooks_wrong_shape_names_the_line() -> None:
    def program() -> None:
        y = leaf(1, 2) * 2  # made
        y.register_hook(lambda _: weft.ones(5))
        y.sum().backward()

    message = message_of(program)
    assert f"a hook on the result of mul at {line_with('made', program)}" in message


def test_in_place_on_a_leaf() -> None:
    x = leaf(1, 2)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        x[0] = 3
    with weft.no_grad():
        x.add_(1)
    assert x.tolist() == [2, 3]


def test_frames_inside_weft_are_not_blamed() -> None:
    def program() -> Tensor:
        return weft.nn.functional.mse_loss(leaf(1, 2) * 2, weft.zeros(2))  # called

    node = program().grad_fn
    file, line, _ = weft._core.resolve_position(node._position)
    assert f"{file}:{line}" == line_with("called", program)
