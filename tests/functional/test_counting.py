"""Places and numbers of elements."""

from __future__ import annotations

import math

import numpy as np
import pytest

import weft


def test_unique_slices_of_any_dimension():
    x = np.random.default_rng(0).integers(0, 2, (3, 2, 9))
    for dim in (0, 1, 2, -1):
        expected = np.unique(x, return_inverse=True, return_counts=True, axis=dim)
        found = weft.unique(weft.tensor(x), return_inverse=True, return_counts=True, dim=dim)
        for got, want in zip(found, expected, strict=True):
            np.testing.assert_array_equal(got.numpy(), want.reshape(got.shape))


def test_unique_of_hard_values():
    x = weft.tensor([math.nan, -0.0, 0.0, math.nan])
    values, counts = weft.unique(x, return_counts=True)
    assert counts.tolist() == [2, 1, 1]  # NaN differs from NaN
    assert math.isnan(values[1].item())
    assert weft.unique(weft.zeros(0)).shape == (0,)
    assert weft.unique(weft.tensor(3), dim=0).tolist() == [3]
    assert weft.unique(weft.zeros(2, 0), dim=0).shape == (1, 0)


def test_runs_of_slices():
    x = weft.tensor([[1, 2], [1, 2], [3, 4], [1, 2]])
    values, inverse, counts = weft.unique_consecutive(
        x, return_inverse=True, return_counts=True, dim=0
    )
    assert values.tolist() == [[1, 2], [3, 4], [1, 2]]
    assert (inverse.tolist(), counts.tolist()) == ([0, 0, 1, 2], [2, 1, 1])


def test_searchsorted_options():
    rows = weft.tensor([[3, 1, 2], [5, 9, 7]])
    sorter = rows.argsort()
    values = weft.tensor([[2, 4], [5, 6]])
    assert weft.searchsorted(rows, values, sorter=sorter).tolist() == [[1, 3], [0, 1]]
    found = weft.searchsorted(rows, values, sorter=sorter, side="right", out_int32=True)
    assert found.tolist() == [[2, 3], [1, 1]]
    assert found.dtype is weft.int32
    assert weft.searchsorted(weft.tensor([1.0, 2.0]), math.nan).item() == 2
    with pytest.raises(ValueError, match=r"searchsorted.*side"):
        weft.searchsorted(rows, values, side="left", right=True)
    with pytest.raises(IndexError, match=r"searchsorted.*sorter"):
        weft.searchsorted(rows, values, sorter=-sorter)
    with pytest.raises(ValueError, match=r"bucketize.*boundaries"):
        weft.bucketize(values, rows)


def test_histograms():
    x = weft.tensor([1.0, 2.0, 2.0, 5.0])
    assert weft.histc(x, 4).tolist() == [1, 2, 0, 1]  # from the smallest to the largest
    assert weft.histc(x, 2, 0, 4).tolist() == [1, 2]
    assert weft.histc(weft.ones(3), 2).tolist() == [0, 3]
    with pytest.raises(ValueError, match=r"histc.*range"):
        weft.histc(weft.tensor([1.0, math.inf]), 2)


def test_bincount_of_weights_and_of_nothing():
    x = weft.tensor([1, 1, 3])
    assert weft.bincount(x, weft.tensor([0.5, 1.0, 2.0])).tolist() == [0, 1.5, 0, 2]
    assert weft.bincount(weft.zeros(0), minlength=2).tolist() == [0, 0]
    with pytest.raises(ValueError, match=r"bincount.*weights"):
        weft.bincount(x, weft.ones(2))
