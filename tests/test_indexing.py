"""Reading and writing by every kind of index against NumPy, with gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import weft
from tests.reference import sum_to

# ---- Random indices ------------------------------------------------------------------------------


@st.composite
def indices(draw: st.DrawFn, shape: tuple[int, ...], advanced: bool = True) -> tuple[Any, ...]:
    """Draw an index for `shape`: ints, slices, None, `...`, integer arrays, one mask, mixed."""
    items: list[Any] = []
    common = draw(st.sampled_from([(2,), (3,), (2, 2), (1,)]))
    mask_left = advanced and draw(st.booleans())
    consumed = draw(st.integers(0, len(shape)))
    dim = 0
    while dim < consumed:
        size = shape[dim]
        kinds = (
            ["slice", "slice", "none"] + ["int"] * bool(size) + ["array"] * (advanced and size > 0)
        )
        kind = draw(st.sampled_from([*kinds, "mask"] if mask_left else kinds))
        if kind == "none":
            items.append(None)
            continue
        if kind == "int":
            items.append(draw(st.integers(-size, size - 1)))
        elif kind == "slice":
            bound = st.none() | st.integers(-size - 1, size + 1)
            items.append(slice(draw(bound), draw(bound), draw(st.none() | st.integers(1, 3))))
        elif kind == "array":
            allowed = draw(st.sampled_from([common, (1,), (*common[:-1], 1)]))
            values = st.integers(-size, size - 1)
            count = int(np.prod(allowed))
            drawn = draw(st.lists(values, min_size=count, max_size=count))
            items.append(np.array(drawn, np.int64).reshape(allowed))
        else:
            depth = draw(st.integers(1, min(2, len(shape) - dim)))
            sizes = shape[dim : dim + depth]
            count = int(np.prod(sizes))
            drawn = draw(st.lists(st.booleans(), min_size=count, max_size=count))
            mask = np.array(drawn, bool).reshape(sizes)
            # Its positions must broadcast with the other arrays.
            assume(
                mask.sum() in (1, common[-1]) or not any(isinstance(i, np.ndarray) for i in items)
            )
            items.append(mask)
            mask_left = False
            common = (int(mask.sum()),)
            dim += depth - 1
        dim += 1
    if draw(st.booleans()):
        # Everything drawn so far indexes leading dimensions, so `...` may only stand last, unless
        # all dimensions are used.
        place = draw(st.integers(0, len(items))) if dim == len(shape) else len(items)
        items.insert(place, Ellipsis)
    return tuple(items)


SHAPES = st.lists(st.integers(0, 4), min_size=0, max_size=4).map(tuple)


@st.composite
def cases(draw: st.DrawFn, advanced: bool = True) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    shape = draw(SHAPES)
    return shape, draw(indices(shape, advanced))


def to_weft(index: tuple[Any, ...]) -> Any:
    """Return the index with tensors for arrays, and without the tuple where one item is enough."""
    items = tuple(weft.tensor(item) if isinstance(item, np.ndarray) else item for item in index)
    return items[0] if len(items) == 1 else items


def positions(shape: tuple[int, ...], index: tuple[Any, ...]) -> np.ndarray:
    """Return which elements of an array of `shape` the index reads, by their flat number.

    PyTorch applies integers as selections before the arrays; NumPy would broadcast them with the
    arrays, which puts dimensions elsewhere. So: the basic part first, then the arrays.
    """
    numbers = np.arange(int(np.prod(shape))).reshape(shape)
    used = sum(
        item.ndim if _is_mask(item) else 1 for item in index if item is not None and item is not ...
    )
    full: list[Any] = []
    for item in index:
        full += [slice(None)] * (len(shape) - used) if item is ... else [item]
    basic: list[Any] = []
    late: list[Any] = []
    for item in full:
        if isinstance(item, np.ndarray):
            basic += [slice(None)] * (item.ndim if _is_mask(item) else 1)
            late.append(item)
        else:
            basic.append(item)
            late += [] if isinstance(item, int) else [slice(None)]
    return numbers[tuple(basic)][tuple(late)]


def _is_mask(item: Any) -> bool:
    return isinstance(item, np.ndarray) and item.dtype == bool


def values_of(shape: tuple[int, ...], start: float = 1.0) -> np.ndarray:
    """Return distinct values."""
    return np.arange(int(np.prod(shape)), dtype=np.float64).reshape(shape) + start


def readable(shape: tuple[int, ...], index: tuple[Any, ...]) -> np.ndarray:
    """Return the positions, or give up the example where the arrays do not broadcast."""
    try:
        return positions(shape, index)
    except IndexError:
        assume(False)
        raise


# ---- Reading -------------------------------------------------------------------------------------


@given(cases())
def test_read(case: tuple[tuple[int, ...], tuple[Any, ...]]) -> None:
    shape, index = case
    where = readable(shape, index)
    x = values_of(shape)
    result = weft.tensor(x)[to_weft(index)]
    assert tuple(result.shape) == where.shape
    np.testing.assert_array_equal(result.numpy(), x.reshape(-1)[where])


@given(cases())
def test_read_of_a_view(case: tuple[tuple[int, ...], tuple[Any, ...]]) -> None:
    """Reading a transposed tensor does not depend on its memory."""
    shape, index = case
    where = readable(shape, index)
    x = values_of(shape)
    order = tuple(reversed(range(len(shape))))
    transposed = weft.tensor(np.ascontiguousarray(x.transpose(order)).reshape(shape[::-1])).permute(
        order
    )
    np.testing.assert_array_equal(transposed[to_weft(index)].numpy(), x.reshape(-1)[where])


@given(cases())
def test_read_gradient(case: tuple[tuple[int, ...], tuple[Any, ...]]) -> None:
    shape, index = case
    where = readable(shape, index)
    x = weft.tensor(values_of(shape), requires_grad=True)
    weights = values_of(where.shape, 0.5)
    (gradient,) = weft.autograd.grad(x[to_weft(index)], x, weft.tensor(weights))
    expected = np.zeros(int(np.prod(shape)))
    np.add.at(expected, where, weights)
    np.testing.assert_allclose(gradient.numpy(), expected.reshape(shape))


@given(cases(advanced=False))
def test_basic_indexing_gives_a_view(case: tuple[tuple[int, ...], tuple[Any, ...]]) -> None:
    shape, index = case
    where = readable(shape, index)
    x = weft.tensor(values_of(shape))
    x[to_weft(index)].fill_(-1.0)
    expected = values_of(shape).reshape(-1)
    expected[where] = -1.0
    np.testing.assert_array_equal(x.numpy(), expected.reshape(shape))


def test_advanced_indexing_gives_a_copy() -> None:
    x = weft.arange(4)
    x[weft.tensor([0, 1])].fill_(9)
    x[weft.tensor([True, False, True, False])].fill_(9)
    assert x.tolist() == [0, 1, 2, 3]


# ---- Writing -------------------------------------------------------------------------------------


@st.composite
def writes(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[Any, ...], np.ndarray, np.ndarray]:
    """Draw (shape, index, positions, value), the value's shape broadcasting to the positions'."""
    shape, index = draw(cases())
    where = readable(shape, index)
    cut = draw(st.integers(0, where.ndim))
    value_shape = [1 if draw(st.booleans()) else size for size in where.shape[cut:]]
    if where.size != np.unique(where).size:
        # The order of writes to one element is free, so they must all write the same.
        value_shape = []
    return shape, index, where, np.asarray(values_of(tuple(value_shape), 100.0))


@given(writes())
def test_write(case: tuple[tuple[int, ...], tuple[Any, ...], np.ndarray, np.ndarray]) -> None:
    shape, index, where, value = case
    x = weft.tensor(values_of(shape))
    x[to_weft(index)] = weft.tensor(value)
    expected = values_of(shape).reshape(-1)
    expected[where] = value
    np.testing.assert_array_equal(x.numpy(), expected.reshape(shape))


@given(cases())
def test_write_a_number(case: tuple[tuple[int, ...], tuple[Any, ...]]) -> None:
    shape, index = case
    where = readable(shape, index)
    x = weft.tensor(values_of(shape))
    x[to_weft(index)] = -2.5
    expected = values_of(shape).reshape(-1)
    expected[where] = -2.5
    np.testing.assert_array_equal(x.numpy(), expected.reshape(shape))


@given(writes())
def test_write_through_a_view(
    case: tuple[tuple[int, ...], tuple[Any, ...], np.ndarray, np.ndarray],
) -> None:
    """A write into a transposed tensor arrives in its base."""
    shape, index, where, value = case
    order = tuple(reversed(range(len(shape))))
    base = weft.tensor(np.ascontiguousarray(values_of(shape).transpose(order)).reshape(shape[::-1]))
    base.permute(order)[to_weft(index)] = weft.tensor(value)
    expected = values_of(shape).reshape(-1)
    expected[where] = value
    np.testing.assert_array_equal(base.numpy(), expected.reshape(shape).transpose(order))


@given(writes())
def test_write_gradients(
    case: tuple[tuple[int, ...], tuple[Any, ...], np.ndarray, np.ndarray],
) -> None:
    shape, index, where, value = case
    assume(where.size == np.unique(where).size)
    x = weft.tensor(values_of(shape), requires_grad=True)
    v = weft.tensor(value, requires_grad=True)
    y = x * 2
    y[to_weft(index)] = v * 3
    weights = values_of(shape, 0.5)
    for_x, for_v = weft.autograd.grad(y, [x, v], weft.tensor(weights), allow_unused=True)
    # Where everything was overwritten, nothing of x is left: None says that too.
    for_x = weft.zeros(shape, dtype=weft.float64) if for_x is None else for_x
    kept = weights.reshape(-1).copy()
    kept[where] = 0
    np.testing.assert_allclose(for_x.numpy(), 2 * kept.reshape(shape))
    written = 3 * weights.reshape(-1)[where]
    np.testing.assert_allclose(for_v.numpy(), sum_to(written, value.shape))


@given(writes())
def test_add_in_place(
    case: tuple[tuple[int, ...], tuple[Any, ...], np.ndarray, np.ndarray],
) -> None:
    shape, index, where, value = case
    assume(where.size == np.unique(where).size)
    x = weft.tensor(values_of(shape), requires_grad=True)
    v = weft.tensor(value, requires_grad=True)
    y = x * 2
    y[to_weft(index)] += v
    expected = 2 * values_of(shape).reshape(-1)
    expected[where] += value
    np.testing.assert_allclose(y.detach().numpy(), expected.reshape(shape))
    weights = values_of(shape, 0.5)
    for_x, for_v = weft.autograd.grad(y, [x, v], weft.tensor(weights))
    np.testing.assert_allclose(for_x.numpy(), 2 * weights)
    np.testing.assert_allclose(for_v.numpy(), sum_to(weights.reshape(-1)[where], value.shape))


# ---- Other forms of an index, and errors ---------------------------------------------------------

X = np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ([1, 0], X[[1, 0]]),
        (([0, 1], [2, 0]), X[[0, 1], [2, 0]]),
        (([True, False], slice(None)), X[[True, False]]),
        (True, X[None]),
        (False, X[None][:0]),
        (np.int64(1), X[1]),
        (np.array([1, 1]), X[[1, 1]]),
        ((Ellipsis, None), X[..., None]),
        (slice(None, None, 2), X[::2]),
        ((0, Ellipsis, -1), X[0, ..., -1]),
        ((), X),
    ],
)
def test_other_forms(index: Any, expected: np.ndarray) -> None:
    result = weft.tensor(X)[index]
    assert tuple(result.shape) == expected.shape
    np.testing.assert_array_equal(result.numpy(), expected)


def test_integer_dtypes_of_an_index() -> None:
    for kind in (weft.int32, weft.int64):
        index = weft.tensor([1, 0], dtype=kind)
        np.testing.assert_array_equal(weft.tensor(X)[index].numpy(), X[[1, 0]])


def test_a_0d_tensor_selects() -> None:
    assert weft.tensor(X)[weft.tensor(1)].shape == (3, 4)
    assert weft.tensor(X)[:, weft.tensor(-1)].tolist() == X[:, -1].tolist()


def test_a_written_value_is_cast() -> None:
    x = weft.zeros(3, dtype=weft.int64)
    x[0] = 2.7
    x[1:] = weft.tensor([True, False])
    assert x.tolist() == [2, 1, 0]
    assert x.dtype == weft.int64


@pytest.mark.parametrize(
    "index",
    [
        2,
        -3,
        (0, 3),
        (0, 0, 0, 0),
        (slice(None), slice(None), slice(None), slice(None)),
        weft.tensor([0, 2]),
        weft.tensor([[0], [-3]]),
        weft.tensor([True, False, True]),
        (slice(None), weft.tensor([True, False])),
        (weft.tensor([0, 1]), weft.tensor([0, 1, 2])),
        1.5,
        weft.tensor([0.5]),
        "a",
    ],
)
def test_wrong_indices(index: Any) -> None:
    x = weft.tensor(X)
    with pytest.raises((IndexError, TypeError)):
        x[index]
    with pytest.raises((IndexError, TypeError)):
        x[index] = 0.0
    np.testing.assert_array_equal(x.numpy(), X)


def test_negative_steps_are_refused() -> None:
    with pytest.raises(ValueError, match="step"):
        weft.tensor(X)[::-1]


def test_a_value_that_does_not_fit() -> None:
    x = weft.tensor(X)
    with pytest.raises(RuntimeError):
        x[0] = weft.zeros(5)
    with pytest.raises(RuntimeError):
        x[weft.tensor([0, 1])] = weft.zeros(3, 3, 4)
    np.testing.assert_array_equal(x.numpy(), X)


def test_mask_with_a_count_of_values() -> None:
    x = weft.arange(4.0)
    x[x > 1] = weft.tensor([7.0, 8.0])
    assert x.tolist() == [0, 1, 7, 8]
    with pytest.raises(RuntimeError):
        x[x > 1] = weft.tensor([1.0, 2.0, 3.0])
