"""A page with the curves of a ListOps run: one HTML file, nothing loaded from elsewhere."""

from __future__ import annotations

import html
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

Point = tuple[float, float]

WIDTH, HEIGHT = 640, 260
LEFT, RIGHT, TOP, BOTTOM = 52, 16, 14, 34
STEPS_AT = HEIGHT - BOTTOM + 18  # the height at which steps and depths are written


@dataclass
class Report:
    """What a run found out."""

    majority: tuple[int, float]  # the most frequent answer, and its accuracy
    batch: int
    losses: list[float] = field(default_factory=list)
    step_seconds: list[float] = field(default_factory=list)
    deepest: list[int] = field(default_factory=list)  # at each step
    accuracies: list[tuple[int, float]] = field(default_factory=list)  # step, accuracy
    by_depth: dict[int, float] = field(default_factory=dict)
    seconds: float = 0.0
    batched: float = 0.0
    unbatched: float = 0.0
    difference: float = 0.0  # of any gradient
    plan: str = ""


STYLE = """
:root { color-scheme: light dark; --page: #fcfcfb; --ink: #1d1d1b; --faint: #6d6c66;
  --grid: #e4e3de; --first: #2467b4; --second: #b4551f; --box: #f3f2ee; }
@media (prefers-color-scheme: dark) { :root { --page: #191918; --ink: #eceae4; --faint: #9d9b93;
  --grid: #34332f; --first: #6aa9ee; --second: #e8935a; --box: #232220; } }
body { margin: 2.5rem auto; max-width: 44rem; padding: 0 1.25rem; background: var(--page);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.05rem; margin: 2.2rem 0 .4rem; }
p { margin: .4rem 0; } .faint { color: var(--faint); }
svg { display: block; width: 100%; height: auto; }
svg text { font: 12px system-ui, sans-serif; fill: var(--faint); }
svg text.strong { fill: var(--ink); } .grid { stroke: var(--grid); }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; }
.first { stroke: var(--first); } .second { stroke: var(--second); }
.thin { stroke-width: 1; opacity: .35; } .dashed { stroke-dasharray: 5 4; }
.bar { fill: var(--first); } .other { fill: var(--second); }
pre { background: var(--box); padding: .8rem 1rem; overflow-x: auto; border-radius: 6px;
  font: 12.5px/1.45 ui-monospace, monospace; }
"""


