"""Special functions over their whole range, against SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

import weft

RANDOM = np.random.default_rng(0)
POSITIVE = np.concatenate([10 ** RANDOM.uniform(-10, 3, 2000), RANDOM.uniform(0, 60, 2000)])
REAL = np.concatenate([POSITIVE, -POSITIVE])
SHARES = np.concatenate([RANDOM.uniform(0, 1, 2000), 10 ** RANDOM.uniform(-300, 0, 2000)])


@pytest.mark.parametrize(
    ("name", "reference", "points", "relative", "absolute"),
    [
        ("bessel_j0", special.j0, REAL, 0, 3e-15),
        ("bessel_j1", special.j1, REAL, 0, 3e-15),
        ("bessel_y0", special.y0, POSITIVE, 2e-14, 1e-14),
        ("bessel_y1", special.y1, POSITIVE, 2e-14, 1e-14),
        ("i0e", special.i0e, REAL, 1e-14, 0),
        ("i1e", special.i1e, REAL, 1e-14, 0),
        ("scaled_modified_bessel_k0", special.k0e, POSITIVE, 3e-14, 0),
        ("scaled_modified_bessel_k1", special.k1e, POSITIVE, 3e-14, 0),
        ("airy_ai", lambda x: special.airy(x)[0], RANDOM.uniform(-40, 30, 4000), 1e-13, 1e-13),
        ("erfcx", special.erfcx, RANDOM.uniform(-26, 1e4, 4000), 1e-13, 0),
        ("log_ndtr", special.log_ndtr, RANDOM.uniform(-1e3, 10, 4000), 1e-14, 0),
        ("ndtri", special.ndtri, SHARES, 3e-15, 0),
        ("erfinv", special.erfinv, np.concatenate([SHARES, -SHARES]), 3e-15, 0),
    ],
)
def test_whole_range(name, reference, points, relative, absolute):
    found = getattr(weft.special, name)(weft.tensor(points))
    np.testing.assert_allclose(found, reference(points), rtol=relative, atol=absolute)


def test_incomplete_gamma_over_its_whole_range():
    shape = 10 ** RANDOM.uniform(-2, 4, 4000)
    x = shape * 10 ** RANDOM.uniform(-1, 1, 4000)
    below = weft.special.gammainc(weft.tensor(shape), weft.tensor(x))
    above = weft.special.gammaincc(weft.tensor(shape), weft.tensor(x))
    np.testing.assert_allclose(below, special.gammainc(shape, x), rtol=1e-10, atol=3e-14)
    np.testing.assert_allclose(above, special.gammaincc(shape, x), rtol=1e-10, atol=3e-14)


ODD = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), -1.0, 1e-300, 1e300]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bessel_j0", [1, 1, 0, 0, np.nan, special.j0(1), 1]),
        ("bessel_y0", [-np.inf, -np.inf, 0, np.nan, np.nan, np.nan, special.y0(1e-300)]),
        ("i0e", [1, 1, 0, 0, np.nan, special.i0e(1), 1]),
        ("modified_bessel_k1", [np.inf, np.inf, 0, np.nan, np.nan, np.nan, 1e300]),
        ("airy_ai", [special.airy(0)[0]] * 2 + [0, 0, np.nan, special.airy(-1)[0]]),
        ("erfcx", [1, 1, 0, np.inf, np.nan, special.erfcx(-1), 1]),
        ("log_ndtr", [-np.log(2)] * 2 + [0, -np.inf, np.nan, special.log_ndtr(-1)]),
        ("ndtri", [-np.inf, -np.inf, np.nan, np.nan, np.nan, np.nan]),
    ],
)
def test_odd_arguments(name, expected):
    found = getattr(weft.special, name)(weft.tensor(ODD, dtype=weft.float64))
    np.testing.assert_allclose(found[: len(expected)], expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["gammainc", "gammaincc", "zeta"])
def test_no_gradient_for_the_first_argument(name):
    a = weft.tensor([2.0], requires_grad=True)
    with pytest.raises(NotImplementedError, match="detach input"):
        getattr(weft.special, name)(a, weft.tensor([1.0]))


def test_odd_incomplete_gammas():
    a = weft.tensor([0.0, 1.0, 1.0, -1.0, float("inf"), 0.0, float("nan")])
    x = weft.tensor([1.0, 0.0, float("inf"), 1.0, 1.0, 0.0, 1.0])
    nan = float("nan")
    np.testing.assert_array_equal(weft.igamma(a, x), [1, 0, 1, nan, 0, nan, nan])
    np.testing.assert_array_equal(weft.igammac(a, x), [0, 1, 0, nan, 1, nan, nan])


def test_a_degree_without_end_is_refused() -> None:
    with pytest.raises(ValueError, match="n must be at most 100000"):
        weft.special.legendre_polynomial_p(weft.ones(2), 2**60)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_polygamma_below_zero(n) -> None:
    x = np.array([-0.25, -3.1, -8.5, -9.5, -9.999, -10.5, -57.75, -1000.3])
    # One term after the other, from above zero down.
    expected = special.polygamma(n, x - np.floor(x))
    for i, lowest in enumerate(x):
        for place in np.arange(lowest, 0):
            expected[i] -= (-1) ** n * math.factorial(n) * place ** -(n + 1)
    found = weft.special.polygamma(n, weft.tensor(x))
    # Halfway between poles both sides cancel, and the terms leave their roundings.
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9, atol=1e-9)
    zeta = weft.special.zeta(weft.tensor(n + 1.0, dtype=weft.float64), weft.tensor(x))
    scale = (-1) ** (n + 1) * math.factorial(n)
    np.testing.assert_allclose(scale * zeta.numpy(), expected, rtol=1e-9, atol=1e-9)


def test_gradient_of_digamma_below_zero() -> None:
    x = weft.tensor([-9.5, -0.5], dtype=weft.float64, requires_grad=True)
    weft.digamma(x).sum().backward()
    assert x.grad is not None
    reflected = math.pi**2 - special.polygamma(1, [10.5, 1.5])
    assert x.grad.tolist() == pytest.approx(reflected, rel=1e-12)


def test_digamma_next_to_a_pole() -> None:
    x = np.array([-1e-8, 1e-8, -1 - 2.0**-30, -1 + 2.0**-30])
    # -1 / distance, and what is left there: minus Euler's constant, or that and 1.
    rest = np.array([0, 0, 1, 1]) - 0.5772156649015329
    expected = -1 / (x + np.array([0, 0, 1, 1])) + rest
    found = weft.digamma(weft.tensor(x))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-14)


def test_polygamma_far_away() -> None:
    infinite = weft.tensor([math.inf], dtype=weft.float64)
    assert weft.special.polygamma(2, infinite).item() == 0
    assert math.isnan(weft.special.zeta(weft.tensor(2.5), weft.tensor(-0.5)).item())
