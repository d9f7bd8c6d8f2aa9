"""Lazy modules become others at their first call."""

from __future__ import annotations

import pytest

import weft
from weft import nn

SHAPES = {
    "LazyLinear": ((5,), (2, 4)),
    "LazyConv1d": ((5, 3), (2, 4, 6)),
    "LazyConv2d": ((5, 3), (2, 4, 6, 6)),
    "LazyConv3d": ((5, 3), (2, 4, 6, 6, 6)),
    "LazyConvTranspose1d": ((5, 3), (2, 4, 6)),
    "LazyConvTranspose2d": ((5, 3), (2, 4, 6, 6)),
    "LazyConvTranspose3d": ((5, 3), (2, 4, 6, 6, 6)),
    "LazyBatchNorm1d": ((), (2, 4, 6)),
    "LazyBatchNorm2d": ((), (2, 4, 6, 6)),
    "LazyBatchNorm3d": ((), (2, 4, 6, 6, 6)),
    "LazyInstanceNorm1d": ((), (2, 4, 6)),
    "LazyInstanceNorm2d": ((), (2, 4, 6, 6)),
    "LazyInstanceNorm3d": ((), (2, 4, 6, 6, 6)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_becomes_another(name):
    args, shape = SHAPES[name]
    layer = getattr(nn, name)(*args)
    assert layer.has_uninitialized_params()
    weft.manual_seed(0)
    result = layer(weft.ones(*shape))
    assert type(layer) is getattr(nn, name.removeprefix("Lazy"))
    weft.manual_seed(0)
    other = type(layer)(4, *args, **({"affine": True} if "Instance" in name else {}))
    for param, wanted in zip(layer.parameters(), other.parameters(), strict=True):
        assert bool((param == wanted).all())
    assert result.shape[0] == 2


def test_in_a_model_with_hooks():
    seen = []
    model = nn.Sequential(nn.LazyLinear(3), nn.ReLU(), nn.LazyLinear(2, bias=False))
    model[0].register_forward_hook(lambda module, args, output: seen.append(output.shape))
    model.eval()
    assert model(weft.ones(4, 7)).shape == (4, 2)
    assert seen == [(4, 3)]
    assert not model[0].training
    assert [tuple(param.shape) for param in model.parameters()] == [(3, 7), (3,), (2, 3)]


def test_no_parameters_before_the_first_call():
    with pytest.raises(RuntimeError, match="call the model once"):
        list(nn.LazyLinear(3).parameters())
    assert repr(nn.LazyLinear(3, bias=False)) == "LazyLinear(3, bias=False)"
