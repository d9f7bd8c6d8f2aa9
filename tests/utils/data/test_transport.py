"""Messages between processes."""

from __future__ import annotations

import resource
from typing import Any

import numpy as np
import pytest

import weft
from tests.utils.data.planted import files
from weft.utils.data import transport


def through(message: Any) -> Any:
    here, there = transport.channel()
    with here, there:
        transport.Parcel(message).send(here)
        return transport.unpack(transport.receive(there))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int8", "bool"])
@pytest.mark.parametrize("size", [0, 1, 5, 5000, 3_000_000])
def test_tensors_arrive(size: int, dtype: str) -> None:
    given = weft.arange(size).to(getattr(weft, dtype))
    found = through({"x": [given, "a"]})["x"][0]
    assert found.dtype == given.dtype
    assert weft.equal(found, given)
    found.zero_()  # it is memory of its own
    assert size < 2 or given.to(weft.float32).sum().item() != 0


def test_kinds_of_tensors() -> None:
    scalar, view, leaf = through(
        [weft.tensor(3), weft.arange(6).reshape(2, 3).T, weft.ones(2, requires_grad=True)]
    )
    assert (scalar.shape, scalar.item()) == ((), 3)
    assert view.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert leaf.requires_grad
    assert type(through(weft.nn.Parameter(weft.ones(2)))) is weft.nn.Parameter
    with pytest.raises(RuntimeError, match="leaves"):
        through(leaf * 2)


def test_many_parts_and_other_objects() -> None:
    parts = [weft.full((n % 7,), n) for n in range(3000)]
    assert all(map(weft.equal, through(parts), parts))
    text = "x" * 5_000_000
    assert through([text, {1: (2, None)}]) == [text, {1: (2, None)}]
    array = np.arange(100_000)
    assert (through(array) == array).all()


@pytest.mark.parametrize("size", [10, 100_000, 3_000_000])
def test_no_descriptor_stays_open(size: int) -> None:
    before = files()
    kept = [through(weft.ones(size)) for _ in range(5)]
    assert files() == before
    assert all(one.sum().item() == size for one in kept)


def test_a_parcel_that_is_not_sent() -> None:
    before = files()
    parcel = transport.Parcel(weft.ones(100_000))
    assert files() == before + 1
    parcel.close()
    assert files() == before


def test_the_end() -> None:
    here, there = transport.channel()
    with there:
        transport.Parcel(1).send(here)
        here.close()
        assert transport.unpack(transport.receive(there)) == 1
        with pytest.raises(transport.Closed):
            transport.receive(there)
        with pytest.raises(transport.Closed):
            transport.Parcel(1).send(there)


def test_a_full_socket_does_not_block() -> None:
    here, there = transport.channel()
    here.setblocking(False)
    with here, there, pytest.raises(BlockingIOError):
        for _ in range(100_000):
            transport.Parcel(b"x" * 8000).send(here)


def test_too_many_open_files_is_said() -> None:
    here, there = transport.channel()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with here, there:
        transport.Parcel(weft.ones(100_000)).send(here)
        resource.setrlimit(resource.RLIMIT_NOFILE, (there.fileno(), limits[1]))
        try:
            with pytest.raises(OSError, match="too many open files"):
                transport.receive(there)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
