"""Damaged and hostile safetensors files are refused."""

from __future__ import annotations

import contextlib
import io
import json
import struct
from typing import Any

import numpy as np
import pytest

import weft
from weft.serialization import LoadError
from weft.serialization.header import LONGEST


def file_of(head: Any, data: bytes = b"", length: int | None = None) -> io.BytesIO:
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    return io.BytesIO(struct.pack("<Q", len(text) if length is None else length) + text + data)


def entry(dtype: Any = "F32", shape: Any = (2,), offsets: Any = (0, 8), **more: Any) -> Any:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets, **more}


def test_a_file_by_hand() -> None:
    head = {"b": entry("I16", (1, 2), (8, 12)), "a": entry(), "__metadata__": {"format": "np"}}
    found = weft.load(file_of(head, struct.pack("<ffhh", 1, 2, 3, -4)))
    assert list(found) == ["b", "a"]
    assert found["a"].tolist() == [1, 2]
    assert found["b"].tolist() == [[3, -4]]
    assert weft.load(file_of({})) == {}


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ({"a": entry(offsets=(0, 12))}, "has 12 bytes, and its shape and element type need 8"),
        ({"a": entry(offsets=(8, 16))}, "leaves a gap"),
        ({"a": entry(), "b": entry(offsets=(4, 12))}, "overlaps"),
        ({"a": entry(), "b": entry()}, "overlaps"),
        ({"a": entry(), "b": entry(offsets=(12, 20))}, "leaves a gap"),
        ({"a": entry(offsets=(-8, 0))}, "not one of a tensor"),
        ({"a": entry(shape=(-2,))}, "not one of a tensor"),
        ({"a": entry(shape=(2.0,))}, "not one of a tensor"),
        ({"a": entry(shape=(True, 2))}, "not one of a tensor"),
        ({"a": entry(shape="2")}, "not one of a tensor"),
        ({"a": entry(offsets=(0,))}, "not one of a tensor"),
        ({"a": entry(more=1)}, "not one of a tensor"),
        ({"a": 3}, "not one of a tensor"),
        ({"a": None}, "not one of a tensor"),
        ({"a": entry("C64", (1,))}, "element type 'C64'"),
        ({"a": entry("F8_E4M3", (8,))}, "element type 'F8_E4M3'"),
        ({"a": entry(["F32"])}, "element type"),
        ({"a": entry(shape=(2**32, 2**32, 0), offsets=(0, 0))}, "no tensor can have"),
        ({"a": entry(shape=(1,) * 65, offsets=(0, 4))}, "no tensor can have"),
        ({"a": entry(shape=(2**40,), offsets=(0, 2**42))}, "cut short"),
        ({"a": entry(), "__metadata__": {"a": 1}}, "must be texts"),
        ({"__metadata__": []}, "must be texts"),
        (b'{"a":1,"a":2}', "occurs twice"),
        (b'{"a":NaN}', "cannot be read"),
        (b'{"a":' + b"9" * 5000 + b"}", "cannot be read"),
        (b'{"a":' + b"[" * 100_000, "cannot be read"),
        (b'{"a":\xff\xff}', "cannot be read"),
        (b'{"a":', "cannot be read"),
    ],
    ids=range(28),
)
def test_damaged_heads(head: Any, message: str) -> None:
    with pytest.raises(LoadError, match=message):
        weft.load(file_of(head, bytes(8)))


def test_lengths() -> None:
    for length in (LONGEST + 1, 2**63, 2**64 - 1, 0):
        with pytest.raises(LoadError, match="neither"):
            weft.load(file_of({}, length=length))
    with pytest.raises(LoadError, match="cut short"):
        weft.load(file_of({}, length=100))


def test_every_truncation_is_noticed() -> None:
    file = io.BytesIO()
    weft.save({"a": weft.ones(3), "b": [weft.zeros(2), 1]}, file)
    data = file.getvalue()
    for length in range(len(data)):
        with pytest.raises(LoadError):
            weft.load(io.BytesIO(data[:length]))


