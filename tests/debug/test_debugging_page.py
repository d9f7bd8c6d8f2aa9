"""docs/debugging.md: its programs print what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import Program, output_of, programs

PROGRAMS = programs("debugging.md")


def test_the_page_has_programs() -> None:
    assert len(PROGRAMS) == 7


def without_times(text: str) -> list[str]:
    """Return the lines without times and shares, in an order that does not depend on them."""
    plain = re.sub(r"[\d.]+( us| ms| s\b|%)", "#", text)
    return sorted(" ".join(line.split()) for line in plain.splitlines() if line.strip())


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.name for program in PROGRAMS])
def test_a_program_prints_what_the_page_says(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    printed = output_of(program)
    assert program.text.strip()
    if program.name == "slow.py":
        assert without_times(printed) == without_times(program.text)
        return
    words = program.text.split()
    pattern = r"\s+".join(re.escape(word) for word in words).replace(r"\.\.\.", r".*?")
    assert re.fullmatch(rf"\s*{pattern}\s*", printed, re.DOTALL), printed
