"""RMSprop and Adagrad against their formulas."""

from __future__ import annotations

import numpy as np
import pytest

import weft
from tests.optim.reference import compare
from weft import optim


def rmsprop(lr=0.1, alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0, centered=False):
    def update(state, value, gradient, _step):
        slope = gradient + weight_decay * value
        square = state["square"] = alpha * state.get("square", 0) + (1 - alpha) * slope**2
        if centered:
            state["average"] = alpha * state.get("average", 0) + (1 - alpha) * slope
            square = square - state["average"] ** 2
        change = slope / (np.sqrt(square) + eps)
        if momentum:
            change = state["buffer"] = momentum * state.get("buffer", 0) + change
        return value - lr * change

    return update


@pytest.mark.parametrize("settings", [{}, {"momentum": 0.5, "centered": True, "weight_decay": 0.1}])
def test_rmsprop(settings):
    compare(lambda p: optim.RMSprop(p, lr=0.1, **settings), rmsprop(**settings))


def adagrad(lr=0.1, lr_decay=0.0, weight_decay=0.0, initial_accumulator_value=0.0, eps=1e-10):
    def update(state, value, gradient, step):
        slope = gradient + weight_decay * value
        state["sum"] = state.get("sum", initial_accumulator_value) + slope**2
        return value - lr / (1 + (step - 1) * lr_decay) * slope / (np.sqrt(state["sum"]) + eps)

    return update


@pytest.mark.parametrize(
    "settings", [{}, {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5}]
)
def test_adagrad(settings):
    compare(lambda p: optim.Adagrad(p, lr=0.1, **settings), adagrad(**settings))


def test_maximize():
    for kind in (optim.RMSprop, optim.Adagrad):
        compare(
            lambda p, kind=kind: kind(p, lr=0.1, maximize=True),
            lambda state, value, gradient, step, kind=kind: (
                rmsprop() if kind is optim.RMSprop else adagrad()
            )(state, value, -gradient, step),
        )


def test_adagrad_takes_parameters_later() -> None:
    first, second = (weft.ones(2, requires_grad=True) for _ in range(2))
    optimizer = weft.optim.Adagrad([first], initial_accumulator_value=1.0)
    optimizer.add_param_group({"params": [second]})
    second.grad = weft.ones(2)
    optimizer.step()
    assert optimizer.state[second]["sum"].tolist() == [2.0, 2.0]
