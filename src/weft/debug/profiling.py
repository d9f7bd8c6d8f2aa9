"""`profile`: where the time goes, by op, by line and by module, and as a Chrome trace."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from weft._reports import Report
from weft.debug.steps import StepWatch, StillAlive, warn
from weft.debug.wording import (
    Table,
    count_text,
    line_text,
    module_of,
    place_of,
    seconds_text,
    source_of,
    tables_text,
)
from weft.tracing import Recording

if TYPE_CHECKING:
    from types import TracebackType

    from weft.tracing import Node, Place, Trace

_PYTHON = "Python between ops"
_MOST_ROWS = 15


@dataclass
class _Span:
    """Something that took time; spans lie inside each other."""

    name: str
    kind: str  # "op", "cell", "plan", "batch", "backward", "gradient"
    start: float
    seconds: float
    nodes: tuple[int, ...] = ()  # that the time is shared by
    place: Place | None = None
    inside: float = 0.0  # seconds of spans that lie in it

    @property
    def end(self) -> float:
        """When it ended."""
        return self.start + self.seconds

    @property
    def own(self) -> float:
        """Seconds that are its own."""
        return max(self.seconds - self.inside, 0.0)


@dataclass(frozen=True)
class Row:
    """One line of a table: what it is, its seconds and how often it ran."""

    name: str
    seconds: float
    count: int
    detail: str = ""


@dataclass(frozen=True, repr=False)
class Profile(Report):
    """Where the time of a run went. Each of its tables adds up to `seconds`.

    Attributes:
        seconds: The time on the clock.
        by_op: Ops, plans and gradient rules; the most expensive first.
        by_line: Lines of the program; gradient rules count for the line of their op.
        by_module: Modules, each without those inside it.
        trace: What ran.

    Example:
        >>> import weft, weft.debug
        >>> with weft.debug.profile() as run:
        ...     y = weft.ones(2).exp()
        >>> "exp" in [row.name for row in run.report.by_op]
        True
    """

    seconds: float
    by_op: tuple[Row, ...]
    by_line: tuple[Row, ...]
    by_module: tuple[Row, ...]
    trace: Trace = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the tables as plain data.

        Example:
            >>> import weft, weft.debug
            >>> with weft.debug.profile() as run:
            ...     y = weft.ones(2).exp()
            >>> sorted(run.report.to_dict())
            ['by_line', 'by_module', 'by_op', 'seconds']
        """
        tables = {"by_op": self.by_op, "by_line": self.by_line, "by_module": self.by_module}
        return {"seconds": self.seconds} | {
            name: [{"name": row.name, "seconds": row.seconds, "count": row.count} for row in table]
            for name, table in tables.items()
        }

    def __str__(self) -> str:
        return tables_text(
            [
                self._table("by op", self.by_op),
                self._table("by line", self.by_line),
                self._table("by module", self.by_module),
            ]
        )

    def _table(self, title: str, rows: tuple[Row, ...]) -> Table:
        shown = rows[:_MOST_ROWS]
        rest = rows[_MOST_ROWS:]
        if rest:
            names = f"{count_text(len(rest), 'more row')}"
            total = sum(row.seconds for row in rest)
            shown = (*shown, Row(names, total, sum(row.count for row in rest)))
        texts = tuple(
            (
                row.name,
                seconds_text(row.seconds),
                f"{100 * row.seconds / self.seconds:.1f}%" if self.seconds else "-",
                f"{row.count:,}",
                row.detail,
            )
            for row in (*shown, Row("total", self.seconds, 0))
        )
        texts = (*texts[:-1], (*texts[-1][:3], "", ""))
        heading = f"{seconds_text(self.seconds)}, {title}"
        return Table(heading, (title.removeprefix("by "), ">time", ">share", ">times", ""), texts)

    def chrome(self, path: str | os.PathLike[str]) -> None:
        """Write what ran as a trace that Chrome (chrome://tracing) and Perfetto open.

        Args:
            path: The file to write.

        Example:
            >>> import weft, weft.debug
            >>> import os, tempfile
            >>> with weft.debug.profile() as run:
            ...     y = weft.ones(2).exp()
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     run.report.chrome(os.path.join(folder, "run.json"))
        """
        Path(path).write_text(json.dumps(self.to_chrome()), encoding="utf-8")

    def to_chrome(self) -> dict[str, Any]:
        """Return the contents of a Chrome trace: complete events, in microseconds.

        Example:
            >>> import weft, weft.debug
            >>> with weft.debug.profile() as run:
            ...     y = weft.ones(2).exp()
            >>> list(run.report.to_chrome())
            ['traceEvents', 'displayTimeUnit']
        """
        process, thread = os.getpid(), threading.get_native_id()
        spans = _lanes(_spans(self.trace), _module_spans(self.trace))
        names = [("process_name", "weft", 0), ("thread_name", "ops", 0)]
        lanes = range(1, max((lane for _, lane in spans), default=0) + 1)
        names += [("thread_name", "modules of other examples", lane) for lane in lanes]
        events: list[dict[str, Any]] = [
            {"name": name, "ph": "M", "pid": process, "tid": thread + lane, "args": {"name": value}}
            for name, value, lane in names
        ]
        for span, lane in spans:
            arguments: dict[str, Any] = {"line": line_text(span.place)} if span.place else {}
            if span.kind == "op" and span.nodes:
                results = self.trace.nodes[span.nodes[0]].results
                arguments["results"] = [f"{one.dtype}{list(one.shape)}" for one in results]
            if span.kind in {"batch", "gradient"}:
                arguments["rows"] = max(len(span.nodes), 1)
            events.append(
                {
                    "name": span.name,
                    "cat": span.kind,
                    "ph": "X",
                    "ts": max(span.start, 0.0) * 1e6,
                    "dur": span.seconds * 1e6,
                    "pid": process,
                    "tid": thread + lane,
                    "args": arguments,
                }
            )
        events.sort(key=lambda event: (event.get("ts", -1.0), -event.get("dur", 0.0)))
        return {"traceEvents": events, "displayTimeUnit": "ms"}


