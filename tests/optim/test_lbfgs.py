"""LBFGS finds minima, and says what it needs."""

from __future__ import annotations

import math

import pytest

import weft
from weft import optim
from weft.optim.line_search import Point, strong_wolfe


def rosenbrock(point):
    x, y = point
    return (1 - x) ** 2 + 100 * (y - x * x) ** 2


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_finds_a_minimum(search):
    weight = weft.nn.Parameter(weft.tensor([-1.2, 1.0], dtype=weft.float64))
    optimizer = optim.LBFGS([weight], lr=1.0 if search else 0.2, line_search_fn=search)

    def closure():
        optimizer.zero_grad()
        loss = rosenbrock(weight)
        loss.backward()
        return loss

    for _ in range(40):
        optimizer.step(closure)
    assert weight.tolist() == pytest.approx([1.0, 1.0], abs=1e-3)


def test_counts_its_work():
    weight = weft.nn.Parameter(weft.tensor([3.0]))
    optimizer = optim.LBFGS([weight], max_iter=3, lr=0.1)
    calls = []

    def closure():
        calls.append(1)
        optimizer.zero_grad()
        loss = (weight**4).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 81.0
    state = optimizer.state[weight]
    assert state["func_evals"] == len(calls) == 3
    assert state["n_iter"] == 2  # max_eval is 3


def test_says_what_it_needs():
    weight, other = weft.nn.Parameter(weft.ones(1)), weft.nn.Parameter(weft.ones(1))
    with pytest.raises(TypeError, match="a closure is needed"):
        optim.LBFGS([weight]).step()
    with pytest.raises(ValueError, match="one group"):
        optim.LBFGS([{"params": [weight]}, {"params": [other]}])
    with pytest.raises(ValueError, match="strong_wolfe"):
        optim.LBFGS([weight], line_search_fn="armijo")


@pytest.mark.parametrize("first", [0.01, 1.0, 40.0])
def test_line_search_finds_a_flat_place(first):
    def at(distance):
        loss = (distance - 3) ** 2 + math.cos(distance)
        return Point(distance, loss, weft.zeros(1), 2 * (distance - 3) - math.sin(distance))

    start = at(0.0)
    point, looks = strong_wolfe(at, start, first, 1.0)
    assert point.loss < start.loss
    assert abs(point.slope) <= 0.9 * abs(start.slope)
    assert looks < 26


def test_line_search_goes_ever_further_down_a_straight_line():
    seen = []

    def at(distance):
        seen.append(distance)
        return Point(distance, -2 * distance, weft.zeros(1), -2.0)

    point, looks = strong_wolfe(at, at(0.0), 0.5, 1.0, most=3)
    assert seen == [0.0, 0.5, 5.0, 50.0, 500.0]
    assert (point.distance, looks) == (500.0, 4)


@pytest.mark.parametrize("rounds", [1, 3])
def test_a_step_has_so_many_rounds(rounds):
    point = weft.tensor([-1.2, 1.0], requires_grad=True)
    optimizer = optim.LBFGS([point], lr=1e-3, max_iter=rounds, max_eval=100)

    def closure():
        optimizer.zero_grad()
        loss = rosenbrock(point)
        loss.backward()
        return loss

    optimizer.step(closure)
    assert optimizer.state[point]["n_iter"] == rounds
