"""Overloads of selection."""

from __future__ import annotations

import math

import pytest

import weft
from weft.functional import METHODS


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


def test_scatter_reduce_without_self():
    x, index = weft.tensor([5.0, 5.0, 5.0]), weft.tensor([0, 0, 1])
    src = weft.tensor([1.0, 4.0, 3.0])
    for reduce, expected in {
        "sum": [5.0, 3.0, 5.0],
        "prod": [4.0, 3.0, 5.0],
        "mean": [2.5, 3.0, 5.0],
        "amax": [4.0, 3.0, 5.0],
        "amin": [1.0, 3.0, 5.0],
    }.items():
        got = weft.scatter_reduce(x, 0, index, src, reduce, include_self=False)
        assert got.tolist() == expected
        whole = weft.scatter_reduce(x.long(), 0, index, src.long(), reduce, include_self=False)
        assert whole.tolist() == [math.floor(value) for value in expected]
    assert x.scatter_reduce_(0, index, src, "amin").tolist() == [1.0, 3.0, 5.0]


def test_gradients_of_scatter_reduce():
    index = weft.tensor([0, 0, 1])
    for values in ([1.0, 4.0, 3.0], [0.0, 4.0, 3.0], [0.0, 0.0, 3.0]):
        for reduce in ("sum", "prod", "mean", "amax", "amin"):
            for include_self in (True, False):
                x = weft.tensor([5.0, 2.5, 7.0], dtype=weft.float64, requires_grad=True)
                src = weft.tensor(values, dtype=weft.float64, requires_grad=True)
                if reduce.startswith("am") and values[0] == values[1]:
                    continue  # ties have no derivative

                def reduced(x, src, how=(reduce, include_self)):
                    return weft.scatter_reduce(x, 0, index, src, *how)

                assert weft.autograd.gradcheck(reduced, (x, src))


def test_writing_slices():
    x, index = weft.zeros(3, 2), weft.tensor([2, 0])
    assert x.index_fill(0, index, 7).tolist() == [[7, 7], [0, 0], [7, 7]]
    assert x.index_copy(1, weft.tensor([1]), weft.ones(3, 1)).tolist() == [[0, 1]] * 3
    assert weft.tensor(1.0).index_fill(0, weft.tensor([0]), 2.0).item() == 2.0
    with pytest.raises(ValueError, match=r"index_copy.*source"):
        x.index_copy(0, index, weft.ones(3, 2))
    with pytest.raises(IndexError, match=r"index_fill.*3"):
        x.index_fill(0, weft.tensor([3]), 1.0)


def test_masks_broadcast():
    mask = weft.tensor([True, False])
    assert weft.masked_select(weft.arange(4).reshape(2, 2), mask).tolist() == [0, 2]
    assert weft.zeros(2, 2).masked_scatter(mask, weft.arange(5.0)).tolist() == [[0, 0], [1, 0]]
    with pytest.raises(ValueError, match=r"masked_scatter.*source"):
        weft.zeros(2, 2).masked_scatter(mask, weft.ones(1))


def test_take_along_dim_broadcasts():
    x, places = weft.arange(6).reshape(2, 3), weft.tensor([[2, 0]])
    assert weft.take_along_dim(x, places, 1).tolist() == [[2, 0], [5, 3]]
    with pytest.raises(ValueError, match="take_along_dim"):
        weft.take_along_dim(x, weft.tensor([0]), 1)


def test_index_select_of_and_by_single_elements():
    x = weft.arange(3.0, requires_grad=True)
    chosen = weft.index_select(x, 0, weft.tensor(2))
    assert chosen.shape == (1,)
    chosen.sum().backward()
    assert x.grad.tolist() == [0, 0, 1]
    y = weft.tensor(1.0, requires_grad=True)
    weft.index_select(y, 0, weft.tensor([0])).backward()
    assert y.grad.item() == 1.0


def test_scatter_takes_the_part_of_src_that_index_covers():
    src = weft.ones(3, 3, requires_grad=True)
    index = weft.tensor([[0, 1]])
    assert weft.zeros(2, 2).scatter_add(0, index, src).tolist() == [[1, 0], [0, 1]]
    weft.zeros(2, 2).scatter(0, index, src).sum().backward()
    assert src.grad.tolist() == [[1, 1, 0], [0, 0, 0], [0, 0, 0]]
    with pytest.raises(ValueError, match=r"scatter_add.*src"):
        weft.zeros(2, 2).scatter_add(0, index, weft.ones(1, 1))