class profile:  # noqa: N801 - used as a with statement's block
    """Measure where the time goes inside a block.

    Times are by op, by line and by module: of forward, of backward (for the lines of forward) and
    of the plans of lazy mode. What is not spent in ops is the row "Python between ops", so each
    table adds up to the time on the clock. Watching costs about a microsecond an op, which
    is part of that row. Graphs of earlier steps that stay alive give a warning, as with
    `watch_steps`.

    Args:
        patience: How many steps a graph may outlive its own before there is a warning.

    Attributes:
        report: The `Profile`, after the block; printing the block's object prints it too.
        warnings: Those that were given.

    Example:
        >>> import weft, weft.debug
        >>> w = weft.ones(3, requires_grad=True)
        >>> with weft.debug.profile() as run:
        ...     (w * 2).exp().sum().backward()
        >>> sorted(row.name for row in run.report.by_op)  # doctest: +NORMALIZE_WHITESPACE
        ['Python between ops', 'backward', 'exp', 'gradient of exp', 'gradient of mul',
         'gradient of parameter', 'gradient of sum', 'mul', 'sum']
        >>> total = sum(row.seconds for row in run.report.by_line)
        >>> abs(total - run.report.seconds) < 1e-9
        True
    """

    def __init__(self, *, patience: int = 3) -> None:
        self._watch = StepWatch(patience)
        self._run = Recording(values=False, title="profile", on_event=self._happened)
        self._entered = 0.0
        self._report: Profile | None = None
        self.warnings: list[StillAlive] = []

    def __enter__(self) -> Self:
        self._run.__enter__()
        self._entered = time.perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        seconds = time.perf_counter() - self._entered
        self._run.__exit__(kind, error, trace)
        self._report = _profile(self._run.trace(), seconds)
        self._run.warn_if_interrupted("profile")

    @property
    def report(self) -> Profile:
        """What was measured.

        Raises:
            RuntimeError: If the block has not ended.
        """
        if self._report is None:
            raise RuntimeError("profile: the report is there when the block has ended")
        return self._report

    def chrome(self, path: str | os.PathLike[str]) -> None:
        """Write what ran as a trace that Chrome and Perfetto open.

        Example:
            >>> import weft, weft.debug
            >>> import os, tempfile
            >>> with weft.debug.profile() as run:
            ...     y = weft.ones(2).exp()
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     run.chrome(os.path.join(folder, "run.json"))
        """
        self.report.chrome(path)

    def __str__(self) -> str:
        return str(self.report)

    def _happened(self, _: Recording, kind: str) -> None:
        if kind == "backward":
            found = self._watch.step()
            if found is not None:
                self.warnings.append(found)
                warn(found)


# ---- spans ---------------------------------------------------------------------------------------


def _spans(trace: Trace) -> list[_Span]:
    """Return what took time, in order, each with the time of those inside it."""
    # What waited ran in a plan; its share of that is no time of its own.
    waited = {i for plan in trace.plans for batch in plan.batches for i in batch.nodes}
    spans = [
        _Span(node.op, node.kind, node.start, node.seconds, (i,), place_of(trace, node))
        for i, node in enumerate(trace.nodes)
        if i not in waited and node.kind in {"op", "cell"}
    ]
    for plan in trace.plans:
        where = trace.places[plan.place] if plan.place >= 0 else None
        spans.append(_Span("plan", "plan", plan.start, plan.seconds, (), where))
        for batch in plan.batches:
            where = trace.places[batch.place] if batch.place >= 0 else None
            spans.append(_Span(batch.op, "batch", batch.start, batch.seconds, batch.nodes, where))
    for backward in trace.backwards:
        where = trace.places[backward.place] if backward.place >= 0 else None
        spans.append(_Span("backward", "backward", backward.start, backward.seconds, (), where))
        for step in backward.steps:
            name = trace.nodes[step.nodes[0]].op if step.nodes else step.name
            place = place_of(trace, trace.nodes[step.nodes[0]]) if step.nodes else None
            line = place or where  # a leaf was made at no line of the run
            spans.append(
                _Span(f"gradient of {name}", "gradient", step.start, step.seconds, step.nodes, line)
            )
    spans.sort(key=lambda span: (span.start, -span.seconds))
    _nest(spans)
    return spans


