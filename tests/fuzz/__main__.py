"""Make programs, run them in children, and report what broke, each cause once."""

from __future__ import annotations

import argparse
import os
import re
import secrets
import shlex
import sys
import threading
import time
from dataclasses import dataclass, field

from tests.fuzz.programs import Programs
from tests.fuzz.shrink import shrink
from tests.fuzz.watch import Answer, Child, is_sanitized

CHUNK = 200


@dataclass
class Failure:
    """One cause, and where it was first seen."""

    answer: Answer
    number: int
    program: list[str]
    history: list[list[str]]
    count: int = 1


def cause_of(program: list[str], answer: Answer) -> str:
    """Return a text that is the same for the same bug, as far as one can tell."""
    if answer.status == "wrong" or ", in " in answer.text:
        return answer.cause
    # Without a sanitizer's stack only the line that ran is known.
    line = program[min(answer.line, len(program) - 1)]
    return f"{answer.cause} {re.sub(r'[ar][0-9]+', 'x', line).partition('(')[0][:60]}"


@dataclass
class Tally:
    """What has come of the programs so far; shared by the threads that run them."""

    total: int
    next_number: int = 0
    done: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    failures: dict[str, Failure] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    began: float = field(default_factory=time.monotonic)
    shown: float = 0.0

    def take(self) -> range:
        """Hand out the next numbers."""
        with self.lock:
            first = self.next_number
            self.next_number = min(first + CHUNK, self.total)
            return range(first, self.next_number)

    def note(
        self, number: int, program: list[str], answer: Answer, history: list[list[str]]
    ) -> None:
        with self.lock:
            self.done += 1
            self.outcomes[answer.status] = self.outcomes.get(answer.status, 0) + 1
            if answer.is_failure:
                cause = cause_of(program, answer)
                known = self.failures.get(cause)
                if known:
                    known.count += 1
                else:
                    self.failures[cause] = Failure(answer, number, program, history)
            self.show()

    def show(self, last: bool = False) -> None:
        """Draw the progress bar, or write a line now and then where there is no terminal."""
        now = time.monotonic()
        terminal = sys.stderr.isatty()
        if not last and now - self.shown < (0.2 if terminal else 20):
            return
        self.shown = now
        share = self.done / max(self.total, 1)
        rate = self.done / max(now - self.began, 1e-9)
        bar = "#" * int(share * 30)
        text = f"[{bar:<30}] {self.done:>6}/{self.total} calls, {rate:5.0f}/s, "
        text += f"{sum(failure.count for failure in self.failures.values())} failures of "
        text += f"{len(self.failures)} causes"
        print(
            f"\r{text}" if terminal else text,
            end="" if terminal else "\n",
            file=sys.stderr,
            flush=True,
        )


def work(programs: Programs, tally: Tally, timeout: float) -> None:
    """Run chunks of programs in a child of this thread's own until none are left."""
    with Child(timeout) as child:
        while numbers := tally.take():
            made = [programs.make(number) for number in numbers]
            begun = 0
            while begun < len(made):
                position = begun
                for answer in child.run(made[begun:]):
                    tally.note(numbers[position], made[position], answer, made[begun:position])
                    position += 1
                begun = position


def try_child(timeout: float) -> str:
    """Run a program that does nothing; say what is wrong if even that fails."""
    with Child(timeout) as child:
        answer = next(child.run([["pass"]]))
        return "" if answer.status == "ok" else f"{answer.text}\n{child.read_report()}"


def report(failure: Failure, timeout: float, seed: int, smaller: bool) -> str:
    """Describe one cause with the smallest program that shows it."""

    def say(text: str) -> None:
        if sys.stderr.isatty():
            print(f"\r{text:<60}", end="", file=sys.stderr, flush=True)

    program: list[str] | None = failure.program
    if smaller:
        program = shrink(failure.program, failure.answer, timeout, say)
    times = f"{failure.count} time{'s' * (failure.count > 1)}"
    lines = [
        f"{failure.answer.status}: {failure.answer.text}",
        f"  ({times}, program {failure.number})",
    ]
    if program is None:
        lines.append("  It does not fail alone; what ran before it in the same process matters:")
        lines.append(
            f"  python -m tests.fuzz --seed {seed} --first {failure.number - len(failure.history)} "
            f"--calls {len(failure.history) + 1} --jobs 1"
        )
        program = failure.program
    text = "\n".join(["from tests.fuzz.kit import *", *program])
    lines.append(f"  python -c {shlex.quote(text)}")
    return "\n".join(lines)


def main() -> int:
    """Run the command line; the exit status is 1 if anything broke."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--calls", type=int, default=3000, help="how many programs to run")
    parser.add_argument("--seed", type=int, default=None, help="by default another one each time")
    parser.add_argument("--first", type=int, default=0, help="number of the first program")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 4))
    parser.add_argument("--timeout", type=float, default=60.0 if is_sanitized() else 20.0)
    parser.add_argument("--show", action="store_true", help="print the programs and run nothing")
    parser.add_argument("--no-shrink", action="store_true", help="report programs as they are")
    options = parser.parse_args()
    seed = secrets.randbelow(1_000_000) if options.seed is None else options.seed
    programs = Programs(seed)
    kinds = ", ".join(f"{count} {kind}" for kind, count in programs.count().items())
    print(f"seed {seed}: {options.calls} calls with hostile arguments ({kinds})", flush=True)
    print(f"sanitizers: {'on' if is_sanitized() else 'off'}", flush=True)
    if options.show:
        for number in range(options.first, options.first + options.calls):
            print(f"# {number}", *programs.make(number), sep="\n", end="\n\n")
        return 0
    if complaint := try_child(options.timeout):
        print(f"children do not work: {complaint}")
        return 1
    tally = Tally(options.first + options.calls, options.first)
    tally.done = options.first
    threads = [
        threading.Thread(target=work, args=(programs, tally, options.timeout), daemon=True)
        for _ in range(options.jobs)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tally.show(last=True)
    print(
        "\noutcomes: "
        + ", ".join(f"{count} {name}" for name, count in sorted(tally.outcomes.items()))
    )
    ordered = sorted(tally.failures.values(), key=lambda failure: failure.answer.cause)
    for number, failure in enumerate(ordered, 1):
        text = report(failure, options.timeout, seed, smaller=not options.no_shrink)
        print(f"\n---- {number} of {len(ordered)} ----\n{text}", flush=True)
    if tally.done < tally.total:
        print(f"\nonly {tally.done - options.first} of {options.calls} calls were made")
        return 1
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
