"""Weight norm and spectral norm as hooks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from weft import nn
from weft.nn.utils import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm


def test_weight_norm() -> None:
    layer: Any = nn.Linear(4, 3)
    x = weft.ones(1, 4)
    before = layer(x)
    weight_norm(layer)
    assert sorted(name for name, _ in layer.named_parameters()) == ["bias", "weight_g", "weight_v"]
    assert weft.allclose(layer(x), before, atol=1e-6)
    with weft.no_grad():
        layer.weight_g.mul_(2)
    assert weft.allclose(layer(x) - layer.bias, 2 * (before - layer.bias), atol=1e-5)
    remove_weight_norm(layer)
    assert sorted(name for name, _ in layer.named_parameters()) == ["bias", "weight"]


def test_spectral_norm() -> None:
    layer: Any = spectral_norm(nn.Conv2d(2, 3, 3), n_power_iterations=30)
    assert "weight_orig" in dict(layer.named_parameters())
    layer(weft.ones(1, 2, 4, 4)).sum().backward()
    assert abs(np.linalg.norm(layer.weight.detach().flatten(1).numpy(), 2) - 1) < 1e-2
    assert layer.weight_orig.grad is not None
    remove_spectral_norm(layer)
    assert isinstance(layer.weight, nn.Parameter)
    with pytest.raises(ValueError, match="SpectralNorm of 'weight' not found"):
        remove_spectral_norm(layer)
