"""Elementary functions in float32: near the true values, and right at the edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft

EDGES = np.float32(
    [
        *(0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, 2.5, -7, 1e10, -1e30, 1e38, 1e-45, -1e-45),
        *(16777217, np.inf, -np.inf, np.nan),
    ]
)


def distance(found: np.ndarray, exact: np.ndarray) -> float:
    """Return by how many units in the last place results are off, at most."""
    rounded = exact.astype(np.float32)
    plain = np.isfinite(rounded) & (np.abs(rounded) >= np.finfo(np.float32).tiny)
    off = np.abs(found[plain].astype(np.float64) - exact[plain])
    return float(np.max(off / np.spacing(np.abs(rounded[plain])).astype(np.float64)))


def agree(found: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Tell where results are the same: zeros and infinities with their signs, NaN, numbers."""
    close = np.isfinite(wanted) & (np.abs(found - wanted) <= 4e-7 * np.abs(wanted))
    equal = (found == wanted) & (np.signbit(found) == np.signbit(wanted))
    return equal | (np.isnan(found) & np.isnan(wanted)) | (close & (wanted != 0))


@pytest.mark.parametrize(
    ("name", "low", "high", "most"),
    [
        ("exp2", -126, 128, 1.5),
        ("sinh", -1e-3, 1e-3, 2),
        ("sinh", -12, 12, 2.5),
        ("sinh", -89.4, 89.4, 2),
        ("cosh", -12, 12, 2),
        ("cosh", -89.4, 89.4, 2),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_of_one_number(name: str, low: float, high: float, most: float) -> None:
    reference: Callable[..., Any] = getattr(np, name)
    function: Callable[..., weft.Tensor] = getattr(weft, name)
    x = np.random.default_rng(0).uniform(low, high, 40_001).astype(np.float32)
    assert distance(function(weft.tensor(x)).numpy(), reference(x.astype(np.float64))) <= most
    wanted = reference(EDGES.astype(np.float64)).astype(np.float32)
    found = function(weft.tensor(EDGES)).numpy()
    assert agree(found, wanted).all(), (found, wanted)


@pytest.mark.parametrize(
    ("bases", "exponents"),
    [
        ((1e-3, 10), (-5, 5)),
        ((1e-38, 1e38), (-1, 1)),
        ((0.99, 1.01), (-8000, 8000)),
        ((1e-44, 1e-38), (-0.9, 0.9)),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_powers(bases: tuple[float, float], exponents: tuple[float, float]) -> None:
    random = np.random.default_rng(0)
    x = np.exp(random.uniform(*np.log(bases), 40_001)).astype(np.float32)
    y = random.uniform(*exponents, 40_001).astype(np.float32)
    found = weft.pow(weft.tensor(x), weft.tensor(y)).numpy()
    assert distance(found, np.power(x.astype(np.float64), y.astype(np.float64))) <= 0.51


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_powers_at_the_edges() -> None:
    x, y = (grid.ravel() for grid in np.meshgrid(EDGES, EDGES))
    wanted = np.power(x, y)
    found = weft.pow(weft.tensor(x), weft.tensor(y)).numpy()
    wrong = ~agree(found, wanted)
    assert not wrong.any(), list(zip(x[wrong], y[wrong], found[wrong], wanted[wrong], strict=True))


@pytest.mark.parametrize("exponent", [-1.0, -0.5, 0.5, 1.0, 2.0, 3.0, 1.7])
def test_one_exponent_for_all(exponent: float) -> None:
    x = np.random.default_rng(0).uniform(0.1, 9, 1001).astype(np.float32)
    found = (weft.tensor(x) ** exponent).numpy()
    assert distance(found, np.power(x.astype(np.float64), float(np.float32(exponent)))) <= 2
