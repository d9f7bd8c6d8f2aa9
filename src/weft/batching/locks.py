"""Locks: what an example of a map may not hold while others go on."""

from __future__ import annotations

from _thread import LockType
from threading import Condition, Semaphore
from typing import Any, cast


def would_block(manager: object) -> bool:
    """Tell whether another example would wait if it entered what this one has entered.

    All examples run in one thread, to which an RLock is given as often as it asks.
    """
    held = cast("Any", manager)
    if isinstance(manager, LockType):
        return manager.locked()
    if isinstance(manager, Condition):
        return would_block(held._lock)
    if isinstance(manager, Semaphore):
        return held._value == 0
    count = getattr(held, "_semlock", None)  # multiprocessing's
    return count is not None and count._is_zero() and type(manager).__name__ != "RLock"
