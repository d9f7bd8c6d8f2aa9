"""Count what the observer's hook costs while nobody observes: instructions, by callgrind.

    python -m benchmarks.observer --other /path/to/checkout/src
    python -m benchmarks.observer --other /path/to/_core.cpython-311-x86_64-linux-gnu.so

A module by itself runs with this checkout's Python files; one that is older than they are needs its
own, so give the folder that they are in.

Runs a chain of 10 x (mul, tanh) on 8 floats, sum and backward, once with the module that is built
here and once with another, such as one that was built before the hook. Instructions are the
difference of a long run and a short one, so that Python's start and the imports do not count;
threads, hash seeds and addresses are fixed. The goal: within 1% of a build without the hook.

Without --other it prints the instructions of this build. Needs valgrind, and says so.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"
SHORT, LONG = 60, 160
GOAL = 0.01
PROGRAM = """
import sys, weft
x = weft.ones(8, requires_grad=True)
def chain():
    y = x
    for _ in range(10):
        y = (y * 1.1).tanh()
    y.sum().backward()
for _ in range(int(sys.argv[1])):
    chain()
"""


def package_with(core: Path, folder: Path) -> Path:
    """Make a folder to import from: this checkout's Python files with another core."""
    package = folder / "weft"
    package.mkdir()
    for path in (SOURCE / "weft").iterdir():
        if not path.name.startswith("_core.cpython") and path.name != "__pycache__":
            (package / path.name).symlink_to(path)
    (package / core.name).symlink_to(core.resolve())
    return folder


def instructions(source: Path, count: int) -> int:
    """Run the chain so many times under callgrind and return the instructions of the process."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(source),
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
    }
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    if shutil.which("setarch"):
        command = ["setarch", platform.machine(), "-R", *command]
    result = subprocess.run(
        [*command, sys.executable, "-c", PROGRAM, str(count)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r"Collected : (\d+)", result.stderr)
    if result.returncode != 0 or found is None:
        said = [line for line in result.stderr.splitlines() if not line.startswith("==")]
        sys.exit("\n".join([f"The chain did not run with {source}:", *said[-5:]]))
    return int(found[1])


def chain_instructions(source: Path) -> float:
    """Return the instructions of one chain."""
    return (instructions(source, LONG) - instructions(source, SHORT)) / (LONG - SHORT)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.observer",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--other", type=Path, help="another _core*.so, or a folder with weft in it")
    other = parser.parse_args().other
    if shutil.which("valgrind") is None:
        print("valgrind is not installed, so no instructions can be counted.")
        return 1
    if other is not None and not (other.is_file() or (other / "weft").is_dir()):
        parser.error(f"{other} is neither a _core*.so nor a folder with weft in it")
    here = chain_instructions(SOURCE)
    print(f"this build:  {here:12,.0f} instructions a chain", flush=True)
    if other is None:
        return 0
    with tempfile.TemporaryDirectory() as folder:
        source = package_with(other, Path(folder)) if other.is_file() else other
        there = chain_instructions(source)
    more = here / there - 1
    print(f"other build: {there:12,.0f} instructions a chain")
    print(f"{more:+.2%}; at most {GOAL:+.0%}: {'pass' if more <= GOAL else 'MISS'}")
    return int(more > GOAL)


if __name__ == "__main__":
    raise SystemExit(main())
