"""Losses of margins between classes."""

from __future__ import annotations

from collections.abc import Callable

from weft import _core
from weft._core import Tensor
from weft.functional.linear_algebra import pairwise_distance
from weft.functional.losses import old_reduction, reduced

ops = _core.ops


@old_reduction
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return what the right class lacks to a lead of `margin` over the others.

    Args:
        input: scores (N, C) or (C,).
        target: the right classes (N,) or a single one.
        p: the power of what is lacking.
        margin: the lead that is enough.
        weight: a factor for each class.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.multi_margin_loss(weft.tensor([[1.0, 0.5, 0.0]]), weft.tensor([0]))
        tensor(0.1667)
    """
    rows = input if input.ndim == 2 else input.reshape(1, -1)
    index = target.reshape(-1, 1)
    if rows.ndim != 2 or rows.shape[0] != index.shape[0]:
        raise _core.ShapeError(
            f"multi_margin_loss(input, target): target must have one class for each row; input is "
            f"{tuple(input.shape)}, target is {tuple(target.shape)}."
        )
    right = ops.gather(rows, 1, index)
    lacking = ops.relu(rows - right + margin)
    if p != 1:
        lacking = ops.pow(lacking, p)
    if weight is not None:
        lacking = lacking * ops.index_select(weight, 0, index.reshape(-1)).unsqueeze(1)
    others = ops.scatter(ops.zeros_like(lacking.detach()) + 1, 1, index, 0.0)
    values = ops.sum(lacking * others, 1) / rows.shape[1]
    return reduced("multi_margin_loss", values if target.ndim else values.squeeze(0), reduction)


@old_reduction
def multilabel_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Return what right classes lack to a lead of one over wrong ones.

    Args:
        input: scores (N, C) or (C,).
        target: the right classes, and -1 behind the last one, in the same shape.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> classes = weft.tensor([[0, -1, -1]])  # -1: no more of them
        >>> F.multilabel_margin_loss(weft.tensor([[0.9, 0.1, 0.2]]), classes)
        tensor(0.1667)
    """
    if tuple(input.shape) != tuple(target.shape):
        raise _core.ShapeError(
            f"multilabel_margin_loss(input, target): target must have input's shape; input is "
            f"{tuple(input.shape)}, target is {tuple(target.shape)}."
        )
    width = input.shape[-1] if input.ndim else 1
    rows, classes = input.reshape(-1, width), target.reshape(-1, width)
    counted = ops.cumprod(ops.ge(classes, 0).to(_core.int64), 1)
    places = ops.masked_fill(classes, ops.eq(classes, -1), 0)
    wrong = ops.zeros_like(rows.detach())
    wrong = 1 - ops.clamp(ops.scatter_add(wrong, 1, places, counted.to(rows.dtype)), 0, 1)
    right = ops.gather(rows, 1, places)
    lacking = ops.relu(1 - right.unsqueeze(2) + rows.unsqueeze(1))
    lacking = lacking * counted.to(rows.dtype).unsqueeze(2) * wrong.unsqueeze(1)
    values = ops.sum(lacking, [1, 2]) / rows.shape[1]
    return reduced("multilabel_margin_loss", values.reshape(input.shape[:-1]), reduction)


@old_reduction
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the mean cross entropy of independent classes.

    Args:
        input: scores (..., C).
        target: 1 for classes that are right, 0 for others.
        weight: a factor for each class.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> F.multilabel_soft_margin_loss(weft.tensor([[5.0, -5.0]]), weft.tensor([[1.0, 0.0]]))
        tensor(0.0067)
    """
    values = -(target * ops.logsigmoid(input) + (1 - target) * ops.logsigmoid(-input))
    if weight is not None:
        values = values * weight
    return reduced("multilabel_soft_margin_loss", ops.mean(values, -1), reduction)


@old_reduction
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """Return what the negative example lacks to be farther away by a margin, by any distance.

    Args:
        anchor: examples.
        positive: examples that should be near.
        negative: examples that should be far.
        distance_function: measures two tensors of examples; the Euclidean distance if not given.
        margin: by how much farther.
        swap: whether the distance of the two examples may stand in.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> anchor, near, far = weft.zeros(1, 2), weft.zeros(1, 2), weft.tensor([[3.0, 4.0]])
        >>> F.triplet_margin_with_distance_loss(anchor, near, far, distance_function=weft.dist)
        tensor(0.)
    """
    measure = pairwise_distance if distance_function is None else distance_function
    near, far = measure(anchor, positive), measure(anchor, negative)
    if swap:
        far = ops.minimum(far, measure(positive, negative))
    lacking = ops.relu(margin + near - far)
    return reduced("triplet_margin_with_distance_loss", lacking, reduction)
