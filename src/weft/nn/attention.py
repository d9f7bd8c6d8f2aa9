"""Attention with several heads."""

from __future__ import annotations

from typing import Any

from weft._core import Tensor
from weft.functional.creation import empty
from weft.nn import functional as F
from weft.nn import init
from weft.nn.linear import NonDynamicallyQuantizableLinear
from weft.nn.module import Module
from weft.nn.parameter import Parameter


class MultiheadAttention(Module):
    """Mix values by how well their keys fit the queries, in several heads.

    Args:
        embed_dim: features of queries and of the result.
        num_heads: how many parts they are cut into.
        dropout: the probability of dropping a weight while training.
        bias: whether the projections have biases.
        add_bias_kv: whether a learned key and value are added.
        add_zero_attn: whether a key and value of zeros are added.
        kdim: features of keys; as queries if not given.
        vdim: features of values; as queries if not given.
        batch_first: whether the batch comes before the steps.
        device: only "cpu".
        dtype: of the parameters.

    Example:
        >>> import weft
        >>> attention = weft.nn.MultiheadAttention(8, 2, batch_first=True)
        >>> x = weft.randn(3, 5, 8)
        >>> output, weights = attention(x, x, x)
        >>> output.shape, weights.shape
        (weft.Size([3, 5, 8]), weft.Size([3, 5, 5]))
    """

    in_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    q_proj_weight: Parameter | None
    k_proj_weight: Parameter | None
    v_proj_weight: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
            raise ValueError(
                f"MultiheadAttention(): embed_dim must be divisible by num_heads; embed_dim is "
                f"{embed_dim}, num_heads is {num_heads}."
            )
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        self.add_zero_attn = add_zero_attn

        def made(wanted: bool, *sizes: int) -> Parameter | None:
            return Parameter(empty(sizes, dtype=dtype, device=device)) if wanted else None

        joined = self._qkv_same_embed_dim
        self.register_parameter("q_proj_weight", made(not joined, embed_dim, embed_dim))
        self.register_parameter("k_proj_weight", made(not joined, embed_dim, self.kdim))
        self.register_parameter("v_proj_weight", made(not joined, embed_dim, self.vdim))
        self.register_parameter("in_proj_weight", made(joined, 3 * embed_dim, embed_dim))
        self.register_parameter("in_proj_bias", made(bias, 3 * embed_dim))
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        self.register_parameter("bias_k", made(add_bias_kv, 1, 1, embed_dim))
        self.register_parameter("bias_v", made(add_bias_kv, 1, 1, embed_dim))
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        names = ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight")
        for name in names:
            weight = getattr(self, name)
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            assert self.out_proj.bias is not None
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the mixed values, and the weights or None.

        Args:
            query: (L, N, E), (N, L, E) if `batch_first`, or (L, E).
            key: the keys, in the same order of dimensions.
            value: the values, in the same order of dimensions.
            key_padding_mask: (N, S): True hides a key, numbers are added to scores.
            need_weights: whether to return the weights.
            attn_mask: (L, S) or (N * heads, L, S): True hides, numbers are added to scores.
            average_attn_weights: whether the weights are means over the heads.
            is_causal: says that `attn_mask` hides what comes later.
        """
        turned = self.batch_first and query.ndim == 3
        if turned:
            same = key is query, value is key
            query = query.transpose(1, 0)
            key = query if same[0] else key.transpose(1, 0)
            value = key if same[1] else value.transpose(1, 0)
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (output.transpose(1, 0) if turned else output), weights
