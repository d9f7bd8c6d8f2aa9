"""Functions of neural networks.

Most are ops of the table as they are. What is written here is what PyTorch's signatures add to
them: `inplace`, `training`, paddings by name, dimensions that default, and names that differ.
"""

from __future__ import annotations

import math
from typing import Any

from weft import _core
from weft._core import Tensor
from weft._missing import explain_missing
from weft.autograd import no_grad
from weft.functional import activations
from weft.functional.activations import hardshrink, softshrink, softsign, tanhshrink
from weft.functional.alignment import ctc_loss
from weft.functional.arithmetic import glu
from weft.functional.attention import multi_head_attention_forward
from weft.functional.bags import embedding_bag
from weft.functional.composite import WRITERS, show_as
from weft.functional.convolution import conv1d, conv2d, conv_transpose1d, conv_transpose2d
from weft.functional.counting import unique
from weft.functional.grids import grid_sample
from weft.functional.images import (
    channel_shuffle,
    fold,
    interpolate,
    pixel_shuffle,
    pixel_unshuffle,
    unfold,
    upsample_bilinear,
    upsample_nearest,
)
from weft.functional.linear_algebra import (
    bilinear,
    cosine_similarity,
    normalize,
    pairwise_distance,
    pdist,
    scaled_dot_product_attention,
)
from weft.functional.losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cosine_embedding_loss,
    cross_entropy,
    gaussian_nll_loss,
    hinge_embedding_loss,
    huber_loss,
    kl_div,
    l1_loss,
    margin_ranking_loss,
    mse_loss,
    nll_loss,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
    triplet_margin_loss,
)
from weft.functional.margins import (
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    triplet_margin_with_distance_loss,
)
from weft.functional.normalization import (
    batch_norm,
    group_norm,
    instance_norm,
    local_response_norm,
    rms_norm,
)
from weft.functional.pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)
from weft.functional.reductions import vector_norm
from weft.functional.selection import one_hot
from weft.functional.shaping import exponential_, pad
from weft.functional.volumes import conv3d, conv_transpose3d

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "alpha_dropout",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "celu_",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "ctc_loss",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "elu",
    "elu_",
    "embedding",
    "embedding_bag",
    "feature_alpha_dropout",
    "feature_dropout",
    "fold",
    "gaussian_nll_loss",
    "gelu",
    "glu",
    "grid_sample",
    "group_norm",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "leaky_relu_",
    "linear",
    "local_response_norm",
    "log_softmax",
    "logsigmoid",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "mish",
    "mse_loss",
    "multi_head_attention_forward",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "pairwise_distance",
    "pdist",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "rms_norm",
    "rrelu",
    "rrelu_",
    "scaled_dot_product_attention",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
    "unfold",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]

ops = _core.ops

linear = ops.linear
tanh, sigmoid = ops.tanh, ops.sigmoid
logsigmoid, softplus = ops.logsigmoid, ops.softplus
gelu = ops.gelu
layer_norm = ops.layer_norm
relu_, elu_, leaky_relu_, hardtanh_ = ops.relu_, ops.elu_, ops.leaky_relu_, ops.hardtanh_
selu_, celu_, threshold_ = WRITERS["selu_"], WRITERS["celu_"], WRITERS["threshold_"]


