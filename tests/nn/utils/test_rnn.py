"""Sequences of different lengths."""

from __future__ import annotations

import pytest

import weft
from weft.nn.utils.rnn import pad_sequence, unpad_sequence


def test_padding_and_back():
    parts = [weft.ones(3, 2), weft.full((1, 2), 2.0), weft.full((2, 2), 3.0)]
    batch = pad_sequence(parts, padding_value=-1.0)
    assert batch.shape == (3, 3, 2)
    assert batch[:, 1, 0].tolist() == [2, -1, -1]
    first = pad_sequence(parts, batch_first=True, padding_side="left")
    assert first[1, :, 0].tolist() == [0, 0, 2]
    back = unpad_sequence(batch, weft.tensor([3, 1, 2]))
    assert all(weft.equal(a, b) for a, b in zip(back, parts, strict=True))


@pytest.mark.parametrize(
    ("parts", "options", "text"),
    [
        ([], {}, "empty"),
        ([weft.ones(2)], {"padding_side": "top"}, "top"),
        ([weft.ones(2, 3), weft.ones(2, 4)], {}, r"\(2, 4\)"),
    ],
)
def test_errors(parts, options, text):
    with pytest.raises(ValueError, match=text):
        pad_sequence(parts, **options)
