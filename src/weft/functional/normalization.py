"""Normalisation of groups of elements, and with running statistics."""

from __future__ import annotations

from typing import Any

from weft import _core
from weft._core import Tensor
from weft.autograd import no_grad
from weft.functional.composite import composite, show_as
from weft.functional.facts import finfo
from weft.functional.shaping import pad

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


def _widened(input: Tensor) -> Tensor:
    """Return half precision as float32: statistics are, and parameters may be."""
    return input.to(_core.float32) if input.dtype in (_core.float16, _core.bfloat16) else input


def _scaled(
    input: Tensor, mean: Tensor, scale: Tensor, weight: Tensor | None, bias: Tensor | None
) -> Tensor:
    """Return (input - mean) * scale * weight + bias, where all but the input broadcast.

    One factor and one addend leave a single pass over the large tensor.
    """
    factor = scale if weight is None else scale * weight
    shift = -(mean * factor) if bias is None else bias - mean * factor
    return ops.addcmul(shift, input, factor)


def _normalized(
    input: Tensor,
    mean: Tensor,
    variance: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> Tensor:
    """Normalise the channels of (N, C, ...) by statistics of each."""
    shape = [1, -1] + [1] * (input.ndim - 2)
    output = _scaled(
        _widened(input),
        mean.reshape(shape),
        ops.rsqrt(variance + eps).reshape(shape),
        None if weight is None else weight.reshape(shape),
        None if bias is None else bias.reshape(shape),
    ).to(input.dtype)
    show_as(output, "NativeBatchNormBackward0")
    return output


@composite()
def rms_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Divide the last dimensions by their root mean square.

    Args:
        input: the tensor.
        normalized_shape: the sizes of those dimensions.
        weight: a factor for each of their elements.
        eps: added to the mean square; the dtype's precision if not given.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.rms_norm(weft.tensor([[3.0, 4.0]]), (2,))
        tensor([[0.8485, 1.1314]])
    """
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    if not shape or list(input.shape[-len(shape) :]) != shape:
        raise _core.ShapeError(
            f"rms_norm(input, weight): input's last sizes must be normalized_shape {tuple(shape)}; "
            f"input is {tuple(input.shape)}."
        )
    if weight is not None and list(weight.shape) != shape:
        raise _core.ShapeError(
            f"rms_norm(input, weight): weight must be of shape {tuple(shape)}; weight is "
            f"{tuple(weight.shape)}, input is {tuple(input.shape)}."
        )
    wide = _widened(input)
    power = ops.mean(ops.square(wide), list(range(-len(shape), 0)), True)
    result = wide * ops.rsqrt(power + (finfo(wide.dtype).eps if eps is None else eps))
    return (result if weight is None else result * weight).to(input.dtype)


@composite("NativeGroupNormBackward0")
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Bring each group of channels of (N, C, ...) to mean 0 and variance 1.

    Args:
        input: the tensor.
        num_groups: how many groups the channels form.
        weight: a factor for each channel.
        bias: an addend for each channel.
        eps: added to the variance.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.group_norm(weft.tensor([[1.0, 3.0, 10.0, 30.0]]), num_groups=2)
        tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    if input.ndim < 2:
        raise _core.ShapeError(
            "group_norm(): input must have at least 2 dimensions (N, C, ...); input is "
            f"{tuple(input.shape)}."
        )
    if num_groups <= 0 or input.shape[1] % num_groups != 0:
        raise _core.ShapeError(
            f"group_norm(): input's channels must be divisible by num_groups {num_groups}; input "
            f"is {tuple(input.shape)}."
        )
    _check("group_norm", input, {"weight": weight, "bias": bias})
    if input.numel() == 0:
        return ops.alias(input)
    if input.numel() == num_groups:
        raise _core.ArgumentError(
            "group_norm(): more than one value per group is needed; input is "
            f"{tuple(input.shape)}, num_groups is {num_groups}."
        )
    # Parameters and statistics against the input as (N, groups, channels of one, rest).
    sizes = (input.shape[0], num_groups, input.shape[1] // num_groups, -1)
    grouped = _widened(input).reshape(sizes)
    shape = (num_groups, -1, 1)
    variance = ops.var(grouped, [2, 3], correction=0, keepdim=True)
    result = _scaled(
        grouped,
        ops.mean(grouped, [2, 3], True),
        ops.rsqrt(variance + eps),
        None if weight is None else weight.reshape(shape),
        None if bias is None else bias.reshape(shape),
    )
    return result.to(input.dtype).reshape(input.shape)


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

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> mean, var = weft.zeros(1), weft.ones(1)  # running statistics, changed in place
        >>> F.batch_norm(weft.tensor([[1.0], [3.0]]), mean, var, training=True)
        tensor([[-1.0000],
                [ 1.0000]])
        >>> mean
        tensor([0.2000])
    """
    if input.ndim < 2:
        raise _core.ShapeError(
            f"batch_norm(): input must have 2 or more dimensions; input is {tuple(input.shape)}."
        )
    statistics = {"running_mean": running_mean, "running_var": running_var}
    _check("batch_norm", input, {**statistics, "weight": weight, "bias": bias})
    if not training:
        if running_mean is None or running_var is None:
            raise _core.ArgumentError(
                "batch_norm(): running_mean and running_var must be given when training is False."
            )
        return _normalized(input, running_mean, running_var, weight, bias, eps)
    count = input.numel() // input.shape[1] if input.shape[1] else 0
    if count <= 1:
        raise _core.ShapeError(
            "batch_norm(): more than one value per channel is needed when training; input is "
            f"{tuple(input.shape)}."
        )
    dims = [dim for dim in range(input.ndim) if dim != 1]
    wide = _widened(input)
    mean, variance = ops.mean(wide, dims), ops.var(wide, dims, correction=0)
    output = _normalized(input, mean, variance, weight, bias, eps)
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
    """Normalise each channel of each example of (N, C, ...); arguments as for `batch_norm`.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.instance_norm(weft.tensor([[[1.0, 3.0]], [[10.0, 30.0]]]))
        tensor([[[-1.0000,  1.0000]],
        <BLANKLINE>
                [[-1.0000,  1.0000]]])
    """
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
            wide = _widened(input.detach())
            mean, variance = ops.mean(wide, dims), ops.var(wide, dims)
            _track(running_mean, ops.mean(mean, 0), momentum)
            _track(running_var, ops.mean(variance, 0), momentum)
    return group_norm(input, input.shape[1], weight, bias, eps)


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Divide by a power of the mean square of neighbouring channels.

    Args:
        input: (N, C, ...).
        size: how many channels are neighbours.
        alpha: factor of the mean square.
        beta: the power.
        k: added to the mean square.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.local_response_norm(weft.ones(1, 3, 1), size=3, alpha=3.0)
        tensor([[[0.4387],
                 [0.3536],
                 [0.4387]]])
    """
    if input.ndim < 3:
        raise _core.ShapeError(
            f"local_response_norm(): input must have 3 or more dimensions; input is "
            f"{tuple(input.shape)}."
        )
    edges = [0, 0] * (input.ndim - 2) + [size // 2, (size - 1) // 2]
    squares = pad(input * input, edges)
    means = ops.mean(squares.unfold(1, size, 1), -1)
    return input / ops.pow(means * alpha + k, beta)


@composite()
def native_layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return `layer_norm`, the means, and one over the standard deviations.

    Example:
        >>> import weft
        >>> output, mean, rstd = weft.native_layer_norm(
        ...     weft.tensor([1.0, 3.0]), [2], None, None, 0.0
        ... )
        >>> output, mean
        (tensor([-1.,  1.]), tensor([2.]))
    """
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    dims = list(range(-len(shape), 0))
    variance = ops.var(input, dims, correction=0, keepdim=True)
    result = ops.layer_norm(input, shape, weight, bias, eps)
    return result, ops.mean(input, dims, True), ops.rsqrt(variance + eps)


@composite()
def native_group_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return `group_norm` of N * C * HxW elements, the means, and one over the deviations.

    Example:
        >>> import weft
        >>> x = weft.tensor([[[1.0, 3.0]]])
        >>> output, mean, rstd = weft.native_group_norm(x, None, None, 1, 1, 2, 1, 0.0)
        >>> output, mean
        (tensor([[[-1.,  1.]]]), tensor([[2.]]))
    """
    grouped = input.reshape(N, group, C // group * HxW)
    variance = ops.var(grouped, [2], correction=0, keepdim=False)
    result = group_norm(input, group, weight, bias, eps)
    return result, ops.mean(grouped, [2]), ops.rsqrt(variance + eps)
