"""Rows of losses."""

from __future__ import annotations

import numpy as np
from scipy import special

from tests.ops.row import Fixed, Row, Sample, bad

F = "nn.functional."
PRECISE = ("float64", "float32")
A34, A56 = np.ones((3, 4)), np.ones((5, 6))
BAD_REDUCTION = bad(A34, A34, reduction="most", error=ValueError, says=("reduction", "most"))


def _reduced(values, reduction="mean"):
    return {"mean": np.mean, "sum": np.sum, "none": np.asarray}[reduction](values)


def _elementwise(function):
    def reference(x, y, reduction="mean", **kwargs):
        return _reduced(function(x, y, **kwargs), reduction)

    return reference


def _pairs(low=-3.0, high=3.0, fixed=False, **kwargs):
    """Predictions and targets, in each reduction."""

    def build(make):
        def target(*shape):
            values = make(*shape, low=low, high=high)
            return Fixed(values) if fixed else values

        return [
            Sample(make(3, 4, low=low, high=high), target(3, 4), **kwargs),
            Sample(make(5, low=low, high=high), target(5), reduction="sum", **kwargs),
            Sample(make(2, 3, low=low, high=high), target(2, 3), reduction="none", **kwargs),
            Sample(make(low=low, high=high), target(), **kwargs),
        ]

    return build


def _smooth_l1(x, y, beta=1.0):
    gap = np.abs(x - y)
    return np.where(gap < beta, 0.5 * gap**2 / beta, gap - 0.5 * beta) if beta else gap


def _huber(x, y, delta=1.0):
    gap = np.abs(x - y)
    return np.where(gap < delta, 0.5 * gap**2, delta * (gap - 0.5 * delta))


def _nll(log_probabilities, target, weight=None, ignore_index=-100, reduction="mean"):
    x = np.moveaxis(log_probabilities, 1, -1) if log_probabilities.ndim > 1 else log_probabilities
    classes = x.shape[-1]
    weights = np.ones(classes) if weight is None else weight
    kept = target != ignore_index
    safe = np.where(kept, target, 0)
    factor = weights[safe] * kept
    losses = -np.take_along_axis(x, safe[..., None], -1)[..., 0] * factor
    return losses.sum() / factor.sum() if reduction == "mean" else _reduced(losses, reduction)


def _cross_entropy(
    x, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0
):
    axis = 1 if x.ndim > 1 else 0
    logs = special.log_softmax(x, axis)
    classes = x.shape[axis]
    shape = [1] * x.ndim
    shape[axis] = classes
    weights = (np.ones(classes) if weight is None else weight).reshape(shape)
    if target.dtype.kind == "f":
        soft = target * (1 - label_smoothing) + label_smoothing / classes
        losses = -(soft * weights * logs).sum(axis)
        return losses.sum() / (losses.size) if reduction == "mean" else _reduced(losses, reduction)
    hard = _nll(logs, target, weight, ignore_index, reduction)
    if not label_smoothing:
        return hard
    kept = target != ignore_index
    smooth = -(logs * weights).sum(axis) * kept
    if reduction == "mean":
        flat = weights.reshape(-1)
        smooth = smooth.sum() / (flat[np.where(kept, target, 0)] * kept).sum()
    else:
        smooth = _reduced(smooth, reduction)
    return (1 - label_smoothing) * hard + label_smoothing / classes * smooth


def _class_samples(make):
    target = make.index(4, below=3)
    ignored = np.array([0, 1, -100, 2])
    return [
        Sample(make(4, 3), target),
        Sample(make(4, 3), target, weight=Fixed(make(3, low=0.5))),
        Sample(make(4, 3), ignored),
        Sample(make(4, 3), np.array([0, 1, 1, 2]), ignore_index=1, reduction="sum"),
        Sample(make(2, 3, 4), make.index(2, 4, below=3), reduction="none"),
        Sample(make(3), np.array(1)),
    ]


