"""Runs as plain data: what was recorded, what ran, what Python read, and where."""

from weft._missing import explain_missing
from weft.tracing.fold import Folded, Group, fold
from weft.tracing.json_format import TraceFormatError, from_data, from_json, to_data, to_json
from weft.tracing.model import (
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
from weft.tracing.recording import Recording, record
from weft.tracing.sources import collect_sources
from weft.tracing.walking import of_tensors

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
    "Recording",
    "Result",
    "Statistics",
    "Trace",
    "TraceFormatError",
    "collect_sources",
    "fold",
    "from_data",
    "from_json",
    "of_tensors",
    "record",
    "to_data",
    "to_json",
]

explain_missing(__name__)
