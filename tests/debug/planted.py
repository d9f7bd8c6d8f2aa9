"""Programs with one op each that makes the first NaN or infinity; its line is marked CULPRIT.

A case names the op that is to blame, and the phase in which it is.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import weft
from weft import nn
from weft.nn import functional as F

INF = math.inf


@dataclass(frozen=True)
class Case:
    run: Callable[[], Any]
    op: str
    phase: str = "forward"
    origin: str = "op"
    module: str | None = None
    example: int = -1

    @property
    def name(self) -> str:
        return self.run.__name__

    @property
    def line(self) -> int:
        """The marked line."""
        lines, first = inspect.getsourcelines(self.run)
        marked = [i for i, text in enumerate(lines) if "CULPRIT" in text]
        assert len(marked) == 1, self.name
        return first + marked[0]


CASES: list[Case] = []


def case(op: str, phase: str = "forward", **more: Any) -> Callable[[Callable[[], Any]], Any]:
    def add(run: Callable[[], Any]) -> Callable[[], Any]:
        CASES.append(Case(run, op, phase, "gradient" if phase == "backward" else "op", **more))
        return run

    return add


def given(op: str, origin: str) -> Callable[[Callable[[], Any]], Any]:
    def add(run: Callable[[], Any]) -> Callable[[], Any]:
        CASES.append(Case(run, op, "forward", origin))
        return run

    return add


def parameter(*numbers: float) -> weft.Tensor:
    return weft.tensor([float(number) for number in numbers], requires_grad=True)


# ---- forward -----------------------------------------------------------------------------------


@case("log")
def log_of_zero() -> weft.Tensor:
    x = parameter(1, 0)
    y = x.log()  # CULPRIT
    return (y * 2).sum()


@case("log")
def log_of_negative() -> weft.Tensor:
    x = weft.tensor([1.0, -1.0])
    return x.log().sum()  # CULPRIT


@case("div")
def zero_by_zero() -> weft.Tensor:
    x = parameter(0, 1)
    y = x / x  # CULPRIT
    return y.exp().sum()


@case("div")
def division_by_a_sum_of_zero() -> weft.Tensor:
    weights = parameter(1, -1)
    total = weights.sum()
    normed = weights / total  # CULPRIT
    return normed.sum()


@case("exp")
def exp_overflows() -> weft.Tensor:
    x = parameter(1, 100)
    y = x.exp()  # CULPRIT
    return y.sum().log()


@case("exp")
def softmax_by_hand() -> weft.Tensor:
    logits = weft.tensor([1000.0, 0.0])
    powers = logits.exp()  # CULPRIT
    return powers / powers.sum()


@case("mul")
def half_overflows() -> weft.Tensor:
    x = weft.tensor([300.0, 2.0], dtype=weft.float16)
    return x * x  # CULPRIT


@case("sum")
def half_sum_overflows() -> weft.Tensor:
    x = weft.full((100,), 1000.0, dtype=weft.float16)
    return x.sum()  # CULPRIT


@case("cast")
def cast_to_half_overflows() -> weft.Tensor:
    x = weft.tensor([1e6])
    small = x.half()  # CULPRIT
    return small + 1


@case("sqrt")
def sqrt_of_negative() -> weft.Tensor:
    x = weft.tensor([4.0, -1e-9])
    deviation = x.sqrt()  # CULPRIT
    return deviation.mean()


@case("pow")
def power_of_negative() -> weft.Tensor:
    x = weft.tensor([-2.0])
    return x**0.5  # CULPRIT


@case("acos")
def arc_cosine_beyond_one() -> weft.Tensor:
    cosine = weft.tensor([1.0000002])
    return cosine.acos()  # CULPRIT


@case("reciprocal")
def reciprocal_of_zero() -> weft.Tensor:
    return weft.zeros(3).reciprocal().sum()  # CULPRIT


@case("rsqrt")
def norm_without_epsilon() -> weft.Tensor:
    x = weft.full((2, 3), 5.0)
    centred = x - x.mean(dim=1, keepdim=True)
    variance = (centred * centred).mean(dim=1, keepdim=True)
    return centred * variance.rsqrt()  # CULPRIT


@case("softmax")
def softmax_of_a_masked_row() -> weft.Tensor:
    scores = parameter(1, 2)
    masked = scores.masked_fill(weft.tensor([True, True]), -INF)
    weights = F.softmax(masked, dim=0)  # CULPRIT
    return weights.sum()


@case("sub")
def infinity_minus_infinity() -> weft.Tensor:
    limits = weft.tensor([INF, 1.0])
    return limits - limits  # CULPRIT


@case("mul")
def zero_times_infinity() -> weft.Tensor:
    mask = weft.tensor([0.0, 1.0])
    return mask * weft.full((2,), INF)  # CULPRIT


@case("var")  # what std is made of
def deviation_of_one() -> weft.Tensor:
    x = weft.tensor([3.0])
    return x.std()  # CULPRIT


@case("mean")
def mean_of_nothing() -> weft.Tensor:
    x = weft.zeros(0)
    return x.mean() + 1  # CULPRIT


@case("mm")
def matmul_overflows() -> weft.Tensor:
    a = weft.full((2, 2), 1e30)
    b = a @ a  # CULPRIT
    return b - b


@case("cumsum")
def cumulated_overflow() -> weft.Tensor:
    x = weft.full((4,), 2e38)
    return x.cumsum(0)  # CULPRIT


@case("div_")
def in_place_division() -> weft.Tensor:
    x = weft.tensor([1.0, 2.0])
    x.div_(0)  # CULPRIT
    return x.sum()


@case("log_")
def in_place_log_of_an_outer_tensor() -> weft.Tensor:
    return OUTER.clone().log_().sum()  # CULPRIT


OUTER = weft.tensor([1.0, -3.0])


@case("log")
def written_through_a_view() -> weft.Tensor:
    x = weft.ones(3)
    x[1] = 0.0
    y = x.log()  # CULPRIT
    return y.sum()


# ---- given -------------------------------------------------------------------------------------


@given("mul", "input")
def input_with_nan() -> weft.Tensor:
    x = weft.tensor([1.0, math.nan])
    return (x * 2).sum()  # CULPRIT


@given("linear", "input")
def parameter_with_nan() -> weft.Tensor:
    layer = nn.Linear(2, 2)
    with weft.no_grad():
        layer.weight.data = weft.tensor([[1.0, math.nan], [0.0, 1.0]])
    return layer(weft.ones(1, 2)).sum()  # CULPRIT


@given("mul", "number")
def number_with_nan() -> weft.Tensor:
    rate = math.nan
    return weft.ones(2) * rate  # CULPRIT


# ---- backward ----------------------------------------------------------------------------------


@case("sqrt", "backward")
def slope_of_sqrt_at_zero() -> weft.Tensor:
    x = parameter(0, 4)
    return x.sqrt().sum()  # CULPRIT


@case("sqrt", "backward")
def where_hides_the_value_but_not_the_slope() -> weft.Tensor:
    x = parameter(0, 4)
    root = x.sqrt()  # CULPRIT
    return weft.where(x > 0, root, weft.zeros(2)).sum()


@case("sqrt", "backward")
def distance_at_zero() -> weft.Tensor:
    a, b = parameter(1, 2), weft.tensor([1.0, 2.0])
    squares = ((a - b) ** 2).sum()
    return squares.sqrt()  # CULPRIT


@case("pow", "backward")
def slope_of_a_root_at_zero() -> weft.Tensor:
    x = parameter(0, 1)
    y = x**0.5  # CULPRIT
    return y.sum()


@case("acos", "backward")
def slope_of_arc_cosine_at_one() -> weft.Tensor:
    x = parameter(1, 0)
    angle = x.acos()  # CULPRIT
    return angle.sum()


@case("reciprocal", "backward")
def slope_of_a_reciprocal() -> weft.Tensor:
    x = parameter(1e-20)
    y = x.reciprocal()  # CULPRIT
    return y.sum()


@case("mul", "backward")
def gradient_overflows_in_half() -> weft.Tensor:
    x = weft.tensor([1e-3], dtype=weft.float16, requires_grad=True)
    y = x * 300  # CULPRIT
    return (y * 300).sum()


@case("exp")
def overflow_that_forward_hides() -> weft.Tensor:
    x = parameter(100)
    y = x.exp()  # CULPRIT
    return (1 / y).sum()


class Reciprocal(weft.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: weft.Tensor) -> weft.Tensor:
        ctx.save_for_backward(x)
        return x * 1

    @staticmethod
    def backward(ctx: Any, gradient: weft.Tensor) -> weft.Tensor:
        (x,) = ctx.saved_tensors
        return gradient / x


@case("Reciprocal", "backward")
def custom_backward() -> weft.Tensor:
    x = parameter(0, 1)
    y = Reciprocal.apply(x)  # CULPRIT
    return y.sum()


@case("log")
def custom_forward() -> weft.Tensor:
    class Log(weft.autograd.Function):
        @staticmethod
        def forward(_: Any, x: weft.Tensor) -> weft.Tensor:
            return x.log()  # CULPRIT

        @staticmethod
        def backward(_: Any, gradient: weft.Tensor) -> weft.Tensor:
            return gradient

    return Log.apply(parameter(0, 1)).sum()


@case("sqrt", "backward")
def own_call_of_backward() -> None:
    x = parameter(0, 1)
    loss = x.sqrt().sum()  # CULPRIT
    loss.backward()


@case("sqrt", "backward")
def second_step_of_a_loop() -> None:
    x = parameter(1, 1)
    for _ in range(3):
        x.grad = None
        loss = x.sqrt().sum()  # CULPRIT
        loss.backward()
        with weft.no_grad():
            x -= 2 * x.grad


# ---- modules -----------------------------------------------------------------------------------


class Normalise(nn.Module):
    def forward(self, x: weft.Tensor) -> weft.Tensor:
        return x / x.sum(dim=-1, keepdim=True)  # line of `inside_a_module`


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), Normalise())
        nn.init.constant_(self.encoder[0].weight, -1.0)
        nn.init.zeros_(self.encoder[0].bias)

    def forward(self, x: weft.Tensor) -> weft.Tensor:
        return self.encoder(x).sum()


@case("rsqrt", module="BatchNorm1d")
def batch_norm_of_equal_rows() -> weft.Tensor:
    layer = nn.BatchNorm1d(2, eps=0.0)
    return layer(weft.ones(4, 2)).sum()  # CULPRIT


@case("layer_norm", module="LayerNorm")
def layer_norm_without_epsilon() -> weft.Tensor:
    layer = nn.LayerNorm(3, eps=0.0)
    return layer(weft.ones(2, 3)).sum()  # CULPRIT


@case("linear", module="Linear")
def linear_overflows() -> weft.Tensor:
    layer = nn.Linear(2, 2)
    nn.init.constant_(layer.weight, 1e30)
    return layer(weft.full((1, 2), 1e30)).sum()  # CULPRIT


@case("log", module="NLLLoss")
def loss_of_a_certain_mistake() -> weft.Tensor:
    class Chance(nn.NLLLoss):
        def forward(self, input: weft.Tensor, target: weft.Tensor) -> weft.Tensor:
            return super().forward(input.log(), target)  # CULPRIT

    Chance.__name__ = "NLLLoss"
    chances = weft.tensor([[1.0, 0.0]], requires_grad=True)
    return Chance()(chances, weft.tensor([1]))


# ---- lazy, cells, maps -------------------------------------------------------------------------


@case("log")
def in_a_lazy_scope() -> weft.Tensor:
    with weft.lazy():
        x = parameter(1, 0)
        y = x.log()  # CULPRIT
        return (y + 1).sum()


@case("sqrt", "backward")
def backward_of_a_lazy_scope() -> weft.Tensor:
    with weft.lazy():
        x = parameter(1, 0)
        y = x.sqrt()  # CULPRIT
        return y.sum()


@case("div")
def inside_a_cell() -> weft.Tensor:
    @weft.cell
    def ratio(a: weft.Tensor, b: weft.Tensor) -> weft.Tensor:
        top = a.tanh()
        return top / b  # CULPRIT

    x = parameter(1, 2)
    ratio(x, weft.ones(2))
    return ratio(x, weft.zeros(2)).sum()


@case("rsqrt", "backward")
def gradient_inside_a_cell() -> weft.Tensor:
    @weft.cell
    def scale(a: weft.Tensor) -> weft.Tensor:
        return a * (a * a + 1e-30).rsqrt()  # CULPRIT

    x = parameter(0, 2)
    return scale(x).sum()


@case("log", example=2)
def one_example_of_a_map() -> weft.Tensor:
    w = parameter(1)

    def score(x: weft.Tensor) -> weft.Tensor:
        return (w * x).log().sum()  # CULPRIT

    return weft.stack(weft.map(score, [weft.tensor([float(i)]) for i in (3, 2, 0, 1)])).sum()


@case("sqrt", "backward", example=1)
def gradient_of_one_example_of_a_map() -> weft.Tensor:
    w = parameter(1)

    def score(x: weft.Tensor) -> weft.Tensor:
        y = w * x
        if x > 5:
            y = y * 2
        return y.sqrt().sum()  # CULPRIT

    return weft.stack(weft.map(score, [weft.tensor(float(i)) for i in (3, 0, 9)])).sum()


@case("exp", example=0)
def overflow_in_a_map_becomes_nan_outside() -> weft.Tensor:
    w = parameter(1)
    powers = weft.map(
        lambda x: (w * x).exp(),  # CULPRIT
        [weft.tensor(200.0), weft.tensor(1.0)],
    )
    return (powers[0] - powers[0]).sum()


@case("div")
def in_a_lazy_cell() -> weft.Tensor:
    @weft.cell
    def ratio(a: weft.Tensor, b: weft.Tensor) -> weft.Tensor:
        return (a.tanh() / b).sigmoid()  # CULPRIT

    x = parameter(0, 2)
    with weft.lazy():
        return ratio(x, weft.zeros(2)).sum()


@case("cross_entropy_classes")
def cross_entropy_of_a_masked_row() -> weft.Tensor:
    logits = parameter(1, 2).unsqueeze(0)
    masked = logits + weft.tensor([-INF, -INF])
    return F.cross_entropy(masked, weft.tensor([0]))  # CULPRIT


@case("sqrt", "backward")
def second_derivative() -> None:
    x = parameter(1, 0)
    y = (x * x * x).sqrt()  # CULPRIT
    (first,) = weft.autograd.grad(y.sum(), x, create_graph=True)
    first.sum().backward()


@case("exp", example=3)
def in_a_map_inside_a_map() -> weft.Tensor:
    w = parameter(1)

    def inner(x: weft.Tensor) -> weft.Tensor:
        return (w * x).exp()  # CULPRIT

    def outer(row: list[weft.Tensor]) -> weft.Tensor:
        return weft.stack(weft.map(inner, row)).sum()

    rows = [[weft.tensor(1.0)], [weft.tensor(float(i)) for i in (1, 2, 3, 100)]]
    return weft.stack(weft.map(outer, rows)).sum()


@case("sigmoid", "backward")
def gradient_of_a_hook() -> weft.Tensor:
    x = parameter(0, 1)
    y = x.sigmoid()  # CULPRIT
    y.register_hook(lambda gradient: gradient * 1e30 * 1e30)
    return y.sum()


@given("copy_", "number")
def nan_written_into_an_embedding() -> weft.Tensor:
    table = nn.Embedding(3, 2)
    table.weight.data[1] = math.nan  # CULPRIT
    return table(weft.tensor([1])).sum()
