"""The committed promotion table is PyTorch's."""

from __future__ import annotations

import torch

from tests.promotion_data import MIXED, NAMES, NUMBERS, SAME, WITH_NUMBER, can_cast, table


def ones(name: str, *shape: int) -> torch.Tensor:
    return torch.ones(shape, dtype=getattr(torch, name))


def test_same_kind() -> None:
    for left, right, expected in table(SAME, NAMES):
        for shape in ((1,), ()):
            result = torch.result_type(ones(left, *shape), ones(str(right), *shape))
            assert result == getattr(torch, expected), (left, right)


def test_mixed() -> None:
    for left, right, expected in table(MIXED, NAMES):
        result = torch.result_type(ones(left, 1), ones(str(right)))
        assert result == getattr(torch, expected), (left, right)


def test_numbers() -> None:
    for left, number, expected in table(WITH_NUMBER, NUMBERS):
        for shape in ((1,), ()):
            result = torch.result_type(ones(left, *shape), number)
            assert result == getattr(torch, expected), (left, number)


def test_can_cast() -> None:
    for source in NAMES:
        for target in NAMES:
            expected = torch.can_cast(getattr(torch, source), getattr(torch, target))
            assert can_cast(source, target) == expected, (source, target)
