"""Timing: rounds that alternate between libraries, reported as medians with quartiles."""

from __future__ import annotations

import gc
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

# A loop runs its body so many times: the loop itself stands in the case, next to the body, so that
# no function call is counted with an op of a fraction of a microsecond.
Loop = Callable[[int], None]
# A step runs once and says how many seconds each of its parts took.
Step = Callable[[], Mapping[str, float]]


clock = time.perf_counter


def use_cpu_time() -> None:
    """Measure the processor time of this process, which other processes disturb less."""
    global clock  # noqa: PLW0603 - one clock for a whole run
    clock = time.process_time


def uses_cpu_time() -> bool:
    """Tell whether processor time is measured."""
    return clock is time.process_time


def now() -> float:
    """Return the seconds on the clock of this run."""
    return clock()


@dataclass(frozen=True)
class Settings:
    """How long to measure, and with which numbers of threads."""

    quick: bool
    threads: tuple[int, ...]

    @property
    def rounds(self) -> int:
        """How often the libraries take turns."""
        return 7 if self.quick else 15

    @property
    def turn_seconds(self) -> float:
        """How long one turn of one library takes, about."""
        return 0.01 if self.quick else 0.03


@dataclass(frozen=True)
class Spread:
    """A median with the quartiles around it, and how many samples they come from."""

    median: float
    low: float
    high: float
    samples: int

    @classmethod
    def of(cls, samples: list[float]) -> Spread:
        """Summarise samples, of which there is at least one."""
        if len(samples) == 1:
            return cls(samples[0], samples[0], samples[0], 1)
        low, median, high = statistics.quantiles(samples, n=4, method="inclusive")
        return cls(median, low, high, len(samples))

    @property
    def relative(self) -> float:
        """The distance of the quartiles, as a share of the median."""
        return (self.high - self.low) / self.median if self.median else 0.0


Comparison = Literal["ratio", "at most", "at least"]
Verdict = Literal["pass", "MISS", "MISSING", "SLOW", "-"]

SLOW = 0.8  # a row with a lower ratio needs a reason


@dataclass(frozen=True)
class Row:
    """One line of the report.

    Attributes:
        name: what was measured.
        weft: Weft's number; None if it could not be measured.
        other: the number that it is compared with: PyTorch's, unless a note says another.
        unit: "s" for seconds, "B" for bytes, otherwise printed as it is.
        compare: whether the bar is for other / weft, or for Weft's number alone.
        required: the bar; without one the row only informs.
        aim: where it should be one day.
        threads: the number of threads of both libraries, where it is part of the question.
        note: what a reader needs to know besides.
        error: why there is no number.
        reason: why the ratio is under `SLOW` (see slower.py).
    """

    name: str
    weft: Spread | None
    other: Spread | None = None
    unit: str = "s"
    compare: Comparison = "ratio"
    required: float | None = None
    aim: float | None = None
    threads: int | None = None
    note: str = ""
    error: str = ""
    reason: str = ""

    @property
    def figure(self) -> float | None:
        """The number that is held against the bar."""
        if self.weft is None:
            return None
        if self.compare != "ratio":
            return self.weft.median
        if self.other is None or not self.weft.median:
            return None
        return self.other.median / self.weft.median

    @property
    def is_slow(self) -> bool:
        """Whether Weft is so much slower than the peer that the report must say why."""
        return self.compare == "ratio" and self.figure is not None and self.figure < SLOW

    @property
    def verdict(self) -> Verdict:
        """How the number stands against the bar; a dash where there is no bar."""
        if self.figure is None:
            return "MISSING"
        if self.is_slow and not self.reason:
            return "SLOW"
        if self.required is None:
            return "-"
        if self.compare == "at most":
            return "pass" if self.figure <= self.required else "MISS"
        return "pass" if self.figure >= self.required else "MISS"

    @property
    def is_close(self) -> bool:
        """Whether the quartiles overlap once the bar is applied: another run may say otherwise."""
        if self.compare != "ratio" or not (self.weft and self.other and self.required):
            return False
        scale = self.required
        return self.weft.low * scale <= self.other.high and self.other.low <= self.weft.high * scale


