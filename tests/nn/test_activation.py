"""Activations as modules: they do what the functions do, with their settings."""

from __future__ import annotations

import pytest

import weft
from weft import nn
from weft.nn import functional as F

CASES = [
    (nn.ReLU(), F.relu, "ReLU()"),
    (nn.ReLU6(), F.relu6, "ReLU6()"),
    (nn.SELU(), F.selu, "SELU()"),
    (nn.SiLU(), F.silu, "SiLU()"),
    (nn.Mish(), F.mish, "Mish()"),
    (nn.Hardsigmoid(), F.hardsigmoid, "Hardsigmoid()"),
    (nn.Hardswish(), F.hardswish, "Hardswish()"),
    (nn.Sigmoid(), F.sigmoid, "Sigmoid()"),
    (nn.Tanh(), F.tanh, "Tanh()"),
    (nn.LogSigmoid(), F.logsigmoid, "LogSigmoid()"),
    (nn.Softsign(), F.softsign, "Softsign()"),
    (nn.Tanhshrink(), F.tanhshrink, "Tanhshrink()"),
    (nn.GELU("tanh"), lambda x: F.gelu(x, approximate="tanh"), "GELU(approximate='tanh')"),
    (nn.LeakyReLU(0.2), lambda x: F.leaky_relu(x, 0.2), "LeakyReLU(negative_slope=0.2)"),
    (nn.ELU(0.5), lambda x: F.elu(x, 0.5), "ELU(alpha=0.5)"),
    (nn.CELU(0.5), lambda x: F.celu(x, 0.5), "CELU(alpha=0.5)"),
    (nn.Softplus(2, 3), lambda x: F.softplus(x, 2, 3), "Softplus(beta=2, threshold=3)"),
    (nn.Hardtanh(-2, 2), lambda x: F.hardtanh(x, -2, 2), "Hardtanh(min_val=-2, max_val=2)"),
    (nn.Threshold(1, 7), lambda x: F.threshold(x, 1, 7), "Threshold(threshold=1, value=7)"),
    (nn.Softshrink(0.3), lambda x: F.softshrink(x, 0.3), "Softshrink(0.3)"),
    (nn.Hardshrink(0.3), lambda x: F.hardshrink(x, 0.3), "Hardshrink(0.3)"),
    (nn.GLU(1), lambda x: F.glu(x, 1), "GLU(dim=1)"),
    (nn.Softmax(1), lambda x: F.softmax(x, 1), "Softmax(dim=1)"),
    (nn.LogSoftmax(0), lambda x: F.log_softmax(x, 0), "LogSoftmax(dim=0)"),
    (nn.Softmin(1), lambda x: F.softmin(x, 1), "Softmin(dim=1)"),
]


@pytest.mark.parametrize(("module", "function", "text"), CASES, ids=[case[2] for case in CASES])
def test_values_and_text(module, function, text):
    x = weft.randn(3, 4) * 3
    assert weft.equal(module(x), function(x))
    assert repr(module) == text


IN_PLACE = [
    nn.ReLU,
    nn.ReLU6,
    nn.SELU,
    nn.SiLU,
    nn.Mish,
    nn.Hardsigmoid,
    nn.Hardswish,
    nn.LeakyReLU,
    nn.ELU,
    nn.CELU,
    nn.Hardtanh,
]


@pytest.mark.parametrize("kind", IN_PLACE)
def test_in_place(kind):
    x = weft.randn(3, 4)
    expected = kind()(x)
    assert kind(inplace=True)(x) is x
    assert weft.equal(x, expected)
    assert "inplace=True" in repr(kind(inplace=True))


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("kind", [*IN_PLACE, nn.RReLU])
def test_gradients_in_place(kind, training):
    gradients = []
    for inplace in (False, True):
        weft.manual_seed(0)
        x = weft.tensor([[-1.0, 2.0], [3.0, -4.0]], requires_grad=True)
        kind(inplace=inplace).train(training)(x * 1).sum().backward()
        gradients.append(x.grad)
    assert weft.equal(*gradients)


def test_prelu_learns_its_slope():
    layer = nn.PReLU(4, init=0.5)
    x = weft.full((2, 4, 3), -2.0)
    layer(x).sum().backward()
    assert layer(x).sum() == -24
    assert layer.weight.grad.tolist() == [-12] * 4
    assert repr(layer) == "PReLU(num_parameters=4)"
    nn.init.zeros_(layer.weight)
    layer.reset_parameters()
    assert layer.weight.tolist() == [0.5] * 4


def test_dimensions_that_default():
    x = weft.randn(2, 3)
    assert weft.equal(nn.Softmax()(x), F.softmax(x, 1))
    assert weft.equal(F.softmax(x[0]), F.softmax(x[0], 0))
    assert F.softmax(x, dtype=weft.float64).dtype is weft.float64
    image = weft.randn(2, 3, 4, 5)
    assert weft.equal(nn.Softmax2d()(image), F.softmax(image, 1))
    with pytest.raises(ValueError, match="dimensions"):
        nn.Softmax2d()(x)


def test_bounds_are_checked():
    with pytest.raises(ValueError, match="min_val"):
        nn.Hardtanh(1, 1)
