"""DyNet in an environment of its own: it needs an old NumPy.

    python -m benchmarks.models.dynet_environment   # makes it: .venv-dynet, or where it is told

A benchmark makes it by itself, in the folder for temporary files, where there is none.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Spread, uses_cpu_time

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".venv-dynet"
PROGRAM = Path(__file__).with_name("dynet_trees.py")
PACKAGES = ("dyNET38==2.2", "numpy<2")


class NoDyNetError(RuntimeError):
    """DyNet is not here and cannot be installed, or does not run."""


@dataclass(frozen=True)
class Result:
    """The loss of the first batch, and the seconds of a step."""

    loss: float
    seconds: Spread


def last_line(process: subprocess.CompletedProcess[str]) -> str:
    """Return the last line of what a process complained of."""
    return (process.stderr.strip().splitlines() or [f"exit code {process.returncode}"])[-1]


def install(folder: Path) -> None:
    """Make the environment."""
    python = str(folder / "bin" / "python")
    for command in (
        [sys.executable, "-m", "venv", "--clear", str(folder)],
        [python, "-m", "pip", "install", "--quiet", *PACKAGES],
        [python, "-c", "import dynet"],
    ):
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        if process.returncode != 0:
            raise NoDyNetError(f"DyNet cannot be installed: {last_line(process)}")
    (folder / "complete").touch()


def find_python() -> str:
    """Return the interpreter that has DyNet; install it if there is none."""
    temporary = Path(tempfile.gettempdir()) / "weft-benchmark-dynet"
    for folder in (FOLDER, temporary):
        if (folder / "complete").exists():
            return str(folder / "bin" / "python")
    install(temporary)
    return str(temporary / "bin" / "python")


def time_trees(weights: dict[str, Any], batches: list[Any]) -> Result:
    """Run training steps of the Tree-LSTM with DyNet, one batch each."""
    python = find_python()
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "weights.npz", **weights)
        (Path(folder) / "batches.json").write_text(json.dumps(batches))
        clock = "process_time" if uses_cpu_time() else "perf_counter"
        process = subprocess.run(
            [python, str(PROGRAM), folder, clock],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    if process.returncode != 0:
        raise NoDyNetError(f"DyNet does not run: {last_line(process)}")
    result = json.loads(process.stdout.strip().splitlines()[-1])
    return Result(result["loss"], Spread.of(result["seconds"]))


if __name__ == "__main__":
    install(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
