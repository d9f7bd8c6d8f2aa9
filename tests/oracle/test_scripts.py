"""PyTorch's scripts print the same numbers under PyTorch and under `weft run`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import weft

SCRIPTS = sorted((Path(__file__).parents[2] / "examples" / "pytorch").glob("*.py"))
NUMBER = re.compile(r"[-+]?\d+\.\d*(?:e[-+]?\d+)?|[-+]?\d+")
# Losses agree to four digits; what is near zero, to this.
ABSOLUTE = 2e-4


def printed(*words: str) -> str:
    """Run Python and return what it prints."""
    sources = str(Path(weft.__file__).parents[1])
    result = subprocess.run(
        [sys.executable, *words],
        env=os.environ | {"PYTHONPATH": sources},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_prints_what_pytorch_prints(script: Path) -> None:
    expected = printed(str(script), "--quick")
    got = printed("-m", "weft", "run", str(script), "--quick")
    assert NUMBER.sub("#", got) == NUMBER.sub("#", expected)
    numbers = [[float(each) for each in NUMBER.findall(text)] for text in (got, expected)]
    assert len(numbers[0]) > 5
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-4, abs=ABSOLUTE)