def _bce(x, y, weight=1.0):
    return -weight * (y * np.log(x) + (1 - y) * np.log(1 - x))


def _bce_logits(x, y, weight=1.0, pos_weight=1.0):
    return weight * (pos_weight * y * np.logaddexp(0, -x) + (1 - y) * np.logaddexp(0, x))


def _kl(x, y, log_target=False):
    return np.exp(y) * (y - x) if log_target else special.xlogy(y, y) - y * x


def _kl_div(x, y, reduction="mean", log_target=False):
    values = _kl(x, y, log_target)
    return values.sum() / x.shape[0] if reduction == "batchmean" else _reduced(values, reduction)


def _gaussian(x, y, var, full=False, eps=1e-6, reduction="mean"):
    var = np.maximum(var, eps)
    values = 0.5 * (np.log(var) + (x - y) ** 2 / var) + (0.5 * np.log(2 * np.pi) if full else 0)
    return _reduced(values, reduction)


def _poisson(x, y, log_input=True, full=False, eps=1e-8, reduction="mean"):
    values = np.exp(x) - y * x if log_input else x - y * np.log(x + eps)
    if full:
        values = values + np.where(y > 1, y * np.log(y) - y + 0.5 * np.log(2 * np.pi * y), 0)
    return _reduced(values, reduction)


def _signs(make, *shape):
    return Fixed(np.where(make.random.uniform(size=shape) < 0.5, -1, 1).astype(make(1).dtype))


def _triplet(a, p, n, margin=1.0, reduction="mean"):
    def distance(u, v):
        return np.linalg.norm(u - v + 1e-6, axis=-1)

    return _reduced(np.maximum(distance(a, p) - distance(a, n) + margin, 0), reduction)


def _cosine_embedding(x, y, target, margin=0.0, reduction="mean"):
    # PyTorch adds a small number to the squared lengths.
    cosine = (x * y).sum(-1) / np.sqrt(((x * x).sum(-1) + 1e-12) * ((y * y).sum(-1) + 1e-12))
    return _reduced(np.where(target == 1, 1 - cosine, np.maximum(0, cosine - margin)), reduction)


