"""Words of reports: places, ranges of numbers, bytes and times, and tables of them."""

from __future__ import annotations

import linecache
import os
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from weft import _core
from weft.tracing import Place, Statistics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.tracing import Input, Node, Trace

_UNITS = ("B", "KiB", "MiB", "GiB")


def place_of(trace: Trace, node: Node) -> Place | None:
    """Return where in the program a node was recorded, if that is known."""
    if node.frame < 0 or trace.frames[node.frame].place < 0:
        return None
    return trace.places[trace.frames[node.frame].place]


def place_at(position: int) -> Place | None:
    """Return the place of one of the core's source positions, if it is known."""
    file, line, function = _core.resolve_position(position)
    return Place(file, line, function, _core.position_offset(position)) if line else None


def short_file(file: str) -> str:
    """Return a file's name from the current folder."""
    here = os.getcwd() + os.sep  # noqa: PTH109 - pathlib is slow to import
    return file.removeprefix(here)


def line_text(place: Place | None) -> str:
    """Name a place as "train.py:12"."""
    return f"{short_file(place.file)}:{place.line}" if place else "an unknown line"


def source_of(place: Place | None) -> str:
    """Return the text of a place's line."""
    return linecache.getline(place.file, place.line).strip() if place else ""


def place_text(place: Place | None) -> str:
    """Name a place with its function and its text: "train.py:12 in step: `h = x.detach()`"."""
    if place is None:
        return "an unknown line"
    where = line_text(place)
    if place.function and place.function != "<module>":
        where += f" in {place.function}"
    source = source_of(place)
    return f"{where}: `{source}`" if source else where


def module_of(trace: Trace, node: Node) -> str:
    """Return the path of the module that a node belongs to, "" outside of modules."""
    return trace.modules[node.module].path if 0 <= node.module < len(trace.modules) else ""


def bytes_text(count: float) -> str:
    """Write a number of bytes with a unit."""
    for unit in _UNITS[:-1]:
        if abs(count) < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} {_UNITS[-1]}"


def seconds_text(seconds: float) -> str:
    """Write a time with a unit."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.2f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} us"


def count_text(count: int, what: str) -> str:
    """Write a number of things: "1 node", "2 nodes"."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


@dataclass(frozen=True, slots=True)
class Range:
    """What is to be said of one tensor: its name if it has one, shape, dtype and numbers."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    value: Statistics | None = None

    @property
    def is_finite(self) -> bool:
        """Whether it has neither NaN nor infinity, as far as is known."""
        return self.value is None or self.value.nans + self.value.infinities == 0

    def __str__(self) -> str:
        text = f"{self.name} {self.shape} {self.dtype}".strip()
        return text if self.value is None else f"{text}, {range_text(self.value)}"


def range_text(value: Statistics) -> str:
    """Say between which numbers a tensor's values lie, and how many are not finite."""
    if value.count == 0:
        return "empty"
    if value.values is not None and value.count == 1:
        return f"value {value.values[0]:g}"
    parts: list[str] = []
    if value.minimum is not None:
        parts.append(f"from {value.minimum:g} to {value.maximum:g}")
    for count, what in ((value.nans, "NaN"), (value.infinities, "infinite")):
        if count:
            parts.append(f"{count} of {value.count} {what}")
    return ", ".join(parts)


def range_of(trace: Trace, read: Input) -> Range:
    """Return what is known of an input of a node."""
    if read.node < 0:
        number = 0.0 if read.number is None else read.number
        return Range("the number", (), "", _of_number(number))
    node = trace.nodes[read.node]
    result = node.results[read.output]
    return Range(node.name, result.shape, result.dtype, result.value)


def _of_number(number: float) -> Statistics:
    is_finite = number - number == 0
    return Statistics(
        1,
        minimum=number if is_finite else None,
        maximum=number if is_finite else None,
        nans=int(number != number),  # noqa: PLR0124 - so NaN is known
        infinities=int(not is_finite and number == number),  # noqa: PLR0124
        values=(number,),
    )


@dataclass(frozen=True)
class Table:
    """Rows of text under headings; a heading that begins with ">" is of a column of numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def plain(self) -> str:
        """Return it as text, for files and pipes."""
        right = [name.startswith(">") for name in self.columns]
        lines = [tuple(name.removeprefix(">") for name in self.columns), *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        texts = [
            "  ".join(
                cell.rjust(width) if to_right else cell.ljust(width)
                for cell, width, to_right in zip(line, widths, right, strict=True)
            ).rstrip()
            for line in lines
        ]
        return "\n".join([self.title, *(f"  {text}" for text in texts)])

    def colored(self) -> str:
        """Return it as a terminal shows it best; needs rich."""
        from rich.console import Console  # noqa: PLC0415 - optional
        from rich.table import Table as Rich  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        table = Rich(title=Text(self.title), title_justify="left")
        for name in self.columns:
            table.add_column(
                name.removeprefix(">"), justify="right" if name.startswith(">") else "left"
            )
        for row in self.rows:
            table.add_row(*(Text(cell) for cell in row))
        console = Console()
        with console.capture() as capture:
            console.print(table)
        return capture.get().rstrip("\n")


def tables_text(tables: Sequence[Table]) -> str:
    """Write tables one after the other: for a terminal if standard output is one."""
    if sys.stdout.isatty() and find_spec("rich"):
        return "\n".join(table.colored() for table in tables)
    return "\n\n".join(table.plain() for table in tables)
