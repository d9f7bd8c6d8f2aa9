"""Samplers: in which order positions of a dataset are visited."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from weft._core import Generator, Tensor, float64, int64, ops
from weft._tensor import as_tensor

Index_co = TypeVar("Index_co", covariant=True)


class Sampler(Generic[Index_co]):
    """Base class of samplers: they iterate over positions, or over lists of positions.

    Example:
        >>> from weft.utils.data import DataLoader, Sampler
        >>> class Backwards(Sampler):
        ...     def __init__(self, data):
        ...         self.data = data
        ...
        ...     def __iter__(self):
        ...         return iter(range(len(self.data) - 1, -1, -1))
        >>> list(DataLoader("abc", sampler=Backwards("abc"), batch_size=None))
        ['c', 'b', 'a']
    """

    def __iter__(self) -> Iterator[Index_co]:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__")


class SequentialSampler(Sampler[int]):
    """Visit the positions in order.

    Args:
        data_source: The dataset.

    Example:
        >>> from weft.utils.data import SequentialSampler
        >>> list(SequentialSampler("abc"))
        [0, 1, 2]
    """

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


def drawn_seed(generator: Generator | None = None) -> int:
    """Draw a number from 0 to before 2**63, as PyTorch's samplers and loaders draw their seeds.

    Args:
        generator: The source of randomness; the default one if not given.
    """
    return int(ops.zeros((), dtype=int64).random_(generator=generator).item())


class RandomSampler(Sampler[int]):
    """Visit the positions in random order, or draw them with replacement.

    Args:
        data_source: The dataset.
        replacement: Whether a position may come more than once.
        num_samples: How many to draw; as many as there are if not given.
        generator: The source of randomness. If not given, each iteration has one of its own, whose
            seed comes from the default one.

    Example:
        >>> from weft.utils.data import RandomSampler
        >>> sorted(RandomSampler(range(4)))
        [0, 1, 2, 3]
    """

    def __init__(
        self,
        data_source: Any,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        _check_flag("RandomSampler", "replacement", replacement)
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if num_samples is None:
            _check_count("RandomSampler", len(data_source))
        else:
            _check_count("RandomSampler", num_samples)

    @property
    def num_samples(self) -> int:
        """How many positions an iteration gives."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        generator = self.generator
        if generator is None:
            generator = Generator().manual_seed(drawn_seed())
        size, count = len(self.data_source), self.num_samples
        if self.replacement:
            # In groups, as PyTorch draws them: another part of the program may draw in between.
            for begin in range(0, count, 32):
                chosen = ops.randint(0, size, (min(32, count - begin),), generator=generator)
                yield from chosen.tolist()
        else:
            for _ in range(count // size):
                yield from ops.permutation(size, generator=generator).tolist()
            yield from ops.permutation(size, generator=generator).tolist()[: count % size]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Visit given positions in random order.

    Args:
        indices: The positions.
        generator: The source of randomness; the default one if not given.

    Example:
        >>> from weft.utils.data import SubsetRandomSampler
        >>> sorted(SubsetRandomSampler([5, 7]))
        [5, 7]
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for place in ops.permutation(len(self.indices), generator=self.generator).tolist():
            yield self.indices[place]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Draw positions with probabilities proportional to weights.

    Args:
        weights: A weight for each position; they need not sum to 1.
        num_samples: How many to draw.
        replacement: Whether a position may come more than once.
        generator: The source of randomness; the default one if not given.

    Example:
        >>> from weft.utils.data import WeightedRandomSampler
        >>> list(WeightedRandomSampler([0, 0, 1], 4))
        [2, 2, 2, 2]
    """

    def __init__(
        self,
        weights: Sequence[float] | Tensor,
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        _check_flag("WeightedRandomSampler", "replacement", replacement)
        _check_count("WeightedRandomSampler", num_samples)
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.ndim != 1:
            raise ValueError(
                f"WeightedRandomSampler: weights should be a 1d sequence but given weights have "
                f"shape {tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = ops.multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Gather the positions of another sampler in lists.

    Args:
        sampler: Gives positions.
        batch_size: How many make a list.
        drop_last: Whether to leave out a last list that is shorter.

    Example:
        >>> from weft.utils.data import BatchSampler
        >>> list(BatchSampler(range(5), batch_size=2, drop_last=False))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool) -> None:
        _check_count("BatchSampler", batch_size, "batch_size")
        _check_flag("BatchSampler", "drop_last", drop_last)
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[Any]]:
        positions = iter(self.sampler)
        while batch := list(itertools.islice(positions, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
        return count // self.batch_size if self.drop_last else math.ceil(count / self.batch_size)


def _check_count(owner: str, value: Any, name: str = "num_samples") -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{owner}: {name} should be a positive integer value, but got {value!r}")


def _check_flag(owner: str, name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"{owner}: {name} should be a boolean value, but got {value!r}")
