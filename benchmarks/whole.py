"""Whole processes, files and lines: import time, wheel, long chains, memory, size of the source."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from benchmarks.measure import Row, Settings, Spread, uses_cpu_time

ROOT = Path(__file__).resolve().parent.parent
CHAIN_LENGTH = 1_000_000
GRAPHS = 10_000
TRACED = 100_000


def run_program(name: str, library: str, size: int) -> dict[str, float]:
    """Run one of programs.py in a process of its own."""
    clock = "process_time" if uses_cpu_time() else "perf_counter"
    command = [sys.executable, "-m", "benchmarks.programs", name, library, str(size), clock]
    result = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    if result.returncode != 0:
        reason = (result.stderr.strip().splitlines() or [f"exit code {result.returncode}"])[-1]
        raise RuntimeError(f"{name} with {library}: {reason}")
    return json.loads(result.stdout)


def process_seconds(code: str, environment: dict[str, str]) -> float:
    """Time one Python process."""

    def children() -> float:
        return sum(os.times()[2:4]) if uses_cpu_time() else time.perf_counter()

    begin = children()
    command = [sys.executable, "-c", code]
    subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
    return children() - begin


def measure_import(settings: Settings) -> list[Row]:
    """Time `import weft`, without NumPy's part: the best process with it less the best without."""
    without, with_weft, with_torch = [], [], []
    with tempfile.TemporaryDirectory() as cache:
        # An installed package is compiled once; some machines are told never to write that down.
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        process_seconds("import numpy, weft, torch", environment)
        for repetition in range(4 if settings.quick else 10):
            without.append(process_seconds("import numpy", environment))
            with_weft.append(process_seconds("import numpy, weft", environment))
            if repetition == 0:
                with_torch.append(process_seconds("import numpy, torch", environment))
    base = min(without)
    weft, torch = (
        Spread(min(times) - base, min(times) - base, min(times) - base, len(times))
        for times in (with_weft, with_torch)
    )
    return [Row("import (NumPy not counted)", weft, torch, "s", "at most", required=0.1)]


def wheel_size() -> tuple[int, str]:
    """Return the size of the newest wheel, or of the package zipped as a wheel would be."""
    wheels = sorted((ROOT / "dist").glob("weft-*.whl"), key=lambda path: path.stat().st_mtime)
    if wheels:
        return wheels[-1].stat().st_size, f"dist/{wheels[-1].name}"
    package = ROOT / "src" / "weft"
    if not list(package.glob("_core*.so")):
        raise FileNotFoundError("there is neither a wheel in dist/ nor a built module in src/weft")
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in package.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.write(path, path.relative_to(package.parent))
    return memory.tell(), "the built package zipped; `make wheel` was not run"


def measure_wheel() -> list[Row]:
    """Weigh the wheel."""
    size, note = wheel_size()
    return [Row("wheel", Spread.of([size]), None, "B", "at most", required=15e6, note=note)]


def measure_long_chain(settings: Settings) -> list[Row]:
    """Record, differentiate and free a chain of a million ops."""
    weft = run_program("long_chain", "weft", CHAIN_LENGTH)
    # PyTorch needs about ten seconds for it.
    torch = {} if settings.quick else run_program("long_chain", "torch", CHAIN_LENGTH)
    parts = ", ".join(f"{part} {weft[part]:.2f}" for part in ("record", "backward", "free"))
    seconds, peak = (
        Spread.of([torch[key]]) if torch else None for key in ("seconds", "peak_bytes")
    )
    return [
        Row(
            "chain of 1,000,000 ops, time",
            Spread.of([weft["seconds"]]),
            seconds,
            "s",
            "at most",
            required=1.5,
            note=parts,
        ),
        Row(
            "chain of 1,000,000 ops, peak memory",
            Spread.of([weft["peak_bytes"]]),
            peak,
            "B",
            "at most",
            required=600e6,
        ),
    ]


def measure_many_graphs() -> list[Row]:
    """Look for what 10,000 steps with different graphs leave behind."""
    weft = run_program("many_graphs", "weft", GRAPHS)
    name = "10,000 steps, each another graph"
    values = {key: Spread.of([value]) for key, value in weft.items()}
    nodes, grown = values["live_nodes"], values["grown_bytes"]
    return [
        Row(f"{name}: time", values["seconds"], None, "s", "at most"),
        Row(f"{name}: live nodes", nodes, None, "nodes", "at most", required=0),
        Row(f"{name}: memory growth", grown, None, "B", "at most", required=2e6),
    ]


def measure_checkpoint() -> list[Row]:
    """Compare the bytes saved by 20 layers without and with checkpoints."""
    weft = run_program("saved_bytes", "weft", 20)
    ratio = Spread.of([weft["ratio"]])
    note = f"{weft['plain'] / 1e6:.1f} MB to {weft['checkpointed'] / 1e6:.1f} MB"
    title = "checkpoint of 20 layers, saved bytes"
    return [Row(title, ratio, None, "x fewer", "at least", required=3.0, note=note)]


def measure_trace() -> list[Row]:
    """Compare a chain of ops with the same chain under the recorder, without values."""
    weft = run_program("traced_chain", "weft", TRACED)
    title = "a trace, a node of a chain"
    note = f"and {weft['trace_seconds'] * 1e6:.1f} us where the trace is made plain data"
    return [
        Row(
            f"{title}: time",
            Spread.of([weft["seconds"]]),
            None,
            "s",
            "at most",
            required=2e-6,
            note=note,
        ),
        Row(f"{title}: memory", Spread.of([weft["bytes"]]), None, "B", "at most", required=400),
    ]


def measure_lines() -> list[Row]:
    """Count lines of C++, comments and blank lines included."""
    files = [path for path in (ROOT / "cpp").rglob("*") if path.suffix in {".h", ".cpp"}]
    counts = {path: len(path.read_text().splitlines()) for path in files}
    engine = counts[ROOT / "cpp" / "weft" / "autograd" / "engine.cpp"]
    rows = {"autograd/engine.cpp": (engine, 299), "C++ in all": (sum(counts.values()), None)}
    return [
        Row(f"lines: {name}", Spread.of([count]), None, "lines", "at most", required=limit)
        for name, (count, limit) in rows.items()
    ]
