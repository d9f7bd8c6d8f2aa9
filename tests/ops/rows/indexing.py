"""Rows of gathers, scatters, masks and look-ups."""

from __future__ import annotations

import numpy as np

from tests.ops.row import ALL, NUMBER, Row, Sample, bad

F = "nn.functional."
A34 = np.ones((3, 4))
COLUMN = np.array([[0], [3], [1]])
TOO_FAR = np.array([[0], [4], [1]])
ONE = np.array([0])


def _put(function):
    """Apply `function(target, position, source value)` for every element of index."""

    def reference(x, dim, index, src, reduce=None, include_self=True):
        result = x.copy()
        touched = np.zeros(x.shape, bool)
        for position in np.ndindex(index.shape):
            target = list(position)
            target[dim] = index[position]
            value = src[position] if isinstance(src, np.ndarray) else src
            function(result, touched, tuple(target), value, reduce, include_self)
        return result

    return reference


def _assign(result, touched, target, value, reduce, include_self):
    if reduce in ("add", "sum"):
        result[target] += value
    elif reduce == "multiply":
        result[target] *= value
    else:
        result[target] = value


def _add(result, touched, target, value, reduce, include_self):
    result[target] += value


def _combine(result, touched, target, value, reduce, include_self):
    if not include_self and not touched[target]:
        result[target] = value
    else:
        result[target] = {
            "sum": lambda a, b: a + b,
            "prod": lambda a, b: a * b,
            "amax": max,
            "amin": min,
        }[reduce](result[target], value)
    touched[target] = True


def _along(x, dim, index, source, function):
    result = x.copy()
    rows = np.moveaxis(result, dim, 0)
    values = (
        np.moveaxis(
            np.broadcast_to(source, x.shape[:dim] + index.shape + x.shape[dim + 1 :]), dim, 0
        )
        if isinstance(source, np.ndarray) and source.ndim
        else None
    )
    for i, target in enumerate(index):
        value = source if values is None else values[i]
        rows[target] = function(rows[target], value)
    return result


def _index_add(x, dim, index, source, alpha=1):
    return _along(x, dim % x.ndim, index, source, lambda a, b: a + (b if alpha == 1 else alpha * b))


def _index_put(x, indices, values, accumulate=False):
    result = x.copy()
    if accumulate:
        np.add.at(result, indices, values)
    else:
        result[indices] = values
    return result


def _masked_scatter(x, mask, source):
    result = np.broadcast_to(x, np.broadcast_shapes(x.shape, mask.shape)).copy()
    where = np.broadcast_to(mask, result.shape)
    result[where] = source.reshape(-1)[: where.sum()]
    return result


def _where(condition, x, y):
    kinds = [v.dtype for v in (x, y) if isinstance(v, np.ndarray)]
    result = np.where(condition, x, y)
    return result.astype(kinds[0]) if kinds else result


def _embedding(index, weight, padding_idx=None):
    return weight[index]


def _gather_samples(make):
    return [
        Sample(make(3, 4), 1, make.index(3, 2, below=4)),
        Sample(make(3, 4), 0, make.index(5, 4, below=3)),
        Sample(make(2, 3, 4), -1, make.index(2, 3, 1, below=4)),
        Sample(make(3), 0, make.index(0, below=3)),
    ]


def _gather(x, dim, index):
    narrowed = tuple(
        slice(None) if d == dim % x.ndim else slice(n) for d, n in enumerate(index.shape)
    )
    return np.take_along_axis(x[narrowed], index, dim)


def _permuted(make, size, *lead):
    return np.argsort(make.random.uniform(size=(*lead, size)), axis=-1)


