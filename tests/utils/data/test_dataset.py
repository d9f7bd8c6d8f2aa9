"""Datasets."""

from __future__ import annotations

import pytest

import weft
from weft.utils.data import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)


class Numbers(IterableDataset[int]):
    def __init__(self, *numbers: int) -> None:
        self.numbers = numbers

    def __iter__(self):
        return iter(self.numbers)


def test_tensor_dataset() -> None:
    data = TensorDataset(weft.arange(6).reshape(3, 2), weft.arange(3))
    assert len(data) == 3
    assert [part.tolist() for part in data[1]] == [[2, 3], 1]
    with pytest.raises(ValueError, match=r"\(2,\), \(3,\)"):
        TensorDataset(weft.ones(2), weft.ones(3))


def test_concat_and_add() -> None:
    data = TensorDataset(weft.arange(2)) + TensorDataset(weft.arange(3))
    assert isinstance(data, ConcatDataset)
    assert [data[i][0].item() for i in range(-5, 5)] == [0, 1, 0, 1, 2] * 2
    for index in (5, -6):
        with pytest.raises(IndexError, match=f"index {index} is out of range for 5"):
            data[index]
    with pytest.raises(ValueError, match="empty"):
        ConcatDataset([])
    with pytest.raises(ValueError, match="ChainDataset"):
        ConcatDataset([Numbers(1)])


def test_chain() -> None:
    assert list(Numbers(1, 2) + Numbers(3)) == [1, 2, 3]
    with pytest.raises(TypeError, match="only supports IterableDataset, not list"):
        list(ChainDataset([[1]]))


def test_stack() -> None:
    assert StackDataset("ab", [1, 2])[1] == ("b", 2)
    assert StackDataset(x="ab", y=[1, 2])[0] == {"x": "a", "y": 1}
    with pytest.raises(ValueError, match=r"\[2, 3\]"):
        StackDataset("ab", "abc")
    for args, kwargs in (((), {}), (("a",), {"x": "a"})):
        with pytest.raises(ValueError, match="by position or by name"):
            StackDataset(*args, **kwargs)


def test_subset_passes_many_positions_on() -> None:
    class Many(Dataset[int]):
        def __getitems__(self, indices: list[int]) -> list[int]:
            return [10 * index for index in indices]

    assert Subset(Many(), [4, 5, 6]).__getitems__([0, 2]) == [40, 60]
    assert Subset("abc", [2, 1]).__getitems__([0, 1]) == ["c", "b"]


def test_random_split() -> None:
    parts = random_split(range(10), [3, 7], weft.Generator().manual_seed(1))
    assert [len(part) for part in parts] == [3, 7]
    assert sorted(x for part in parts for x in part) == list(range(10))
    again = random_split(range(10), [3, 7], weft.Generator().manual_seed(1))
    assert again[0].indices == parts[0].indices
    assert [len(part) for part in random_split(range(11), [0.5, 0.25, 0.25])] == [6, 3, 2]


def test_random_split_says_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match=r"3 \+ 8 is not 10"):
        random_split(range(10), [3, 8])
    with pytest.raises(ValueError, match=r"fraction 0 is 1\.5"):
        random_split(range(10), [1.5, -0.5])
    with pytest.warns(UserWarning, match="index 1 is 0"):
        random_split(range(1), [0.9, 0.1])


def test_what_is_not_defined_says_so() -> None:
    class Empty(Dataset[int]):
        pass

    with pytest.raises(NotImplementedError, match="Empty does not define __getitem__"):
        Empty()[0]
    with pytest.raises(NotImplementedError, match="__iter__"):
        iter(IterableDataset())
