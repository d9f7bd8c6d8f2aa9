"""Joining and cutting beyond the op table's rows."""

from __future__ import annotations

import pytest

import weft


def test_broadcast_shapes():
    assert weft.broadcast_shapes((3, 1), (4,), 1) == (3, 4)
    with pytest.raises(ValueError, match=r"\(3,\).*\(4,\)"):
        weft.broadcast_shapes((3,), (4,))


def test_several_tensors_at_once():
    a, b = weft.atleast_2d(weft.tensor(1), weft.ones(2))
    assert (a.shape, b.shape) == ((1, 1), (1, 2))
    assert [x.shape for x in weft.atleast_3d([weft.tensor(1)])] == [(1, 1, 1)]
    assert [x.shape for x in weft.broadcast_tensors(weft.ones(2, 1), weft.ones(3))] == [(2, 3)] * 2


def test_cuts():
    x = weft.arange(6).reshape(1, 2, 3)
    assert [part.tolist() for part in weft.dsplit(x, [1])] == [[[[0], [3]]], [[[1, 2], [4, 5]]]]
    assert [len(part) for part in weft.tensor_split(weft.arange(5), weft.tensor([2, 9]))] == [
        2,
        3,
        0,
    ]
    with pytest.raises(ValueError, match="positive"):
        weft.tensor_split(x, 0)
    with pytest.raises(ValueError, match="indexing"):
        weft.meshgrid(weft.ones(2), indexing="yx")


def test_blocks_and_products():
    assert weft.block_diag(weft.tensor(1), weft.tensor([[2, 3]])).tolist() == [[1, 0, 0], [0, 2, 3]]
    pairs = weft.cartesian_prod(weft.tensor([1, 2]), weft.tensor([3, 4]))
    assert pairs.tolist() == [[1, 3], [1, 4], [2, 3], [2, 4]]
    assert weft.combinations(weft.tensor([1, 2]), with_replacement=True).tolist() == [
        [1, 1],
        [1, 2],
        [2, 2],
    ]
