"""Pooling modules: they do what the functions do, with their settings."""

from __future__ import annotations

import pytest

import weft
from weft import nn
from weft.nn import functional as F

LINE, IMAGE = weft.randn(2, 3, 7), weft.randn(2, 3, 7, 6)
CASES = [
    (nn.MaxPool1d(3, 2, 1), lambda: F.max_pool1d(LINE, 3, 2, 1), LINE),
    (nn.MaxPool2d(2, ceil_mode=True), lambda: F.max_pool2d(IMAGE, 2, ceil_mode=True), IMAGE),
    (nn.MaxPool2d((2, 3), dilation=2), lambda: F.max_pool2d(IMAGE, (2, 3), dilation=2), IMAGE),
    (nn.AvgPool1d(3, 2, 1), lambda: F.avg_pool1d(LINE, 3, 2, 1), LINE),
    (
        nn.AvgPool2d(3, 2, 1, count_include_pad=False),
        lambda: F.avg_pool2d(IMAGE, 3, 2, 1, count_include_pad=False),
        IMAGE,
    ),
    (nn.AdaptiveAvgPool1d(3), lambda: F.adaptive_avg_pool1d(LINE, 3), LINE),
    (nn.AdaptiveAvgPool2d((2, None)), lambda: F.adaptive_avg_pool2d(IMAGE, (2, None)), IMAGE),
    (nn.AdaptiveMaxPool1d(3), lambda: F.adaptive_max_pool1d(LINE, 3), LINE),
    (nn.AdaptiveMaxPool2d(2), lambda: F.adaptive_max_pool2d(IMAGE, 2), IMAGE),
]


@pytest.mark.parametrize(("module", "expected", "x"), CASES, ids=[repr(case[0]) for case in CASES])
def test_settings_reach_the_function(module, expected, x):
    assert weft.equal(module(x), expected())
    assert weft.equal(module(x[0]), expected()[0])


@pytest.mark.parametrize(
    ("module", "x"),
    [
        (nn.MaxPool1d(3, 2, 1, return_indices=True), LINE),
        (nn.MaxPool2d(3, 2, 1, dilation=2, return_indices=True), IMAGE),
        (nn.AdaptiveMaxPool1d(3, return_indices=True), LINE),
        (nn.AdaptiveMaxPool2d((3, 2), return_indices=True), IMAGE),
    ],
    ids=repr,
)
def test_indices_point_at_the_values(module, x):
    values, indices = module(x)
    flat = x.reshape(2, 3, -1)
    assert weft.equal(flat.gather(2, indices.reshape(2, 3, -1)).reshape(values.shape), values)


def test_the_gradient_of_a_tie_goes_to_the_first():
    x = weft.zeros(1, 1, 4, requires_grad=True)
    F.max_pool1d(x, 2).sum().backward()
    assert x.grad.tolist() == [[[1, 0, 1, 0]]]


def test_integers():
    x = weft.tensor([[[1, 5, 2]]])
    assert F.max_pool1d(x, 2, 1, 1).tolist() == [[[1, 5, 5, 2]]]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: F.max_pool2d(IMAGE, 9), "fit"),
        (lambda: F.max_pool2d(IMAGE, 2, padding=2), "half"),
        (lambda: F.max_pool2d(IMAGE, 2, stride=0), "stride"),
        (lambda: F.max_pool2d(IMAGE, (2, 2, 2)), "kernel_size"),
        (lambda: F.avg_pool2d(LINE[0], 2), "dimensions"),
        (lambda: F.avg_pool2d(IMAGE, 2, divisor_override=0), "divisor_override"),
        (lambda: F.adaptive_avg_pool1d(IMAGE, 2), "dimensions"),
    ],
)
def test_errors(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_text():
    assert repr(nn.MaxPool2d(2)) == (
        "MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)"
    )
    assert repr(nn.AvgPool1d(2)) == "AvgPool1d(kernel_size=(2,), stride=(2,), padding=(0,))"
    assert repr(nn.AdaptiveAvgPool2d((1, 2))) == "AdaptiveAvgPool2d(output_size=(1, 2))"
