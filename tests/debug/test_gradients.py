"""why_no_grad: why a tensor gets no gradient, and which line is to blame."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft.debug import NoGradient, why_no_grad

p = weft.tensor([1.0, 2.0], requires_grad=True)
other = weft.tensor([3.0, 4.0, 5.0], requires_grad=True)


def line_of(function: Callable[..., Any]) -> int:
    lines, first = inspect.getsourcelines(function)
    (marked,) = [i for i, text in enumerate(lines) if "# HERE" in text]
    return first + marked


# ---- cuts: a function names the op and the line --------------------------------------------------


def detached() -> weft.Tensor:
    h = p * 2
    h = h.detach()  # HERE
    return (h * h).sum()


def data() -> weft.Tensor:
    h = (p * 2).data  # HERE
    return (h * other[:2]).sum()


def without_grad() -> weft.Tensor:
    with weft.no_grad():
        h = p * 2  # HERE
    return (h * other[0]).sum()


def largest() -> weft.Tensor:
    best = p.argmax()  # HERE
    return other[best]


def compared() -> weft.Tensor:
    mask = (p > 1).float()  # HERE
    return (mask * other[:2]).sum()


def cast() -> weft.Tensor:
    whole = p.long()  # HERE
    return (whole * other[0]).sum()


def copied() -> weft.Tensor:
    h = p * 2
    again = weft.tensor(h)  # HERE
    return (again * other[:2]).sum()


def number() -> weft.Tensor:
    scale = p.sum().item()  # HERE
    return (other * scale).sum()


def as_float() -> weft.Tensor:
    scale = float(p.sum())  # HERE
    return (other * scale).sum()


def as_list() -> weft.Tensor:
    h = p * 2
    again = weft.tensor(h.tolist())  # HERE
    return (again * other[:2]).sum()


def through_numpy() -> weft.Tensor:
    h = (p * 2).detach()
    again = weft.from_numpy(np.exp(h.numpy()))  # HERE
    return (again * other[:2]).sum()


def written_into_data() -> weft.Tensor:
    h = other[:2] * 1
    h.data.copy_(p * 3)  # HERE
    return (h * h).sum()


def written_without_grad() -> weft.Tensor:
    h = weft.zeros(2)
    with weft.no_grad():
        h[0] = p[1]  # HERE
    return (h * other[:2]).sum()


def in_a_lazy_scope() -> weft.Tensor:
    with weft.lazy():
        h = p.exp().detach()  # HERE
        return (h * other[:2]).sum()


def in_a_map() -> weft.Tensor:
    def score(x: weft.Tensor) -> weft.Tensor:
        h = (p * x).detach()  # HERE
        return (h * other[:2]).sum()

    return weft.stack(weft.map(score, [weft.tensor(1.0), weft.tensor(2.0)])).sum()


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (detached, "detach() (or .data) cut the graph"),
        (data, "detach() (or .data) cut the graph"),
        (without_grad, "ran under no_grad()"),
        (largest, "integer or bool dtype"),
        (compared, "integer or bool dtype"),
        (cast, "integer or bool dtype"),
        (copied, "detach() (or .data) cut the graph"),
        (number, "read as plain numbers by item()"),
        (as_float, "read as plain numbers by float()"),
        (as_list, "read as plain numbers by tolist()"),
        (through_numpy, "read as plain numbers by numpy()"),
        (written_into_data, "written into another tensor's .data"),
        (written_without_grad, "ran under no_grad()"),
        (in_a_lazy_scope, "detach() (or .data) cut the graph"),
        (in_a_map, "detach() (or .data) cut the graph"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_function_names_the_cut(function: Callable[[], weft.Tensor], words: str) -> None:
    answer = why_no_grad(function, p)
    assert answer.kind == "cut"
    assert words in answer.reason
    assert "p" in answer.reason
    assert answer.place is not None
    assert answer.place.line == line_of(function)
    assert "# HERE" in str(answer)
    assert p.grad is None


@pytest.mark.parametrize("function", [detached, number])
def test_a_loss_without_graph_names_the_line(function: Callable[[], weft.Tensor]) -> None:
    loss = function() if function is detached else weft.tensor(p.sum().item())
    answer = why_no_grad(loss, p)
    assert answer.kind == "no-graph"
    assert answer.place is not None
    if function is detached:
        assert answer.place.line == line_of(detached)


def test_a_loss_whose_graph_saved_what_was_cut() -> None:
    answer = why_no_grad(without_grad(), p)
    assert answer.kind == "cut"
    assert answer.place is not None
    assert answer.place.line == line_of(without_grad)


# ---- the other reasons ---------------------------------------------------------------------------


def test_a_tensor_that_gets_one() -> None:
    for loss in ((p * 2).sum(), lambda: (p * 2).sum() + 1):
        answer = why_no_grad(loss, p)
        assert not answer
        assert str(answer) == "It does get a gradient."
    assert p.grad is None


def test_not_required() -> None:
    x = weft.ones(2)
    answer = why_no_grad((p * x).sum(), x)
    assert answer.kind == "not-required"
    assert answer.reason == "x does not require grad."
    assert "requires_grad_()" in answer.advice
    whole = weft.tensor([1, 2])
    assert "int64" in why_no_grad((p * whole).sum(), whole).reason
    cut = (p * 2).detach()
    answer = why_no_grad((p * cut).sum(), cut)
    assert "detach()" in answer.reason
    assert answer.place is not None


def test_unused() -> None:
    loss = (other * 2).sum()
    assert why_no_grad(loss, p).kind == "unused"
    assert why_no_grad(lambda: other.sum() + 1, p).reason == "The function never used p."


def test_a_branch_that_went_nowhere() -> None:
    def loss() -> weft.Tensor:
        h = p * 2  # HERE
        if other.sum() > 100:
            return h.sum()
        return other.sum()

    answer = why_no_grad(loss, p)
    assert answer.kind == "unused"
    assert "mul is the last op that used it" in answer.reason
    assert answer.place is not None
    assert answer.place.line == line_of(loss)


def test_replaced_by_a_new_tensor() -> None:
    q = weft.ones(2, requires_grad=True)
    old = q
    (q * 2).sum().backward()
    q = (q - 0.1 * q.grad).detach().requires_grad_()
    answer = why_no_grad((q * 2).sum(), old)
    assert answer.kind == "replaced"
    assert answer.place is not None
    assert "q = (q - 0.1 * q.grad)" in str(answer)


def test_a_result_instead_of_a_leaf() -> None:
    q = weft.ones(2, requires_grad=True)
    q = q - 0.1
    assert why_no_grad((p * 2).sum(), q).kind == "not-a-leaf"
    answer = why_no_grad((q * 2).sum(), q)
    assert answer.kind == "not-a-leaf"
    assert "retain_grad()" in answer.advice
    q.retain_grad()
    assert not why_no_grad((q * 2).sum(), q)


def test_required_too_late() -> None:
    x = weft.ones(2)
    loss = (x * p).sum()
    x.requires_grad_()
    answer = why_no_grad(loss, x)
    assert answer.kind == "later"
    assert "x.requires_grad_()" in str(answer)


@pytest.mark.parametrize(
    ("make", "op"),
    [
        (lambda: p.round().sum(), "round"),
        (lambda: (p * weft.zeros(2)).sum() + 1, "mul"),
        (lambda: (p - 10).relu().sum(), "relu"),
        (lambda: (p * 1000).sigmoid().sum(), "sigmoid"),
    ],
)
def test_a_gradient_that_is_zero(make: Callable[[], weft.Tensor], op: str) -> None:
    for loss in (make(), make):
        answer = why_no_grad(loss, p)
        assert (answer.kind, answer.op) == ("zero", op)
        assert answer.place is not None
        assert answer.place.file == __file__


class Half(weft.autograd.Function):
    @staticmethod
    def forward(_: Any, a: weft.Tensor, b: weft.Tensor) -> weft.Tensor:
        return a * b

    @staticmethod
    def backward(_: Any, gradient: weft.Tensor) -> Any:
        return gradient, None


def test_a_function_that_returns_none() -> None:
    answer = why_no_grad(Half.apply(other[:2], p * 2).sum(), p)
    assert answer.kind == "none"
    assert "backward of Half returned None" in answer.reason
    assert "Half.apply" in str(answer)


def test_after_backward() -> None:
    q = weft.ones(2, requires_grad=True)
    loss = (q * q).sum()
    loss.backward()
    assert not why_no_grad(loss, q)
    q.grad = None
    assert "freed" in why_no_grad(loss, q).reason


def test_a_long_chain() -> None:
    x = p
    for _ in range(20_000):
        x = x * 1
    assert not why_no_grad(x.sum(), p)
    assert why_no_grad(x.sum(), other).kind == "unused"


def test_bad_arguments() -> None:
    with pytest.raises(TypeError, match="p must be a tensor, not a int"):
        why_no_grad(p.sum(), 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="loss must be a tensor, or a function"):
        why_no_grad(3, p)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must return the loss, one tensor"):
        why_no_grad(lambda: None, p)


def test_answers_are_plain_data() -> None:
    assert NoGradient("why", kind="cut")
    assert not NoGradient("")
