"""Rows of special functions against SciPy."""

from __future__ import annotations

import numpy as np
from scipy import special

from tests.ops.build import unary
from tests.ops.row import Fixed, Row, Sample, bad

S = "special."
COARSE = "PyTorch's float64 values are off by up to 1e-6"
WORDS = bad("x", error=TypeError, says=("Tensor",))


def _function(name, reference, low=-6.0, high=6.0, gap=0.0, **kwargs):
    kwargs.setdefault("alias", f"special_{name}")
    return Row(S + name, unary(low, high, gap), reference, errors=(WORDS,), tolerance=4, **kwargs)


def _shares(m):
    """Return shapes and points of gamma distributions, below and above their means."""
    return [
        Sample(Fixed(m(3, 4, low=0.1, high=5)), m(3, 4, low=0.1, high=9)),
        Sample(Fixed(m(4, low=20, high=200)), m(3, 4, low=20, high=200)),
        Sample(Fixed(m(0, 2)), m(0, 2)),
    ]


ROWS = [
    _function("i0", special.i0, alias="i0"),
    Row("i0", unary(-6, 6), special.i0, method=True, in_place=True, tolerance=4),
    _function("i0e", special.i0e, gap=0.1),
    _function("i1", special.i1, gap=0.1),
    _function("i1e", special.i1e, gap=0.1),
    _function("modified_bessel_i0", special.i0, alias="i0"),
    _function("modified_bessel_i1", special.i1, gap=0.1, alias="special_i1"),
    _function("modified_bessel_k0", special.k0, low=0.1),
    _function("modified_bessel_k1", special.k1, low=0.1),
    _function("scaled_modified_bessel_k0", special.k0e, low=0.1),
    _function("scaled_modified_bessel_k1", special.k1e, low=0.1),
    _function("bessel_j0", special.j0, low=-30, high=30, oracle=COARSE),
    _function("bessel_j1", special.j1, low=-30, high=30, gap=0.1, oracle=COARSE),
    _function("bessel_y0", special.y0, low=0.1, high=30, oracle=COARSE),
    _function("bessel_y1", special.y1, low=0.1, high=30, oracle=COARSE),
    Row(
        S + "spherical_bessel_j0",
        unary(0.5, 20),
        lambda x: np.sinc(x / np.pi),
        ("float64", "float32"),
        tolerance=4,
    ),
    _function("airy_ai", lambda x: special.airy(x)[0], low=-20, high=10, order=0),
    _function("erfcx", special.erfcx, low=-3, high=60),
    _function("log_ndtr", special.log_ndtr, low=-40, high=5),
    _function("ndtri", special.ndtri, low=0.01, high=0.99, dtypes=("float64", "float32")),
    Row(
        S + "zeta",
        lambda m: [
            Sample(Fixed(m(3, 4, low=1.5, high=9)), m(3, 4, low=0.5, high=9)),
            Sample(2, m(5, low=0.5, high=9)),
            Sample(Fixed(m(2, 1, low=1.5, high=9)), m(3, low=0.5, high=9)),
        ],
        special.zeta,
        tolerance=4,
    ),
    *(
        Row(
            name,
            _shares,
            reference,
            ("float64", "float32"),
            alias=alias,
            method=method,
            in_place=method,
            tolerance=4,
        )
        for name, reference, alias, method in (
            (S + "gammainc", special.gammainc, "igamma", False),
            (S + "gammaincc", special.gammaincc, "igammac", False),
            ("igamma", special.gammainc, None, True),
            ("igammac", special.gammaincc, None, True),
        )
    ),
]
