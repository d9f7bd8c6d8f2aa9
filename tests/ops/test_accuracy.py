"""How close float32 results are to the truth, in units of the last place, and at odd arguments."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import weft


def grid(low: float, high: float, count: int = 40_001) -> np.ndarray:
    """Return arguments over a range and, denser, near zero; the count leaves a tail for SIMD."""
    near = np.geomspace(1e-30, 1, count // 4)
    values = np.concatenate([np.linspace(low, high, count), near, -near])
    return values[(values >= low) & (values <= high)].astype(np.float32)


def units(got: np.ndarray, exact: np.ndarray) -> float:
    """Return the largest error in units of the last place of the exact value's float32."""
    spacing = np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)
    smallest = float(np.finfo(np.float32).tiny)
    return float((np.abs(got.astype(np.float64) - exact) / np.maximum(spacing, smallest)).max())


def gelu(x: np.ndarray) -> np.ndarray:
    return x * special.ndtr(x)


# name: (range, exact function of float64, allowed error)
FUNCTIONS = {
    "tanh": (-10.0, 10.0, np.tanh, 2),
    "exp": (-87.0, 88.0, np.exp, 2),
    "sigmoid": (-80.0, 80.0, special.expit, 2),
    "nn.functional.gelu": (-5.0, 30.0, gelu, 2),
    "log": (1e-30, 1e30, np.log, 2),
    "log2": (1e-30, 1e30, np.log2, 2),
    "log10": (1e-30, 1e30, np.log10, 2),
    "log1p": (-0.99, 1e6, np.log1p, 3),
    "expm1": (-20.0, 80.0, np.expm1, 3),
    "sin": (-100.0, 100.0, np.sin, 4),
    "cos": (-100.0, 100.0, np.cos, 4),
    "atan": (-100.0, 100.0, np.arctan, 4),
    "asin": (-1.0, 1.0, np.arcsin, 3),
    "acos": (-1.0, 1.0, np.arccos, 3),
    "erf": (-5.0, 5.0, special.erf, 4),
    "sqrt": (0.0, 1e30, np.sqrt, 1),
    "rsqrt": (1e-30, 1e30, lambda x: 1 / np.sqrt(x), 2),
    "nn.functional.softplus": (-80.0, 15.0, lambda x: np.logaddexp(0, x), 4),
    "nn.functional.silu": (-80.0, 80.0, lambda x: x * special.expit(x), 3),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_units_in_the_last_place(name: str) -> None:
    low, high, exact, allowed = FUNCTIONS[name]
    x = grid(low, high)
    function = weft
    for part in name.split("."):
        function = getattr(function, part)
    assert units(function(weft.tensor(x)).numpy(), exact(x.astype(np.float64))) <= allowed


ODD = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-45, 3e38, -3e38]
WITH_ODD = {
    "abs": np.abs,
    "acos": np.arccos,
    "asin": np.arcsin,
    "atan": np.arctan,
    "ceil": np.ceil,
    "cos": np.cos,
    "erf": special.erf,
    "exp": np.exp,
    "expm1": np.expm1,
    "floor": np.floor,
    "log": np.log,
    "log1p": np.log1p,
    "log10": np.log10,
    "log2": np.log2,
    "neg": np.negative,
    "reciprocal": np.reciprocal,
    "round": np.round,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": special.expit,
    "sign": np.sign,
    "sin": np.sin,
    "sqrt": np.sqrt,
    "square": np.square,
    "tanh": np.tanh,
    "trunc": np.trunc,
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", WITH_ODD)
def test_odd_arguments(name: str, dtype: type) -> None:
    """Infinities, NaN, signed zeros and the ends of the range, in every lane of a vector."""
    for shift in range(4):
        x = np.array([0.5] * shift + ODD * 2, dtype)
        with np.errstate(all="ignore"):
            # Float32 is the reference's own precision here: overflow must come where it is due.
            expected = WITH_ODD[name](x)
        # PyTorch's sign of NaN is 0.
        expected = np.where(np.isnan(x), 0, expected) if name == "sign" else expected
        np.testing.assert_allclose(
            getattr(weft, name)(weft.tensor(x)).numpy(), expected, rtol=1e-5, atol=1e-44
        )


PAIRS = [(a, b) for a in ODD for b in ODD]


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("add", np.add),
        ("mul", np.multiply),
        ("div", np.divide),
        ("pow", np.power),
        ("maximum", np.maximum),
        ("minimum", np.minimum),
        ("fmod", np.fmod),
        ("atan2", np.arctan2),
        ("eq", np.equal),
        ("lt", np.less),
        ("ge", np.greater_equal),
    ],
)
def test_odd_pairs(name: str, reference) -> None:
    """NaN spreads, infinities behave, as IEEE 754 and NumPy have it."""
    x, y = (np.array(side, np.float64) for side in zip(*PAIRS, strict=True))
    with np.errstate(all="ignore"):
        expected = reference(x, y)
    result = getattr(weft, name)(weft.tensor(x), weft.tensor(y)).numpy()
    np.testing.assert_allclose(result, expected, rtol=1e-12)


def test_nan_in_reductions() -> None:
    x = weft.tensor([[1.0, float("nan"), 3.0], [1.0, 2.0, 3.0]])
    for name in ("max", "min", "amax", "amin", "sum", "mean", "prod"):
        assert np.isnan(getattr(weft, name)(x).item()), name
    values, indices = x.max(dim=1)
    assert np.isnan(values[0].item())
    assert indices.tolist() == [1, 2]
    assert x.argmax(dim=1).tolist() == [1, 2]
    assert x.sort(dim=1).indices[0].tolist() == [0, 2, 1]


def test_integer_extremes() -> None:
    for name in ("int8", "int16", "int32", "int64"):
        limits = np.iinfo(name)
        x = weft.tensor(np.array([limits.min, limits.max], name))
        assert (x + 1).tolist() == [limits.min + 1, limits.min]
        assert (-x).tolist() == [limits.min, -limits.max]
        assert x.abs().tolist() == [limits.min, limits.max]
        assert (x // -1).tolist()[1] == -limits.max
    large = weft.tensor([2**62, 2**53 + 1])
    assert large.tolist() == [2**62, 2**53 + 1]
    assert (large * 1).tolist() == [2**62, 2**53 + 1]
    assert large.max().item() == 2**62


def test_sums_do_not_drift() -> None:
    """A long float32 sum is added in pieces, so its error stays small."""
    x = np.full(1_000_003, 0.1, np.float32)
    exact = x.astype(np.float64).sum()
    assert abs(weft.tensor(x).sum().item() - exact) / exact < 1e-6
    assert abs(weft.tensor(x).mean().item() - exact / x.size) / 0.1 < 1e-6


def test_variance_of_large_numbers() -> None:
    x = np.array([1e4 + 1, 1e4 + 2, 1e4 + 3, 1e4 + 4], np.float32)
    assert abs(weft.tensor(x).var().item() - 5 / 3) < 1e-3


def test_softmax_of_extremes() -> None:
    x = weft.tensor([[1e4, 0.0, -1e4], [-float("inf"), 0.0, 0.0]])
    assert x.softmax(1).tolist() == [[1, 0, 0], [0, 0.5, 0.5]]
    assert x.log_softmax(1)[0].tolist() == [0, -1e4, -2e4]
    assert weft.tensor([1e4, 1e4]).logsumexp(0).item() == pytest.approx(1e4 + np.log(2))
