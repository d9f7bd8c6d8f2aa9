"""Runs as plain data: what was recorded, what ran, what Python read, and where.

`weft.trace(matrix)`, the sum of a diagonal, has the same name: the module can be called, too.
"""

import sys
from types import ModuleType
from typing import Any

from weft._core import Tensor
from weft.functional.reductions import trace as _sum_of_diagonal
from weft.trace.fold import Folded, Group, fold
from weft.trace.json_format import TraceFormatError, from_data, from_json, to_data, to_json
from weft.trace.model import (
    VERSION,
    Backward,
    BackwardStep,
    Batch,
    Failure,
    Frame,
    Input,
    ModuleCall,
    Node,
    Place,
    Plan,
    Read,
    Result,
    Statistics,
    Trace,
)
from weft.trace.sources import collect_sources


class _CallableModule(ModuleType):
    """A module that is a function as well, so that importing it takes no name from the package."""

    __wrapped__: Any = staticmethod(_sum_of_diagonal)

    def __call__(self, input: Tensor) -> Tensor:
        return _sum_of_diagonal(input)


sys.modules[__name__].__class__ = _CallableModule

__all__ = [
    "VERSION",
    "Backward",
    "BackwardStep",
    "Batch",
    "Failure",
    "Folded",
    "Frame",
    "Group",
    "Input",
    "ModuleCall",
    "Node",
    "Place",
    "Plan",
    "Read",
    "Result",
    "Statistics",
    "Trace",
    "TraceFormatError",
    "collect_sources",
    "fold",
    "from_data",
    "from_json",
    "to_data",
    "to_json",
]
