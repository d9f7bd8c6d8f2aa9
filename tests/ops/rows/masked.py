"""Rows of masked reductions, windows, and other counts of data."""

from __future__ import annotations

import numpy as np
from scipy import ndimage, signal, special

from tests.ops.row import Dtype, Fixed, Row, Sample, bad

PRECISE = ("float64", "float32")
M, W = "masked.", "signal.windows."


def _hidden(x, mask):
    return x if mask is None else np.ma.array(x, mask=~np.broadcast_to(mask, x.shape))


def _axes(x, dim):
    return tuple(range(x.ndim)) if dim is None else dim


def _reduced(name, empty):
    """Reduce what a mask shows by NumPy's function of a name."""

    def apply(x, dim=None, mask=None, keepdim=False):
        result = getattr(np.ma if mask is not None else np, name)(
            _hidden(x, mask), axis=_axes(x, dim), keepdims=keepdim
        )
        return np.ma.filled(result, empty)

    return apply


def _spread(x, dim=None, unbiased=True, mask=None, root=False):
    result = np.ma.var(_hidden(x, mask), axis=_axes(x, dim), ddof=int(unbiased))
    return np.ma.filled(np.sqrt(result) if root else result, np.nan)


def _softmax(x, dim, mask=None):
    return special.softmax(np.where(True if mask is None else mask, x, -np.inf), dim)


def _masked(m):
    mask = m.mask(3, 4)
    mask[:, 0] = True
    return [
        Sample(m.spread(3, 4)),
        Sample(m.spread(3, 4), 1, mask=Fixed(mask)),
        Sample(m.spread(2, 3, 4), (0, 2), mask=Fixed(mask), keepdim=True),
    ]


def _along(m, *args):
    mask = m.mask(3, 4)
    mask[:, :2] = True
    return [Sample(m.spread(3, 4), *args, 1), Sample(m.spread(3, 4), *args, 1, mask=Fixed(mask))]


def _filled(function, value):
    return lambda x, *args, mask=None, **kwargs: function(
        np.where(True if mask is None else mask, x, value), *args, **kwargs
    )


def _placed(function):
    """PyTorch gives places in the dtype of the elements."""
    return lambda x, dim: function(x, dim).astype(x.dtype)


def _lengths(x, ord=2.0, dim=None, mask=None, keepdim=False):
    x = np.where(True if mask is None else mask, x, 0.0)
    return (np.abs(x) ** ord).sum(_axes(x, dim), keepdims=keepdim) ** (1 / ord)


MASKED = [
    Row(M + "sum", _masked, _reduced("sum", 0), PRECISE),
    Row(
        M + "prod",
        lambda m: [Sample(m(3, 4)), Sample(m(3, 4), 1, mask=Fixed(m.mask(3, 4)))],
        _reduced("prod", 1),
        PRECISE,
    ),
    Row(M + "amax", _masked, _reduced("max", np.nan), PRECISE),
    Row(M + "amin", _masked, _reduced("min", np.nan), PRECISE),
    Row(M + "mean", _masked, _reduced("mean", np.nan), PRECISE),
    Row(M + "var", _along, _spread, PRECISE, tolerance=4),
    Row(
        M + "std",
        lambda m: _along(m)[:1],
        lambda x, dim: _spread(x, dim, root=True),
        PRECISE,
        tolerance=4,
    ),
    Row(M + "argmax", _along, _filled(_placed(np.argmax), -np.inf), PRECISE, order=0),
    Row(M + "argmin", _along, _filled(_placed(np.argmin), np.inf), PRECISE, order=0),
    Row(M + "cumsum", _along, _filled(np.cumsum, 0), PRECISE),
    Row(M + "cumprod", _along, _filled(np.cumprod, 1), PRECISE, tolerance=4),
    Row(M + "softmax", _along, _softmax, PRECISE),
    Row(M + "softmin", _along, lambda x, dim, mask=None: _softmax(-x, dim, mask), PRECISE),
    Row(
        M + "log_softmax",
        lambda m: _along(m)[:1],
        special.log_softmax,
        PRECISE,
    ),
    Row(
        M + "logsumexp",
        _along,
        _filled(special.logsumexp, -np.inf),
        PRECISE,
    ),
    Row(
        M + "logaddexp",
        lambda m: [
            Sample(m(3, 4), m(4)),
            Sample(m(3), m(3), other_mask=Fixed(m.mask(3))).smooth(1),
        ],
        lambda x, y, other_mask=True: np.logaddexp(x, np.where(other_mask, y, -np.inf)),
        PRECISE,
    ),
    Row(
        M + "median",
        _along,
        lambda x, dim, mask=None: np.nanquantile(
            np.where(True if mask is None else mask, x, np.nan), 0.5, dim, method="lower"
        ),
        PRECISE,
    ),
    Row(M + "norm", lambda m: _along(m, 3.0), _lengths, PRECISE, tolerance=4),
    Row(
        M + "normalize",
        lambda m: _along(m, 2.0),
        lambda x, ord, dim, mask=True: (
            np.where(mask, x, 0.0) / _lengths(x, ord, dim, mask, keepdim=True)
        ),
        PRECISE,
        tolerance=4,
    ),
]


