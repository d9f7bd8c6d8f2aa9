"""Rows of functions that are composed of others: statistics, special functions, losses, volumes."""

from __future__ import annotations

import math

import numpy as np
from scipy import integrate, special
from scipy.spatial import distance

from tests.ops.row import ALL, FLOAT, Fixed, Row, Sample, bad
from tests.ops.rows.convolution import PRECISE
from tests.ops.rows.convolution import _adaptive as adaptive
from tests.ops.rows.convolution import _avg_pool as avg_pool
from tests.ops.rows.convolution import _conv as conv
from tests.ops.rows.convolution import _conv_transpose as conv_transpose
from tests.ops.rows.convolution import _max_pool as max_pool

F = "nn.functional."


def _reduced(values, reduction):
    return {"mean": np.mean, "sum": np.sum, "none": lambda x: x}[reduction](values)


# ---- statistics ----------------------------------------------------------------------------------


def _trapezoid(y, x=None, dx=1.0, dim=-1):
    return integrate.trapezoid(y, x, dx, dim)


def _cumulative(y, x=None, dx=1.0, dim=-1):
    return integrate.cumulative_trapezoid(y, x, dx, dim)


def _cov(x, correction=1, fweights=None, aweights=None):
    return np.cov(x, ddof=correction, fweights=fweights, aweights=aweights)


def _renorm(x, p, dim, maxnorm):
    axes = tuple(i for i in range(x.ndim) if i != dim)
    norms = (np.abs(x) ** p).sum(axes, keepdims=True) ** (1 / p)
    return x * np.where(norms > maxnorm, maxnorm / (norms + 1e-7), 1.0)


def _sum_to(x, size):
    extra = x.ndim - len(size)
    x = x.sum(tuple(range(extra)))
    return x.sum(tuple(i for i, n in enumerate(size) if n == 1), keepdims=True)


def _put(x, index, source, accumulate=False):
    result = x.reshape(-1).copy()
    if accumulate:
        np.add.at(result, index.reshape(-1), source.reshape(-1))
    else:
        result[index.reshape(-1)] = source.reshape(-1)
    return result.reshape(x.shape)


def _nanquantile(x, q, dim=None, keepdim=False, interpolation="linear"):
    return np.nanquantile(x, q, dim, keepdims=keepdim, method=interpolation)


def _with_holes(m, *shape):
    values = m.spread(*shape)
    values[tuple(0 for _ in shape)] = np.nan
    return values


