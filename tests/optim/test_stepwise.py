"""Adadelta, Rprop and ASGD against their formulas."""

from __future__ import annotations

import numpy as np
import pytest

import weft
from tests.optim.reference import compare
from weft import optim


def adadelta(state, value, gradient, _step):
    state["v"] = 0.9 * state.get("v", 0) + 0.1 * gradient**2
    change = np.sqrt(state.get("d", 0) + 1e-6) / np.sqrt(state["v"] + 1e-6) * gradient
    state["d"] = 0.9 * state.get("d", 0) + 0.1 * change**2
    return value - 0.1 * change


def rprop(state, value, gradient, _step):
    agreement = gradient * state.get("last", 0)
    factor = np.where(agreement < 0, 0.5, np.where(agreement > 0, 1.2, 1.0))
    state["size"] = np.clip(state.get("size", 0.1) * factor, 1e-6, 50)
    state["last"] = np.where(agreement < 0, 0, gradient)
    return value - np.sign(state["last"]) * state["size"]


def asgd(state, value, gradient, step):
    eta = state.get("eta", 0.1)
    state["eta"] = 0.1 / (1 + 1e-4 * 0.1 * step) ** 0.75
    return value * (1 - 1e-4 * eta) - eta * gradient


@pytest.mark.parametrize(
    ("name", "formula"), [("Adadelta", adadelta), ("Rprop", rprop), ("ASGD", asgd)]
)
def test_steps(name, formula):
    compare(lambda params: getattr(optim, name)(params, lr=0.1), formula, steps=7)


def test_asgd_averages_after_t0():
    weight = weft.nn.Parameter(weft.ones(1))
    optimizer = optim.ASGD([weight], lr=0.5, lambd=0.0, t0=1.0)
    seen = []
    for _ in range(4):
        weight.grad = weft.ones(1)
        optimizer.step()
        seen.append(weight.item())
    # The average begins again with each step until one after t0.
    assert optimizer.state[weight]["ax"].item() == pytest.approx(sum(seen[2:]) / 2)


def test_settings_are_checked():
    weight = weft.nn.Parameter(weft.ones(2))
    with pytest.raises(ValueError, match="rho must be between 0 and 1"):
        optim.Adadelta([weight], rho=2.0)
    with pytest.raises(ValueError, match="both sides of 1"):
        optim.Rprop([weight], etas=(1.5, 1.2))
