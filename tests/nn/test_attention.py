"""MultiheadAttention; tests/oracle compares it with PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import weft
from weft import nn


def test_one_head_is_plain_attention():
    layer = nn.MultiheadAttention(4, 1)
    with weft.no_grad():
        layer.in_proj_weight.copy_(weft.eye(4).repeat(3, 1))
        layer.out_proj.weight.copy_(weft.eye(4))
    query, key = weft.randn(3, 2, 4), weft.randn(5, 2, 4)
    output, weights = layer(query, key, key)
    scores = np.einsum("lne,sne->nls", query.numpy(), key.numpy()) / 2
    expected = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    np.testing.assert_allclose(weights.detach().numpy(), expected, rtol=1e-5)
    mixed = np.einsum("nls,sne->lne", expected, key.numpy())
    np.testing.assert_allclose(output.detach().numpy(), mixed, rtol=1e-4, atol=1e-6)


def test_with_and_without_weights_agree():
    layer = nn.MultiheadAttention(8, 2, batch_first=True)
    x = weft.randn(3, 5, 8)
    hidden = weft.ones(5, 5).triu(1).bool()
    with_weights, weights = layer(x, x, x, attn_mask=hidden)
    without, nothing = layer(x, x, x, attn_mask=hidden, need_weights=False)
    assert nothing is None
    assert bool((weights.triu(1) == 0).all())
    np.testing.assert_allclose(
        with_weights.detach().numpy(), without.detach().numpy(), rtol=1e-4, atol=1e-6
    )


def test_errors():
    with pytest.raises(ValueError, match="divisible by num_heads"):
        nn.MultiheadAttention(8, 3)
    layer = nn.MultiheadAttention(8, 2)
    with pytest.raises(RuntimeError, match="must have 8 features"):
        layer(*[weft.zeros(2, 1, 6)] * 3)
    with pytest.raises(RuntimeError, match="is_causal needs attn_mask"):
        layer(*[weft.zeros(2, 1, 8)] * 3, is_causal=True)


def test_batches_without_examples():
    x = weft.zeros(0, 3, 4, requires_grad=True)
    attention = nn.MultiheadAttention(4, 2, batch_first=True)
    hidden = weft.zeros(0, 3, dtype=weft.bool)
    seen, weights = attention(x, x, x, key_padding_mask=hidden)
    assert (seen.shape, weights.shape) == ((0, 3, 4), (0, 3, 3))
    assert attention(x, x, x, need_weights=False)[0].shape == (0, 3, 4)
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    layer(x).sum().backward()
    assert x.grad.shape == (0, 3, 4)
    decoder = nn.TransformerDecoderLayer(4, 2, 8, batch_first=True)
    assert decoder(x, weft.zeros(0, 5, 4)).shape == (0, 3, 4)
