"""What a run has shown so far: written by the program, read by the server."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable

from weft.viewer.pages import page_json, series_json
from weft.viewer.series import Series

_MOST_GRAPHS = 50
_MOST_BYTES = 128 << 20


class Store:
    """The last graphs of a run, its curves, and how it stands, in bounded memory.

    The program adds and never waits; each reader takes what comes next for it. A reader that is
    slow misses the oldest graphs.

    Args:
        title: What the run is called.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self.status = ""
        self.ended: str | None = None
        self._lock = threading.Lock()
        self._graphs: deque[tuple[int, str]] = deque()
        self._bytes = 0
        self._count = 0
        self._series: list[Series] = []
        self._listeners: list[Callable[[], object]] = []

    def listen(self, listener: Callable[[], object]) -> None:
        """Call a function, in the program's thread, when there is something new."""
        self._listeners.append(listener)

    def add_graph(self, graph: str) -> None:
        """Add a graph, as JSON; the oldest go when there are too many."""
        with self._lock:
            self._count += 1
            self._graphs.append((self._count, graph))
            self._bytes += len(graph)
            while len(self._graphs) > _MOST_GRAPHS or (
                len(self._graphs) > 1 and self._bytes > _MOST_BYTES
            ):
                self._bytes -= len(self._graphs.popleft()[1])
        self._tell()

    def add_series(self, series: Series) -> None:
        """Add a curve, which may go on growing."""
        self._series.append(series)

    def set_status(self, text: str) -> None:
        """Say in one line how the run stands."""
        self.status = text
        self._tell()

    def end(self, text: str) -> None:
        """Say that nothing more will come, and why."""
        self.ended = text
        self._tell()

    def next_graph(self, after: int) -> tuple[int, str] | None:
        """Return the oldest graph that is younger than number `after`, with its number."""
        with self._lock:
            return next((one for one in self._graphs if one[0] > after), None)

    def series_version(self) -> int:
        """Return a number that changes when the curves do."""
        return sum(one.version for one in self._series)

    def series_json(self) -> str:
        """Return the curves as JSON."""
        return series_json(self._series)

    def page_json(self, *, live: bool) -> str:
        """Return the page as JSON: the graphs too, unless they come over a socket."""
        with self._lock:
            graphs = [] if live else [graph for _, graph in self._graphs]
        return page_json(self.title, graphs, self.series_json(), live=live)

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()


def message(kind: str, **fields: str | int) -> str:
    """Write a small message to a page."""
    return json.dumps({"kind": kind, **fields})


def graph_message(number: int, graph: str) -> str:
    """Write the message that brings a graph."""
    return f'{{"kind":"graph","number":{number},"graph":{graph}}}'


def series_message(series: str) -> str:
    """Write the message that brings all curves."""
    return f'{{"kind":"series","series":{series}}}'
