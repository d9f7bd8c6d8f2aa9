"""Runs as plain data: what was recorded, what ran, what Python read, and where."""

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
    "Result",
    "Statistics",
    "Trace",
]