def _window(name, **arguments):
    given = list(arguments.values())
    old = (name, *given) if given else name
    return Row(
        W + name,
        lambda m: [
            Sample(size, sym=sym, dtype=Dtype(m.dtype), **arguments)
            for size in (0, 1, 2, 7)
            for sym in (True, False)
        ],
        lambda size, sym, dtype, **_: (
            signal.windows.get_window(old, size, not sym).astype(dtype)
            if size
            else np.zeros(0, dtype)
        ),
        PRECISE,
        order=0,
        errors=(bad(-1, error=ValueError, says=("M", "-1"), **arguments),),
    )


WINDOWS = [
    *map(_window, ("bartlett", "blackman", "cosine", "hamming", "hann", "nuttall")),
    _window("kaiser", beta=8.0),
    _window("gaussian", std=1.5),
    Row(
        W + "exponential",
        lambda m: [Sample(7, tau=2.0, dtype=Dtype(m.dtype))],
        lambda size, tau, dtype: signal.windows.exponential(size, tau=tau).astype(dtype),
        PRECISE,
        order=0,
        errors=(bad(3, tau=0, error=ValueError, says=("tau",)),),
    ),
    Row(
        W + "general_cosine",
        lambda m: [Sample(7, a=[0.5, 0.3, 0.2], dtype=Dtype(m.dtype))],
        lambda size, a, dtype: signal.windows.general_cosine(size, a).astype(dtype),
        PRECISE,
        order=0,
        errors=(bad(3, a=[], error=ValueError, says=("a must",)),),
    ),
    Row(
        W + "general_hamming",
        lambda m: [Sample(7, alpha=0.6, dtype=Dtype(m.dtype))],
        lambda size, alpha, dtype: signal.windows.general_hamming(size, alpha).astype(dtype),
        PRECISE,
        order=0,
    ),
]


def _nanmedian(x, dim=None, keepdim=False):
    values = np.nanquantile(x, 0.5, dim, keepdims=True, method="lower")
    if dim is None:
        return values.reshape(())
    places = np.argmax(x == values, dim, keepdims=True)
    return tuple(part if keepdim else part.squeeze(dim) for part in (values, places))


def _with_holes(m, *shape):
    values = m.spread(*shape)
    values[..., 0] = np.nan
    return values


def _histogram(x, bins, range=None, weight=None, density=False):
    hist, edges = np.histogram(x, bins, range, density, weight)
    return hist.astype(x.dtype), edges.astype(x.dtype)


def _histogramdd(x, bins, range=None, weight=None, density=False):
    spans = None if range is None else np.reshape(range, (-1, 2))
    weight = None if weight is None else weight.reshape(-1)
    hist, edges = np.histogramdd(x.reshape(-1, x.shape[-1]), bins, spans, density, weight)
    return hist.astype(x.dtype), tuple(each.astype(x.dtype) for each in edges)


def _index_reduce(x, dim, index, source, reduce, include_self=True):
    ufunc = {"prod": np.multiply, "amax": np.maximum, "amin": np.minimum}[reduce]
    x, source = np.moveaxis(x, dim, 0).copy(), np.moveaxis(source, dim, 0)
    if not include_self:
        x[index] = {"prod": 1.0, "amax": -np.inf, "amin": np.inf}[reduce]
    ufunc.at(x, index, source)
    return np.moveaxis(x, 0, dim)


def _grid(image, grid, mode="bilinear", align_corners=False, padding_mode="zeros"):
    order = {"nearest": 0, "bilinear": 1}[mode]
    outside = {"zeros": "grid-constant", "border": "nearest"}[padding_mode]
    result = []
    for one, places in zip(image, grid, strict=True):
        sizes = np.array(one.shape[1:])
        where = np.moveaxis(places[..., ::-1], -1, 0)
        shape = (-1,) + (1,) * (where.ndim - 1)
        spans = sizes.reshape(shape)
        where = (where + 1) * (spans - 1) / 2 if align_corners else ((where + 1) * spans - 1) / 2
        result.append(
            [ndimage.map_coordinates(channel, where, order=order, mode=outside) for channel in one]
        )
    return np.array(result)


def _group_norm(x, weight, bias, n, _channels, _area, group, eps):
    grouped = x.reshape(n, group, -1)
    mean, scale = grouped.mean(2), 1 / np.sqrt(grouped.var(2) + eps)
    normal = ((grouped - mean[..., None]) * scale[..., None]).reshape(x.shape)
    return normal * weight[:, None] + bias[:, None], mean, scale


