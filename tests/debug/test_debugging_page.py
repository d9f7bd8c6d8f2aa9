"""docs/debugging.md: its programs print what the page says."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import warnings
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "debugging.md"
BLOCKS = re.findall(
    r"```python\n# (\w+\.py)\n(.*?)```\n\n```text\n(.*?)```", PAGE.read_text(), re.DOTALL
)


def output_of(name: str, program: str) -> str:
    """Run a program in the current folder; return what it prints."""
    Path(name).write_text(f"# {name}\n{program}")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("always")
        runpy.run_path(name)
    return printed.getvalue()


def test_the_page_has_programs() -> None:
    assert len(BLOCKS) == PAGE.read_text().count("```python") == 7


def without_times(text: str) -> list[str]:
    """Return the lines without times and shares, in an order that does not depend on them."""
    plain = re.sub(r"[\d.]+( us| ms| s\b|%)", "#", text)
    return sorted(" ".join(line.split()) for line in plain.splitlines() if line.strip())


@pytest.mark.parametrize(("name", "program", "text"), BLOCKS, ids=[block[0] for block in BLOCKS])
def test_a_program_prints_what_the_page_says(
    name: str, program: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    printed = output_of(name, program)
    assert text.strip()
    if name == "slow.py":
        assert without_times(printed) == without_times(text)
        return
    pattern = r"\s+".join(re.escape(word) for word in text.split()).replace(r"\.\.\.", r".*?")
    assert re.fullmatch(rf"\s*{pattern}\s*", printed, re.DOTALL), printed