def test_random_damage_never_does_more_than_raise() -> None:
    file = io.BytesIO()
    x = weft.arange(6.0)
    weft.save(
        {"a": x, "b": [x[1:], (x.reshape(2, 3).t(), b"x", 1.5)], "c": weft.tensor(True)}, file
    )
    random = np.random.default_rng(0)
    data = np.frombuffer(file.getvalue(), dtype=np.uint8)
    for _ in range(2000):
        damaged = data.copy()
        places = random.integers(0, len(data), random.integers(1, 4))
        damaged[places] = random.integers(0, 256, len(places))
        with contextlib.suppress(LoadError, weft.UnsupportedError):
            repr(weft.load(io.BytesIO(damaged.tobytes())))


def described(tensors: Any, tree: Any = None) -> io.BytesIO:
    said = {"version": 1, "tree": {"tensor": 0} if tree is None else tree, "tensors": tensors}
    return file_of({"a": entry(), "__metadata__": {"weft": json.dumps(said)}}, bytes(8))


@pytest.mark.parametrize(
    "said",
    [
        {"of": "b"},
        {"of": ["a"]},
        {},
        3,
        {"of": "a", "shape": [3], "stride": [1], "offset": 0},
        {"of": "a", "shape": [1], "stride": [1], "offset": 2},
        {"of": "a", "shape": [2], "stride": [2**61], "offset": 0},
        {"of": "a", "shape": [2], "stride": [2**64], "offset": 0},
        {"of": "a", "shape": [1], "stride": [1], "offset": -1},
        {"of": "a", "shape": [2], "stride": [-1], "offset": 1},
        {"of": "a", "shape": [1, 1], "stride": [1], "offset": 0},
        {"of": "a", "shape": "a", "stride": [1], "offset": 0},
        {"of": "a", "shape": [1], "stride": [1], "offset": "0"},
        {"of": "a", "shape": [1], "stride": [1], "offset": 0, "dtype": "int32"},
        {"of": "a", "shape": [1], "stride": [1], "offset": 0, "dtype": "complex64"},
        {"of": "a", "shape": [2**62, 2], "stride": [0, 0], "offset": 0},
        {"of": "a", "order": [1]},
        {"of": "a", "order": ["0"]},
        {"of": "a", "order": [0, 0]},
        {"of": "a", "order": 3},
    ],
    ids=str,
)
def test_damaged_descriptions(said: Any) -> None:
    with pytest.raises(LoadError):
        weft.load(described([said]))


def test_damaged_trees() -> None:
    for text in ("", "3", "{}", '{"version":2,"tree":1,"tensors":[]}', '{"tree":1,"tensors":3}'):
        head = {"a": entry(), "__metadata__": {"weft": text}}
        with pytest.raises(LoadError):
            weft.load(file_of(head, bytes(8)))
    with pytest.raises(LoadError, match="no tensor 1"):
        weft.load(described([{"of": "a"}], {"tensor": 1}))
    with pytest.raises(LoadError, match="list of tensors"):
        weft.load(described({}))


def test_truth_values_are_truth_values() -> None:
    with pytest.raises(LoadError, match="neither 0 nor 1"):
        weft.load(file_of({"a": entry("BOOL", (2,), (0, 2))}, b"\x01\x02"))


def test_a_gradient_needs_floating_point() -> None:
    said = {"version": 1, "tree": {"tensor": 0}, "tensors": [{"of": "a", "grad": True}]}
    head = {"a": entry("I32"), "__metadata__": {"weft": json.dumps(said)}}
    with pytest.raises(LoadError, match="cannot have a gradient"):
        weft.load(file_of(head, bytes(8)))


def test_tensors_lie_aligned() -> None:
    file = io.BytesIO()
    weft.save({"a": weft.ones(3, dtype=weft.bool), "b": weft.ones(1, dtype=weft.float64)}, file)
    data = file.getvalue()
    length = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8 : 8 + length])
    assert (8 + length) % 64 == 0
    assert head["b"]["data_offsets"] == [0, 8]
    assert head["a"]["data_offsets"] == [8, 11]


def test_too_long_a_head(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.serialization.header.LONGEST", 1000)
    with pytest.raises(TypeError, match="keep long texts"):
        weft.save("a" * 2000, io.BytesIO())
