"""Pages: what the viewer is given to show, as docs/trace-format.md defines it.

All that the live view needs of folding, of traces as JSON and of the built page comes through here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeVar

from weft.tracing import BackwardStep, Batch, Trace, fold, from_json
from weft.viewer.page import PLACEHOLDER, PageMissingError, page_graph, template
from weft.viewer.series import Series

_NONCE = "__NONCE__"
_TINY = 8  # values, which are always shown


def graph_json(trace: Trace, title: str, most_values: int | None = None) -> str:
    """Write one graph of a page as JSON.

    Args:
        trace: The trace.
        title: The title of its tab.
        most_values: If all tensors together keep more values than this, only the smallest keep
            theirs; ranges and histograms stay.
    """
    graph = page_graph(title, trace, fold(trace))
    if most_values is not None:
        _drop_values(graph["trace"], most_values)
    return json.dumps(graph, separators=(",", ":"), allow_nan=False)


def _drop_values(trace: dict[str, Any], most: int) -> None:
    """Take the values of all but the smallest tensors out of a trace that has too many."""
    found: list[dict[str, Any]] = []
    for node in trace.get("nodes", ()):
        for result in node.get("results", ()):
            found += [result[key] for key in ("value", "gradient") if result.get(key)]
    for backward in trace.get("backwards", ()):
        for step in backward.get("steps", ()):
            found += [one for key in ("incoming", "outgoing") for one in step.get(key, ()) if one]
    if sum(len(one.get("values") or ()) for one in found) > most:
        for one in found:
            if one["count"] > _TINY:
                one.pop("values", None)


def series_json(series: Iterable[Series]) -> str:
    """Write curves as JSON."""
    curves = [
        {
            "name": one.name,
            "unit": one.unit,
            "points": [(step, _number(value)) for step, value in one.points()],
        }
        for one in series
    ]
    return json.dumps(curves, separators=(",", ":"), allow_nan=False)


def page_json(title: str, graphs: Iterable[str], series: str, *, live: bool) -> str:
    """Write a page as JSON, of graphs and curves that are JSON already."""
    return (
        f'{{"format":"weft-page","version":1,"title":{json.dumps(title)},'
        f'"graphs":[{",".join(graphs)}],"series":{series},"live":{json.dumps(live)}}}'
    )


def page_html(page: str, nonce: str = "") -> str:
    """Put a page's JSON into the viewer's HTML.

    Args:
        page: The JSON.
        nonce: What the Content-Security-Policy lets run; none in a file.

    Raises:
        PageMissingError: If the viewer was not built.
    """
    before, found, after = template().partition(PLACEHOLDER)
    if not found:
        raise PageMissingError("weft/viewer/page.html has no place for a graph; build it again")
    before, after = (part.replace(_NONCE, nonce) for part in (before, after))
    # Inside of a script element, only "<" could end it.
    return before + PLACEHOLDER.replace("null", page.replace("<", "\\u003c")) + after


def html_of_file(text: str, title: str) -> str:
    """Make a page of a file's text: a trace, or the JSON of a whole page.

    Raises:
        ValueError: If it is neither.
    """
    if text.lstrip().startswith('{"format":"weft-page"'):
        json.loads(text)
        return page_html(text)
    trace = from_json(text)
    graph = graph_json(trace, trace.title or title)
    return page_html(page_json(trace.title or title, [graph], "[]", live=False))


def first_nodes(trace: Trace, most: int) -> Trace:
    """Return the part of a trace that its first nodes make up."""
    if len(trace.nodes) <= most:
        return trace
    failure = trace.failure
    return replace(
        trace,
        nodes=trace.nodes[:most],
        outputs=tuple(one for one in trace.outputs if one.node < most),
        reads=tuple(
            one if one.node < most else replace(one, node=-1, output=0)
            for one in trace.reads
            if one.after <= most
        ),
        plans=tuple(replace(plan, batches=_known_only(plan.batches, most)) for plan in trace.plans),
        backwards=tuple(
            replace(backward, steps=_known_only(backward.steps, most))
            for backward in trace.backwards
        ),
        failure=None if failure is None else replace(failure, after=min(failure.after, most)),
    )


_Rows = TypeVar("_Rows", Batch, BackwardStep)


def _known_only(all_rows: tuple[_Rows, ...], most: int) -> tuple[_Rows, ...]:
    """Leave out what is about nodes that are left out."""
    found: list[_Rows] = []
    for rows in all_rows:
        nodes = tuple(node for node in rows.nodes if node < most)
        if nodes:
            found.append(replace(rows, nodes=nodes))
    return tuple(found)


def _number(value: float) -> float | str:
    """Write a number as JSON has it; others are texts."""
    if math.isfinite(value):
        return value
    return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
