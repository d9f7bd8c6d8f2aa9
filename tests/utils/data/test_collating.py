"""Batches of examples; the oracle's tests compare more structures with PyTorch's."""

from __future__ import annotations

import collections

import numpy as np
import pytest

import weft
from weft.utils.data import default_collate, default_convert, ragged_collate


def test_structures_keep_their_types() -> None:
    Point = collections.namedtuple("Point", "x y")  # noqa: PYI024 - what users have
    made = default_collate([Point(1, {"a": 2.0}), Point(3, {"a": 4.0})])
    assert type(made) is Point
    assert made.x.tolist() == [1, 3]
    assert made.y["a"].dtype == weft.float64
    kept = collections.defaultdict(int, a=1)
    assert default_collate([kept, kept]).default_factory is int
    assert default_convert(kept).default_factory is int
    assert default_convert(Point(np.zeros(1), "a")).y == "a"
    assert default_convert(range(2)) == [0, 1]


def test_texts_and_bytes_stay() -> None:
    assert default_collate([("a", b"b"), ("c", b"d")]) == [["a", "c"], [b"b", b"d"]]


@pytest.mark.parametrize("item", [None, object(), {1, 2}])
def test_what_has_no_batch(item: object) -> None:
    with pytest.raises(TypeError, match=f"found <class '{type(item).__name__}'>"):
        default_collate([item, item])
    with pytest.raises(TypeError, match="<U1"):
        default_collate([np.array(["a"])])


def test_different_shapes_point_to_ragged_collate() -> None:
    with pytest.raises(RuntimeError, match="ragged_collate"):
        default_collate([weft.ones(2), weft.ones(3)])
    with pytest.raises(RuntimeError, match="equal size"):
        default_collate([[1], [1, 2]])


def test_ragged_keeps_lists() -> None:
    examples = [{"x": weft.ones(n), "y": n, "words": ["w"] * n} for n in (2, 3)]
    made = ragged_collate(examples)
    assert [x.shape for x in made["x"]] == [(2,), (3,)]
    assert made["y"].tolist() == [2, 3]
    assert made["words"] == [["w", "w"], ["w", "w", "w"]]
    same = ragged_collate([weft.ones(2), weft.zeros(2)])
    assert same.tolist() == [[1, 1], [0, 0]]
    assert ragged_collate([np.ones(1), np.ones(2)])[1].tolist() == [1, 1]


def test_ragged_pads_on_request() -> None:
    pad = ragged_collate(padding_value=-1, lengths=True)
    padded, lengths = pad([weft.ones(1, 2), weft.zeros(2, 1)])
    assert padded.tolist() == [[[1, 1], [-1, -1]], [[0, -1], [0, -1]]]
    assert lengths.tolist() == [1, 2]
    words = ragged_collate(padding_value=0)([weft.tensor([4]), weft.tensor([5, 6])])
    assert words.dtype == weft.int64
    assert words.tolist() == [[4, 0], [5, 6]]


def test_padding_carries_gradients() -> None:
    parts = [weft.ones(n, requires_grad=True) for n in (1, 3)]
    ragged_collate(padding_value=0.0)(parts).sum().backward()
    assert [part.grad.tolist() for part in parts if part.grad is not None] == [[1], [1, 1, 1]]
