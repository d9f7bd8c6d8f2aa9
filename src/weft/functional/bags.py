"""Look-ups of rows that are reduced bag by bag."""

from __future__ import annotations

from typing import Any

from weft import _core
from weft._core import Tensor
from weft.functional.creation import arange
from weft.functional.row_by_row import row_by_row
from weft.functional.selection import index_add, repeat_interleave

ops = _core.ops


@row_by_row
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Look up rows of a table and reduce them bag by bag.

    Args:
        input: indices of rows: bags of equal size (B, N), or all bags one after the other.
        weight: the table.
        offsets: where each bag begins, if they follow one another.
        max_norm: only None.
        norm_type: accepted for PyTorch programs.
        scale_grad_by_freq: only False.
        mode: "sum", "mean" or "max".
        sparse: accepted for PyTorch programs; gradients are dense.
        per_sample_weights: a factor for each row, for "sum".
        include_last_offset: whether `offsets` has the end of the last bag too.
        padding_idx: a row that does not count.

    Example:
        >>> import weft
        >>> from weft.nn import functional as F
        >>> weight = weft.tensor([[1.0], [2.0], [4.0]])
        >>> indices, offsets = weft.tensor([0, 1, 2]), weft.tensor([0, 2])  # bags [0, 1] and [2]
        >>> F.embedding_bag(indices, weight, offsets, mode="sum")
        tensor([[3.],
                [4.]])
    """
    del norm_type, sparse
    if max_norm is not None or scale_grad_by_freq:
        raise _core.UnsupportedError(
            "embedding_bag(): max_norm and scale_grad_by_freq are not supported yet."
        )
    if mode not in ("sum", "mean", "max"):
        raise _core.ArgumentError(
            f"embedding_bag(): mode must be 'sum', 'mean' or 'max': {mode!r}."
        )
    if per_sample_weights is not None and mode != "sum":
        raise _core.ArgumentError("embedding_bag(): per_sample_weights needs mode 'sum'.")
    if input.ndim == 2:
        if offsets is not None:
            raise _core.ArgumentError("embedding_bag(): bags of equal size have no offsets.")
        starts = [i * input.shape[1] for i in range(input.shape[0])]
    elif offsets is None:
        raise _core.ArgumentError("embedding_bag(): offsets must be given for one dimension.")
    else:
        starts = [int(start) for start in offsets.tolist()]
        starts = starts[:-1] if include_last_offset else starts
    index = input.reshape(-1)
    ends = [*starts[1:], index.numel()]
    if padding_idx is not None:
        if not -weight.shape[0] <= padding_idx < weight.shape[0]:
            raise _core.OutOfRangeError(
                f"embedding_bag(): padding_idx must be a row of weight; padding_idx is "
                f"{padding_idx}, weight is {tuple(weight.shape)}."
            )
        padding_idx %= weight.shape[0]
    rows = ops.embedding(weight, index)
    counted = None if padding_idx is None else ops.ne(index, padding_idx)
    if mode == "max":
        return _largest(rows, counted, list(zip(starts, ends, strict=True)))
    factor: Any = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    if counted is not None:
        factor = counted.to(rows.dtype) if factor is None else factor * counted.to(rows.dtype)
    if factor is not None:
        rows = rows * factor.unsqueeze(1)
    sizes = [end - start for start, end in zip(starts, ends, strict=True)]
    bags = repeat_interleave(arange(len(sizes)), _core.tensor(sizes, _core.int64))
    total = ops.zeros((len(sizes), weight.shape[1]), dtype=rows.dtype)
    total = index_add(total, 0, bags, rows)
    if mode == "sum":
        return total
    if counted is None:
        counts = _core.tensor([max(size, 1) for size in sizes], rows.dtype)
    else:
        counts = ops.zeros((len(sizes),), dtype=rows.dtype)
        counts = ops.clamp(index_add(counts, 0, bags, counted.to(rows.dtype)), 1)
    return total / counts.unsqueeze(1)


def _largest(rows: Tensor, counted: Tensor | None, bags: list[tuple[int, int]]) -> Tensor:
    """Return the largest elements of each bag; zeros for an empty one."""
    results: list[Tensor] = []
    for start, end in bags:
        bag = ops.slice(rows, 0, start, end)
        if counted is not None:
            kept = ops.slice(counted, 0, start, end)
            bag = ops.index_select(bag, 0, ops.nonzero(kept).reshape(-1))
        empty = ops.zeros((rows.shape[1],), dtype=rows.dtype)
        results.append(ops.max_dim(bag, 0)[0] if bag.shape[0] else empty)
    return ops.stack(results, 0)
