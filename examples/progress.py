"""A progress bar: rich's where that is installed, plain text otherwise."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Show = Callable[[float, str], None]


@contextmanager
def progress_bar(title: str) -> Iterator[Show]:
    """Yield a function that is told how much is done (0 to 1) and how things stand."""
    if not sys.stdout.isatty():
        yield _lines()
        return
    try:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415
    except ImportError:
        yield _redrawn(title)
        print()
        return
    name, state = TextColumn("{task.description}"), TextColumn("{task.fields[state]}")
    with Progress(name, BarColumn(), state, TimeElapsedColumn()) as bar:
        task = bar.add_task(title, total=1.0, state="")
        yield lambda done, state: bar.update(task, completed=done, state=state)


def _redrawn(title: str, width: int = 24) -> Show:
    """Draw the bar over itself."""

    def show(done: float, state: str) -> None:
        full = int(done * width)
        bar = "#" * full + "." * (width - full)
        print(f"\r{title} [{bar}] {done:4.0%} {state}\x1b[K", end="", flush=True)

    return show


def _lines() -> Show:
    """Print a line now and then, for a file or a pipe."""
    printed = 0

    def show(done: float, state: str) -> None:
        nonlocal printed
        if done * 10 >= printed + 1:
            printed = int(done * 10)
            print(f"{done:4.0%}  {state}", flush=True)

    return show
