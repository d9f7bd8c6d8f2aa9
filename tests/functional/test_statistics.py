"""Covariances, and other numbers of data."""

from __future__ import annotations

import numpy as np
import pytest

import weft

X = weft.tensor([[1.0, 2.0, 4.0, 3.0], [0.0, 1.0, 0.0, 5.0]], dtype=weft.float64)


@pytest.mark.parametrize("often", [None, [1, 2, 1, 3], [0, 1, 0, 4]])
@pytest.mark.parametrize("much", [None, [0.5, 0.25, 1.0, 2.0], [1.0, 0.0, 1.0, 1.0]])
@pytest.mark.parametrize("correction", [0, 1])
def test_covariances_are_numpys(often, much, correction):
    weights = {
        "fweights": None if often is None else np.array(often),
        "aweights": None if much is None else np.array(much),
    }
    expected = np.cov(X.numpy(), ddof=correction, **weights)
    given = {name: None if w is None else weft.tensor(w) for name, w in weights.items()}
    found = weft.cov(X, correction=correction, **given)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        ({"fweights": [2]}, r"fweights.*4 observations"),
        ({"fweights": [1, 2, 1, 3, 1]}, "fweights"),
        ({"fweights": [[1, 2, 1, 3]]}, "fweights"),
        ({"fweights": [1, -1, 1, 3]}, "fweights must not be negative"),
        ({"fweights": [1.0, 1.0, 1.0, 1.0]}, "fweights.*integer"),
        ({"fweights": [True, True, True, True]}, "fweights.*integer"),
        ({"fweights": [0, 0, 0, 0]}, "sum to zero"),
        ({"aweights": [1.0]}, "aweights"),
        ({"aweights": [1.0, -1.0, 1.0, 1.0]}, "aweights must not be negative"),
        ({"aweights": [1.0, float("nan"), 1.0, 1.0]}, "aweights must not be negative"),
        ({"aweights": [1, 1, 1, 1]}, "aweights.*floating"),
        ({"fweights": [1, 0, 0, 0], "aweights": [0.0, 1.0, 1.0, 1.0]}, "sum to zero"),
    ],
)
def test_weights_that_are_none(weights, text):
    with pytest.raises((RuntimeError, TypeError, ValueError), match=text):
        weft.cov(X, **{name: weft.tensor(values) for name, values in weights.items()})


def test_covariances_of_truth_values():
    with pytest.raises(TypeError, match="bool"):
        weft.cov(weft.tensor([True, False]))


def test_unravelled_indices_are_integers():
    places = weft.unravel_index(weft.tensor([5, 0], dtype=weft.uint8), (2, 3))
    assert [place.tolist() for place in places] == [[1, 0], [2, 0]]
    assert places[0].dtype is weft.int64
    for wrong in ([0.5, 1.0], [True, False]):
        with pytest.raises(TypeError, match="indices"):
            weft.unravel_index(weft.tensor(wrong), (2, 2))
    with pytest.raises(TypeError, match="shape"):
        weft.unravel_index(weft.tensor([1]), (2.0, 2))
    with pytest.raises(ValueError, match="negative"):
        weft.unravel_index(weft.tensor([1]), (2, -1))
