"""Rows of ops that move, join, cut and repeat elements without arithmetic."""

from __future__ import annotations

import itertools

import numpy as np

from tests.ops.row import ALL, Dtype, Row, Sample, bad

F = "nn.functional."
A34 = np.ones((3, 4))
NO_DIMENSION = bad(A34, 2, error=IndexError, says=("dim", "2"))


def _flatten(x, start_dim=0, end_dim=-1):
    if x.ndim == 0:
        return x.reshape(1)
    start, end = start_dim % x.ndim, end_dim % x.ndim
    return x.reshape(
        *x.shape[:start],
        -1 if x.size else int(np.prod(x.shape[start : end + 1])),
        *x.shape[end + 1 :],
    )


def _unflatten(x, dim, sizes):
    dim %= x.ndim
    return x.reshape(*x.shape[:dim], *sizes, *x.shape[dim + 1 :])


def _squeeze(x, dim=None):
    if dim is None:
        return np.squeeze(x)
    dims = [d % x.ndim for d in (dim if isinstance(dim, tuple) else (dim,))] if x.ndim else []
    return np.squeeze(x, tuple(d for d in dims if x.shape[d] == 1))


def _split(x, split_size_or_sections, dim=0):
    size = x.shape[dim]
    if isinstance(split_size_or_sections, int):
        cuts = list(range(split_size_or_sections, size, split_size_or_sections))
    else:
        cuts = list(np.cumsum(split_size_or_sections)[:-1])
    return tuple(np.split(x, cuts, axis=dim))


