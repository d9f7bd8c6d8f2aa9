"""Results at the edges against PyTorch's: odd dtypes, empty lengths, repeated indices."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch

import weft

pytestmark = pytest.mark.filterwarnings("ignore")


def numbers(found: Any) -> np.ndarray:
    return np.asarray(found.detach().tolist(), dtype=np.float64)


def draw_interpolation(dice: random.Random) -> dict[str, Any]:
    settings: dict[str, Any] = {"mode": dice.choice(["nearest", "bilinear", "bicubic"])}
    if settings["mode"] != "nearest":
        settings["align_corners"] = dice.choice([None, True, False])
        settings["antialias"] = dice.choice([True, False])
    if dice.random() < 0.5:
        # Not to a width of 1, which PyTorch reads wrongly with antialias and of bytes.
        settings["size"] = (dice.randint(1, 20), dice.randint(2, 20))
    else:
        settings["scale_factor"] = dice.choice([2, 0.5, 1.1, 2.1, 3.3, (0.7, 1.3), (1, 2.0)])
        settings["recompute_scale_factor"] = dice.choice([None, True, False])
    return settings


@pytest.mark.parametrize("dtype", ["uint8", "float64"])
@pytest.mark.parametrize("seed", range(60))
def test_interpolate(dtype: str, seed: int) -> None:
    dice = random.Random(seed)
    settings = draw_interpolation(dice)
    shape = [dice.choice([1, 2]), dice.choice([1, 3, 5]), dice.randint(2, 12), dice.randint(4, 12)]
    x = np.random.default_rng(seed).integers(0, 256, shape).astype(dtype)
    ours, theirs = (
        numbers(t.nn.functional.interpolate(t.from_numpy(x), **settings)) for t in (weft, torch)
    )
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=0 if dtype == "uint8" else 1e-3)


def retained(t: Any) -> Any:
    x = t.ones(4, requires_grad=True)
    a = x * 1
    part = a[:2]
    a.retain_grad()
    part.retain_grad()
    part.mul_(2)
    (a * a * 3).sum().backward()
    return a.grad


def named(t: Any) -> Any:
    x = t.ones(2, requires_grad=True)
    h = x * 2
    (h * h).sum().backward(inputs=[h, x])
    return t.stack([h.grad, x.grad])


def filled(t: Any) -> Any:
    value = t.tensor(2.0, requires_grad=True)
    t.index_fill(t.ones(2, 3), 1, t.tensor([0, 2, 2]), value).sum().backward()
    return value.grad


def without_steps(t: Any) -> Any:
    x = t.zeros(2, 3, 3, requires_grad=True)
    ctc_loss, targets = t.nn.functional.ctc_loss, t.tensor([[1], [1], [1]])
    steps, lengths = t.tensor([0, 0, 1]), t.tensor([0, 1, 0])
    ctc_loss(x.log_softmax(2), targets, steps, lengths, zero_infinity=True).backward()
    losses = ctc_loss(x.log_softmax(2), targets, steps, lengths, reduction="none")
    return t.cat([x.grad.flatten(), losses])


def half_batch_norm(t: Any) -> Any:
    x = (t.arange(12.0) ** 2 / 7).reshape(4, 3).to(t.bfloat16)
    mean, variance = t.zeros(3), t.ones(3)
    found = t.nn.functional.batch_norm(x, mean, variance, t.arange(3.0), t.ones(3), training=True)
    return t.cat([found.float().flatten(), mean, variance])


def untracked(t: Any) -> Any:
    module = t.nn.BatchNorm1d(1)
    module.track_running_stats = False
    return t.cat([module(t.tensor([[3.0], [4.0]])).flatten(), module.running_mean])


CASES: dict[str, Any] = {
    "retain_grad, then written": retained,
    "backward into results": named,
    "index_fill's value": filled,
    "ctc_loss without steps": without_steps,
    "batch_norm of half precision": half_batch_norm,
    "batch_norm no longer tracked": untracked,
    "index_put_ as a function": lambda t: t.index_put_(
        t.zeros(3, 3), (t.tensor([0, 1, 1]),), t.tensor([1.0, 2.0, 3.0]), True
    ),
    "polygamma": lambda t: t.special.polygamma(2, t.tensor([-9.25, -30.7, -0.1], dtype=t.float64)),
    "circular padding that crops": lambda t: t.nn.functional.pad(
        t.arange(12.0).reshape(1, 3, 4), (1, -2, -1, 1), mode="circular"
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_edges(case: str) -> None:
    ours, theirs = numbers(CASES[case](weft)), numbers(CASES[case](torch))
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
