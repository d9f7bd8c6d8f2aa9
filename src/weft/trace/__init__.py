"""Runs as plain data: what was recorded, what ran, what Python read, and where."""

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
