"""Rows of the matmul family."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from tests.ops.row import INTEGER, Row, Sample, bad

F = "nn.functional."
A34, A56 = np.ones((3, 4)), np.ones((5, 6))
PRODUCTS = ("float64", "float32", "float16", "bfloat16", *INTEGER)
WRONG_INNER = bad(A34, A56, error=ValueError, says=("(3, 4)", "(5, 6)"))
MIXED = bad(A34, A34.T.astype(np.float32), error=RuntimeError, says=("float64", "float32"))


def _linear(x, weight, bias=None):
    return x @ weight.T + (0 if bias is None else bias)


def _added(product):
    return lambda base, left, right, beta=1, alpha=1: beta * base + alpha * product(left, right)


def _attention(query, key, value, attn_mask=None, is_causal=False, scale=None):
    factor = 1 / np.sqrt(query.shape[-1]) if scale is None else scale
    scores = query @ np.swapaxes(key, -1, -2) * factor
    if is_causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    if attn_mask is not None:
        scores = (
            np.where(attn_mask, scores, -np.inf) if attn_mask.dtype == bool else scores + attn_mask
        )
    return softmax(scores, -1) @ value


def _matmul_samples(make):
    shapes = [
        ((3, 4), (4, 2)),
        ((4,), (4,)),
        ((3, 4), (4,)),
        ((4,), (4, 2)),
        ((2, 3, 4), (2, 4, 2)),
        ((2, 1, 3, 4), (5, 4, 2)),
        ((2, 3, 4), (4,)),
        ((2, 3, 4), (4, 2)),
        ((1, 4), (4, 5)),
        ((0, 4), (4, 2)),
        ((3, 0), (0, 2)),
        ((17, 9), (9, 33)),
    ]
    return [Sample(make(*left), make(*right)) for left, right in shapes]


def _einsum_samples(make):
    return [
        Sample("ij,jk->ik", make(2, 3), make(3, 4)),
        Sample("bij,bjk", make(2, 2, 3), make(2, 3, 2)),
        Sample("ii->i", make(3, 3)),
        Sample("ij->j", make(3, 4)),
        Sample("i,j,k->ijk", make(2), make(3), make(2)),
        Sample("...ij,...jk->...ik", make(2, 2, 3), make(3, 2)),
        Sample("ij,ij->", make(2, 3), make(2, 3)),
        Sample("bhqd,bhkd->bhqk", make(1, 2, 3, 2), make(1, 2, 4, 2)),
    ]


ROWS = [
    Row(
        "matmul",
        _matmul_samples,
        np.matmul,
        PRODUCTS,
        errors=(WRONG_INNER, MIXED, bad(np.ones(()), A34, error=RuntimeError, says=("()",))),
        method=True,
        tolerance=4,
    ),
    Row(
        "mm",
        lambda m: [
            Sample(m(3, 4), m(4, 2)),
            Sample(m(0, 2), m(2, 3)),
            Sample(m(2, 0), m(0, 3)),
            Sample(m(9, 70), m(70, 5)),
        ],
        np.matmul,
        PRODUCTS,
        errors=(WRONG_INNER, MIXED, bad(A34, np.ones(4), error=RuntimeError, says=("(4,)",))),
        method=True,
        tolerance=8,
    ),
    Row(
        "bmm",
        lambda m: [
            Sample(m(2, 3, 4), m(2, 4, 2)),
            Sample(m(0, 3, 4), m(0, 4, 2)),
            Sample(m(2, 3, 0), m(2, 0, 2)),
        ],
        np.matmul,
        PRODUCTS,
        errors=(
            bad(
                np.ones((2, 3, 4)),
                np.ones((3, 4, 2)),
                error=ValueError,
                says=("(2, 3, 4)", "(3, 4, 2)"),
            ),
        ),
        method=True,
        tolerance=4,
    ),
    Row(
        "mv",
        lambda m: [Sample(m(3, 4), m(4)), Sample(m(2, 0), m(0))],
        np.matmul,
        PRODUCTS,
        errors=(bad(A34, np.ones(3), error=ValueError, says=("(3, 4)", "(3,)")),),
        method=True,
        tolerance=4,
    ),
    Row(
        "dot",
        lambda m: [Sample(m(4), m(4)), Sample(m(0), m(0))],
        np.dot,
        PRODUCTS,
        errors=(bad(np.ones(3), np.ones(4), error=ValueError, says=("(3,)", "(4,)")),),
        method=True,
        tolerance=4,
    ),
    Row("vdot", lambda m: [Sample(m(4), m(4))], np.dot, PRODUCTS, method=True, tolerance=4),
    Row(
        "inner",
        lambda m: [Sample(m(4), m(4)), Sample(m(2, 4), m(3, 4)), Sample(m(2, 3), m())],
        np.inner,
        PRODUCTS,
        method=True,
        tolerance=4,
    ),
    Row(
        "outer",
        lambda m: [Sample(m(3), m(4)), Sample(m(0), m(2))],
        np.outer,
        PRODUCTS,
        errors=(bad(A34, np.ones(3), error=RuntimeError, says=("(3, 4)",)),),
        method=True,
    ),
    Row(
        "addmm",
        lambda m: [
            Sample(m(3, 2), m(3, 4), m(4, 2)),
            Sample(m(2), m(3, 4), m(4, 2)),
            Sample(m(3, 1), m(3, 4), m(4, 2), beta=2, alpha=3),
            Sample(m(2, 2), m(2, 0), m(0, 2)),
        ],
        _added(np.matmul),
        PRODUCTS,
        errors=(bad(np.ones(2), A34, A56, error=ValueError, says=("(3, 4)", "(5, 6)")),),
        method=True,
        in_place=True,
        tolerance=4,
    ),
    Row(
        "addmv",
        lambda m: [Sample(m(3), m(3, 4), m(4)), Sample(m(3), m(3, 4), m(4), beta=2, alpha=3)],
        _added(np.matmul),
        PRODUCTS,
        method=True,
        in_place=True,
        tolerance=4,
    ),
    Row(
        "addr",
        lambda m: [Sample(m(3, 2), m(3), m(2)), Sample(m(2), m(3), m(2), beta=2, alpha=3)],
        _added(np.outer),
        PRODUCTS,
        method=True,
        tolerance=4,
    ),
    Row(
        "baddbmm",
        lambda m: [
            Sample(m(2, 3, 2), m(2, 3, 4), m(2, 4, 2)),
            Sample(m(3, 2), m(2, 3, 4), m(2, 4, 2), beta=2, alpha=3),
        ],
        _added(np.matmul),
        PRODUCTS,
        method=True,
        in_place=True,
        tolerance=4,
    ),
    Row(
        "addbmm",
        lambda m: [Sample(m(3, 2), m(2, 3, 4), m(2, 4, 2))],
        _added(lambda a, b: np.matmul(a, b).sum(0).astype(a.dtype)),
        ("float64", "float32", "int64"),
        method=True,
        tolerance=4,
    ),
    Row(
        "linalg.multi_dot",
        lambda m: [Sample([m(2, 3), m(3, 4), m(4, 2)])],
        np.linalg.multi_dot,
        ("float64", "float32"),
        tolerance=4,
    ),
    Row(
        F + "linear",
        lambda m: [
            Sample(m(3, 4), m(2, 4), m(2)),
            Sample(m(2, 3, 4), m(5, 4)),
            Sample(m(4), m(2, 4), m(2)),
            Sample(m(0, 4), m(2, 4), m(2)),
            Sample(m(1, 64), m(33, 64), m(33)),
        ],
        _linear,
        ("float64", "float32", "float16", "bfloat16"),
        errors=(bad(A34, np.ones((2, 5)), error=ValueError, says=("(3, 4)", "(2, 5)")),),
        tolerance=8,
    ),
    Row(
        F + "bilinear",
        lambda m: [Sample(m(3, 2), m(3, 4), m(5, 2, 4), m(5)), Sample(m(2), m(4), m(3, 2, 4))],
        lambda x, y, w, b=0: np.einsum("...i,oij,...j->...o", x, w, y) + b,
        ("float64", "float32"),
        tolerance=4,
    ),
    Row(
        "einsum",
        _einsum_samples,
        np.einsum,
        ("float64", "float32"),
        errors=(
            bad("ij,jk->ik", A34, A56, error=ValueError, says=("(3, 4)", "(5, 6)")),
            bad("ij->k", A34, error=RuntimeError, says=("k",)),
        ),
        tolerance=4,
    ),
    Row(
        "tensordot",
        lambda m: [
            Sample(m(2, 3, 4), m(3, 4, 2)),
            Sample(m(2, 3), m(3, 2), dims=1),
            Sample(m(2, 3), m(2, 4), dims=([0], [0])),
        ],
        lambda x, y, dims=2: np.tensordot(x, y, dims),
        ("float64", "float32", "int64"),
        tolerance=4,
    ),
    Row(
        "kron",
        lambda m: [Sample(m(2, 3), m(3, 2)), Sample(m(2), m(3))],
        np.kron,
        ("float64", "float32", "int64"),
        method=True,
    ),
    Row(
        "cross",
        lambda m: [Sample(m(4, 3), m(4, 3), dim=1), Sample(m(3, 2), m(3, 2), dim=0)],
        lambda x, y, dim: np.cross(x, y, axis=dim),
        ("float64", "float32", "int64"),
        method=True,
    ),
    Row(
        "linalg.cross",
        lambda m: [Sample(m(4, 3), m(4, 3))],
        np.cross,
        ("float64", "float32", "int64"),
    ),
    Row(
        F + "scaled_dot_product_attention",
        lambda m: [
            Sample(m(2, 3, 4), m(2, 5, 4), m(2, 5, 2)),
            Sample(m(1, 2, 3, 4), m(1, 2, 3, 4), m(1, 2, 3, 4), is_causal=True),
            Sample(m(2, 3, 4), m(2, 3, 4), m(2, 3, 4), attn_mask=np.tril(np.ones((3, 3), bool))),
            Sample(m(2, 3), m(2, 3), m(2, 3), attn_mask=m(2, 2), scale=0.3),
        ],
        _attention,
        ("float64", "float32"),
        tolerance=4,
    ),
    Row(
        F + "cosine_similarity",
        lambda m: [
            Sample(m(3, 4), m(3, 4)),
            Sample(m(3, 4), m(4), dim=-1),
            Sample(m(3, 4), m(3, 4), dim=0, eps=1e-4),
        ],
        lambda x, y, dim=1, eps=1e-8: (
            (x * y).sum(dim)
            / (
                np.maximum(np.linalg.norm(x, axis=dim), eps)
                * np.maximum(np.linalg.norm(y, axis=dim), eps)
            )
        ),
        ("float64", "float32"),
        tolerance=2,
    ),
    Row(
        F + "pairwise_distance",
        lambda m: [Sample(m(3, 4), m(3, 4)), Sample(m(3, 4), m(4), p=1.0, keepdim=True)],
        lambda x, y, p=2.0, eps=1e-6, keepdim=False: (
            (np.abs(x - y + eps) ** p).sum(-1, keepdims=keepdim) ** (1 / p)
        ),
        ("float64", "float32"),
        tolerance=2,
    ),
    Row(
        "cdist",
        lambda m: [Sample(m(3, 4), m(2, 4)), Sample(m(2, 3, 2), m(2, 4, 2), p=1.0)],
        lambda x, y, p=2.0: (
            (np.abs(x[..., :, None, :] - y[..., None, :, :]) ** p).sum(-1) ** (1 / p)
        ),
        ("float64", "float32"),
        order=1,
        tolerance=4,
    ),
]
