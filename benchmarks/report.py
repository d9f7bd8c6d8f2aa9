"""The report: the machine, a table, and the same as JSON."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import SLOW, Row, Spread

RESULTS = Path(__file__).resolve().parent / "results"
FORMAT = 2  # of the JSON document
DISTURBED = 0.1  # so many cores busy with other work make a run worth little
HEADINGS = ("case", "threads", "Weft", "PyTorch", "figure", "required", "aim", "")


def cpu_model() -> str:
    """Return the name of the processor."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def describe_machine(weft: Any, torch: Any) -> dict[str, Any]:
    """Return what a reader must know to compare these numbers with others."""
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "weft": weft.__version__,
        "torch": torch.__version__ if torch else None,
        "torch_vectors": torch.backends.cpu.get_cpu_capability() if torch else None,
        "numpy": np.__version__,
        "time": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
    }


def machine_lines(machine: dict[str, Any]) -> list[str]:
    """Return what ran where."""
    torch = f"PyTorch {machine['torch']} ({machine['torch_vectors']})"
    python = f"NumPy {machine['numpy']}, Python {machine['python']}"
    return [
        f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}",
        f"Weft {machine['weft']}, {torch if machine['torch'] else 'no PyTorch'}, {python}",
    ]


def machine_text(machine: dict[str, Any], threads: tuple[int, ...]) -> str:
    """Return the lines that stand over the table."""
    counts = " and ".join(map(str, threads))
    lines = [
        *machine_lines(machine),
        f"Threads: 1; large work: {counts}. Medians of alternating turns in {machine['clock']},",
        "± half the distance of the quartiles. A figure with an x is PyTorch's median over Weft's;",
        "a miss with ~ has quartiles that overlap.",
    ]
    return "\n".join(lines)


def scaled(value: float, unit: str) -> str:
    """Write a number with a unit that fits its size."""
    scales = {
        "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")),
        "B": ((1e6, "MB"), (1e3, "kB"), (1.0, "B")),
    }.get(unit, ((1.0, unit),))
    factor, name = next((scale for scale in scales if abs(value) >= scale[0]), scales[-1])
    number = value / factor
    is_whole = float(number).is_integer() and factor == 1.0
    text = f"{number:,.0f}" if is_whole or abs(number) >= 1000 else f"{number:.3g}"
    return f"{text} {name}"


def spread_text(spread: Spread | None, unit: str) -> str:
    """Write a median, and the spread where there is one."""
    if spread is None:
        return "-"
    text = scaled(spread.median, unit)
    return text if spread.low == spread.high else f"{text} ±{spread.relative / 2:.0%}"


def bar_text(row: Row, bar: float | None) -> str:
    """Write a bar as the figure is compared with it."""
    if bar is None:
        return "-"
    if row.compare == "ratio":
        return f"{bar:g}x"
    return f"{'<=' if row.compare == 'at most' else '>='} {scaled(bar, row.unit)}"


def cells(row: Row) -> tuple[str, ...]:
    """Return the texts of one row of the table."""
    figure = row.figure
    if figure is None:
        text = "none"
    else:
        text = f"{figure:.2f}x" if row.compare == "ratio" else scaled(figure, row.unit)
    name = f"{row.name} ({row.note})" if row.note else row.name
    return (
        f"{name}: {row.error}" if row.error else name,
        str(row.threads or ""),
        spread_text(row.weft, row.unit),
        spread_text(row.other, row.unit),
        text,
        bar_text(row, row.required),
        bar_text(row, row.aim),
        row.verdict + (" ~" if row.verdict == "MISS" and row.is_close else ""),
    )


def print_table(rows: list[Row]) -> None:
    """Print the table of the report."""
    draw_table(HEADINGS, [cells(row) for row in rows])


def other_work_text(machine: dict[str, Any]) -> str:
    """Return a warning for a run on a busy machine."""
    return f"Other processes kept {machine['other_work']:.1f} cores busy: do not trust this run."


def draw_table(headings: Sequence[str], lines: Sequence[Sequence[str]], width: int = 160) -> None:
    """Print a table, with rich where it is installed.

    Args:
        headings: the first and the last column are text, the others numbers.
        lines: the texts, of which the last one of each line is its verdict.
        width: how wide it is in a file or a pipe, which gets whole lines however narrow the
            terminal may be.
    """
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        print_plain([headings, *lines])
        return
    table = Table(*headings, header_style="bold")
    for column in table.columns[1:-1]:
        column.justify = "right"
        column.no_wrap = True
    styles = {"pass": "green", "-": "dim"}
    for *texts, verdict in lines:
        table.add_row(*map(Text, texts), Text(verdict, styles.get(verdict, "bold red")))
    Console(width=None if sys.stdout.isatty() else width).print(table)


def print_reasons(rows: list[Row]) -> None:
    """Print why rows are slow, each reason once."""
    names: dict[str, list[str]] = {}
    for row in rows:
        if row.is_slow:
            names.setdefault(row.reason or "no reason is given in slower.py", []).append(row.name)
    for reason, slow in names.items():
        print(f"Under {SLOW}: {'; '.join(dict.fromkeys(slow))}: {reason}")


def print_plain(lines: Sequence[Sequence[str]]) -> None:
    """Print a table with spaces."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        aligned = [
            text.ljust(width) if i in (0, len(line) - 1) else text.rjust(width)
            for i, (text, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("  ".join(aligned).rstrip())


def default_path(machine: dict[str, Any], prefix: str = "") -> Path:
    """Return where results go if nobody says where."""
    return RESULTS / f"{prefix}{machine['time'].replace(':', '')[:17]}.json"


def results_of(rows: Sequence[tuple[str, Row]]) -> list[dict[str, Any]]:
    """Return everything that the table shows, unrounded, each with the case that measured it."""
    return [
        {
            "case": case,
            **dataclasses.asdict(row),
            "figure": row.figure,
            "verdict": row.verdict,
            "is_close": row.is_close,
        }
        for case, row in rows
    ]


def document_of(
    machine: dict[str, Any], results: list[dict[str, Any]], seconds: float
) -> dict[str, Any]:
    """Return a document of results."""
    return {"format": FORMAT, "machine": machine, "seconds": round(seconds, 1), "results": results}


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a document of results."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")
