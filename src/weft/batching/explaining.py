"""`explain`: what ran, in which batches, and why."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any

from weft import _core
from weft._reports import Report, escaped, table_html
from weft.batching.worth import decisions


@dataclass(frozen=True)
class Batch:
    """One op that ran for several rows at once; `equal` others computed the same, and did not run.

    Example:
        >>> import weft
        >>> with weft.lazy():
        ...     x = (weft.ones(2) * 2).tolist()
        >>> batch = weft.explain().plans[-1].batches[-1]
        >>> batch.op, batch.rows
        ('mul', 1)
    """

    op: str
    rows: int
    bytes_copied: int
    seconds: float
    file: str
    line: int
    note: str
    equal: int


@dataclass(frozen=True)
class Plan:
    """What one demand for values ran.

    Example:
        >>> import weft
        >>> with weft.lazy():
        ...     x = (weft.ones(2) * 2).tolist()
        >>> weft.explain().plans[-1].nodes
        2
    """

    batches: tuple[Batch, ...]
    nodes: int
    seconds_planning: float
    seconds: float
    file: str
    line: int


@dataclass(frozen=True, repr=False)
class Explanation(Report):
    """The last plans, how many ops were never needed, and what was decided on cells and maps.

    Example:
        >>> import weft
        >>> with weft.lazy():
        ...     x = (weft.ones(2) * 2).tolist()
        >>> len(weft.explain(1).plans)
        1
    """

    plans: tuple[Plan, ...]
    pending: int
    skipped: int
    inlined_cells: dict[str, str]
    maps: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data.

        Example:
            >>> import weft
            >>> with weft.lazy():
            ...     x = (weft.ones(2) * 2).tolist()
            >>> sorted(weft.explain().to_dict())
            ['inlined_cells', 'maps', 'pending', 'plans', 'skipped']
        """
        return asdict(self)

    def __str__(self) -> str:
        if sys.stdout.isatty() and find_spec("rich"):
            return _colored(self)
        return "\n".join(_lines(self))

    def _repr_html_(self) -> str:
        """Return what a notebook shows: a table for each plan."""
        totals = escaped("\n".join(_totals(self)))
        return "".join(map(_html, self.plans)) + f"<pre>{totals}</pre>"


def _batch(data: dict[str, Any]) -> Batch:
    file, line, _ = _core.resolve_position(data["position"])
    names = ("op", "rows", "bytes_copied", "seconds", "note", "equal")
    return Batch(file=file, line=line, **{name: data[name] for name in names})


def _plan(data: dict[str, Any]) -> Plan:
    file, line, _ = _core.resolve_position(data["position"])
    batches = tuple(_batch(batch) for batch in data["batches"])
    return Plan(batches, data["nodes"], data["seconds_planning"], data["seconds"], file, line)


def explain(plans: int = 1) -> Explanation:
    """Tell what the last plans ran.

    Args:
        plans: How many of the last plans.

    Example:
        >>> import weft
        >>> with weft.lazy():
        ...     x = (weft.ones(2) * 2).tolist()
        >>> weft.explain().plans[-1].batches[-1].op
        'mul'
    """
    found = tuple(_plan(plan) for plan in _core.last_plans()[-plans:])
    inlined = dict(_core.inlined_cells)
    pending, dropped = _core.pending_count(), _core.dropped_count()
    return Explanation(found, pending, dropped, inlined, dict(decisions))


def _place(what: Plan | Batch) -> str:
    name = os.path.basename(what.file)  # noqa: PTH119 - pathlib is slow to import
    return f"{name}:{what.line}" if what.line else "-"


def _note(batch: Batch) -> str:
    equal = f"for {batch.rows + batch.equal}, equal ones once" if batch.equal else ""
    return "; ".join(filter(None, (equal, batch.note)))


def _summary(plan: Plan) -> str:
    return (
        f"plan for {_place(plan)}: {plan.nodes} ops in {len(plan.batches)} batches, "
        f"{plan.seconds * 1e3:.2f} ms ({plan.seconds_planning * 1e3:.2f} ms planning)"
    )


def _html(plan: Plan) -> str:
    """Return a table for a notebook."""
    rows = [
        (
            batch.op,
            batch.rows,
            batch.bytes_copied,
            round(batch.seconds * 1e6, 1),
            _place(batch),
            _note(batch),
        )
        for batch in plan.batches
    ]
    return table_html(_summary(plan), ("op", "rows", "bytes copied", "us", "line", "note"), rows)


def _colored(explanation: Explanation) -> str:
    """Return tables for a terminal."""
    from rich.console import Console  # noqa: PLC0415 - optional
    from rich.table import Table  # noqa: PLC0415

    console = Console()
    with console.capture() as capture:
        for plan in explanation.plans:
            table = Table("op", title=_summary(plan), title_justify="left")
            for name in ("rows", "bytes copied", "us"):
                table.add_column(name, justify="right")
            table.add_column("line")
            table.add_column("note", style="yellow")
            for batch in plan.batches:
                table.add_row(
                    batch.op,
                    f"[bold]{batch.rows}[/bold]" if batch.rows > 1 else "1",
                    f"{batch.bytes_copied:,}",
                    f"{batch.seconds * 1e6:.1f}",
                    _place(batch),
                    _note(batch),
                )
            console.print(table)
        console.print("\n".join(_totals(explanation)))
    return capture.get()


def _lines(explanation: Explanation) -> list[str]:
    lines: list[str] = []
    for plan in explanation.plans:
        lines.append(_summary(plan))
        width = max([20, *(len(batch.op) + 1 for batch in plan.batches)])
        lines.append(f"  {'op':<{width}}{'rows':>6}{'copied':>10}{'us':>9}  line")
        lines.extend(
            f"  {batch.op:<{width}}{batch.rows:>6}{batch.bytes_copied:>10}"
            f"{batch.seconds * 1e6:>9.1f}  {_place(batch)}"
            + (f"  ({_note(batch)})" if _note(batch) else "")
            for batch in plan.batches
        )
    return lines + _totals(explanation)


def _totals(explanation: Explanation) -> list[str]:
    waiting = "1 op" if explanation.pending == 1 else f"{explanation.pending} ops"
    return [
        f"{waiting} pending, {explanation.skipped} never needed",
        *(f"cell {name} runs as it is: {why}" for name, why in explanation.inlined_cells.items()),
        *(f"map of {name}: {how}" for name, how in explanation.maps.items()),
    ]
