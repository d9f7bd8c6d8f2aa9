"""Masked reductions: what the op table cannot say."""

from __future__ import annotations

import weft

NOTHING = weft.zeros(3, dtype=weft.bool)


def test_nothing_shown():
    x = weft.ones(3)
    assert weft.masked.sum(x, mask=NOTHING).item() == 0
    assert weft.masked.prod(x, mask=NOTHING).item() == 1
    assert weft.masked.mean(x, mask=NOTHING).isnan().item()
    assert weft.masked.amax(x, mask=NOTHING).item() == float("-inf")
    assert weft.masked.amin(weft.ones(3, dtype=weft.int32), mask=NOTHING).item() == 2**31 - 1


def test_a_number_has_no_dimensions():
    assert weft.masked.prod(weft.tensor(3.0)).item() == 3
    assert weft.masked.sum(weft.tensor(3.0), mask=weft.tensor(False)).item() == 0
