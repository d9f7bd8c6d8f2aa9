"""Run programs that arrive as lines of JSON, and answer each with a line of JSON.

An answer has "status": "ok", "raised" (an exception, which is fine), "skipped" or "wrong" (an
internal error, or a state that no longer computes), and "text". Not answering is the parent's cue.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import io
import json
import os
import resource
import sys
import tempfile
from typing import Any

from greenlet import GreenletExit

MARK_NAME = "WEFT_FUZZ_LINE"  # number of the file descriptor
EVERY = 25  # programs between two looks at whether the state still computes


def limit_memory() -> None:
    """Make huge allocations fail. Under ASan the parent's options do it, address space cannot."""
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):
        size = 6 << 30
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def resident_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def mark_line(number: int) -> None:
    """Leave behind which line runs now, for the case that it is the last one."""
    if MARK_NAME in os.environ:
        os.pwrite(int(os.environ[MARK_NAME]), number.to_bytes(4, "little"), 0)


def describe(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception as another:  # noqa: BLE001 - what it was made of may do anything
        return f"{type(error).__name__} ({type(another).__name__})"


def run(lines: list[str], namespace: dict[str, Any]) -> dict:
    """Run one program; the first exception ends it."""
    from tests.fuzz.kit import Skip, is_internal

    for number, line in enumerate(lines):
        mark_line(number)
        try:
            exec(compile(line, "<fuzz>", "exec"), namespace)
        except Skip:
            return {"status": "skipped", "text": ""}
        except (Exception, GreenletExit) as error:  # noqa: BLE001 - any is a good answer
            status = "wrong" if is_internal(error) else "raised"
            return {"status": status, "text": describe(error)[:500]}
    return {"status": "ok", "text": ""}


def main() -> None:
    """Serve until there are no more programs."""
    faulthandler.enable()
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    limit_memory()
    from tests.fuzz import kit

    provided = {name: getattr(kit, name) for name in kit.__all__} | {"__name__": "program"}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # a program may write files
        gc.freeze()  # programs collect garbage, in which what is there already takes longest
        for number, given in enumerate(sys.stdin):
            kit.reset()
            with (
                contextlib.redirect_stdout(io.StringIO()),
                contextlib.redirect_stderr(io.StringIO()),
            ):
                answer = run(json.loads(given), dict(provided))
            complaint = kit.left_behind()
            kit.reset()
            if number % EVERY == 0:
                gc.collect()
                complaint = complaint or kit.canary()
            if complaint:
                answer = {"status": "wrong", "text": f"the state is corrupt: {complaint}"}
            answers.write(json.dumps(answer) + "\n")
            if resident_bytes() > 3 << 30:
                break  # the parent starts another one


if __name__ == "__main__":
    main()
