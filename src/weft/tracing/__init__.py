"""Runs as plain data: what was recorded, what ran, what Python read, and where."""

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
from weft.tracing.walking import of_tensors

__all__ = [
    "VERSION",
    "Backward",
    "BackwardStep",
    "Batch",
    "Failure",
    "Frame",
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
    "of_tensors",
    "record",
]
