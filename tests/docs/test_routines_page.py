"""docs/routines.md: its programs print what the page says that Python gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import Program, output_of, programs

PROGRAMS = programs("routines.md")


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.name for program in PROGRAMS])
def test_a_program_prints_what_the_page_says(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert output_of(program) == program.text
