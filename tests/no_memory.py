"""Lets memory run out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from weft import _core

ALWAYS = 2**40


def without_memory(
    run: Callable[[], Any],
    prepare: Callable[[], Any] = lambda: None,
    *,
    count: int = 1,
    least: int = 1,
) -> Iterator[int]:
    """Run it until no allocation fails: first the first one does, then the second one.

    Args:
        run: What is to raise MemoryError, or to do without.
        prepare: Called before each run.
        count: How many allocations fail, from that one on.
        least: How many runs there must be.

    Yields:
        After each run, the number of the allocation that failed first.
    """
    for number in range(10_000):
        prepare()
        _core.fail_allocations(number, count)
        try:
            run()
        except MemoryError:
            pass
        finally:
            left = _core.fail_allocations(0, 0)
        if left == count:
            assert number >= least, "fewer allocations than there should be"
            return
        yield number
