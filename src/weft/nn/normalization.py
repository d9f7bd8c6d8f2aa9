"""Modules that shift and scale to mean zero and variance one."""

from __future__ import annotations

from typing import Any

from weft import _core
from weft._core import Tensor
from weft.functional.creation import ones, scalar_tensor, zeros
from weft.nn import functional as F
from weft.nn import init
from weft.nn.module import Module
from weft.nn.parameter import Parameter


def _shape_of(normalized_shape: Any) -> tuple[int, ...]:
    if hasattr(normalized_shape, "__iter__"):
        return tuple(normalized_shape)
    return (normalized_shape,)


def _add_affine(
    module: Any, shape: tuple[int, ...], weight: bool, bias: bool, device: Any, dtype: Any
) -> None:
    """Give a module a weight of ones and a bias of zeros, or None in their places."""
    scale = Parameter(ones(shape, dtype=dtype, device=device)) if weight else None
    shift = Parameter(zeros(shape, dtype=dtype, device=device)) if bias else None
    module.register_parameter("weight", scale)
    module.register_parameter("bias", shift)


def _reset_affine(module: Any) -> None:
    if module.weight is not None:
        init.ones_(module.weight)
    if module.bias is not None:
        init.zeros_(module.bias)


class LayerNorm(Module):
    """Normalise over the last dimensions, each example by itself.

    Args:
        normalized_shape: sizes of the dimensions that are normalised over.
        eps: added to the variance.
        elementwise_affine: whether there is a weight.
        bias: whether there is a bias, if there is a weight.
        device: only "cpu".
        dtype: of the parameters.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.LayerNorm(3)(weft.tensor([[1.0, 2.0, 3.0]])).detach()
        tensor([[-1.2247,  0.0000,  1.2247]])
    """

    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape_of(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        shape, affine = self.normalized_shape, elementwise_affine
        _add_affine(self, shape, affine, affine and bias, device, dtype)

    def reset_parameters(self) -> None:
        """Set the weight to ones and the bias to zeros."""
        _reset_affine(self)

    def forward(self, input: Tensor) -> Tensor:
        """Normalise `input`."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Say the sizes."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divide by the root of the mean square over the last dimensions.

    Args:
        normalized_shape: sizes of the dimensions that are normalised over.
        eps: added to the mean square; the dtype's machine epsilon if not given.
        elementwise_affine: whether there is a weight.
        device: only "cpu".
        dtype: of the weight.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.RMSNorm(2)(weft.tensor([[3.0, 4.0]])).detach()
        tensor([[0.8485, 1.1314]])
    """

    weight: Parameter | None

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape_of(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        if elementwise_affine:
            self.weight = Parameter(ones(self.normalized_shape, dtype=dtype, device=device))
        else:
            self.register_parameter("weight", None)

    def reset_parameters(self) -> None:
        """Set the weight to ones."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input: Tensor) -> Tensor:
        """Normalise `input`."""
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """Say the sizes."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(Module):
    """Normalise over groups of channels, each example by itself.

    Args:
        num_groups: how many groups the channels form.
        num_channels: channels of the input.
        eps: added to the variance.
        affine: whether there is a weight for each channel.
        device: only "cpu".
        dtype: of the parameters.
        bias: whether there is a bias for each channel, if there is a weight.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.GroupNorm(num_groups=2, num_channels=6)(weft.zeros(4, 6, 8)).shape
        weft.Size([4, 6, 8])
    """

    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                f"GroupNorm(): num_channels must be divisible by num_groups; num_channels is "
                f"{num_channels}, num_groups is {num_groups}."
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        _add_affine(self, (num_channels,), affine, affine and bias, device, dtype)

    def reset_parameters(self) -> None:
        """Set the weight to ones and the bias to zeros."""
        _reset_affine(self)

    def forward(self, input: Tensor) -> Tensor:
        """Normalise `input`."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Say the sizes."""
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RunningNorm(Module):
    """What batch and instance norm share: parameters for each channel and running statistics."""

    ranks: tuple[int, ...]  # how many dimensions an input may have
    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float,
        momentum: float | None,
        affine: bool,
        track_running_stats: bool,
        device: Any,
        dtype: Any,
        bias: bool,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        shape = (num_features,)
        _add_affine(self, shape, affine, affine and bias, device, dtype)
        tracked = track_running_stats
        self.register_buffer("running_mean", zeros(shape, dtype=dtype) if tracked else None)
        self.register_buffer("running_var", ones(shape, dtype=dtype) if tracked else None)
        count = scalar_tensor(0, dtype=_core.int64) if tracked else None
        self.register_buffer("num_batches_tracked", count)

    def reset_running_stats(self) -> None:
        """Forget the running statistics, if they are tracked."""
        if not self.track_running_stats:
            return
        if self.running_mean is not None and self.running_var is not None:
            self.running_mean.zero_()
            self.running_var.fill_(1)
        if self.num_batches_tracked is not None:
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Forget the running statistics, set the weight to ones and the bias to zeros."""
        self.reset_running_stats()
        _reset_affine(self)

    def _check(self, input: Tensor) -> None:
        if input.dim() not in self.ranks:
            wanted = " or ".join(str(rank) for rank in self.ranks)
            raise ValueError(
                f"{type(self).__name__}: input must have {wanted} dimensions; input is "
                f"{tuple(input.shape)}."
            )

    def extra_repr(self) -> str:
        """Say the sizes."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(RunningNorm):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias
        )

    def forward(self, input: Tensor) -> Tensor:
        """Normalise `input` and, while training, keep count of its statistics."""
        self._check(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        # `track_running_stats` may have changed since the statistics were made.
        tracks = self.training and self.track_running_stats
        if tracks and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                # A plain average over all batches so far.
                momentum = 1.0 / float(self.num_batches_tracked)
        without = self.running_mean is None and self.running_var is None
        used = tracks or not self.training
        return F.batch_norm(
            input,
            self.running_mean if used else None,
            self.running_var if used else None,
            self.weight,
            self.bias,
            self.training or without,
            momentum,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """Normalise each channel of (N, C) or (N, C, L) over the batch.

    Args:
        num_features: channels of the input.
        eps: added to the variance.
        momentum: share of a new batch in the running statistics; None takes a plain average.
        affine: whether there is a weight for each channel.
        track_running_stats: whether evaluation uses running statistics.
        device: only "cpu".
        dtype: of the parameters.
        bias: whether there is a bias for each channel, if there is a weight.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> norm = nn.BatchNorm1d(1)
        >>> norm(weft.tensor([[1.0], [3.0]])).detach()
        tensor([[-1.0000],
                [ 1.0000]])
        >>> norm.running_mean  # what evaluation will use
        tensor([0.2000])
    """

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalise each channel of (N, C, H, W) over the batch; arguments as for BatchNorm1d.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.BatchNorm2d(3)(weft.zeros(8, 3, 32, 32)).shape
        weft.Size([8, 3, 32, 32])
    """

    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalise each channel of (N, C, D, H, W) over the batch; arguments as for BatchNorm1d.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.BatchNorm3d(3)(weft.zeros(2, 3, 8, 8, 8)).shape
        weft.Size([2, 3, 8, 8, 8])
    """

    ranks = (5,)


class _InstanceNorm(RunningNorm):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias
        )

    def forward(self, input: Tensor) -> Tensor:
        """Normalise each channel of each example of `input`."""
        self._check(input)
        alone = input.dim() == min(self.ranks)
        result = F.instance_norm(
            input.unsqueeze(0) if alone else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            self.momentum or 0.0,
            self.eps,
        )
        return result.squeeze(0) if alone else result


class InstanceNorm1d(_InstanceNorm):
    """Normalise each channel of each example of (N, C, L) or (C, L).

    Args:
        num_features: channels of the input.
        eps: added to the variance.
        momentum: share of a new batch in the running statistics.
        affine: whether there is a weight for each channel.
        track_running_stats: whether evaluation uses running statistics.
        device: only "cpu".
        dtype: of the parameters.
        bias: whether there is a bias for each channel, if there is a weight.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.InstanceNorm1d(1)(weft.tensor([[[1.0, 3.0]], [[10.0, 30.0]]]))
        tensor([[[-1.0000,  1.0000]],
        <BLANKLINE>
                [[-1.0000,  1.0000]]])
    """

    ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalise each channel of each example of (N, C, H, W); arguments as for InstanceNorm1d.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.InstanceNorm2d(3, affine=True)(weft.zeros(8, 3, 32, 32)).shape
        weft.Size([8, 3, 32, 32])
    """

    ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalise each channel of each example of (N, C, D, H, W); as InstanceNorm1d.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.InstanceNorm3d(3)(weft.zeros(2, 3, 8, 8, 8)).shape
        weft.Size([2, 3, 8, 8, 8])
    """

    ranks = (4, 5)


class LocalResponseNorm(Module):
    """Divide by a power of the mean square of neighbouring channels.

    Args:
        size: how many channels are neighbours.
        alpha: factor of the mean square.
        beta: the power.
        k: added to the mean square.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.LocalResponseNorm(3, alpha=3.0)(weft.ones(1, 3, 1))
        tensor([[[0.4387],
                 [0.3536],
                 [0.4387]]])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        """Normalise `input`."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        """Say the settings."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
