"""Watch a program while it runs, and turn its steps into graphs and curves.

Now and then a step is looked at closely, with values, and becomes a graph of the page (`Budget`
says when). The others are recorded without values, which is cheap: so a program that fails has its
graph, and the last step can be shown. Only lazy programs go unrecorded in between, after some
seconds, because ops that are watched are not joined into strands.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from weft import _core
from weft._core import Tensor
from weft.debug.steps import StepWatch, StillAlive, warn
from weft.tracing import Recording
from weft.tracing.boundaries import Boundaries, caller_line
from weft.viewer.budget import Budget
from weft.viewer.overflow import Overflow
from weft.viewer.pages import first_nodes, graph_json
from weft.viewer.series import Series
from weft.viewer.store import Store

_MOST_LOSSES = 4
_SHORTEST = 0.0005  # seconds; of steps that are shorter, some are only counted,
_FIRST_STEPS = 100  # but not the first
_PATIENCE = 5.0  # seconds for which every step of a lazy program is recorded
_MOST_VALUES = 100_000  # of all tensors of a graph together
_FAR_TOO_MANY = 4  # times as many nodes as are shown: not even a part is


class Live:
    """Put the graphs and curves of what a `with` block does into a store.

    Each backward ends a step, and so does each flush of lazy work that no backward follows. An
    exception that leaves the block is shown with the graph so far, and goes on. No error in here
    reaches the program. If graphs of earlier steps stay alive, it says which line holds them.

    Args:
        store: Where they go.
        values: Keep statistics of values and gradients.
        rate: At most so many graphs in a second.
        share: Which part of the program's time may go into graphs.
        most_nodes: How many nodes of a graph are shown.
        every: Record every step of lazy programs too, to the end.
    """

    def __init__(
        self,
        store: Store,
        *,
        values: bool = True,
        rate: float = 2.0,
        share: float = 0.05,
        most_nodes: int = 50_000,
        every: bool = False,
    ) -> None:
        self._store = store
        self._values = values
        self._most_nodes = most_nodes
        self._skips_lazy = not every
        self._budget = Budget(rate, share)
        self._curves = Curves(store)
        self._boundaries = Boundaries(self)
        self._watch = StepWatch()
        self._spare = [Recording(values=False, on_event=self._hear) for _ in range(2)]
        self._last: tuple[Recording, str] | None = None  # a whole step that was not shown
        self._run: Recording | None = None
        self._full: Recording | None = None  # ended because it grew too long
        self._overflow = Overflow(self._is_too_long, self._stop_full, self._show_full)
        self._steps = self._flushes = self._shown = 0
        self._is_watching = self._is_lazy = False
        self._outer: list[int] = []  # the chain of calls around the program

    def __enter__(self) -> Self:
        _watching.append(self)
        self._outer = _core.positions_now()
        self._boundaries.__enter__()
        self._is_watching = True
        self._patient_until = time.perf_counter() + _PATIENCE
        self._begin(looking=True)
        self._overflow.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._is_watching:
            return
        self._is_watching = False
        self._boundaries.__exit__(None, None, None)
        self._overflow.end()
        _watching.remove(self)
        failure = None if isinstance(error, SystemExit) else error
        run = Recording(values=False).__enter__() if self._run is None else self._run
        run.__exit__(type(failure) if failure else None, failure, trace)
        self._safely(self._finish, run, failure)
        self._run = None  # it holds the failure, and with it the program's frames

    # ---- told by Boundaries --------------------------------------------------------------------

    def ended_backward(self, roots: Sequence[Tensor]) -> None:
        """End a step: note its loss, and show its graph if it was looked at."""
        now = time.perf_counter()
        self._steps += 1
        is_short = now - self._began < _SHORTEST and self._steps > _FIRST_STEPS
        if is_short and not self._looking:
            self._pass_on(f"step {self._steps}")
            return
        self._safely(self._end_step, roots, now)

    def began_lazy(self) -> None:
        """End what ran before, if no backward will follow it."""
        now = time.perf_counter()
        without_gradients = not _core.is_grad_enabled()
        if self._ran_plans and (self._without_gradients or self._steps == 0):
            self._safely(self._end_flush, now)
        self._without_gradients = without_gradients

    def ended_map(self, results: Sequence[Tensor]) -> None:
        """End a flush, if its results have no gradient."""
        now = time.perf_counter()
        if self._ran_plans and not any(tensor.requires_grad for tensor in results):
            self._safely(self._end_flush, now)

    @property
    def _ran_plans(self) -> bool:
        """Whether something lazy ran; unrecorded, a map or a lazy scope is taken for it."""
        return self._plans > 0 if self._run is not None else self._is_lazy

    def _hear(self, recording: Recording, kind: str) -> None:
        del recording
        self._plans += kind == "plan"

    # ---- steps ---------------------------------------------------------------------------------

    def _begin(self, *, looking: bool) -> None:
        self._looking = looking
        if looking:
            self._run = Recording(values=self._values, on_event=self._hear)
        elif self._is_lazy and self._skips_lazy and time.perf_counter() > self._patient_until:
            self._run = None
        else:
            self._run = self._spare.pop()
        if self._run is not None:
            self._run.outer = self._outer
            self._run.__enter__()
        self._plans = 0
        self._without_gradients = False
        self._began = time.perf_counter()
        self._first_step = self._steps + 1

    def _end_step(self, roots: Sequence[Tensor], now: float) -> None:
        self._curves.note(self._steps, roots, now, self._looking)
        if (found := self._watch.step()) is not None:
            self._store.set_status(str(found))
            with suppress(StillAlive):  # where warnings are errors
                warn(found)
        self._end(f"step {self._steps}", now)
        self._curves.go_on(self._steps)

    def _end_flush(self, now: float) -> None:
        self._flushes += 1
        self._end(f"flush {self._flushes}", now)

    def _end(self, title: str, now: float) -> None:
        """End a recording, show it or keep it in case it was the last, and begin the next."""
        run = self._run
        if run is not None:
            if not _stopped(run):
                return  # the program records by itself
            self._is_lazy = self._plans > 0
        seconds = (now - self._began) / max(self._steps - self._first_step + 1, 1)
        self._forget_last()
        if run is not None and self._looking:
            self._show(run, title)
            end = time.perf_counter()
            self._budget.looked(end, seconds, end - now)
        else:
            self._last = None if run is None else (run, title)
            self._budget.passed(seconds)
        self._begin(looking=self._budget.allows_look(time.perf_counter()))

    def _pass_on(self, title: str) -> None:
        """Begin the next recording and do nothing else: the quick way past a short step."""
        run = self._run
        if run is None or not _stopped(run):
            return
        self._forget_last()
        self._last = (run, title)
        self._run = self._spare.pop()
        self._run.__enter__()
        self._plans = 0

    def _forget_last(self) -> None:
        if self._last is not None:
            self._last[0].clear()
            self._spare.append(self._last[0])
            self._last = None

    def _show(self, run: Recording, title: str) -> None:
        most, count = self._most_nodes, len(run)
        if count > _FAR_TOO_MANY * most:
            self._store.set_status(f"{title} is not shown: it has {count:,} nodes")
            return
        if count > most:
            title = f"{title}: the first {most:,} of {count:,} nodes"
        was_on = gc.isenabled()
        gc.disable()  # as Recording.trace does, for what comes after it
        try:
            graph = graph_json(first_nodes(run.trace(), most), title, _MOST_VALUES)
        finally:
            if was_on:
                gc.enable()
        self._store.add_graph(graph)
        self._shown += 1

    def _finish(self, run: Recording, error: BaseException | None) -> None:
        """Show what has not been shown: the last whole step, and what came after it."""
        if self._last is not None:
            self._show(*self._last)
        if error is not None:
            self._show(run, f"failed: {type(error).__name__}")
        elif len(run) and (self._plans or self._shown == 0):
            self._show(run, "the end")

    # ---- no step ends --------------------------------------------------------------------------

    def _is_too_long(self) -> bool:
        run, full = self._run, self._full
        return (run is not None and len(run) > self._most_nodes) or (
            full is not None and len(full) > 0
        )

    def _stop_full(self) -> None:
        """End a recording between two ops; a map or a backward is let to its end."""
        run, full = self._run, self._full
        if full is not None:
            full.clear()  # something has set it to work again: a guard around user code
        if run is None or len(run) <= self._most_nodes or not self._boundaries.is_outermost:
            return
        if _stopped(run):
            self._run, self._full = None, run

    def _show_full(self) -> None:
        if self._full is not None and len(self._full) > 0 and self._run is None:
            self._safely(self._show, self._full, "the beginning")
            self._full.clear()

    # ---- trouble -------------------------------------------------------------------------------

    def _safely(self, function: Callable[..., None], *args: Any) -> None:
        """Call a function; if it fails, the program goes on unwatched."""
        try:
            function(*args)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is not the program's
            self._store.set_status(f"not watching any more: {type(error).__name__}: {error}")
            self.leave()

    def leave(self) -> None:
        """Watch no more: after an error, or in a forked process, where nobody would see it."""
        if self._is_watching:
            self._is_watching = False
            _watching.remove(self)
            self._boundaries.__exit__(None, None, None)
            if self._run is not None:
                _stopped(self._run)


_watching: list[Live] = []


def _leave_in_child() -> None:
    for live in tuple(_watching):
        live.leave()


os.register_at_fork(after_in_child=_leave_in_child)


def _stopped(run: Recording) -> bool:
    """End a recording, if this is the place for it: not inside of another one, or of a map."""
    try:
        run.__exit__(None, None, None)
    except ValueError:
        return False
    return True


class Curves:
    """The loss, by the line that calls backward, and the time from one backward to the next.

    Args:
        store: Where they go.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._losses: dict[str, Series] = {}
        self._first_line = ""
        self._times = Series("step time", "s")
        self._before: tuple[int, float] | None = None  # a step, and when the next began

    def note(self, step: int, roots: Sequence[Tensor], now: float, was_looked_at: bool) -> None:
        """Note what a backward began with, and when it ended.

        The time of a step that was looked at closely says nothing, and is left out.
        """
        line = caller_line()
        if all(root.numel() == 1 for root in roots):
            series = self._series(line)
            if series is not None:
                series.add(step, sum(_number(root) for root in roots))
        if not self._first_line:
            self._first_line = line
            self._store.add_series(self._times)
        if line == self._first_line and self._before is not None and not was_looked_at:
            first, began = self._before
            self._times.add(step, (now - began) / (step - first))

    def go_on(self, step: int) -> None:
        """Measure what follows a step from now on: what the viewer did in between is left out."""
        self._before = (step, time.perf_counter())

    def _series(self, line: str) -> Series | None:
        if line not in self._losses:
            if len(self._losses) >= _MOST_LOSSES:
                return None
            name = f"loss, {line}" if self._losses else "loss"
            self._losses[line] = Series(name, "")
            self._store.add_series(self._losses[line])
        return self._losses[line]


def _number(tensor: Tensor) -> float:
    """Return the number in a tensor, without noting that anybody read it."""
    return float(_core.statistics(tensor)[-1][0])