# ---- activations --------------------------------------------------------------------------------


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Set negative elements to zero.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> x = weft.tensor([-1.0, 2.0])
        >>> F.relu(x), F.relu(x, inplace=True) is x
        (tensor([0., 2.]), True)
    """
    return ops.relu_(input) if inplace else ops.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Clamp to [0, 6].

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.relu6(weft.tensor([-1.0, 3.0, 9.0]))
        tensor([0., 3., 6.])
    """
    return hardtanh(input, 0, 6, inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Scale negative elements by `negative_slope`.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.leaky_relu(weft.tensor([-1.0, 2.0]), 0.1)
        tensor([-0.1000,  2.0000])
    """
    return (ops.leaky_relu_ if inplace else ops.leaky_relu)(input, negative_slope)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Send negative elements through alpha * (exp(x) - 1).

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.elu(weft.tensor([-1.0, 2.0]), alpha=2.0)
        tensor([-1.2642,  2.0000])
    """
    return (ops.elu_ if inplace else ops.elu)(input, alpha)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Send negative elements through alpha * (exp(x / alpha) - 1).

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.celu(weft.tensor([-1.0, 2.0]), alpha=2.0)
        tensor([-0.7869,  2.0000])
    """
    return celu_(input, alpha) if inplace else activations.celu(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Apply the scaled exponential linear unit.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.selu(weft.tensor([-1.0, 1.0]))
        tensor([-1.1113,  1.0507])
    """
    return selu_(input) if inplace else activations.selu(input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Multiply each element by its sigmoid.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.silu(weft.tensor([-1.0, 1.0]))
        tensor([-0.2689,  0.7311])
    """
    return (ops.silu_ if inplace else ops.silu)(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """Multiply each element by the tanh of its softplus.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.mish(weft.tensor([-1.0, 1.0]))
        tensor([-0.3034,  0.8651])
    """
    return (WRITERS["mish_"] if inplace else activations.mish)(input)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """Apply the piecewise linear sigmoid.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.hardsigmoid(weft.tensor([-4.0, 0.0, 4.0]))
        tensor([0.0000, 0.5000, 1.0000])
    """
    return (WRITERS["hardsigmoid_"] if inplace else activations.hardsigmoid)(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """Multiply each element by its piecewise linear sigmoid.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.hardswish(weft.tensor([-1.0, 1.0, 4.0]))
        tensor([-0.3333,  0.6667,  4.0000])
    """
    return (WRITERS["hardswish_"] if inplace else activations.hardswish)(input)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """Clamp to [min_val, max_val].

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.hardtanh(weft.tensor([-3.0, 0.5, 3.0]), min_val=-2.0, max_val=2.0)
        tensor([-2.0000,  0.5000,  2.0000])
    """
    return (ops.hardtanh_ if inplace else ops.hardtanh)(input, min_val, max_val)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Replace elements that are not above `threshold` by `value`.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.threshold(weft.tensor([0.5, 2.0]), threshold=1.0, value=-9.0)
        tensor([-9.,  2.])
    """
    function = threshold_ if inplace else activations.threshold
    return function(input, threshold, value)


def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """Scale negative elements by a random factor while training, by the middle one otherwise.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.rrelu(weft.tensor([-6.0, 2.0]))  # while not training: the mean of the two slopes
        tensor([-1.3750,  2.0000])
    """
    if training:
        # As PyTorch does, numbers are drawn only for those that need one.
        negative = input.detach() <= 0
        drawn = ops.rand(int(negative.sum()), dtype=_core.float64) * (upper - lower) + lower
        slope = ops.zeros_like(input.detach()) + 1
        slope = slope.masked_scatter(negative, drawn.to(input.dtype))
        return input.mul_(slope) if inplace else input * slope
    return (ops.leaky_relu_ if inplace else ops.leaky_relu)(input, (lower + upper) / 2)


def rrelu_(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False
) -> Tensor:
    """Write the result of `rrelu` over `input`.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.rrelu_(weft.tensor([-6.0, 2.0]))
        tensor([-1.3750,  2.0000])
    """
    return rrelu(input, lower, upper, training, True)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Scale negative elements by a weight, one for all or one for each channel.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.prelu(weft.tensor([[-1.0, -1.0]]), weft.tensor([0.1, 0.5]))  # one slope a channel
        tensor([[-0.1000, -0.5000]])
    """
    if weight.numel() != 1:
        channels = input.shape[1] if input.ndim > 1 else 1
        if weight.ndim != 1 or weight.numel() != channels:
            raise _core.ShapeError(
                f"prelu(): weight must have one element or one for each of input's {channels} "
                f"channels; weight is {tuple(weight.shape)}, input is {tuple(input.shape)}."
            )
        weight = weight.reshape([1, -1] + [1] * (input.ndim - 2))
    elif input.ndim == 0:
        weight = weight.reshape(())
    result = ops.leaky_relu(input, weight)
    show_as(result, "PreluKernelBackward0")
    return result


def _softmax_dim(input: Tensor) -> int:
    # The choice that PyTorch makes, with a warning, when none is given.
    return 0 if input.ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """Make the elements along a dimension positive with sum one.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.softmax(weft.tensor([[0.0, 0.0], [1.0, 3.0]]), dim=1)
        tensor([[0.5000, 0.5000],
                [0.1192, 0.8808]])
    """
    return ops.softmax(input, _softmax_dim(input) if dim is None else dim, dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """Return the logarithm of softmax.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.log_softmax(weft.tensor([[0.0, 0.0]]), dim=1)
        tensor([[-0.6931, -0.6931]])
    """
    return ops.log_softmax(input, _softmax_dim(input) if dim is None else dim, dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """Return softmax of the negated input.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.softmin(weft.tensor([1.0, 3.0]), dim=0)
        tensor([0.8808, 0.1192])
    """
    return softmax(-input, dim, dtype)


def gumbel_softmax(
    logits: Tensor, tau: float = 1.0, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """Draw from a distribution so that gradients flow through the draw.

    Args:
        logits: log-probabilities, not necessarily normalised.
        tau: the temperature; the smaller, the closer to a choice.
        hard: whether to return a choice (one element is 1) with the gradient of the soft draw.
        eps: accepted for PyTorch programs.
        dim: the dimension of the distribution.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.gumbel_softmax(weft.zeros(2, 3), hard=True).sum(dim=1)  # one-hot rows
        tensor([1., 1.])
    """
    del eps
    noise = -ops.log(exponential_(ops.zeros_like(logits.detach())))
    soft = ops.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = ops.argmax(soft.detach(), dim, True)
    chosen = ops.scatter(ops.zeros_like(soft.detach()), dim, index, 1.0)
    return chosen - soft.detach() + soft


# ---- dropout ------------------------------------------------------------------------------------


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """While training, set elements to zero with probability `p` and scale the others up.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> _ = weft.manual_seed(0)
        >>> F.dropout(weft.ones(6), p=0.5)  # what stays is scaled
        tensor([0., 0., 2., 0., 0., 0.])
        >>> F.dropout(weft.ones(3), training=False)
        tensor([1., 1., 1.])
    """
    return (ops.dropout_ if inplace else ops.dropout)(input, p, training)


def _drop_channels(name: str, input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    if not 0.0 <= p <= 1.0:
        raise _core.ArgumentError(f"{name}(): p must be between 0 and 1; p is {p}.")
    if not training or p == 0.0:
        return input
    mask = ops.ones([*input.shape[:2], *[1] * (input.ndim - 2)], dtype=input.dtype)
    mask = ops.dropout(mask, p, True)
    return input.mul_(mask) if inplace else input * mask


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """While training, set whole channels of (N, C, L) or (C, L) to zero with probability `p`.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.dropout1d(weft.ones(2, 3, 4), training=False).shape
        weft.Size([2, 3, 4])
    """
    if input.ndim == 2:
        return _drop_channels("dropout1d", input.unsqueeze(0), p, training, inplace).squeeze(0)
    return _drop_channels("dropout1d", input, p, training, inplace)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """While training, set whole channels of (N, C, H, W) to zero with probability `p`.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> _ = weft.manual_seed(0)
        >>> F.dropout2d(weft.ones(1, 4, 2, 2))[0, :, 0, 0]  # whole channels
        tensor([0., 0., 2., 0.])
    """
    return _drop_channels("dropout2d", input, p, training, inplace)


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """While training, drop elements so that mean and variance stay, for networks of SELU.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.alpha_dropout(weft.ones(3), training=False)
        tensor([1., 1., 1.])
    """
    if not 0.0 <= p <= 1.0:
        raise _core.ArgumentError(f"alpha_dropout(): p must be between 0 and 1; p is {p}.")
    if not training or p == 0.0:
        return input
    result = _with_floor(input, ops.bernoulli(input.detach(), 1 - p), p)
    return input.copy_(result) if inplace else result


feature_dropout = dropout2d


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """While training, set whole channels of (N, C, D, H, W) to zero with probability `p`.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.dropout3d(weft.ones(1, 2, 2, 2, 2), p=0.0).sum()
        tensor(16.)
    """
    if input.ndim == 4:
        return _drop_channels("dropout3d", input.unsqueeze(0), p, training, inplace).squeeze(0)
    return _drop_channels("dropout3d", input, p, training, inplace)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """While training, drop whole channels so that mean and variance stay; see `alpha_dropout`.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.feature_alpha_dropout(weft.ones(1, 3, 4), training=False).shape
        weft.Size([1, 3, 4])
    """
    if not 0.0 <= p <= 1.0:
        raise _core.ArgumentError(f"feature_alpha_dropout(): p must be between 0 and 1; p is {p}.")
    if not training or p == 0.0:
        return input
    sizes = [*input.shape[:2], *[1] * (input.ndim - 2)]
    kept = ops.bernoulli(ops.zeros(sizes, dtype=input.dtype), 1 - p)
    result = _with_floor(input, kept, p)
    return input.copy_(result) if inplace else result


def _with_floor(input: Tensor, kept: Tensor, p: float) -> Tensor:
    """Put what SELU tends to for negative inputs in the place of dropped elements."""
    floor = -1.7580993408473766
    scale = 0.0 if p == 1.0 else 1 / math.sqrt((1 - p) * (1 + p * floor * floor))
    return (input * kept + floor * (1 - kept) - floor * p) * scale


# ---- look-ups -----------------------------------------------------------------------------------


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Look up rows of a table.

    Args:
        input: indices of rows.
        weight: the table.
        padding_idx: a row that gets no gradient.
        max_norm: rows that are looked up and longer than this are shortened to it, in place.
        norm_type: which norm `max_norm` means.
        scale_grad_by_freq: only False.
        sparse: accepted for PyTorch programs; gradients are dense.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> table = weft.tensor([[0.0, 0.1], [1.0, 1.1], [2.0, 2.1]])
        >>> F.embedding(weft.tensor([[2, 0]]), table)
        tensor([[[2.0000, 2.1000],
                 [0.0000, 0.1000]]])
    """
    del sparse
    if scale_grad_by_freq:
        raise _core.UnsupportedError("embedding(): scale_grad_by_freq is not supported yet.")
    if max_norm is not None:
        with no_grad():
            rows = unique(input)
            chosen = ops.index_select(weight, 0, rows)
            norms = vector_norm(chosen, norm_type, 1, True)
            factor = ops.where(ops.gt(norms, max_norm), max_norm / (norms + 1e-7), 1.0)
            weight.index_copy_(0, rows, chosen * factor)
    if padding_idx is None:
        return ops.embedding(weight, input)
    if not -weight.shape[0] <= padding_idx < weight.shape[0]:
        raise _core.OutOfRangeError(
            f"embedding(): padding_idx must be a row of weight; padding_idx is {padding_idx}, "
            f"weight is {tuple(weight.shape)}."
        )
    return ops.embedding(weight, input, padding_idx % weight.shape[0])


# ---- pooling --------------------------------------------------------------------


# ---- other names --------------------------------------------------------------------------------


def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """Resize the dimensions after the first two; see `interpolate`.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.upsample(weft.zeros(1, 3, 4, 4), scale_factor=2).shape
        weft.Size([1, 3, 8, 8])
    """
    return interpolate(input, size, scale_factor, mode, align_corners)


explain_missing(__name__)
