"""Sizes of images: bytes, antialiasing, and scales that keep a size."""

from __future__ import annotations

import pytest

import weft
from weft.nn import functional as F


def pixels() -> weft.Tensor:
    return (weft.arange(16) * 37 % 256).to(weft.uint8).reshape(1, 1, 4, 4)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            {"mode": "bilinear"},
            [[25, 51, 81, 97, 93], [94, 120, 150, 141, 77], [163, 189, 113, 35, 61]],
        ),
        (
            {"mode": "bicubic"},
            [[23, 46, 83, 100, 94], [92, 114, 176, 166, 76], [163, 212, 111, 18, 63]],
        ),
        (
            {"mode": "bilinear", "antialias": True},
            [[44, 70, 100, 106, 79], [94, 120, 150, 141, 77], [144, 170, 110, 49, 75]],
        ),
        (
            {"mode": "bicubic", "antialias": True},
            [[42, 67, 104, 108, 76], [92, 117, 163, 152, 76], [143, 183, 104, 30, 80]],
        ),
        (
            {"mode": "bicubic", "align_corners": True},
            [[0, 25, 56, 86, 111], [94, 116, 176, 171, 77], [188, 240, 116, 0, 43]],
        ),
    ],
)
def test_bytes_are_rounded_once_a_dimension(settings, expected) -> None:
    found = F.interpolate(pixels(), size=(3, 5), **settings)
    assert found.dtype == weft.uint8
    assert found[0, 0].tolist() == expected
    together = weft.vmap(lambda x: F.interpolate(x, size=(3, 5), **settings))(pixels()[None])
    assert together[0, 0, 0].tolist() == expected


def test_bicubic_bytes_do_not_leave_their_range() -> None:
    x = weft.tensor([[[[0, 0, 255, 255, 0, 0]]]], dtype=weft.uint8)
    found = F.interpolate(x, size=(1, 11), mode="bicubic")
    assert found[0, 0, 0].tolist() == [0, 0, 0, 102, 246, 255, 246, 102, 0, 0, 0]


def test_antialias_takes_the_mean_of_what_an_element_covers() -> None:
    x = weft.tensor([[[[0.0, 8.0, 0.0, 16.0, 0.0, 24.0]]]], requires_grad=True)
    found = F.interpolate(x, size=(1, 2), mode="bilinear", antialias=True)
    # Triangles around elements 1 and 4: shares of 2, 3, 2 and 1 eighths, and of 1, 2, 3 and 2.
    assert found.flatten().tolist() == pytest.approx([(3 * 8 + 16) / 8, (2 * 16 + 2 * 24) / 8])
    found.sum().backward()
    assert x.grad.sum().item() == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("mode", "rank", "scale", "expected"),
    [
        ("linear", 1, 1.1, [0, 1, 2, 3]),
        ("bilinear", 2, 1.1, [0, 1, 2, 3]),
        ("nearest", 2, 1.1, [0, 1, 2, 3]),
        ("nearest", 2, 2.1, [0, 0, 1, 1, 2, 2, 3, 3]),
        ("nearest", 1, 2.1, [0, 0, 0, 1, 1, 2, 2, 3]),
        ("nearest", 1, 1.1, [0, 0, 1, 2]),
    ],
)
def test_scales_that_keep_or_double_a_size(mode, rank, scale, expected) -> None:
    x = weft.arange(4.0).reshape([1, 1] + [1] * (rank - 1) + [4])
    found = F.interpolate(x, scale_factor=(1.0,) * (rank - 1) + (scale,), mode=mode)
    assert found.flatten().tolist() == expected


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "bool", "uint8"])
def test_other_integers_are_not_mixed(dtype) -> None:
    x = weft.ones(1, 1, 4, dtype=getattr(weft, dtype))
    with pytest.raises(TypeError, match=f"interpolate.*{dtype}"):
        F.interpolate(x, size=3, mode="linear")


def test_antialias_is_for_images() -> None:
    with pytest.raises(ValueError, match="antialias"):
        F.interpolate(weft.ones(1, 1, 4), size=3, antialias=True)
