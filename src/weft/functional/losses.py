"""Losses that are made of other ops."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from weft import _core
from weft._core import Tensor
from weft.functional.composite import composite, show_as
from weft.functional.linear_algebra import pairwise_distance
from weft.functional.row_by_row import row_by_row

ops = _core.ops


_Function = TypeVar("_Function", bound=Callable[..., Any])


def old_reduction(function: _Function) -> _Function:
    """Give a loss the keywords `size_average` and `reduce` that `reduction` has replaced."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if "size_average" in kwargs or "reduce" in kwargs:
            kwargs = _with_reduction(kwargs)
        return function(*args, **kwargs)

    return call  # type: ignore[return-value] # it has the function's signature


def _with_reduction(kwargs: dict[str, Any]) -> dict[str, Any]:
    others = dict(kwargs)
    mean, reduce = others.pop("size_average", None), others.pop("reduce", None)
    if mean is None and reduce is None:
        return others
    if reduce is False:
        others["reduction"] = "none"
    else:
        others["reduction"] = "sum" if mean is False else "mean"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use "
        f"reduction='{others['reduction']}' instead.",
        stacklevel=4,
    )
    return others


# The names of losses' nodes where PyTorch has an op for the whole loss.
_SHOWN = {
    "binary_cross_entropy": "BinaryCrossEntropyBackward0",
    "binary_cross_entropy_with_logits": "BinaryCrossEntropyWithLogitsBackward0",
    "huber_loss": "HuberLossBackward0",
    "mse_loss": "MseLossBackward0",
    "multi_margin_loss": "MultiMarginLossBackward0",
    "smooth_l1_loss": "SmoothL1LossBackward0",
}


def reduced(name: str, values: Tensor, reduction: str) -> Tensor:
    """Return the mean, the sum or all of the values."""
    if reduction == "mean":
        result = ops.mean(values)
    elif reduction == "sum":
        result = ops.sum(values)
    elif reduction == "none":
        result = values
    else:
        raise _core.ArgumentError(
            f"{name}(): reduction must be 'mean', 'sum' or 'none', not {reduction!r}."
        )
    if name in _SHOWN:
        show_as(result, _SHOWN[name])
    return result


def _compared(name: str, function: Any, input: Tensor, target: Tensor, *more: Any) -> Tensor:
    """Apply an element-wise function; errors of shapes name the loss."""
    try:
        return function(input, target, *more)
    except _core.ShapeError:
        raise _core.ShapeError(
            f"{name}(input, target): the shapes must fit together; input is {tuple(input.shape)}, "
            f"target is {tuple(target.shape)}."
        ) from None


def _check_classes(name: str, input: Tensor, target: Tensor) -> None:
    """Say of labels that are no integers how they become classes; called where an op failed."""
    if not target.is_floating_point() and target.dtype != _core.bool:
        return
    is_column = target.ndim == input.ndim and target.ndim > 1 and target.shape[1] == 1
    text = (
        f"{name}(input, target): target must hold classes as integers, and is {target.dtype.name}; "
        f"write target{'.squeeze(1)' if is_column else ''}.long()"
    )
    if name == "cross_entropy" and target.is_floating_point():
        text += f", or give probabilities of input's shape {tuple(input.shape)}"
    sizes = f"input is {tuple(input.shape)}, target is {tuple(target.shape)}"
    raise _core.DTypeError(f"{text}. Here {sizes}") from None


def _is_like_classes(input: Tensor, target: Tensor) -> bool:
    """Tell whether the target has the sizes of classes, or those with a dimension of size one."""
    dim, shape = min(input.ndim, 2) - 1, tuple(input.shape)
    before, after = shape[: max(dim, 0)], shape[dim + 1 :]
    return tuple(target.shape) in {before + after, (*before, 1, *after)}


