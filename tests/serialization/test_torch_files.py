"""PyTorch's two file formats, put together by hand; tests/oracle has files of real PyTorch."""

from __future__ import annotations

import contextlib
import io
import struct
import zipfile
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

import weft
from tests.serialization import weight_files as wf
from weft.serialization import LoadError, RefusedError

PARAMETER = wf.call(
    wf.name("torch._utils", "_rebuild_parameter"),
    wf.tensor(),
    wf.boolean(True),
    wf.call(wf.name("collections", "OrderedDict")),
)
STATE = wf.mapping(
    weight=wf.tensor(), turned=wf.tensor(shape=(3, 2), stride=(1, 3)), parameter=PARAMETER
)
ARCHIVE = wf.archive(wf.pickled(STATE))


@pytest.mark.parametrize("mapped", [False, True])
def test_zip(mapped: bool, tmp_path: Path) -> None:
    path = tmp_path / "file.pt"
    path.write_bytes(ARCHIVE)
    found = weft.load(path, mmap=mapped)
    assert found["weight"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert found["turned"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert found["parameter"].requires_grad
    assert found["parameter"].is_leaf
    found["weight"][0, 0] = 9  # one storage
    assert found["turned"].tolist()[0][0] == found["parameter"].tolist()[0][0] == 9
    assert path.read_bytes() == ARCHIVE


def test_legacy() -> None:
    file = io.BytesIO(wf.legacy(STATE, ["0"], [(6, wf.SIX)]) + b"rest")
    found = weft.load(file)
    assert found["turned"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert file.read() == b"rest"


@pytest.mark.parametrize(
    ("keys", "contents"),
    [
        ([], []),
        (["1"], [(6, wf.SIX)]),
        (["0", "0"], [(6, wf.SIX), (6, wf.SIX)]),
        (["0"], [(7, wf.SIX)]),
        (["0"], [(-6, wf.SIX)]),
        (["0"], [(6, wf.SIX[:-1])]),
    ],
)
def test_damaged_legacy(keys: list[str], contents: list[tuple[int, bytes]]) -> None:
    with pytest.raises(LoadError):
        weft.load(io.BytesIO(wf.legacy(STATE, keys, contents)))


def test_hostile_legacy() -> None:
    attack = wf.call(wf.name("os", "system"), wf.text("ls"))
    with pytest.raises(RefusedError, match=r"os\.system"):
        weft.load(io.BytesIO(wf.legacy(attack, [], [])))


def test_state_dicts_are_ordered_and_their_versions_dropped() -> None:
    state = wf.call(wf.name("collections", "OrderedDict")) + wf.text("a") + wf.tensor() + b"s"
    state += wf.mapping(_metadata=wf.mapping(version=wf.integer(1))) + b"b"
    found = weft.load(io.BytesIO(wf.archive(wf.pickled(state))))
    assert type(found) is OrderedDict
    assert list(found) == ["a"]
    assert vars(found) == {}


def test_empty_and_single() -> None:
    tensors = wf.sequence(
        wf.tensor(wf.storage(count=0), shape=(0, 3)),
        wf.tensor(wf.storage("1", "LongStorage", 1), shape=(), stride=()),
        wf.tensor(wf.storage(count=0), offset=5, shape=(0,), stride=(1,)),
    )
    stored = {"0": b"", "1": struct.pack("<q", 7)}
    found = weft.load(io.BytesIO(wf.archive(wf.pickled(tensors), stored)))
    assert [tuple(tensor.shape) for tensor in found] == [(0, 3), (), (0,)]
    assert found[1].item() == 7


def test_a_compressed_file_is_refused() -> None:
    bomb = wf.archive(wf.pickled(b"N"), {"0": bytes(10_000_000)}, zipfile.ZIP_DEFLATED)
    assert len(bomb) < 20_000
    with pytest.raises(LoadError, match="compressed"):
        weft.load(io.BytesIO(bomb))


def test_every_truncation_is_noticed() -> None:
    for length in range(0, len(ARCHIVE), 3):
        with pytest.raises(LoadError):
            weft.load(io.BytesIO(ARCHIVE[:length]))
    whole = wf.legacy(STATE, ["0"], [(6, wf.SIX)])
    for length in range(len(whole)):
        with pytest.raises(LoadError):
            weft.load(io.BytesIO(whole[:length]))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_ambiguous_zips_are_refused() -> None:
    def refuse(extra: dict[str, bytes], message: str) -> None:
        with pytest.raises(LoadError, match=message):
            weft.load(io.BytesIO(wf.archive(wf.pickled(STATE), extra=extra)))

    refuse({"archive/data/0": wf.SIX}, "occurs twice")
    refuse({"other/data.pkl": b"N."}, "no weight file")
    refuse({"archive/constants.pkl": b"N."}, "TorchScript")
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("hello.txt", b"hello")
    with pytest.raises(LoadError, match="no weight file"):
        weft.load(io.BytesIO(file.getvalue()))


def test_names_that_lead_elsewhere_lead_nowhere(tmp_path: Path) -> None:
    extra = {"../outside": b"x", "/etc/weft": b"x", "archive/../../outside": b"x"}
    path = tmp_path / "folder" / "file.pt"
    path.parent.mkdir()
    path.write_bytes(wf.archive(wf.pickled(STATE), extra=extra))
    assert weft.load(path)["weight"].shape == (2, 3)
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


def patched(data: bytes, old: bytes, new: bytes, which: int = -1) -> bytes:
    """Replace one occurrence of some bytes; the last is in the zip's directory."""
    assert len(old) == len(new)
    places = [at for at in range(len(data)) if data.startswith(old, at)]
    at = places[which]
    return data[:at] + new + data[at + len(old) :]


def test_records_that_overlap_or_lie_outside_are_refused() -> None:
    with zipfile.ZipFile(io.BytesIO(ARCHIVE)) as archive:
        offsets = {info.filename: info.header_offset for info in archive.infolist()}
    own = struct.pack("<L", offsets["archive/data/0"]) + b"archive/data/0"
    for offset, message in (
        (offsets["archive/data.pkl"], "overlaps"),
        (offsets["archive/data/0"] + 1, "does not lie where"),
        (2**31, "cut short|damaged"),
    ):
        data = patched(ARCHIVE, own, struct.pack("<L", offset) + b"archive/data/0")
        with pytest.raises(LoadError, match=message):
            weft.load(io.BytesIO(data))


def test_a_size_that_the_directory_lies_about() -> None:
    sizes = struct.pack("<LL", len(wf.SIX), len(wf.SIX))
    for count in (len(wf.SIX) + 4, 2**31):
        data = patched(ARCHIVE, sizes, struct.pack("<LL", count, count))
        with pytest.raises(LoadError):
            weft.load(io.BytesIO(data))


def test_random_damage_never_does_more_than_raise() -> None:
    random = np.random.default_rng(0)
    for whole in (ARCHIVE, wf.legacy(STATE, ["0"], [(6, wf.SIX)])):
        data = np.frombuffer(whole, dtype=np.uint8)
        for _ in range(2000):
            damaged = data.copy()
            places = random.integers(0, len(data), random.integers(1, 5))
            damaged[places] = random.integers(0, 256, len(places))
            with contextlib.suppress(LoadError):
                repr(weft.load(io.BytesIO(damaged.tobytes())))


def test_big_endian_is_refused() -> None:
    data = patched(ARCHIVE, b"little", b"big   ")
    with pytest.raises(LoadError, match="big-endian"):
        weft.load(io.BytesIO(data))
