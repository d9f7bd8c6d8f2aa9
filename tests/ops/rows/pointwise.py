"""Rows of unary maths: signs, rounding, exponents, trigonometry and special functions."""

from __future__ import annotations

import numpy as np
from scipy import special

from tests.ops.build import join, unary
from tests.ops.row import ALL, FLOAT, NUMBER, Row, Sample, Samples, bad

NOT_A_TENSOR = (bad("x", error=TypeError, says=("input",)),)


def _rounding(make):
    halves = make.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]) if make.dtype in FLOAT else make(6)
    return [Sample(halves).smooth(0)]


def _round(x, decimals=0):
    return x if x.dtype.kind in "iu" else np.round(x, decimals)


def _odd_numbers(make):
    return [Sample(make.array([np.nan, np.inf, -np.inf, 1, -2])).smooth(0)]


def _nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    largest = np.finfo(np.float32).max
    return np.nan_to_num(
        x,
        nan=nan,
        posinf=largest if posinf is None else posinf,
        neginf=-largest if neginf is None else neginf,
    )


def _maths(name, reference, samples: Samples | None = None, dtypes=ALL, tolerance=1.0) -> Row:
    """A smooth function that promotes integers to the default float."""
    return Row(
        name,
        samples or unary(),
        # NumPy would compute small integers in half precision.
        lambda x: reference(x if x.dtype.kind == "f" else x.astype(float)),
        dtypes,
        errors=NOT_A_TENSOR,
        method=True,
        in_place=True,
        tolerance=tolerance,
    )


ROWS = [
    # Signs and copies.
    Row(
        "neg",
        unary(),
        np.negative,
        NUMBER,
        errors=(bad(np.ones(2) > 0, error=TypeError, says=("bool",)),),
        method=True,
        in_place=True,
    ),
    Row("negative", unary(), np.negative, NUMBER, method=True, in_place=True),
    Row("positive", unary(), np.positive, NUMBER, method=True),
    Row("abs", unary(gap=0.2), np.abs, NUMBER, method=True, in_place=True),
    Row("absolute", unary(gap=0.2), np.abs, NUMBER, method=True, in_place=True),
    Row(
        "sign",
        unary(gap=0.2),
        lambda x: np.sign(x) if x.dtype.kind != "b" else x,
        ALL,
        method=True,
        in_place=True,
    ),
    Row("sgn", unary(gap=0.2), np.sign, NUMBER, method=True, in_place=True),
    # Rounding.
    Row(
        "floor",
        join(unary(), _rounding),
        lambda x: x if x.dtype.kind in "iu" else np.floor(x),
        NUMBER,
        method=True,
        in_place=True,
    ),
    Row(
        "ceil",
        join(unary(), _rounding),
        lambda x: x if x.dtype.kind in "iu" else np.ceil(x),
        NUMBER,
        method=True,
        in_place=True,
    ),
    Row(
        "trunc",
        join(unary(), _rounding),
        lambda x: x if x.dtype.kind in "iu" else np.trunc(x),
        NUMBER,
        method=True,
        in_place=True,
    ),
    Row(
        "fix",
        unary(),
        lambda x: x if x.dtype.kind in "iu" else np.trunc(x),
        NUMBER,
        method=True,
        in_place=True,
    ),
    Row(
        "round",
        join(
            unary(),
            _rounding,
            lambda m: [Sample(m(5), decimals=1)] if m.dtype in ("float64", "float32") else [],
        ),
        _round,
        NUMBER,
        method=True,
        in_place=True,
    ),
    Row("frac", unary(), lambda x: x - np.trunc(x), FLOAT, method=True, in_place=True),
    # Powers, exponents, logarithms.
    _maths("exp", np.exp),
    _maths("exp2", np.exp2),
    _maths("expm1", np.expm1),
    _maths("log", np.log, unary(low=0.2)),
    _maths("log2", np.log2, unary(low=0.2)),
    _maths("log10", np.log10, unary(low=0.2)),
    _maths("log1p", np.log1p, unary(low=-0.6)),
    _maths("sqrt", np.sqrt, unary(low=0.2)),
    _maths("rsqrt", lambda x: 1 / np.sqrt(x), unary(low=0.3, gap=0.3)),
    _maths("reciprocal", lambda x: 1 / x, unary(gap=0.4), NUMBER),
    Row("square", unary(), np.square, NUMBER, method=True, in_place=True),
    # Trigonometry.
    _maths("sin", np.sin),
    _maths("cos", np.cos),
    _maths("tan", np.tan, unary(low=-1.2, high=1.2)),
    _maths("asin", np.arcsin, unary(low=-0.8, high=0.8)),
    _maths("acos", np.arccos, unary(low=-0.8, high=0.8)),
    _maths("atan", np.arctan),
    _maths("sinh", np.sinh),
    _maths("cosh", np.cosh),
    _maths("tanh", np.tanh),
    _maths("asinh", np.arcsinh),
    _maths("acosh", np.arccosh, unary(low=1.3, high=4), FLOAT),
    _maths("atanh", np.arctanh, unary(low=-0.8, high=0.8), NUMBER),
    _maths("deg2rad", np.deg2rad, unary(low=-180, high=120)),
    _maths("rad2deg", np.rad2deg),
    _maths("sinc", np.sinc, unary(gap=0.3)),
    # Special functions.
    _maths("sigmoid", special.expit),
    _maths("erf", special.erf, dtypes=NUMBER),
    _maths("erfc", special.erfc, dtypes=NUMBER),
    _maths("erfinv", special.erfinv, unary(low=-0.8, high=0.8), ("float64", "float32")),
    _maths("lgamma", special.gammaln, unary(low=0.4), dtypes=FLOAT),
    _maths("digamma", special.digamma, unary(low=0.4), FLOAT),
    Row(
        "polygamma",
        lambda m: [Sample(n, m(2, 3, low=0.5)) for n in (0, 1, 2)],
        special.polygamma,
        ("float64", "float32"),
        tolerance=4,
    ),
    Row(
        "logit",
        join(
            unary(low=0.1, high=0.9),
            lambda m: [Sample(m(4, low=0.05, high=0.95), eps=0.2).smooth(0)],
        ),
        lambda x, eps=None: special.logit(x if eps is None else np.clip(x, eps, 1 - eps)),
        FLOAT,
        method=True,
        in_place=True,
        tolerance=2,
    ),
    Row(
        "nan_to_num",
        lambda m: [
            *_odd_numbers(m),
            Sample(m(3)),
            Sample(m.array([np.nan, np.inf, -np.inf, 1]), nan=2.0, posinf=5.0, neginf=-6.0).smooth(
                0
            ),
            Sample(m.array(np.nan), 1.0).smooth(0),
        ],
        _nan_to_num,
        ("float32",),
        method=True,
        in_place=True,
    ),
]
