"""Overloads of selection."""

from __future__ import annotations

import pytest

import weft


def test_where_alone_gives_indices():
    x = weft.tensor([[0, 3], [5, 0]])
    rows, columns = weft.where(x)
    assert (rows.tolist(), columns.tolist()) == ([0, 1], [1, 0])
    assert weft.nonzero(x, as_tuple=True)[0].tolist() == [0, 1]
    assert [part.tolist() for part in weft.where(weft.tensor(3))] == [[0]]
    assert x.where(x > 0, -1).tolist() == [[-1, 3], [5, -1]]


def test_scatter_with_values_and_reductions():
    x, index = weft.ones(2, 3), weft.tensor([[0], [2]])
    assert x.scatter(1, index, value=5.0).tolist() == [[5, 1, 1], [1, 1, 5]]
    assert x.scatter(1, index, 5.0, reduce="add").tolist() == [[6, 1, 1], [1, 1, 6]]
    source = weft.full((2, 1), 3.0)
    assert x.scatter(1, index, source, reduce="multiply").tolist() == [[3, 1, 1], [1, 1, 3]]
    assert x.scatter_(1, index, value=5.0) is x
    assert x.scatter_(1, index, 0.0).tolist() == [[0, 1, 1], [1, 1, 0]]
    with pytest.raises(ValueError, match="reduce"):
        x.scatter(1, index, 5.0, reduce="divide")


def test_index_put_takes_masks_and_whole_dimensions():
    x = weft.zeros(3, 4)
    y = x.index_put(
        (weft.tensor([0, 0, 1]), weft.tensor([1, 1, 2])), weft.tensor(1.0), accumulate=True
    )
    assert y[0, 1] == 2
    assert x.sum() == 0
    x.index_put_((x == 0,), weft.tensor(3.0))
    assert x.sum() == 36
    x.index_put_((None, weft.tensor([1])), weft.tensor(0.0))
    assert x[:, 1].sum() == 0
    with pytest.raises(IndexError, match="3 dimensions"):
        x.index_put((weft.tensor([0]),) * 3, weft.tensor(0.0))


def test_repeats_of_each():
    x = weft.tensor([[1, 2], [3, 4]])
    assert weft.repeat_interleave(x, weft.tensor([2, 1]), 0).tolist() == [[1, 2], [1, 2], [3, 4]]
    assert weft.repeat_interleave(weft.tensor([0, 2, 1])).tolist() == [1, 1, 2]
    assert x.repeat_interleave(weft.tensor([2])).tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    assert x.repeat_interleave(weft.tensor([1, 0, 0, 2])).tolist() == [1, 4, 4]
    with pytest.raises(ValueError, match="repeats"):
        weft.repeat_interleave(x, weft.tensor([1, 2, 3]), 0)


def test_membership():
    x = weft.tensor([1, 2, 3])
    assert weft.isin(x, 2).tolist() == [False, True, False]
    assert weft.isin(2, x)
    assert weft.isin(x, weft.tensor([1, 3]), invert=True).tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("tensor", "classes", "error", "text"),
    [
        (weft.tensor([1.0]), -1, TypeError, "int64"),
        (weft.tensor([-1]), -1, ValueError, "-1"),
        (weft.tensor([3]), 2, ValueError, "num_classes"),
        (weft.zeros(0, dtype=weft.int64), -1, ValueError, "num_classes"),
    ],
)
def test_one_hot_errors(tensor, classes, error, text):
    with pytest.raises(error, match=text):
        weft.nn.functional.one_hot(tensor, classes)


def test_sorted_neighbours():
    x = weft.tensor([[3.0, 1.0], [2.0, 4.0]])
    assert weft.msort(x).tolist() == [[2, 1], [3, 4]]
    assert x.argsort(descending=True).tolist() == [[0, 1], [1, 0]]
    assert weft.unique(weft.tensor([2, 1, 2]), return_counts=True)[1].tolist() == [1, 2]
