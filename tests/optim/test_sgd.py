"""SGD against its formula."""

from __future__ import annotations

import pytest

import weft
from tests.optim.reference import compare
from weft import nn, optim


def formula(lr=0.1, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, maximize=False):
    def update(state, value, gradient, _step):
        slope = (-gradient if maximize else gradient) + weight_decay * value
        if momentum:
            old = state.get("buffer")
            state["buffer"] = slope if old is None else momentum * old + (1 - dampening) * slope
            slope = slope + momentum * state["buffer"] if nesterov else state["buffer"]
        return value - lr * slope

    return update


SETTINGS = [
    {},
    {"weight_decay": 0.1, "maximize": True},
    {"momentum": 0.9},
    {"momentum": 0.9, "dampening": 0.5, "weight_decay": 0.1},
    {"momentum": 0.9, "nesterov": True},
]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("settings", SETTINGS)
def test_formula(settings, dtype):
    compare(lambda p: optim.SGD(p, lr=0.1, **settings), formula(**settings), dtype=dtype)


@pytest.mark.parametrize("dtype", [weft.float16, weft.bfloat16])
def test_half_precision(dtype):
    x = nn.Parameter(weft.ones(3, dtype=dtype))
    x.grad = weft.full((3,), 2.0, dtype=dtype)
    optim.SGD([x], lr=0.25).step()
    assert x.tolist() == [0.5] * 3


def test_gradients_of_any_layout():
    x = nn.Parameter(weft.zeros(2, 3))
    x.grad = weft.arange(6.0).reshape(3, 2).t()
    optim.SGD([x], lr=1.0).step()
    assert x.tolist() == [[0, -2, -4], [-1, -3, -5]]


def test_a_step_counts_as_a_write():
    x = nn.Parameter(weft.ones(2))
    y = (x * x).sum()
    x.grad = weft.ones(2)
    optim.SGD([x]).step()
    with pytest.raises(RuntimeError, match=r"in.?place"):
        y.backward()
