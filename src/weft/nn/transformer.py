"""The Transformer: layers of attention, encoders and decoders of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from typing import Any, cast

from weft import _core
from weft._core import Tensor
from weft.functional.shaping import triu
from weft.nn import functional as F
from weft.nn import init
from weft.nn.attention import MultiheadAttention
from weft.nn.containers import ModuleList
from weft.nn.dropout import Dropout
from weft.nn.linear import Linear
from weft.nn.module import Module
from weft.nn.normalization import LayerNorm
from weft.nn.recurrent import MOST_LAYERS

ops = _core.ops


def _activation(given: str | Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    if not isinstance(given, str):
        return given
    if given not in ("relu", "gelu"):
        raise ValueError(f"activation must be 'relu', 'gelu' or a function, not {given!r}.")
    return F.relu if given == "relu" else F.gelu


class _Layer(Module):
    """What both kinds of layer share: the two linear layers at their end."""

    activation: Callable[[Tensor], Tensor]

    def _add_feedforward(
        self, width: int, hidden: int, dropout: float, bias: bool, options: dict[str, Any]
    ) -> None:
        self.linear1 = Linear(width, hidden, bias, **options)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(hidden, width, bias, **options)

    def _feed(self, x: Tensor, last: Dropout) -> Tensor:
        hidden = self.activation(self.linear1(x))
        return last(self.linear2(self.dropout(hidden)))


class TransformerEncoderLayer(_Layer):
    """Let each step look at all others, then change each by itself.

    Args:
        d_model: features of a step.
        nhead: heads of the attention.
        dim_feedforward: features between the two linear layers.
        dropout: the probability of dropping elements.
        activation: "relu", "gelu" or a function.
        layer_norm_eps: added to variances.
        batch_first: whether the batch comes before the steps.
        norm_first: whether to normalise before attention and linear layers, not after.
        bias: whether there are biases.
        device: only "cpu".
        dtype: of the parameters.

    Example:
        >>> import weft
        >>> layer = weft.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        >>> layer(weft.randn(3, 5, 8)).shape
        weft.Size([3, 5, 8])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout, bias, batch_first=batch_first, **options
        )
        self._add_feedforward(d_model, dim_feedforward, dropout, bias, options)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, **options)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, **options)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = _activation(activation)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Pass `src` through the layer; masks as for MultiheadAttention."""
        if self.norm_first:
            x = src + self._look(self.norm1(src), src_mask, src_key_padding_mask, is_causal)
            return x + self._feed(self.norm2(x), self.dropout2)
        x = self.norm1(src + self._look(src, src_mask, src_key_padding_mask, is_causal))
        return self.norm2(x + self._feed(x, self.dropout2))

    def _look(self, x: Tensor, mask: Any, padding: Any, is_causal: bool) -> Tensor:
        seen, _ = self.self_attn(
            x,
            x,
            x,
            key_padding_mask=padding,
            need_weights=False,
            attn_mask=mask,
            is_causal=is_causal,
        )
        return self.dropout1(seen)


class TransformerDecoderLayer(_Layer):
    """Let each step look at the steps before it and at a memory, then change each by itself.

    Args:
        d_model: features of a step.
        nhead: heads of the attentions.
        dim_feedforward: features between the two linear layers.
        dropout: the probability of dropping elements.
        activation: "relu", "gelu" or a function.
        layer_norm_eps: added to variances.
        batch_first: whether the batch comes before the steps.
        norm_first: whether to normalise before attention and linear layers, not after.
        bias: whether there are biases.
        device: only "cpu".
        dtype: of the parameters.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> layer = nn.TransformerDecoderLayer(8, nhead=2, batch_first=True)
        >>> layer(weft.zeros(1, 5, 8), memory=weft.zeros(1, 7, 8)).shape
        weft.Size([1, 5, 8])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout, bias, batch_first=batch_first, **options
        )
        self.multihead_attn = MultiheadAttention(
            d_model, nhead, dropout, bias, batch_first=batch_first, **options
        )
        self._add_feedforward(d_model, dim_feedforward, dropout, bias, options)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, **options)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, **options)
        self.norm3 = LayerNorm(d_model, layer_norm_eps, bias=bias, **options)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = _activation(activation)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Pass `tgt` through the layer; masks as for MultiheadAttention."""
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        if self.norm_first:
            x = tgt + self._look(self.norm1(tgt), own)
            x = x + self._look_back(self.norm2(x), memory, other)
            return x + self._feed(self.norm3(x), self.dropout3)
        x = self.norm1(tgt + self._look(tgt, own))
        x = self.norm2(x + self._look_back(x, memory, other))
        return self.norm3(x + self._feed(x, self.dropout3))

    def _look(self, x: Tensor, masks: tuple[Any, Any, bool]) -> Tensor:
        return self.dropout1(_seen(self.self_attn, x, x, masks))

    def _look_back(self, x: Tensor, memory: Tensor, masks: tuple[Any, Any, bool]) -> Tensor:
        return self.dropout2(_seen(self.multihead_attn, x, memory, masks))


def _seen(attention: MultiheadAttention, x: Tensor, memory: Tensor, masks: Any) -> Tensor:
    mask, padding, is_causal = masks
    seen, _ = attention(
        x,
        memory,
        memory,
        key_padding_mask=padding,
        need_weights=False,
        attn_mask=mask,
        is_causal=is_causal,
    )
    return seen


def _is_causal(mask: Tensor | None, given: bool | None) -> bool:
    return bool(given) and mask is not None


def _copies(layer: Module, count: int) -> ModuleList:
    if not isinstance(cast("Any", layer), Module):
        raise TypeError(f"a layer must be a Module, not a {type(layer).__name__}.")
    if count > MOST_LAYERS:
        raise ValueError(f"num_layers must be at most {MOST_LAYERS}, not {count}.")
    return ModuleList([deepcopy(layer) for _ in range(count)])


class TransformerEncoder(Module):
    """Run several encoder layers, one after the other.

    Args:
        encoder_layer: the layer that is copied.
        num_layers: how many copies there are.
        norm: a module for the end, or None.
        enable_nested_tensor: accepted for PyTorch programs.
        mask_check: accepted for PyTorch programs.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> layer = nn.TransformerEncoderLayer(8, nhead=2, batch_first=True)
        >>> nn.TransformerEncoder(layer, num_layers=2)(weft.zeros(1, 5, 8)).shape
        weft.Size([1, 5, 8])
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        del enable_nested_tensor, mask_check
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """Pass `src` through all layers; masks as for MultiheadAttention."""
        output = src
        for layer in self.layers:
            output = layer(
                output,
                src_mask=mask,
                src_key_padding_mask=src_key_padding_mask,
                is_causal=_is_causal(mask, is_causal),
            )
        return output if self.norm is None else self.norm(output)


