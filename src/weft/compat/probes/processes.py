"""`torch.multiprocessing`: the standard library's, which passes tensors on as copies."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from typing import Any

__all__ = [
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
]


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
