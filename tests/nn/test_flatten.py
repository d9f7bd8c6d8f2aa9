"""Modules that change shapes."""

from __future__ import annotations

import numpy as np
import pytest

import weft
from weft import nn
from weft.nn import functional as F


def test_flatten_and_back():
    x = weft.randn(2, 3, 4)
    assert nn.Flatten()(x).shape == (2, 12)
    assert nn.Flatten(0, 1)(x).shape == (6, 4)
    assert weft.equal(nn.Unflatten(1, (3, 4))(nn.Flatten()(x)), x)
    assert repr(nn.Flatten()) == "Flatten(start_dim=1, end_dim=-1)"
    assert repr(nn.Unflatten(1, (3, 4))) == "Unflatten(dim=1, unflattened_size=(3, 4))"


def test_unfold_makes_columns_that_a_product_convolves():
    x, kernel = weft.randn(2, 3, 5, 6), weft.randn(4, 3, 2, 3)
    columns = nn.Unfold((2, 3))(x)
    assert columns.shape == (2, 18, 16)
    product = (kernel.reshape(4, -1) @ columns).reshape(2, 4, 4, 4)
    windows = np.lib.stride_tricks.sliding_window_view(x.numpy(), (2, 3), axis=(2, 3))
    expected = np.einsum("nchwij,kcij->nkhw", windows, kernel.numpy())
    np.testing.assert_allclose(product.numpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "settings",
    [{}, {"stride": 2}, {"padding": 1}, {"dilation": 2, "padding": (1, 0), "stride": (2, 1)}],
)
def test_fold_is_the_transpose_of_unfold(settings):
    x = weft.randn(2, 3, 5, 6, dtype=weft.float64)
    unfold = nn.Unfold(2, **settings)
    columns = weft.randn(unfold(x).shape, dtype=weft.float64)
    fold = nn.Fold((5, 6), 2, **settings)
    left, right = (unfold(x) * columns).sum(), (x * fold(columns)).sum()
    assert float(left) == pytest.approx(float(right))
    assert weft.allclose(fold(columns[0]), fold(columns)[0])
    assert "kernel_size=2" in repr(fold)
    assert "kernel_size=2" in repr(unfold)


def test_pixel_shuffle_and_back():
    x = weft.arange(16.0).reshape(1, 4, 2, 2)
    y = nn.PixelShuffle(2)(x)
    assert y[0, 0, :2, :2].tolist() == [[0, 4], [8, 12]]
    assert weft.equal(F.pixel_unshuffle(y, 2), x)


def test_upsample():
    x = weft.tensor([[[1.0, 2.0]]])
    assert nn.Upsample(scale_factor=2)(x).tolist() == [[[1, 1, 2, 2]]]
    linear = nn.Upsample(size=3, mode="linear", align_corners=True)
    assert linear(x).tolist() == [[[1, 1.5, 2]]]
    assert repr(linear) == "Upsample(size=3, mode='linear')"
    assert repr(nn.Upsample(scale_factor=2)) == "Upsample(scale_factor=2.0, mode='nearest')"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: F.unfold(weft.zeros(2, 3), 2), "dimensions"),
        (lambda: F.unfold(weft.zeros(1, 1, 2, 2), 3), "fit"),
        (lambda: F.fold(weft.zeros(1, 4, 5), (3, 3), 2), "fold"),
        (lambda: F.pixel_shuffle(weft.zeros(1, 3, 2, 2), 2), "divisible"),
        (lambda: F.pixel_unshuffle(weft.zeros(1, 3, 3, 2), 2), "divisible"),
        (lambda: F.interpolate(weft.zeros(1, 1, 2)), "size"),
        (lambda: F.interpolate(weft.zeros(1, 1, 2), size=3, mode="bilinear"), "bilinear"),
        (lambda: F.interpolate(weft.zeros(1, 1, 2), size=0), "positive.*\\(0,\\)"),
        (lambda: F.interpolate(weft.zeros(1, 1, 2), scale_factor=0.0), "positive"),
    ],
)
def test_errors(call, text):
    with pytest.raises(ValueError, match=text):
        call()


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_absurd_sizes(mode):
    with pytest.raises(MemoryError, match=r"memory|large"):
        F.interpolate(weft.zeros(1, 1, 2, 2), size=(2**58, 2), mode=mode)
