"""Rows of copies of views."""

from __future__ import annotations

import numpy as np

from tests.ops.row import ALL, FLOAT, Row, Sample

METHODS = {"narrow_copy", "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes"}


def _copy(name, samples, reference):
    return Row(name, samples, reference, ALL, method=name in METHODS)


def _strided(x, size, stride, storage_offset=0):
    flat = x.reshape(-1)
    places = storage_offset + sum(
        np.arange(n).reshape([-1] + [1] * (len(size) - 1 - i)) * s
        for i, (n, s) in enumerate(zip(size, stride, strict=True))
    )
    return flat[places]


def _split(x, sizes, dim=0):
    if isinstance(sizes, int):
        ends = list(range(sizes, x.shape[dim], sizes))
    else:
        ends = list(np.cumsum(sizes))[:-1]
    return np.split(x, ends, dim)


def _windows(x, dimension, size, step):
    view = np.lib.stride_tricks.sliding_window_view(x, size, dimension)
    return view[(slice(None),) * dimension + (slice(None, None, step),)]


ROWS = (
    _copy("alias_copy", lambda m: [Sample(m(2, 3))], np.copy),
    Row(
        "as_strided_copy",
        lambda m: [Sample(m(12), (3, 2), (2, 1)), Sample(m(12), (2, 2), (1, 3), 2)],
        _strided,
        ALL,
        tags=("contiguous",),
    ),
    Row("detach_copy", lambda m: [Sample(m(2, 3))], np.copy, FLOAT, order=0),
    _copy("diagonal_copy", lambda m: [Sample(m(3, 4)), Sample(m(3, 4), 1)], np.diagonal),
    _copy("expand_copy", lambda m: [Sample(m(3, 1), (2, 3, 4))], np.broadcast_to),
    _copy(
        "narrow_copy",
        lambda m: [Sample(m(3, 4), 1, 1, 2)],
        lambda x, dim, start, length: np.take(x, range(start, start + length), dim),
    ),
    _copy("permute_copy", lambda m: [Sample(m(2, 3, 4), (2, 0, 1))], np.transpose),
    _copy("select_copy", lambda m: [Sample(m(3, 4), 1, 2)], lambda x, dim, i: np.take(x, i, dim)),
    _copy(
        "slice_copy",
        lambda m: [Sample(m(5, 4), 0, 1, 4, 2), Sample(m(5, 4))],
        lambda x, dim=0, start=0, end=None, step=1: x[start:end:step],
    ),
    _copy("split_copy", lambda m: [Sample(m(5, 2), 2)], _split),
    _copy(
        "split_with_sizes_copy",
        lambda m: [Sample(m(5, 2), [1, 4]), Sample(m(2, 3), [1, 2], 1)],
        _split,
    ),
    _copy("squeeze_copy", lambda m: [Sample(m(1, 3, 1)), Sample(m(1, 3, 1), 2)], np.squeeze),
    _copy("t_copy", lambda m: [Sample(m(2, 3))], np.transpose),
    _copy("transpose_copy", lambda m: [Sample(m(2, 3, 4), 0, 2)], np.swapaxes),
    _copy(
        "unbind_copy",
        lambda m: [Sample(m(3, 2)), Sample(m(3, 2), 1)],
        lambda x, dim=0: list(np.moveaxis(x, dim, 0)),
    ),
    _copy("unfold_copy", lambda m: [Sample(m(2, 7), 1, 3, 2)], _windows),
    _copy("unsqueeze_copy", lambda m: [Sample(m(2, 3), 1)], np.expand_dims),
    Row(
        "view_copy",
        lambda m: [Sample(m(2, 6), (3, 4))],
        np.reshape,
        ALL,
        tags=("contiguous",),
    ),
    _copy(
        "unsafe_chunk",
        lambda m: [Sample(m(6, 2), 3)],
        lambda x, chunks, dim=0: np.split(x, chunks, dim),
    ),
    _copy("unsafe_split", lambda m: [Sample(m(5, 2), 2)], _split),
    _copy("unsafe_split_with_sizes", lambda m: [Sample(m(5, 2), [1, 4])], _split),
)