def test_index_put_as_a_function_takes_what_the_method_takes() -> None:
    places, values = (weft.tensor([0, 1, 1]),), weft.tensor([1.0, 2.0, 3.0])
    expected = [[1, 2, 3], [2, 4, 6], [0, 0, 0]]
    assert weft.index_put_(weft.zeros(3, 3), places, values, True).tolist() == expected
    assert weft.zeros(3, 3).index_put_(places, values, True).tolist() == expected
    both = (weft.tensor([0, 1]), weft.tensor([2, 0]))
    found = weft.index_put_(input=weft.zeros(2, 3), indices=both, values=weft.tensor(7.0))
    assert found.tolist() == [[0, 0, 7], [7, 0, 0]]


def test_functions_that_write_are_the_methods() -> None:
    names = [name for name in METHODS if name.endswith("_") and hasattr(weft, name)]
    assert {"add_", "div_", "index_put_", "scatter_", "scatter_add_", "sub_"} <= set(names)
    assert [name for name in names if getattr(weft, name) is not METHODS[name]] == []


def test_index_fill_counts_the_gradient_of_a_slice_once() -> None:
    x = weft.ones(2, 3, requires_grad=True)
    value = weft.tensor(2.0, requires_grad=True)
    filled = weft.index_fill(x, 1, weft.tensor([0, 2, 2]), value)
    assert filled.tolist() == [[2, 1, 2], [2, 1, 2]]
    filled.sum().backward()
    assert value.grad is not None
    assert x.grad is not None
    assert value.grad.item() == 4
    assert x.grad.tolist() == [[0, 1, 0], [0, 1, 0]]


NEGATIVE = weft.tensor([-1])
X = weft.arange(3.0)


@pytest.mark.parametrize(
    "pick",
    [
        lambda i: X.gather(0, i),
        lambda i: X.index_select(0, i),
        lambda i: X.scatter(0, i, X),
        lambda i: X.scatter(0, i, 1.0),
        lambda i: X.clone().scatter_(0, i, 1.0),
        lambda i: X.scatter(0, i, X, reduce="multiply"),
        lambda i: X.scatter_add(0, i, X),
        lambda i: X.scatter_reduce(0, i, X, "amax"),
        lambda i: X.scatter_reduce(0, i, X, "mean", include_self=False),
        lambda i: X.index_reduce(0, i, weft.ones(1), "prod"),
        lambda i: X.index_add(0, i, weft.ones(1)),
        lambda i: X.index_copy(0, i, weft.ones(1)),
        lambda i: X.clone().index_copy_(0, i, weft.ones(1)),
        lambda i: weft.take_along_dim(X, i),
    ],
)
@pytest.mark.parametrize("place", [-1, -3, -4, 3])
@pytest.mark.filterwarnings("ignore:more than 20 plans")  # one by one, to find the example
def test_places_that_must_not_be_negative(pick, place):
    index = weft.tensor([place])
    with pytest.raises(IndexError, match=f"{place}"):
        pick(index)
    many = weft.tensor([[1], [place], *[[0]] * 6])
    with pytest.raises(IndexError):
        weft.vmap(pick)(many)
    with pytest.raises(IndexError, match=f"{place}"):
        weft.map(lambda i: pick(i).sum(), list(many))


@pytest.mark.parametrize(
    ("pick", "expected"),
    [
        (lambda x, i: x[i], [2.0]),
        (lambda x, i: x.take(i), [2.0]),
        (lambda x, i: x.put(i, weft.ones(1)), [0.0, 1.0, 1.0]),
        (lambda x, i: x.put(i, weft.ones(1), accumulate=True), [0.0, 1.0, 3.0]),
        (lambda x, i: x.index_fill(0, i, 7.0), [0.0, 1.0, 7.0]),
        (lambda x, i: x.index_put((i,), weft.ones(1)), [0.0, 1.0, 1.0]),
        (lambda x, i: x.index_put((i,), weft.ones(1), accumulate=True), [0.0, 1.0, 3.0]),
        (lambda x, i: weft.take_along_dim(x, i, 0), [2.0]),
    ],
)
def test_places_that_count_from_the_end(pick, expected):
    assert pick(X, NEGATIVE).tolist() == expected
    own, indices = X.repeat(2, 1), weft.tensor([[-1], [2]])
    assert weft.vmap(pick)(own, indices).tolist() == [expected, expected]
    assert weft.vmap(pick, in_dims=(None, 0))(X, indices).tolist() == [expected, expected]
    rows = weft.map(lambda i: pick(X + 0, i), list(indices.repeat(4, 1)))
    assert [row.tolist() for row in rows] == [expected] * 8
    x = own.clone().requires_grad_()
    weft.vmap(pick)(x, indices).sum().backward()
    assert x.grad[0].tolist() == x.grad[1].tolist()
    for place in (-4, 3):
        with pytest.raises(IndexError):
            pick(X, weft.tensor([place]))
