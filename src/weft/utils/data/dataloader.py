"""Load batches of a dataset, in this process or in others."""

from __future__ import annotations

import itertools
import math
import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Generic, TypedDict, TypeVar, Unpack, overload

from weft._core import Generator, Tensor
from weft.utils.data.collating import default_collate, default_convert
from weft.utils.data.dataset import Dataset, IterableDataset, TensorDataset
from weft.utils.data.iterating import LocalIterator, Order, WorkerIterator
from weft.utils.data.sampler import BatchSampler, RandomSampler, SequentialSampler
from weft.utils.data.worker import get_worker_info

Batch_co = TypeVar("Batch_co", covariant=True)
Item = TypeVar("Item")
Made = TypeVar("Made")

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]


class _Options(TypedDict, total=False):
    pin_memory: bool
    drop_last: bool
    timeout: float
    worker_init_fn: Callable[[int], Any] | None
    multiprocessing_context: Any
    generator: Generator | None
    prefetch_factor: int | None
    persistent_workers: bool
    pin_memory_device: str
    in_order: bool


class DataLoader(Generic[Batch_co]):
    """Iterate over the batches of a dataset.

    The same seed gives the same batches in the same order, PyTorch's order, with any number of
    workers. Errors in a worker are raised here with the worker's traceback; a worker that dies is
    an error that names it.

    Args:
        dataset: With positions (`__getitem__`, `__len__`), or an `IterableDataset`.
        batch_size: How many examples make a batch; None loads them one by one.
        shuffle: Whether to visit the examples in a new random order each time.
        sampler: Gives the positions instead; any iterable.
        batch_sampler: Gives lists of positions instead.
        num_workers: How many processes fetch batches; 0 fetches in this process.
        collate_fn: Makes a batch of a list of examples; `default_collate` if not given.
        pin_memory: Changes nothing: there is nothing to pin on a CPU.
        drop_last: Whether to leave out a last batch that is smaller.
        timeout: How many seconds to wait for a batch of a worker; 0 waits as long as it lives.
        worker_init_fn: Called in each worker with its number, before it fetches.
        multiprocessing_context: How workers start: "fork", "spawn", "forkserver" or a context.
        generator: The source of randomness; the default one if not given.
        prefetch_factor: How many batches each worker fetches ahead; 2 if not given.
        persistent_workers: Whether workers stay for the next epoch.
        pin_memory_device: Changes nothing.
        in_order: False gives batches as they are ready.

    Raises:
        ValueError: If arguments exclude each other.

    Example:
        >>> import weft
        >>> loader = weft.utils.data.DataLoader(range(5), batch_size=2)
        >>> len(loader), list(loader)
        (3, [tensor([0, 1]), tensor([2, 3]), tensor([4])])
    """

    # What it yields is what `collate_fn` makes; without one it depends on the examples.
    @overload
    def __init__(
        self: DataLoader[Made],
        dataset: Any,
        batch_size: int | None = ...,
        shuffle: bool | None = ...,
        sampler: Iterable[Any] | None = ...,
        batch_sampler: Iterable[Any] | None = ...,
        num_workers: int = ...,
        *,
        collate_fn: Callable[[list[Any]], Made],
        **options: Unpack[_Options],
    ) -> None: ...
    @overload
    def __init__(
        self: DataLoader[Item],
        dataset: Dataset[Item] | Sequence[Item],
        batch_size: None,
        shuffle: bool | None = ...,
        sampler: Iterable[Any] | None = ...,
        batch_sampler: Iterable[Any] | None = ...,
        num_workers: int = ...,
        *,
        collate_fn: None = ...,
        **options: Unpack[_Options],
    ) -> None: ...
    @overload
    def __init__(
        self: DataLoader[list[Tensor]],
        dataset: TensorDataset,
        batch_size: int = ...,
        shuffle: bool | None = ...,
        sampler: Iterable[Any] | None = ...,
        batch_sampler: Iterable[Any] | None = ...,
        num_workers: int = ...,
        *,
        collate_fn: None = ...,
        **options: Unpack[_Options],
    ) -> None: ...
    @overload
    def __init__(
        self: DataLoader[Tensor],
        dataset: Dataset[Tensor] | Dataset[float] | Sequence[Tensor] | Sequence[float],
        batch_size: int = ...,
        shuffle: bool | None = ...,
        sampler: Iterable[Any] | None = ...,
        batch_sampler: Iterable[Any] | None = ...,
        num_workers: int = ...,
        *,
        collate_fn: None = ...,
        **options: Unpack[_Options],
    ) -> None: ...
    @overload
    def __init__(
        self: DataLoader[list[str]],
        dataset: Dataset[str] | Sequence[str],
        batch_size: int = ...,
        shuffle: bool | None = ...,
        sampler: Iterable[Any] | None = ...,
        batch_sampler: Iterable[Any] | None = ...,
        num_workers: int = ...,
        *,
        collate_fn: None = ...,
        **options: Unpack[_Options],
    ) -> None: ...
    @overload
    def __init__(
        self: DataLoader[Any],
        dataset: Any,
        batch_size: int | None = ...,
        shuffle: bool | None = ...,
        sampler: Iterable[Any] | None = ...,
        batch_sampler: Iterable[Any] | None = ...,
        num_workers: int = ...,
        *,
        collate_fn: Callable[[list[Any]], Any] | None = ...,
        **options: Unpack[_Options],
    ) -> None: ...
    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(
            num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context
        )
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.generator = generator
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        self._is_iterable = isinstance(dataset, IterableDataset)
        if self._is_iterable:
            _check_iterable(shuffle, sampler, batch_sampler)
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "DataLoader: batch_sampler option is mutually exclusive with batch_size, "
                    "shuffle, sampler, and drop_last"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError(
                "DataLoader: batch_size=None option disables auto-batching and is mutually "
                "exclusive with drop_last"
            )
        if sampler is not None and shuffle:
            raise ValueError("DataLoader: sampler option is mutually exclusive with shuffle")
        if sampler is None and not self._is_iterable:
            chosen = RandomSampler(dataset, generator=generator) if shuffle else None
            sampler = chosen or SequentialSampler(dataset)
        if batch_size is not None and not self._is_iterable and batch_sampler is None:
            assert sampler is not None
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        if self._is_iterable and batch_size is not None:
            BatchSampler((), batch_size, drop_last)  # checks them
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self._is_batched = batch_sampler is not None or batch_size is not None
        if collate_fn is None:
            collate_fn = default_collate if self._is_batched else default_convert
        self.collate_fn = collate_fn
        self._kept: WorkerIterator | None = None

    def __iter__(self) -> Iterator[Batch_co]:
        if self.num_workers == 0:
            return LocalIterator(self._order(), self._requests())
        if not self.persistent_workers:
            return WorkerIterator(self._order(), self._requests())
        if self._kept is None or self._kept.is_closed:
            self._kept = WorkerIterator(self._order(), self._requests())
        else:
            self._kept.begin(self._requests())
        return self._kept

    def __len__(self) -> int:
        return self._order().length()

    def _requests(self) -> Iterator[Any]:
        """Return what to fetch for each batch: positions, or how many examples."""
        if self._is_iterable:
            return itertools.repeat((self.batch_size, self.drop_last) if self._is_batched else None)
        chosen = self.batch_sampler if self._is_batched else self.sampler
        assert chosen is not None
        return iter(chosen)

    def _order(self) -> Order:
        # It knows nothing of the loader: a cycle would keep persistent workers until it is found.
        if self._is_iterable:
            length = partial(_count, self.dataset, self.batch_size or 1, self.drop_last)
        else:
            length = partial(_count, self.batch_sampler if self._is_batched else self.sampler)
        return Order(
            self.dataset, self._is_batched, self.collate_fn, length, self.generator,
            self.num_workers, self.prefetch_factor or 1, self.timeout, self.worker_init_fn,
            self.multiprocessing_context, self.persistent_workers, self.in_order,
        )  # fmt: skip


