"""Run the benchmarks: `python -m benchmarks [names] [--quick] [--json file]`.

"models" names all models; followed by names, only these of them. A run of all cases on a machine
that does nothing else writes docs/performance.md, and `--publish file` writes it from the results
of an earlier run. `python -m benchmarks cliffs` is a benchmark of its own: see
benchmarks/cliffs/command.py.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import large, page, report, slower, small, whole
from benchmarks.cliffs import command as cliffs
from benchmarks.measure import OtherWork, Row, Settings, say, set_threads, use_cpu_time
from benchmarks.models.cases import build_cases as build_models

MODELS = "models"
ACCURATE = ("tanh", "exp", "sigmoid", "gelu")


def build_cases(weft: Any, torch: Any, settings: Settings) -> dict[str, Callable[[], list[Row]]]:
    """Return what can be named on the command line, in the order of the report."""

    def pair(name: str) -> Callable[[], list[Row]]:
        return partial(small.measure_pair, weft, torch, name, settings)

    cases: dict[str, Callable[[], list[Row]]] = {
        "op": pair("op"),
        "op-unrecorded": pair("op-unrecorded"),
        "chain": partial(small.measure_chain, weft, torch, settings),
        "act": pair("act"),
        "adam": pair("adam"),
        "per-example": pair("per-example"),
        "jacobian": pair("jacobian"),
        "lstm": partial(small.measure_lstm, weft, torch, settings),
    }
    # Small work is measured with one thread, whatever the case before it had set.
    cases = {name: partial(with_one_thread, weft, torch, case) for name, case in cases.items()}
    for name, works in large.work_table().items():
        cases[name] = partial(measure_large, weft, torch, name, works, settings)
    for name in ACCURATE:
        cases[f"{name}-ulp"] = partial(large.measure_ulp, weft, torch, name)
    cases |= {
        "import": partial(whole.measure_import, settings),
        "wheel": whole.measure_wheel,
        "long-chain": partial(whole.measure_long_chain, settings),
        "many-graphs": whole.measure_many_graphs,
        "checkpoint": whole.measure_checkpoint,
        "trace": whole.measure_trace,
        "lines": whole.measure_lines,
    }
    return cases


def with_one_thread(weft: Any, torch: Any, case: Callable[[], list[Row]]) -> list[Row]:
    set_threads(1, weft, torch)
    return case()


def measure_large(
    weft: Any, torch: Any, name: str, works: list[large.Work], settings: Settings
) -> list[Row]:
    rows = []
    for work in works:
        for threads in settings.threads:
            say(f"{name}: {work.name}, threads: {threads}")
            rows += guarded(
                work.name,
                partial(large.measure_work, weft, torch, work, settings, threads=threads),
            )
    return rows


def guarded(name: str, case: Callable[[], list[Row]]) -> list[Row]:
    """Run a case; one that fails becomes a row without a number, and the others still run."""
    try:
        return case()
    except Exception as error:  # noqa: BLE001 - whatever it is, the report must show it
        text = str(error).strip().splitlines()
        return [Row(name, None, error=f"{type(error).__name__}: {text[0] if text else ''}")]


def parse_arguments(names: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help="cases to run; all by default")
    parser.add_argument("--json", type=Path, help="where to write the results")
    parser.add_argument(
        "--threads", type=int, choices=(1, 2), help="for large work; both by default"
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds, for a first look")
    parser.add_argument("--strict", action="store_true", help="exit code 1 if a bar is missed")
    parser.add_argument(
        "--cpu-time",
        action="store_true",
        help="measure processor time instead of time, one thread only: for a busy machine",
    )
    parser.add_argument(
        "--publish",
        type=Path,
        metavar="file",
        help="measure nothing: write docs/performance.md and README's table from these results",
    )
    parser.add_argument("--list", action="store_true", help="print the names of the cases and end")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - {MODELS, *(names or arguments.names)}
    if unknown:
        parser.error(
            f"unknown cases: {', '.join(sorted(unknown))}; known: {', '.join(names or [])}"
        )
    return arguments


def choose_cases(names: list[str], cases: list[str], models: list[str]) -> list[str]:
    """Return the cases to run: all if none is named, all models if only "models" is."""
    if not names:
        return cases
    if MODELS not in names:
        return names
    others = [name for name in names if name != MODELS]
    return others if set(others) & set(models) else others + models


def publish(write: Callable[[], str]) -> int:
    """Write the page and say so, or say why not; return the exit code."""
    try:
        print(write())
    except page.NotPublishableError as error:
        print(f"docs/performance.md is as it was: {error}.", file=sys.stderr)
        return 1
    return 0


def main() -> int:
    if sys.argv[1:2] == ["cliffs"]:
        return cliffs.main(sys.argv[2:])
    arguments = parse_arguments()
    if arguments.publish:
        return publish(lambda: page.publish_file(arguments.publish))
    weft, torch = (importlib.import_module(name) for name in ("weft", "torch"))
    if arguments.cpu_time:
        use_cpu_time()
        arguments.threads = 1
    threads = (arguments.threads,) if arguments.threads else (1, 2)
    settings = Settings(arguments.quick, threads)
    models = build_models(weft, torch, settings, guarded)
    cases = build_cases(weft, torch, settings) | models
    parse_arguments(list(cases))
    if arguments.list:
        print("\n".join(cases))
        return 0
    machine = report.describe_machine(weft, torch)
    machine["clock"] = "processor time" if arguments.cpu_time else "time"
    machine["quick"] = arguments.quick
    print(report.machine_text(machine, threads), flush=True)
    chosen = choose_cases(arguments.names, list(cases), list(models))
    begin, other_work = time.perf_counter(), OtherWork()
    measured: list[tuple[str, Row]] = []
    for i, name in enumerate(chosen):
        say(f"[{i + 1}/{len(chosen)}, {time.perf_counter() - begin:.0f} s] {name}")
        measured += [(name, slower.explain(row)) for row in guarded(name, cases[name])]
    rows = [row for _, row in measured]
    say("")
    seconds = time.perf_counter() - begin
    machine["other_work"] = other_work.cores()
    report.print_table(rows)
    report.print_reasons(rows)
    disturbed = (machine["other_work"] or 0) > report.DISTURBED and not arguments.cpu_time
    if disturbed:
        print(report.other_work_text(machine))
    path = arguments.json or report.default_path(machine)
    document = report.document_of(machine, report.results_of(measured), seconds)
    report.write_json(path, document)
    # What the page shows is a whole run on a quiet machine, unless somebody publishes another.
    options = (arguments.names, arguments.threads, arguments.quick)
    if not any(options) and not disturbed:
        publish(lambda: page.publish_file(path))
    verdicts = [row.verdict for row in rows]
    counts = {verdict: verdicts.count(verdict) for verdict in ("pass", "MISS", "MISSING", "SLOW")}
    summary = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    print(f"{summary}; {seconds:.0f} s; written to {path}")
    failed = counts["MISSING"] + counts["SLOW"]
    return int(failed > 0 or (arguments.strict and counts["MISS"] > 0))


if __name__ == "__main__":
    raise SystemExit(main())
