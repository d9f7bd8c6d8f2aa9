"""The dtypes of lists with NumPy's numbers and arrays, against PyTorch."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
import torch

import weft
from tests.numpy_data import LISTS

pytestmark = [
    # PyTorch's own way of giving NumPy's results back, and how long its lists of arrays take.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Creating a tensor from a list:UserWarning"),
]


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_numbers_and_arrays(name: str) -> None:
    data, dtype, shape = LISTS[name]
    if name == "an array turned around":
        return  # which PyTorch does not read
    theirs = torch.tensor(data)
    assert str(theirs.dtype) == f"torch.{dtype}"
    assert tuple(theirs.shape) == shape
    assert theirs.tolist() == weft.tensor(data).tolist()
    if shape:
        assert torch.Tensor(data).tolist() == weft.Tensor(data).tolist()


@pytest.mark.parametrize(
    "operate",
    [*(operator.add, operator.mul, operator.truediv, operator.floordiv, operator.mod)],
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int8", "uint8", "float16"])
def test_a_tensor_with_an_array(operate: Any, dtype: str) -> None:
    """PyTorch takes arrays on the right, and promotes as NumPy does."""
    array = np.array([1, 2, 3], dtype=dtype)
    for other in ("float32", "float64", "int64", "int32"):
        left = np.array([5, 7, 9], dtype=other)
        ours = operate(weft.from_numpy(left), array)
        theirs = operate(torch.from_numpy(left), array)
        assert ours.double().tolist() == pytest.approx(theirs.double().tolist(), rel=1e-3)
        if ours.dtype.name != str(theirs.dtype).removeprefix("torch."):
            # An int with a float: NumPy takes float64, tensors take the float's dtype.
            assert theirs.dtype is torch.float64


@pytest.mark.parametrize("number", [np.float64(2), np.float32(2), np.int8(2), np.int64(2)])
def test_numbers_of_numpy(number: Any) -> None:
    for dtype in ("float32", "float16", "int64"):
        ours = weft.ones(2, dtype=getattr(weft, dtype))
        theirs = torch.ones(2, dtype=getattr(torch, dtype))
        for call in (lambda x: x * number, lambda x: number * x, lambda x: number - x):
            assert call(ours).dtype.name == str(call(theirs).dtype).removeprefix("torch.")
            assert call(ours).tolist() == call(theirs).tolist()
