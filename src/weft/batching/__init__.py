"""Record now, run when a value is needed, and run what is alike together."""

from weft._missing import explain_missing
from weft.batching.cells import cell
from weft.batching.explaining import Batch, Explanation, Plan, explain
from weft.batching.mapping import map
from weft.batching.scope import lazy, set_memory_limit

__all__ = ["Batch", "Explanation", "Plan", "cell", "explain", "lazy", "map", "set_memory_limit"]

explain_missing(__name__)
