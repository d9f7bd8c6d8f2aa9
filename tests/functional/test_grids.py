"""Images read at places: what the op table cannot say."""

from __future__ import annotations

import pytest

import weft
from weft.nn.functional import grid_sample


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e30, -1e30])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
def test_places_far_away_read_no_other_memory(value, mode, padding_mode):
    grid = weft.full((1, 2, 2, 2), value)
    result = grid_sample(weft.ones(1, 1, 3, 3), grid, mode, padding_mode, False)
    assert result.shape == (1, 1, 2, 2)


def test_reflection_at_the_edge():
    row = weft.arange(4.0).reshape(1, 1, 1, 4)
    grid = weft.tensor([[[[1.25, 0.0], [-1.75, 0.0]]]])
    result = grid_sample(row, grid, "nearest", "reflection", False)
    assert result.flatten().tolist() == [3.0, 1.0]


def test_errors():
    with pytest.raises(TypeError, match="dtype"):
        grid_sample(weft.ones(1, 1, 2, 2), weft.ones(1, 1, 1, 2, dtype=weft.float64))
    with pytest.raises(ValueError, match="elements to read"):
        grid_sample(weft.ones(1, 1, 0, 2), weft.ones(1, 1, 1, 2))
    with pytest.raises(ValueError, match="bicubic for images"):
        grid_sample(weft.ones(1, 1, 2, 2, 2), weft.ones(1, 1, 1, 1, 3), "bicubic")
