"""Programs written for PyTorch print with Weft what PyTorch 2.13 printed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PROGRAMS = sorted((TESTS.parent / "examples" / "seeds").glob("*.py"))
# Its weights and its input are drawn: the two libraries draw different numbers from one seed.
RANDOM = {"dynamic_net"}
NUMBER = re.compile(r" *-?\d+\.\d+(e[+-]\d+)?")


def printed(program: Path) -> str:
    """Run a program and return what it prints."""
    result = subprocess.run(
        [sys.executable, "-W", "error", program],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_prints_what_pytorch_prints(program: Path) -> None:
    expected = (TESTS / "seeds_expected" / f"{program.stem}.txt").read_text()
    text = printed(program)
    if program.stem in RANDOM:
        expected, text = NUMBER.sub("#", expected), NUMBER.sub("#", text)
    assert text == expected


def test_one_seed_gives_one_text() -> None:
    program = TESTS.parent / "examples" / "seeds" / "dynamic_net.py"
    assert printed(program) == printed(program)


def test_every_program_has_an_expected_text() -> None:
    expected = {path.stem for path in (TESTS / "seeds_expected").glob("*.txt")}
    assert expected == {program.stem for program in PROGRAMS}
    assert expected >= RANDOM
