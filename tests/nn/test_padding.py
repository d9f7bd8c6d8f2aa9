"""Padding modules."""

from __future__ import annotations

import numpy as np
import pytest

import weft
from weft import nn

MODES = {"Reflection": "reflect", "Replication": "edge", "Circular": "wrap", "Zero": "constant"}


@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize(("rank", "padding"), [(1, 2), (1, (1, 2)), (2, 1), (2, (1, 2, 0, 1))])
def test_values(name, rank, padding):
    x = weft.randn(2, 3, *(5, 4)[:rank])
    layer = getattr(nn, f"{name}Pad{rank}d")(padding)
    widths = (padding,) * (2 * rank) if isinstance(padding, int) else padding
    pairs = [(0, 0), (0, 0)] + [tuple(widths[2 * i : 2 * i + 2]) for i in reversed(range(rank))]
    np.testing.assert_array_equal(layer(x).numpy(), np.pad(x.numpy(), pairs, MODES[name]))
    assert repr(layer) == f"{name}Pad{rank}d({widths})"


def test_constant():
    x = weft.zeros(1, 1, 2)
    assert nn.ConstantPad1d(1, 3.5)(x).tolist() == [[[3.5, 0, 0, 3.5]]]
    assert nn.ConstantPad2d(1, 1.0)(weft.zeros(1, 1, 1, 1)).sum() == 8
    assert repr(nn.ConstantPad1d(1, 3.5)) == "ConstantPad1d(padding=(1, 1), value=3.5)"


@pytest.mark.parametrize(
    ("shape", "padding", "expected"),
    [
        ((1, 4), (1, -2), [[1, 0, 1]]),
        ((1, 4), (-1, 2), [[1, 2, 3, 1, 2]]),
        ((1, 4), (-1, -1), [[1, 2]]),
        ((1, 2, 3), (1, -1, -1, 1), [[[4, 3, 4], [4, 3, 4]]]),
        ((1, 2, 1, 3), (-1, 1, 0, 0, -1, 1), [[[[4, 5, 4]], [[4, 5, 4]]]]),
    ],
)
def test_circular_wraps_what_cropping_leaves(shape, padding, expected):
    x = weft.arange(float(np.prod(shape))).reshape(shape)
    assert nn.functional.pad(x, padding, mode="circular").tolist() == expected


def test_circular_does_not_wrap_more_often_than_once():
    with pytest.raises(ValueError, match="circular"):
        nn.functional.pad(weft.zeros(1, 4), (2, -3), mode="circular")
