"""Rows of creation functions; their result dtypes are exactly the reference's."""

from __future__ import annotations

import numpy as np

from tests.ops.row import ALL, Dtype, Row, Sample, bad

F32 = np.float32
NEGATIVE = bad((2, -1), error=RuntimeError, says=("-1",))
ONE = ("float32",)


def _made(name, samples, reference, errors=(), **more) -> Row:
    return Row(name, samples, reference, ONE, order=0, errors=errors, result="exact", **more)


def _filled(value):
    def reference(*size, dtype=F32):
        return np.full(
            size[0] if size and isinstance(size[0], tuple | list) else size, value, dtype
        )

    return reference


def _sizes(make):
    return [
        Sample(2, 3),
        Sample((2, 3)),
        Sample([0, 2]),
        Sample(()),
        Sample(3, dtype=Dtype("int64")),
        Sample((2,), dtype=Dtype("bool")),
        Sample(2, dtype=Dtype("float64")),
    ]


def _shape_and_dtype(module, result, sample):
    expected = sample.args[0]
    assert tuple(result.shape) == tuple(expected.shape if hasattr(expected, "shape") else expected)


def _arange(*args, dtype=None):
    kind = dtype or (F32 if any(isinstance(a, float) for a in args) else np.int64)
    return np.arange(*args, dtype=kind)


def _tensor(data, dtype=None):
    values = np.array(data, dtype)
    return values.astype(F32) if dtype is None and values.dtype == float else values


def _full_like(x, value, dtype=None):
    return np.full(x.shape, value, dtype or x.dtype)


ROWS = [
    _made("zeros", _sizes, _filled(0), (NEGATIVE,)),
    _made("ones", _sizes, _filled(1), (NEGATIVE,)),
    _made(
        "full",
        lambda m: [
            Sample((2, 3), 1.5),
            Sample((2,), 3),
            Sample((), True),
            Sample((2,), 1, dtype=Dtype("float64")),
        ],
        lambda size, value, dtype=None: np.full(
            size, value, dtype or {float: F32, int: np.int64, bool: bool}[type(value)]
        ),
        (bad((-1,), 1.0, error=RuntimeError, says=("-1",)),),
    ),
    Row(
        "empty",
        lambda m: [Sample((2, 3)), Sample((0,))],
        None,
        ONE,
        order=0,
        check=_shape_and_dtype,
        errors=(NEGATIVE,),
    ),
    Row(
        "empty_like",
        lambda m: [Sample(m(2, 3)), Sample(m())],
        None,
        ALL,
        order=0,
        check=_shape_and_dtype,
    ),
    Row(
        "zeros_like",
        lambda m: [Sample(m(2, 3)), Sample(m()), Sample(m(0, 2))],
        np.zeros_like,
        ALL,
        order=0,
    ),
    Row("ones_like", lambda m: [Sample(m(2, 3)), Sample(m())], np.ones_like, ALL, order=0),
    Row("full_like", lambda m: [Sample(m(2, 3), 1)], _full_like, ALL, order=0),
    Row(
        "Tensor.new_zeros",
        lambda m: [Sample(m(2), (2, 3))],
        lambda x, s: np.zeros(s, x.dtype),
        ALL,
        order=0,
    ),
    Row(
        "Tensor.new_ones",
        lambda m: [Sample(m(2), (2, 3))],
        lambda x, s: np.ones(s, x.dtype),
        ALL,
        order=0,
    ),
    Row(
        "Tensor.new_full",
        lambda m: [Sample(m(2), (2, 3), 1)],
        lambda x, s, v: np.full(s, v, x.dtype),
        ALL,
        order=0,
    ),
    _made(
        "arange",
        lambda m: [
            Sample(5),
            Sample(1, 4),
            Sample(0, 1.0, 0.25),
            Sample(5, 0, -2),
            Sample(3, dtype=Dtype("float64")),
            Sample(0),
            Sample(2.5),
        ],
        _arange,
        (
            bad(0, 3, 0, error=RuntimeError, says=("step",)),
            bad(0, 3, -1, error=RuntimeError, says=("step",)),
        ),
    ),
    _made(
        "linspace",
        lambda m: [
            Sample(0, 1, 5),
            Sample(-2.0, 3.0, steps=4),
            Sample(1, 2, 1),
            Sample(1, 2, 0),
            Sample(0, 1, 3, dtype=Dtype("float64")),
        ],
        lambda a, b, steps, dtype=F32: np.linspace(a, b, steps).astype(dtype),
        (bad(0, 1, -1, error=RuntimeError, says=("steps",)),),
    ),
    _made(
        "logspace",
        lambda m: [Sample(0, 2, 3), Sample(0, 1, 4, base=2.0)],
        lambda a, b, steps, base=10.0: np.logspace(a, b, steps, base=base).astype(F32),
    ),
    _made(
        "eye",
        lambda m: [Sample(3), Sample(2, 4), Sample(3, dtype=Dtype("int64")), Sample(0)],
        lambda n, k=None, dtype=F32: np.eye(n, k, dtype=dtype),
        (bad(-1, error=RuntimeError, says=("-1",)),),
    ),
    _made(
        "tensor",
        lambda m: [
            Sample([[1, 2], [3, 4]]),
            Sample([1.5, 2]),
            Sample(True),
            Sample([]),
            Sample(3),
            Sample([1, 2], dtype=Dtype("float64")),
            Sample([[True], [False]]),
        ],
        _tensor,
        (bad([[1, 2], [3]], error=ValueError, says=("2", "1")), bad("text", error=TypeError)),
    ),
    Row("as_tensor", lambda m: [Sample(m(2, 3)), Sample(m())], np.copy, ALL, order=0),
    _made(
        "tril_indices",
        lambda m: [Sample(3, 4), Sample(3, 3, -1)],
        lambda n, k, offset=0: np.stack(np.tril_indices(n, offset, k)),
    ),
    _made(
        "triu_indices",
        lambda m: [Sample(3, 4), Sample(3, 3, 1)],
        lambda n, k, offset=0: np.stack(np.triu_indices(n, offset, k)),
    ),
    _made(
        "scalar_tensor",
        lambda m: [Sample(2.5), Sample(2, dtype=Dtype("int64"))],
        lambda v, dtype=F32: np.array(v, dtype),
    ),
]
