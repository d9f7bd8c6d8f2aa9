"""Every optimizer against PyTorch's: the same weights, 20 steps, equal losses and parameters."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest
import torch
from torch.optim.lbfgs import _strong_wolfe

import weft
from weft.optim.line_search import Point, strong_wolfe

SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "maximize": True}),
    ("Adam", {"lr": 0.05}),
    ("Adam", {"lr": 0.05, "amsgrad": True, "weight_decay": 0.01}),
    ("AdamW", {"lr": 0.05, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.02}),
    ("RMSprop", {"lr": 0.02, "momentum": 0.5, "centered": True, "weight_decay": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.01}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.8, "weight_decay": 0.1, "maximize": True}),
    ("Adamax", {"lr": 0.05}),
    ("Adamax", {"lr": 0.05, "weight_decay": 0.1, "maximize": True}),
    ("NAdam", {"lr": 0.05}),
    ("NAdam", {"lr": 0.05, "weight_decay": 0.1, "momentum_decay": 0.1}),
    ("NAdam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.05}),
    ("RAdam", {"lr": 0.05, "betas": (0.8, 0.9), "weight_decay": 0.1}),
    ("RAdam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("Rprop", {"lr": 0.01}),
    ("Rprop", {"lr": 0.01, "etas": (0.4, 1.5), "step_sizes": (0.001, 0.02), "maximize": True}),
    ("ASGD", {"lr": 0.05}),
    ("ASGD", {"lr": 0.05, "t0": 5.0, "lambd": 0.01, "weight_decay": 0.1}),
    ("LBFGS", {"max_iter": 4, "lr": 0.5}),
    ("LBFGS", {"max_iter": 6, "history_size": 3}),
    ("LBFGS", {"max_iter": 5, "line_search_fn": "strong_wolfe"}),
    ("LBFGS", {"lr": 0.1, "max_iter": 8, "line_search_fn": "strong_wolfe"}),
]


def train(module: Any, name: str, settings: dict[str, Any], steps: int) -> Any:
    """Fit a small network, with a parameter that is used in every second step only."""
    random = np.random.default_rng(0)
    tensor = module.tensor
    x = tensor(random.standard_normal((16, 3)))
    y = tensor(np.sin(random.standard_normal((16, 1))))
    shapes = [(3, 5), (5,), (5, 1), (1,)]
    params = [tensor(random.standard_normal(shape) * 0.5).requires_grad_() for shape in shapes]
    optimizer = getattr(module.optim, name)(params, **settings)
    losses = []
    for step in range(steps):

        def closure(step: int = step) -> Any:
            optimizer.zero_grad()
            hidden = module.tanh(x @ params[0] + params[1])
            result = hidden @ params[2]
            if name == "LBFGS" or step % 2 == 0:
                result = result + params[3]
            loss = ((result - y) ** 2).mean()
            loss.backward()
            return loss

        losses.append(optimizer.step(closure).item())
    return losses, [param.detach().numpy() for param in params]


@pytest.mark.parametrize(("name", "settings"), SETTINGS, ids=str)
def test_twenty_steps(name: str, settings: dict[str, Any]) -> None:
    # One step of LBFGS is several; it doubles a rounding error in each of them.
    steps = 5 if name == "LBFGS" else 20
    expected_losses, expected = train(torch, name, settings, steps)
    losses, params = train(weft, name, settings, steps)
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-7, atol=1e-10)
    for got, wanted in zip(params, expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", sorted({name for name, _ in SETTINGS}))
def test_signatures_have_pytorchs_names(name: str) -> None:
    ours = inspect.signature(getattr(weft.optim, name)).parameters
    theirs = inspect.signature(getattr(torch.optim, name)).parameters
    assert set(theirs) - set(ours) <= {"capturable", "differentiable"}
    for each in set(ours) & set(theirs) - {"params"}:
        wanted = theirs[each].default
        assert ours[each].default == wanted, each


# Losses along a line, and their slopes.
LINES: dict[str, Any] = {
    "valley": lambda x: ((x - 3) ** 2 + math.cos(x), 2 * (x - 3) - math.sin(x)),
    "steep": lambda x: (x**4 - 20 * x, 4 * x**3 - 20),
    "ripples": lambda x: (math.cos(3 * x + 0.5) + x * x / 20, -3 * math.sin(3 * x + 0.5) + x / 10),
    "ever less": lambda x: (-math.sqrt(1 + x), -0.5 / math.sqrt(1 + x)),
    "straight": lambda x: (-x, -1.0),
    "kink": lambda x: (abs(x - 0.3), math.copysign(1.0, x - 0.3)),
}


@pytest.mark.parametrize("tolerance", [1e-9, 0.3])
@pytest.mark.parametrize("name", LINES)
def test_line_searches_look_at_the_same_places(name: str, tolerance: float) -> None:
    for first in (1e-3, 0.1, 1.0, 4.0, 30.0):
        for most in (1, 2, 3, 4, 25):
            ours: list[float] = []
            theirs: list[float] = []

            def at(distance: float, seen: list[float] = ours) -> Point:
                seen.append(distance)
                loss, slope = LINES[name](distance)
                return Point(distance, loss, weft.tensor([slope]), slope)

            def look(_: Any, distance: Any, __: Any, seen: list[float] = theirs) -> Any:
                seen.append(float(distance))
                loss, slope = LINES[name](float(distance))
                return loss, torch.tensor([slope], dtype=torch.float64)

            start = at(0.0)
            point, looks = strong_wolfe(at, start, first, 1.0, tolerance=tolerance, most=most)
            loss, gradient = look(None, 0.0, None)
            direction = torch.ones(1, dtype=torch.float64)
            _, _, distance, evaluated = _strong_wolfe(
                look, [], first, direction, loss, gradient, gradient[0],
                tolerance_change=tolerance, max_ls=most,
            )  # fmt: skip
            assert ours == pytest.approx(theirs, rel=1e-9)
            assert (point.distance, looks) == (pytest.approx(float(distance)), evaluated)