ROWS = [
    Row(
        F + "mse_loss",
        _pairs(),
        _elementwise(lambda x, y: (x - y) ** 2),
        PRECISE,
        errors=(BAD_REDUCTION, bad(A34, A56, error=ValueError, says=("(3, 4)", "(5, 6)"))),
    ),
    Row(
        F + "l1_loss",
        _pairs(),
        _elementwise(lambda x, y: np.abs(x - y)),
        PRECISE,
        errors=(BAD_REDUCTION,),
    ),
    Row(
        F + "smooth_l1_loss",
        lambda m: _pairs()(m) + _pairs(beta=0.5)(m)[:1],
        _elementwise(_smooth_l1),
        PRECISE,
        errors=(BAD_REDUCTION,),
    ),
    Row(
        F + "huber_loss",
        lambda m: _pairs()(m) + _pairs(delta=0.5)(m)[:1],
        _elementwise(_huber),
        PRECISE,
        errors=(BAD_REDUCTION,),
    ),
    Row(
        F + "cross_entropy",
        lambda m: (
            [
                *_class_samples(m),
                Sample(m(4, 3), m.index(4, below=3), label_smoothing=0.2),
                Sample(m(4, 3), Fixed(m(4, 3, low=0.1, high=1))),
                Sample(
                    m(4, 3),
                    np.array([0, 2, -100, 1]),
                    weight=Fixed(m(3, low=0.5)),
                    label_smoothing=0.1,
                ),
            ]
        ),
        _cross_entropy,
        PRECISE,
        errors=(
            bad(A34, np.array([0, 1, 4]), error=IndexError, says=("4",)),
            bad(A34, np.array([0, 1]), error=ValueError, says=("(3, 4)", "(2,)")),
        ),
        tolerance=2,
    ),
    Row(
        F + "nll_loss",
        _class_samples,
        _nll,
        PRECISE,
        errors=(bad(A34, np.array([0, 1, 4]), error=IndexError, says=("4",)),),
    ),
    Row(
        F + "binary_cross_entropy",
        lambda m: [
            *_pairs(0.1, 0.9)(m),
            Sample(m(3, 4, low=0.1, high=0.9), m(3, 4, low=0, high=1), weight=Fixed(m(4, low=0.5))),
        ],
        _elementwise(_bce),
        PRECISE,
        errors=(bad(A34, A56, error=ValueError, says=("(3, 4)", "(5, 6)")),),
        tolerance=2,
    ),
    Row(
        F + "binary_cross_entropy_with_logits",
        lambda m: [
            *_pairs()(m),
            Sample(
                m(3, 4),
                m(3, 4, low=0, high=1),
                weight=Fixed(m(4, low=0.5)),
                pos_weight=Fixed(m(4, low=0.5)),
            ),
        ],
        _elementwise(_bce_logits),
        PRECISE,
        errors=(bad(A34, A56, error=ValueError, says=("(3, 4)", "(5, 6)")),),
        tolerance=2,
    ),
    Row(
        F + "kl_div",
        lambda m: [
            Sample(m(3, 4), m(3, 4, low=0.2), reduction="batchmean"),
            Sample(m(3, 4), m(3, 4, low=0.2), reduction="sum"),
            Sample(m(2, 3), m(2, 3), reduction="none", log_target=True),
        ],
        _kl_div,
        PRECISE,
        tolerance=2,
    ),
    Row(
        F + "gaussian_nll_loss",
        lambda m: [
            Sample(m(3, 4), m(3, 4), m(3, 4, low=0.5)),
            Sample(m(3), m(3), m(3, low=0.5), full=True, reduction="none"),
        ],
        _gaussian,
        PRECISE,
    ),
    Row(
        F + "poisson_nll_loss",
        lambda m: [
            Sample(m(3, 4), Fixed(m(3, 4, low=0.1))),
            Sample(m(3, low=0.5), Fixed(m(3, low=0.1)), log_input=False, reduction="sum"),
            Sample(m(3), Fixed(m(3, low=0.1)), full=True),
        ],
        _poisson,
        PRECISE,
    ),
    Row(
        F + "soft_margin_loss",
        lambda m: [Sample(m(3, 4), _signs(m, 3, 4)), Sample(m(3), _signs(m, 3), reduction="none")],
        _elementwise(lambda x, y: np.log1p(np.exp(-y * x))),
        PRECISE,
    ),
    Row(
        F + "hinge_embedding_loss",
        lambda m: [
            Sample(m(3, 4), _signs(m, 3, 4)),
            Sample(m(3), _signs(m, 3), margin=0.5, reduction="sum"),
        ],
        _elementwise(lambda x, y, margin=1.0: np.where(y == 1, x, np.maximum(0, margin - x))),
        PRECISE,
    ),
    Row(
        F + "margin_ranking_loss",
        lambda m: [
            Sample(m(4), m(4), _signs(m, 4)),
            Sample(m(4), m(4), _signs(m, 4), margin=0.5, reduction="sum"),
        ],
        lambda x, y, t, margin=0.0, reduction="mean": _reduced(
            np.maximum(0, -t * (x - y) + margin), reduction
        ),
        PRECISE,
    ),
    Row(
        F + "cosine_embedding_loss",
        lambda m: [
            Sample(m(4, 3), m(4, 3), _signs(m, 4)),
            Sample(m(4, 3), m(4, 3), _signs(m, 4), margin=0.2, reduction="none"),
        ],
        _cosine_embedding,
        PRECISE,
        tolerance=2,
    ),
    Row(
        F + "triplet_margin_loss",
        lambda m: [
            Sample(m(4, 3), m(4, 3), m(4, 3)),
            Sample(m(4, 3), m(4, 3), m(4, 3), margin=2.0, reduction="sum"),
        ],
        _triplet,
        PRECISE,
        tolerance=2,
    ),
]
