"""`torch.utils.benchmark`: statements timed by the standard library's `timeit`."""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Compare", "Measurement", "Timer"]


@dataclass
class Measurement:
    """How long a statement took: seconds of runs of `number_per_run` times each."""

    number_per_run: int
    raw_times: list[float]
    stmt: str
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    num_threads: int = 1
    env: str | None = None
    metadata: dict[Any, Any] = field(default_factory=dict[Any, Any])

    @property
    def times(self) -> list[float]:
        """The seconds of one time, by run."""
        return [each / self.number_per_run for each in self.raw_times]

    @property
    def mean(self) -> float:
        """The mean of the runs, in seconds."""
        return statistics.fmean(self.times)

    @property
    def median(self) -> float:
        """The median of the runs, in seconds."""
        return statistics.median(self.times)

    @property
    def iqr(self) -> float:
        """The distance between the first and the third quarter of the runs, in seconds."""
        if len(self.times) < 2:
            return 0.0
        first, _, third = statistics.quantiles(self.times, n=4)
        return third - first

    @property
    def title(self) -> str:
        """What was timed."""
        parts = (self.label or self.stmt, self.sub_label, self.description)
        return ": ".join(part for part in parts if part)

    def __repr__(self) -> str:
        which = "Median" if len(self.times) > 1 else ""
        return (
            f"<{type(self).__module__}.Measurement object>\n{self.title}\n"
            f"  {which} {_readable(self.median)}\n"
            f"  {len(self.raw_times)} measurement(s), {self.number_per_run} runs per measurement, "
            f"{self.num_threads} thread(s)"
        )


def _readable(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.2f} {unit}"
    return f"{seconds / 1e-9:.2f} ns"


class Timer:
    """Time a statement.

    Args:
        stmt: the code to time.
        setup: code to run once before.
        global_setup: accepted for PyTorch programs.
        globals: the names that the code may use.
        label: what is timed, for people.
        sub_label: the same, closer.
        description: the same, for tables.
        env: the same, for where it runs.
        num_threads: noted; the number of threads stays as it is.
        options: accepted for PyTorch programs.
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        **options: Any,
    ) -> None:
        del global_setup, options
        self._timer = timeit.Timer(stmt, setup, globals=globals)
        self._words: dict[str, Any] = {
            "stmt": stmt,
            "label": label,
            "sub_label": sub_label,
            "description": description,
            "env": env,
            "num_threads": num_threads,
        }

    def _measured(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, times, **self._words)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """Run the statement this many times, as one measurement."""
        return self._measured(number, [self._timer.timeit(number)])

    def blocked_autorange(self, callback: Any = None, min_run_time: float = 0.2) -> Measurement:
        """Measure again and again until the time is over."""
        del callback
        number, seconds = 1, self._timer.timeit(1)
        while seconds < min_run_time / 1000:
            number *= 10
            seconds = self._timer.timeit(number)
        times = [seconds]
        while sum(times) < min_run_time:
            times.append(self._timer.timeit(number))
        return self._measured(number, times)

    adaptive_autorange = blocked_autorange


class Compare:
    """Print measurements under each other.

    Args:
        results: the measurements.
    """

    def __init__(self, results: Sequence[Measurement]) -> None:
        self._results = list(results)

    def extend_results(self, results: Sequence[Measurement]) -> None:
        """Add measurements."""
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Do nothing: times are printed with two digits after the point."""

    colorize = highlight_warnings = trim_significant_figures

    def __str__(self) -> str:
        return "\n".join(f"{_readable(each.median):>12}  {each.title}" for each in self._results)

    def print(self) -> None:
        """Print the table."""
        print(self)  # noqa: T201 - that is what it is for
