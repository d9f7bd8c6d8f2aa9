"""The demo's page: graphs of two inputs, both in one, a batched training step, and the curves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from demo import NEGATIVE, POSITIVE, graph_of
from listops_data import Call, Example, value
from listops_page import Report

import weft
from weft import Tensor, viewer

TREES: tuple[Call, ...] = (
    ("MAX", (2, 9, ("MIN", (4, 7)), 0)),
    ("SM", (8, 5)),
    ("MED", (3, ("MAX", (1, 5)), 8)),
    ("MIN", (6, ("SM", (5, 9)), 4)),
)


def training_step(loss: Callable[[Example], Tensor], examples: list[Example]) -> Tensor:
    """Run one loss over a few trees, batched, and differentiate their mean."""
    mean = weft.stack(weft.map(loss, examples)).mean()
    mean.backward()
    return mean


def curves(report: Report) -> list[dict[str, Any]]:
    """Return the curves of a run as the page reads them."""
    accuracies = [[step, 100 * accuracy] for step, accuracy in report.accuracies]
    steps = range(1, len(report.losses) + 1)
    losses = [list(point) for point in zip(steps, report.losses, strict=True)]
    seconds = [list(point) for point in zip(steps, report.step_seconds, strict=True)]
    return [
        {"name": "loss", "unit": "", "points": losses},
        {"name": "held-out accuracy", "unit": "%", "points": accuracies},
        {"name": "a step", "unit": "s", "points": seconds},
    ]


def write_index(path: Path, loss: Callable[[Example], Tensor], report: Report) -> Path | None:
    """Write the page and return its path; None where the viewer was not built."""
    positive = graph_of("positive input", POSITIVE)
    negative = graph_of("negative input", NEGATIVE)
    both = weft.merge([positive, negative], "both in one")
    step = weft.graph(training_step, loss, [Example(tree, value(tree), 0) for tree in TREES])
    step = weft.graph(replace(step.trace, title="a training step on trees"))
    page = viewer.page_of(
        [positive, negative, both, step],
        "Weft's demo",
        diff=weft.diff(positive, negative).page()["diff"],
        series=curves(report),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.write_text(viewer.page_html(page), encoding="utf-8")
    except viewer.PageMissingError:
        return None
    return path
