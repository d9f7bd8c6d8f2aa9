"""Rows of reductions, scans, searching and sorting."""

from __future__ import annotations

import numpy as np
from scipy import special

from tests.ops.build import join, reduction
from tests.ops.row import ALL, FLOAT, INTEGER, NUMBER, Dtype, Fixed, Row, Sample, bad

NO_DIMENSION = bad(np.ones((3, 4)), dim=2, error=IndexError, says=("dim", "2"))
TWICE = bad(np.ones((3, 4)), dim=(1, -1), error=RuntimeError, says=("dim", "1"))
NOTHING = bad(np.ones((0, 3)), dim=0, error=IndexError, says=("dim", "0"))


def axis(x, dim):
    """Translate `dim`: a 0-d tensor may be reduced over dimension 0, an array may not."""
    if dim is None or x.ndim == 0:
        return None
    return dim


def reducing(function):
    """Give a NumPy reduction PyTorch's argument names."""

    def reference(x, dim=None, keepdim=False, **kwargs):
        return function(x, axis=axis(x, dim), keepdims=keepdim and x.ndim > 0, **kwargs)

    return reference


def _typed(function, kind=np.int64):
    """Sum and product of integers and booleans are int64."""

    def reference(x, axis=None, keepdims=False, dtype=None):
        chosen = dtype or (x.dtype if x.dtype.kind == "f" else kind)
        return function(x.astype(chosen), axis=axis, keepdims=keepdims)

    return reducing(reference)


def _deviation(function):
    def reference(x, dim=None, unbiased=None, correction=None, keepdim=False):
        degrees = 1 if correction is None else correction
        if unbiased is not None:
            degrees = int(unbiased)
        return function(x, axis=axis(x, dim), ddof=degrees, keepdims=keepdim)

    return reference


def _deviation_samples(make):
    return [
        Sample(make(3, 4)),
        Sample(make(3, 4), dim=1),
        Sample(make(2, 3, 4), dim=(0, 2), keepdim=True),
        Sample(make(5), dim=0, correction=0),
        Sample(make(2, 3), dim=-1, correction=2),
    ]


def _pick(function, where):
    """max/min/median: over everything a value, over a dimension values and indices."""

    def reference(x, dim=None, keepdim=False):
        if dim is None:
            return function(x)
        if x.ndim == 0:
            return x, np.int64(0)
        return function(x, axis=dim, keepdims=keepdim), where(x, axis=dim, keepdims=keepdim)

    return reference


def _arg(function):
    def reference(x, dim=None, keepdim=False):
        if x.ndim == 0:
            return np.int64(0)
        return np.asarray(function(x, axis=dim, keepdims=keepdim and dim is not None))

    return reference


