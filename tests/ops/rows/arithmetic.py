"""Rows of arithmetic, comparison, logic and bitwise ops."""

from __future__ import annotations

import numpy as np
from scipy import special

from tests.ops.build import binary, join, ternary, unary
from tests.ops.row import ALL, BOOL, FLOAT, INTEGER, NUMBER, Bad, Row, Sample, bad

A34, A56 = np.ones((3, 4)), np.ones((5, 6))
SHAPES = (bad(A34, A56, error=ValueError, says=("(3, 4)", "(5, 6)")),)
ALL_BUT_BOOL = NUMBER


def _both(*more: Bad) -> tuple[Bad, ...]:
    return SHAPES + more


def _divide(x, y, rounding_mode=None):
    if rounding_mode is None:
        return np.true_divide(x, y)
    if rounding_mode == "floor":
        return np.floor_divide(x, y)
    exact = np.asarray(np.trunc(np.true_divide(x, y)))
    return exact if np.result_type(x, y).kind == "f" else exact.astype(np.result_type(x, y))


def _addcdiv(input, first, second, value=1):
    return input + value * (first / second)


def _clamp(x, min=None, max=None):
    return np.minimum(
        np.maximum(x, -np.inf if min is None else min), np.inf if max is None else max
    )


def _clamp_typed(x, min=None, max=None):
    wide = x if x.dtype.kind == "f" else x.astype(np.int64)
    return np.asarray(_clamp(wide, min, max)).astype(x.dtype)


def _clamp_samples(make):
    return [
        Sample(make(3, 4), min=1, max=2),
        Sample(make(5), min=0),
        Sample(make(2, 3), 0, 2),
        Sample(make(), max=1),
        Sample(make(0, 2), min=0, max=1),
    ]


def _clamp_tensor_samples(make):
    return [Sample(make(3, 4), make(4), make(3, 1, low=3.5, high=5)), Sample(make(3), max=make(3))]


def _special_values(make):
    plain = make(2, 3)
    if make.dtype not in FLOAT:
        return [Sample(plain), Sample(make())]
    plain[0] = make.array([np.nan, np.inf, -np.inf])
    return [Sample(plain), Sample(make.array(np.nan)), Sample(make(0, 2))]


def _close_samples(make):
    x = make(3, 4)
    near = x + make.array([0, 1e-9, 1e-3, 1]) if make.dtype in FLOAT else x
    odd = make.array([np.nan, np.inf, 1]) if make.dtype in FLOAT else make(3)
    return [
        Sample(x, near),
        Sample(x, near, rtol=0.5, atol=0.1),
        Sample(odd, odd),
        Sample(odd, odd, equal_nan=True),
    ]


COMPARISON = [
    Row(
        name,
        join(binary(), lambda m: [Sample(m.array([1, 0, 1]), m.array([1, 1, 0]))]),
        reference,
        dtypes=ALL,
        order=0,
        errors=SHAPES,
        method=True,
        in_place=True,
    )
    for name, reference in {
        "eq": np.equal,
        "ne": np.not_equal,
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
    }.items()
]

LOGIC = [
    Row(
        name,
        binary(scalar=None),
        reference,
        ALL,
        order=0,
        errors=SHAPES,
        method=True,
        in_place=True,
    )
    for name, reference in {
        "logical_and": np.logical_and,
        "logical_or": np.logical_or,
        "logical_xor": np.logical_xor,
    }.items()
]

NO_FLOATS = bad(np.ones(2), np.ones(2), error=TypeError, says=("float64",))
BITWISE = [
    Row(
        name,
        binary(low=-20, high=20, scalar=3),
        reference,
        dtypes=INTEGER + BOOL,
        order=0,
        errors=(NO_FLOATS, bad(A34 > 0, A56 > 0, error=ValueError, says=("(3, 4)", "(5, 6)"))),
        method=True,
        in_place=True,
    )
    for name, reference in {
        "bitwise_and": np.bitwise_and,
        "bitwise_or": np.bitwise_or,
        "bitwise_xor": np.bitwise_xor,
    }.items()
] + [
    Row(
        name,
        binary(low=0, high=15, second=(0, 3, 0), scalar=2),
        reference,
        dtypes=INTEGER,
        order=0,
        errors=(NO_FLOATS,),
        method=True,
        in_place=True,
    )
    for name, reference in {
        "bitwise_left_shift": np.left_shift,
        "bitwise_right_shift": np.right_shift,
    }.items()
]

