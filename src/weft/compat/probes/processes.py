"""`torch.multiprocessing`: the standard library's, which passes tensors on as copies.

Processes are forked: one that starts anew would not find Weft behind its `import torch`.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import wait
from typing import Any, cast

from weft.compat.probes.notices import say_once

__all__ = [
    "Process",
    "get_all_sharing_strategies",
    "get_context",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "set_start_method",
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


def get_context(method: str | None = None) -> Any:
    """Return the context of forked processes, whatever method is asked for."""
    del method
    return multiprocessing.get_context("fork")


def set_start_method(method: str | None, force: bool = False) -> None:
    """Let processes be forked, whatever method is asked for."""
    multiprocessing.set_start_method("fork" if method else None, force)


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
        start_method: accepted for PyTorch programs.

    Raises:
        RuntimeError: if one ends with an error; the others are ended then.
    """
    say_once(_COPIES)
    context = get_context(start_method)
    processes = [context.Process(target=fn, args=(i, *args), daemon=daemon) for i in range(nprocs)]
    for process in processes:
        process.start()
    if not join:
        return processes
    running = {process.sentinel: i for i, process in enumerate(processes)}
    while running:
        for sentinel in wait(list(running)):
            i = running.pop(cast("int", sentinel))
            processes[i].join()
            if processes[i].exitcode:
                for process in processes:
                    process.terminate()
                code = processes[i].exitcode
                raise RuntimeError(f"spawn(): process {i} ended with exit code {code}.")
    return None
