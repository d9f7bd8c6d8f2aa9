"""Runs scripts in processes of their own, under Python and under `weft run`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import weft

SOURCES = str(Path(weft.__file__).parents[1])


def run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run Python with these words, in a folder."""
    environment = os.environ | {"PYTHONPATH": SOURCES}
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def run_on_weft(folder: Path, script: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Write a script and run it as `weft run` does."""
    (folder / "script.py").write_text(script, encoding="utf-8")
    return run(["-m", "weft", "run", "script.py", *words], folder)


def run_plainly(folder: Path, script: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Write a script and run it as `python script.py` does."""
    (folder / "script.py").write_text(script, encoding="utf-8")
    return run(["script.py", *words], folder)
