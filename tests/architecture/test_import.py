"""`import weft` brings what every program needs, and nothing that only some do."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Each of these takes milliseconds to import: all of Weft has ninety.
NOT_NEEDED = {
    "asyncio", "difflib", "email", "html", "http", "importlib.metadata", "json", "multiprocessing",
    "pathlib", "pickle", "rich", "socket", "sqlite3", "tempfile", "tokenize", "urllib",
    "websockets", "weft.cli", "weft.compat", "weft.debug", "weft.distributions", "weft.func",
    "weft.serialization", "weft.tracing", "weft.viewer", "zipfile",
}  # fmt: skip


def imported(program: str) -> set[str]:
    """Return what a program imports beyond NumPy, which has its own ideas."""
    words = f"import numpy, greenlet, sys\nseen = set(sys.modules)\n{program}\n"
    ran = subprocess.run(
        [sys.executable, "-c", words + "print(*set(sys.modules) - seen)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(ran.stdout.split())


def test_importing_weft_imports_no_more_than_it_needs() -> None:
    assert imported("import weft") & NOT_NEEDED == set()


@pytest.mark.parametrize("name", ["func", "debug", "distributions", "save", "graph"])
def test_the_rest_is_there_when_it_is_asked_for(name: str) -> None:
    assert imported(f"import weft; weft.{name}") & NOT_NEEDED
