"""Loading batches in this process; `test_pool.py` has worker processes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from tests.utils.data.planted import Squares, Stream, Trap, fail
from weft.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset


def test_batches() -> None:
    loader = DataLoader(Squares(5), batch_size=2)
    assert [index.tolist() for _, index in loader] == [[0, 1], [2, 3], [4]]
    assert next(iter(loader))[0].shape == (2, 3)
    assert len(loader) == len(iter(loader)) == 3
    assert len(DataLoader(Squares(5), 2, drop_last=True)) == 2
    assert len(list(DataLoader(Squares(5), 2, drop_last=True))) == 2


def test_without_batches() -> None:
    (x, index), *rest = DataLoader(Squares(3), batch_size=None)
    assert (x.shape, index, len(rest)) == ((3,), 0, 2)
    arrays = list(DataLoader([np.zeros(2)], batch_size=None))
    assert isinstance(arrays[0], weft.Tensor)


def test_samplers() -> None:
    loader = DataLoader("abcdef", sampler=[4, 2, 0], batch_size=2)
    assert list(loader) == [["e", "c"], ["a"]]
    loader = DataLoader("abcdef", batch_sampler=[[0], [1, 2]])
    assert list(loader) == [["a"], ["b", "c"]]
    assert len(loader) == 2
    assert DataLoader("ab", batch_sampler=BatchSampler([0], 1, False)).batch_size is None


def test_any_sequence_and_any_collate() -> None:
    assert list(DataLoader([3, 4], 2, collate_fn=sum)) == [7]
    loader = DataLoader(["a"], pin_memory=True, pin_memory_device="cpu")
    assert list(loader) == [["a"]]


def test_many_items_at_once() -> None:
    class Many(Dataset[int]):
        def __getitems__(self, indices: list[int]) -> list[int]:
            return [10 * index for index in indices]

        def __len__(self) -> int:
            return 3

    assert [batch.tolist() for batch in DataLoader(Many(), 2)] == [[0, 10], [20]]


def test_iterable() -> None:
    assert [batch.tolist() for batch in DataLoader(Stream(5), 2)] == [[0, 1], [2, 3], [4]]
    assert [batch.tolist() for batch in DataLoader(Stream(5), 2, drop_last=True)] == [
        [0, 1],
        [2, 3],
    ]
    assert list(DataLoader(Stream(2), None)) == [0, 1]

    class Sized(IterableDataset[int]):
        def __iter__(self):
            return iter(range(5))

        def __len__(self) -> int:
            return 5

    assert [len(DataLoader(Sized(), size)) for size in (None, 1, 2)] == [5, 5, 3]
    assert len(DataLoader(Sized(), 2, drop_last=True)) == 2


def test_an_error_names_the_item() -> None:
    with pytest.raises(KeyError, match="The dataset raised this for item 5"):
        list(DataLoader(Trap(5, fail), 4))


def test_an_error_in_collate_names_the_items() -> None:
    with pytest.raises(RuntimeError, match=r"made of the items \[0, 1\](.|\n)*") as caught:
        list(DataLoader([weft.ones(1), weft.ones(2)], 2))
    assert "ragged_collate" in "".join(caught.value.__notes__)


def test_works_while_recording() -> None:
    def run() -> list[Any]:
        weft.manual_seed(0)
        return [batch[1].tolist() for batch in DataLoader(Squares(), 3, shuffle=True)]

    wanted = run()
    with weft.lazy():
        assert run() == wanted


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_workers": -1}, "non-negative"),
        ({"timeout": -1}, "timeout"),
        ({"prefetch_factor": 2}, "prefetch_factor option needs num_workers"),
        ({"persistent_workers": True}, "persistent_workers option needs num_workers"),
        ({"multiprocessing_context": "fork"}, "multiprocessing_context option needs"),
        ({"num_workers": 1, "prefetch_factor": 0}, "positive"),
        ({"num_workers": 1, "multiprocessing_context": "spoon"}, "not 'spoon'"),
        ({"sampler": [0], "shuffle": True}, "exclusive with shuffle"),
        ({"batch_sampler": [[0]], "batch_size": 2}, "batch_sampler option is mutually exclusive"),
        ({"batch_sampler": [[0]], "shuffle": True}, "batch_sampler option is mutually exclusive"),
        ({"batch_size": None, "drop_last": True}, "disables auto-batching"),
        ({"batch_size": 0}, "batch_size should be a positive integer"),
    ],
)
def test_arguments_that_do_not_fit(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DataLoader(Squares(), **options)


@pytest.mark.parametrize(
    "options", [{"shuffle": True}, {"sampler": [0]}, {"batch_sampler": [[0]]}, {"batch_size": 0}]
)
def test_iterable_has_no_positions(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"IterableDataset|positive"):
        DataLoader(Stream(3), **options)
