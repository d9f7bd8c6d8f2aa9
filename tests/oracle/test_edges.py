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
