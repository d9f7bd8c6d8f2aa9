"""Datasets that misbehave in workers, where a fresh process can import them; and what is open."""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import weft
from weft.utils.data import Dataset, IterableDataset, get_worker_info


def files() -> int:
    """Return how many descriptors this process has open."""
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))


def children() -> set[int]:
    """Return the processes that this one has started and that are still there.

    The tracker of multiprocessing's resources is not among them: it stays, once there was a spawn.
    """
    text = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="utf-8")
    commands = {
        pid: Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8") for pid in text.split()
    }
    return {int(pid) for pid, command in commands.items() if "resource_tracker" not in command}


class Squares(Dataset[Any]):
    """Tensors of a size, with their index."""

    def __init__(self, length: int = 20, size: int = 3) -> None:
        self.length = length
        self.size = size

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        return weft.full((self.size,), float(index)), index


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def leave() -> None:
    sys.exit(3)


def leave_at_once() -> None:
    os._exit(7)


def crash() -> None:
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)  # a sanitizer would say so by another signal
    os.kill(os.getpid(), signal.SIGSEGV)


class OddError(Exception):
    """Takes more than a text."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(first, second)


def fail() -> None:
    raise KeyError("planted")


def fail_oddly() -> None:
    raise OddError(1, 2)


def sleep() -> None:
    time.sleep(60)


class Trap(Squares):
    """Does something at one index."""

    def __init__(self, index: int, act: Callable[[], None], length: int = 20) -> None:
        super().__init__(length)
        self.index = index
        self.act = act

    def __getitem__(self, index: int) -> Any:
        if index == self.index:
            self.act()
        return super().__getitem__(index)


class Stream(IterableDataset[int]):
    """Numbers, shared out among workers."""

    def __init__(self, length: int, shared: bool = True) -> None:
        self.length = length
        self.shared = shared

    def __iter__(self) -> Iterator[int]:
        info = get_worker_info()
        if info is None or not self.shared:
            return iter(range(self.length))
        return iter(range(info.id, self.length, info.num_workers))


class Informed(Dataset[Any]):
    """Tells who it is and what it draws."""

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> Any:
        info = get_worker_info()
        assert info is not None
        assert isinstance(info.dataset, Informed)
        assert weft.get_num_threads() == 1
        return info.id, info.num_workers, info.seed, os.getpid(), weft.rand(()).item()
