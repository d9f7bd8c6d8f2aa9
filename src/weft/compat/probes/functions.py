"""Functions that PyTorch has under `torch` too, beside `torch.nn.functional`, and old ones."""

from __future__ import annotations

import warnings
from typing import Any

from weft._core import Tensor
from weft.functional.creation import arange
from weft.nn.functional import (
    adaptive_avg_pool1d,
    adaptive_max_pool1d,
    alpha_dropout,
    avg_pool1d,
    binary_cross_entropy_with_logits,
    channel_shuffle,
    cosine_embedding_loss,
    ctc_loss,
    embedding_bag,
    feature_alpha_dropout,
    hinge_embedding_loss,
    instance_norm,
    kl_div,
    margin_ranking_loss,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    pixel_shuffle,
    pixel_unshuffle,
    poisson_nll_loss,
    prelu,
    rrelu,
    triplet_margin_loss,
)

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_max_pool1d",
    "alpha_dropout",
    "avg_pool1d",
    "binary_cross_entropy_with_logits",
    "channel_shuffle",
    "cosine_embedding_loss",
    "ctc_loss",
    "detach",
    "detach_",
    "embedding_bag",
    "feature_alpha_dropout",
    "get_device",
    "hinge_embedding_loss",
    "instance_norm",
    "is_distributed",
    "is_inference",
    "is_same_size",
    "is_signed",
    "kl_div",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "prelu",
    "range",
    "rrelu",
    "triplet_margin_loss",
]


def detach(input: Tensor) -> Tensor:
    """Return the same memory without history."""
    return input.detach()


def detach_(input: Tensor) -> Tensor:
    """Cut a tensor from its history."""
    return input.detach_()


def get_device(input: Tensor) -> int:
    """Return -1, which stands for the CPU."""
    return input.get_device()


def is_distributed(input: Tensor) -> bool:
    """Return False: a tensor is in one place."""
    del input
    return False


def is_inference(input: Tensor) -> bool:
    """Tell whether a tensor was made in inference mode."""
    return input.is_inference()


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Tell whether two tensors have the same shape."""
    return input.shape == other.shape


def is_signed(input: Tensor) -> bool:
    """Tell whether the dtype has negative numbers."""
    return input.is_signed()


def range(start: Any = 0, end: Any = None, step: Any = 1, **options: Any) -> Tensor:
    """Make the numbers from `start` to `end`, with `end` among them."""
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior "
        "is inconsistent with Python's range builtin. Instead, use torch.arange, which produces "
        "values in [start, end).",
        stacklevel=2,
    )
    first, last = (0, start) if end is None else (start, end)
    return arange(float(first), float(last) + step / 2, step, **options)