class TransformerDecoder(Module):
    """Run several decoder layers, one after the other.

    Args:
        decoder_layer: the layer that is copied.
        num_layers: how many copies there are.
        norm: a module for the end, or None.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> layer = nn.TransformerDecoderLayer(8, nhead=2, batch_first=True)
        >>> decoder = nn.TransformerDecoder(layer, num_layers=2)
        >>> decoder(weft.zeros(1, 5, 8), weft.zeros(1, 7, 8)).shape
        weft.Size([1, 5, 8])
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Pass `tgt` through all layers; masks as for MultiheadAttention."""
        output = tgt
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=_is_causal(tgt_mask, tgt_is_causal),
                memory_is_causal=memory_is_causal,
            )
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """Read one sequence with an encoder and write another with a decoder.

    Args:
        d_model: features of a step.
        nhead: heads of the attentions.
        num_encoder_layers: layers of the encoder.
        num_decoder_layers: layers of the decoder.
        dim_feedforward: features between the two linear layers of a layer.
        dropout: the probability of dropping elements.
        activation: "relu", "gelu" or a function.
        custom_encoder: an encoder of one's own.
        custom_decoder: a decoder of one's own.
        layer_norm_eps: added to variances.
        batch_first: whether the batch comes before the steps.
        norm_first: whether layers normalise before attention and linear layers, not after.
        bias: whether there are biases.
        device: only "cpu".
        dtype: of the parameters.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> model = nn.Transformer(8, 2, 1, 1, dim_feedforward=16, batch_first=True)
        >>> model(weft.zeros(1, 7, 8), weft.zeros(1, 5, 8)).shape
        weft.Size([1, 5, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = "relu",
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options = {"device": device, "dtype": dtype}
        settings = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps)
        order = (batch_first, norm_first, bias)

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, **options)

        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            layer = TransformerEncoderLayer(*settings, *order, **options)
            self.encoder = TransformerEncoder(layer, num_encoder_layers, norm())
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            layer = TransformerDecoderLayer(*settings, *order, **options)
            self.decoder = TransformerDecoder(layer, num_decoder_layers, norm())
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        for param in self.parameters():
            if param.dim() > 1:
                init.xavier_uniform_(param)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Encode `src` and decode `tgt`; masks as for MultiheadAttention."""
        memory = self.encoder(
            src,
            mask=src_mask,
            src_key_padding_mask=src_key_padding_mask,
            is_causal=src_is_causal,
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """Return a mask that hides later steps: minus infinity above the diagonal.

        Example:
            >>> from weft import nn
            >>> nn.Transformer.generate_square_subsequent_mask(3)
            tensor([[0., -inf, -inf],
                    [0., 0., -inf],
                    [0., 0., 0.]])
        """
        del device
        return triu(ops.full((sz, sz), -math.inf, dtype=dtype), 1)