def _rows(name: str, input: Tensor, target: Tensor, weight: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return scores (N, C, ...) as rows, and classes (N, ...) as one number a row."""
    if weight is None and target.ndim == 0 and input.ndim == 1:  # one example
        return ops.unsqueeze(input, 0), ops.unsqueeze(target, 0)
    if weight is None and target.ndim == 1 and input.ndim == 2 and len(input) == len(target):
        return input, target
    if input.ndim == 0:
        raise _core.ShapeError(f"{name}(): input must have a dimension of classes; input is ()")
    dim = 0 if input.ndim == 1 else 1
    shape, count = tuple(input.shape), input.shape[dim]
    if tuple(target.shape) != shape[:dim] + shape[dim + 1 :]:
        _check_classes(name, input, target)
        advice = "; write target.squeeze(1)" if _is_like_classes(input, target) else ""
        raise _core.ShapeError(
            f"{name}(input, target): target must have input's sizes without the classes'; input is "
            f"{shape}, target is {tuple(target.shape)}{advice}"
        )
    if weight is not None and tuple(weight.shape) != (count,):
        raise _core.ShapeError(
            f"{name}(input, target, weight): weight must have one value for each class; input is "
            f"{shape}, weight is {tuple(weight.shape)}"
        )
    return input.movedim(dim, -1).reshape(target.numel(), count), target.reshape(-1)


@old_reduction
@composite()
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative of the log-probabilities at the classes.

    Args:
        input: log-probabilities (N, C, ...).
        target: classes (N, ...).
        weight: a factor for each class.
        ignore_index: rows of this class do not count.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.nll_loss(weft.tensor([[-0.5, -1.0]]), weft.tensor([1]))
        tensor(1.)
    """
    logs, classes = _rows("nll_loss", input, target, weight)
    skipped = ops.eq(classes, ignore_index)
    safe = ops.masked_fill(classes, skipped, 0)
    try:
        losses = -ops.squeeze(ops.gather(logs, 1, safe.unsqueeze(1)), [1])
    except _core.DTypeError:
        _check_classes("nll_loss", input, target)
        raise
    counted = ops.logical_not(skipped).to(input.dtype)
    if weight is not None:
        factors = ops.index_select(weight, 0, safe)
        losses, counted = losses * factors, counted * factors
    # A row that does not count may hold anything, even infinities.
    losses = ops.masked_fill(losses, skipped, 0)
    if reduction == "mean":
        result = ops.sum(losses) / ops.sum(counted)
    else:
        result = reduced("nll_loss", losses, reduction)
    result = result if result.ndim == 0 else result.reshape(target.shape)
    show_as(result, "NllLossBackward0" if input.ndim <= 2 else "NllLoss2DBackward0")
    return result


@old_reduction
@composite()
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Return the cross-entropy of scores with classes, or with probabilities like the scores.

    Args:
        input: scores (N, C, ...).
        target: classes (N, ...), or probabilities (N, C, ...).
        weight: a factor for each class.
        ignore_index: rows of this class do not count.
        reduction: "mean", "sum" or "none".
        label_smoothing: the share of the target that is spread over all classes.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> logits = weft.tensor([[2.0, 0.0], [0.0, 0.0]])
        >>> F.cross_entropy(logits, weft.tensor([0, 1]))
        tensor(0.4100)
        >>> F.cross_entropy(logits, weft.tensor([0, -100]), reduction="sum")  # -100: left out
        tensor(0.1269)
    """
    if weight is None and label_smoothing == 0 and not target.is_floating_point():
        # One pass forward and one backward.
        scores, classes = _rows("cross_entropy", input, target, None)
        try:
            result = ops.cross_entropy_classes(scores, classes, ignore_index, reduction)[0]
        except _core.DTypeError:
            _check_classes("cross_entropy", input, target)
            raise
        return result if result.ndim == 0 else result.reshape(target.shape)
    if not 0 <= label_smoothing <= 1:
        raise _core.ArgumentError(
            f"cross_entropy(): label_smoothing must be between 0 and 1, got {label_smoothing}"
        )
    dim = 0 if input.ndim == 1 else 1
    logs = ops.log_softmax(input, dim)
    factors = None
    if weight is not None:
        factors = weight.reshape([-1] + [1] * (input.ndim - 1 - dim))
    even = -ops.sum(logs if factors is None else logs * factors, [dim]) / input.shape[dim]
    if target.is_floating_point():
        if tuple(input.shape) != tuple(target.shape):
            if _is_like_classes(input, target):
                _check_classes("cross_entropy", input, target)
            raise _core.ShapeError(
                "cross_entropy(input, target): target probabilities must be like input; input is "
                f"{tuple(input.shape)}, target is {tuple(target.shape)}"
            )
        terms = logs * target if factors is None else logs * target * factors
        losses = label_smoothing * even - (1 - label_smoothing) * ops.sum(terms, [dim])
        if reduction == "mean":
            return ops.sum(losses) / losses.numel()
        return reduced("cross_entropy", losses, reduction)
    if target.dtype == _core.bool:
        _check_classes("cross_entropy", input, target)
    loss = nll_loss(logs, target, weight, ignore_index, reduction)
    if label_smoothing == 0:
        return loss
    skipped = ops.eq(target, ignore_index)
    even = ops.masked_fill(even, skipped, 0)
    if reduction == "mean":
        counted = ops.logical_not(skipped).to(input.dtype)
        if weight is not None:
            counted = counted * weight[ops.masked_fill(target, skipped, 0)]
        even = ops.sum(even) / ops.sum(counted)
    elif reduction == "sum":
        even = ops.sum(even)
    return (1 - label_smoothing) * loss + label_smoothing * even


@old_reduction
def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Return the squared differences.

    Args:
        input: the predictions.
        target: the values.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.mse_loss(weft.tensor([1.0, 2.0]), weft.tensor([1.0, 5.0]))
        tensor(4.5000)
    """
    gap = _compared("mse_loss", ops.sub, input, target)
    return reduced("mse_loss", ops.square(gap), reduction)


@old_reduction
def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Return the absolute differences; arguments as for `mse_loss`.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.l1_loss(weft.tensor([1.0, 2.0]), weft.tensor([1.0, 5.0]), reduction="none")
        tensor([0., 3.])
    """
    gap = _compared("l1_loss", ops.sub, input, target)
    return reduced("l1_loss", ops.abs(gap), reduction)


@old_reduction
def smooth_l1_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """Return absolute differences that are squared below `beta`.

    Args:
        input: the predictions.
        target: the values.
        reduction: "mean", "sum" or "none".
        beta: where the square ends.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.smooth_l1_loss(weft.tensor([0.5, 3.0]), weft.zeros(2), reduction="none")
        tensor([0.1250, 2.5000])
    """
    if beta < 0:
        raise _core.ArgumentError(f"smooth_l1_loss(): beta must not be negative; beta is {beta}.")
    if beta == 0:
        return l1_loss(input, target, reduction)
    gap = ops.abs(_compared("smooth_l1_loss", ops.sub, input, target))
    values = ops.where(ops.lt(gap, beta), 0.5 * gap * gap / beta, gap - 0.5 * beta)
    return reduced("smooth_l1_loss", values, reduction)


@old_reduction
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0
) -> Tensor:
    """Return half the squared differences below `delta`, and a straight line beyond.

    Args:
        input: the predictions.
        target: the values.
        reduction: "mean", "sum" or "none".
        delta: where the square ends.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.huber_loss(weft.tensor([0.5, 3.0]), weft.zeros(2), reduction="none", delta=2.0)
        tensor([0.1250, 4.0000])
    """
    if delta <= 0:
        raise _core.ArgumentError(f"huber_loss(): delta must be positive; delta is {delta}.")
    gap = ops.abs(_compared("huber_loss", ops.sub, input, target))
    values = ops.where(ops.le(gap, delta), 0.5 * gap * gap, delta * (gap - 0.5 * delta))
    return reduced("huber_loss", values, reduction)


@old_reduction
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean"
) -> Tensor:
    """Return the cross-entropy of probabilities with targets between 0 and 1.

    Logarithms are at least -100, so that a sure but wrong prediction has a finite loss.

    Args:
        input: probabilities.
        target: targets of the same shape.
        weight: a factor for each element.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.binary_cross_entropy(weft.tensor([0.9, 0.1]), weft.tensor([1.0, 0.0]))
        tensor(0.1054)
    """
    if tuple(input.shape) != tuple(target.shape):
        raise _core.ShapeError(
            f"binary_cross_entropy(input, target): the shapes must be equal; input is "
            f"{tuple(input.shape)}, target is {tuple(target.shape)}."
        )
    _refuse_no_probabilities(input)
    values = -(target * _bounded_log(input) + (1 - target) * _bounded_log(1 - input))
    if weight is not None:
        values = values * weight
    return reduced("binary_cross_entropy", values, reduction)


def _refuse_no_probabilities(input: Tensor) -> None:
    """Raise if numbers that are there already are no probabilities; what is pending stays so."""
    if _core.is_lazy() or _core.is_row(input) or input.numel() == 0:
        return
    least, most = ops.amin(input.detach()).item(), ops.amax(input.detach()).item()
    if not (least >= 0 and most <= 1):
        raise _core.ArgumentError(
            "binary_cross_entropy(): input must be between 0 and 1; its elements are between "
            f"{least} and {most}. For scores there is binary_cross_entropy_with_logits."
        )


def _bounded_log(input: Tensor) -> Tensor:
    """Return the logarithm, at least -100; below that there is no gradient instead of NaN."""
    large_enough = ops.gt(input.detach(), math.exp(-100))
    return ops.where(large_enough, ops.log(ops.where(large_enough, input, 1.0)), -100.0)


@old_reduction
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Return the cross-entropy of scores before the sigmoid with targets between 0 and 1.

    Args:
        input: scores.
        target: targets of the same shape.
        weight: a factor for each element.
        reduction: "mean", "sum" or "none".
        pos_weight: a factor for the positive part of each class.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.binary_cross_entropy_with_logits(weft.tensor([0.0, 100.0]), weft.tensor([1.0, 1.0]))
        tensor(0.3466)
    """
    if tuple(input.shape) != tuple(target.shape):
        raise _core.ShapeError(
            f"binary_cross_entropy_with_logits(input, target): the shapes must be equal; input is "
            f"{tuple(input.shape)}, target is {tuple(target.shape)}."
        )
    logs = ops.logsigmoid(input)
    if pos_weight is not None:
        logs = logs * ((pos_weight - 1) * target + 1)
    values = (1 - target) * input - logs
    if weight is not None:
        values = values * weight
    return reduced("binary_cross_entropy_with_logits", values, reduction)


@old_reduction
def kl_div(
    input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """Return how far log-probabilities are from a target distribution.

    Args:
        input: log-probabilities.
        target: probabilities, or their logarithms.
        reduction: "batchmean" (the sum over the batch's size), "mean", "sum" or "none".
        log_target: whether the target is logarithms.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> logs = weft.tensor([[0.5, 0.5]]).log()
        >>> F.kl_div(logs, weft.tensor([[0.9, 0.1]]), reduction="batchmean")
        tensor(0.3681)
    """
    if log_target:
        values = ops.exp(target) * (target - input)
    else:
        values = ops.xlogy(target, target) - target * input
    if reduction == "batchmean":
        return ops.sum(values) / input.shape[0]
    return reduced("kl_div", values, reduction)


@old_reduction
@row_by_row
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative log-likelihood of targets under normal distributions.

    Args:
        input: the means.
        target: the values.
        var: the variances, or one for all.
        full: whether to add the constant term.
        eps: the least variance; smaller ones count as this, but keep their gradient.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.gaussian_nll_loss(weft.tensor([1.0]), weft.tensor([3.0]), var=weft.tensor([4.0]))
        tensor(1.1931)
    """
    if not isinstance(var, Tensor):
        var = ops.full(input.shape, var, dtype=input.dtype)
    if bool(ops.any(ops.lt(var, 0))):
        raise _core.ArgumentError("gaussian_nll_loss(): var must not be negative.")
    if var.shape != input.shape and tuple(var.shape) == tuple(input.shape[:-1]):
        var = var.unsqueeze(-1)
    with_floor = var + ops.relu(eps - var.detach())
    values = 0.5 * (ops.log(with_floor) + ops.square(input - target) / with_floor)
    if full:
        values = values + 0.5 * math.log(2 * math.pi)
    return reduced("gaussian_nll_loss", values, reduction)


@old_reduction
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative log-likelihood of counts under Poisson distributions.

    Args:
        input: the rates, or their logarithms.
        target: the counts.
        log_input: whether the input is logarithms.
        full: whether to add Stirling's approximation of the constant term.
        eps: added to rates before the logarithm.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.poisson_nll_loss(weft.tensor([0.0]), weft.tensor([2.0]))  # input is a logarithm
        tensor(1.)
    """
    rate = ops.exp(input) if log_input else input
    values = rate - target * (input if log_input else ops.log(input + eps))
    if full:
        stirling = target * ops.log(target) - target + 0.5 * ops.log(2 * math.pi * target)
        values = values + ops.masked_fill(stirling, target <= 1, 0.0)
    return reduced("poisson_nll_loss", values, reduction)


@old_reduction
def soft_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Return log(1 + exp(-target * input)) for targets of 1 and -1.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.soft_margin_loss(weft.tensor([2.0, 2.0]), weft.tensor([1.0, -1.0]), reduction="none")
        tensor([0.1269, 2.1269])
    """
    return reduced("soft_margin_loss", ops.softplus(-target * input), reduction)


@old_reduction
def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: str = "mean"
) -> Tensor:
    """Return the input where the target is 1, and what it lacks to the margin elsewhere.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> signs = weft.tensor([1.0, -1.0])
        >>> F.hinge_embedding_loss(weft.tensor([0.3, 0.3]), signs, reduction="none")
        tensor([0.3000, 0.7000])
    """
    near = ops.where(target == -1, 0.0, input).to(input.dtype)
    far = ops.where(target == 1, 0.0, ops.relu(margin - input)).to(input.dtype)
    values = near + far
    return reduced("hinge_embedding_loss", values, reduction)


@old_reduction
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """Return what the better of two inputs lacks to a lead of `margin`.

    Args:
        input1: scores.
        input2: scores.
        target: 1 where the first should be larger, -1 where the second should.
        margin: the lead that is enough.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> better, worse, order = weft.tensor([2.0]), weft.tensor([1.5]), weft.tensor([1.0])
        >>> F.margin_ranking_loss(better, worse, order, margin=1.0)
        tensor(0.5000)
    """
    values = ops.relu(-target * (input1 - input2) + margin)
    return reduced("margin_ranking_loss", values, reduction)


@old_reduction
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """Return how far pairs of vectors are from parallel (target 1) or from apart (target -1).

    Args:
        input1: vectors along the last dimension.
        input2: vectors along the last dimension.
        target: 1 or -1 for each pair.
        margin: the cosine that is apart enough.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> x, y = weft.tensor([[1.0, 0.0]]), weft.tensor([[0.0, 1.0]])
        >>> F.cosine_embedding_loss(x, y, weft.tensor([1.0]))
        tensor(1.)
    """
    tiny = 1e-12  # keeps the lengths of zero vectors differentiable
    lengths = (ops.sum(input1 * input1, [-1]) + tiny) * (ops.sum(input2 * input2, [-1]) + tiny)
    cosine = ops.sum(input1 * input2, [-1]) / ops.sqrt(lengths)
    values = ops.where(target == 1, 1 - cosine, ops.relu(cosine - margin))
    return reduced("cosine_embedding_loss", values, reduction)


@old_reduction
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """Return what the negative example lacks to be farther away than the positive one by a margin.

    Args:
        anchor: vectors along the last dimension.
        positive: vectors that should be near.
        negative: vectors that should be far.
        margin: by how much farther.
        p: the norm of distances.
        eps: added to differences.
        swap: whether the distance of the two examples may stand in.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> anchor, near, far = weft.zeros(1, 2), weft.zeros(1, 2), weft.tensor([[3.0, 4.0]])
        >>> F.triplet_margin_loss(anchor, near, far, margin=6.0)
        tensor(1.0000)
    """
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = ops.minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduced("triplet_margin_loss", ops.relu(near - far + margin), reduction)
