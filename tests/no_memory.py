"""Lets memory run out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from weft import _core

ALWAYS = 2**40


@contextmanager
def failing(after: int, count: int) -> Iterator[list[bool]]:
    """After so many allocations, let so many fail; tell at the end whether any did."""
    ran_out: list[bool] = []
    _core.fail_allocations(after, count)
    try:
        yield ran_out
    except MemoryError:
        pass
    finally:
        ran_out.append(_core.fail_allocations(0, 0) < count)
