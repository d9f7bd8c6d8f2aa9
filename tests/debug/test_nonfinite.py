"""find_nan: the first op that made a number which is not finite."""

from __future__ import annotations

import math

import pytest

import weft
from tests.debug.planted import CASES, Case, Net, Normalise
from weft.debug import find_nan


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_planted(case: Case) -> None:
    report = find_nan(case.run)
    assert report.error is None
    assert report
    assert (report.op, report.phase, report.origin) == (case.op, case.phase, case.origin)
    assert report.place is not None
    assert (report.place.file, report.place.line) == (
        __file__.replace("test_nonfinite", "planted"),
        case.line,
    )
    assert report.example == case.example
    if case.module is not None:
        assert report.module == case.module
    assert "CULPRIT" in str(report)


def test_there_are_fifty_planted_cases() -> None:
    assert len(CASES) >= 50


def test_a_module_is_named_with_its_path() -> None:
    report = find_nan(Net(), weft.ones(1, 2))
    assert report.op == "div"
    assert report.module == "encoder.2"
    assert report.place is not None
    assert report.place.function == Normalise.forward.__name__


def test_finite_runs_give_nothing() -> None:
    x = weft.tensor([1.0, 2.0], requires_grad=True)
    report = find_nan(lambda: (x * x).sum() + 1)
    assert not report
    assert str(report) == "Every number was finite."


def test_a_mask_of_infinities_is_no_fault() -> None:
    x = weft.tensor([1.0, 2.0], requires_grad=True)
    mask = weft.tensor([True, False])
    assert not find_nan(lambda: weft.softmax(x.masked_fill(mask, -math.inf), 0)[1])
    other = weft.tensor([0.0, -math.inf])
    assert not find_nan(lambda: weft.softmax(x + other, 0)[0])


def test_nothing_is_changed() -> None:
    x = weft.tensor([1.0, 0.0], requires_grad=True)
    assert find_nan(lambda: x.sqrt().sum())
    assert x.grad is None
    assert x.tolist() == [1, 0]


def test_backward_can_be_left_out() -> None:
    x = weft.tensor([1.0, 0.0], requires_grad=True)
    assert not find_nan(lambda: x.sqrt().sum(), backward=False)


def test_an_exception_is_part_of_the_report() -> None:
    def fails() -> None:
        weft.zeros(1).log()
        raise KeyError("later")

    report = find_nan(fails)
    assert report.op == "log"
    assert isinstance(report.error, KeyError)
    assert "KeyError: 'later'" in str(report)


def test_ranges_of_inputs_are_told() -> None:
    report = find_nan(lambda x: x.log(), weft.tensor([[3.0, 0.0], [1.0, -2.0]]))
    (read,) = report.inputs
    assert str(read) == "x (2, 2) float32, from -2 to 3"
    assert "1 of 4 NaN, 1 of 4 infinite" in str(report)


def test_a_parameter_that_an_optimizer_broke() -> None:
    layer = weft.nn.Linear(2, 1)
    optimizer = weft.optim.Adam(layer.parameters(), lr=1e39)

    def run() -> None:
        for _ in range(3):
            loss = layer(weft.ones(4, 2)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    report = find_nan(run)
    assert (report.op, report.origin, report.name) == ("linear", "input", "weight")
    assert "an optimizer's step" in str(report)


def test_what_was_read_is_as_it_was_then() -> None:
    def run() -> weft.Tensor:
        x = weft.ones(3)
        x[1] = 0.0
        return x.log()

    (read,) = find_nan(run).inputs
    assert str(read) == "(3,) float32, from 0 to 1"


def test_an_input_is_named() -> None:
    report = find_nan(lambda x: x * 2, x=weft.tensor([math.nan]))
    assert report.origin == "input"
    assert report.name == "x"
    assert str(report).startswith("x was not finite before mul read it.")


def test_memory_that_was_written_unseen() -> None:
    def run() -> weft.Tensor:
        x = weft.ones(2) * 1
        x.numpy()[0] = math.nan
        return x + 1

    report = find_nan(run)
    assert report.origin == "input"
    assert report.op == "add"
    assert "written since" in str(report)


def test_the_gradient_given_to_backward() -> None:
    x = weft.ones(2, requires_grad=True)
    report = find_nan(lambda: (x * 2).backward(weft.tensor([1.0, math.nan])))
    assert report.phase == "backward"
    assert "that backward was given" in report.note


def test_gradients_whose_sum_overflows() -> None:
    x = weft.tensor([0.0], requires_grad=True)

    def run() -> weft.Tensor:
        y = x * 1
        return (y * 3e38 + y * 3e38).sum()

    report = find_nan(run)
    assert (report.op, report.phase) == ("mul", "backward")
    assert "their sum is not" in report.note


def test_a_long_run_is_forgotten_while_it_is_finite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.debug.nonfinite._LONG", 50)
    x = weft.tensor([8.0], requires_grad=True)

    def run() -> None:
        for _ in range(40):
            loss = x.sqrt().sum()
            loss.backward()
            x.grad = None
            x.data -= 0.25

    report = find_nan(run)
    assert (report.op, report.phase) == ("sqrt", "backward")
    assert report.trace is not None
    assert len(report.trace.nodes) < 100


def test_something_else_than_a_function() -> None:
    with pytest.raises(TypeError, match="takes a function to run, not a Tensor"):
        find_nan(weft.ones(1))  # type: ignore[arg-type]


def test_gradients_of_gradients() -> None:
    w = weft.zeros(2, requires_grad=True)

    def penalty() -> weft.Tensor:
        (gradient,) = weft.autograd.grad((w * 0).pow(1.5).sum(), w, create_graph=True)
        return gradient.sum()

    report = find_nan(penalty)
    assert (report.op, report.phase) == ("pow", "backward")
    assert w.grad is None


def test_gradients_of_gradients_that_the_function_computed() -> None:
    w = weft.ones(2, requires_grad=True)

    def step() -> weft.Tensor:
        (gradient,) = weft.autograd.grad((w * w).sum(), w, create_graph=True)
        loss = (gradient * gradient).sum()
        loss.backward()
        return loss

    report = find_nan(step)
    assert not report
    assert report.error is None


def test_a_nan_that_no_op_made() -> None:
    report = find_nan(lambda: [weft.tensor([1.0, float("nan")])])
    assert report
    text = "A tensor that the function returned was not finite, and no op of the function made it."
    assert str(report) == text
