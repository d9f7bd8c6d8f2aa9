"""Datasets: what examples are taken from, by position or one after the other."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from weft._core import Generator, Tensor, ops

Item_co = TypeVar("Item_co", covariant=True)


class Dataset(Generic[Item_co]):
    """Base class of datasets whose examples have positions.

    A subclass defines `__getitem__` and, for most samplers, `__len__`. If it has `__getitems__`,
    which takes a list of positions and returns a list of examples, loaders call that once a batch.

    Example:
        >>> from weft.utils.data import Dataset
        >>> class Squares(Dataset):
        ...     def __getitem__(self, index):
        ...         return index**2
        ...
        ...     def __len__(self):
        ...         return 3
        >>> list((Squares() + Squares())[i] for i in range(6))
        [0, 1, 4, 0, 1, 4]
    """

    def __getitem__(self, index: Any) -> Item_co:
        raise NotImplementedError(f"{type(self).__name__} does not define __getitem__")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[Item_co], Iterable[Item_co]):
    """Base class of datasets whose examples come one after the other.

    A subclass defines `__iter__`. With worker processes each worker has a copy and would yield
    everything: let `__iter__` ask `get_worker_info()` which part is its own.

    Example:
        >>> from weft.utils.data import DataLoader, IterableDataset
        >>> class Countdown(IterableDataset):
        ...     def __iter__(self):
        ...         return iter([3, 2, 1])
        >>> list(DataLoader(Countdown(), batch_size=2))
        [tensor([3, 2]), tensor([1])]
    """

    def __iter__(self) -> Iterator[Item_co]:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__")

    def __add__(self, other: Dataset[Any]) -> ChainDataset[Any]:  # type: ignore[override] # PyTorch's  # pyright: ignore[reportIncompatibleMethodOverride]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Examples from tensors whose first dimensions agree: the i-th is a tuple of their i-th parts.

    Args:
        tensors: The tensors.

    Example:
        >>> import weft
        >>> weft.utils.data.TensorDataset(weft.eye(2), weft.tensor([7, 8]))[1]
        (tensor([0., 1.]), tensor(8))
    """

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensor.shape[:1] != tensors[0].shape[:1] for tensor in tensors):
            sizes = ", ".join(str(tuple(tensor.shape)) for tensor in tensors)
            raise ValueError(f"Size mismatch between tensors: their shapes are {sizes}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].shape[0]


class StackDataset(Dataset[Any]):
    """Examples from several datasets side by side: tuples, or dicts if given by name.

    Args:
        args: Datasets of equal length; each example is a tuple of theirs.
        kwargs: Datasets by name; each example is a dict of theirs.

    Example:
        >>> from weft.utils.data import StackDataset
        >>> StackDataset(text=["a", "b"], label=[0, 1])[1]
        {'text': 'b', 'label': 1}
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            raise ValueError("StackDataset takes datasets either by position or by name")
        self.datasets: tuple[Any, ...] | dict[str, Any] = args or kwargs
        lengths = [len(dataset) for dataset in args or kwargs.values()]
        if len(set(lengths)) > 1:
            raise ValueError(f"Size mismatch between datasets: their lengths are {lengths}")
        self._length = lengths[0]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[Item_co]):
    """Datasets one behind the other, as one.

    Args:
        datasets: Datasets with lengths.

    Example:
        >>> from weft.utils.data import ConcatDataset
        >>> both = ConcatDataset(["ab", "cde"])
        >>> len(both), both[2], both[-1]
        (5, 'c', 'e')
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset: datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise ValueError("ConcatDataset does not support IterableDataset; use ChainDataset")
        self.cumulative_sizes = list(itertools.accumulate(map(len, self.datasets)))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Item_co:
        position = index + len(self) if index < 0 else index
        if not 0 <= position < len(self):
            raise IndexError(f"ConcatDataset: index {index} is out of range for {len(self)} items")
        which = bisect.bisect_right(self.cumulative_sizes, position)
        before = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][position - before]


class ChainDataset(IterableDataset[Item_co]):
    """Iterable datasets one behind the other, as one.

    Args:
        datasets: Datasets without positions.

    Example:
        >>> import weft
        >>> class Count(weft.utils.data.IterableDataset):
        ...     def __iter__(self):
        ...         return iter(range(2))
        >>> list(weft.utils.data.ChainDataset([Count(), Count()]))
        [0, 1, 0, 1]
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Item_co]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                kind = type(dataset).__name__
                raise TypeError(f"ChainDataset only supports IterableDataset, not {kind}")
            yield from dataset  # type: ignore[misc] # pyright: ignore[reportUnknownVariableType]

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self.datasets)


class Subset(Dataset[Item_co]):
    """The examples of a dataset at chosen positions.

    Args:
        dataset: The whole.
        indices: The positions, in the order in which the subset has them.

    Example:
        >>> from weft.utils.data import Subset
        >>> list(Subset("abcdef", [4, 0]))
        ['e', 'a']
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        chosen = [self.indices[index] for index in indices]
        if callable(many := getattr(self.dataset, "__getitems__", None)):
            return many(chosen)  # type: ignore[no-any-return] # pyright: ignore[reportReturnType]
        return [self.dataset[index] for index in chosen]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Any, lengths: Sequence[float], generator: Generator | None = None
) -> list[Subset[Any]]:
    """Split a dataset at random into parts of given lengths.

    Args:
        dataset: The whole.
        lengths: How many examples each part has, or which fractions, which then sum to 1. What
            rounding leaves over goes to the first parts, one each.
        generator: The source of randomness; the default one if not given.

    Raises:
        ValueError: If the lengths do not sum to the length of the dataset.

    Example:
        >>> import weft
        >>> parts = weft.utils.data.random_split(range(10), [0.75, 0.25])
        >>> [len(part) for part in parts]
        [8, 2]
    """
    total = len(dataset)
    counts = _counted(lengths, total) if _are_fractions(lengths) else [int(n) for n in lengths]
    if sum(counts) != total:
        raise ValueError(
            f"random_split: the sum of input lengths does not equal the length of the input "
            f"dataset: {' + '.join(map(str, lengths))} is not {total}"
        )
    indices = ops.permutation(total, generator=generator).tolist()
    ends = itertools.accumulate(counts)
    return [Subset(dataset, indices[end - n : end]) for end, n in zip(ends, counts, strict=True)]


def _are_fractions(lengths: Sequence[float]) -> bool:
    return math.isclose(sum(lengths), 1) and sum(lengths) <= 1


def _counted(fractions: Sequence[float], total: int) -> list[int]:
    """Turn fractions into counts that sum to the total."""
    for i, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"random_split: fraction {i} is {fraction}, not between 0 and 1")
    counts = [math.floor(total * fraction) for fraction in fractions]
    for i in range(total - sum(counts)):
        counts[i % len(counts)] += 1
    for i, count in enumerate(counts):
        if count == 0:
            message = f"random_split: length of split at index {i} is 0: an empty dataset"
            warnings.warn(message, stacklevel=3)
    return counts