COUNTS = [
    Row(
        "nanmedian",
        lambda m: [
            Sample(_with_holes(m, 5)),
            Sample(_with_holes(m, 3, 5), 1),
            Sample(_with_holes(m, 3, 4), 1, True),
        ],
        _nanmedian,
        PRECISE,
        method=True,
    ),
    Row(
        "gradient",
        lambda m: [
            Sample(m(5)),
            Sample(m(3, 4)),
            Sample(m(3, 4), spacing=0.5, dim=1, edge_order=2),
            Sample(m(4), spacing=[Fixed(np.array([0.0, 1.0, 3.0, 4.0]).astype(m(1).dtype))]),
        ],
        lambda x, spacing=1.0, dim=None, edge_order=1: np.gradient(
            x,
            *(spacing if isinstance(spacing, list) else [spacing]),
            axis=dim,
            edge_order=edge_order,
        ),
        PRECISE,
        errors=(bad(np.ones(1), error=RuntimeError, says=("(1,)",)),),
    ),
    Row(
        "histogram",
        lambda m: [
            Sample(Fixed(m(20)), 4),
            Sample(Fixed(m(3, 4)), 3, range=(-1.0, 1.0)),
            Sample(Fixed(m(6)), Fixed(m.array([-3.0, 0.0, 1.0])), weight=Fixed(m(6))),
            Sample(Fixed(m(6)), 3, density=True),
        ],
        _histogram,
        PRECISE,
        order=0,
        method=True,
        errors=(bad(np.ones(3), 0, error=RuntimeError, says=("bins",)),),
    ),
    Row(
        "histogramdd",
        lambda m: [
            Sample(Fixed(m(20, 2)), 3),
            Sample(Fixed(m(5, 2, 2)), [2, 4], range=[-1.0, 1.0, -2.0, 2.0], density=True),
            Sample(Fixed(m(6, 1)), [Fixed(m.array([-3.0, 0.0, 1.0]))], weight=Fixed(m(6))),
        ],
        _histogramdd,
        PRECISE,
        order=0,
        errors=(
            bad(np.ones((3, 2)), [2], error=RuntimeError, says=("2 dimensions",)),
            bad(np.ones((3, 2)), 0, error=RuntimeError, says=("bins",)),
        ),
    ),
    Row(
        "index_reduce",
        lambda m: (
            [
                Sample(m.spread(4, 3), 0, Fixed(np.array([1, 1, 3])), m.spread(3, 3), how)
                for how in ("prod", "amax", "amin")
            ]
            + [
                Sample(
                    m.spread(2, 3),
                    1,
                    Fixed(np.array([2, 0])),
                    m.spread(2, 2),
                    "amax",
                    include_self=False,
                )
            ]
        ),
        _index_reduce,
        PRECISE,
        order=1,
        method=True,
        in_place=True,
        errors=(
            bad(np.ones(2), 0, np.array([0]), np.ones(1), "x", error=RuntimeError, says=("'x'",)),
        ),
    ),
    Row(
        "native_layer_norm",
        lambda m: [
            Sample(m(2, 3, 4), [4], m(4), m(4), 1e-5),
            Sample(m(3, 4), [4], None, None, 0.1),
        ],
        lambda x, shape, weight, bias, eps: (
            (x - x.mean(-1, keepdims=True))
            / np.sqrt(x.var(-1, keepdims=True) + eps)
            * (1 if weight is None else weight)
            + (0 if bias is None else bias),
            x.mean(-1, keepdims=True),
            1 / np.sqrt(x.var(-1, keepdims=True) + eps),
        ),
        PRECISE,
        oracle="PyTorch gives the means and deviations no gradient",
        tolerance=10,
    ),
    Row(
        "native_group_norm",
        lambda m: [Sample(m(2, 4, 3), m(4), m(4), 2, 4, 3, 2, 1e-5)],
        _group_norm,
        PRECISE,
        tolerance=10,
    ),
    Row(
        "nn.functional.grid_sample",
        lambda m: (
            [
                Sample(
                    m(2, 2, 4, 5),
                    m(2, 3, 2, 2, low=-0.9, high=0.9),
                    align_corners=aligned,
                    mode=mode,
                ).smooth(2 if mode == "bilinear" else 1)
                for aligned in (True, False)
                for mode in ("bilinear", "nearest")
            ]
            + [
                Sample(m(1, 2, 3, 4, 5), m(1, 2, 2, 2, 3, low=-0.9, high=0.9), align_corners=True),
                Sample(m(1, 1, 4, 4), m(1, 3, 3, 2, low=-1.5, high=1.5), padding_mode="border"),
                Sample(m(1, 1, 4, 4), m(1, 3, 3, 2, low=-1.5, high=1.5)),
            ]
        ),
        _grid,
        PRECISE,
        tolerance=10,
        errors=(
            bad(
                np.ones((1, 1, 2, 2)),
                np.ones((1, 1, 1, 3)),
                error=RuntimeError,
                says=("(N, h, w, 2)",),
            ),
            bad(np.ones((1, 1, 2, 2)), np.ones((1, 1, 1, 2)), "x", error=ValueError, says=("'x'",)),
        ),
    ),
]

ROWS = [*MASKED, *WINDOWS, *COUNTS]
