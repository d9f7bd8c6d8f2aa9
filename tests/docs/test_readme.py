"""README.md: its programs do what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def run(program: str, folder: Path) -> str:
    """Run a program of the page as a file in a folder of its own."""
    (folder / "program.py").write_text(program, encoding="utf-8")
    result = subprocess.run(
        [sys.executable, "-W", "error", "program.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_runs(program: str, tmp_path: Path) -> None:
    assert run(program, tmp_path)


def test_the_model_learns_what_the_page_shows(tmp_path: Path) -> None:
    shown = README.split("```text\n")[1].split("```")[0]
    losses, shares = figures(run(PROGRAMS[0], tmp_path))
    assert (losses[0], shares[0]) == (figures(shown)[0][0], figures(shown)[1][0])
    # Another processor rounds otherwise, and 400 steps make something of it.
    assert losses[-1] < 0.1
    assert shares[-1] >= 95
    assert figures(shown)[1][-1] >= 95


def figures(text: str) -> tuple[list[float], list[int]]:
    """Return the losses and the percentages of what the program prints."""
    rows = re.findall(r"step \d+: loss (\S+), right (\d+)%", text)
    assert len(rows) == len(text.splitlines()) == 5
    return [float(loss) for loss, _ in rows], [int(share) for _, share in rows]


def test_a_stranger_reads_it_in_order() -> None:
    headings = re.findall(r"^## (.*)$", README, re.MULTILINE)
    assert headings == [
        "Install",
        "A model",
        "See the graph",
        "Why it is different",
        "Where to go next",
        "When not to use Weft",
    ]
    assert README.count("\n![") == 1
    model = PROGRAMS[0].partition("leaf, join")[2]
    assert len([line for line in model.splitlines() if line]) <= 20
    assert PROGRAMS[0].splitlines()[0] == "import random"
