"""Plain Python functions, compiled: every branch, loop and call of them becomes a routine."""

from __future__ import annotations

import os
from types import FunctionType

from weft import _core
from weft.compiling.compiled import CompiledFunction, CompiledModule, compile
from weft.compiling.explaining import Explanation
from weft.compiling.lower import lower
from weft.compiling.refusals import Refusal, RefusedError

__all__ = ["CompiledFunction", "CompiledModule", "Explanation", "Refusal", "compile"]


def _front_end(function: FunctionType) -> _core.Routine | None:
    try:
        return lower(function)
    except (RefusedError, RecursionError):
        return None


_core.set_front_end(_front_end)
_core.enable_compiled(os.environ.get("WEFT_COMPILE", "1") != "0")
