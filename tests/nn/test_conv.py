"""Convolution modules: they do what the functions do, with their settings."""

from __future__ import annotations

import pytest

import weft
from weft import nn
from weft.nn import functional as F

KINDS = {1: (nn.Conv1d, F.conv1d, (7,)), 2: (nn.Conv2d, F.conv2d, (7, 6))}
SETTINGS = [
    {},
    {"stride": 2, "padding": 1},
    {"dilation": 2, "groups": 2},
    {"padding": "same", "dilation": 3},
    {"padding": "valid", "bias": False},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("rank", KINDS)
def test_settings_reach_the_function(rank, settings):
    make, function, sizes = KINDS[rank]
    layer = make(4, 6, 3, **settings)
    x = weft.randn(2, 4, *sizes)
    options = {key: value for key, value in settings.items() if key != "bias"}
    expected = function(x, layer.weight, layer.bias, **options)
    assert weft.equal(layer(x), expected)
    assert weft.allclose(layer(x[0]), expected[0], atol=1e-6)
    if settings.get("padding") == "same":
        assert layer(x).shape[2:] == sizes


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("rank", KINDS)
def test_padding_modes(rank, mode):
    make, function, sizes = KINDS[rank]
    layer = make(4, 6, 3, padding=2, padding_mode=mode)
    x = weft.randn(2, 4, *sizes)
    padded = F.pad(x, (2, 2) * rank, mode)
    assert weft.equal(layer(x), function(padded, layer.weight, layer.bias))
    assert f"padding_mode={mode}" in repr(layer)


def test_even_kernels_pad_one_more_behind():
    x, weight = weft.randn(1, 1, 5), weft.randn(1, 1, 4)
    expected = F.conv1d(F.pad(x, (1, 2)), weight)
    assert weft.equal(F.conv1d(x, weight, padding="same"), expected)
    layer = nn.Conv1d(1, 1, 4, padding="same", padding_mode="circular")
    assert layer(x).shape == x.shape


TRANSPOSED = {
    1: (nn.ConvTranspose1d, F.conv_transpose1d, (4,)),
    2: (nn.ConvTranspose2d, F.conv_transpose2d, (4, 3)),
}


@pytest.mark.parametrize(
    "settings", [{}, {"stride": 2, "padding": 1, "output_padding": 1}, {"groups": 2, "bias": False}]
)
@pytest.mark.parametrize("rank", TRANSPOSED)
def test_transposed(rank, settings):
    make, function, sizes = TRANSPOSED[rank]
    layer = make(4, 6, 3, **settings)
    x = weft.randn(2, 4, *sizes)
    options = {key: value for key, value in settings.items() if key != "bias"}
    assert weft.equal(layer(x), function(x, layer.weight, layer.bias, **options))


def test_the_way_back_chooses_among_sizes():
    layer = nn.ConvTranspose2d(2, 3, 3, stride=2)
    x = weft.randn(1, 2, 4, 4)
    assert layer(x).shape == (1, 3, 9, 9)
    assert layer(x, output_size=(10, 9)).shape == (1, 3, 10, 9)
    with pytest.raises(ValueError, match="output_size"):
        layer(x, output_size=(12, 9))


def test_start_and_text():
    layer = nn.Conv2d(4, 8, (3, 5), stride=2, padding=(1, 0), groups=2, bias=False)
    assert layer.weight.shape == (8, 2, 3, 5)
    assert float(layer.weight.abs().max()) <= (1 / 30) ** 0.5
    assert repr(layer) == (
        "Conv2d(4, 8, kernel_size=(3, 5), stride=(2, 2), padding=(1, 0), groups=2, bias=False)"
    )
    assert nn.ConvTranspose1d(4, 6, 3, groups=2).weight.shape == (4, 3, 3)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: nn.Conv2d(3, 4, 3, groups=2), "in_channels"),
        (lambda: nn.Conv2d(4, 3, 3, groups=2), "out_channels"),
        (lambda: nn.Conv2d(4, 4, 3, groups=0), "groups"),
        (lambda: nn.Conv2d(4, 4, 3, padding="full"), "full"),
        (lambda: nn.Conv2d(4, 4, 3, padding="same", stride=2), "stride"),
        (lambda: nn.Conv2d(4, 4, 3, padding_mode="mirror"), "mirror"),
        (lambda: nn.ConvTranspose2d(4, 4, 3, padding_mode="reflect"), "zeros"),
        (lambda: F.conv1d(weft.zeros(1, 1, 4), weft.zeros(1, 1, 2), padding="full"), "full"),
        (lambda: F.conv1d(weft.zeros(1, 1, 4), weft.zeros(1, 1, 2), None, 2, "same"), "stride"),
    ],
)
def test_errors(make, text):
    with pytest.raises(ValueError, match=text):
        make()


@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize(
    ("dims", "sizes", "least", "strides"),
    [(1, (5,), (9,), 2), (2, (4, 6), (10, 11), (3, 2))],
)
def test_wanted_sizes_of_transposed_convolutions(batch, dims, sizes, least, strides):
    make = (nn.ConvTranspose1d, nn.ConvTranspose2d)[dims - 1]
    layer = make(3, 2, 1, strides)
    x = weft.randn(*batch, 3, *sizes)
    each = [strides] * dims if isinstance(strides, int) else strides
    most = tuple(size + stride - 1 for size, stride in zip(least, each, strict=True))
    for wanted in (least, most):
        assert layer(x, output_size=wanted).shape == (*batch, 2, *wanted)
        assert layer(x, output_size=(2, *wanted)).shape == (*batch, 2, *wanted)
    for wanted in ((least[0] - 1, *least[1:]), (*most[:-1], most[-1] + 1)):
        with pytest.raises(ValueError, match=f"between {least[0]} and {most[0]}|in dimension 1"):
            layer(x, output_size=wanted)


def test_wanted_sizes_are_as_far_apart_as_the_stride_whatever_the_dilation():
    layer = nn.ConvTranspose1d(1, 1, 2, stride=1, dilation=3)
    assert layer(weft.randn(1, 4), output_size=(7,)).shape == (1, 7)
    with pytest.raises(ValueError, match="between 7 and 7"):
        layer(weft.randn(1, 4), output_size=(8,))
