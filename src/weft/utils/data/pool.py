"""The worker processes of a loader, as the main process sees them."""

from __future__ import annotations

import os
import select
import signal
import socket
import time
import weakref
from collections import deque
from multiprocessing import get_context
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import Any, cast

from weft.utils.data import transport
from weft.utils.data.worker import Failure, Plan, Result, Task, work

# How often the main process looks for dead workers while it waits, in seconds. Mostly their sockets
# tell at once; a process that a worker started may hold them open.
_LOOK = 1.0
_PATIENCE = 1.0  # seconds for workers to end by themselves, and then again after SIGTERM


class Worker:
    """One process, the socket to it, and the tasks it has not answered."""

    def __init__(self, plan: Plan, context: BaseContext, others: list[socket.socket]) -> None:
        self.id = plan.id
        self.end, theirs = transport.channel()
        self.tasks: deque[Task] = deque()  # in order: sent or not, not answered
        self.unsent: deque[transport.Parcel] = deque()
        self.is_gone = False
        try:
            # A fork has the parent's ends open, also its own; a fresh process does not.
            inherited = [*others, self.end] if context.get_start_method() == "fork" else []
            self.process = cast(
                "BaseProcess",
                context.Process(  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
                    target=work, args=(plan, theirs, inherited), daemon=True,
                    name=f"DataLoader worker {plan.id}",
                ),
            )  # fmt: skip
            self.process.start()
        except BaseException:
            self.end.close()
            raise
        finally:
            theirs.close()
        self.end.setblocking(False)

    def give(self, task: Task) -> None:
        """Send a task, or keep it until there is room."""
        self.tasks.append(task)
        self.unsent.append(transport.Parcel(task))
        self.send()

    def send(self) -> None:
        """Send what there is room for."""
        while self.unsent:
            try:
                self.unsent[0].send(self.end)
            except (BlockingIOError, transport.Closed):
                return  # of a worker that is gone, `describe_death` tells
            self.unsent.popleft()

    def has(self, epoch: int, number: int) -> bool:
        """Tell whether a task was given to this worker and is not answered."""
        return any(task.epoch == epoch and task.number == number for task in self.tasks)

    def describe_death(self) -> str:
        """Say how the process ended and what it was doing."""
        self.process.join(_PATIENCE)  # its socket may be closed a moment before it is gone
        code = self.process.exitcode
        if code is None:
            how = "closed its connection"
        elif code < 0:
            how = f"was killed by {_signal_name(-code)}"
            if code == -signal.SIGKILL:
                how += " (by somebody, or by the system for want of memory)"
        else:
            how = f"exited unexpectedly with exit code {code}"
        doing = f" while it fetched {describe(self.tasks[0])}" if self.tasks else ""
        return f"DataLoader worker {self.id} (pid {self.process.pid}) {how}{doing}."


def _signal_name(number: int) -> str:
    try:
        return f"signal {number}, {signal.Signals(number).name}"
    except ValueError:
        return f"signal {number}"


def describe(task: Task) -> str:
    """Name a task's batch and its items."""
    request = task.request
    if isinstance(request, list):
        indices = cast("list[Any]", request)
        some = ", ".join(repr(index) for index in indices[:8])
        more = f", ... ({len(indices)} in all)" if len(indices) > 8 else ""
        return f"batch {task.number}, items [{some}{more}]"
    is_counted = request is None or isinstance(request, tuple)
    return f"batch {task.number}" if is_counted else f"batch {task.number}, item {request!r}"


