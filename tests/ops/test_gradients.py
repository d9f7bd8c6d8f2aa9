"""First and second gradients of every differentiable op by finite differences in float64."""

from __future__ import annotations

import math
from typing import Any

import pytest

import weft
from tests.ops.gradient import GradientCheck, floating_arrays, outputs_of
from tests.ops.row import Row, Sample, assert_close, to_call
from tests.ops.table import TABLE, row_id


def samples_of(row: Row, order: int) -> list[Sample]:
    """Return the float64 samples of a row that can be differentiated `order` times."""
    if row.order < order:
        return []
    return [
        sample
        for sample in row.calls("float64")
        if floating_arrays(sample) and (sample.order is None or sample.order >= order)
    ]


def rows_of(order: int) -> list[Row]:
    return [row for row in TABLE if samples_of(row, order)]


@pytest.mark.parametrize("row", rows_of(1), ids=row_id)
def test_first(row: Row) -> None:
    for sample in samples_of(row, 1):
        GradientCheck(row, weft, sample).first()


@pytest.mark.parametrize("row", rows_of(2), ids=row_id)
def test_second(row: Row) -> None:
    for sample in samples_of(row, 2):
        GradientCheck(row, weft, sample).second()


@pytest.mark.parametrize(
    "row", [row for row in rows_of(1) if "contiguous" not in row.tags], ids=row_id
)
def test_layouts(row: Row) -> None:
    """The gradients of non-contiguous arguments are those of contiguous ones."""
    for sample in samples_of(row, 1):
        expected = gradients_in(row, sample, "contiguous")
        for layout in ("strided", "transposed"):
            assert_close(gradients_in(row, sample, layout), expected, "float64", what=layout)


def gradients_in(row: Row, sample: Sample, layout: str) -> list:
    call = to_call(weft, sample, "float64", layout, gradient=True)
    check = GradientCheck(row, weft, sample)
    outputs = outputs_of(row, weft, call)
    pairs = [(o, weft.tensor(w)) for o, w in zip(outputs, check.w, strict=True) if o.requires_grad]
    gradients = weft.autograd.grad(
        [o for o, _ in pairs], call.leaves, [w for _, w in pairs], allow_unused=True
    )
    return [weft.zeros(0) if gradient is None else gradient for gradient in gradients]


def _scaled(first: float, second: float):
    """A square whose gradients are wrong by the given factors."""

    class Slope(weft.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return 2 * first * x

        @staticmethod
        def backward(_ctx, gradient):
            return 2 * first * second * gradient

    class Square(weft.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            return gradient * Slope.apply(x)

    return Square.apply


class _Module:
    """Stands in for weft with one more op."""

    def __init__(self, square) -> None:
        self.square = square

    def __getattr__(self, name: str):
        return getattr(weft, name)


SQUARE = next(row for row in TABLE if row.name == "square")


def test_the_check_passes_right_gradients() -> None:
    check = GradientCheck(SQUARE, _Module(_scaled(1.0, 1.0)), SQUARE.calls("float64")[1])
    check.first()
    check.second()


def test_the_check_finds_a_wrong_first_gradient() -> None:
    check = GradientCheck(SQUARE, _Module(_scaled(1.001, 1.0)), SQUARE.calls("float64")[1])
    with pytest.raises(AssertionError, match="first gradient"):
        check.first()


def test_the_check_finds_a_wrong_second_gradient() -> None:
    check = GradientCheck(SQUARE, _Module(_scaled(1.0, 1.001)), SQUARE.calls("float64")[1])
    check.first()
    with pytest.raises(AssertionError, match="second gradient"):
        check.second()


@pytest.mark.parametrize(
    ("function", "exact"),
    [
        (lambda x: x ** (1 / 3), 2 ** (-2 / 3) / 3),
        (lambda x: (1 / 3) ** x, math.log(1 / 3) / 9),
        (lambda x: weft.xlogy(x, 1 / 3), math.log(1 / 3)),
        (lambda x: weft.lerp(x, x.detach(), 1 / 3), 2 / 3),
        (lambda x: weft.nn.functional.elu(-x, 1 / 3), -math.exp(-2) / 3),
    ],
)
@pytest.mark.parametrize("create_graph", [False, True])
def test_numbers_keep_their_digits(function: Any, exact: float, create_graph: bool) -> None:
    x = weft.tensor(2.0, dtype=weft.float64, requires_grad=True)
    (slope,) = weft.autograd.grad(function(x), x, create_graph=create_graph)
    assert slope.item() == pytest.approx(exact, rel=1e-14)


@pytest.mark.parametrize("y", [0.0, -0.0])
@pytest.mark.parametrize("x", [0.0, -0.0])
@pytest.mark.parametrize("create_graph", [False, True])
def test_an_angle_has_no_slope_at_the_origin(y: float, x: float, create_graph: bool) -> None:
    point = [weft.tensor([y, 3.0], requires_grad=True), weft.tensor([x, 4.0], requires_grad=True)]
    slopes = weft.autograd.grad(weft.atan2(*point).sum(), point, create_graph=create_graph)
    assert slopes[0].tolist() == pytest.approx([0, 4 / 25])
    assert slopes[1].tolist() == pytest.approx([0, -3 / 25])
