"""Adam and AdamW against their formulas."""

from __future__ import annotations

import numpy as np
import pytest

import weft
from tests.optim.reference import compare
from weft import nn, optim


def formula(
    lr=0.1, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, amsgrad=False, maximize=False, own=False
):
    def update(state, value, gradient, step):
        slope = -gradient if maximize else gradient
        if own:
            value = value * (1 - lr * weight_decay)
        else:
            slope = slope + weight_decay * value
        average = betas[0] * state.get("average", 0) + (1 - betas[0]) * slope
        square = betas[1] * state.get("square", 0) + (1 - betas[1]) * slope**2
        state.update(average=average, square=square)
        if amsgrad:
            square = state["largest"] = np.maximum(state.get("largest", 0), square)
        average = average / (1 - betas[0] ** step)
        return value - lr * average / (np.sqrt(square / (1 - betas[1] ** step)) + eps)

    return update


SETTINGS = [
    {},
    {"betas": (0.5, 0.7), "eps": 1e-3},
    {"weight_decay": 0.1, "amsgrad": True},
    {"maximize": True, "weight_decay": 0.3},
]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("settings", SETTINGS)
def test_adam(settings, dtype):
    compare(lambda p: optim.Adam(p, lr=0.1, **settings), formula(**settings), dtype=dtype)


@pytest.mark.parametrize("settings", SETTINGS)
def test_adamw(settings):
    settings = {"weight_decay": 0.01, **settings}
    compare(lambda p: optim.AdamW(p, lr=0.1, **settings), formula(**settings, own=True))


def test_state_has_pytorchs_names():
    x = nn.Parameter(weft.ones(2))
    x.grad = weft.ones(2)
    optimizer = optim.Adam([x], amsgrad=True)
    optimizer.step()
    assert set(optimizer.state[x]) == {"step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"}
    assert optimizer.state[x]["step"] == 1
    optimizer.load_state_dict(
        {
            "state": {
                0: {"step": weft.tensor(5.0), "exp_avg": weft.ones(2), "exp_avg_sq": weft.ones(2)}
            },
            "param_groups": optimizer.state_dict()["param_groups"],
        }
    )
    assert optimizer.state[x]["step"] == 5
    optimizer.step()


def test_learning_rate_may_be_a_tensor():
    x = nn.Parameter(weft.ones(2))
    x.grad = weft.ones(2)
    optim.Adam([x], lr=weft.tensor(0.5)).step()
    assert x.tolist() == pytest.approx([0.5, 0.5])


def test_fits_a_line():
    x = weft.linspace(-1, 1, 20).reshape(-1, 1)
    model = nn.Linear(1, 1)
    optimizer = optim.Adam(model.parameters(), lr=0.1)
    for _ in range(200):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), 3 * x + 1)
        loss.backward()
        optimizer.step()
    assert model.weight.item() == pytest.approx(3, abs=1e-2)
    assert model.bias.item() == pytest.approx(1, abs=1e-2)
