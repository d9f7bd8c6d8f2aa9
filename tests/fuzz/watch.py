"""Keep a child process that runs programs, and notice how it dies."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

ROOT = Path(__file__).parents[2]
START = 120.0  # seconds for a child to import everything


@dataclass(frozen=True)
class Answer:
    """What came of a program: ok, raised, skipped, wrong, died or hung."""

    status: str
    text: str
    line: int = 0  # which line of the program, where that is known

    @property
    def is_failure(self) -> bool:
        return self.status in ("wrong", "died", "hung")

    @property
    def cause(self) -> str:
        """A short text that is the same for the same bug."""
        return self.status + ": " + re.sub(r"0x[0-9a-f]+|\d+", "N", self.text.splitlines()[0])[:160]


def is_sanitized() -> bool:
    return "libasan" in os.environ.get("LD_PRELOAD", "")


def describe_death(code: int, report: str) -> str:
    """Say in a line or two how a child ended, from its exit status and what it wrote."""
    ended = signal.Signals(-code).name if code < 0 else f"exit status {code}"
    error = re.search(
        r"^.*(?:ERROR: AddressSanitizer: |runtime error: )(.*)$", report, re.MULTILINE
    )
    frames = re.findall(r"#\d+ \S+ in (.+?) (\S+?):(\d+)", report)
    own = [f"{name} {Path(file).name}:{line}" for name, file, line in frames if "cpp/weft" in file]
    terminated = re.search(r"terminate called.*(?:\n.*what\(\).*)?", report)
    python = re.search(r'File "<fuzz>", line \d+.*', report)
    parts = [ended]
    if error:
        place = re.search(r"(\S+cpp/weft/\S+:\d+):\d+: runtime error", report)
        kind = error[1].split(" on address")[0].split(" on unknown")[0]
        parts.append(kind + (f" at {Path(place[1]).name}" if place else ""))
    elif terminated:
        parts.append(" ".join(terminated[0].split()))
    elif code > 0 and report.strip():
        parts.append(report.strip().splitlines()[-1][:200])  # of an exception in the child itself
    if own:
        parts.append("in " + re.sub(r"\([^()]*\)", "()", own[0])[:120])
    text = ", ".join(parts)
    if len(own) > 1:
        text += "\n" + "\n".join(f"    {frame[:150]}" for frame in own[:6])
    elif not own and python:
        # Without a sanitizer there is the Python stack, up to the program.
        text += "\n" + report[: python.end()].rpartition("first):\n")[2]
    return text


class Child:
    """One process; it is started again when it has died."""

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self.process: subprocess.Popen[bytes] | None = None
        self.report = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the child
        self.mark = tempfile.TemporaryFile()  # noqa: SIM115
        self.buffer = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.report.close()
        self.mark.close()

    def start(self) -> subprocess.Popen[bytes]:
        options = os.environ.get("ASAN_OPTIONS", "")
        environment = os.environ | {
            "PYTHONHASHSEED": "0",
            "WEFT_FUZZ_LINE": str(self.mark.fileno()),
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "ASAN_OPTIONS": f"{options}:max_allocation_size_mb=512:allocator_may_return_null=1"
            ":detect_leaks=0:abort_on_error=1:quarantine_size_mb=64",
        }
        self.report.seek(0)
        self.report.truncate()
        self.buffer = b""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.child"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.report,
            pass_fds=(self.mark.fileno(),),
        )
        return self.process

    def stop(self) -> int:
        """End the process and return its exit status."""
        process, self.process = self.process, None
        if process is None:
            return 0
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        try:
            return process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()

    def read_mark(self) -> int:
        return int.from_bytes(os.pread(self.mark.fileno(), 4, 0), "little")

    def read_report(self) -> str:
        self.report.seek(0)
        return self.report.read().decode(errors="replace")

    def read_line(self, process: subprocess.Popen[bytes], timeout: float) -> bytes | None:
        """Return the next line, an empty one at the end, or None when it takes too long."""
        assert process.stdout is not None
        while b"\n" not in self.buffer:
            if not select.select([process.stdout], [], [], timeout)[0]:
                return None
            data = os.read(process.stdout.fileno(), 1 << 16)
            if not data:
                return b""
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line

    def run(self, programs: list[list[str]]) -> Iterator[Answer]:
        """Run programs in order. Ends early after one that failed; the next run starts afresh."""
        started = self.process is None
        process = self.process or self.start()
        assert process.stdin is not None
        sent = 0
        for done in range(len(programs)):
            # A few programs ahead keep the child busy; more could fill the pipe.
            while sent < len(programs) and sent < done + 4:
                try:
                    process.stdin.write(json.dumps(programs[sent]).encode() + b"\n")
                    process.stdin.flush()
                except BrokenPipeError:
                    break
                sent += 1
            line = self.read_line(process, START if started and done == 0 else self.timeout)
            if line is None:
                process.send_signal(signal.SIGABRT)
                self.stop()
                stack = (
                    self.read_report().rpartition("first):\n")[2].partition('  File "<fuzz>"')[0]
                )
                yield Answer(
                    "hung", f"no answer for {self.timeout:.0f} s\n{stack}", self.read_mark()
                )
                return
            if line == b"":
                code = self.stop()
                if code == 0:  # it has used much memory and ended by itself
                    yield from self.run(programs[done:])
                    return
                text = describe_death(code, self.read_report())
                yield Answer("died", text, self.read_mark())
                return
            answer = Answer(**json.loads(line))
            yield answer
            if answer.is_failure:
                self.stop()
                return