ROWS = [
    Row(
        "gather",
        _gather_samples,
        _gather,
        ALL,
        errors=(
            bad(A34, 1, TOO_FAR, error=IndexError, says=("index", "4")),
            bad(A34, 1, COLUMN.astype(float), error=TypeError, says=("index", "float64")),
        ),
        method=True,
    ),
    Row(
        "take_along_dim",
        lambda m: [
            Sample(m(3, 4), m.index(3, 2, below=4), 1),
            Sample(m(3, 4), m.index(1, 4, below=3), dim=0),
            Sample(m(3, 4), m.index(5, below=12)),
        ],
        lambda x, i, dim=None: np.take_along_axis(
            x, np.broadcast_to(i, (*i.shape[:-1], 4)) if dim == 0 else i, dim
        ),
        ALL,
        method=True,
    ),
    Row(
        "take",
        lambda m: [Sample(m(3, 4), m.index(2, 3, below=12)), Sample(m(3), np.array([-1, 0]))],
        lambda x, i: x.reshape(-1)[i],
        ALL,
        errors=(bad(A34, np.array([12]), error=IndexError, says=("12",)),),
        method=True,
    ),
    Row(
        "index_select",
        lambda m: [
            Sample(m(3, 4), 0, m.index(5, below=3)),
            Sample(m(3, 4), -1, m.index(2, below=4)),
            Sample(m(3, 4), 1, m.index(0, below=4)),
        ],
        lambda x, dim, i: np.take(x, i, axis=dim),
        ALL,
        errors=(bad(A34, 0, np.array([3]), error=IndexError, says=("index", "3")),),
        method=True,
    ),
    Row(
        "scatter",
        lambda m: [
            Sample(m(3, 5), 1, _permuted(m, 5, 3)[:, :2], m(3, 2)),
            Sample(m(3, 5), 1, _permuted(m, 5, 3)[:, :2], 1.0 if m.dtype != "bool" else 1),
            Sample(m(4, 2), 0, np.array([[0, 3]]), m(2, 2)),
        ],
        _put(_assign),
        ALL,
        errors=(bad(A34, 1, TOO_FAR, A34, error=IndexError, says=("index", "4")),),
        method=True,
        in_place=True,
    ),
    Row(
        "scatter_add",
        lambda m: [
            Sample(m(3, 4), 1, m.index(3, 6, below=4), m(3, 6)),
            Sample(m(3, 4), 0, m.index(2, 3, below=3), m(4, 4)),
        ],
        _put(_add),
        NUMBER,
        errors=(bad(A34, 1, TOO_FAR, A34, error=IndexError, says=("index", "4")),),
        method=True,
        in_place=True,
        tolerance=2,
    ),
    Row(
        "scatter_reduce",
        lambda m: (
            [
                Sample(
                    m.spread(3, 4), 1, m.index(3, 3, below=4), m.spread(3, 3, step=0.3), reduce=r
                )
                for r in ("sum", "prod", "amax", "amin")
            ]
            + [
                Sample(
                    m.spread(3, 4),
                    1,
                    m.index(3, 3, below=4),
                    m.spread(3, 3, step=0.3),
                    reduce="sum",
                    include_self=False,
                )
            ]
        ),
        _put(_combine),
        ("float64", "float32", "int64"),
        method=True,
        in_place=True,
        order=1,
    ),
    Row(
        "index_add",
        lambda m: [
            Sample(m(3, 4), 0, m.index(5, below=3), m(5, 4)),
            Sample(m(3, 4), 1, m.index(2, below=4), m(3, 2), alpha=2),
        ],
        _index_add,
        NUMBER,
        errors=(
            bad(A34, 0, np.array([3]), np.ones((1, 4)), error=IndexError, says=("index", "3")),
        ),
        method=True,
        in_place=True,
        tolerance=2,
    ),
    Row(
        "index_copy",
        lambda m: [
            Sample(m(3, 4), 0, np.array([2, 0]), m(2, 4)),
            Sample(m(3, 4), 1, np.array([3]), m(3, 1)),
        ],
        lambda x, d, i, s: _along(x, d, i, s, lambda a, b: b),
        ALL,
        method=True,
        in_place=True,
    ),
    Row(
        "index_fill",
        lambda m: [
            Sample(m(3, 4), 0, np.array([2, 0]), 1.0 if m.dtype != "bool" else 1),
            Sample(m(3, 4), 1, np.array([3]), m()),
        ],
        lambda x, d, i, v: _along(x, d, i, v, lambda a, b: b),
        ALL,
        method=True,
        in_place=True,
    ),
    Row(
        "index_put",
        lambda m: [
            Sample(m(3, 4), (np.array([0, 2]), np.array([1, 3])), m(2)),
            Sample(m(3, 4), (np.array([0, 0, 1]),), m(3, 4), accumulate=True),
            Sample(m(3, 4), (m.mask(3, 4),), m()),
        ],
        _index_put,
        NUMBER,
        method=True,
        in_place=True,
    ),
    Row(
        "masked_fill",
        lambda m: [
            Sample(m(3, 4), m.mask(3, 4), 1.0 if m.dtype != "bool" else 1),
            Sample(m(3, 4), m.mask(4), m()),
            Sample(m(0, 2), m.mask(0, 2), 1),
        ],
        lambda x, mask, v: np.where(mask, np.asarray(v).astype(x.dtype), x),
        ALL,
        errors=(
            bad(A34, np.ones((5, 6), bool), 0.0, error=ValueError, says=("(3, 4)", "(5, 6)")),
            bad(A34, A34, 0.0, error=TypeError, says=("mask", "bool")),
        ),
        method=True,
        in_place=True,
    ),
    Row(
        "masked_select",
        lambda m: [
            Sample(m(3, 4), m.mask(3, 4)),
            Sample(m(3, 4), m.mask(4)),
            Sample(m(3), np.zeros(3, bool)),
        ],
        lambda x, mask: x[np.broadcast_to(mask, x.shape)],
        ALL,
        errors=(bad(A34, A34, error=TypeError, says=("mask", "bool")),),
        method=True,
    ),
    Row(
        "masked_scatter",
        lambda m: [Sample(m(3, 4), m.mask(3, 4), m(12))],
        _masked_scatter,
        ALL,
        method=True,
        in_place=True,
    ),
    Row(
        "where",
        lambda m: [
            Sample(m.mask(3, 4), m(3, 4), m(3, 4)),
            Sample(m.mask(3, 1), m(4), m(2, 1, 1)),
            Sample(m.mask(3), m(3), 1.0 if m.dtype not in ("bool", "int64") else 1),
            Sample(m.mask(3), 0, m(3)),
            Sample(m.mask(), m(), m()),
            Sample(m.mask(0, 2), m(0, 2), m(2)),
        ],
        _where,
        ("float64", "float32", "float16", "bfloat16", "int64"),
        errors=(
            bad(A34 > 0, A34, np.ones((5, 6)), error=ValueError, says=("(3, 4)", "(5, 6)")),
            bad(A34, A34, A34, error=TypeError, says=("condition", "bool")),
        ),
        method=False,
    ),
    Row(
        "nonzero",
        lambda m: [Sample(m(3, 4)), Sample(m(5)), Sample(m(0, 2))],
        np.argwhere,
        ALL,
        order=0,
        method=True,
    ),
    Row("argwhere", lambda m: [Sample(m(3, 4))], np.argwhere, ALL, order=0, method=True),
    Row(
        F + "embedding",
        lambda m: [
            Sample(m.index(2, 3, below=5), m(5, 4)),
            Sample(m.index(below=5), m(5, 2)),
            Sample(m.index(0, below=5), m(5, 2)),
        ],
        _embedding,
        errors=(
            bad(np.array([5]), np.ones((5, 2)), error=IndexError, says=("5",)),
            bad(np.array([0.5]), np.ones((5, 2)), error=TypeError, says=("float64",)),
        ),
    ),
    Row(
        F + "one_hot",
        lambda m: [
            Sample(np.array([[0, 2], [1, 1]])),
            Sample(np.array([0, 1]), num_classes=4),
            Sample(np.array(1), 3),
        ],
        lambda x, num_classes=-1: np.eye(
            num_classes if num_classes > 0 else x.max() + 1, dtype=np.int64
        )[x],
        ("int64",),
        order=0,
        errors=(bad(np.array([3]), 2, error=RuntimeError, says=("num_classes",)),),
    ),
    Row(
        "Tensor.__getitem__",
        lambda m: [
            Sample(m(3, 4), (slice(None), 1)),
            Sample(m(3, 4), (np.array([2, 0, 2]),)),
            Sample(m(3, 4), (m.mask(3, 4),)),
            Sample(m(5, 2), (slice(1, None, 2), None)),
            Sample(m(2, 3, 4), (Ellipsis, np.array([0, 1]), slice(1, 3))),
        ],
        lambda x, i: x[i],
        ALL,
        errors=(
            bad(A34, 3, error=IndexError, says=("3",)),
            bad(A34, (0, 0, 0), error=IndexError, says=("2",)),
        ),
    ),
    Row(
        "Tensor.fill_",
        lambda m: [
            Sample(m(2, 3), 1.0 if m.dtype != "bool" else 1).smooth(0),
            Sample(m(), m()).smooth(0),
        ],
        lambda x, v: np.full(x.shape, v, x.dtype),
        ALL,
        order=0,
    ),
    Row("Tensor.zero_", lambda m: [Sample(m(2, 3)).smooth(0)], np.zeros_like, ALL, order=0),
    Row(
        "Tensor.copy_",
        lambda m: [Sample(m(2, 3), m(3)).smooth(0)],
        lambda x, y: np.broadcast_to(y, x.shape),
        ALL,
        order=0,
        errors=(bad(A34, np.ones(3), error=ValueError, says=("(3, 4)", "(3,)")),),
    ),
]