def _nest(spans: list[_Span]) -> None:
    """Add up, for each span, the time of those right inside it."""
    open_spans: list[_Span] = []
    for span in spans:
        while open_spans and span.start >= open_spans[-1].start + open_spans[-1].seconds:
            open_spans.pop()
        if open_spans:
            outer = open_spans[-1]
            # Clocks are read one after the other: what is inside ends with what is around it.
            span.seconds = min(span.seconds, outer.start + outer.seconds - span.start)
            outer.inside += span.seconds
        open_spans.append(span)


def _lanes(spans: list[_Span], modules: Iterable[_Span]) -> list[tuple[_Span, int]]:
    """Number the lanes of a picture so that spans of one lane lie inside each other or apart.

    Calls of modules by several examples of a map overlap: they get lanes below the first.
    """
    placed: list[tuple[_Span, int]] = []
    left, lane = [*spans, *modules], 0
    while left:
        evicted: list[_Span] = []
        kept: list[_Span] = []
        around: list[_Span] = []
        for span in sorted(left, key=lambda one: (one.start, -one.seconds)):
            while around and around[-1].end <= span.start:
                around.pop()
            while around and span.end > around[-1].end and around[-1].kind == "module":
                evicted.append(around.pop())
            if around and span.end > around[-1].end:
                evicted.append(span)
                continue
            around.append(span)
            kept.append(span)
        gone = set(map(id, evicted))
        placed += [(span, lane) for span in kept if id(span) not in gone]
        left, lane = evicted, lane + 1
    return placed


def _module_spans(trace: Trace) -> Iterable[_Span]:
    """Return a span for each call of a module: from the first of its ops to the last."""
    waited = {i for plan in trace.plans for batch in plan.batches for i in batch.nodes}
    first: dict[int, float] = {}
    last: dict[int, float] = {}
    for i, node in enumerate(trace.nodes):
        call = node.module
        end = node.start if i in waited else node.start + node.seconds
        while call >= 0:
            first[call] = min(first.get(call, node.start), node.start)
            last[call] = max(last.get(call, 0.0), end)
            call = trace.modules[call].parent
    for call, start in first.items():
        module = trace.modules[call]
        name = module.path if module.path == module.kind else f"{module.path} ({module.kind})"
        yield _Span(name, "module", start, last[call] - start)


# ---- tables --------------------------------------------------------------------------------------


class _Sums:
    """Adds up seconds by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.counts: dict[str, int] = {}
        self.details: dict[str, str] = {}

    def add(self, name: str, seconds: float, count: int = 1, detail: str = "") -> None:
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        self.counts[name] = self.counts.get(name, 0) + count
        self.details.setdefault(name, detail)

    def rows(self, total: float) -> tuple[Row, ...]:
        rest = total - sum(self.seconds.values())
        self.add(_PYTHON, rest, 0)
        rows = [
            Row(name, seconds, self.counts[name], self.details[name])
            for name, seconds in self.seconds.items()
        ]
        return tuple(sorted(rows, key=lambda row: -row.seconds))


def _profile(trace: Trace, seconds: float) -> Profile:
    spans = _spans(trace)
    tables: list[tuple[Row, ...]] = []
    ways: tuple[Callable[[Trace, _Span, Node | None], tuple[str, str]], ...] = (
        _op_name, _line_name, _module_name,
    )  # fmt: skip
    for way in ways:
        sums = _Sums()
        for span in spans:
            nodes = span.nodes
            if not nodes:
                name, detail = way(trace, span, None)
                sums.add(name, span.own, detail=detail)
            for i in nodes:
                name, detail = way(trace, span, trace.nodes[i])
                sums.add(name, span.own / len(nodes), detail=detail)
        tables.append(sums.rows(seconds))
    by_op, by_line, by_module = tables
    return Profile(seconds, by_op, by_line, by_module, trace)


def _op_name(_: Trace, span: _Span, __: Node | None) -> tuple[str, str]:
    return ("planning and copying" if span.kind == "plan" else span.name), ""


def _line_name(trace: Trace, span: _Span, node: Node | None) -> tuple[str, str]:
    place = place_of(trace, node) if node is not None else None
    place = place or span.place
    return line_text(place), source_of(place)


def _module_name(trace: Trace, span: _Span, node: Node | None) -> tuple[str, str]:
    if node is None:
        return f"({span.kind})" if span.kind in {"plan", "backward"} else "(no module)", ""
    path = module_of(trace, node)
    return (path, trace.modules[node.module].kind) if path else ("(no module)", "")
