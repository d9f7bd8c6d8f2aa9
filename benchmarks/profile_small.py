"""Count the instructions of one small case, function by function.

    python -m benchmarks.profile_small chain                  callgrind: exact, 50 times slower
    python -m benchmarks.profile_small chain --tool perf      samples at full speed
    python -m benchmarks.profile_small chain --tool none      only the loop, for a tool of your own

Callgrind watches the loop alone: Python's start, the imports and the warm-up are not counted. It
knows no AVX-512, so kernels run in their AVX2 form there.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import small

CASES = {
    "op": small.recorded_op,
    "op-unrecorded": small.unrecorded_op,
    "chain": small.chain,
    "act": small.act,
    "adam": small.adam_step,
    "lstm": small.lstm_cells,
    "lstm-layer": small.lstm_layer,
}
COUNTS = {"op": 20_000, "op-unrecorded": 20_000, "chain": 1_000, "act": 1_000}


def watch(state: str) -> None:
    """Switch callgrind's counting on or off from inside the process that it runs."""
    command = ["callgrind_control", "-i", state, str(os.getpid())]
    subprocess.run(command, check=True, capture_output=True)


def run_loop(case: str, library: Any, count: int, *, watched: bool) -> None:
    """Run one case so many times, after a warm-up that no tool sees."""
    library.set_num_threads(1)
    loop = CASES[case](library)
    loop(max(20, count // 10))
    if watched:
        watch("on")
    begin = time.perf_counter()
    loop(count)
    seconds = time.perf_counter() - begin
    if watched:
        watch("off")
    else:
        print(f"{case}: {seconds / count * 1e6:.3f} us each of {count}", flush=True)


def own_command(arguments: argparse.Namespace, count: int, tool: str) -> list[str]:
    """Return the command that runs the loop in a process under a tool."""
    command = [sys.executable, "-m", "benchmarks.profile_small", arguments.case]
    return [*command, "--library", arguments.library, "--count", str(count), "--tool", tool]


def run_or_end(command: list[str]) -> None:
    """Run a command that says itself what went wrong; end if something did."""
    try:
        code = subprocess.run(command, check=False).returncode
    except FileNotFoundError:
        sys.exit(f"{command[0]} is not installed.")
    if code != 0:
        sys.exit(code)


def show_callgrind(arguments: argparse.Namespace, count: int) -> None:
    """Run under callgrind and print the instructions of one repetition."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "callgrind.out")
        tool = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--quiet"]
        command = [*tool, f"--callgrind-out-file={output}"]
        run_or_end([*command, *own_command(arguments, count, "inside")])
        # Counting ended before the process did: the counts are in the last dump that has any.
        dumps = max(Path(folder).glob("callgrind.out*"), key=lambda path: path.stat().st_size)
        for inclusive in ("no", "yes"):
            annotate = ["callgrind_annotate", f"--inclusive={inclusive}", "--threshold=100"]
            text = subprocess.run(
                [*annotate, str(dumps)], check=True, capture_output=True, text=True
            ).stdout
            title = "with what they call" if inclusive == "yes" else "by themselves"
            print(f"\n{arguments.case}: instructions of one repetition, functions {title}")
            print_functions(text, count, arguments.lines)


def print_functions(text: str, count: int, lines: int) -> None:
    """Print callgrind_annotate's table, divided by the number of repetitions."""
    printed = 0
    for line in text.splitlines():
        match = re.match(r"^\s*([\d,]+)\s+\(\s*([\d.]+)%\)\s+(.*)$", line)
        if not match or printed >= lines:
            continue
        name = re.sub(r"\s*\[[^\]]*\]$", "", match[3])
        name = re.sub(r"^\S*?([^/\s:]+):(?!:)", r"\1: ", name)
        print(f"{int(match[1].replace(',', '')) / count:12,.0f}  {match[2]:>6}%  {name[:150]}")
        printed += 1


def show_perf(arguments: argparse.Namespace, count: int) -> None:
    """Run under perf and print where the samples fell."""
    with tempfile.TemporaryDirectory() as folder:
        data = str(Path(folder, "perf.data"))
        record = ["perf", "record", "--quiet", "-e", "cpu-clock", "-F", "5000", "-o", data]
        run_or_end([*record, *own_command(arguments, count, "none")])
        report = ["perf", "report", "-i", data, "--stdio", "--percent-limit", "0.5"]
        text = subprocess.run(report, check=True, capture_output=True, text=True).stdout
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    print("\n".join(lines[: arguments.lines]))


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.profile_small",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--library", default="weft", choices=("weft", "torch"))
    parser.add_argument("--count", type=int, help="repetitions")
    parser.add_argument("--lines", type=int, default=40, help="length of the tables")
    tools = ("callgrind", "perf", "none", "inside")
    parser.add_argument("--tool", default="callgrind", choices=tools)
    arguments = parser.parse_args()
    count = arguments.count or COUNTS.get(arguments.case, 100)
    if arguments.tool == "callgrind":
        show_callgrind(arguments, count)
    elif arguments.tool == "perf":
        show_perf(arguments, arguments.count or count * 100)
    else:
        library = importlib.import_module(arguments.library)
        run_loop(arguments.case, library, count, watched=arguments.tool == "inside")


if __name__ == "__main__":
    main()
