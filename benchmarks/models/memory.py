"""Peak memory of a Tree-LSTM training step, tape included, against hand-batched PyTorch.

Each in a process of its own: `python -m benchmarks.models.memory weft 256 64` prints the bytes
that the step needed beyond what a small step before it had left behind.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.measure import Row, Settings, Spread
from benchmarks.models import tree_lstm
from benchmarks.models.common import MAIN_BATCH, Size
from benchmarks.models.trees import read_trees
from benchmarks.programs import peak_bytes, resident_bytes

ROOT = Path(__file__).resolve().parents[2]
WAYS = ("weft", "torch")
# "Within 1.5x of hand-batched", as PyTorch's bytes over Weft's.
BAR = round(1 / 1.5, 3)


def make_step(way: str, hidden: int) -> Any:
    """Return what trains on a batch."""
    library = importlib.import_module(way)
    library.set_num_threads(1)
    model = tree_lstm.make_model(library, hidden)
    steps = tree_lstm.training_steps(library, library, model, model)
    return steps["lazy" if way == "weft" else "torch by hand + index"]


def peak_of_step(way: str, hidden: int, batch: int) -> int:
    """Run one step and return by how much memory grew at its highest."""
    trees = read_trees(batch + 2)
    step = make_step(way, hidden)
    step(trees[batch:])  # code, weights' gradients and workspaces are there afterwards
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
    before = resident_bytes()
    step(trees[:batch])
    return peak_bytes() - before


def measure(settings: Settings) -> list[Row]:
    """Measure each hidden size at the main batch size."""
    rows = []
    for hidden in (256,) if settings.quick else (64, 256, 512):
        peaks = []
        for way in WAYS:
            command = [sys.executable, "-m", "benchmarks.models.memory", way, str(hidden)]
            process = subprocess.run(
                [*command, str(MAIN_BATCH)],
                cwd=ROOT,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            if process.returncode != 0:
                lines = process.stderr.strip().splitlines()
                raise RuntimeError(lines[-1] if lines else f"exit code {process.returncode}")
            peaks.append(Spread.of([float(process.stdout)]))
        title = f"Tree-LSTM, {Size(hidden, MAIN_BATCH)}, peak memory: lazy / torch by hand"
        rows.append(Row(title, peaks[0], peaks[1], "B", required=BAR))
    return rows


if __name__ == "__main__":
    print(peak_of_step(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
