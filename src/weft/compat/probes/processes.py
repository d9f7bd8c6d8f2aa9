"""`torch.multiprocessing`: the standard library's, which passes tensors on as copies."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from typing import Any

from weft.compat.probes.notices import say_once

__all__ = [
    "Process",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
]


_COPIES = "torch.multiprocessing passes tensors on as copies: processes share no memory."


class Process(multiprocessing.Process):
    """A process; the first one says that it shares no tensors with the others.

    Args:
        args: as of the standard library's.
        kwargs: as of the standard library's.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        say_once(_COPIES)
        super().__init__(*args, **kwargs)


def get_all_sharing_strategies() -> set[str]:
    """Return an empty set: memory is not shared."""
    return set()


def get_sharing_strategy() -> str:
    """Return "copy"."""
    return "copy"


def set_sharing_strategy(new_strategy: str) -> None:
    """Do nothing: memory is not shared."""


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> list[Any] | None:
    """Call `fn(i, *args)` in processes of their own.

    Args:
        fn: the function.
        args: its arguments after the process's number.
        nprocs: how many processes.
        join: whether to wait for all of them.
        daemon: whether they end with this one.
        start_method: how they are made.

    Raises:
        RuntimeError: if one ends with an error.
    """
    say_once(_COPIES)
    context = multiprocessing.get_context(start_method)
    processes: list[Any] = [
        getattr(context, "Process")(target=fn, args=(i, *args), daemon=daemon)  # noqa: B009 - it has one
        for i in range(nprocs)
    ]
    for process in processes:
        process.start()
    if not join:
        return processes
    for i, process in enumerate(processes):
        process.join()
        if process.exitcode:
            raise RuntimeError(f"spawn(): process {i} ended with exit code {process.exitcode}.")
    return None
