"""The loss of sequences whose alignment is not known."""

from __future__ import annotations

from typing import Any

from weft import _core
from weft._core import Tensor
from weft._tensor import as_tensor
from weft.functional.creation import arange
from weft.functional.losses import old_reduction, reduced
from weft.functional.reductions import logsumexp
from weft.functional.row_by_row import row_by_row

ops = _core.ops

_NEVER = -1e30  # the logarithm of what cannot be; infinity would spoil gradients


def _rows_of(targets: Tensor, lengths: list[int]) -> Tensor:
    """Return targets as rows of equal length; those that follow one another are cut apart."""
    if targets.ndim == 2:
        return targets
    longest, place = max(lengths, default=0), 0
    rows: list[Tensor] = []
    for length in lengths:
        row = ops.slice(targets, 0, place, place + length)
        filler = ops.zeros((longest - length,), dtype=targets.dtype)
        rows.append(ops.cat([row, filler], 0))
        place += length
    return ops.stack(rows, 0)


@old_reduction
@row_by_row
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Return how unlikely targets are, over all ways to align them with the steps.

    Args:
        log_probs: logarithms of probabilities (T, N, C), or (T, C) for a single sequence.
        targets: classes (N, S), or all of them one after the other.
        input_lengths: how many steps each sequence has.
        target_lengths: how many classes each target has.
        blank: the class that stands for nothing.
        reduction: "mean" (each loss by its target's length first), "sum" or "none".
        zero_infinity: whether targets that cannot be count as zero.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> log_probs = weft.zeros(4, 1, 3).log_softmax(-1)  # time, batch, classes; 0 is blank
        >>> F.ctc_loss(log_probs, weft.tensor([[1, 2]]), [4], [2])
        tensor(0.8432)
    """
    alone = log_probs.ndim == 2
    logs = log_probs.unsqueeze(1) if alone else log_probs
    steps, batch, _ = logs.shape
    ends = [int(n) for n in as_tensor(input_lengths).reshape(-1).tolist()]
    sizes = [int(n) for n in as_tensor(target_lengths).reshape(-1).tolist()]
    if len(ends) != batch or len(sizes) != batch or max(ends, default=0) > steps:
        raise _core.ShapeError(
            f"ctc_loss(): there must be one length for each of the {batch} sequences, of at most "
            f"{steps} steps; input_lengths is {ends}, target_lengths is {sizes}."
        )
    rows = _rows_of(targets.unsqueeze(0) if alone and targets.ndim == 1 else targets, sizes)
    rows = rows.to(_core.int64)
    # A blank stands before, between and behind the classes.
    width = 2 * rows.shape[1] + 1
    gaps = ops.zeros_like(rows) + blank
    classes = ops.stack([gaps, rows], 2).reshape(batch, width - 1)
    classes = ops.cat([classes, ops.zeros((batch, 1), dtype=_core.int64) + blank], 1)
    emitted = ops.gather(logs, 2, classes.unsqueeze(0).expand(steps, batch, width))
    # A step may skip a blank between two classes that differ.
    differs = ops.ne(ops.slice(classes, 1, 2, width), ops.slice(classes, 1, 0, width - 2))
    never = ops.zeros((batch, width), dtype=logs.dtype) + _NEVER
    first = ops.lt(arange(width), 2)
    alpha = ops.where(first, emitted[0], never)
    lengths = _core.tensor(ends, _core.int64).unsqueeze(1)
    for step in range(1, steps):
        ways = [alpha, _behind(alpha, 1)]
        skipped = ops.where(differs, ops.slice(alpha, 1, 0, width - 2), _NEVER)
        ways.append(ops.cat([ops.slice(never, 1, 0, min(2, width)), skipped], 1))
        following = logsumexp(ops.stack(ways, 0), 0) + emitted[step]
        alpha = ops.where(ops.lt(_core.tensor(step, _core.int64), lengths), following, alpha)
    last = _core.tensor(sizes, _core.int64).unsqueeze(1) * 2
    final = ops.gather(alpha, 1, last)
    before = ops.gather(alpha, 1, ops.clamp(last - 1, 0))
    has_targets = ops.gt(last, 0)
    before = ops.where(has_targets, before, _NEVER)
    total = logsumexp(ops.cat([final, before], 1), 1)
    # Without steps, nothing is certain and anything else cannot be.
    nothing = ops.where(has_targets, _NEVER, 0.0).to(logs.dtype)
    total = ops.where(ops.eq(lengths, 0), nothing, total.unsqueeze(1)).squeeze(1)
    losses = _with_slope(-total, logs, lengths)
    impossible = ops.gt(-total.detach(), -_NEVER / 2)
    losses = ops.masked_fill(losses, impossible, 0.0 if zero_infinity else float("inf"))
    if reduction == "mean":
        losses = losses / _core.tensor([max(size, 1) for size in sizes], logs.dtype)
    return reduced("ctc_loss", losses.squeeze(0) if alone and reduction == "none" else losses,
                   reduction)  # fmt: skip


def _behind(alpha: Tensor, count: int) -> Tensor:
    """Move rows to the right; what comes in cannot be."""
    batch, width = alpha.shape
    edge = ops.zeros((batch, count), dtype=alpha.dtype) + _NEVER
    return ops.cat([edge, ops.slice(alpha, 1, 0, width - count)], 1)


def _with_slope(losses: Tensor, logs: Tensor, lengths: Tensor) -> Tensor:
    """Add the slope of the probabilities' sum, which is one, as PyTorch's gradient has it."""
    steps = logs.shape[0]
    taken = ops.lt(arange(steps).unsqueeze(1), lengths.reshape(1, -1)).to(logs.dtype)
    sums = ops.sum(ops.sum(ops.exp(logs), 2) * taken, 0)
    return losses + (sums - sums.detach())
