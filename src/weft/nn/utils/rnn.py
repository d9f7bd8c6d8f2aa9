"""Helpers for sequences of different lengths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from weft import _core
from weft._core import Tensor
from weft._missing import explain_missing
from weft.nn import functional as F

ops = _core.ops


def pad_sequence(
    sequences: Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Stack sequences of different lengths, padding the short ones.

    Args:
        sequences: tensors that differ in their first size only.
        batch_first: whether the batch comes before the steps.
        padding_value: what fills the rest.
        padding_side: "right" or "left".

    Example:
        >>> import weft
        >>> from weft.nn.utils.rnn import pad_sequence
        >>> pad_sequence([weft.ones(2), weft.ones(1)], batch_first=True)
        tensor([[1., 1.],
                [1., 0.]])
    """
    if not sequences:
        raise _core.ArgumentError("pad_sequence(): sequences must not be empty.")
    if padding_side not in ("left", "right"):
        raise _core.ArgumentError(
            f"pad_sequence(): padding_side must be 'left' or 'right', not {padding_side!r}."
        )
    rest = tuple(sequences[0].shape[1:])
    for sequence in sequences:
        if tuple(sequence.shape[1:]) != rest:
            raise _core.ShapeError(
                "pad_sequence(): sequences may differ in their first size only; they are "
                f"{tuple(sequences[0].shape)} and {tuple(sequence.shape)}."
            )
    longest = max(sequence.shape[0] for sequence in sequences)
    padded: list[Tensor] = []
    for sequence in sequences:
        missing = longest - sequence.shape[0]
        edge = (missing, 0) if padding_side == "left" else (0, missing)
        widths = [0, 0] * len(rest) + list(edge)
        padded.append(F.pad(sequence, widths, "constant", padding_value) if missing else sequence)
    return _core.ops.stack(padded, 0 if batch_first else 1)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """Cut a padded batch back into sequences of the given lengths.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> padded, lengths = weft.tensor([[1, 2], [3, 0]]), weft.tensor([2, 1])
        >>> nn.utils.rnn.unpad_sequence(padded, lengths, batch_first=True)
        [tensor([1, 2]), tensor([3])]
    """
    batch = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[: int(length)] for row, length in zip(batch, lengths.tolist(), strict=True)]


# ---- packed sequences ---------------------------------------------------------------------------


class PackedSequence(NamedTuple):
    """Sequences as one tensor: first the first steps of all, then the second ones, and so on.

    Attributes:
        data: the steps.
        batch_sizes: how many sequences have a first step, a second one, and so on.
        sorted_indices: the order of the sequences in the batch, longest first.
        unsorted_indices: the way back.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> packed = nn.utils.rnn.pack_sequence([weft.tensor([1, 2, 3]), weft.tensor([4, 5])])
        >>> packed.data, packed.batch_sizes
        (tensor([1, 4, 2, 5, 3]), tensor([2, 2, 1]))
    """

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Return the sequences with another dtype.

        Example:
            >>> import weft
            >>> from weft import nn
            >>> packed = nn.utils.rnn.pack_sequence([weft.tensor([1, 2])])
            >>> packed.to(weft.float64).data.dtype
            weft.float64
        """
        return self._replace(data=self.data.to(*args, **kwargs))


def _order(lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the order of lengths from the largest, and the way back."""
    order = lengths.argsort(descending=True, stable=True)
    return order, order.argsort()


def pack_padded_sequence(
    input: Tensor,
    lengths: Any,
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """Take the padding out of a batch of sequences.

    Args:
        input: (steps, batch, ...), or (batch, steps, ...) if `batch_first`.
        lengths: how long each sequence is.
        batch_first: whether the batch comes before the steps.
        enforce_sorted: whether the sequences must come longest first.

    Example:
        >>> import weft
        >>> from weft.nn.utils.rnn import pack_padded_sequence
        >>> batch = weft.tensor([[1, 2], [3, 0]])
        >>> pack_padded_sequence(batch, [2, 1], batch_first=True).data
        tensor([1, 3, 2])
    """
    sizes = lengths if isinstance(lengths, Tensor) else _core.tensor(list(lengths), _core.int64)
    steps_first = input.transpose(0, 1) if batch_first else input
    order = back = None
    if not enforce_sorted:
        order, back = _order(sizes)
        steps_first = ops.index_select(steps_first, 1, order)
        sizes = ops.index_select(sizes, 0, order)
    each = [int(size) for size in sizes.tolist()]
    if len(each) != steps_first.shape[1] or min(each, default=0) <= 0:
        raise _core.ShapeError(
            f"pack_padded_sequence(): lengths must have one positive number for each of the "
            f"{steps_first.shape[1]} sequences; lengths is {each}."
        )
    if sorted(each, reverse=True) != each:
        raise _core.ArgumentError(
            "pack_padded_sequence(): lengths must fall; pass enforce_sorted=False, or sort the "
            f"batch. They are {each}."
        )
    if each[0] > steps_first.shape[0]:
        raise _core.ShapeError(
            f"pack_padded_sequence(): there are {steps_first.shape[0]} steps, and a sequence of "
            f"{each[0]}."
        )
    counts = [sum(size > step for size in each) for step in range(each[0])]
    data = ops.cat([steps_first[step, :count] for step, count in enumerate(counts)], 0)
    return PackedSequence(data, _core.tensor(counts, _core.int64), order, back)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Put the padding back.

    Args:
        sequence: the sequences.
        batch_first: whether the batch comes before the steps in the result.
        padding_value: what fills the rest.
        total_length: how many steps the result has; as many as the longest sequence by default.

    Returns:
        The batch, and the lengths of the sequences.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> packed = nn.utils.rnn.pack_sequence([weft.tensor([1, 2, 3]), weft.tensor([4, 5])])
        >>> nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
        (tensor([[1, 2, 3],
                [4, 5, 0]]), tensor([3, 2]))
    """
    counts = [int(count) for count in sequence.batch_sizes.tolist()]
    steps, batch = len(counts), counts[0]
    if total_length is not None and total_length < steps:
        raise _core.ArgumentError(
            f"pad_packed_sequence(): total_length must be {steps} or more; it is {total_length}."
        )
    rest = tuple(sequence.data.shape[1:])
    rows: list[Tensor] = []
    place = 0
    for step in range(total_length or steps):
        count = counts[step] if step < steps else 0
        part = ops.slice(sequence.data, 0, place, place + count)
        if count < batch:
            filler = ops.full((batch - count, *rest), padding_value, dtype=part.dtype)
            part = ops.cat([part, filler], 0)
        rows.append(part)
        place += count
    padded = ops.stack(rows, 0)
    lengths = _core.tensor([sum(count > i for count in counts) for i in range(batch)], _core.int64)
    if sequence.unsorted_indices is not None:
        padded = ops.index_select(padded, 1, sequence.unsorted_indices)
        lengths = ops.index_select(lengths, 0, sequence.unsorted_indices)
    return (padded.transpose(0, 1) if batch_first else padded), lengths


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences of different lengths.

    Args:
        sequences: tensors that differ in their first size only.
        enforce_sorted: whether they must come longest first.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> sequences = [weft.tensor([1, 2]), weft.tensor([3, 4, 5])]
        >>> nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False).data
        tensor([3, 1, 4, 2, 5])
    """
    lengths = [sequence.shape[0] for sequence in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Return packed sequences one by one.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> packed = nn.utils.rnn.pack_sequence([weft.tensor([1, 2]), weft.tensor([3])])
        >>> nn.utils.rnn.unpack_sequence(packed)
        [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


explain_missing(__name__)