def _median(x, axis=None, keepdims=False):
    if axis is None:
        return np.sort(x, axis=None)[(x.size - 1) // 2]
    middle = (x.shape[axis] - 1) // 2
    result = np.take(np.sort(x, axis=axis), [middle], axis=axis)
    return result if keepdims else np.squeeze(result, axis)


def _argmedian(x, axis, keepdims=False):
    middle = (x.shape[axis] - 1) // 2
    result = np.take(np.argsort(x, axis=axis), [middle], axis=axis)
    return result if keepdims else np.squeeze(result, axis)


def _norm(x, p=2.0, dim=None, keepdim=False):
    if p == "fro":
        p = 2.0
    axes = axis(x, tuple(dim) if isinstance(dim, list) else dim)
    size = np.abs(x)
    if p == np.inf:
        return size.max(axis=axes, keepdims=keepdim)
    if p == -np.inf:
        return size.min(axis=axes, keepdims=keepdim)
    if p == 0:
        return (x != 0).sum(axis=axes, keepdims=keepdim).astype(x.dtype)
    return (size**p).sum(axis=axes, keepdims=keepdim) ** (1 / p)


def _norm_samples(make):
    return [
        Sample(make(3, 4)),
        Sample(make(3, 4), dim=1),
        Sample(make(2, 3, 4, gap=0.2), p=1, dim=(0, 2), keepdim=True),
        Sample(make(3, 4, gap=0.2), p=3, dim=0),
        Sample(make.spread(3, 4), p=np.inf),
        Sample(make.spread(3, 4), p=-np.inf, dim=1).smooth(0),
        Sample(make(3), p=0, dim=0).smooth(0),
        Sample(make(0, 3), dim=1),
    ]


def _vector_norm_samples(make):
    return [
        Sample(make(3, 4)),
        Sample(make(3, 4), ord=1, dim=1).smooth(0),
        Sample(make(2, 3), ord=3, dim=-1, keepdim=True),
        Sample(make.spread(3, 4), ord=np.inf, dim=0),
    ]


def _scan_samples(make):
    return [
        Sample(make(3, 4, low=-2, high=2, gap=0.3), dim=1),
        Sample(make(2, 3, 2, low=-2, high=2, gap=0.3), dim=-2),
        Sample(make(low=1, high=2), dim=0),
        Sample(make(0, 3), dim=0),
        Sample(make(3, 0), dim=0),
    ]


def _scan(function):
    def reference(x, dim, dtype=None):
        kind = dtype or (x.dtype if x.dtype.kind == "f" else np.int64)
        return function(np.atleast_1d(x), axis=dim, dtype=kind).reshape(x.shape)

    return reference


def _logcumsumexp(x, dim):
    if x.ndim == 0 or x.size == 0:
        return x
    return np.logaddexp.accumulate(x, axis=dim)


def _extreme_scan(function, better):
    def reference(x, dim):
        values = function.accumulate(x, axis=dim)
        indices = np.zeros(x.shape, np.int64)
        rows, best = np.moveaxis(x, dim, 0), np.moveaxis(indices, dim, 0)
        for i in range(1, rows.shape[0]):
            previous = np.take_along_axis(rows, best[i - 1 : i], 0)[0]
            best[i] = np.where(better(rows[i], previous), i, best[i - 1])
        return values, indices

    return reference


def _order(x, dim, descending):
    if x.ndim == 0:
        return np.zeros((), np.int64)
    ranks = np.argsort(x, axis=dim, kind="stable")
    return np.flip(ranks, axis=dim) if descending else ranks


def _sort(x, dim=-1, descending=False, stable=False):
    ranks = _order(x, dim, descending)
    return (x if x.ndim == 0 else np.take_along_axis(x, ranks, dim)), ranks


def _sort_samples(make):
    return [
        Sample(make.spread(3, 4)),
        Sample(make.spread(2, 3, 4), dim=1),
        Sample(make.spread(5), descending=True),
        Sample(make.spread(2, 5), dim=0, descending=True),
        Sample(make.spread()),
        Sample(make.spread(0, 3), dim=0),
    ]


def _topk(x, k, dim=-1, largest=True, sorted=True):
    values, indices = _sort(x, dim, largest)
    kept = range(k)
    return np.take(values, kept, axis=dim), np.take(indices, kept, axis=dim)


def _kthvalue(x, k, dim=-1, keepdim=False):
    values, indices = _sort(x, dim)
    cut = (
        (lambda a: np.take(a, [k - 1], axis=dim))
        if keepdim
        else (lambda a: np.take(a, k - 1, axis=dim))
    )
    return cut(values), cut(indices)


def _unique(x, sorted=True, return_inverse=False, return_counts=False, dim=None):
    values, inverse, counts = np.unique(x, return_inverse=True, return_counts=True, axis=dim)
    inverse = inverse.reshape(x.shape if dim is None else (x.shape[dim],))
    results = (values,) + (inverse,) * return_inverse + (counts,) * return_counts
    return results if len(results) > 1 else values


def _unique_consecutive(x, return_inverse=False, return_counts=False):
    flat = x.reshape(-1)
    starts = np.concatenate([[True], flat[1:] != flat[:-1]]) if flat.size else np.zeros(0, bool)
    inverse = (np.cumsum(starts) - 1).reshape(x.shape)
    counts = np.diff(np.append(np.flatnonzero(starts), flat.size))
    results = (flat[starts],) + (inverse,) * return_inverse + (counts,) * return_counts
    return results if len(results) > 1 else results[0]


def _repeats(make):
    values = make.array([1, 1, 0, 1, 0, 0])
    return [
        Sample(values),
        Sample(values, return_counts=True),
        Sample(values.reshape(2, 3), return_inverse=True, return_counts=True),
        Sample(make(0)),
    ]


def _mode(x, dim=-1, keepdim=False):
    rows = np.moveaxis(x, dim, -1)
    values = np.apply_along_axis(
        lambda row: np.unique(row)[np.argmax(np.unique(row, return_counts=True)[1])], -1, rows
    )
    # PyTorch gives the last place of the value.
    indices = x.shape[dim] - 1 - np.argmax(np.flip(rows == values[..., None], -1), -1)
    return (
        (np.expand_dims(values, dim), np.expand_dims(indices, dim))
        if keepdim
        else (values, indices)
    )


def _without_nan(function):
    return reducing(lambda x, axis, keepdims: function(x, axis=axis, keepdims=keepdims))


def _some_nan(make):
    x = make(3, 4)
    if make.dtype in FLOAT:
        x[1, 2] = x[0, 0] = np.nan
    return [Sample(x), Sample(x, dim=1), Sample(x, dim=0, keepdim=True)]


def _median_samples(make):
    return [
        Sample(make.spread(3, 5)),
        Sample(make.spread(3, 4), dim=1),
        Sample(make.spread(2, 5, 2), dim=1, keepdim=True),
        Sample(make.spread()),
    ]


SORTED = np.array([-2.0, -1.0, 0.5, 0.5, 2.0])

ROWS = [
    Row(
        "sum",
        join(
            reduction(),
            lambda m: [Sample(m(3), dtype=Dtype("float64"))] if m.dtype == "float64" else [],
        ),
        _typed(np.sum),
        ALL,
        errors=(NO_DIMENSION, TWICE),
        method=True,
    ),
    Row(
        "mean",
        reduction(empty=False),
        reducing(np.mean),
        FLOAT,
        errors=(NO_DIMENSION, bad(np.ones(2, int), error=TypeError, says=("int64",))),
        method=True,
    ),
    Row(
        "prod",
        reduction(low=-2, high=2, gap=0.4, several=False),
        _typed(np.prod),
        ALL,
        errors=(NO_DIMENSION,),
        method=True,
    ),
    Row("var", _deviation_samples, _deviation(np.var), FLOAT, method=True),
    Row("std", _deviation_samples, _deviation(np.std), FLOAT, method=True),
    Row(
        "var_mean",
        lambda m: [
            Sample(m(3, 4), dim=1),
            Sample(m(3, 4)),
            Sample(m(2, 3), dim=0, correction=0, keepdim=True),
        ],
        lambda x, **k: (
            _deviation(np.var)(x, **k),
            np.mean(x, axis=k.get("dim"), keepdims=k.get("keepdim", False)),
        ),
    ),
    Row(
        "std_mean",
        lambda m: [Sample(m(3, 4), dim=1), Sample(m(3, 4))],
        lambda x, **k: (_deviation(np.std)(x, **k), np.mean(x, axis=k.get("dim"))),
    ),
    Row(
        "logsumexp",
        lambda m: [
            Sample(m(3, 4), dim=1),
            Sample(m(2, 3, 4), dim=(0, -1), keepdim=True),
            Sample(m(), dim=0),
            Sample(m(3, 3) * 100 if m.dtype == "float64" else m(3, 3), dim=0),
        ],
        reducing(special.logsumexp),
        FLOAT,
        errors=(NO_DIMENSION,),
        method=True,
    ),
    Row(
        "amax",
        reduction(spread=True, empty=False),
        reducing(np.max),
        ALL,
        errors=(NO_DIMENSION, NOTHING),
        method=True,
    ),
    Row(
        "amin",
        reduction(spread=True, empty=False),
        reducing(np.min),
        ALL,
        errors=(NO_DIMENSION, NOTHING),
        method=True,
    ),
    Row(
        "aminmax",
        lambda m: [Sample(m.spread(3, 4)), Sample(m.spread(3, 4), dim=1, keepdim=True)],
        lambda x, dim=None, keepdim=False: (
            x.min(axis=dim, keepdims=keepdim),
            x.max(axis=dim, keepdims=keepdim),
        ),
        ALL,
        method=True,
    ),
    Row(
        "max",
        join(
            reduction(spread=True, several=False, empty=False),
            lambda m: [Sample(m.spread(3, 4), m.spread(4, step=0.3))],
        ),
        lambda x, dim=None, keepdim=False: (
            np.maximum(x, dim)
            if isinstance(dim, np.ndarray)
            else _pick(np.max, np.argmax)(x, dim, keepdim)
        ),
        NUMBER,
        errors=(NO_DIMENSION, NOTHING, bad(np.ones(0), error=RuntimeError)),
        method=True,
    ),
    Row(
        "min",
        join(
            reduction(spread=True, several=False, empty=False),
            lambda m: [Sample(m.spread(3, 4), m.spread(4, step=0.3))],
        ),
        lambda x, dim=None, keepdim=False: (
            np.minimum(x, dim)
            if isinstance(dim, np.ndarray)
            else _pick(np.min, np.argmin)(x, dim, keepdim)
        ),
        NUMBER,
        errors=(NO_DIMENSION, NOTHING),
        method=True,
    ),
    Row(
        "argmax",
        reduction(spread=True, several=False, empty=False),
        _arg(np.argmax),
        NUMBER,
        order=0,
        errors=(NO_DIMENSION, NOTHING),
        method=True,
    ),
    Row(
        "argmin",
        reduction(spread=True, several=False, empty=False),
        _arg(np.argmin),
        NUMBER,
        order=0,
        errors=(NO_DIMENSION, NOTHING),
        method=True,
    ),
    Row("median", _median_samples, _pick(_median, _argmedian), NUMBER, method=True),
    Row(
        "mode",
        lambda m: [
            Sample(m.array([[1, 0, 1], [0, 0, 1]])),
            Sample(m.array([[1, 0, 1], [0, 0, 1], [1, 0, 1]]), dim=0, keepdim=True),
        ],
        _mode,
        ("float64", "float32", "int64"),
        order=0,
        method=True,
    ),
    Row(
        "quantile",
        lambda m: [
            Sample(m.spread(7), 0.4),
            Sample(m.spread(3, 5), 0.3, dim=1),
            Sample(m.spread(3, 5), Fixed(m.array([0.1, 0.75])), dim=0, keepdim=True),
            Sample(m.spread(6), 0.3, interpolation="lower"),
        ],
        lambda x, q, dim=None, keepdim=False, interpolation="linear": np.quantile(
            x, q, axis=dim, keepdims=keepdim, method=interpolation
        ),
        ("float64", "float32"),
        method=True,
    ),
    Row(
        "any",
        reduction(),
        lambda x, **k: (
            reducing(np.any)(x, **k)
            if x.dtype != np.uint8
            else reducing(np.any)(x, **k).astype(np.uint8)
        ),
        ALL,
        order=0,
        errors=(NO_DIMENSION,),
        method=True,
    ),
    Row(
        "all",
        reduction(),
        lambda x, **k: (
            reducing(np.all)(x, **k)
            if x.dtype != np.uint8
            else reducing(np.all)(x, **k).astype(np.uint8)
        ),
        ALL,
        order=0,
        errors=(NO_DIMENSION,),
        method=True,
    ),
    Row(
        "count_nonzero",
        lambda m: [Sample(m(3, 4)), Sample(m(3, 4), dim=1), Sample(m(0, 2), dim=0)],
        lambda x, dim=None: np.asarray(np.count_nonzero(x, axis=dim), np.int64),
        ALL,
        order=0,
        method=True,
    ),
    Row("nansum", _some_nan, _without_nan(np.nansum), FLOAT, method=True),
    Row("nanmean", _some_nan, _without_nan(np.nanmean), FLOAT, method=True),
    Row("norm", _norm_samples, _norm, FLOAT, method=True, tolerance=2),
    Row(
        "linalg.vector_norm",
        _vector_norm_samples,
        lambda x, ord=2, dim=None, keepdim=False: _norm(x, ord, dim, keepdim),
        FLOAT,
        tolerance=2,
    ),
    Row(
        "linalg.matrix_norm",
        lambda m: [
            Sample(m(3, 4)),
            Sample(m.spread(2, 3, 4), ord=1),
            Sample(m.spread(3, 4), ord=np.inf, keepdim=True),
            Sample(m(3, 4), ord="nuc"),
            Sample(m(2, 3, 4), ord=2, keepdim=True),
            Sample(m(2, 3, 3), ord=-2),
        ],
        lambda x, ord="fro", keepdim=False: np.linalg.norm(x, ord, axis=(-2, -1), keepdims=keepdim),
        ("float64", "float32"),
        tolerance=2,
    ),
    Row(
        "linalg.norm",
        lambda m: [Sample(m(3, 4)), Sample(m(5)), Sample(m(3, 4), dim=1)],
        lambda x, ord=None, dim=None: _norm(x, 2, dim),
        ("float64", "float32"),
    ),
    Row(
        "dist",
        lambda m: [Sample(m(3, 4), m(3, 4)), Sample(m(3, 4), m(4), p=1), Sample(m(3), m(3), p=3)],
        lambda x, y, p=2: _norm(x - y, p),
        ("float64", "float32"),
        method=True,
    ),
    # Scans.
    Row(
        "cumsum",
        _scan_samples,
        _scan(np.cumsum),
        ALL,
        errors=(NO_DIMENSION,),
        method=True,
        in_place=True,
    ),
    Row(
        "cumprod",
        _scan_samples,
        _scan(np.cumprod),
        ALL,
        errors=(NO_DIMENSION,),
        method=True,
        in_place=True,
    ),
    Row(
        "logcumsumexp",
        lambda m: [Sample(m(3, 4), dim=1), Sample(m(2, 3), dim=0), Sample(m(), dim=0)],
        _logcumsumexp,
        FLOAT,
        method=True,
    ),
    Row(
        "cummax",
        lambda m: [Sample(m.spread(3, 4), dim=1), Sample(m.spread(5), dim=0)],
        _extreme_scan(np.maximum, np.greater_equal),
        NUMBER,
        method=True,
    ),
    Row(
        "cummin",
        lambda m: [Sample(m.spread(3, 4), dim=1), Sample(m.spread(5), dim=0)],
        _extreme_scan(np.minimum, np.less_equal),
        NUMBER,
        method=True,
    ),
    Row(
        "diff",
        lambda m: [Sample(m(5)), Sample(m(3, 4), dim=0), Sample(m(2, 5), n=2)],
        lambda x, n=1, dim=-1: np.diff(x, n, axis=dim),
        NUMBER,
        method=True,
    ),
    # Sorting and searching.
    Row(
        "sort",
        _sort_samples,
        _sort,
        tuple(d for d in NUMBER if d != "uint8"),
        errors=(NO_DIMENSION,),
        method=True,
    ),
    Row(
        "argsort",
        _sort_samples,
        lambda x, dim=-1, descending=False: _order(x, dim, descending),
        tuple(d for d in NUMBER if d != "uint8"),
        order=0,
        method=True,
    ),
    Row(
        "msort",
        lambda m: [Sample(m.spread(3, 4))],
        lambda x: np.sort(x, axis=0),
        FLOAT,
        method=True,
    ),
    Row(
        "topk",
        lambda m: [
            Sample(m.spread(3, 5), 2),
            Sample(m.spread(5), 3, largest=False),
            Sample(m.spread(4, 3), k=2, dim=0),
            Sample(m.spread(2, 3), 0),
        ],
        _topk,
        tuple(d for d in NUMBER if d != "uint8"),
        errors=(bad(np.ones((3, 4)), 5, error=RuntimeError, says=("k", "5", "4")),),
        method=True,
    ),
    Row(
        "kthvalue",
        lambda m: [Sample(m.spread(3, 5), 2), Sample(m.spread(4, 3), 1, dim=0, keepdim=True)],
        _kthvalue,
        ("float64", "float32", "int64"),
        errors=(bad(np.ones(3), 4, error=RuntimeError, says=("k",)),),
        method=True,
    ),
    Row(
        "unique",
        lambda m: [*_repeats(m), Sample(m.array([[1, 0], [0, 1], [1, 0]]), dim=0)],
        _unique,
        ALL,
        order=0,
        method=True,
    ),
    Row("unique_consecutive", _repeats, _unique_consecutive, ALL, order=0, method=True),
    Row(
        "bincount",
        lambda m: [
            Sample(m(6, low=0, high=4)),
            Sample(m(4, low=0, high=3), minlength=7),
            Sample(m(3, low=0, high=3), weights=np.array([0.5, 1.0, 2.0])),
        ],
        lambda x, weights=None, minlength=0: np.bincount(x, weights, minlength),
        INTEGER,
        order=0,
        errors=(bad(np.array([-1]), error=RuntimeError, says=("negative",)),),
        method=True,
        result="exact",
    ),
    Row(
        "searchsorted",
        lambda m: [
            Sample(SORTED.astype("float64"), m(2, 3).astype("float64")),
            Sample(SORTED, np.array([0.5, -2.0]), right=True),
            Sample(SORTED, 0.5),
        ],
        lambda s, v, right=False: np.asarray(np.searchsorted(s, v, "right" if right else "left")),
        ("float64",),
        order=0,
    ),
    Row(
        "bucketize",
        lambda m: [Sample(m(2, 3), SORTED), Sample(np.array([0.5, 3.0]), SORTED, right=True)],
        lambda v, s, right=False: np.asarray(np.searchsorted(s, v, "right" if right else "left")),
        ("float64",),
        order=0,
    ),
    Row(
        "isin",
        lambda m: [Sample(m(3, 4), m(3)), Sample(m.array([1, 0, 1]), m.array([1]))],
        np.isin,
        INTEGER,
        order=0,
    ),
    Row(
        "histc",
        lambda m: [Sample(m(20), bins=5, min=-3, max=3)],
        lambda x, bins, min, max: np.histogram(x, bins, (min, max))[0].astype(x.dtype),
        ("float64", "float32"),
        order=0,
        method=True,
    ),
    Row(
        "trace",
        lambda m: [Sample(m(3, 3)), Sample(m(2, 4))],
        lambda x: np.asarray(np.trace(x)),
        ("float64", "float32", "int64"),
        errors=(bad(np.ones(3), error=RuntimeError, says=("(3,)",)),),
        method=True,
    ),
]
