"""Other places where PyTorch computes: none of them is there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


def _no(*_: Any) -> bool:
    return False


def _none(*_: Any) -> None:
    return None


def _zero(*_: Any) -> int:
    return 0


def _one(*_: Any) -> int:
    return 1


mps = SimpleNamespace(
    is_available=_no,
    device_count=_zero,
    manual_seed=_none,
    empty_cache=_none,
    synchronize=_none,
    current_allocated_memory=_zero,
)
xpu = SimpleNamespace(
    is_available=_no,
    device_count=_zero,
    manual_seed=_none,
    manual_seed_all=_none,
    empty_cache=_none,
    synchronize=_none,
)
cpu = SimpleNamespace(is_available=lambda: True, device_count=_one, synchronize=_none)
accelerator = SimpleNamespace(
    is_available=_no,
    device_count=_zero,
    current_accelerator=_none,
    synchronize=_none,
    empty_cache=_none,
)