def _count(items: Any, batch_size: int = 1, drop_last: bool = False) -> int:
    """Return how many batches items make."""
    return len(items) // batch_size if drop_last else math.ceil(len(items) / batch_size)


def _check_workers(
    num_workers: int, timeout: float, prefetch_factor: int | None, is_persistent: bool, context: Any
) -> None:
    if num_workers < 0:
        raise ValueError(
            "DataLoader: num_workers option should be non-negative; use num_workers=0 to disable "
            "multiprocessing."
        )
    if timeout < 0:
        raise ValueError("DataLoader: timeout option should be non-negative")
    if prefetch_factor is not None and prefetch_factor < 1:
        raise ValueError("DataLoader: prefetch_factor option should be positive")
    if isinstance(context, str) and context not in multiprocessing.get_all_start_methods():
        methods = ", ".join(multiprocessing.get_all_start_methods())
        raise ValueError(
            f"DataLoader: multiprocessing_context should be one of {methods}, not {context!r}"
        )
    if num_workers > 0:
        return
    given = {
        "prefetch_factor": prefetch_factor is not None,
        "persistent_workers": is_persistent,
        "multiprocessing_context": context is not None,
    }
    for name, is_given in given.items():
        if is_given:
            raise ValueError(f"DataLoader: {name} option needs num_workers > 0")


def _check_iterable(
    shuffle: bool | None, sampler: Iterable[Any] | None, batch_sampler: Iterable[Any] | None
) -> None:
    for name, value in (("shuffle", shuffle or None), ("sampler", sampler),
                        ("batch_sampler", batch_sampler)):  # fmt: skip
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                f"{name}={value!r}"
            )
