"""Parameters that are computed when they are read."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import weft
from weft import nn
from weft.nn.utils import parametrize
from weft.nn.utils.parametrizations import spectral_norm, weight_norm


class Symmetric(nn.Module):
    def forward(self, x: Any) -> Any:
        return x.triu() + x.triu(1).mT

    def right_inverse(self, x: Any) -> Any:
        return x.triu()


class Doubled(nn.Module):
    def forward(self, x: Any) -> Any:
        return 2 * x


def parametrized() -> Any:
    return parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())


def test_the_parameter_is_computed_and_trained() -> None:
    layer = parametrized()
    assert type(layer).__name__ == "ParametrizedLinear"
    assert [name for name, _ in layer.named_parameters()] == [
        "bias",
        "parametrizations.weight.original",
    ]
    assert weft.equal(layer.weight, layer.weight.T)
    layer(weft.ones(2, 3)).sum().backward()
    assert layer.parametrizations.weight.original.grad is not None


def test_assigning_sets_the_original() -> None:
    layer = parametrized()
    wanted = weft.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 5.0], [3.0, 5.0, 6.0]])
    layer.weight = wanted
    assert weft.equal(layer.weight, wanted)


def test_several_steps() -> None:
    layer = parametrized()
    before = layer.weight
    parametrize.register_parametrization(layer, "weight", Doubled())
    assert weft.allclose(layer.weight, 2 * before)


def test_cached_blocks_compute_once() -> None:
    layer = parametrized()
    assert layer.weight is not layer.weight
    with parametrize.cached():
        assert layer.weight is layer.weight


@pytest.mark.parametrize("keep", [True, False])
def test_removing(keep: bool) -> None:
    layer = parametrized()
    weight, original = layer.weight, layer.parametrizations.weight.original
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=keep)
    assert type(layer) is nn.Linear
    assert isinstance(layer.weight, nn.Parameter)
    assert weft.equal(layer.weight, weight if keep else original)
    assert not parametrize.is_parametrized(layer)


def test_a_copy_has_its_own_originals() -> None:
    layer = parametrized()
    other = copy.deepcopy(layer)
    with weft.no_grad():
        other.parametrizations.weight.original.zero_()
    assert float(layer.weight.abs().sum()) > 0


def test_errors() -> None:
    class Shorter(nn.Module):
        def forward(self, x: Any) -> Any:
            return x[:1]

    with pytest.raises(ValueError, match="Linear has no parameter or buffer 'wight'"):
        parametrize.register_parametrization(nn.Linear(2, 2), "wight", Doubled())
    with pytest.raises(ValueError, match="unsafe=True allows it"):
        parametrize.register_parametrization(nn.Linear(2, 2), "weight", Shorter())
    with pytest.raises(ValueError, match="weight is not parametrized"):
        parametrize.remove_parametrizations(nn.Linear(2, 2), "weight")


def test_known_parametrizations_change_nothing_or_the_norm() -> None:
    layer = nn.Linear(4, 3)
    before = layer.weight.detach().clone()
    assert weft.allclose(weight_norm(layer).weight, before, atol=1e-6)
    sharp: Any = spectral_norm(nn.Linear(4, 3)).eval()
    assert abs(np.linalg.norm(sharp.weight.detach().numpy(), 2) - 1) < 1e-2
