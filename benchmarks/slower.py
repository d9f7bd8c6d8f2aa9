"""Why a row may be slower than its peer: the one place for the reasons.

A row under `measure.SLOW` whose title has none of these in it fails the run, as a missing figure
does.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.measure import Row

_EACH = (
    "Python and recording go over each {}, and code batched by hand over each {}; "
    "products take {} of the time"
)

REASONS: dict[str, str] = {
    "peak memory": "what is pending takes 2.5 MB, and memory comes in pages of 2 MB",
    "child-sum Tree-LSTM": _EACH.format("node", "level of all trees", "a quarter"),
    "early exit": "before it is seen to be pure, Python runs for each example and layer",
    "beam search": _EACH.format("hypothesis", "step of all beams", "a fifth"),
    "attention over ragged wholes": "ops of different shapes do not run together: recording and "
    "planning come on top of running them one by one",
    "Tree-LSTM, hidden 64": _EACH.format("node", "level of all trees", "a quarter"),
    "sum, backward: lazy / eager": "there is nothing to batch: recording and planning take longer "
    "than arithmetic on 8 floats",
}


def explain(row: Row) -> Row:
    """Return the row with the reason for being slow, if it is and there is one."""
    if not row.is_slow:
        return row
    reasons = [reason for title, reason in REASONS.items() if title in row.name]
    return replace(row, reason=reasons[0]) if reasons else row
