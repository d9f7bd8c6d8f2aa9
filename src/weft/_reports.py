"""Reports: what prints as text shows itself at a prompt and in a notebook, too."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Report:
    """What shows its text wherever it is looked at: by print, at a prompt, in a notebook."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the first line is what was found, the rest is why."""
        first, _, rest = escaped(str(self)).partition("\n")
        return f"<b>{first}</b>" + (f"<pre>{rest}</pre>" if rest else "")


def escaped(text: str) -> str:
    """Return text as it stands in HTML."""
    return str(import_module("html").escape(text))  # only notebooks wait for it


def table_html(title: str, head: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    """Return a table of HTML; numbers stand to the right."""
    cells = "".join(f"<th>{escaped(name)}</th>" for name in head)
    lines = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    return (
        f"<table><caption>{escaped(title)}</caption>"
        f"<thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table>"
    )


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return f'<td style="text-align: left">{escaped(value)}</td>'
    return f'<td style="text-align: right">{value:,}</td>'
