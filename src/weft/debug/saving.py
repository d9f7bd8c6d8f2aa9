"""`memory`: which lines keep how much for backward, and where memory was at its highest."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from weft import _core
from weft._reports import Report
from weft.debug.wording import (
    Table,
    bytes_text,
    line_text,
    place_of,
    place_text,
    source_of,
    tables_text,
)
from weft.tracing import Place, Recording

if TYPE_CHECKING:
    from types import TracebackType

    from weft.tracing import Trace

_MOST_ROWS = 20


@dataclass(frozen=True)
class LineOfMemory:
    """What one line keeps for backward: bytes, by how many ops, and which ops."""

    file: str
    line: int
    bytes: int
    count: int
    ops: tuple[str, ...]
    source: str

    def __str__(self) -> str:
        where = line_text(Place(self.file, self.line, "") if self.line else None)
        return f"{where}: {bytes_text(self.bytes)}"


@dataclass(frozen=True, repr=False)
class MemoryReport(Report):
    """What a block kept for backward, and its memory.

    Attributes:
        by_line: Lines, the largest first; each piece of memory counts once, for the first op that
            kept it. Parameters do not count: they are there anyway.
        saved: The sum of that.
        live: Bytes in tensors when the block ended.
        before: Bytes in tensors when it began.
        peak: The most bytes in tensors at any one time.
        peak_place: The line that ran then; of a backward, the line of the op whose gradient ran.
        peak_op: The op that ran then.

    Example:
        >>> import weft, weft.debug
        >>> x = weft.ones(2, requires_grad=True)
        >>> with weft.debug.memory() as run:
        ...     y = x.exp()
        >>> run.report.saved, run.report.by_line[0].ops
        (8, ('exp',))
    """

    by_line: tuple[LineOfMemory, ...]
    saved: int
    live: int
    before: int
    peak: int
    peak_place: Place | None
    peak_op: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data.

        Example:
            >>> import weft, weft.debug
            >>> with weft.debug.memory() as run:
            ...     y = weft.ones(2)
            >>> sorted(run.report.to_dict())
            ['before', 'by_line', 'live', 'peak', 'peak_op', 'peak_place', 'saved']
        """
        return asdict(self)

    def __str__(self) -> str:
        rows = [
            (
                line_text(Place(one.file, one.line, "") if one.line else None),
                bytes_text(one.bytes),
                f"{100 * one.bytes / self.saved:.1f}%" if self.saved else "-",
                f"{one.count:,}",
                ", ".join(one.ops[:3]) + (", ..." if len(one.ops) > 3 else ""),
                one.source,
            )
            for one in self.by_line[:_MOST_ROWS]
        ]
        rest = self.by_line[_MOST_ROWS:]
        if rest:
            size = sum(one.bytes for one in rest)
            rows.append((f"{len(rest)} more lines", bytes_text(size), "", "", "", ""))
        title = f"{bytes_text(self.saved)} saved for backward"
        table = Table(title, ("line", ">bytes", ">share", ">ops", "op", "source"), tuple(rows))
        what = f"{self.peak_op} at {place_text(self.peak_place)}" if self.peak_op else "none"
        return (
            f"{tables_text([table])}\n"
            f"live: {bytes_text(self.before)} before, {bytes_text(self.live)} after\n"
            f"peak: {bytes_text(self.peak)}, {what}"
        )


class memory:  # noqa: N801 - used as a with statement's block
    """Measure what the lines inside a block keep for backward, and when memory peaks.

    Attributes:
        report: The `MemoryReport`, after the block; printing the block's object prints it too.

    Example:
        >>> import weft, weft.debug
        >>> w = weft.ones(1000, requires_grad=True)
        >>> with weft.debug.memory() as run:
        ...     loss = (w * 2).exp().sum()
        >>> run.report.saved  # the result of exp: its gradient reads it
        4000
        >>> [one.ops for one in run.report.by_line]
        [('exp',)]
    """

    def __init__(self) -> None:
        self._run = Recording(
            values=False,
            title="memory",
            on_node=self._look,
            on_event=self._happened,
            rules=True,
        )
        self._before = 0
        self._peak = 0
        self._counts = {"plan": 0, "rule": 0, "backward": 0}
        # What ran, its number, and in which backward.
        self._peak_at: tuple[str, int, int] = ("", 0, 0)
        self._report: MemoryReport | None = None

    def __enter__(self) -> Self:
        _core.reset_peak_bytes()
        self._before = self._peak = _core.live_bytes()
        self._run.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        live, peak = _core.live_bytes(), _core.peak_bytes()
        self._run.__exit__(kind, error, trace)
        self._report = self._make(self._run.trace(), live, peak)
        self._run.warn_if_interrupted("memory")

    @property
    def report(self) -> MemoryReport:
        """What was measured.

        Raises:
            RuntimeError: If the block has not ended.
        """
        if self._report is None:
            raise RuntimeError("memory: the report is there when the block has ended")
        return self._report

    def __str__(self) -> str:
        return str(self.report)

    def _look(self, run: Recording) -> None:
        self._note("node", len(run) - 1)

    def _happened(self, _: Recording, kind: str) -> None:
        if kind == "backward":
            self._counts["backward"] += 1
            self._counts["rule"] = 0
        else:
            self._note(kind, self._counts[kind])
            self._counts[kind] += 1

    def _note(self, kind: str, number: int) -> None:
        # The core keeps the highest value itself; that it has grown since says what made it.
        peak = _core.peak_bytes()
        if peak > self._peak:
            self._peak = peak
            self._peak_at = (kind, number, self._counts["backward"])

    def _make(self, trace: Trace, live: int, peak: int) -> MemoryReport:
        place, op = self._find_peak(trace)
        lines: dict[tuple[str, int], list[Any]] = {}
        for node in trace.nodes:
            if not node.saved:
                continue
            at = place_of(trace, node)
            key = (at.file, at.line) if at else ("", 0)
            entry = lines.setdefault(key, [0, 0, {}, source_of(at)])
            entry[0] += node.saved
            entry[1] += 1
            entry[2][node.op] = None
        by_line = [
            LineOfMemory(file, line, size, count, tuple(ops), source)
            for (file, line), (size, count, ops, source) in lines.items()
        ]
        by_line.sort(key=lambda one: -one.bytes)
        saved = sum(one.bytes for one in by_line)
        return MemoryReport(tuple(by_line), saved, live, self._before, peak, place, op)

    def _find_peak(self, trace: Trace) -> tuple[Place | None, str]:
        kind, number, backward = self._peak_at
        if kind == "node":
            return place_of(trace, trace.nodes[number]), trace.nodes[number].op
        if kind == "plan" and number < len(trace.plans):
            plan = trace.plans[number]
            return (trace.places[plan.place] if plan.place >= 0 else None), "the plan"
        if kind == "rule":
            steps = trace.backwards[backward].steps
            # A leaf is told of before its gradient is added: what grew was of the rule before.
            rules = [step for step in steps[: number + 1] if step.name != "AccumulateGrad"]
            step = rules[-1] if rules else steps[0]
            if step.nodes:
                node = trace.nodes[step.nodes[0]]
                return place_of(trace, node), f"the gradient of {node.op}"
            return None, step.name
        return None, ""