STATISTICS = (
    *(
        Row(
            name,
            lambda m: [
                Sample(m(3, 5)),
                Sample(m(3, 5), dx=0.5, dim=0),
                Sample(m(3, 5), Fixed(np.sort(m(5)))),
            ],
            _trapezoid,
        )
        for name in ("trapezoid", "trapz")
    ),
    Row(
        "cumulative_trapezoid",
        lambda m: [Sample(m(3, 5)), Sample(m(3, 5), dx=0.5, dim=0), Sample(m(4), m(4))],
        _cumulative,
    ),
    Row(
        "cov",
        lambda m: [
            Sample(m(3, 5)),
            Sample(m(5), correction=0),
            Sample(m(2, 4), fweights=Fixed(np.array([1, 2, 1, 3]))),
            Sample(m(2, 4), aweights=Fixed(np.array([0.5, 1.0, 2.0, 0.1]).astype(m(1).dtype))),
        ],
        _cov,
        PRECISE,
        method=True,
        tolerance=4,
        errors=(bad(np.ones((2, 2, 2)), error=RuntimeError, says=("2",)),),
    ),
    Row("corrcoef", lambda m: [Sample(m(3, 6))], np.corrcoef, PRECISE, method=True, tolerance=4),
    Row(
        "diagflat",
        lambda m: [Sample(m(2, 2)), Sample(m(3), 1), Sample(m(3), -2)],
        np.diagflat,
        ALL,
        method=True,
    ),
    Row(
        "ldexp",
        lambda m: [Sample(m(3, 4), Fixed(m.index(4, below=4)))],
        lambda x, n: x * 2.0**n,
        PRECISE,
        method=True,
    ),
    Row(
        "renorm",
        lambda m: [Sample(m(3, 4), 2, 0, 2.0), Sample(m(3, 4), 1, 1, 1.5)],
        _renorm,
        PRECISE,
        method=True,
    ),
    Row(
        "Tensor.sum_to_size",
        lambda m: [Sample(m(2, 3, 4), (3, 1)), Sample(m(2, 3), (2, 3))],
        _sum_to,
        errors=(bad(np.ones((3, 4)), (2, 4), error=RuntimeError, says=("(3, 4)", "(2, 4)")),),
    ),
    Row(
        "nanquantile",
        lambda m: [
            Sample(_with_holes(m, 5), 0.5),
            Sample(_with_holes(m, 3, 4), 0.3, 1, True),
            Sample(_with_holes(m, 3, 4), 0.7, 0, interpolation="lower"),
        ],
        _nanquantile,
        PRECISE,
        order=0,
        method=True,
    ),
    Row(
        "unravel_index",
        lambda m: [Sample(Fixed(m.index(5, below=12)), (3, 4))],
        lambda index, shape: list(np.unravel_index(index, shape)),
        ("int64",),
        order=0,
    ),
    Row(
        "put",
        lambda m: [
            Sample(m(3, 4), Fixed(np.array([0, 5, 11])), m(3)),
            Sample(m(3, 4), Fixed(np.array([1, 1, -1])), m(3), accumulate=True),
        ],
        _put,
        PRECISE,
        method=True,
    ),
    Row(
        "mvlgamma",
        lambda m: [Sample(m(3, low=2.5, high=5.0), 3), Sample(m(low=1.0, high=2.0), 1)],
        lambda x, p: (
            special.multigammaln(x, p)
            if x.ndim == 0
            else np.array([special.multigammaln(each, p) for each in x])
        ),
        PRECISE,
        method=True,
    ),
)

# ---- real numbers --------------------------------------------------------------------------------

REAL = (
    *(
        Row(name, lambda m: [Sample(m(2, 3))], np.asarray, ALL, method=True)
        for name in ("real", "conj", "resolve_conj", "resolve_neg")
    ),
    Row("conj_physical", lambda m: [Sample(m(2, 3))], np.copy, ALL, method=True),
    Row("angle", lambda m: [Sample(m(2, 3, gap=0.2))], np.angle, PRECISE, method=True),
    *(
        Row(name, lambda m: [Sample(m(2))], lambda x: False, ALL, order=0, method=True)
        for name in ("is_conj", "is_neg")
    ),
)

# ---- special functions ---------------------------------------------------------------------------


def _degrees(name, reference, low=-1.0, high=1.0):
    return Row(
        f"special.{name}",
        lambda m: [
            Sample(m(3, 4, low=low, high=high), Fixed(np.array([0, 1, 2, 5]))),
            Sample(m(3, low=low, high=high), 3),
        ],
        reference,
        PRECISE,
        order=0,
        oracle="PyTorch's are not differentiable",
    )


def _kind(k):
    """Chebyshev polynomials of the third and fourth kind, from their sines and cosines."""

    def reference(x, n):
        angle = np.arccos(x)
        if k == "v":
            return np.cos((n + 0.5) * angle) / np.cos(angle / 2)
        return np.sin((n + 0.5) * angle) / np.sin(angle / 2)

    return reference


SPECIAL = (
    Row("special.entr", lambda m: [Sample(m(3, 4, low=0.1))], special.entr),
    Row("special.ndtr", lambda m: [Sample(m(3, 4))], special.ndtr),
    Row(
        "special.xlog1py",
        lambda m: [Sample(m(3, 4, gap=0.2), m(3, 4, low=-0.5))],
        special.xlog1py,
    ),
    _degrees("chebyshev_polynomial_t", lambda x, n: special.eval_chebyt(n, x)),
    _degrees("chebyshev_polynomial_u", lambda x, n: special.eval_chebyu(n, x)),
    _degrees("chebyshev_polynomial_v", _kind("v"), -0.9, 0.9),
    _degrees("chebyshev_polynomial_w", _kind("w"), -0.9, 0.9),
    _degrees("hermite_polynomial_h", lambda x, n: special.eval_hermite(n, x)),
    _degrees("hermite_polynomial_he", lambda x, n: special.eval_hermitenorm(n, x)),
    _degrees("laguerre_polynomial_l", lambda x, n: special.eval_laguerre(n, x)),
    _degrees("legendre_polynomial_p", lambda x, n: special.eval_legendre(n, x)),
    _degrees("shifted_chebyshev_polynomial_t", lambda x, n: special.eval_sh_chebyt(n, x), 0.0),
    _degrees("shifted_chebyshev_polynomial_u", lambda x, n: special.eval_sh_chebyu(n, x), 0.0),
    _degrees("shifted_chebyshev_polynomial_v", lambda x, n: _kind("v")(2 * x - 1, n), 0.1, 0.9),
    _degrees("shifted_chebyshev_polynomial_w", lambda x, n: _kind("w")(2 * x - 1, n), 0.1, 0.9),
)

