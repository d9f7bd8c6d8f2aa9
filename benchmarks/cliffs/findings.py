"""What the times of a model's calls say: speed at certain calls, stalls, later models."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Times = list[float]
# By mode, of one process; of a mode that failed there are fewer calls, or it is not there.
ByMode = dict[str, Times]

EAGER, BY_HAND = "eager", "by hand"
MODES = ("map", "lazy")
# The calls, counted from one, whose median stands for "the n-th call".
WINDOWS = {1: (1, 1), 10: (9, 13), 100: (95, 105), 1000: (995, 1005)}
KNOWN = (50, 105)  # calls by which a model is well known: as the first and as a later of its class
WARM = 20  # stalls count from this call on
STALL = 5.0  # times the median
BARS = {"map": 0.9, "lazy": 0.85}  # of eager Weft's speed, from the 10th call on
CLASS_TOLERANCE = 1.10
PROCESSES_FOR_STALLS = 3

Verdict = Literal["pass", "MISS", "WRONG"]


@dataclass(frozen=True)
class Finding:
    """What was found about one mode of one step of one model.

    Attributes:
        model: the model's name.
        step: "training" or "forward".
        mode: "map" or "lazy".
        seconds: of this mode, by call.
        eager: how often faster than eager Weft, by call.
        by_hand: how often faster than PyTorch batched by hand, by call.
        slowest: the slowest call after warm-up, in medians, and which one it is.
        stalls: the calls that take over `STALL` medians, in each process.
        as_last: how much slower the fifth model of a class is than the first, against eager Weft.
        again: how much slower the first model is once there were five.
        faults: wrong results and exceptions.
    """

    model: str
    step: str
    mode: str
    seconds: dict[int, float]
    eager: dict[int, float]
    by_hand: dict[int, float]
    slowest: tuple[float, int] | None
    stalls: list[list[int]]
    as_last: float | None
    again: float | None
    faults: list[str]

    @property
    def common_stalls(self) -> list[int]:
        """The calls that stall in all processes, if there are enough of those to tell."""
        if len(self.stalls) < PROCESSES_FOR_STALLS:
            return []
        return sorted(set.intersection(*map(set, self.stalls)))

    @property
    def misses(self) -> list[str]:
        """What is not as it should be, in words."""
        bar = BARS[self.mode]
        found = [
            f"call {call:,}: {ratio:.2f} of eager Weft's speed, not {bar}"
            for call, ratio in self.eager.items()
            if call >= 10 and ratio < bar
        ]
        found += [f"call {call:,} stalls in each process" for call in self.common_stalls]
        for what, ratio in (("as fifth of its class", self.as_last), ("again", self.again)):
            if ratio is not None and not 1 / CLASS_TOLERANCE <= ratio <= CLASS_TOLERANCE:
                found.append(f"{what}: {ratio:.2f} times as long")
        return found

    @property
    def verdict(self) -> Verdict:
        """How it stands against the bars."""
        if self.faults:
            return "WRONG"
        return "MISS" if self.misses else "pass"


def window(times: Sequence[float], first: int, last: int) -> list[float]:
    """Return the times of calls that are counted from one; none if they are not all there."""
    return list(times[first - 1 : last]) if len(times) >= last else []


def median_ratio(runs: Iterable[ByMode], mode: str, other: str, calls: tuple[int, int]) -> float:
    """Return how often faster a mode is than another: each call against the same call's data."""
    ratios = [
        theirs / ours
        for run in runs
        for ours, theirs in zip(
            window(run.get(mode, []), *calls), window(run.get(other, []), *calls), strict=False
        )
    ]
    return statistics.median(ratios) if ratios else float("nan")


def at_calls(runs: list[ByMode], mode: str, other: str) -> dict[int, float]:
    """Return how often faster a mode is than another, by call."""
    ratios = {call: median_ratio(runs, mode, other, calls) for call, calls in WINDOWS.items()}
    return {call: ratio for call, ratio in ratios.items() if not math.isnan(ratio)}


def seconds_at_calls(runs: list[ByMode], mode: str) -> dict[int, float]:
    """Return the median of the calls around each call of interest."""
    times = {
        call: [second for run in runs for second in window(run.get(mode, []), *calls)]
        for call, calls in WINDOWS.items()
    }
    return {call: statistics.median(seconds) for call, seconds in times.items() if seconds}


def find_stalls(times: Times) -> dict[int, float]:
    """Return the calls after warm-up in medians."""
    warm = times[WARM - 1 :]
    if not warm:
        return {}
    median = statistics.median(warm)
    return {call: seconds / median for call, seconds in enumerate(warm, WARM)}


def find(model: str, step: str, runs: list[dict[str, Any]]) -> list[Finding]:
    """Return what the runs of one step say, one finding a mode.

    Args:
        model: its name.
        step: "training" or "forward".
        runs: what each process printed (see run.py).
    """
    parts = {part: [run["times"][part] for run in runs] for part in ("first", "last", "again")}
    findings = []
    for mode in MODES:
        stalls = [find_stalls(run.get(mode, [])) for run in parts["first"]]
        slowest = [(ratio, call) for calls in stalls for call, ratio in calls.items()]
        known = median_ratio(parts["first"], mode, EAGER, KNOWN)
        as_last = known / median_ratio(parts["last"], mode, EAGER, KNOWN)
        count = min((len(run.get(mode, [])) for run in parts["again"]), default=0)
        again = known / median_ratio(parts["again"], mode, EAGER, (1, max(1, count)))
        findings.append(
            Finding(
                model,
                step,
                mode,
                seconds_at_calls(parts["first"], mode),
                at_calls(parts["first"], mode, EAGER),
                at_calls(parts["first"], mode, BY_HAND),
                max(slowest, default=None),
                [[call for call, ratio in calls.items() if ratio > STALL] for calls in stalls],
                None if math.isnan(as_last) else as_last,
                None if math.isnan(again) else again,
                [text for run in runs for name, text in run["faults"].items() if name == mode],
            )
        )
    return findings
