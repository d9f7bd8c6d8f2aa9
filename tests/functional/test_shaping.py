"""Views by other spellings, and in-place methods that are no ops."""

from __future__ import annotations

import pytest

import weft


def test_shapes_of_others():
    x, other = weft.arange(6), weft.zeros(2, 3, dtype=weft.float64)
    assert x.view_as(other).shape == x.reshape_as(other).shape == (2, 3)
    assert weft.ones(1, 3).expand_as(other).shape == (2, 3)
    assert x.type_as(other).dtype is weft.float64
    assert weft.ravel(other).shape == (6,)
    assert weft.adjoint(weft.zeros(2, 3, 4)).shape == (2, 4, 3)


def test_fill_diagonal():
    assert weft.zeros(2, 3).fill_diagonal_(1.0).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert weft.zeros(2, 2, 2).fill_diagonal_(1.0).sum() == 2
    with pytest.raises(NotImplementedError, match="wrap"):
        weft.zeros(2, 2).fill_diagonal_(1.0, wrap=True)


def test_errors():
    with pytest.raises(ValueError, match="fliplr"):
        weft.fliplr(weft.zeros(2))
    with pytest.raises(ValueError, match="flipud"):
        weft.flipud(weft.tensor(1))
