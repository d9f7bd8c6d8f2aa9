"""Fetch the examples of one batch and say which one failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from weft.utils.data.dataset import IterableDataset

Fetch = Callable[[Any], Any]


class NoMore(Exception):  # noqa: N818 - an end, not an error
    """An iterable dataset has no more examples."""


def make_fetch(dataset: Any, is_batched: bool, collate_fn: Callable[[Any], Any]) -> Fetch:
    """Return what turns positions, or a count of examples, into a batch.

    Args:
        dataset: With positions, or iterable.
        is_batched: Whether a call fetches several examples.
        collate_fn: Makes a batch of their list, or converts a single one.
    """
    if isinstance(dataset, IterableDataset):
        return _IterableFetch(iter(dataset), is_batched, collate_fn)  # pyright: ignore[reportUnknownArgumentType]
    return _MapFetch(dataset, is_batched, collate_fn)


class _MapFetch:
    def __init__(self, dataset: Any, is_batched: bool, collate_fn: Callable[[Any], Any]) -> None:
        self.dataset = dataset
        self.is_batched = is_batched
        self.collate_fn = collate_fn
        self.many = getattr(dataset, "__getitems__", None)

    def __call__(self, indices: Any) -> Any:
        if not self.is_batched:
            return self.collate_fn(self._item(indices))
        if self.many:
            try:
                examples = self.many(indices)
            except Exception as error:
                error.add_note(f"The dataset raised this for the items {_listed(indices)}.")
                raise
        else:
            examples = [self._item(index) for index in indices]
        return self._collate(examples, indices)

    def _item(self, index: Any) -> Any:
        try:
            return self.dataset[index]
        except Exception as error:
            error.add_note(f"The dataset raised this for item {index!r}.")
            raise

    def _collate(self, examples: list[Any], indices: Any) -> Any:
        try:
            return self.collate_fn(examples)
        except Exception as error:
            error.add_note(f"The batch was made of the items {_listed(indices)}.")
            raise


class _IterableFetch:
    """Takes examples from an iterator; a batch is asked for by a list of as many places."""

    def __init__(
        self, iterator: Iterator[Any], is_batched: bool, collate_fn: Callable[[Any], Any]
    ) -> None:
        self.iterator = iterator
        self.is_batched = is_batched
        self.collate_fn = collate_fn
        self.has_ended = False

    def __call__(self, request: Any) -> Any:
        if not self.is_batched:
            for example in self.iterator:
                return self.collate_fn(example)
            raise NoMore
        count, drop_last = request
        examples: list[Any] = []
        while not self.has_ended and len(examples) < count:
            try:
                examples.append(next(self.iterator))
            except StopIteration:
                self.has_ended = True
        if not examples or (drop_last and len(examples) < count):
            raise NoMore
        return self.collate_fn(examples)


def _listed(indices: Any) -> str:
    text = ", ".join(repr(index) for index in indices[:8])
    return f"[{text}, ... ({len(indices)} of them)]" if len(indices) > 8 else f"[{text}]"
