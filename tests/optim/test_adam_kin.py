"""Adamax, NAdam and RAdam against their formulas."""

from __future__ import annotations

import numpy as np
import pytest

import weft
from tests.optim.reference import compare
from weft import optim

BETA1, BETA2, EPS = 0.9, 0.999, 1e-8


def averages(state, slope):
    state["m"] = BETA1 * state.get("m", 0) + (1 - BETA1) * slope
    state["v"] = BETA2 * state.get("v", 0) + (1 - BETA2) * slope**2
    return state["m"], state["v"]


def adamax(state, value, gradient, step):
    average, _ = averages(state, gradient)
    state["u"] = np.maximum(BETA2 * state.get("u", 0), np.abs(gradient) + EPS)
    return value - 0.1 / (1 - BETA1**step) * average / state["u"]


def nadam(state, value, gradient, step):
    average, square = averages(state, gradient)
    now, soon = (BETA1 * (1 - 0.5 * 0.96 ** (count * 4e-3)) for count in (step, step + 1))
    product = state["product"] = state.get("product", 1) * now
    size = np.sqrt(square / (1 - BETA2**step)) + EPS
    change = (1 - now) / (1 - product) * gradient + soon / (1 - product * soon) * average
    return value - 0.1 * change / size


def radam(state, value, gradient, step):
    average, square = averages(state, gradient)
    change = average / (1 - BETA1**step)
    longest = 2 / (1 - BETA2) - 1
    length = longest - 2 * step * BETA2**step / (1 - BETA2**step)
    if length > 5:
        factor = (length - 4) * (length - 2) * longest
        factor /= (longest - 4) * (longest - 2) * length
        change *= np.sqrt(factor) * np.sqrt(1 - BETA2**step) / (np.sqrt(square) + EPS)
    return value - 0.1 * change


FORMULAS = {"Adamax": adamax, "NAdam": nadam, "RAdam": radam}


@pytest.mark.parametrize(("name", "formula"), FORMULAS.items())
def test_steps(name, formula):
    compare(lambda params: getattr(optim, name)(params, lr=0.1), formula, steps=9)


@pytest.mark.parametrize("name", ["Adamax", "NAdam", "RAdam"])
def test_settings_are_checked(name):
    weight = weft.nn.Parameter(weft.ones(2))
    with pytest.raises(ValueError, match=r"betas\[1\] must be in"):
        getattr(optim, name)([weight], betas=(0.9, 1.0))
    with pytest.raises(ValueError, match="lr must not be negative"):
        getattr(optim, name)([weight], lr=-1.0)
