"""Runs the programs of a page and returns what they print."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import warnings
from pathlib import Path
from typing import NamedTuple


class Program(NamedTuple):
    """A program of a page, and what the page says that it prints."""

    name: str
    source: str
    text: str


def programs(page: str) -> list[Program]:
    """Return the programs of a page, all of which must have a name and an output."""
    source = (Path(__file__).parents[2] / "docs" / page).read_text(encoding="utf-8")
    found = re.findall(r"```python\n# (\w+\.py)\n(.*?)```\n\n```text\n(.*?)```", source, re.DOTALL)
    assert len(found) == source.count("```python"), page
    return [Program(*each) for each in found]


def output_of(program: Program) -> str:
    """Run a program in the current folder; return what it prints."""
    Path(program.name).write_text(f"# {program.name}\n{program.source}", encoding="utf-8")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("always")
        runpy.run_path(program.name)
    return printed.getvalue()