class OtherWork:
    """Watches how much of the machine other processes take while we measure."""

    def __init__(self) -> None:
        self.begin = self._now()

    @staticmethod
    def _now() -> tuple[float, float] | None:
        """Return the seconds since some start, and the busy seconds of others since then."""
        counters = Path("/proc/stat")
        if not counters.exists():
            return None
        user, nice, system, _, _, interrupts, soft, stolen, *_ = (
            int(word) for word in counters.read_text().split("\n", 1)[0].split()[1:]
        )
        busy = (user + nice + system + interrupts + soft + stolen) / os.sysconf("SC_CLK_TCK")
        return time.perf_counter(), busy - sum(os.times()[:4])

    def cores(self) -> float | None:
        """Return how many cores others have kept busy, on average; None where it is not known."""
        end = self._now()
        if self.begin is None or end is None:
            return None
        return max(0.0, (end[1] - self.begin[1]) / (end[0] - self.begin[0]))


@contextmanager
def undisturbed() -> Iterator[None]:
    """Keep the cycle collector out of the timing, as timeit does."""
    gc.collect()
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def seconds_of(loop: Loop, count: int) -> float:
    """Time one call of a loop."""
    begin = clock()
    loop(count)
    return clock() - begin


def fitting_count(loop: Loop, seconds: float) -> int:
    """Return how many repetitions take about so many seconds; this also warms up."""
    count = 1
    while (taken := seconds_of(loop, count)) < seconds / 4:
        count *= 4 if taken < seconds / 32 else 2
    return max(1, round(count * seconds / taken))


def take_turns(loops: Mapping[str, Loop], settings: Settings) -> dict[str, Spread]:
    """Time loops in alternating rounds and return the seconds of one repetition of each."""
    samples: dict[str, list[float]] = {name: [] for name in loops}
    with undisturbed():
        counts = {name: fitting_count(loop, settings.turn_seconds) for name, loop in loops.items()}
        for _ in range(settings.rounds):
            for name, loop in loops.items():
                loop(1)  # the other library's turn has emptied the caches
                samples[name].append(seconds_of(loop, counts[name]) / counts[name])
    return {name: Spread.of(times) for name, times in samples.items()}


def alternate_steps(steps: Mapping[str, Step], settings: Settings) -> dict[str, dict[str, Spread]]:
    """Time the parts of large steps in alternating rounds; return spreads by library and part."""
    rounds, least_seconds = (2, 0.03) if settings.quick else (5, 0.08)
    samples: dict[str, dict[str, list[float]]] = {name: {} for name in steps}
    with undisturbed():
        for step in steps.values():
            step()
        for _ in range(rounds):
            for name, step in steps.items():
                # Not counted: it fills the caches and outlasts the other's spinning threads.
                step()
                taken, count = 0.0, 0
                while count < 2 or (taken < least_seconds and count < 50):
                    parts = step()
                    for part, seconds in parts.items():
                        samples[name].setdefault(part, []).append(seconds)
                    taken += sum(parts.values())
                    count += 1
    return {
        name: {part: Spread.of(times) for part, times in parts.items()}
        for name, parts in samples.items()
    }


def set_threads(count: int, *libraries: object) -> None:
    """Give both libraries the same number of threads."""
    for library in libraries:
        library.set_num_threads(count)  # type: ignore[attr-defined]


def say(text: str) -> None:
    """Show progress, on a terminal over the line before."""
    if sys.stderr.isatty():
        width = os.get_terminal_size(sys.stderr.fileno()).columns - 1
        print(f"\r{text[:width]:<{width}}", end="", file=sys.stderr, flush=True)
    elif text:
        print(text, file=sys.stderr, flush=True)
