"""Linear, Bilinear and Identity."""

from __future__ import annotations

import numpy as np
import pytest

import weft
from weft import nn


def test_linear_values_and_gradients():
    layer = nn.Linear(4, 3).double()
    x = weft.randn(5, 4, dtype=weft.float64, requires_grad=True)
    y = layer(x)
    weight, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()
    np.testing.assert_allclose(y.detach().numpy(), x.detach().numpy() @ weight.T + bias)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.ones((5, 3)) @ weight)
    np.testing.assert_allclose(
        layer.weight.grad.numpy(), np.ones((3, 5)) @ x.detach().numpy(), atol=1e-12
    )
    np.testing.assert_allclose(layer.bias.grad.numpy(), [5, 5, 5])


def test_linear_shapes():
    layer = nn.Linear(4, 3, bias=False)
    assert layer.bias is None
    assert layer(weft.ones(4)).shape == (3,)
    assert layer(weft.ones(2, 5, 4)).shape == (2, 5, 3)
    assert repr(layer) == "Linear(in_features=4, out_features=3, bias=False)"
    with pytest.raises(ValueError, match=r"linear.*\(2, 3\)"):
        layer(weft.ones(2, 3))


def test_linear_starts_within_its_bounds():
    layer = nn.Linear(100, 50)
    for parameter in layer.parameters():
        assert float(parameter.abs().max()) <= 0.1
        assert float(parameter.std()) == pytest.approx(0.1 / np.sqrt(3), rel=0.2)


def test_bilinear():
    layer = nn.Bilinear(2, 3, 4).double()
    a, b = weft.randn(5, 2, dtype=weft.float64), weft.randn(5, 3, dtype=weft.float64)
    expected = np.einsum("ni,kij,nj->nk", a.numpy(), layer.weight.detach().numpy(), b.numpy())
    expected += layer.bias.detach().numpy()
    np.testing.assert_allclose(layer(a, b).detach().numpy(), expected)
    assert "in1_features=2" in repr(layer)


def test_identity_takes_any_arguments():
    x = weft.ones(2)
    assert nn.Identity(3, anything=4)(x) is x
