"""Run `python -m benchmarks cliffs`: map and lazy against eager Weft, call after call.

Each model runs in processes of its own (see run.py). A ratio is the median, over a few calls around
the first, 10th, 100th and 1,000th, of the other's time over ours for the same data.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.cliffs.findings import (
    BARS,
    CLASS_TOLERANCE,
    PROCESSES_FOR_STALLS,
    STALL,
    WARM,
    WINDOWS,
    Finding,
    find,
)
from benchmarks.cliffs.models import MODELS
from benchmarks.measure import OtherWork, say

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT = 1800
QUICK_CALLS, ALL_CALLS = WINDOWS[100][1], WINDOWS[1000][1]
HEADINGS = (
    "model, step: mode",
    *(f"call {call:,}" for call in WINDOWS),
    *(f"hand {call:,}" for call in WINDOWS),
    "slowest",
    "fifth",
    "again",
    "",
)


def parse_arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks cliffs", description=__doc__)
    parser.add_argument("--models", help="names with commas between; all by default")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_CALLS} calls of each")
    parser.add_argument(
        "--processes",
        type=int,
        default=1,
        help=f"so many of each model; {PROCESSES_FOR_STALLS} tell stalls from a busy machine",
    )
    parser.add_argument("--json", type=Path, help="where to write the results")
    parser.add_argument(
        "--strict", action="store_true", help="exit code 1 if a bar is missed, not only if wrong"
    )
    parser.add_argument("--cpu-time", action="store_true", help="measure processor time instead")
    parser.add_argument("--list", action="store_true", help="print the models and end")
    arguments = parser.parse_args(words)
    arguments.models = arguments.models.split(",") if arguments.models else list(MODELS)
    unknown = set(arguments.models) - set(MODELS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(MODELS)}")
    return arguments


def run_process(model: str, step: str, calls: int, clock: str) -> dict[str, Any]:
    """Measure a model in a process of its own."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.cliffs.run"]
    command += [model, step, str(calls), clock]
    result = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    if result.returncode != 0:
        reason = (result.stderr.strip().splitlines() or [f"exit code {result.returncode}"])[-1]
        nothing: dict[str, Any] = {"first": {}, "last": {}, "again": {}}
        return {"times": nothing, "faults": dict.fromkeys(BARS, reason)}
    return json.loads(result.stdout)


def cells(finding: Finding) -> tuple[str, ...]:
    """Return the texts of one line of the table."""

    def at_call(call: int) -> str:
        if call not in finding.seconds:
            return ""
        return f"{finding.seconds[call] * 1e3:.2f} ms {finding.eager[call]:.2f}x"

    def ratio(number: float | None) -> str:
        return "" if number is None else f"{number:.2f}x"

    return (
        f"{finding.model}, {finding.step}: {finding.mode}",
        *map(at_call, WINDOWS),
        *(ratio(finding.by_hand.get(call)) for call in WINDOWS),
        "{:.1f}x at {:,}".format(*finding.slowest) if finding.slowest else "",
        ratio(finding.as_last),
        ratio(finding.again),
        finding.verdict,
    )


def print_summary(findings: list[Finding]) -> None:
    """Print which models miss what."""
    for finding in findings:
        for text in (*finding.faults, *finding.misses):
            print(f"{finding.model}, {finding.step}, {finding.mode}: {text}")
    if any(len(finding.stalls) < PROCESSES_FOR_STALLS for finding in findings):
        seen = [
            f"{finding.model}, {finding.step}, {finding.mode}"
            for finding in findings
            if any(finding.stalls)
        ]
        print(
            f"Calls over {STALL:g} medians, which only --processes {PROCESSES_FOR_STALLS} can tell "
            f"from a busy machine: {'; '.join(seen) or 'none'}"
        )
    verdicts = [finding.verdict for finding in findings]
    counts = (f"{verdicts.count(verdict)} {verdict}" for verdict in ("pass", "MISS", "WRONG"))
    print(", ".join(counts))


def main(words: list[str]) -> int:
    arguments = parse_arguments(words)
    if arguments.list:
        print("\n".join(arguments.models))
        return 0
    weft = importlib.import_module("weft")
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        torch = None
    machine = report.describe_machine(weft, torch)
    clock = "process_time" if arguments.cpu_time else "perf_counter"
    machine |= {"clock": clock, "processes": arguments.processes}
    print(*report.machine_lines(machine), sep="\n", flush=True)
    calls = QUICK_CALLS if arguments.quick else ALL_CALLS
    begin, other_work = time.perf_counter(), OtherWork()
    findings: list[Finding] = []
    results: list[dict[str, Any]] = []
    for i, name in enumerate(arguments.models):
        for step in MODELS[name].steps:
            seconds = time.perf_counter() - begin
            say(f"[{i + 1}/{len(arguments.models)}, {seconds:.0f} s] {name}, {step}")
            runs = [run_process(name, step, calls, clock) for _ in range(arguments.processes)]
            found = find(name, step, runs)
            findings += found
            results.append({"model": name, "step": step, "runs": runs})
            results[-1]["findings"] = [
                {**dataclasses.asdict(one), "misses": one.misses, "verdict": one.verdict}
                for one in found
            ]
    say("")
    machine["other_work"] = other_work.cores()
    print(
        f"Training is forward and backward; one thread. Times and how often faster than eager "
        f"Weft; hand: than PyTorch batched by hand; slowest: from call {WARM} on, in medians; "
        f"fifth, again:\nthe fifth model of its class, and the first after it, in times of the "
        f"first. Bars: {BARS['map']} (map) and {BARS['lazy']} (lazy) from call 10 on, no stall, "
        f"within {CLASS_TOLERANCE - 1:.0%} for a class."
    )
    report.draw_table(HEADINGS, [cells(finding) for finding in findings], width=210)
    print_summary(findings)
    if (machine["other_work"] or 0) > 0.1:
        print(report.other_work_text(machine))
    path = arguments.json or report.default_path(machine, "cliffs-")
    seconds = time.perf_counter() - begin
    report.write_json(path, report.document_of(machine, results, seconds))
    print(f"{seconds:.0f} s; written to {path}")
    verdicts = {finding.verdict for finding in findings}
    return int("WRONG" in verdicts or (arguments.strict and "MISS" in verdicts))
