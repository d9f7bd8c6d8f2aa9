"""How often a run that is watched may be looked at closely."""

from __future__ import annotations

import time

_FIRST = 3
_FIRST_SECONDS = 0.5
_MEMORY = 0.8  # of the typical step, at each step


class Budget:
    """Decides which steps of a run are looked at closely, so that the run is not slowed much.

    A closer look costs time: the step itself takes longer, and a graph is made of it. All looks
    together may take a `share` of the run. The first few are taken anyway, if they are cheap; after
    them, no two steps in a row are looked at, so that times of plain steps are known.

    Args:
        rate: At most so many looks in a second.
        share: Which part of the run's time they may take.
        now: The clock.
    """

    def __init__(self, rate: float, share: float, now: float | None = None) -> None:
        self._pause = 1 / rate
        self._share = share
        self._began = time.perf_counter() if now is None else now
        self._last = -float("inf")
        self._spent = 0.0
        self._looks = 0
        self._just_looked = False
        self._typical: float | None = None

    def allows_look(self, now: float) -> bool:
        """Tell whether to look at the step that begins now."""
        if self._looks < _FIRST and self._spent < _FIRST_SECONDS:
            return True
        if self._typical is None or self._just_looked:
            return False
        end = now + self._typical
        return end - self._last >= self._pause and self._spent <= self._share * (now - self._began)

    def looked(self, now: float, seconds_step: float, seconds_graph: float) -> None:
        """Note that a step was looked at, how long it took, and how long its graph."""
        self._looks += 1
        self._just_looked = True
        self._last = now
        self._spent += seconds_graph
        if self._typical is not None:
            self._spent += max(seconds_step - self._typical, 0.0)
        elif self._looks > 1:
            self._spent += seconds_step

    def passed(self, seconds_step: float) -> None:
        """Note how long a step took that was not looked at."""
        self._just_looked = False
        if self._typical is None:
            self._typical = seconds_step
        else:
            self._typical = _MEMORY * self._typical + (1 - _MEMORY) * seconds_step