# ---- losses --------------------------------------------------------------------------------------


def _multi_margin(x, target, p=1, margin=1.0, weight=None, reduction="mean"):
    right = np.take_along_axis(x, target[:, None], 1)
    lacking = np.maximum(0, margin - right + x) ** p
    if weight is not None:
        lacking = lacking * weight[target][:, None]
    np.put_along_axis(lacking, target[:, None], 0, 1)
    return _reduced(lacking.sum(1) / x.shape[1], reduction)


def _multilabel_margin(x, target, reduction="mean"):
    losses = []
    for row, classes in zip(x, target, strict=True):
        right = list(classes[: list(classes).index(-1)] if -1 in classes else classes)
        wrong = [i for i in range(len(row)) if i not in right]
        losses.append(sum(max(0, 1 - row[r] + row[w]) for r in right for w in wrong) / len(row))
    return _reduced(np.array(losses), reduction)


def _multilabel_soft(x, target, weight=None, reduction="mean"):
    values = -(target * special.log_expit(x) + (1 - target) * special.log_expit(-x))
    values = values if weight is None else values * weight
    return _reduced(values.mean(-1), reduction)


def _triplet(a, p, n, margin=1.0, swap=False, reduction="mean"):
    def far(x, y):
        return np.linalg.norm(x - y + 1e-6, axis=-1)

    negative = np.minimum(far(a, n), far(p, n)) if swap else far(a, n)
    return _reduced(np.maximum(0, far(a, p) - negative + margin), reduction)


def _ctc(logs, targets, input_lengths, target_lengths, reduction="mean"):
    """Sum over all alignments, one by one."""
    losses = []
    for i, (steps, count) in enumerate(zip(input_lengths, target_lengths, strict=True)):
        total = -np.inf
        for path in np.ndindex(*[logs.shape[2]] * steps):
            folded = [c for k, c in enumerate(path) if c and (k == 0 or path[k - 1] != c)]
            if folded == list(targets[i, :count]):
                total = np.logaddexp(total, sum(logs[t, i, c] for t, c in enumerate(path)))
        losses.append(-total)
    losses = np.array(losses)
    return _reduced(losses / target_lengths if reduction == "mean" else losses, reduction)


def _log_chances(m, *shape):
    values = np.abs(m(*shape)) + 0.1
    return np.log(values / values.sum(-1, keepdims=True)).astype(values.dtype)


