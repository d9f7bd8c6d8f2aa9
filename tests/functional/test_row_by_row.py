"""Functions that read values, inside vmap."""

from __future__ import annotations

import pytest

import weft
from tests.test_vmap import assert_equal, floats
from weft.func import grad, vmap


def test_gradients_of_any_order() -> None:
    x = floats(3, 5).requires_grad_()
    pick = lambda r: weft.nanquantile(r * r, 0.5)  # noqa: E731
    rows = [weft.nanquantile(r * r, 0.5) for r in x]
    assert_equal(vmap(pick)(x), weft.stack(rows))
    inner = vmap(grad(pick))(x)
    expected = weft.stack([grad(pick)(r) for r in x])
    assert_equal(inner, expected)
    ours, theirs = (weft.autograd.grad((y * y).sum(), x)[0] for y in (inner, expected))
    assert_equal(ours, theirs)
    assert_equal(grad(lambda x: vmap(pick)(x).sum())(x), expected)


def test_inside_two() -> None:
    x = floats(2, 3, 5)
    got = vmap(vmap(lambda r: weft.nanquantile(r, 0.5)))(x)
    assert_equal(got, weft.nanquantile(x, 0.5, dim=2))
    shared = vmap(lambda r: vmap(lambda s: weft.nanquantile(r[0], 0.5) * s.sum())(r))(x)
    assert_equal(shared, weft.nanquantile(x[:, 0], 0.5, dim=1)[:, None] * x.sum(2))


def test_integers_and_several_tensors() -> None:
    index = weft.tensor([[0, 1, 1, 3], [3, 0, 0, 1]])
    weights = floats(2, 4).requires_grad_()
    got = vmap(weft.bincount)(index, weights)
    assert_equal(
        got, weft.stack([weft.bincount(i, w) for i, w in zip(index, weights, strict=True)])
    )
    if got.requires_grad:
        assert_equal(weft.autograd.grad(got.sum(), weights)[0], weft.ones_like(weights))


def test_shapes_that_differ() -> None:
    with pytest.raises(RuntimeError, match="differs from row to row"):
        vmap(weft.bincount)(weft.tensor([[0, 1], [0, 5]]))


def test_no_rows() -> None:
    with pytest.raises(RuntimeError, match="needs a row"):
        vmap(lambda r: weft.nanquantile(r, 0.5))(weft.zeros(0, 3))


def test_other_errors_stay() -> None:
    with pytest.raises(ValueError, match=r"quantile\(\)"):
        vmap(lambda r: weft.quantile(r, 1.5))(floats(2, 3))
