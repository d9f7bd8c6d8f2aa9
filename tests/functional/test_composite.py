"""Functions made of ops behave like one: names, errors, in-place forms."""

from __future__ import annotations

import math

import pytest

import weft


def leaf() -> weft.Tensor:
    return weft.tensor([0.5, -1.0, 2.0], requires_grad=True)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("mish", "MishBackward0"),
        ("logit", "LogitBackward0"),
        ("std", "StdBackward0"),
        ("nansum", "NansumBackward0"),
        ("max", "MaxBackward1"),
        ("median", "MedianBackward0"),
        ("prod", "ProdBackward0"),
    ],
)
def test_grad_fn_goes_by_the_composite(name: str, shown: str) -> None:
    assert getattr(weft, name)(leaf()).grad_fn.name() == shown


def test_every_result_of_a_tuple_is_named() -> None:
    variance, mean = weft.var_mean(leaf())
    assert variance.grad_fn.name() == mean.grad_fn.name() == "VarMeanBackward0"


def test_names_without_gradients() -> None:
    assert weft.mish(weft.ones(2)).grad_fn is None


def test_written_in_place() -> None:
    x = leaf()
    y = x * 1
    assert y.mish_() is y
    assert y.grad_fn.name() == "MishBackward0"
    y.sum().backward()
    expected = leaf()
    weft.mish(expected).sum().backward()
    assert weft.allclose(x.grad, expected.grad)


def test_written_through_a_view() -> None:
    x = weft.tensor([1.0, 180.0, 90.0])
    x[1:].deg2rad_()
    assert weft.allclose(x, weft.tensor([1.0, math.pi, math.pi / 2]))


def test_a_leaf_is_not_written() -> None:
    with pytest.raises(RuntimeError, match="mish_: a leaf Variable that requires grad"):
        leaf().mish_()


def test_floats_do_not_fit_integers() -> None:
    with pytest.raises(TypeError, match=r"logit_\(\).*can't be cast"):
        weft.tensor([1, 2]).logit_()


def test_errors_of_parts_name_the_composite() -> None:
    with pytest.raises(TypeError, match=r"mish\(\): argument 'input' must be a Tensor, not str"):
        weft.mish("x")
    with pytest.raises(ValueError, match=r"logical_xor\(\): ne"):
        weft.logical_xor(weft.ones(2), weft.ones(3))