LOSSES = (
    Row(
        F + "multi_margin_loss",
        lambda m: [
            Sample(m(3, 4), Fixed(m.index(3, below=4))),
            Sample(m(3, 4), Fixed(m.index(3, below=4)), p=2, margin=0.5, reduction="sum"),
            Sample(m(3, 4), Fixed(m.index(3, below=4)), weight=Fixed(np.abs(m(4)))),
        ],
        _multi_margin,
        PRECISE,
        order=1,
    ),
    Row(
        F + "multilabel_margin_loss",
        lambda m: [
            Sample(m(2, 4), Fixed(np.array([[1, 2, -1, 0], [3, -1, -1, -1]]))),
            Sample(m(2, 4), Fixed(np.array([[0, 1, 2, 3], [2, 0, -1, 1]])), reduction="none"),
        ],
        _multilabel_margin,
        PRECISE,
        order=1,
    ),
    Row(
        F + "multilabel_soft_margin_loss",
        lambda m: [
            Sample(m(3, 4), Fixed(m.index(3, 4, below=2).astype(m(1).dtype))),
            Sample(m(3, 4), Fixed(m.index(3, 4, below=2).astype(m(1).dtype)), reduction="sum"),
        ],
        _multilabel_soft,
        PRECISE,
    ),
    Row(
        F + "triplet_margin_with_distance_loss",
        lambda m: [Sample(m(3, 4), m(3, 4), m(3, 4)), Sample(m(3, 4), m(3, 4), m(3, 4), swap=True)],
        _triplet,
        PRECISE,
    ),
    Row(
        F + "ctc_loss",
        lambda m: [
            Sample(
                _log_chances(m, 4, 2, 3),
                Fixed(np.array([[1, 2], [2, 1]])),
                Fixed(np.array([4, 3])),
                Fixed(np.array([2, 1])),
                reduction=reduction,
            )
            for reduction in ("mean", "sum", "none")
        ],
        _ctc,
        PRECISE,
        order=0,  # the gradient is PyTorch's: that of probabilities whose sum is one
    ),
)

# ---- images, volumes and the rest ----------------------------------------------------------------


def _unpool(rank):
    def reference(x, indices, kernel_size, stride=None, padding=0, output_size=None):
        sizes = [n * kernel_size for n in x.shape[-rank:]]
        lead = x.shape[:-rank]
        flat = np.zeros((*lead, math.prod(sizes)))
        np.put_along_axis(flat, indices.reshape(*lead, -1), x.reshape(*lead, -1), -1)
        return flat.reshape(*lead, *sizes)

    return reference


def _unpool_samples(rank):
    def samples(m):
        places = np.stack([m.random.permutation(4**rank)[: 2**rank] for _ in range(2)])
        return [Sample(m(1, 2, *[2] * rank), Fixed(places.reshape(1, 2, *[2] * rank)), 2)]

    return samples


def _lp(rank):
    def reference(x, norm_type, kernel_size, stride=None):
        means = avg_pool(rank)(x**norm_type, kernel_size, stride)
        return (means * kernel_size**rank) ** (1 / norm_type)

    return reference


