"""Iterate over batches: fetched in this process, or by workers ahead of time and in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from weft._core import Generator
from weft.utils.data.fetching import NoMore, make_fetch
from weft.utils.data.pool import WorkerPool, describe, raised
from weft.utils.data.sampler import drawn_seed
from weft.utils.data.worker import Plan, Result, Task


@dataclass(frozen=True)
class Order:
    """What a loader wants fetched and how, as it stands when an iteration begins."""

    dataset: Any
    is_batched: bool
    collate_fn: Callable[[Any], Any]
    length: Callable[[], int]
    generator: Generator | None
    num_workers: int
    prefetch: int
    timeout: float
    worker_init_fn: Callable[[int], Any] | None
    context: Any
    is_persistent: bool
    in_order: bool


class LocalIterator:
    """Fetches batches in this process."""

    def __init__(self, order: Order, requests: Iterator[Any]) -> None:
        self._requests = requests
        # Not needed here: PyTorch draws it too, and what is drawn after it has to be the same.
        drawn_seed(order.generator)
        self._fetch = make_fetch(order.dataset, order.is_batched, order.collate_fn)
        self._length = order.length

    def __iter__(self) -> Iterator[Any]:
        return self

    def __len__(self) -> int:
        return self._length()

    def __next__(self) -> Any:
        request = next(self._requests)
        try:
            return self._fetch(request)
        except NoMore:
            raise StopIteration from None


class WorkerIterator:
    """Lets worker processes fetch batches ahead and gives them in order."""

    def __init__(self, order: Order, requests: Iterator[Any]) -> None:
        base_seed = drawn_seed(order.generator)
        plans = [
            Plan(
                worker, order.num_workers, base_seed, order.dataset, order.is_batched,
                order.collate_fn, order.worker_init_fn,
            )
            for worker in range(order.num_workers)
        ]  # fmt: skip
        self._order = order
        self._pool = WorkerPool(plans, order.context)
        self.is_closed = False
        self.begin(requests)

    def begin(self, requests: Iterator[Any]) -> None:
        """Begin an epoch, with the workers that are there."""
        self._pool.begin()
        self._requests = requests
        self._turn = deque(
            range(self._order.num_workers)
        )  # workers that have more, the next one first
        self._under_way: dict[int, tuple[int, Any]] = {}  # number -> worker and request
        self._next_given = 0
        for _ in range(self._order.prefetch * self._order.num_workers):
            self._give()

    def _give(self) -> None:
        """Give the next request to the next worker, if there are both."""
        if not self._turn:
            return
        try:
            request = next(self._requests)
        except StopIteration:
            return
        worker = self._turn[0]
        self._turn.rotate(-1)
        self._under_way[self._next_given] = (worker, request)
        self._pool.give(worker, self._next_given, request)
        self._next_given += 1

    def __iter__(self) -> Iterator[Any]:
        return self

    def __len__(self) -> int:
        return self._order.length()

    def __next__(self) -> Any:
        if self.is_closed:
            raise StopIteration
        try:
            result = self._next_result()
            if result is None:
                if not self._order.is_persistent:
                    self.close()
                raise StopIteration
        except StopIteration:
            raise
        except BaseException:  # a dead worker, a timeout, Ctrl-C: no order is left to go on with
            self.close()
            raise
        self._give()
        if result.failure is not None:
            raise self._error(result)
        del self._under_way[result.number]
        return result.batch

    def _next_result(self) -> Result | None:
        """Return the next result that is a batch or a failure; None if there are no more."""
        while self._under_way:
            wanted = next(iter(self._under_way)) if self._order.in_order else None
            result = self._pool.take(wanted, self._order.timeout)
            if not result.has_ended:
                return result
            worker, _ = self._under_way.pop(result.number)
            if worker in self._turn:
                self._turn.remove(worker)
            self._give()
        return None

    def _error(self, result: Result) -> BaseException:
        assert result.failure is not None
        worker, request = self._under_way.pop(result.number)
        what = "while it fetched " + describe(Task(0, result.number, request))
        return raised(result.failure, worker, what)

    def close(self) -> None:
        """End the workers."""
        self.is_closed = True
        self._pool.close()
