"""Arithmetic with extra arguments, other names, and comparison of whole tensors."""

from __future__ import annotations

import pytest

import weft
from weft import functional


def test_in_place_forms():
    x = weft.ones(2)
    assert x.add_(1, alpha=3) is x
    assert x.sub_(weft.ones(2), alpha=2).tolist() == [2, 2]
    assert x.div_(weft.tensor([0.75, -0.75]), rounding_mode="floor").tolist() == [2, -3]
    assert x.div_(2, rounding_mode="trunc").tolist() == [1, -1]
    assert x.div_(2).tolist() == [0.5, -0.5]
    with pytest.raises(ValueError, match="up"):
        x.div_(2, rounding_mode="up")


def test_a_fraction_does_not_scale_integers():
    for function in (weft.add, weft.sub, weft.rsub):
        with pytest.raises(TypeError, match="alpha"):
            function(weft.ones(2, dtype=weft.int64), 1, alpha=0.5)


def test_other_names():
    x = weft.tensor([0.5, -0.5])
    assert weft.equal(weft.absolute(x), x.abs())
    assert weft.equal(x.arcsin(), x.asin())
    assert weft.concat([x, x]).shape == (4,)
    assert x.clip_(0, 1).tolist() == [0.5, 0]
    assert weft.less_equal(x, 0.2).tolist() == [False, True]
    with pytest.raises(ValueError, match=r"multiply\("):
        weft.multiply(weft.ones(2), weft.ones(3))
    with pytest.raises(TypeError, match=r"multiply"):
        x.multiply("a")


def test_overloads_are_in_the_package_and_methods_on_tensors():
    for name, function in functional.OVERLOADS.items():
        assert getattr(weft, name) is function
    for name, method in functional.METHODS.items():
        assert getattr(weft.Tensor, name) is method


def test_comparison_of_whole_tensors():
    x = weft.tensor([1.0, float("nan")])
    assert not weft.equal(x, x)
    assert not weft.equal(weft.ones(2), weft.ones(3))
    assert weft.allclose(x, x, equal_nan=True)
    assert weft.isreal(x).all()
    with pytest.raises(TypeError, match="bool"):
        weft.positive(weft.tensor([True]))