def _chunk(x, chunks, dim=0):
    return _split(x, -(-x.shape[dim] // chunks), dim)


def _expand(x, *sizes):
    shape = sizes[0] if isinstance(sizes[0], tuple | list) else sizes
    offset = len(shape) - x.ndim
    return np.broadcast_to(
        x, [x.shape[i - offset] if size == -1 else size for i, size in enumerate(shape)]
    )


def _pad(x, pad, mode="constant", value=None):
    widths = [(0, 0)] * x.ndim
    for i in range(len(pad) // 2):
        widths[x.ndim - 1 - i] = (pad[2 * i], pad[2 * i + 1])
    keep = tuple(slice(max(0, -a), x.shape[i] - max(0, -b)) for i, (a, b) in enumerate(widths))
    grow = [(max(0, a), max(0, b)) for a, b in widths]
    if mode == "constant":
        return np.pad(x[keep], grow, constant_values=value or 0)
    return np.pad(
        x[keep], grow, mode={"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode]
    )


def _diag_embed(x, offset=0, dim1=-2, dim2=-1):
    size = x.shape[-1] + abs(offset)
    result = np.zeros((*x.shape[:-1], size, size), x.dtype)
    rows = np.arange(x.shape[-1]) + max(0, -offset)
    result[..., rows, rows + offset] = x
    return np.moveaxis(result, (-2, -1), (dim1, dim2))


def _unfold(x, dimension, size, step):
    windows = np.lib.stride_tricks.sliding_window_view(x, size, axis=dimension)
    return windows[(slice(None),) * (dimension % x.ndim) + (slice(None, None, step),)]


def _repeat_interleave(x, repeats, dim=None):
    return np.repeat(x, repeats, axis=dim)


def _scattered(x, src, dim, index):
    result = x.copy()
    np.moveaxis(result, dim, 0)[index] = (
        np.moveaxis(src, dim, 0) if isinstance(index, slice) else src
    )
    return result


def _diagonal_scatter(x, src, offset=0):
    result = x.copy()
    rows = np.arange(src.shape[0]) + max(0, -offset)
    result[rows, rows + offset] = src
    return result


def _as_strided(x, size, stride, storage_offset=0):
    places = sum(
        np.arange(n).reshape([-1] + [1] * (len(size) - 1 - i)) * s
        for i, (n, s) in enumerate(zip(size, stride, strict=True))
    )
    return x.reshape(-1)[places + storage_offset]


def _as_strided_scatter(x, src, size, stride, storage_offset=0):
    places = _as_strided(np.arange(x.size), size, stride, storage_offset)
    result = x.copy()
    result.reshape(-1)[places] = src
    return result


def _select(x, dim, index):
    return np.take(x, index, axis=dim)


def _tensor_split(x, parts, dim=0):
    return tuple(np.array_split(x, parts if isinstance(parts, int) else list(parts), axis=dim))


def _all(name, samples, reference, errors=(), method=True, dtypes=ALL, **more) -> Row:
    return Row(name, samples, reference, dtypes, errors=errors, method=method, **more)


def _triangle(make):
    return [
        Sample(make(3, 4)),
        Sample(make(4, 3), 1),
        Sample(make(2, 3, 3), diagonal=-1),
        Sample(make(0, 3)),
    ]


ROWS = [
    _all(
        "reshape",
        lambda m: [
            Sample(m(3, 4), (2, 6)),
            Sample(m(3, 4), (-1,)),
            Sample(m(), (1, 1)),
            Sample(m(0, 3), (3, 0)),
            Sample(m(2, 3, 4), (2, -1)),
        ],
        np.reshape,
        errors=(
            bad(A34, (5, 2), error=ValueError, says=("(3, 4)", "(5, 2)")),
            bad(A34, (-1, -1), error=RuntimeError, says=("-1",)),
        ),
    ),
    _all(
        "Tensor.view",
        lambda m: [
            Sample(m(3, 4), 2, 6),
            Sample(m(3, 4), (-1, 3)),
            Sample(m(), 1),
            Sample(m(0, 3), 0),
        ],
        lambda x, *s: x.reshape(*s),
        errors=(bad(A34, 5, 2, error=ValueError, says=("(3, 4)", "(5, 2)")),),
        method=False,
        tags=("contiguous",),
    ),
    _all(
        "Tensor.view_as",
        lambda m: [Sample(m(3, 4), m(2, 6))],
        lambda x, y: x.reshape(y.shape),
        method=False,
        tags=("contiguous",),
    ),
    _all(
        "Tensor.reshape_as",
        lambda m: [Sample(m(3, 4), m(2, 6))],
        lambda x, y: x.reshape(y.shape),
        method=False,
    ),
    _all(
        "permute",
        lambda m: [
            Sample(m(2, 3, 4), (2, 0, 1)),
            Sample(m(2, 3), (-1, 0)),
            Sample(m(), ()),
            Sample(m(0, 3), (1, 0)),
        ],
        np.transpose,
        errors=(
            bad(A34, (0, 0), error=RuntimeError, says=("dim", "0")),
            bad(A34, (0, 1, 2), error=RuntimeError, says=("dim",)),
        ),
    ),
    _all(
        "transpose",
        lambda m: [Sample(m(2, 3, 4), 0, 2), Sample(m(2, 3), -1, 0), Sample(m(0, 3), 0, 1)],
        np.swapaxes,
        errors=(bad(A34, 0, 2, error=IndexError, says=("dim", "2")),),
    ),
    _all("swapaxes", lambda m: [Sample(m(2, 3, 4), 0, 1)], np.swapaxes),
    _all("swapdims", lambda m: [Sample(m(2, 3, 4), 1, 2)], np.swapaxes),
    _all(
        "movedim",
        lambda m: [Sample(m(2, 3, 4), 0, 2), Sample(m(2, 3, 4), (0, 1), (2, 0))],
        np.moveaxis,
    ),
    _all("moveaxis", lambda m: [Sample(m(2, 3, 4), 0, -1)], np.moveaxis),
    _all(
        "t",
        lambda m: [Sample(m(2, 3)), Sample(m(3)), Sample(m())],
        np.transpose,
        errors=(bad(np.ones((2, 3, 4)), error=RuntimeError, says=("(2, 3, 4)",)),),
    ),
    _all("adjoint", lambda m: [Sample(m(2, 3, 4))], lambda x: np.swapaxes(x, -1, -2)),
    _all(
        "Tensor.expand",
        lambda m: [
            Sample(m(3, 1), 3, 4),
            Sample(m(3, 1), (2, -1, 4)),
            Sample(m(), 2, 3),
            Sample(m(1, 3), 0, 3),
        ],
        _expand,
        errors=(bad(A34, 3, 5, error=ValueError, says=("(3, 4)", "(3, 5)")),),
        method=False,
    ),
    _all(
        "Tensor.expand_as",
        lambda m: [Sample(m(3, 1), m(2, 3, 4))],
        lambda x, y: np.broadcast_to(x, y.shape),
        method=False,
    ),
    _all(
        "broadcast_to",
        lambda m: [Sample(m(3, 1), (2, 3, 4)), Sample(m(), (2,))],
        np.broadcast_to,
        errors=(bad(A34, (3, 5), error=ValueError, says=("(3, 4)", "(3, 5)")),),
        alias="expand",
    ),
    _all(
        "broadcast_tensors",
        lambda m: [Sample(m(3, 1), m(4))],
        lambda *xs: tuple(np.broadcast_arrays(*xs)),
        method=False,
    ),
    _all(
        "squeeze",
        lambda m: [
            Sample(m(1, 3, 1)),
            Sample(m(1, 3, 1), 0),
            Sample(m(1, 3, 1), 1),
            Sample(m(1, 3, 1), dim=(0, -1)),
            Sample(m(1, 0)),
        ],
        _squeeze,
        errors=(NO_DIMENSION,),
    ),
    _all(
        "unsqueeze",
        lambda m: [Sample(m(3, 4), 0), Sample(m(3, 4), -1), Sample(m(), 0), Sample(m(0, 2), 1)],
        np.expand_dims,
        errors=(bad(A34, 3, error=IndexError, says=("dim", "3")),),
    ),
    _all(
        "flatten",
        lambda m: [
            Sample(m(2, 3, 4)),
            Sample(m(2, 3, 4), 1),
            Sample(m(2, 3, 4), 0, 1),
            Sample(m()),
            Sample(m(0, 3)),
        ],
        _flatten,
        errors=(bad(A34, 1, 0, error=RuntimeError, says=("start_dim", "end_dim")),),
    ),
    _all(
        "unflatten",
        lambda m: [Sample(m(2, 6), 1, (2, 3)), Sample(m(2, 6), -1, (-1, 2))],
        _unflatten,
        errors=(bad(A34, 1, (3, 3), error=RuntimeError, says=("4",)),),
    ),
    _all("ravel", lambda m: [Sample(m(2, 3)), Sample(m())], np.ravel),
    _all("atleast_1d", lambda m: [Sample(m()), Sample(m(2))], np.atleast_1d, method=False),
    _all(
        "atleast_2d",
        lambda m: [Sample(m()), Sample(m(2)), Sample(m(2, 3))],
        np.atleast_2d,
        method=False,
    ),
    _all(
        "atleast_3d",
        lambda m: [Sample(m()), Sample(m(2)), Sample(m(2, 3))],
        np.atleast_3d,
        method=False,
    ),
    # Cutting.
    _all(
        "split",
        lambda m: [
            Sample(m(5, 2), 2),
            Sample(m(3, 5), [1, 4], dim=1),
            Sample(m(5), 5),
            Sample(m(2, 3), 1, -1),
        ],
        _split,
        errors=(bad(A34, [1, 1], error=RuntimeError, says=("3",)),),
    ),
    _all("split_with_sizes", lambda m: [Sample(m(5), [2, 3]), Sample(m(3, 5), [1, 4], 1)], _split),
    _all(
        "tensor_split", lambda m: [Sample(m(7), 3), Sample(m(3, 5), (1, 3), dim=1)], _tensor_split
    ),
    _all(
        "chunk",
        lambda m: [Sample(m(5, 2), 2), Sample(m(3, 5), 3, dim=1), Sample(m(2), 4)],
        _chunk,
        errors=(bad(A34, 0, error=RuntimeError, says=("chunks", "0")),),
    ),
    _all("hsplit", lambda m: [Sample(m(4, 6), 3), Sample(m(6), 2)], np.hsplit),
    _all("vsplit", lambda m: [Sample(m(4, 6), 2)], np.vsplit),
    _all(
        "unbind",
        lambda m: [Sample(m(3, 4)), Sample(m(3, 4), 1), Sample(m(2, 3), dim=-1)],
        lambda x, dim=0: tuple(np.moveaxis(x, dim, 0)),
        errors=(NO_DIMENSION,),
    ),
    _all(
        "select",
        lambda m: [Sample(m(3, 4), 0, 1), Sample(m(3, 4), 1, -1), Sample(m(3), 0, 2)],
        _select,
        errors=(bad(A34, 0, 3, error=IndexError, says=("index", "3")),),
    ),
    _all(
        "narrow",
        lambda m: [Sample(m(5, 2), 0, 1, 3), Sample(m(2, 5), -1, 0, 0)],
        lambda x, dim, start, length: np.take(x, range(start, start + length), axis=dim),
        errors=(bad(A34, 0, 2, 3, error=RuntimeError, says=("2", "3")),),
    ),
    _all(
        "diagonal",
        lambda m: [Sample(m(3, 4)), Sample(m(3, 4), 1), Sample(m(2, 3, 4), -1, 0, 2)],
        np.diagonal,
    ),
    _all(
        "Tensor.unfold",
        lambda m: [Sample(m(7), 0, 3, 2), Sample(m(2, 5), 1, 2, 1)],
        _unfold,
        errors=(bad(A34, 1, 5, 1, error=RuntimeError, says=("5", "4")),),
        method=False,
    ),
    _all(
        "dsplit",
        lambda m: [Sample(m(2, 3, 4), 2)],
        np.dsplit,
    ),
    _all(
        "as_strided",
        lambda m: [
            Sample(m(12), (2, 3), (4, 1)),
            Sample(m(12), (3, 2), (1, 2), 3),
            Sample(m(5), (4, 2), (1, 1)),
        ],
        _as_strided,
        tags=("contiguous",),
    ),
    _all(
        "select_scatter",
        lambda m: [Sample(m(3, 4), m(3), 1, 2), Sample(m(3, 4), m(4), dim=0, index=-1)],
        _scattered,
    ),
    _all(
        "slice_scatter",
        lambda m: [Sample(m(5, 2), m(2, 2), 0, 1, 5, 2), Sample(m(3, 4), m(3, 2), dim=1, start=2)],
        lambda x, src, dim=0, start=None, end=None, step=1: _scattered(
            x, src, dim, slice(start, end, step)
        ),
    ),
    _all(
        "diagonal_scatter",
        lambda m: [Sample(m(3, 4), m(3)), Sample(m(3, 4), m(3), 1)],
        _diagonal_scatter,
    ),
    _all(
        "as_strided_scatter",
        lambda m: [
            Sample(m(12), m(2, 3), (2, 3), (4, 1)),
            Sample(m(3, 4), m(3), (3,), (5,), 1),
            Sample(m(5), m(0, 2), (0, 2), (1, 1)),
        ],
        _as_strided_scatter,
        errors=(bad(np.ones(4), np.ones(3), (2,), (1,), error=ValueError, says=("(2,)", "(3,)")),),
        oracle="PyTorch gives input the gradient of the part that src replaced",
        tags=("contiguous",),
    ),
    # Joining.
    _all(
        "cat",
        lambda m: [
            Sample([m(2, 3), m(1, 3)]),
            Sample([m(2, 3), m(2, 1), m(2, 2)], dim=1),
            Sample([m(0, 3), m(2, 3)]),
            Sample([m(2), m(1)], -1),
        ],
        lambda xs, dim=0: np.concatenate(xs, dim),
        errors=(
            bad([A34, np.ones((3, 5))], error=ValueError, says=("(3, 4)", "(3, 5)")),
            bad([], error=RuntimeError, says=("tensors",)),
        ),
        method=False,
    ),
    _all(
        "concat",
        lambda m: [Sample([m(2, 3), m(1, 3)])],
        lambda xs, dim=0: np.concatenate(xs, dim),
        method=False,
    ),
    _all(
        "concatenate",
        lambda m: [Sample([m(2, 3), m(2, 1)], dim=1)],
        lambda xs, dim=0: np.concatenate(xs, dim),
        method=False,
    ),
    _all(
        "stack",
        lambda m: [
            Sample([m(2, 3), m(2, 3)]),
            Sample([m(2, 3), m(2, 3)], dim=-1),
            Sample([m(), m(), m()]),
            Sample([m(0), m(0)]),
        ],
        lambda xs, dim=0: np.stack(xs, dim),
        errors=(
            bad([A34, np.ones((3, 5))], error=ValueError, says=("(3, 4)", "(3, 5)")),
            bad([], error=RuntimeError, says=("tensors",)),
        ),
        method=False,
    ),
    _all(
        "hstack",
        lambda m: [Sample([m(2, 3), m(2, 1)]), Sample([m(2), m(3)])],
        np.hstack,
        method=False,
    ),
    _all(
        "vstack",
        lambda m: [Sample([m(2, 3), m(1, 3)]), Sample([m(3), m(3)])],
        np.vstack,
        method=False,
    ),
    _all("dstack", lambda m: [Sample([m(2, 3), m(2, 3)])], np.dstack, method=False),
    _all("column_stack", lambda m: [Sample([m(2), m(2, 3)])], np.column_stack, method=False),
    _all(
        "block_diag",
        lambda m: [Sample(m(2, 3), m(1, 2))],
        lambda a, b: np.block([[a, np.zeros((2, 2), a.dtype)], [np.zeros((1, 3), a.dtype), b]]),
        method=False,
    ),
    _all(
        "meshgrid",
        lambda m: [Sample(m(2), m(3), indexing="ij"), Sample(m(2), m(3), indexing="xy")],
        lambda *xs, indexing: tuple(np.meshgrid(*xs, indexing=indexing)),
        method=False,
    ),
    _all(
        "cartesian_prod",
        lambda m: [Sample(m(2), m(3))],
        lambda x, y: np.stack([g.ravel() for g in np.meshgrid(x, y, indexing="ij")], 1),
        method=False,
    ),
    _all(
        "combinations",
        lambda m: [Sample(m(4)), Sample(m(3), 2, True)],
        lambda x, r=2, with_replacement=False: np.array(
            list(
                (
                    itertools.combinations_with_replacement
                    if with_replacement
                    else itertools.combinations
                )(x, r)
            ),
            x.dtype,
        ),
        method=False,
    ),
    # Reordering and repeating.
    _all(
        "flip",
        lambda m: [Sample(m(3, 4), (0,)), Sample(m(2, 3, 4), (0, -1)), Sample(m(0, 2), (1,))],
        np.flip,
        errors=(bad(A34, (0, 0), error=RuntimeError, says=("dim", "0")),),
    ),
    _all("fliplr", lambda m: [Sample(m(3, 4))], np.fliplr),
    _all("flipud", lambda m: [Sample(m(3, 4))], np.flipud),
    _all(
        "roll",
        lambda m: [
            Sample(m(3, 4), 1),
            Sample(m(3, 4), -1, 1),
            Sample(m(3, 4), (1, 2), (0, 1)),
            Sample(m(0, 2), 1, 0),
        ],
        np.roll,
    ),
    _all(
        "rot90",
        lambda m: [
            Sample(m(3, 4), 1, (0, 1)),
            Sample(m(2, 3, 4), -1, (0, 2)),
            Sample(m(3, 4), 2, (0, 1)),
        ],
        np.rot90,
    ),
    _all(
        "Tensor.repeat",
        lambda m: [Sample(m(2, 3), 2, 2), Sample(m(3), (2, 1, 2)), Sample(m(2), 0)],
        lambda x, *r: np.tile(x, r[0] if isinstance(r[0], tuple) else r),
        errors=(bad(A34, 2, error=RuntimeError, says=("(3, 4)",)),),
        method=False,
    ),
    _all(
        "tile", lambda m: [Sample(m(2, 3), (2,)), Sample(m(3), (2, 2)), Sample(m(), (3,))], np.tile
    ),
    _all(
        "repeat_interleave",
        lambda m: [
            Sample(m(2, 3), 2),
            Sample(m(2, 3), 3, dim=1),
            Sample(m(3, 2), np.array([1, 0, 2]), dim=0),
        ],
        _repeat_interleave,
    ),
    _all(
        F + "pad",
        lambda m: [
            Sample(m(3, 4), (1, 2)),
            Sample(m(3, 4), (1, 0, 0, 2), "constant", 1.0 if m.dtype != "bool" else 1),
            Sample(m(3, 4), (-1, 1)),
        ],
        _pad,
        errors=(bad(A34, (1, 2, 3), error=RuntimeError, says=("pad", "3")),),
        method=False,
    ),
    Row(
        F + "pad",
        lambda m: [
            Sample(m(1, 2, 4), (2, 1), mode="reflect"),
            Sample(m(1, 2, 4), (1, 2), mode="replicate"),
            Sample(m(1, 2, 3, 4), (1, 1, 2, 1), mode="reflect"),
            Sample(m(1, 2, 4), (2, 1), mode="circular"),
            Sample(m(1, 1, 3, 3), (1, 0, 2, 1), mode="replicate"),
        ],
        _pad,
        ("float64", "float32"),
        tags=("modes",),
    ),
    _all(
        "tril",
        _triangle,
        lambda x, diagonal=0: np.tril(x, diagonal),
        errors=(bad(np.ones(3), error=RuntimeError, says=("(3,)",)),),
        in_place=True,
    ),
    _all(
        "triu",
        _triangle,
        lambda x, diagonal=0: np.triu(x, diagonal),
        errors=(bad(np.ones(3), error=RuntimeError, says=("(3,)",)),),
        in_place=True,
    ),
    _all(
        "diag",
        lambda m: [Sample(m(3)), Sample(m(3, 4)), Sample(m(3), 1), Sample(m(3, 4), -1)],
        np.diag,
        errors=(bad(np.ones((2, 3, 4)), error=RuntimeError, says=("(2, 3, 4)",)),),
    ),
    _all(
        "diag_embed",
        lambda m: [Sample(m(2, 3)), Sample(m(3), 1), Sample(m(2, 3), -1, 0, 2)],
        _diag_embed,
    ),
    # Copies and casts.
    _all("clone", lambda m: [Sample(m(2, 3)), Sample(m()), Sample(m(0, 2))], np.copy),
    _all("Tensor.contiguous", lambda m: [Sample(m(2, 3)), Sample(m())], np.copy, method=False),
    _all(
        "Tensor.to",
        lambda m: [Sample(m(2, 3), Dtype("float64")), Sample(m(), Dtype("float64"))],
        lambda x, d: x.astype(d),
        method=False,
        result="float64",
    ),
    _all(
        "Tensor.double",
        lambda m: [Sample(m(2, 3))],
        lambda x: x.astype(np.float64),
        method=False,
        result="float64",
    ),
    _all(
        "Tensor.float",
        lambda m: [Sample(m(2, 3)).smooth(0)],
        lambda x: x.astype(np.float32),
        method=False,
        result="float32",
    ),
    _all(
        "Tensor.half",
        lambda m: [Sample(m(2, 3)).smooth(0)],
        lambda x: x.astype(np.float16),
        method=False,
        result="float16",
        tolerance=1e7,
    ),
    _all(
        "Tensor.long",
        lambda m: [Sample(m(2, 3))],
        lambda x: x.astype(np.int64),
        method=False,
        order=0,
    ),
    _all(
        "Tensor.int",
        lambda m: [Sample(m(2, 3))],
        lambda x: x.astype(np.int32),
        method=False,
        order=0,
    ),
    _all(
        "Tensor.bool", lambda m: [Sample(m(2, 3))], lambda x: x.astype(bool), method=False, order=0
    ),
    _all(
        "Tensor.type_as",
        lambda m: [Sample(m(2, 3), np.ones(1))],
        lambda x, y: x.astype(y.dtype),
        method=False,
        result="exact",
    ),
]
