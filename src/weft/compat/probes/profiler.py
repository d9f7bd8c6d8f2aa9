"""`torch.profiler`: PyTorch's questions, answered by `weft.debug.profile`."""

from __future__ import annotations

import enum
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ContextDecorator
from dataclasses import dataclass
from typing import Any, Self

from weft.debug import profile as _Watch

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


class ProfilerActivity(enum.Enum):
    """What could be watched; there is only the CPU."""

    CPU = 0
    CUDA = 2
    XPU = 3


class ProfilerAction(enum.Enum):
    """What a schedule says of a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities() -> set[ProfilerActivity]:
    """Return the CPU."""
    return {ProfilerActivity.CPU}


def schedule(**steps: int) -> Callable[[int], ProfilerAction]:
    """Return a schedule that watches every step."""
    del steps
    return lambda step: ProfilerAction.RECORD  # noqa: ARG005 - the schedule's signature


def tensorboard_trace_handler(dir_name: str, *_: Any, **__: Any) -> Callable[[profile], None]:
    """Return a handler that does nothing: `export_chrome_trace` writes a trace."""
    del dir_name
    return lambda _: None


_ranges: list[dict[str, list[float]]] = []  # of the profilers that watch now


class record_function(ContextDecorator):  # noqa: N801 - PyTorch's name
    """Add the time of a block to the table, under a name.

    Args:
        name: the name.
        args: accepted for PyTorch programs.
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        del args
        self.name = name

    def __enter__(self) -> Self:
        self._start = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        for ranges in _ranges:
            ranges.setdefault(self.name, []).append(time.perf_counter() - self._start)


@dataclass(frozen=True)
class Event:
    """One row: a kind of op, how often it ran, and its microseconds."""

    key: str
    count: int
    cpu_time_total: float

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds without what lies inside; ops have nothing inside."""
        return self.cpu_time_total

    @property
    def cpu_time(self) -> float:
        """Microseconds of one time."""
        return self.cpu_time_total / max(self.count, 1)


class Averages(list[Event]):
    """The rows of a table, the most expensive first."""

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        """Return the rows as a text."""
        del options
        rows = sorted(self, key=lambda event: -(event.count if sort_by == "count" else 0))
        lines = [f"{'Name':<40}  {'CPU total':>12}  {'CPU time avg':>12}  {'# of Calls':>10}"]
        lines += [
            f"{event.key:<40}  {event.cpu_time_total:>10.1f}us  {event.cpu_time:>10.1f}us  "
            f"{event.count:>10}"
            for event in rows[: row_limit if row_limit >= 0 else None]
        ]
        total = sum(event.cpu_time_total for event in self)
        return "\n".join([*lines, f"Self CPU time total: {total:.1f}us", ""])

    def total_average(self) -> Event:
        """Return the sum of all rows."""
        return Event(
            "Total",
            sum(event.count for event in self),
            sum(event.cpu_time_total for event in self),
        )


class profile:  # noqa: N801 - PyTorch's name
    """Watch where the time of a block goes.

    Args:
        activities: accepted for PyTorch programs; the CPU is watched.
        on_trace_ready: called with the profiler at the end.
        options: accepted for PyTorch programs.
    """

    def __init__(
        self,
        activities: Iterable[Any] | None = None,
        *,
        on_trace_ready: Callable[[profile], Any] | None = None,
        **options: Any,
    ) -> None:
        del activities, options
        self._on_trace_ready = on_trace_ready
        self._watch = _Watch()
        self._ranges: dict[str, list[float]] = {}
        self.step_num = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin to watch."""
        _ranges.append(self._ranges)
        self._watch.__enter__()

    def stop(self) -> None:
        """Stop watching."""
        self._watch.__exit__(None, None, None)
        _ranges[:] = [ranges for ranges in _ranges if ranges is not self._ranges]
        if self._on_trace_ready is not None:
            self._on_trace_ready(self)

    def step(self) -> None:
        """Count a step."""
        self.step_num += 1

    def _rows(self) -> Iterator[Event]:
        for name, seconds in self._ranges.items():
            yield Event(name, len(seconds), sum(seconds) * 1e6)
        for row in self._watch.report.by_op:
            yield Event(row.name, row.count, row.seconds * 1e6)

    def key_averages(self, *_: Any, **__: Any) -> Averages:
        """Return a row for each kind of op and each name of `record_function`."""
        return Averages(sorted(self._rows(), key=lambda event: -event.cpu_time_total))

    events = key_averages

    def export_chrome_trace(self, path: str) -> None:
        """Write a trace that Chrome and Perfetto open."""
        self._watch.chrome(path)
