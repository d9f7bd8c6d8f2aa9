"""Broadcasting of values, of gradients back, and its errors, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

import weft
from tests.reference import sum_to

SHAPES = mutually_broadcastable_shapes(num_shapes=3, max_dims=4, min_side=0, max_side=4)


def values_of(shape: tuple[int, ...], start: float) -> np.ndarray:
    return np.asarray(np.sin(np.arange(int(np.prod(shape))) + start).reshape(shape))


@given(SHAPES)
def test_values(shapes) -> None:
    x, y, z = (values_of(shape, i) for i, shape in enumerate(shapes.input_shapes))
    result = weft.tensor(x) + weft.tensor(y) * weft.tensor(z)
    assert tuple(result.shape) == shapes.result_shape
    np.testing.assert_allclose(result.numpy(), x + y * z)


@given(SHAPES)
def test_gradients(shapes) -> None:
    x, y, z = (values_of(shape, i) for i, shape in enumerate(shapes.input_shapes))
    leaves = [weft.tensor(array, requires_grad=True) for array in (x, y, z)]
    weights = values_of(shapes.result_shape, 7)
    result = leaves[0] * 3 - leaves[1] * leaves[2]
    gradients = weft.autograd.grad(result, leaves, weft.tensor(weights))
    whole = np.zeros(shapes.result_shape)
    expected = (3 * weights, -weights * (whole + z), -weights * (whole + y))
    for gradient, want, array in zip(gradients, expected, (x, y, z), strict=True):
        assert tuple(gradient.shape) == array.shape
        np.testing.assert_allclose(gradient.numpy(), sum_to(want, array.shape), atol=1e-12)


@given(SHAPES)
def test_second_gradients(shapes) -> None:
    """d/dy of <u, d/dx sum(w x y)> is w u, summed to y's shape."""
    x, y, _ = (values_of(shape, i) for i, shape in enumerate(shapes.input_shapes))
    left, right = (weft.tensor(array, requires_grad=True) for array in (x, y))
    product = left * right
    weights = values_of(tuple(product.shape), 5)
    (first,) = weft.autograd.grad(product, left, weft.tensor(weights), create_graph=True)
    u = values_of(x.shape, 3)
    (second,) = weft.autograd.grad(first, right, weft.tensor(u))
    np.testing.assert_allclose(second.numpy(), sum_to(weights * u, y.shape), atol=1e-12)


@given(SHAPES)
def test_comparison_and_where(shapes) -> None:
    x, y, z = (values_of(shape, i) for i, shape in enumerate(shapes.input_shapes))
    condition = weft.tensor(x) > 0
    result = weft.where(condition, weft.tensor(y), weft.tensor(z))
    np.testing.assert_array_equal(result.numpy(), np.where(x > 0, y, z))


@given(SHAPES)
def test_shapes_and_views(shapes) -> None:
    inputs, result = shapes.input_shapes, shapes.result_shape
    assert tuple(weft.broadcast_shapes(*inputs)) == result
    tensors = [weft.tensor(values_of(shape, 0)) for shape in inputs]
    for tensor, view in zip(tensors, weft.broadcast_tensors(*tensors), strict=True):
        expected = np.broadcast_to(tensor.numpy(), result)
        np.testing.assert_array_equal(view.numpy(), expected)
        np.testing.assert_array_equal(tensor.expand(result).numpy(), expected)
        # A repeated dimension costs no memory.
        lead = (1,) * (len(result) - tensor.dim())
        for stride, before, after in zip(
            view.stride(), (*lead, *tensor.shape), result, strict=True
        ):
            assert before == after or stride == 0


@given(SHAPES)
def test_in_place_never_grows(shapes) -> None:
    first, second, _ = shapes.input_shapes
    x, y = values_of(first, 0), values_of(second, 1)
    target = weft.tensor(x)
    if np.broadcast_shapes(first, second) == first:
        target += weft.tensor(y)
        np.testing.assert_allclose(target.numpy(), x + y)
    else:
        with pytest.raises(RuntimeError):
            target += weft.tensor(y)
        np.testing.assert_array_equal(target.numpy(), x)


@given(
    st.lists(st.integers(1, 4), max_size=3).map(tuple),
    st.lists(st.integers(1, 4), max_size=3).map(tuple),
)
def test_what_does_not_broadcast(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    x, y = weft.zeros(left), weft.zeros(right)
    try:
        expected = np.broadcast_shapes(left, right)
    except ValueError:
        with pytest.raises(RuntimeError):
            x + y
        with pytest.raises(RuntimeError):
            weft.broadcast_shapes(left, right)
        return
    assert tuple((x + y).shape) == expected


def test_the_error_has_both_shapes() -> None:
    with pytest.raises(ValueError, match=r"add.*\(3, 4\).*\(5, 6\)"):
        weft.zeros(3, 4) + weft.zeros(5, 6)
