"""See what a run did and ask why: graphs, gradients, NaN, memory, time, breakpoints."""

from __future__ import annotations

from weft._missing import explain_missing
from weft.debug.comparing import Comparison, compare
from weft.debug.gradients import NoGradient, why_no_grad
from weft.debug.graph import graph_text, keep_values, print_graph
from weft.debug.holding import Alive, Holder, why_alive
from weft.debug.nonfinite import NanReport, find_nan
from weft.debug.profiling import Profile, profile
from weft.debug.saving import MemoryReport, memory
from weft.debug.steps import StepWatch, StillAlive, watch_steps
from weft.debug.stopping import Match, breakpoint_when, is_nan, module, op, shape

__all__ = [
    "Alive",
    "Comparison",
    "Holder",
    "Match",
    "MemoryReport",
    "NanReport",
    "NoGradient",
    "Profile",
    "StepWatch",
    "StillAlive",
    "breakpoint_when",
    "compare",
    "find_nan",
    "graph_text",
    "is_nan",
    "keep_values",
    "memory",
    "module",
    "op",
    "print_graph",
    "profile",
    "shape",
    "watch_steps",
    "why_alive",
    "why_no_grad",
]

explain_missing(__name__)
