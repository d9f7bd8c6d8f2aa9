"""Rows of factorisations, linear systems and functions of matrices."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from tests.ops.row import Fixed, Row, Sample, bad

PRECISE = ("float64", "float32")
L = "linalg."
FLAT = bad(np.ones(3), error=RuntimeError, says=("(3,)", "2 dimensions"))
OBLONG = bad(np.ones((2, 3)), error=RuntimeError, says=("(2, 3)", "square"))
WHOLE = bad(np.ones((2, 2), np.int64), error=RuntimeError, says=("int64", "float32"))
SINGULAR = bad(np.ones((2, 2)), error=RuntimeError, says=("singular",))
NAN = bad(np.full((2, 2), np.nan), error=RuntimeError, says=("NaN",))


def _regular(m, *shape):
    """Return matrices far from singular ones."""
    return m(*shape, low=-1, high=1) + m.array(3 * np.eye(*shape[-2:]))


def _symmetric(m, *shape):
    a = m(*shape)
    return a + np.swapaxes(a, -1, -2)


def _positive(m, *shape):
    a = m(*shape)
    return m.array(a @ np.swapaxes(a, -1, -2) + 2 * np.eye(shape[-1]))


def _each(function):
    """Apply a function of one matrix to a batch."""

    def apply(a, *args, **kwargs):
        if a.ndim == 2:
            return function(a, *args, **kwargs)
        results = [apply(one, *args, **kwargs) for one in a]
        if isinstance(results[0], tuple):
            return tuple(np.stack(part) for part in zip(*results, strict=True))
        return np.stack(results)

    return apply


def _squares(m):
    return [Sample(_regular(m, *shape)) for shape in [(3, 3), (2, 4, 4), (1, 1), (2, 0, 0)]]


def _any_shape(m, *args, **kwargs):
    return [
        Sample(m(*shape), *args, **kwargs) for shape in [(3, 3), (4, 2), (2, 2, 3), (0, 2), (3, 0)]
    ]


def _solve(a, b, left=True):
    if not left:
        return np.swapaxes(_solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)
    return np.linalg.solve(a, b[..., None])[..., 0] if b.ndim == 1 else np.linalg.solve(a, b)


def _triangular(a, b, upper, left=True, unitriangular=False):
    a = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        a = np.where(np.eye(a.shape[-1], dtype=bool), 1.0, a)
    return _solve(a, b, left)


@_each
def _lu(a):
    return scipy.linalg.lu(a)


@_each
def _lu_factor(a):
    factors, pivots = scipy.linalg.lu_factor(a)
    return factors, (pivots + 1).astype(np.int32)


def _qr(a, mode="reduced"):
    if mode == "r":
        return np.zeros(0), np.linalg.qr(a, "r")
    return tuple(np.linalg.qr(a, mode))


def _svd(a, full_matrices=True):
    return tuple(np.linalg.svd(a, full_matrices))


def _old_svd(a):
    u, s, vh = np.linalg.svd(a, False)
    return u, s, vh.T


def _cholesky(a, upper=False):
    factor = np.linalg.cholesky(a)
    return np.swapaxes(factor, -1, -2) if upper else factor


def _reflections(a, tau):
    result = np.eye(*a.shape)
    for i in reversed(range(len(tau))):
        v = np.concatenate([np.zeros(i), [1.0], a[i + 1 :, i]])[:, None]
        result = result - tau[i] * v @ (v.T @ result)
    return result


def _multiplied(a, tau, other, left=True, transpose=False):
    q = _reflections(np.hstack([a, np.zeros((3, 1))]), tau)
    q = q.T if transpose else q
    return q @ other if left else other @ q


_SOLVES = {"dtypes": PRECISE, "tolerance": 20}
# Only one triangle is read, and the gradient is that of both: tests/functional/test_factoring.py.
_HALF = {**_SOLVES, "order": 0}
_SIGNS = "the signs of the vectors are free"

FACTORS = [
    Row(
        L + "cholesky",
        lambda m: [
            Sample(_positive(m, 3, 3)),
            Sample(_positive(m, 2, 2, 2), upper=True),
            Sample(m(0, 2, 2)),
        ],
        _cholesky,
        errors=(
            bad(-np.eye(2), error=RuntimeError, says=("positive definite", "order 1")),
            FLAT,
            OBLONG,
            WHOLE,
        ),
        **_HALF,
    ),
    Row(
        L + "cholesky_ex",
        lambda m: [Sample(_positive(m, 3, 3)), Sample(_positive(m, 2, 2, 2))],
        lambda a: (np.linalg.cholesky(a), np.zeros(a.shape[:-2], np.int32)),
        errors=(OBLONG,),
        **_HALF,
    ),
    Row(
        "cholesky",
        lambda m: [Sample(_positive(m, 3, 3)), Sample(_positive(m, 2, 2, 2), True)],
        _cholesky,
        method=True,
        **_HALF,
    ),
    Row(
        L + "lu",
        lambda m: [Sample(m(*shape)) for shape in [(3, 3), (4, 2), (2, 2, 3)]],
        _lu,
        errors=(FLAT, WHOLE),
        **_SOLVES,
    ),
    Row(L + "lu_factor", lambda m: [Sample(m(3, 3)), Sample(m(2, 2, 2))], _lu_factor, **_SOLVES),
    Row(
        L + "lu_factor_ex",
        lambda m: [Sample(m(3, 3)), Sample(m(2, 2, 2))],
        lambda a: (*_lu_factor(a), np.zeros(a.shape[:-2], np.int32)),
        **_SOLVES,
    ),
    Row(
        "lu_unpack",
        lambda m: [Sample(m(3, 3), Fixed(np.array([2, 3, 3], np.int32)))],
        lambda a, _: (
            np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0.0]]),
            np.tril(a, -1) + np.eye(3),
            np.triu(a),
        ),
        PRECISE,
    ),
    Row(
        L + "qr",
        lambda m: [
            *_any_shape(m),
            Sample(m(2, 2, 3), "complete"),
            Sample(m(3, 3), "complete"),
        ],
        _qr,
        errors=(FLAT, WHOLE, bad(np.eye(2), "x", error=RuntimeError, says=("mode", "'x'"))),
        **_SOLVES,
    ),
    Row(
        L + "qr",
        lambda m: [
            Sample(m(3, 2), "complete"),
            Sample(m(2, 3, 2), "r"),
            Sample(m(2, 0), "complete"),
        ],
        _qr,
        PRECISE,
        order=0,
        tolerance=20,
        tags=("without a gradient",),
    ),
    Row(
        "qr",
        lambda m: [Sample(m(4, 2)), Sample(m(3, 3), False)],
        lambda a, some=True: _qr(a, "reduced" if some else "complete"),
        method=True,
        **_SOLVES,
    ),
    Row(
        L + "eigh",
        lambda m: [Sample(_symmetric(m, 3, 3)), Sample(_symmetric(m, 2, 4, 4)), Sample(m(2, 0, 0))],
        lambda a: tuple(np.linalg.eigh(a)),
        errors=(
            OBLONG,
            bad(np.eye(2), "x", error=RuntimeError, says=("UPLO", "'x'")),
        ),
        oracle=_SIGNS,
        **_HALF,
    ),
    Row(
        L + "eigvalsh",
        lambda m: [Sample(_symmetric(m, 3, 3)), Sample(_symmetric(m, 2, 4, 4), "U")],
        lambda a, side="L": np.linalg.eigvalsh(a, side),
        errors=(OBLONG,),
        **_HALF,
    ),
    Row(
        L + "svd",
        lambda m: [
            *_any_shape(m, full_matrices=False),
            Sample(m(3, 3)),
            Sample(m(4, 2)).smooth(0),
            Sample(m(2, 3, 0)).smooth(0),
        ],
        _svd,
        errors=(FLAT, WHOLE, NAN),
        oracle=_SIGNS,
        **_SOLVES,
    ),
    Row(
        "svd",
        lambda m: [Sample(m(3, 3)), Sample(m(4, 2))],
        _old_svd,
        method=True,
        oracle=_SIGNS,
        **_SOLVES,
    ),
    Row(
        L + "svdvals",
        _any_shape,
        lambda a: np.linalg.svd(a, False, False),
        errors=(NAN,),
        **_SOLVES,
    ),
]

SYSTEMS = [
    Row(
        L + "solve",
        lambda m: [
            Sample(_regular(m, 3, 3), m(3)),
            Sample(_regular(m, 3, 3), m(3, 2)),
            Sample(_regular(m, 2, 3, 3), m(3, 2)),
            Sample(_regular(m, 3, 3), m(2, 4, 3), left=False),
            Sample(m(0, 0), m(0, 2)),
        ],
        _solve,
        errors=(
            bad(np.ones((2, 2)), np.ones(2), error=RuntimeError, says=("singular",)),
            bad(np.eye(2), np.ones((3, 1)), error=RuntimeError, says=("(2, 2)", "(3, 1)")),
            bad(np.eye(2), np.ones(2, np.float32), error=RuntimeError, says=("dtype",)),
            bad(np.ones((2, 3)), np.ones(2), error=RuntimeError, says=("square",)),
        ),
        **_SOLVES,
    ),
    Row(
        L + "solve_ex",
        lambda m: [Sample(_regular(m, 2, 3, 3), m(2, 3, 2))],
        lambda a, b: (_solve(a, b), np.zeros(2, np.int32)),
        **_SOLVES,
    ),
    Row(
        L + "solve_triangular",
        lambda m: [
            Sample(_regular(m, 3, 3), m(3, 2), upper=True),
            Sample(_regular(m, 2, 3, 3), m(3, 2), upper=False),
            Sample(_regular(m, 3, 3), m(2, 4, 3), upper=True, left=False),
            Sample(_regular(m, 3, 3), m(3, 2), upper=False, unitriangular=True),
            Sample(m(0, 0), m(0, 2), upper=True),
        ],
        _triangular,
        errors=(bad(np.eye(2), np.ones((3, 1)), upper=True, error=RuntimeError, says=("(3, 1)",)),),
        **_SOLVES,
    ),
    Row(
        "triangular_solve",
        lambda m: [
            Sample(m(3, 2), _regular(m, 3, 3)),
            Sample(m(3, 2), _regular(m, 3, 3), False, True),
        ],
        lambda b, a, upper=True, transpose=False: (
            np.linalg.solve(
                (np.triu(a) if upper else np.tril(a)).swapaxes(-1, -2) if transpose else np.triu(a),
                b,
            ),
            a,
        ),
        method=True,
        **_SOLVES,
    ),
    *(
        Row(
            name,
            _squares,
            np.linalg.inv,
            errors=(FLAT, OBLONG, WHOLE, SINGULAR),
            method=method,
            **_SOLVES,
        )
        for name, method in ((L + "inv", False), ("inverse", True))
    ),
    Row(
        L + "inv_ex",
        lambda m: [Sample(_regular(m, 2, 3, 3))],
        lambda a: (np.linalg.inv(a), np.zeros(a.shape[:-2], np.int32)),
        **_SOLVES,
    ),
    *(
        Row(name, _squares, np.linalg.det, errors=(OBLONG,), method=method, **_SOLVES)
        for name, method in ((L + "det", False), ("det", True))
    ),
    *(
        Row(
            name,
            _squares,
            lambda a: tuple(np.linalg.slogdet(a)),
            errors=(OBLONG,),
            method=method,
            **_SOLVES,
        )
        for name, method in ((L + "slogdet", False), ("slogdet", True))
    ),
    Row(
        "logdet",
        lambda m: [Sample(_positive(m, 3, 3)), Sample(m.array([[0.0, 1.0], [1.0, 0.0]])).smooth(0)],
        lambda a: np.where(np.linalg.det(a) < 0, np.nan, np.linalg.slogdet(a)[1]),
        method=True,
        **_SOLVES,
    ),
    Row(
        L + "lu_solve",
        lambda m: [
            Sample(_regular(m, 3, 3), Fixed(np.array([1, 2, 3], np.int32)), m(3, 2)),
            Sample(_regular(m, 3, 3), Fixed(np.array([2, 3, 3], np.int32)), m(3, 2), adjoint=True),
            Sample(_regular(m, 3, 3), Fixed(np.array([2, 3, 3], np.int32)), m(2, 3), left=False),
        ],
        lambda lu, pivots, b, left=True, adjoint=False: _solve(
            _whole(lu, pivots).T if adjoint else _whole(lu, pivots), b, left
        ),
        **_SOLVES,
    ),
    Row(
        "lu_solve",
        lambda m: [Sample(m(3, 2), _regular(m, 3, 3), Fixed(np.array([3, 2, 3], np.int32)))],
        lambda b, lu, pivots: _solve(_whole(lu, pivots), b),
        method=True,
        **_SOLVES,
    ),
    Row(
        "lu",
        lambda m: [Sample(m(3, 3)), Sample(m(2, 2, 2))],
        _lu_factor,
        **_SOLVES,
    ),
    Row(
        "cholesky_solve",
        lambda m: [
            Sample(m(3, 2), _regular(m, 3, 3)),
            Sample(m(2, 3, 2), _regular(m, 3, 3), True),
        ],
        lambda b, a, upper=False: np.linalg.solve(
            np.triu(a).T @ np.triu(a) if upper else np.tril(a) @ np.tril(a).T, b
        ),
        method=True,
        oracle="PyTorch gives a gradient to the triangle that is not read",
        **_SOLVES,
    ),
    Row(
        "cholesky_inverse",
        lambda m: [Sample(_regular(m, 3, 3)), Sample(_regular(m, 3, 3), True)],
        lambda a, upper=False: np.linalg.inv(
            np.triu(a).T @ np.triu(a) if upper else np.tril(a) @ np.tril(a).T
        ),
        method=True,
        oracle="PyTorch gives a gradient to the triangle that is not read",
        **_SOLVES,
    ),
    Row(
        L + "pinv",
        lambda m: [
            *_any_shape(m)[:3],
            Sample(m(4, 4), rtol=0.4).smooth(0),
            Sample(_symmetric(m, 3, 3), hermitian=True).smooth(0),
            Sample(m(0, 2)),
        ],
        lambda a, hermitian=False, rtol=1e-15: np.linalg.pinv(a, rtol),
        oracle=None,
        errors=(FLAT, NAN),
        **_SOLVES,
    ),
    Row("pinverse", _any_shape, np.linalg.pinv, method=True, **_SOLVES),
    Row(
        L + "matrix_rank",
        lambda m: [
            Sample(m(3, 2)),
            Sample(m.array(np.ones((2, 3, 3)))),
            Sample(m.array(np.diag([3.0, 1.0, 0.1])), atol=0.5),
            Sample(m.array(np.diag([3.0, -1.0, 0.1])), hermitian=True, rtol=0.2),
        ],
        lambda a, hermitian=False, atol=0.0, rtol=1e-6: np.sum(
            np.linalg.svd(a)[1] > max(atol, rtol * np.linalg.svd(a)[1].max()), -1
        ),
        PRECISE,
        order=0,
    ),
    Row(
        L + "tensorinv",
        lambda m: [Sample(m(2, 3, 6)), Sample(m(4, 2, 2), ind=1)],
        lambda a, ind=2: np.linalg.tensorinv(a, ind),
        errors=(bad(np.ones((2, 2)), 0, error=RuntimeError, says=("ind",)),),
        **_SOLVES,
    ),
    Row(
        L + "tensorsolve",
        lambda m: [Sample(m(2, 3, 6), m(2, 3)), Sample(m(2, 6, 3), m(2, 3), dims=(1,))],
        lambda a, b, dims=None: np.linalg.tensorsolve(a, b, dims),
        **_SOLVES,
    ),
]


def _whole(lu, pivots):
    """Return the matrix that has these LU factors."""
    order = list(range(len(lu)))
    for i, pivot in enumerate(pivots):
        order[i], order[pivot - 1] = order[pivot - 1], order[i]
    result = np.empty_like(lu)
    result[order] = (np.tril(lu, -1) + np.eye(len(lu))) @ np.triu(lu)
    return result


def _powers(m):
    return [Sample(_regular(m, 2, 3, 3), n) for n in (1, 2, 5, -2)] + [Sample(_regular(m, 2, 2), 0)]


FUNCTIONS = [
    *(
        Row(
            name,
            _powers,
            np.linalg.matrix_power,
            method=method,
            errors=(bad(np.ones((2, 3)), 2, error=RuntimeError, says=("square",)),),
            **_SOLVES,
        )
        for name, method in ((L + "matrix_power", False), ("matrix_power", True))
    ),
    *(
        Row(
            name,
            lambda m: [Sample(m(3, 3)), Sample(m(2, 2, 2)), Sample(m(0, 2, 2))],
            lambda a: scipy.linalg.expm(a) if a.size else a,
            method=method,
            errors=(OBLONG,),
            **_SOLVES,
        )
        for name, method in ((L + "matrix_exp", False), ("matrix_exp", True))
    ),
    Row(
        L + "cond",
        lambda m: (
            [Sample(_regular(m, 3, 3))]
            + [
                Sample(_regular(m, 2, 3, 3), p)
                for p in (2, -2, "fro", "nuc", 1, -1, np.inf, -np.inf)
            ]
        ),
        _each(lambda a, p=None: np.asarray(np.linalg.cond(a, p))),
        errors=(bad(np.ones((2, 3)), 1, error=RuntimeError, says=("square",)),),
        **_SOLVES,
    ),
    *(
        Row(
            name,
            lambda m: [Sample(m(4, 3), m(3)), Sample(m(3, 3), m(2))],
            _reflections,
            method=method,
            errors=(bad(np.ones((2, 3)), np.ones(2), error=RuntimeError, says=("(2, 3)",)),),
            **_SOLVES,
        )
        for name, method in ((L + "householder_product", False), ("orgqr", True))
    ),
    Row(
        "ormqr",
        lambda m: [
            Sample(m(3, 2), m(2), m(3, 4)),
            Sample(m(3, 2), m(2), m(3, 4), True, True),
            Sample(m(3, 2), m(2), m(4, 3), False),
        ],
        _multiplied,
        method=True,
        **_SOLVES,
    ),
    Row(
        L + "vander",
        lambda m: [Sample(m(3)), Sample(m(2, 3), N=4)],
        lambda x, N=None: x[..., None] ** np.arange(x.shape[-1] if N is None else N),
        (*PRECISE, "int64"),
    ),
    Row(
        "vander",
        lambda m: [Sample(m(3)), Sample(m(3), 2), Sample(m(3), increasing=True)],
        np.vander,
        (*PRECISE, "int64"),
    ),
    Row(
        L + "vecdot",
        lambda m: [
            Sample(m(2, 3), m(2, 3)),
            Sample(m(2, 3), m(3)),
            Sample(m(3, 2), m(3, 1), dim=0),
        ],
        lambda x, y, dim=-1: (x * y).sum(dim),
        PRECISE,
    ),
    Row(
        L + "diagonal",
        lambda m: [
            Sample(m(3, 4)),
            Sample(m(2, 3, 4), offset=1),
            Sample(m(2, 3, 4), dim1=0, dim2=2),
        ],
        lambda a, offset=0, dim1=-2, dim2=-1: np.diagonal(a, offset, dim1, dim2),
    ),
    Row(
        "chain_matmul",
        lambda m: [Sample(m(2, 3), m(3, 4), m(4, 2))],
        lambda a, b, c: a @ b @ c,
        PRECISE,
        tolerance=4,
    ),
]

ROWS = [*FACTORS, *SYSTEMS, *FUNCTIONS]
