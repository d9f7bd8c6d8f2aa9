"""The Transformer; tests/oracle compares it with PyTorch's."""

from __future__ import annotations

import math
from typing import Any

import pytest

import weft
from weft import nn


def test_a_causal_decoder_does_not_look_ahead():
    model = nn.Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first=True)
    mask = nn.Transformer.generate_square_subsequent_mask(4)
    assert mask[0].tolist() == [0.0, -math.inf, -math.inf, -math.inf]
    source, target = weft.randn(1, 5, 8), weft.randn(1, 4, 8)
    first = model(source, target, tgt_mask=mask, tgt_is_causal=True)
    changed = target.clone()
    changed[0, 3] += 1
    second = model(source, changed, tgt_mask=mask)
    assert bool((first[0, :3] == second[0, :3]).all())
    assert not bool((first[0, 3] == second[0, 3]).all())


def test_layers_are_copies():
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 3, nn.LayerNorm(8))
    weights = [layer.linear1.weight for layer in encoder.layers]
    assert len({id(weight) for weight in weights}) == 3
    assert bool((weights[0] == weights[1]).all())


def test_hidden_steps_do_not_count():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    x = weft.randn(1, 4, 8)
    hidden = weft.tensor([[False, False, True, True]])
    shorter = layer(x[:, :2])
    padded = layer(x, src_key_padding_mask=hidden)[:, :2]
    assert float((shorter - padded).abs().max()) < 1e-5


def test_activation_by_name_or_function():
    with pytest.raises(ValueError, match="'relu', 'gelu' or a function"):
        nn.TransformerEncoderLayer(8, 2, activation="sine")
    layer = nn.TransformerEncoderLayer(8, 2, 16, activation=weft.tanh)
    assert layer(weft.randn(3, 1, 8)).shape == (3, 1, 8)


@pytest.mark.parametrize("kind", [nn.TransformerEncoder, nn.TransformerDecoder])
def test_layers_without_end_are_refused(kind: Any) -> None:
    with pytest.raises(ValueError, match="num_layers must be at most"):
        kind(nn.Linear(1, 1), 2**40)
    with pytest.raises(TypeError, match="a layer must be a Module, not a int"):
        kind(1, 2)
