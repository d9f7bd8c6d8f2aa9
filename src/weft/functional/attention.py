"""Attention with several heads, as one function."""

from __future__ import annotations

import math
from typing import Any

from weft import _core
from weft._core import Tensor
from weft.functional.linear_algebra import scaled_dot_product_attention
from weft.functional.shaping import pad

ops = _core.ops


def added_mask(mask: Tensor | None, like: Tensor) -> Tensor | None:
    """Return a mask as numbers that are added to scores; True in a mask of booleans hides."""
    if mask is None or mask.is_floating_point():
        return mask
    hidden = ops.zeros(mask.shape, dtype=like.dtype)
    return ops.masked_fill(hidden, mask, -math.inf)


def _projected(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    weights: tuple[Tensor, Tensor, Tensor] | None,
    joined: Tensor | None,
    bias: Tensor | None,
) -> list[Tensor]:
    width = query.shape[-1]
    parts = [None] * 3 if bias is None else list(ops.chunk(bias, 3, 0))
    if weights is not None:
        matrices = list(weights)
    else:
        assert joined is not None
        if query is key and key is value:
            return list(ops.chunk(ops.linear(query, joined, bias), 3, -1))
        matrices = [ops.slice(joined, 0, i * width, (i + 1) * width) for i in range(3)]
    inputs = zip((query, key, value), matrices, parts, strict=True)
    return [ops.linear(input, matrix, part) for input, matrix, part in inputs]


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attend with several heads; see `weft.nn.MultiheadAttention`, which holds the weights.

    Args:
        query: (L, N, E) or (L, E).
        key: (S, N, K) or (S, K).
        value: (S, N, V) or (S, V).
        embed_dim_to_check: E.
        num_heads: how many parts E is cut into.
        in_proj_weight: the three weights of query, key and value, one above the other.
        in_proj_bias: their biases.
        bias_k: a key that is added to all.
        bias_v: its value.
        add_zero_attn: whether a key and value of zeros are added.
        dropout_p: the probability of dropping a weight.
        out_proj_weight: the weight of the result.
        out_proj_bias: its bias.
        training: whether to drop weights.
        key_padding_mask: (N, S): True hides a key, numbers are added to scores.
        need_weights: whether to return the weights too.
        attn_mask: (L, S) or (N * heads, L, S): True hides, numbers are added to scores.
        use_separate_proj_weight: whether the next three are given instead.
        q_proj_weight: the weight of queries.
        k_proj_weight: the weight of keys.
        v_proj_weight: the weight of values.
        static_k: keys (N * heads, S, E / heads) in place of the computed ones.
        static_v: values in place of the computed ones.
        average_attn_weights: whether the weights that are returned are means over the heads.
        is_causal: says that `attn_mask` hides what comes later.

    Example:
        >>> import weft
        >>> attention = weft.nn.MultiheadAttention(8, num_heads=2)  # it calls this function
        >>> x = weft.zeros(5, 1, 8)
        >>> attention(x, x, x)[0].shape
        weft.Size([5, 1, 8])
    """
    alone = query.ndim == 2
    if alone:
        same = key is query, value is key
        query = query.unsqueeze(1)
        key = query if same[0] else key.unsqueeze(1)
        value = key if same[1] else value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    if width != embed_dim_to_check or width % num_heads:
        raise _core.ShapeError(
            f"multi_head_attention_forward(): query must have {embed_dim_to_check} features, which "
            f"{num_heads} heads share; query is {tuple(query.shape)}."
        )
    if is_causal and attn_mask is None:
        raise _core.ArgumentError(
            "multi_head_attention_forward(): is_causal needs attn_mask, which it describes."
        )
    mask, padding = added_mask(attn_mask, query), added_mask(key_padding_mask, query)
    separate: Any = (q_proj_weight, k_proj_weight, v_proj_weight)
    q, k, v = _projected(
        query, key, value, separate if use_separate_proj_weight else None,
        in_proj_weight, in_proj_bias,
    )  # fmt: skip
    added = 0
    if bias_k is not None and bias_v is not None:
        k = ops.cat([k, bias_k.expand(1, batch, width)], 0)
        v = ops.cat([v, bias_v.expand(1, batch, width)], 0)
        added += 1
    depth = width // num_heads
    q = q.reshape(length, batch * num_heads, depth).transpose(0, 1)
    if static_k is None:
        k = k.reshape(k.shape[0], batch * num_heads, depth).transpose(0, 1)
    else:
        k = static_k
    if static_v is None:
        v = v.reshape(v.shape[0], batch * num_heads, depth).transpose(0, 1)
    else:
        v = static_v
    if add_zero_attn:
        nothing = ops.zeros((batch * num_heads, 1, depth), dtype=k.dtype)
        k, v = ops.cat([k, nothing], 1), ops.cat([v, nothing], 1)
        added += 1
    if added:
        mask = None if mask is None else pad(mask, (0, added))
        padding = None if padding is None else pad(padding, (0, added))
    keys = k.shape[1]
    if mask is not None and mask.ndim == 2:
        mask = mask.unsqueeze(0)
    if padding is not None:
        shown = padding.reshape(batch, 1, 1, keys).expand(batch, num_heads, 1, keys)
        shown = shown.reshape(batch * num_heads, 1, keys)
        mask = shown if mask is None else mask + shown
    chance = dropout_p if training else 0.0
    weights = None
    if need_weights:
        scores = ops.matmul(q * math.sqrt(1.0 / depth), k.transpose(1, 2))
        weights = ops.softmax(scores if mask is None else scores + mask, -1)
        if chance:
            weights = ops.dropout(weights, chance, True)
        mixed = ops.matmul(weights, v)
        weights = weights.reshape(batch, num_heads, length, keys)
        if average_attn_weights:
            weights = ops.mean(weights, 1)
        weights = weights.squeeze(0) if alone else weights
    else:
        mixed = _by_heads(q, k, v, mask, chance, num_heads)
    mixed = mixed.transpose(0, 1).reshape(length * batch, width)
    result = ops.linear(mixed, out_proj_weight, out_proj_bias)
    result = result.reshape(length, batch, result.shape[-1])
    return (result.squeeze(1) if alone else result), weights


def _by_heads(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, chance: float, heads: int
) -> Tensor:
    """Attend without the weights."""
    batch = q.shape[0] // heads
    q, k, v = (part.reshape(batch, heads, *part.shape[1:]) for part in (q, k, v))
    if mask is not None:
        several = mask.shape[0] == batch * heads
        mask = mask.reshape(batch, heads, *mask.shape[1:]) if several else mask.unsqueeze(0)
    mixed = scaled_dot_product_attention(q, k, v, mask, chance)
    return mixed.reshape(batch * heads, *mixed.shape[2:])
