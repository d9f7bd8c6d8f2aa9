"""The dtype of every mix of tensors, 0-d tensors and Python numbers."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from tests.promotion_data import (
    LETTERS,
    MIXED,
    NAMES,
    NUMBERS,
    SAME,
    UNARY,
    WITH_NUMBER,
    can_cast,
    table,
)


def dtype_of(name: str) -> Any:
    return getattr(weft, name)


def ones(name: str, *shape: int) -> Any:
    return weft.ones(shape, dtype=dtype_of(name))


def results_of(left: Any, right: Any) -> dict[str, Any]:
    """Return the dtypes by which the library can be asked for one promotion."""
    return {
        "result_type": weft.result_type(left, right),
        "add": weft.add(left, right).dtype if isinstance(left, weft.Tensor) else None,
        "*": (left * right).dtype,
        "maximum": weft.maximum(left, right).dtype
        if isinstance(left, weft.Tensor) and isinstance(right, weft.Tensor)
        else None,
        "where": weft.where(weft.tensor([True]), left, right).dtype,
    }


def check(left: Any, right: Any, expected: str) -> None:
    got = {how: dtype for how, dtype in results_of(left, right).items() if dtype is not None}
    assert got == dict.fromkeys(got, dtype_of(expected)), (left, right)


@pytest.mark.parametrize("left", NAMES)
def test_same_kind(left: str) -> None:
    for first, second, expected in table(SAME, NAMES):
        if first == left:
            check(ones(first, 1), ones(str(second), 1), expected)
            check(ones(first), ones(str(second)), expected)
            assert weft.promote_types(dtype_of(first), dtype_of(str(second))) == dtype_of(expected)


@pytest.mark.parametrize("left", NAMES)
def test_a_0d_tensor_counts_less(left: str) -> None:
    for first, second, expected in table(MIXED, NAMES):
        if first == left:
            check(ones(first, 1), ones(str(second)), expected)
            check(ones(str(second)), ones(first, 1), expected)


@pytest.mark.parametrize("left", NAMES)
def test_python_numbers(left: str) -> None:
    for first, number, expected in table(WITH_NUMBER, NUMBERS):
        if first == left:
            for shape in ((1,), ()):
                check(ones(first, *shape), number, expected)
                check(number, ones(first, *shape), expected)


@pytest.mark.parametrize("name", UNARY)
def test_results_of_ops(name: str) -> None:
    call = {
        "div": lambda x: x / x,
        "floor_divide": lambda x: x // x,
        "cumsum": lambda x: x.cumsum(0),
    }.get(name, getattr(weft, name))
    for kind, expected in zip(NAMES, UNARY[name], strict=True):
        if expected == "-":
            with pytest.raises((RuntimeError, TypeError)):
                call(ones(kind, 2))
        else:
            assert call(ones(kind, 2)).dtype == dtype_of(LETTERS[expected]), kind


@pytest.mark.parametrize("left", NAMES)
def test_comparisons_are_bool(left: str) -> None:
    for right in NAMES:
        for compare in (operator.eq, operator.lt, operator.ge):
            assert compare(ones(left, 2), ones(right, 2)).dtype == weft.bool
        assert weft.logical_and(ones(left, 2), ones(right, 2)).dtype == weft.bool


@pytest.mark.parametrize("target", NAMES)
def test_in_place_keeps_the_dtype(target: str) -> None:
    for other in NAMES:
        x = ones(target, 2)
        allowed = can_cast(SAME_RESULT[target, other], target)
        assert weft.can_cast(dtype_of(other), dtype_of(target)) == can_cast(other, target)
        if allowed:
            x *= ones(other, 2)
            assert x.dtype == dtype_of(target)
        else:
            with pytest.raises(RuntimeError, match=other):
                x *= ones(other, 2)
        assert x.tolist() == [1, 1]


SAME_RESULT = {(left, right): result for left, right, result in table(SAME, NAMES)}


def test_copy_casts_everything() -> None:
    for target in NAMES:
        for source in NAMES:
            x = ones(target, 2)
            x.copy_(weft.zeros(2, dtype=dtype_of(source)))
            assert x.dtype == dtype_of(target)
            assert x.tolist() == [0, 0]


def test_cat_and_stack_promote() -> None:
    for left, right, expected in table(SAME, NAMES):
        tensors = [ones(left, 1), ones(str(right), 1)]
        assert weft.cat(tensors).dtype == dtype_of(expected)
        assert weft.stack(tensors).dtype == dtype_of(expected)


def test_gradients_have_their_tensors_dtype() -> None:
    floats = [name for name in NAMES if "float" in name]
    for left in floats:
        for right in floats:
            x = ones(left, 2).requires_grad_()
            y = ones(right).requires_grad_()
            for_x, for_y = weft.autograd.grad((x * y).sum(), [x, y])
            assert (for_x.dtype, for_y.dtype) == (x.dtype, y.dtype)


def test_default_dtype() -> None:
    weft.set_default_dtype(weft.float64)
    try:
        assert (ones("int64", 2) * 1.5).dtype == weft.float64
        assert (ones("int64", 2) / 2).dtype == weft.float64
        assert ones("bool", 2).tanh().dtype == weft.float64
        assert weft.tensor([1.0]).dtype == weft.float64
        assert (ones("float32", 2) * 1.5).dtype == weft.float32
    finally:
        weft.set_default_dtype(weft.float32)


INTEGERS = ("uint8", "int8", "int16", "int32", "int64")


@given(
    st.sampled_from(INTEGERS),
    st.sampled_from(INTEGERS),
    st.sampled_from(["add", "subtract", "multiply", "bitwise_and", "maximum"]),
    st.data(),
)
def test_integer_values_wrap_as_in_numpy(left: str, right: str, name: str, data: Any) -> None:
    def draw(kind: str) -> np.ndarray:
        limits = np.iinfo(kind)
        values = st.integers(int(limits.min), int(limits.max))
        return np.array(data.draw(st.lists(values, min_size=3, max_size=3)), kind)

    x, y = draw(left), draw(right)
    result = getattr(weft, name)(weft.tensor(x), weft.tensor(y))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(result.numpy(), getattr(np, name)(x, y))


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.booleans()), min_size=2, max_size=5))
def test_long_sums_promote_step_by_step(parts: list[tuple[str, bool]]) -> None:
    """A chain of additions has the dtype that the table gives pair by pair."""
    columns = dict(zip(NAMES, LETTERS, strict=True))
    total, name, has_dimensions = None, "", False
    for kind, dimensions in parts:
        term = ones(kind, 1) if dimensions else ones(kind)
        if total is None:
            total, name, has_dimensions = term, kind, dimensions
            continue
        if has_dimensions == dimensions:
            letter = SAME[columns[name]][NAMES.index(kind)]
        elif has_dimensions:
            letter = MIXED[columns[name]][NAMES.index(kind)]
        else:
            letter = MIXED[columns[kind]][NAMES.index(name)]
        total, name = total + term, LETTERS[letter]
        has_dimensions = has_dimensions or dimensions
    assert total.dtype == dtype_of(name)
