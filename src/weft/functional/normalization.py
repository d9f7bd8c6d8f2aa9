"""Normalisation with running statistics."""

from __future__ import annotations

from typing import Any

from weft import _core
from weft._core import Tensor
from weft.autograd import no_grad

ops = _core.ops


def _check(name: str, input: Tensor, statistics: dict[str, Tensor | None]) -> None:
    for argument, tensor in statistics.items():
        if tensor is not None and (tensor.ndim != 1 or tensor.shape[0] != input.shape[1]):
            raise _core.ShapeError(
                f"{name}(): {argument} must have one element for each of input's {input.shape[1]} "
                f"channels; {argument} is {tuple(tensor.shape)}, input is {tuple(input.shape)}."
            )


def _track(running: Tensor | None, new: Tensor, momentum: float) -> None:
    """Move a running statistic toward a new one, in place."""
    if running is not None:
        running.lerp_(new.detach().to(running.dtype), momentum)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each channel of (N, C, ...) over the batch.

    Args:
        input: the tensor.
        running_mean: means that evaluation uses; training moves them.
        running_var: variances that evaluation uses; training moves them.
        weight: a factor for each channel.
        bias: an addend for each channel.
        training: whether to use the batch's own statistics.
        momentum: share of the batch in the running statistics.
        eps: added to the variance.
    """
    if input.ndim < 2:
        raise _core.ShapeError(
            f"batch_norm(): input must have 2 or more dimensions; input is {tuple(input.shape)}."
        )
    _check("batch_norm", input, {"running_mean": running_mean, "running_var": running_var})
    if not training:
        if running_mean is None or running_var is None:
            raise _core.ArgumentError(
                "batch_norm(): running_mean and running_var must be given when training is False."
            )
        return ops.normalize_channels(input, running_mean, running_var, weight, bias, eps)
    count = input.numel() // input.shape[1] if input.shape[1] else 0
    if count <= 1:
        raise _core.ShapeError(
            "batch_norm(): more than one value per channel is needed when training; input is "
            f"{tuple(input.shape)}."
        )
    output, mean, variance = ops.batch_norm_train(input, weight, bias, eps)
    if running_mean is not None or running_var is not None:
        with no_grad():
            _track(running_mean, mean, momentum)
            _track(running_var, variance * (count / (count - 1)), momentum)
    return output


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each channel of each example of (N, C, ...); arguments as for `batch_norm`."""
    _check("instance_norm", input, {"running_mean": running_mean, "running_var": running_var})
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    count = 1
    for size in input.shape[2:]:
        count *= size
    if input.ndim < 3 or count <= 1:
        raise _core.ShapeError(
            "instance_norm(): more than one value per channel and example is needed; input is "
            f"{tuple(input.shape)}."
        )
    if running_mean is not None or running_var is not None:
        with no_grad():
            dims: Any = list(range(2, input.ndim))
            variance, mean = ops.var_mean(input.detach(), dims)
            _track(running_mean, ops.mean(mean, 0), momentum)
            _track(running_var, ops.mean(variance, 0), momentum)
    return ops.group_norm(input, input.shape[1], weight, bias, eps)
