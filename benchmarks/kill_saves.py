"""Kills processes while they save, and checks that each time a whole file is there.

`python -m benchmarks.kill_saves 1000` does it a thousand times (half a minute).
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import weft


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def state(number: int, elements: int) -> dict[str, object]:
    """Return what is saved as number so and so; a mixture of two would be noticed."""
    return {
        "number": number,
        "tensors": [weft.full((elements,), float(number)) for _ in range(4)],
        "end": number,
    }


def is_whole(found: dict[str, object]) -> bool:
    number = found["number"]
    tensors = found["tensors"]
    assert isinstance(tensors, list)
    return found["end"] == number and all(bool((part == number).all()) for part in tensors)


def save_without_end(path: Path, first: int, elements: int, ready: int) -> None:
    number = first
    while True:
        number += 1
        weft.save(state(number, elements), path)
        os.write(ready, b"x")


def kill_one(path: Path, elements: int, pause: random.Random) -> str:
    """Kill a process that saves; return what was found: the old file or a new one."""
    before = weft.load(path)["number"]
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            save_without_end(path, before, elements, writing)
        finally:
            os._exit(1)
    os.close(writing)
    if pause.random() < 0.7:
        os.read(reading, 1)  # the first save is done; the next one has begun
    time.sleep(pause.random() * 0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reading)
    found = weft.load(path)
    if not is_whole(found):
        raise AssertionError(f"{path} holds a mixture")
    return "old" if found["number"] == before else "new"


def kill_many(folder: Path, times: int, elements: int = 100_000, seed: int = 0) -> Counter[str]:
    """Kill so many saves in a folder; return how often which file was found.

    `left over` counts the kills after which a temporary file lay there: those hit a save at work.
    """
    path = folder / "checkpoint"
    weft.save(state(0, elements), path)
    pause = random.Random(seed)
    found: Counter[str] = Counter()
    for _ in range(times):
        found[kill_one(path, elements, pause)] += 1
        found["left over"] += len(names_in(folder)) > 1
        if len(names_in(folder)) > 2:
            raise AssertionError(f"left-overs pile up: {names_in(folder)}")
    weft.save(state(0, elements), path)
    if names_in(folder) != ["checkpoint"]:
        raise AssertionError(f"left-overs stay: {names_in(folder)}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("times", type=int, nargs="?", default=1000)
    parser.add_argument("--elements", type=int, default=100_000, help="of each of four tensors")
    parser.add_argument("--folder", type=Path, help="where to save; a temporary folder")
    options = parser.parse_args()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        found = kill_many(Path(folder), options.times, options.elements)
    sys.stdout.write(
        f"{options.times} kills, {found['old'] + found['new']} whole files: {found['old']} old, "
        f"{found['new']} new; {found['left over']} kills left a temporary file, which the next "
        f"save removed ({time.perf_counter() - start:.0f} s)\n"
    )


if __name__ == "__main__":
    main()
