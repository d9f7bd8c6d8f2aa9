"""Plain Python functions, compiled: every branch, loop and call of them becomes a routine."""

from __future__ import annotations

from types import FunctionType

from weft import _core
from weft.compiling.lower import lower
from weft.compiling.refusals import RefusedError


def _front_end(function: FunctionType) -> _core.Routine | None:
    try:
        return lower(function)
    except (RefusedError, RecursionError):
        return None


_core.set_front_end(_front_end)
