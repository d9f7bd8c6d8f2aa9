"""What a pending node costs: to record, plan, bind and free, in bytes, and to park and wake.

Measured in processes of their own, `python -m benchmarks.models.costs perf_counter times 5`, which
print JSON: memory that was used before would hide what nodes take.
"""

from __future__ import annotations

import gc
import importlib
import json
import subprocess
import sys
import time
from itertools import repeat
from pathlib import Path
from typing import Any

from benchmarks.measure import Row, Settings, Spread, uses_cpu_time
from benchmarks.programs import resident_bytes

ROOT = Path(__file__).resolve().parents[2]
PENDING = 300_000
CHAINS, LENGTH = 256, 40  # the graph whose nodes are recorded, planned, bound and freed
FIBERS, PARKS, DEPTH = 256, 20, 10

# Required, with the unit; from the issue.
BARS = {
    "record": (0.15e-6, "s"),
    "record with gradients": (None, "s"),
    "plan": (0.05e-6, "s"),
    "bind": (None, "s"),
    "free": (None, "s"),
    "bind and free": (0.05e-6, "s"),
    "bytes while pending": (200, "B"),
    "bytes while pending with gradients": (None, "B"),
    "park and wake, ten calls deep": (4e-6, "s"),
}

clock = time.perf_counter


def record_chains(weft: Any, starts: list[Any], y: Any) -> tuple[list[Any], float]:
    """Record chains of (mul, tanh) and return their ends, with the seconds that it took."""
    ends = []
    with weft.lazy():
        begin = clock()
        for h in starts:
            for _ in repeat(None, LENGTH // 2):
                h = (h * y).tanh()
            ends.append(h)
        seconds = clock() - begin
    return ends, seconds


def node_times(weft: Any, *, gradients: bool) -> dict[str, float]:
    """Record, plan, bind and free once; return the seconds of a node."""
    core, nodes = weft._core, CHAINS * LENGTH
    starts = [weft.full((8,), 0.01 * i).requires_grad_(gradients) for i in range(CHAINS)]
    y = weft.linspace(0.5, 1.5, 8)
    ends, recorded = record_chains(weft, starts, y)
    core.forget_plans()
    begin = clock()
    core.run_tensors(ends)
    ran = clock() - begin
    plans = core.last_plans()
    if sum(plan["nodes"] for plan in plans) != nodes:
        raise RuntimeError(f"{plans[0]['nodes']} nodes ran in the first plan, not {nodes}")
    planning = sum(plan["seconds_planning"] for plan in plans)
    kernels = sum(batch["seconds"] for plan in plans for batch in plan["batches"])
    begin = clock()
    del ends
    freed = clock() - begin
    return {
        "record": recorded / nodes,
        "plan": planning / nodes,
        "bind": (ran - planning - kernels) / nodes,
        "free": freed / nodes,
    }


def pending_bytes(weft: Any, *, gradients: bool) -> float:
    """Return how much memory a pending node takes: a chain of which only the end is held."""
    x = weft.ones(8).requires_grad_(gradients)
    y = weft.ones(8)
    gc.collect()
    with weft.lazy():
        begin = resident_bytes()
        h = x
        for _ in repeat(None, PENDING):
            h = h * y
        grown = resident_bytes() - begin
    if weft._core.pending_count() != PENDING:
        raise RuntimeError(f"{weft._core.pending_count()} nodes are pending, not {PENDING}")
    return grown / PENDING


def park_seconds(weft: Any) -> float:
    """Return the seconds of a park: reading in fibers, less the same work without them."""
    xs = [weft.full((8,), float(i)) for i in range(FIBERS)]

    def descend(depth: int, x: Any) -> Any:
        if depth:
            return descend(depth - 1, x)
        for _ in range(PARKS):
            x = x + 1
            x.sum().item()
        return None

    begin = clock()
    weft.map(lambda x: descend(DEPTH, x), xs)
    with_fibers = clock() - begin
    begin = clock()
    for _ in range(PARKS):  # the plans of the map: one step of all examples in each
        with weft.lazy():
            xs = [x + 1 for x in xs]
            sums = [x.sum() for x in xs]
        weft._core.run_tensors(sums)
        for value in sums:
            value.item()
    return (with_fibers - (clock() - begin)) / (FIBERS * PARKS)


def measure_times(weft: Any, turns: int) -> dict[str, list[float]]:
    """Measure what takes time, after a first turn that does not count."""
    gc.disable()
    results: dict[str, list[float]] = {}
    for turn in range(turns + 1):
        plain = node_times(weft, gradients=False)
        times = node_times(weft, gradients=True)
        found = {
            **times,
            "record": plain["record"],
            "record with gradients": times["record"],
            "bind and free": times["bind"] + times["free"],
            "park and wake, ten calls deep": park_seconds(weft),
        }
        if turn > 0:
            for name, value in found.items():
                results.setdefault(name, []).append(value)
    return results


def measure_here(what: str, turns: int) -> dict[str, list[float]]:
    """Measure in this process, which is new."""
    weft = importlib.import_module("weft")
    weft.set_num_threads(1)
    if what == "times":
        return measure_times(weft, turns)
    return {what: [pending_bytes(weft, gradients=what.endswith("gradients"))]}


def run_process(what: str, settings: Settings) -> dict[str, list[float]]:
    """Measure in a process of its own."""
    clock_name = "process_time" if uses_cpu_time() else "perf_counter"
    turns = "5" if settings.quick else "15"
    command = [sys.executable, "-m", "benchmarks.models.costs", clock_name, what, turns]
    process = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    if process.returncode != 0:
        lines = process.stderr.strip().splitlines()
        raise RuntimeError(lines[-1] if lines else f"exit code {process.returncode}")
    return json.loads(process.stdout)


def measure(settings: Settings) -> list[Row]:
    """Measure all costs of the table above."""
    results = run_process("times", settings)
    for name, (_, unit) in BARS.items():
        if unit == "B":
            results |= run_process(name, settings)
    return [
        Row(f"a node: {name}", Spread.of(results[name]), None, unit, "at most", required=bar)
        for name, (bar, unit) in BARS.items()
    ]


if __name__ == "__main__":
    clock = getattr(time, sys.argv[1])
    print(json.dumps(measure_here(sys.argv[2], int(sys.argv[3]))))
