"""What a worker process of a loader does: fetch batches and send them, until nobody wants more."""

from __future__ import annotations

import os
import pickle
import random
import signal
import socket
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft import _core
from weft.random import manual_seed
from weft.utils.data import transport
from weft.utils.data.fetching import Fetch, NoMore, make_fetch

# How often a worker looks whether its parent is still there, in seconds.
_LOOK = 2.0


@dataclass(frozen=True)
class WorkerInfo:
    """What `get_worker_info` tells a worker of itself.

    Attributes:
        id: The worker's number, from 0 to before `num_workers`.
        num_workers: How many workers there are.
        seed: What this worker's random numbers begin from.
        dataset: The worker's copy of the dataset.

    Example:
        >>> import weft
        >>> weft.utils.data.get_worker_info() is None  # in the main process
        True
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Return the number of this worker process and of all, or None in the main process.

    Example:
        >>> from weft.utils.data import get_worker_info
        >>> get_worker_info() is None
        True
    """
    return _info


@dataclass(frozen=True)
class Task:
    """One batch to fetch; tasks are numbered, anew in each epoch."""

    epoch: int
    number: int
    request: Any


@dataclass(frozen=True)
class Result:
    """What became of a task: a batch, a failure, or the news that there is no more."""

    epoch: int
    number: int
    batch: Any = None
    failure: Failure | None = None
    has_ended: bool = False


@dataclass(frozen=True)
class Failure:
    """An exception of a worker, as text, with its type if that can be sent."""

    kind: type[BaseException]
    text: str

    @staticmethod
    def of(error: BaseException) -> Failure:
        """Describe an exception with its traceback."""
        kind = type(error)
        try:
            pickle.loads(pickle.dumps(kind))
        except Exception:  # noqa: BLE001 - a local class, or one that does not pickle for its own reasons
            kind = RuntimeError
        return Failure(kind, "".join(traceback.format_exception(error)).rstrip())


@dataclass(frozen=True)
class Plan:
    """All that a worker needs to know, sent when it starts."""

    id: int
    num_workers: int
    base_seed: int
    dataset: Any
    is_batched: bool
    collate_fn: Callable[[Any], Any]
    worker_init_fn: Callable[[int], Any] | None


def work(plan: Plan, end: socket.socket, others: list[socket.socket]) -> None:
    """Fetch what is asked for until the other end is closed.

    Args:
        plan: What to fetch, and how.
        end: Where tasks come from and results go to.
        others: The parent's ends, which a fork brings along: closed here, so that the death of the
            parent is seen as the end.
    """
    for other in others:
        other.close()
    # Ctrl-C reaches all processes of a terminal. The parent answers it and ends the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _begin(plan)
    worker = _Worker(plan)
    parent = os.getppid()
    try:
        while True:
            while not transport.wait_readable(end, _LOOK):
                if os.getppid() != parent:
                    return
            task: Task = transport.unpack(transport.receive(end))
            _pack(worker.answer(task)).send(end)
    except transport.Closed:
        return


def _begin(plan: Plan) -> None:
    """Leave the modes of the parent and start the random numbers of this worker."""
    global _info  # noqa: PLW0603 - one a process
    _core.set_lazy(False)
    _core.set_grad_enabled(True)
    _core.set_inference_mode(False)
    _core.set_num_threads(1)
    seed = plan.base_seed + plan.id
    random.seed(seed)
    manual_seed(seed)
    entropy = [plan.id, plan.base_seed & 0xFFFFFFFF, plan.base_seed >> 32, 0]
    np.random.seed(np.random.SeedSequence(entropy).generate_state(4))  # noqa: NPY002 - the global one
    _info = WorkerInfo(plan.id, plan.num_workers, seed, plan.dataset)


class _Worker:
    """Answers tasks; an epoch's first one makes a new iterator of an iterable dataset."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.epoch = -1
        self.fetch: Fetch | None = None
        self.has_ended = False
        self.failure: Failure | None = None
        if plan.worker_init_fn is not None:
            try:
                plan.worker_init_fn(plan.id)
            except Exception as error:  # noqa: BLE001 - answered to the first task
                self.failure = Failure.of(error)

    def answer(self, task: Task) -> Result:
        """Do a task. SystemExit is not caught: the process ends, and the parent says so."""
        number = (task.epoch, task.number)
        if self.failure is not None:
            return Result(*number, failure=self.failure)
        try:
            if self.epoch != task.epoch:
                self.epoch, self.has_ended = task.epoch, False
                plan = self.plan
                self.fetch = make_fetch(plan.dataset, plan.is_batched, plan.collate_fn)
            if self.has_ended or self.fetch is None:
                return Result(*number, has_ended=True)
            return Result(*number, batch=self.fetch(task.request))
        except NoMore:
            self.has_ended = True
            return Result(*number, has_ended=True)
        except Exception as error:  # noqa: BLE001 - sent to the parent
            return Result(*number, failure=Failure.of(error))


def _pack(result: Result) -> transport.Parcel:
    try:
        return transport.Parcel(result)
    except Exception as error:  # noqa: BLE001 - a batch that cannot be sent
        error.add_note("The batch was fetched but could not be sent to the main process.")
        return transport.Parcel(Result(result.epoch, result.number, failure=Failure.of(error)))
