"""Rows of convolutions, pooling and resizing; the references are plain loops over windows."""

from __future__ import annotations

import itertools
import math

import numpy as np

from tests.ops.row import FLOAT, Row, Sample, bad

F = "nn.functional."
PRECISE = ("float64", "float32")


def _tuple(value, rank):
    return (value,) * rank if isinstance(value, int) else tuple(value)


def _pad(x, padding, value=0.0):
    rank = len(padding)
    widths = [(0, 0)] * (x.ndim - rank) + [(p, p) for p in padding]
    return np.pad(x, widths, constant_values=value)


def _convolve(x, weight, bias, stride, padding, dilation, groups):
    """Cross-correlation of x (N, C, *spatial) with weight (O, C / groups, *kernel)."""
    rank = weight.ndim - 2
    kernel = weight.shape[2:]
    stride, dilation = _tuple(stride, rank), _tuple(dilation, rank)
    if padding == "same":
        total = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        x = np.pad(x, [(0, 0), (0, 0)] + [(t // 2, t - t // 2) for t in total])
    elif padding != "valid":
        x = _pad(x, _tuple(padding, rank))
    sizes = [
        (n - d * (k - 1) - 1) // s + 1
        for n, k, s, d in zip(x.shape[2:], kernel, stride, dilation, strict=True)
    ]
    result = np.zeros((x.shape[0], weight.shape[0], *sizes))
    per_group = weight.shape[0] // groups
    for group in range(groups):
        inputs = x[:, group * weight.shape[1] : (group + 1) * weight.shape[1]]
        outputs = slice(group * per_group, (group + 1) * per_group)
        for place in itertools.product(*map(range, kernel)):
            window = tuple(
                slice(p * d, p * d + (n - 1) * s + 1, s)
                for p, d, n, s in zip(place, dilation, sizes, stride, strict=True)
            )
            taps = weight[(outputs, slice(None), *place)]
            result[:, outputs] += np.einsum(
                "nc...,oc->no...", inputs[(slice(None), slice(None), *window)], taps
            )
    return result if bias is None else result + bias.reshape(-1, *[1] * rank)


def _conv(rank):
    def reference(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        batched = x if x.ndim == rank + 2 else x[None]
        result = _convolve(batched, weight, bias, stride, padding, dilation, groups)
        return result if x.ndim == rank + 2 else result[0]

    return reference


def _conv_transpose(rank):
    def reference(
        x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1
    ):
        stride, padding = _tuple(stride, rank), _tuple(padding, rank)
        extra, dilation = _tuple(output_padding, rank), _tuple(dilation, rank)
        kernel, per_group = weight.shape[2:], weight.shape[1]
        full = [
            (n - 1) * s + d * (k - 1) + 1 + e
            for n, s, d, k, e in zip(x.shape[2:], stride, dilation, kernel, extra, strict=True)
        ]
        result = np.zeros((x.shape[0], per_group * groups, *full))
        inputs_per_group = x.shape[1] // groups
        for group in range(groups):
            channels = slice(group * inputs_per_group, (group + 1) * inputs_per_group)
            outputs = slice(group * per_group, (group + 1) * per_group)
            for place in itertools.product(*map(range, kernel)):
                window = tuple(
                    slice(p * d, p * d + (n - 1) * s + 1, s)
                    for p, d, n, s in zip(place, dilation, x.shape[2:], stride, strict=True)
                )
                taps = weight[(channels, slice(None), *place)]
                result[(slice(None), outputs, *window)] += np.einsum(
                    "nc...,co->no...", x[:, channels], taps
                )
        cut = tuple(slice(p, n - p) for p, n in zip(padding, full, strict=True))
        result = result[(slice(None), slice(None), *cut)]
        return result if bias is None else result + bias.reshape(-1, *[1] * rank)

    return reference


def _windows(x, rank, kernel, stride, padding, dilation, ceil_mode, fill):
    """Yield (output position, window values) over a padded x, and the output sizes first."""
    padded = _pad(x, padding, fill)
    sizes = []
    for n, k, s, p, d in zip(x.shape[-rank:], kernel, stride, padding, dilation, strict=True):
        span = n + 2 * p - d * (k - 1) - 1
        size = (-(-span // s) if ceil_mode else span // s) + 1
        # The last window has to start inside the input or its left padding.
        sizes.append(size - 1 if ceil_mode and (size - 1) * s >= n + p else size)
    return padded, sizes


def _max_pool(rank):
    def reference(
        x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
    ):
        kernel = _tuple(kernel_size, rank)
        stride = kernel if stride is None else _tuple(stride, rank)
        padding, dilation = _tuple(padding, rank), _tuple(dilation, rank)
        padded, sizes = _windows(x, rank, kernel, stride, padding, dilation, ceil_mode, -np.inf)
        lead = x.shape[:-rank]
        result, indices = np.zeros((*lead, *sizes)), np.zeros((*lead, *sizes), np.int64)
        for at in np.ndindex(*lead, *sizes):
            best = -np.inf
            for tap in itertools.product(*map(range, kernel)):
                spot = [
                    a * s + t * d
                    for a, s, t, d in zip(at[-rank:], stride, tap, dilation, strict=True)
                ]
                if any(i >= n for i, n in zip(spot, padded.shape[-rank:], strict=True)):
                    continue
                value = padded[(*at[:-rank], *spot)]
                if value > best:
                    best = value
                    inside = [i - p for i, p in zip(spot, padding, strict=True)]
                    indices[at] = np.ravel_multi_index(inside, x.shape[-rank:])
            result[at] = best
        return (result, indices) if return_indices else result

    return reference


def _avg_pool(rank):
    def reference(
        x,
        kernel_size,
        stride=None,
        padding=0,
        ceil_mode=False,
        count_include_pad=True,
        divisor_override=None,
    ):
        kernel = _tuple(kernel_size, rank)
        stride = kernel if stride is None else _tuple(stride, rank)
        padding = _tuple(padding, rank)
        padded, sizes = _windows(x, rank, kernel, stride, padding, (1,) * rank, ceil_mode, 0.0)
        result = np.zeros((*x.shape[:-rank], *sizes))
        for at in np.ndindex(*sizes):
            starts = [a * s for a, s in zip(at, stride, strict=True)]
            ends = [
                min(a + k, n) for a, k, n in zip(starts, kernel, padded.shape[-rank:], strict=True)
            ]
            window = padded[(..., *(slice(a, b) for a, b in zip(starts, ends, strict=True)))]
            real = [
                min(b, n + p) - max(a, p)
                for a, b, n, p in zip(starts, ends, x.shape[-rank:], padding, strict=True)
            ]
            whole = [b - a for a, b in zip(starts, ends, strict=True)]
            count = divisor_override or math.prod(whole if count_include_pad else real)
            result[(..., *at)] = window.sum(axis=tuple(range(-rank, 0))) / count
        return result

    return reference


def _adaptive(rank, function):
    def reference(x, output_size):
        targets = _tuple(output_size, rank)
        targets = tuple(
            n if t is None else t for t, n in zip(targets, x.shape[-rank:], strict=True)
        )
        result = np.zeros((*x.shape[:-rank], *targets))
        for at in np.ndindex(*targets):
            window = tuple(
                slice(a * n // t, -(-(a + 1) * n // t))
                for a, n, t in zip(at, x.shape[-rank:], targets, strict=True)
            )
            result[(..., *at)] = function(x[(..., *window)], axis=tuple(range(-rank, 0)))
        return result

    return reference


def _image_windows(x, kernel_size, dilation=1, padding=0, stride=1):
    kernel, dilation = _tuple(kernel_size, 2), _tuple(dilation, 2)
    padding, stride = _tuple(padding, 2), _tuple(stride, 2)
    padded, sizes = _windows(x, 2, kernel, stride, padding, dilation, False, 0.0)
    columns = [
        padded[
            :,
            :,
            i * dilation[0] : i * dilation[0] + (sizes[0] - 1) * stride[0] + 1 : stride[0],
            j * dilation[1] : j * dilation[1] + (sizes[1] - 1) * stride[1] + 1 : stride[1],
        ]
        for i in range(kernel[0])
        for j in range(kernel[1])
    ]
    stacked = np.stack(columns, 2)
    return stacked.reshape(x.shape[0], -1, sizes[0] * sizes[1])


def _fold(x, output_size, kernel_size, dilation=1, padding=0, stride=1):
    kernel = _tuple(kernel_size, 2)
    channels = x.shape[1] // math.prod(kernel)
    result = np.zeros((x.shape[0], channels, *output_size))
    # Folding is the transpose of unfolding: unfold the element numbers and add at them.
    places = np.arange(1, math.prod(output_size) + 1, dtype=float).reshape(1, 1, *output_size)
    spots = _image_windows(places, kernel_size, dilation, padding, stride)[0].astype(int)
    flat = np.zeros((x.shape[0], channels, math.prod(output_size) + 1))
    values = x.reshape(x.shape[0], channels, math.prod(kernel), -1)
    for n, c in np.ndindex(*flat.shape[:2]):
        np.add.at(flat[n, c], spots, values[n, c])
    return flat[..., 1:].reshape(result.shape)


def _interpolate(x, size=None, scale_factor=None, mode="nearest", align_corners=None):
    rank = x.ndim - 2
    sizes = (
        _tuple(size, rank)
        if size is not None
        else tuple(int(n * scale_factor) for n in x.shape[2:])
    )
    result = x
    for axis, target in enumerate(sizes, start=2):
        n = x.shape[axis]
        if mode == "nearest":
            result = np.take(result, (np.arange(target) * n) // target, axis=axis)
            continue
        if mode == "area":
            result = np.stack(
                [
                    np.take(result, range(i * n // target, -(-(i + 1) * n // target)), axis).mean(
                        axis
                    )
                    for i in range(target)
                ],
                axis,
            )
            continue
        spots = (
            np.arange(target) * (n - 1) / max(target - 1, 1)
            if align_corners
            else (np.arange(target) + 0.5) * n / target - 0.5
        )
        if mode == "bicubic":
            steps = np.abs(spots[:, None] - np.arange(-2, n + 2))
            near = 1.25 * steps**3 - 2.25 * steps**2 + 1
            far = -0.75 * (steps**3 - 5 * steps**2 + 8 * steps - 4)
            weights = np.where(steps <= 1, near, np.where(steps < 2, far, 0.0))
            edges = [(2, 2) if a == axis else (0, 0) for a in range(x.ndim)]
            wide = np.moveaxis(np.pad(result, edges, "edge"), axis, -1)
            result = np.moveaxis(wide @ weights.T, -1, axis)
            continue
        spots = np.maximum(spots, 0)
        low = np.floor(spots).astype(int)
        high = np.minimum(low + 1, n - 1)
        part = (spots - low).reshape([-1 if a == axis else 1 for a in range(x.ndim)])
        result = (
            np.take(result, low, axis=axis) * (1 - part) + np.take(result, high, axis=axis) * part
        )
    return result


def _conv1d_samples(make):
    return [
        Sample(make(2, 3, 7), make(4, 3, 3), make(4)),
        Sample(make(2, 4, 8), make(4, 2, 3), None, stride=2, padding=1, groups=2),
        Sample(make(1, 2, 9), make(3, 2, 2), make(3), dilation=3),
        Sample(make(1, 2, 6), make(2, 2, 4), padding="same"),
        Sample(make(3, 7), make(4, 3, 3), make(4)),
    ]


def _conv2d_samples(make):
    return [
        Sample(make(2, 3, 5, 6), make(4, 3, 3, 2), make(4)),
        Sample(make(1, 2, 5, 5), make(2, 2, 3, 3), stride=2, padding=1),
        Sample(
            make(1, 4, 6, 5),
            make(4, 2, 2, 2),
            make(4),
            stride=(2, 1),
            padding=(0, 1),
            dilation=(1, 2),
            groups=2,
        ),
        Sample(make(1, 3, 5, 5), make(3, 1, 3, 3), padding=1, groups=3),
        Sample(make(1, 2, 4, 4), make(2, 2, 1, 1), make(2)),
        Sample(make(0, 2, 4, 4), make(3, 2, 3, 3), make(3)),
        Sample(make(2, 4, 4), make(3, 2, 3, 3), padding="valid"),
    ]


def _transposed1d_samples(make):
    return [
        Sample(make(2, 3, 5), make(3, 4, 3), make(4)),
        Sample(make(1, 4, 4), make(4, 2, 3), stride=2, padding=1, output_padding=1, groups=2),
        Sample(make(1, 2, 4), make(2, 3, 2), make(3), dilation=2),
    ]


def _transposed2d_samples(make):
    return [
        Sample(make(2, 3, 3, 4), make(3, 2, 3, 2), make(2)),
        Sample(make(1, 4, 3, 3), make(4, 2, 3, 3), stride=2, padding=1, output_padding=1, groups=2),
        Sample(make(1, 2, 3, 3), make(2, 2, 2, 2), stride=(1, 2), dilation=(2, 1)),
    ]


def _pool1d_samples(make):
    return [
        Sample(make.spread(2, 3, 7), 2),
        Sample(make.spread(1, 2, 8), 3, stride=2, padding=1),
        Sample(make.spread(1, 2, 7), 2, stride=2, ceil_mode=True),
        Sample(make.spread(3, 6), 3, 1),
    ]


def _pool2d_samples(make):
    return [
        Sample(make.spread(2, 2, 4, 6), 2),
        Sample(make.spread(1, 2, 5, 5), (3, 2), stride=2, padding=1),
        Sample(make.spread(1, 1, 5, 6), 2, stride=2, ceil_mode=True),
        Sample(make.spread(2, 4, 4), 2, 1),
    ]


TOO_FEW = bad(
    np.ones((1, 2, 5, 5)),
    np.ones((4, 3, 3, 3)),
    error=ValueError,
    says=("(1, 2, 5, 5)", "(4, 3, 3, 3)"),
)
TOO_SMALL = bad(np.ones((1, 2, 2, 2)), np.ones((4, 2, 3, 3)), error=RuntimeError, says=("kernel",))

ROWS = [
    Row(
        F + "conv1d",
        _conv1d_samples,
        _conv(1),
        FLOAT,
        errors=(
            bad(
                np.ones((1, 2, 5)),
                np.ones((4, 3, 3)),
                error=ValueError,
                says=("(1, 2, 5)", "(4, 3, 3)"),
            ),
        ),
        tolerance=8,
    ),
    Row(
        F + "conv2d",
        _conv2d_samples,
        _conv(2),
        FLOAT,
        errors=(
            TOO_FEW,
            TOO_SMALL,
            bad(
                np.ones((1, 2, 5, 5)),
                np.ones((4, 2, 3, 3)),
                stride=0,
                error=RuntimeError,
                says=("stride",),
            ),
        ),
        tolerance=8,
    ),
    Row(F + "conv_transpose1d", _transposed1d_samples, _conv_transpose(1), PRECISE, tolerance=8),
    Row(F + "conv_transpose2d", _transposed2d_samples, _conv_transpose(2), PRECISE, tolerance=8),
    Row(
        F + "max_pool1d",
        lambda m: [*_pool1d_samples(m), Sample(m.spread(1, 2, 9), 2, dilation=3)],
        _max_pool(1),
        PRECISE,
    ),
    Row(
        F + "max_pool2d",
        lambda m: (
            [
                *_pool2d_samples(m),
                Sample(m.spread(1, 1, 5, 5), 2, dilation=2),
                Sample(m.spread(1, 2, 4, 4), 2, return_indices=True),
            ]
        ),
        _max_pool(2),
        PRECISE,
        errors=(
            bad(np.ones((1, 1, 2, 2)), 3, error=RuntimeError, says=("kernel_size",)),
            bad(np.ones((1, 1, 4, 4)), 2, padding=2, error=RuntimeError, says=("padding",)),
        ),
    ),
    Row(
        F + "avg_pool1d",
        lambda m: [*_pool1d_samples(m), Sample(m(1, 2, 6), 3, 2, 1, count_include_pad=False)],
        _avg_pool(1),
        PRECISE,
    ),
    Row(
        F + "avg_pool2d",
        lambda m: (
            [
                *_pool2d_samples(m),
                Sample(m(1, 2, 4, 4), 3, 1, 1, count_include_pad=False),
                Sample(m(1, 2, 4, 4), 2, divisor_override=3),
            ]
        ),
        _avg_pool(2),
        PRECISE,
    ),
    Row(
        F + "adaptive_avg_pool1d",
        lambda m: [Sample(m(2, 3, 7), 3), Sample(m(1, 2, 4), 1)],
        _adaptive(1, np.mean),
        PRECISE,
    ),
    Row(
        F + "adaptive_avg_pool2d",
        lambda m: [
            Sample(m(2, 3, 5, 7), (2, 3)),
            Sample(m(1, 2, 4, 4), 1),
            Sample(m(1, 2, 4, 5), (None, 2)),
        ],
        _adaptive(2, np.mean),
        PRECISE,
    ),
    Row(
        F + "adaptive_max_pool1d",
        lambda m: [Sample(m.spread(2, 3, 7), 3)],
        _adaptive(1, np.max),
        PRECISE,
    ),
    Row(
        F + "adaptive_max_pool2d",
        lambda m: [Sample(m.spread(2, 2, 5, 6), (2, 3))],
        _adaptive(2, np.max),
        PRECISE,
    ),
    Row(
        F + "unfold",
        lambda m: [
            Sample(m(2, 2, 4, 5), (2, 3)),
            Sample(m(1, 2, 5, 5), 2, padding=1, stride=2, dilation=2),
        ],
        _image_windows,
        PRECISE,
    ),
    Row(
        F + "fold",
        lambda m: [
            Sample(m(2, 12, 9), (4, 5), (2, 3)),
            Sample(m(1, 8, 9), (5, 5), 2, padding=1, stride=2, dilation=2),
        ],
        _fold,
        PRECISE,
    ),
    Row(
        F + "interpolate",
        lambda m: [
            Sample(m(1, 2, 4), size=7),
            Sample(m(1, 2, 3, 4), scale_factor=2),
            Sample(m(1, 2, 3, 4), size=(5, 3), mode="bilinear"),
            Sample(m(1, 1, 3, 3), size=(5, 5), mode="bilinear", align_corners=True),
            Sample(m(1, 2, 4), size=6, mode="linear"),
            Sample(m(1, 1, 2, 3, 2), size=(3, 2, 4), mode="trilinear"),
            Sample(m(1, 2, 3, 4), size=(5, 3), mode="bicubic"),
            Sample(m(1, 1, 4, 3), size=(3, 5), mode="bicubic", align_corners=True),
            Sample(m(1, 2, 5, 4), size=(3, 2), mode="area"),
        ],
        _interpolate,
        PRECISE,
    ),
    Row(
        F + "pixel_unshuffle",
        lambda m: [Sample(m(1, 2, 4, 6), 2)],
        lambda x, r: x.reshape(1, 2, 2, r, 3, r).transpose(0, 1, 3, 5, 2, 4).reshape(1, 8, 2, 3),
        PRECISE,
    ),
    Row(
        F + "pixel_shuffle",
        lambda m: [Sample(m(1, 8, 2, 3), 2)],
        lambda x, r: x.reshape(1, 2, r, r, 2, 3).transpose(0, 1, 4, 2, 5, 3).reshape(1, 2, 4, 6),
        PRECISE,
    ),
]