def write_page(path: Path, report: Report, table: str) -> None:
    """Write the page, and its folder if need be."""
    accuracy = report.accuracies[-1][1]
    answer, of_majority = report.majority
    summary = (
        f"{accuracy:.1%} of held-out expressions after {len(report.losses)} steps, "
        f"{report.seconds:.0f} seconds. The most frequent answer, {answer}, would be right in "
        f"{of_majority:.1%}."
    )
    parts = [
        "<h1>A Tree-LSTM on ListOps</h1>",
        f"<p>{summary}</p>",
        "<h2>Accuracy on held-out expressions</h2>",
        "<p class='faint'>Upright lines: where expressions of that depth come into training.</p>",
        _accuracy_chart(report),
        "<h2>Training loss</h2>",
        "<p class='faint'>Each step, and the mean of 50; it may rise as deeper ones come in.</p>",
        _loss_chart(report),
        "<h2>Accuracy by depth</h2>",
        _bars([(f"depth {key}", part, f"{part:.1%}") for key, part in report.by_depth.items()]),
        f"<pre>{html.escape(table)}</pre>",
        f"<h2>One training step of {report.batch} expressions</h2>",
        _step_bars(report),
        "<p class='faint'>The same Python code both times; the best of a few tries.</p>",
        "<h2>What weft.explain() says of the batched step</h2>",
        f"<pre>{html.escape(report.plan)}</pre>",
    ]
    page = (
        "<!doctype html>\n<html lang='en'>\n<meta charset='utf-8'>\n"
        "<meta name='viewport' content='width=device-width'>\n"
        f"<title>ListOps</title>\n<style>{STYLE}</style>\n" + "\n".join(parts) + "\n</html>\n"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")


# ---- Charts --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Axes:
    """Maps steps and values to places in the picture."""

    steps: int
    top: float

    def place(self, point: Point) -> Point:
        """Return where a point is drawn."""
        step, value = point
        across = LEFT + (WIDTH - LEFT - RIGHT) * step / max(self.steps, 1)
        return across, TOP + (HEIGHT - TOP - BOTTOM) * (1 - min(value, self.top) / self.top)

    def line(self, points: Sequence[Point], kind: str) -> str:
        """Draw a line through points."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(self.place, points))
        return f"<polyline class='line {kind}' points='{path}'/>"

    def frame(self, ticks: Sequence[tuple[float, str]]) -> str:
        """Draw horizontal lines with their values, and the first and last step."""
        parts: list[str] = []
        for value, label in ticks:
            _, y = self.place((0, value))
            parts.append(f"<line class='grid' x1='{LEFT}' x2='{WIDTH - RIGHT}' y1='{y}' y2='{y}'/>")
            parts.append(_text(LEFT - 8, y + 4, label, "end"))
        parts.append(_text(LEFT, STEPS_AT, "step 0"))
        parts.append(_text(WIDTH - RIGHT, STEPS_AT, str(self.steps), "end"))
        return "".join(parts)


def _text(x: float, y: float, words: str, anchor: str = "start", kind: str = "") -> str:
    return f"<text class='{kind}' x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}'>{words}</text>"


def _svg(height: float, label: str, parts: Sequence[str]) -> str:
    body = "\n".join(parts)
    return f"<svg viewBox='0 0 {WIDTH} {height}' role='img' aria-label='{label}'>\n{body}\n</svg>"


def _accuracy_chart(report: Report) -> str:
    axes = Axes(len(report.losses), 1.0)
    part = report.majority[1]
    _, y = axes.place((0, part))
    points = [axes.place(point) for point in report.accuracies]
    parts = [
        axes.frame([(tick / 4, f"{tick * 25}%") for tick in range(5)]),
        *_depth_marks(report, axes),
        axes.line([(0, part), (axes.steps, part)], "second dashed"),
        _text(WIDTH - RIGHT, y - 6, f"majority answer {part:.1%}", "end", "strong"),
        axes.line(report.accuracies, "first"),
        *(
            f"<circle class='bar' cx='{x:.1f}' cy='{y:.1f}' r='3'>"
            f"<title>step {step}: {accuracy:.1%}</title></circle>"
            for (x, y), (step, accuracy) in zip(points, report.accuracies, strict=True)
        ),
    ]
    return _svg(HEIGHT, "Held-out accuracy by step", parts)


def _depth_marks(report: Report, axes: Axes) -> list[str]:
    """Mark the steps at which deeper expressions come in."""
    parts: list[str] = []
    for step in range(1, len(report.deepest)):
        if report.deepest[step] != report.deepest[step - 1]:
            x, y = axes.place((step, 0))
            parts.append(f"<line class='grid' x1='{x:.1f}' x2='{x:.1f}' y1='{TOP}' y2='{y}'/>")
            if report.deepest[step - 1] == 1:
                parts.append(_text(x + 4, STEPS_AT, f"depth {report.deepest[step]}", "end"))
            else:
                parts.append(_text(x, STEPS_AT, str(report.deepest[step]), "middle"))
    return parts


def _loss_chart(report: Report, window: int = 50) -> str:
    losses = report.losses
    axes = Axes(len(losses), 2.5)
    every = max(1, len(losses) // 600)
    shown = range(0, len(losses), every)
    single = [(step, losses[step]) for step in shown]
    means = [
        (step, statistics.mean(losses[max(0, step - window + 1) : step + 1])) for step in shown
    ]
    parts = [
        axes.frame([(tick / 2, f"{tick / 2}") for tick in range(6)]),
        *_depth_marks(report, axes),
        axes.line(single, "first thin"),
        axes.line(means, "first"),
    ]
    return _svg(HEIGHT, "Training loss by step", parts)


def _bars(rows: Sequence[tuple[str, float, str]], kinds: Sequence[str] = ()) -> str:
    """Draw a bar a row: its name, its length (0 to 1) and what is written behind it."""
    start, row_height, longest = 150, 26, WIDTH - 150 - 90
    parts: list[str] = []
    for index, (name, length, label) in enumerate(rows):
        y = index * row_height
        kind = kinds[index] if kinds else "bar"
        width = max(1.0, longest * length)
        parts.append(_text(0, y + 17, name, kind="strong"))
        parts.append(
            f"<rect class='{kind}' x='{start}' y='{y + 4}' width='{width:.1f}' height='18' rx='2'/>"
        )
        parts.append(_text(start + width + 8, y + 17, label, kind="strong"))
    return _svg(row_height * len(rows), "Bars", parts)


def _step_bars(report: Report) -> str:
    longest = max(report.batched, report.unbatched)
    rows = [
        ("batched by weft.map", report.batched / longest, f"{report.batched * 1e3:.1f} ms"),
        ("one by one", report.unbatched / longest, f"{report.unbatched * 1e3:.1f} ms"),
    ]
    return _bars(rows, ["bar", "other"])
