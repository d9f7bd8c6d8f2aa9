"""compare: the first op that differs between modes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import weft
from weft import _core, nn, optim
from weft.debug import compare

w = weft.tensor([1.0, 2.0, 3.0], requires_grad=True)


def line_of(function: Any) -> int:
    lines, first = inspect.getsourcelines(function)
    (marked,) = [i for i, text in enumerate(lines) if "# DIFFERS" in text]
    return first + marked


def planted() -> weft.Tensor:
    x = w * 2
    factor = 1.001 if _core.is_lazy() else 1.0
    y = x * factor  # DIFFERS
    return y.exp().sum()


def test_the_first_op_that_differs() -> None:
    report = compare(planted)
    assert report
    assert (report.what, report.op, report.mode) == ("values", "mul", "lazy")
    assert report.place is not None
    assert (report.place.file, report.place.line) == (__file__, line_of(planted))
    assert report.difference == pytest.approx(0.006, rel=1e-3)
    text = str(report)
    assert "eager and lazy differ in the values of mul." in text
    assert "eager: (3,) float32, from 2 to 6" in text
    assert "lazy: (3,) float32, from 2.002 to 6.006" in text


def test_a_mode_that_differs_is_named_among_several() -> None:
    report = compare(planted, modes=("eager", "cells", "lazy"))
    assert report.mode == "lazy"


def other_ops() -> weft.Tensor:
    x = w * 2
    if _core.is_lazy():
        x = x.tanh()  # DIFFERS
    return x.sum()


def test_other_ops() -> None:
    report = compare(other_ops)
    assert report.what in {"ops", "values"}
    assert "tanh" in str(report)
    assert str(line_of(other_ops)) in str(report)


def decided() -> weft.Tensor:
    limit = 100.0 if _core.is_lazy() else 1.0
    if w.sum() > limit:
        return w.exp().sum()
    return w.tanh().sum()


def test_another_branch() -> None:
    report = compare(decided)
    assert report.op == "gt"
    assert report.values[0].dtype == "bool"


def step() -> weft.Tensor:
    loss = MODEL(weft.randn(4, 3)).pow(2).mean()
    OPTIMIZER.zero_grad()
    loss.backward()
    OPTIMIZER.step()
    return loss


MODEL = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Dropout(0.5), nn.Linear(5, 4))
OPTIMIZER = optim.Adam(MODEL.parameters(), lr=0.1)


@pytest.mark.parametrize(
    "modes",
    [("eager", "lazy"), ("map", "batch=False"), ("eager", "cells"), ("lazy", "map", "parts")],
)
def test_a_training_step_agrees_and_changes_nothing(modes: tuple[str, ...]) -> None:
    before = [parameter.detach().clone() for parameter in MODEL.parameters()]
    state = weft.get_rng_state()
    report = compare(step, modes=modes)
    assert not report, str(report)
    assert "agree" in str(report)
    assert report.ops > 5
    for old, parameter in zip(before, MODEL.parameters(), strict=True):
        assert weft.equal(old, parameter.detach())
        assert parameter.grad is None
    assert not OPTIMIZER.state
    assert weft.equal(weft.get_rng_state(), state)


def test_maps_and_cells_agree() -> None:
    cell = nn.LSTMCell(2, 3)

    def run() -> weft.Tensor:
        def encode(length: int) -> weft.Tensor:
            state = (weft.zeros(1, 3), weft.zeros(1, 3))
            for i in range(length):
                state = cell(weft.full((1, 2), float(i)), state)
                if state[0].sum() > 10:
                    break
            return state[0].sum()

        loss = weft.stack(weft.map(encode, [1, 3, 2])).sum()
        loss.backward()
        return loss

    for modes in (("eager", "cells"), ("cells", "parts"), ("eager", "lazy"), ("eager", "map")):
        report = compare(run, modes=modes)
        assert not report, (modes, str(report))


def test_a_cell_that_is_not_pure_is_found() -> None:
    calls: list[float] = []

    @weft.cell
    def impure(x: weft.Tensor) -> weft.Tensor:
        calls.append(1.0)
        return x * float(len(calls))

    def run() -> weft.Tensor:
        a = impure(w)
        b = impure(w)
        return (a + b * 2).sum()

    report = compare(run, modes=("parts", "cells"))
    assert report


def test_a_function_that_does_not_repeat_itself_blames_no_mode() -> None:
    calls: list[float] = []

    def run() -> weft.Tensor:
        calls.append(1.0)
        return (w * float(len(calls))).sum()

    report = compare(run)
    assert report
    assert report.mode == "eager"
    assert "does not repeat itself" in str(report)


def test_gradients_are_compared() -> None:
    class Scaled(weft.autograd.Function):
        @staticmethod
        def forward(_: Any, x: weft.Tensor) -> weft.Tensor:
            return x * 1

        @staticmethod
        def backward(_: Any, gradient: weft.Tensor) -> weft.Tensor:
            return gradient * FACTOR[0]

    def run() -> weft.Tensor:
        FACTOR[0] = 3.0 if _core.is_lazy() else 2.0
        loss = Scaled.apply(w).sum()
        loss.backward()
        return loss

    report = compare(run)
    assert report.what == "gradients"
    assert w.grad is None


FACTOR = [1.0]


def test_an_error_in_one_mode() -> None:
    def run() -> weft.Tensor:
        if _core.is_lazy():
            raise KeyError("only lazy")
        return w.sum()

    report = compare(run)
    assert report.what == "error"
    assert "lazy: KeyError: 'only lazy'" in str(report)


def test_the_same_error_in_both() -> None:
    def run() -> weft.Tensor:
        _ = w * 2
        raise KeyError("always")

    report = compare(run)
    assert not report
    assert str(report).startswith("eager and lazy raise KeyError: 'always'; ")
    assert str(report).endswith(" what ran until then agrees: 1 ops.")


def test_tolerance() -> None:
    assert not compare(planted, tolerance=0.1)


def test_in_place_ops_agree() -> None:
    def run() -> weft.Tensor:
        x = w * 2
        x += 1
        x[0] = 7.0
        x.mul_(3)
        return x.sum()

    report = compare(run)
    assert not report, str(report)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: compare(3), TypeError, "takes a function to run, not a int"),
        (lambda: compare(planted, modes=("eager",)), ValueError, "two or more of the modes"),
        (lambda: compare(planted, modes=("eager", "fast")), ValueError, "'fast' is not one of"),
    ],
)
def test_bad_arguments(call: Callable[[], object], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call()