CLASSIFICATION = [
    Row(name, _special_values, reference, ALL, order=0, method=True)
    for name, reference in {
        "isnan": np.isnan,
        "isinf": np.isinf,
        "isfinite": np.isfinite,
        "isposinf": lambda x: x == np.inf,
        "isneginf": lambda x: x == -np.inf,
    }.items()
]

ROWS = [
    Row(
        "add",
        join(binary(), lambda m: [Sample(m(3, 4), m(4), alpha=2)]),
        lambda x, y, alpha=1: x + y if alpha == 1 else x + alpha * y,
        dtypes=NUMBER,
        errors=_both(
            bad(A34, "1", error=TypeError, says=("other",)),
            bad(A34.astype(int), A34.astype(int), alpha=0.5, error=TypeError, says=("alpha",)),
        ),
        method=True,
        in_place=True,
    ),
    Row(
        "sub",
        join(binary(), lambda m: [Sample(m(3, 4), m(4), alpha=2)]),
        lambda x, y, alpha=1: x - y if alpha == 1 else x - alpha * y,
        dtypes=NUMBER,
        errors=_both(bad(A34 > 0, A34 > 0, error=TypeError, says=("bool",))),
        method=True,
        in_place=True,
    ),
    Row(
        "subtract",
        binary(),
        np.subtract,
        NUMBER,
        errors=SHAPES,
        alias="sub",
        method=True,
        in_place=True,
    ),
    Row("rsub", binary(), lambda x, y: y - x, NUMBER, errors=SHAPES),
    Row("mul", binary(), np.multiply, ALL, errors=SHAPES, method=True, in_place=True),
    Row(
        "multiply",
        binary(),
        np.multiply,
        ALL,
        errors=SHAPES,
        alias="mul",
        method=True,
        in_place=True,
    ),
    Row(
        "div",
        join(
            binary(gap=0.5),
            lambda m: [Sample(m(3, 4), m(4, gap=0.5), rounding_mode="floor").smooth(0)],
            lambda m: [Sample(m(3, 4), m(4, gap=0.5), rounding_mode="trunc").smooth(0)],
        ),
        _divide,
        dtypes=NUMBER,
        errors=_both(
            bad(A34, A34, rounding_mode="up", error=ValueError, says=("rounding_mode", "up"))
        ),
        method=True,
        in_place=True,
    ),
    Row("divide", binary(gap=0.5), np.true_divide, ALL_BUT_BOOL, method=True, in_place=True),
    Row("true_divide", binary(gap=0.5), np.true_divide, ALL_BUT_BOOL, method=True, in_place=True),
    Row(
        "floor_divide",
        binary(gap=0.6, scalar=2),
        np.floor_divide,
        NUMBER,
        order=0,
        errors=_both(bad(A34.astype(int), 0, error=RuntimeError, says=("zero",))),
        method=True,
        in_place=True,
    ),
    Row(
        "remainder",
        binary(second=(0.7, 2.9, 0), scalar=2),
        np.remainder,
        NUMBER,
        errors=SHAPES,
        method=True,
        in_place=True,
    ),
    Row(
        "fmod",
        binary(second=(0.7, 2.9, 0), scalar=2),
        np.fmod,
        NUMBER,
        errors=SHAPES,
        method=True,
        in_place=True,
    ),
    Row(
        "pow",
        join(
            binary(low=0.5, high=2, second=(-2, 2, 0), first_scalar=True),
            lambda m: [Sample(m(2, 3), n) for n in (0, 1, 2, 3)],
            lambda m: [Sample(m(2, 3, low=0.5), n) for n in (-1.0, 0.5, 2.5)],
        ),
        np.power,
        dtypes=FLOAT,
        errors=(*SHAPES, bad(A34.astype(int), -1, error=RuntimeError, says=("negative",))),
        method=True,
        in_place=True,
        tolerance=2,
    ),
    Row(
        "float_power",
        binary(low=0.5, high=2),
        np.float_power,
        order=2,
        result="float64",
        method=True,
    ),
    Row("maximum", binary(scalar=None), np.maximum, ALL, errors=SHAPES, method=True),
    Row("minimum", binary(scalar=None), np.minimum, ALL, errors=SHAPES, method=True),
    Row(
        "fmax",
        join(
            binary(scalar=None),
            lambda m: [Sample(m.array([np.nan, 1]), m.array([0, np.nan])).smooth(0)],
        ),
        np.fmax,
        FLOAT,
        method=True,
    ),
    Row("fmin", binary(scalar=None), np.fmin, NUMBER, method=True),
    Row(
        "atan2",
        binary(gap=0.3, scalar=None),
        lambda y, x: np.arctan2(y, x, dtype=float),
        NUMBER,
        method=True,
        in_place=True,
    ),
    Row("hypot", binary(gap=0.3, scalar=None), np.hypot, FLOAT, method=True, in_place=True),
    Row("copysign", binary(gap=0.3, scalar=-2), np.copysign, FLOAT, method=True, in_place=True),
    Row("logaddexp", binary(scalar=None), np.logaddexp, FLOAT, method=True),
    Row("logaddexp2", binary(scalar=None), np.logaddexp2, FLOAT, method=True),
    Row(
        "xlogy",
        binary(low=0.5, first_scalar=True),
        special.xlogy,
        NUMBER,
        method=True,
        in_place=True,
    ),
    Row("heaviside", binary(gap=0.3, scalar=None), np.heaviside, FLOAT, order=0, method=True),
    Row("gcd", binary(low=-12, high=12, scalar=None), np.gcd, INTEGER, order=0, method=True),
    Row("lcm", binary(low=-6, high=6, scalar=None), np.lcm, INTEGER, order=0, method=True),
    Row(
        "addcmul",
        join(ternary(), lambda m: [Sample(m(2, 3), m(3), m(3), value=2)]),
        lambda x, a, b, value=1: x + value * a * b,
        NUMBER,
        errors=(bad(A34, A34, A56, error=ValueError, says=("(3, 4)", "(5, 6)")),),
        method=True,
        in_place=True,
    ),
    Row(
        "addcdiv",
        join(ternary(gap=0.5), lambda m: [Sample(m(2, 3), m(3), m(3, gap=0.5), value=0.5)]),
        _addcdiv,
        method=True,
        in_place=True,
        tolerance=3,
    ),
    Row(
        "lerp",
        join(ternary(), lambda m: [Sample(m(2, 3), m(3), 0.25), Sample(m(2, 3), m(3), 0.75)]),
        lambda x, y, weight: x + weight * (y - x),
        method=True,
        in_place=True,
        tolerance=3,
    ),
    Row(
        "clamp",
        join(_clamp_samples, _clamp_tensor_samples),
        _clamp_typed,
        NUMBER,
        errors=(bad(A34, error=ValueError, says=("min", "max")),),
        method=True,
        in_place=True,
    ),
    Row("clip", _clamp_samples, _clamp_typed, NUMBER, method=True, in_place=True),
    Row("clamp_min", binary(scalar=1), np.maximum, NUMBER, method=True, in_place=True),
    Row("clamp_max", binary(scalar=1), np.minimum, NUMBER, method=True, in_place=True),
    *COMPARISON,
    *LOGIC,
    Row("logical_not", unary(), np.logical_not, ALL, order=0, method=True, in_place=True),
    *BITWISE,
    Row(
        "bitwise_not",
        unary(low=-20, high=20),
        np.bitwise_not,
        INTEGER + BOOL,
        order=0,
        errors=(bad(np.ones(2), error=TypeError, says=("float64",)),),
        method=True,
        in_place=True,
    ),
    *CLASSIFICATION,
    Row("signbit", unary(), lambda x: x < 0, ALL, order=0, method=True),
    Row(
        "isclose",
        _close_samples,
        np.isclose,
        ("float64", "float32", *INTEGER),
        order=0,
        method=True,
    ),
    Row(
        "allclose",
        _close_samples,
        np.allclose,
        ("float64", "float32", *INTEGER),
        order=0,
        method=True,
    ),
    Row(
        "equal",
        lambda m: [
            Sample(m.array([1, 0]), m.array([1, 0])),
            Sample(m.array([1, 0]), m.array([1, 1])),
            Sample(m.array([1, 0]), m.array([[1, 0]])),
            Sample(m(0), m(0)),
        ],
        lambda x, y: x.shape == y.shape and bool(np.all(x == y)),
        ALL,
        order=0,
        method=True,
    ),
]
