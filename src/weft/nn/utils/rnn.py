"""Helpers for sequences of different lengths."""

from __future__ import annotations

from collections.abc import Sequence

from weft import _core
from weft._core import Tensor
from weft.nn import functional as F


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
    """Cut a padded batch back into sequences of the given lengths."""
    batch = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[: int(length)] for row, length in zip(batch, lengths.tolist(), strict=True)]
