"""Fold batch normalisation into the layer before it, for inference."""

from __future__ import annotations

import copy
from typing import Any

from weft._core import Tensor, ops
from weft.functional.creation import zeros_like
from weft.nn.module import Module
from weft.nn.parameter import Parameter

__all__ = [
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
]


def _fused(
    weight: Tensor,
    bias: Tensor | None,
    mean: Tensor,
    variance: Tensor,
    eps: float,
    scale: Tensor | None,
    shift: Tensor | None,
    dim: int,
) -> tuple[Parameter, Parameter]:
    factor = ops.rsqrt(variance + eps)
    factor = factor if scale is None else factor * scale
    bias = zeros_like(mean) if bias is None else bias
    shift = zeros_like(mean) if shift is None else shift
    shape = [1] * weight.ndim
    shape[dim] = -1
    made = weight * factor.reshape(shape), (bias - mean) * factor + shift
    return tuple(Parameter(each.detach(), weight.requires_grad) for each in made)  # type: ignore[return-value] # two


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Return weight and bias of a convolution that does what it and a normalisation did.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> conv, norm = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)
        >>> weight, bias = nn.utils.fuse_conv_bn_weights(
        ...     conv.weight,
        ...     conv.bias,
        ...     norm.running_mean,
        ...     norm.running_var,
        ...     norm.eps,
        ...     norm.weight,
        ...     norm.bias,
        ... )
        >>> weight.shape, bias.shape
        (weft.Size([2, 1, 3, 3]), weft.Size([2]))
    """
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 1 if transpose else 0)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """Return weight and bias of a linear layer that does what it and a normalisation did.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> layer, norm = nn.Linear(3, 2), nn.BatchNorm1d(2)
        >>> weight, bias = nn.utils.fuse_linear_bn_weights(
        ...     layer.weight,
        ...     layer.bias,
        ...     norm.running_mean,
        ...     norm.running_var,
        ...     norm.eps,
        ...     norm.weight,
        ...     norm.bias,
        ... )
        >>> weight.shape, bias.shape
        (weft.Size([2, 3]), weft.Size([2]))
    """
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0)


def fuse_conv_bn_eval(conv: Module, bn: Module, transpose: bool = False) -> Module:
    """Return a convolution that does what it and a batch normalisation after it do in eval mode.

    Args:
        conv: the convolution.
        bn: the normalisation of its outputs.
        transpose: whether it is a transposed convolution.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> conv, norm = nn.Conv1d(2, 3, 1).eval(), nn.BatchNorm1d(3).eval()
        >>> x = weft.ones(1, 2, 4)
        >>> weft.allclose(nn.utils.fuse_conv_bn_eval(conv, norm)(x), norm(conv(x)), atol=1e-6)
        True
    """
    return _fused_layer(conv, bn, 1 if transpose else 0)


def fuse_linear_bn_eval(linear: Module, bn: Module) -> Module:
    """Return a linear layer that does what it and a batch normalisation do in eval mode.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> layer, norm = nn.Linear(3, 2).eval(), nn.BatchNorm1d(2).eval()
        >>> x = weft.ones(4, 3)
        >>> weft.allclose(nn.utils.fuse_linear_bn_eval(layer, norm)(x), norm(layer(x)))
        True
    """
    return _fused_layer(linear, bn, 0)


def _fused_layer(layer: Module, norm: Module, dim: int) -> Module:
    if layer.training or norm.training:
        raise ValueError("fusing needs modules in eval mode: call eval() first.")
    made: Any = copy.deepcopy(layer)
    own: Any = norm
    made.weight, made.bias = _fused(
        made.weight,
        made.bias,
        own.running_mean,
        own.running_var,
        own.eps,
        own.weight,
        own.bias,
        dim,
    )
    return made