class WorkerPool:
    """Worker processes that are given tasks by number and whose results are taken by number.

    Args:
        plans: What each worker has to know.
        context: How processes start: "fork", "spawn", "forkserver", a context of multiprocessing,
            or None for the default.
    """

    def __init__(self, plans: list[Plan], context: Any = None) -> None:
        if context is None or isinstance(context, str):
            context = get_context(context)
        self.workers: list[Worker] = []
        self._epoch = 0
        self._arrived: dict[int, memoryview] = {}
        # Runs when the pool is dropped, at `close`, and at exit, whichever comes first.
        self._finalizer = weakref.finalize(self, _end, self.workers, os.getpid())
        try:
            for plan in plans:
                ends = [worker.end for worker in self.workers]
                self.workers.append(Worker(plan, context, ends))
        except BaseException:
            self.close()
            raise

    def begin(self) -> None:
        """Begin another epoch: forget what was asked for and not taken."""
        self._epoch += 1
        self._arrived.clear()

    def give(self, which: int, number: int, request: Any) -> None:
        """Give a worker a task."""
        self.workers[which].give(Task(self._epoch, number, request))

    def take(self, number: int | None, timeout: float) -> Result:
        """Return the result of a task, or of any if the number is None.

        Raises:
            RuntimeError: If a worker dies, or nothing comes in time.
        """
        limit = time.monotonic() + timeout if timeout > 0 else None
        while not (self._arrived if number is None else number in self._arrived):
            # Not before: what was fetched ahead is given, so that errors come in order as well.
            for worker in self.workers:
                if worker.is_gone and (number is None or worker.has(self._epoch, number)):
                    raise RuntimeError(worker.describe_death())
            left = _LOOK if limit is None else limit - time.monotonic()
            if not self._receive(min(_LOOK, left)) and left <= 0:
                raise RuntimeError(self._late(number, timeout))
        if number is None:
            number = next(iter(self._arrived))
        return cast("Result", transport.unpack(self._arrived.pop(number)))

    def close(self) -> None:
        """End the workers."""
        self._finalizer()

    def _receive(self, seconds: float) -> bool:
        """Wait a while for results and take all that are there; tell whether anything came."""
        poll = select.poll()
        by_file = {worker.end.fileno(): worker for worker in self.workers if not worker.is_gone}
        for file, worker in by_file.items():
            poll.register(file, select.POLLIN | (select.POLLOUT if worker.unsent else 0))
        ready = poll.poll(max(seconds, 0) * 1000)
        for file, events in ready:
            if events & select.POLLOUT:
                by_file[file].send()
            if events & ~select.POLLOUT:
                self._take_all(by_file[file])
        if not ready:
            for worker in by_file.values():
                if not worker.process.is_alive():
                    self._take_all(worker)  # what it sent before counts
                    worker.is_gone = True
        return bool(ready)

    def _take_all(self, worker: Worker) -> None:
        while True:
            try:
                packed = transport.receive(worker.end)
            except BlockingIOError:
                return
            except transport.Closed:
                worker.is_gone = True
                return
            task = worker.tasks.popleft()  # a worker answers in order
            if task.epoch == self._epoch:
                self._arrived[task.number] = packed

    def _late(self, number: int | None, timeout: float) -> str:
        text = f"DataLoader timed out after {timeout} seconds"
        for worker in self.workers:
            if worker.tasks and (number is None or worker.has(self._epoch, number)):
                who = f"worker {worker.id} (pid {worker.process.pid})"
                return f"{text}: {who} is at {describe(worker.tasks[0])}."
        return f"{text}."


def _end(workers: list[Worker], owner: int) -> None:
    """End processes: ask, then SIGTERM, then SIGKILL. A forked copy only closes its ends."""
    for worker in workers:
        worker.end.close()
        for parcel in worker.unsent:
            parcel.close()
        worker.unsent.clear()
    if os.getpid() != owner:
        return
    for urge in (None, BaseProcess.terminate, BaseProcess.kill):
        limit = time.monotonic() + _PATIENCE
        for worker in workers:
            if worker.process.exitcode is None and urge is not None:
                urge(worker.process)
        for worker in workers:
            worker.process.join(max(limit - time.monotonic(), 0))
        if all(worker.process.exitcode is not None for worker in workers):
            break
    for worker in workers:
        if worker.process.exitcode is None:
            worker.process.join()  # nothing outlives SIGKILL
        worker.process.close()
    workers.clear()


class _Message(str):
    """A text that shows itself as it is: KeyError shows the repr of its argument."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def raised(failure: Failure, worker: int, what: str) -> BaseException:
    """Make the exception of a worker again, of its type if that takes a text."""
    name = failure.kind.__name__
    text = _Message(
        f"Caught {name} in DataLoader worker process {worker}, {what}.\nOriginal {failure.text}"
    )
    try:
        return failure.kind(text)
    except Exception:  # noqa: BLE001 - a type with other arguments
        return RuntimeError(text)