def _response(x, size, alpha=1e-4, beta=0.75, k=1.0):
    squares = np.zeros_like(x)
    for c in range(x.shape[1]):
        low = max(0, c - size // 2)
        squares[:, c] = (x[:, low : c + (size - 1) // 2 + 1] ** 2).sum(1) / size
    return x / (k + alpha * squares) ** beta


def _shuffle(x, groups):
    count, channels, *rest = x.shape
    parts = x.reshape(count, groups, channels // groups, *rest)
    return np.swapaxes(parts, 1, 2).reshape(x.shape)


def _bag(index, weight, offsets=None, mode="mean", padding_idx=None, per_sample_weights=None):
    bags = np.split(index, offsets[1:]) if index.ndim == 1 else list(index)
    if per_sample_weights is not None:
        return np.stack(
            [
                (weight[bag] * factors[:, None]).sum(0)
                for bag, factors in zip(bags, per_sample_weights, strict=True)
            ]
        )
    rows = [
        weight[bag[bag != padding_idx]] if padding_idx is not None else weight[bag] for bag in bags
    ]
    reduce = {"mean": np.mean, "sum": np.sum, "max": np.max}[mode]
    return np.stack([reduce(each, 0) if len(each) else np.zeros(weight.shape[1]) for each in rows])


VOLUMES = (
    Row(
        F + "conv3d",
        lambda m: [
            Sample(m(1, 2, 4, 5, 4), m(3, 2, 2, 3, 2), m(3)),
            Sample(m(4, 4, 5, 5), m(4, 2, 3, 2, 2), None, 2, 1, 1, 2),
            Sample(m(1, 1, 5, 4, 4), m(2, 1, 2, 2, 2), padding="same", dilation=(2, 1, 1)),
        ],
        conv(3),
        PRECISE,
        tolerance=4,
        errors=(
            bad(
                np.ones((1, 1, 2, 2, 2)),
                np.ones((1, 1, 2, 2)),
                error=RuntimeError,
                says=("5 dimensions",),
            ),
        ),
    ),
    Row(
        F + "conv_transpose3d",
        lambda m: [
            Sample(m(1, 2, 3, 2, 3), m(2, 3, 2, 3, 2), m(3)),
            Sample(m(1, 4, 2, 2, 2), m(4, 2, 2, 2, 3), None, 2, 1, 1, 2, 1),
        ],
        conv_transpose(3),
        PRECISE,
        tolerance=4,
    ),
    Row(
        F + "max_pool3d",
        lambda m: [Sample(m.spread(1, 2, 4, 4, 4), 2), Sample(m.spread(1, 1, 5, 4, 5), 3, 2, 1)],
        max_pool(3),
        PRECISE,
    ),
    Row(
        F + "avg_pool3d",
        lambda m: [
            Sample(m(1, 2, 4, 4, 4), 2),
            Sample(m(1, 1, 5, 4, 5), 3, 2, 1, count_include_pad=False),
        ],
        avg_pool(3),
        PRECISE,
    ),
    Row(
        F + "adaptive_avg_pool3d",
        lambda m: [Sample(m(1, 2, 4, 5, 3), (2, 3, None))],
        adaptive(3, np.mean),
        PRECISE,
    ),
    Row(
        F + "adaptive_max_pool3d",
        lambda m: [Sample(m.spread(1, 2, 4, 5, 3), 2)],
        adaptive(3, np.max),
        PRECISE,
    ),
    *(
        Row(F + f"max_unpool{rank}d", _unpool_samples(rank), _unpool(rank), PRECISE)
        for rank in (1, 2, 3)
    ),
    *(
        Row(
            F + f"lp_pool{rank}d",
            lambda m, rank=rank: [
                Sample(m(1, 2, *[4] * rank, low=0.3), 2, 2),
                Sample(m(1, 2, *[4] * rank, low=0.3), 3, 2, 1),
            ],
            _lp(rank),
            PRECISE,
        )
        for rank in (1, 2, 3)
    ),
    Row(
        F + "local_response_norm",
        lambda m: [Sample(m(2, 5, 3), 3), Sample(m(1, 4, 2, 2), 2, 0.5, 0.6, 2.0)],
        _response,
        PRECISE,
        errors=(bad(np.ones((2, 3)), 3, error=RuntimeError, says=("(2, 3)",)),),
    ),
    Row(
        F + "channel_shuffle",
        lambda m: [Sample(m(2, 6, 3), 3), Sample(m(1, 4, 2, 2), 2)],
        _shuffle,
        errors=(bad(np.ones((1, 5, 2)), 2, error=RuntimeError, says=("(1, 5, 2)",)),),
    ),
    Row(
        F + "embedding_bag",
        lambda m: (
            [
                Sample(
                    Fixed(m.index(7, below=5)),
                    m.spread(5, 3),
                    Fixed(np.array([0, 2, 2, 5])),
                    mode=mode,
                )
                for mode in ("mean", "sum", "max")
            ]
            + [
                Sample(Fixed(m.index(3, 4, below=5)), m(5, 3), mode="mean", padding_idx=1),
                Sample(
                    Fixed(m.index(3, 4, below=5)), m(5, 3), mode="sum", per_sample_weights=m(3, 4)
                ),
            ]
        ),
        _bag,
        PRECISE,
        errors=(
            bad(np.array([1, 2]), np.ones((3, 2)), error=RuntimeError, says=("offsets",)),
            bad(np.array([[1]]), np.ones((3, 2)), mode="min", error=RuntimeError, says=("mode",)),
        ),
    ),
    Row(
        F + "pdist",
        lambda m: [Sample(m(4, 3)), Sample(m(4, 3), 1.0), Sample(m(3, 2), 3.0)],
        lambda x, p=2.0: distance.pdist(x, "minkowski", p=p),
        PRECISE,
    ),
    Row(
        F + "upsample_nearest",
        lambda m: [Sample(m(1, 2, 2, 3), scale_factor=2)],
        lambda x, scale_factor: x.repeat(2, 2).repeat(2, 3),
        FLOAT,
    ),
)

ROWS = (*STATISTICS, *REAL, *SPECIAL, *LOSSES, *VOLUMES)
