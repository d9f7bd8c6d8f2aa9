"""Pickles are read as data: hostile ones are refused, and nothing of theirs ever runs."""

from __future__ import annotations

import builtins
import contextlib
import io
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from tests.serialization import weight_files as wf
from weft.serialization import LoadError, RefusedError
from weft.serialization.pickles import check_tree


class Attack:
    """An object whose pickle calls a function when it is unpickled."""

    def __init__(self, function: Any, *arguments: Any, state: Any = None) -> None:
        self.result = (function, arguments) if state is None else (function, arguments, state)

    def __reduce__(self) -> Any:
        return self.result


def load(pickle_bytes: bytes) -> Any:
    return weft.load(io.BytesIO(wf.archive(pickle_bytes)))


def attacks(marker: Path) -> dict[str, Attack]:
    touch = f"touch {marker}"
    code = f"open({str(marker)!r}, 'w')"
    return {
        "os.system": Attack(os.system, touch),
        "subprocess": Attack(subprocess.Popen, ["touch", str(marker)]),
        "eval": Attack(builtins.eval, code),
        "exec": Attack(builtins.exec, code),
        "open": Attack(builtins.open, str(marker), "w"),
        "getattr": Attack(builtins.getattr, os, "system"),
        "import": Attack(builtins.__import__, "this"),
        "compile": Attack(builtins.compile, code, "a", "eval"),
        "pickle": Attack(pickle.loads, pickle.dumps(Attack(os.system, touch))),
        "numpy": Attack(np.load, str(marker)),
        "state": Attack(dict, state={"__setstate__": os.system}),
    }


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("kind", attacks(Path("x")))
def test_real_attacks(kind: str, protocol: int, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    attack = attacks(marker)[kind]
    if kind == "getattr":
        with pytest.raises(TypeError):
            pickle.dumps(attack, protocol)  # a module cannot be pickled; see below
        return
    for value in (attack, {"weight": attack}, [1, (attack,)], {"a": {"b": [attack]}}):
        with pytest.raises(RefusedError, match=r"asks for [\w.]+, which is no data"):
            load(pickle.dumps(value, protocol))
    assert list(tmp_path.iterdir()) == []
    assert "this" not in sys.modules


def test_the_attack_would_work(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    pickle.loads(pickle.dumps(attacks(marker)["os.system"]))
    assert marker.exists()


def short(value: str) -> bytes:
    return b"\x8c" + bytes((len(value),)) + value.encode()


REFUSED = {
    "a global alone": wf.name("os", "system"),
    "two parts on the stack": short("os") + short("system") + b"\x93",
    "parts from the memo": short("posix") + b"\x94" + b"0" + b"h\x00" + short("system") + b"\x93",
    "an attribute of an attribute": short("torch") + short("serialization.os.system") + b"\x93",
    "inside of a tensor": wf.call(
        wf.name("torch._utils", "_rebuild_tensor_v2"), wf.call(wf.name("os", "getcwd"))
    ),
    "as a storage": wf.group(wf.text("storage"), wf.name("os", "system"), wf.text("0")) + b"Q",
    "INST": b"(" + wf.text("ls") + b"ios\nsystem\n",
    "OBJ": b"(" + wf.name("collections", "OrderedDict") + b"o",
    "NEWOBJ": wf.name("collections", "OrderedDict") + b")\x81",
    "NEWOBJ_EX": wf.name("collections", "OrderedDict") + b")}\x92",
    "EXT1": b"\x82\x01",
    "PERSID": b"Pos.system\n",
    "GET by text": b"g0\n",
    "a call of data": b"})R",
    "a call of a dtype": wf.call(wf.name("torch", "float32")),
    "a call of a storage": wf.call(wf.name("torch", "FloatStorage"), wf.integer(3)),
    "a call of a type": wf.call(wf.name("torch.nn.parameter", "Parameter")),
    "state of a list": b"]}b",
    "state of a tensor": wf.tensor() + b"}b",
    "state that is no dict": wf.call(wf.name("collections", "OrderedDict")) + b"]b",
    "a reader of files": wf.call(wf.name("torch", "load"), wf.text("/etc/passwd")),
    "storage from a file": wf.call(wf.name("torch", "UntypedStorage.from_file"), wf.text("x")),
    "a script": wf.call(wf.name("torch.jit", "load"), wf.text("x")),
    "a module": wf.name("torch.nn.modules.linear", "Linear"),
    "complex numbers": wf.storage(kind="ComplexFloatStorage"),
    "a sparse tensor": wf.name("torch._utils", "_rebuild_sparse_tensor"),
    "unsigned numbers": wf.name("torch._utils", "_rebuild_tensor_v3"),
    "a name that is left": wf.name("torch._utils", "_rebuild_tensor_v2"),
    "a type that is left": wf.sequence(wf.name("torch", "FloatStorage")),
    "a storage that is left": wf.sequence(wf.storage()),
    "a buffer": b"\x97",
    "a bytearray": b"\x96" + bytes(8),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refused(kind: str) -> None:
    with pytest.raises(RefusedError):
        load(wf.pickled(REFUSED[kind]))


def rebuild(*arguments: bytes) -> bytes:
    return wf.call(wf.name("torch._utils", "_rebuild_tensor_v2"), *arguments)


ORDERED = wf.name("collections", "OrderedDict")
HOOKS = wf.call(ORDERED)
LAUGHS = b"]\x94" + b"".join(
    b"](h" + bytes((i,)) + b"h" + bytes((i,)) + b"e\x94" for i in range(90)
)
DAMAGED = {
    "beyond the storage": wf.tensor(shape=(3, 3)),
    "an offset beyond": wf.tensor(offset=1),
    "a huge offset": wf.tensor(offset=2**61),
    "a negative offset": wf.tensor(offset=-1),
    "a negative stride": wf.tensor(stride=(-3, 1)),
    "a huge stride": wf.tensor(stride=(2**62, 1)),
    "a stride that wraps around": wf.tensor(stride=(2**64 - 3, 1)),
    "a negative size": wf.tensor(shape=(-2, 3)),
    "sizes that wrap around": wf.tensor(shape=(2**33, 2**33), stride=(0, 0)),
    "too many strides": wf.tensor(stride=(6, 3, 1)),
    "too many dimensions": wf.tensor(shape=(1,) * 65, stride=(1,) * 65),
    "another size of storage": wf.tensor(wf.storage(count=7)),
    "a storage that is not there": wf.tensor(wf.storage("1")),
    "a path out of the archive": wf.tensor(wf.storage("../../etc/passwd")),
    "a huge storage": wf.tensor(wf.storage(count=2**61)),
    "a negative storage": wf.tensor(wf.storage(count=-1)),
    "one storage of two types": wf.sequence(
        wf.tensor(), wf.tensor(wf.storage(kind="IntStorage"))
    ),
    "a gradient of integers": wf.tensor(wf.storage(kind="IntStorage"), requires_grad=True),
    "text for sizes": rebuild(wf.storage(), wf.integer(0), wf.text("a"), wf.numbers(1)),
    "no storage": rebuild(wf.text("0"), wf.integer(0), wf.numbers(1), wf.numbers(1)),
    "too few arguments": rebuild(wf.storage()),
    "no arguments": rebuild(),
    "hooks": rebuild(
        wf.storage(), wf.integer(0), wf.numbers(1), wf.numbers(1), wf.boolean(False),
        wf.mapping(hook=wf.text("x")),
    ),
    "arguments that are no tuple": wf.name("torch._utils", "_rebuild_tensor_v2") + b"]R",
    "a parameter of nothing": wf.call(
        wf.name("torch._utils", "_rebuild_parameter"), wf.text("x"), wf.boolean(True), HOOKS
    ),
    "another codec": wf.call(wf.name("_codecs", "encode"), wf.text("x"), wf.text("rot13")),
    "pairs that are none": wf.call(ORDERED, wf.sequence(wf.numbers(1, 2, 3))),
    "a key that is a list": b"}](" + b"e" + wf.integer(1) + b"s",
    "a key that is deep": b"}" + wf.group(wf.numbers(1)) + wf.integer(1) + b"s",
    "a persistent id that is text": wf.text("0") + b"Q",
    "a list in itself": b"]\x94h\x00a",
    "a dict in itself": b"}\x94" + wf.text("a") + b"h\x00s",
    "a list in its tuple": b"]\x94h\x00\x85a",
    "lists of lists of the same lists": LAUGHS,
    "a deep list": b"]" * 5000 + b"a" * 4999,
    "a deep tuple": b")" + b"\x85" * 200_000,
    "nothing": b"",
    "two values": b"NN",
    "an empty stack": b"a",
    "a mark alone": b"(",
    "a mark in a tuple": b"(\x85",
    "a mark remembered": b"(q\x00",
    "no mark": b"t",
    "items of a number": wf.integer(1) + b"Na",
    "a memo that is not there": b"h\x07",
    "a huge memo number": b"j\xff\xff\xff\xff",
    "a huge text": b"X\xff\xff\xff\xff",
    "a huge text of 64 bits": b"\x8d" + b"\xff" * 8,
    "huge bytes": b"\x8e" + b"\xff" * 8,
    "a huge number": b"\x8b\xff\xff\xff\x7f" + b"a" * 2000,
    "text that is none": b"X\x01\x00\x00\x00\xff",
    "a name without an end": b"cos",
    "another protocol": b"\x80\x09N",
    "a key without a value": b"}(Nu",
}  # fmt: skip


@pytest.mark.parametrize("kind", DAMAGED)
def test_damaged(kind: str) -> None:
    with pytest.raises(LoadError):
        load(wf.pickled(DAMAGED[kind]))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("an empty stack", "before byte 3: pop from empty list"),
        ("a memo that is not there", "before byte 4: 7$"),
        ("items of a number", "before byte 9: items are added to a int"),
        ("a key that is a list", "before byte 12: a list is the key of a dictionary"),
        ("two values", "before byte 5: it ends with an unfinished value"),
        ("a huge text", "before byte 7: it is cut short"),
    ],
)
def test_what_is_damaged_is_named(kind: str, text: str) -> None:
    with pytest.raises(LoadError, match=text):
        load(wf.pickled(DAMAGED[kind]))


def long_number(length: int) -> bytes:
    return b"\x8b" + length.to_bytes(4, "little") + bytes(length - 1) + b"\x01"


def test_numbers_up_to_1024_bytes_are_read() -> None:
    assert load(wf.pickled(long_number(1024))) == 256**1023
    with pytest.raises(LoadError, match="a number of 1025 bytes"):
        load(wf.pickled(long_number(1025)))


def test_names_of_less_than_1000_letters_are_read() -> None:
    with pytest.raises(RefusedError, match=r"asks for a{196}"):
        load(wf.pickled(wf.name("a" * 999, "b")))
    with pytest.raises(LoadError, match="a name does not end"):
        load(wf.pickled(wf.name("a" * 1000, "b")))


def test_protocols_up_to_5_are_read() -> None:
    assert load(b"\x80\x05N.") is None
    with pytest.raises(LoadError, match="before byte 2: an unknown protocol"):
        load(b"\x80\x06N.")


def tree_of(places: int) -> Any:
    """Return few lists that stand for so many places."""
    if places == 1:
        return []
    half = tree_of((places - 1) // 2)
    return [half, half, *[None] * ((places - 1) % 2)]


def test_20_million_places_are_the_most() -> None:
    largest = tree_of(20_000_000)
    assert check_tree(largest, "here") is largest
    with pytest.raises(LoadError, match="here: the pickle's data is nested beyond measure"):
        check_tree(tree_of(20_000_001), "here")
    with pytest.raises(LoadError, match="nested beyond measure"):
        check_tree({"a": (largest,)}, "here")


def test_100_containers_in_one_another_are_the_most() -> None:
    def nested(depth: int) -> bytes:
        return b"]" * depth + b"a" * (depth - 1)

    found = load(wf.pickled(nested(100)))
    for _ in range(99):
        (found,) = found
    assert found == []
    with pytest.raises(LoadError, match="nested beyond measure"):
        load(wf.pickled(nested(101)))


def test_every_truncation_is_noticed() -> None:
    data = wf.pickled(wf.mapping(a=wf.tensor(), b=wf.sequence(wf.integer(3), wf.text("x"))))
    load(data)
    for length in range(len(data)):
        with pytest.raises(LoadError):
            load(data[:length])


def test_random_damage_never_does_more_than_raise() -> None:
    data = wf.pickled(wf.mapping(a=wf.tensor(), b=wf.sequence(wf.integer(3), wf.text("x"))))
    random = np.random.default_rng(0)
    for _ in range(3000):
        damaged = np.frombuffer(data, dtype=np.uint8).copy()
        places = random.integers(0, len(data), random.integers(1, 4))
        damaged[places] = random.integers(0, 256, len(places))
        with contextlib.suppress(LoadError):
            repr(load(damaged.tobytes()))


def test_the_message_names_what_is_asked_for() -> None:
    with pytest.raises(RefusedError, match=r"BytesIO: the file asks for os\.system, which is no"):
        load(wf.pickled(wf.call(wf.name("os", "system"), wf.text("ls"))))
    with pytest.raises(RefusedError, match=r"Linear.*whole module; save its state_dict"):
        load(wf.pickled(REFUSED["a module"]))
    with pytest.raises(RefusedError, match=r"torch\.ComplexFloatStorage, which Weft lacks"):
        load(wf.pickled(REFUSED["complex numbers"]))
    with pytest.raises(RefusedError, match="a sparse tensor, which Weft lacks"):
        load(wf.pickled(REFUSED["a sparse tensor"]))
    with pytest.raises(RefusedError, match="numbers instead"):
        load(pickle.dumps(np.float64(2), 2))


def test_plain_data_of_python() -> None:
    value = {"a": [1, -1, 2**40, -(2**100), 0.5, None, True], "b": ("x", b"\xff", {1, 2}), 3: "é"}
    for protocol in (2, 3, 4, 5):
        assert load(pickle.dumps(value, protocol)) == value


@pytest.mark.parametrize(
    ("code", "value"),
    [
        (b"K\xff", 255),
        (b"M\x01\xff", 0xFF01),
        (b"J\xfe\xff\xff\xff", -2),
        (b"\x8a\x00", 0),
        (b"\x8b\x02\x00\x00\x00\x00\xff", -256),
        (b"G\xc0\x04" + bytes(6), -2.5),
        (b"U\x02\xe9b", "éb"),
        (b"T\x02\x00\x00\x00\xe9b", "éb"),
        (b"X\x02\x00\x00\x00\xc3\xa9", "é"),
        (b"\x8d\x01" + bytes(7) + b"a", "a"),
        (b"C\x01\xff", b"\xff"),
        (b"B\x01\x00\x00\x00\xff", b"\xff"),
        (b"\x8e\x01" + bytes(7) + b"\xff", b"\xff"),
        (b"K\x01K\x02\x86", (1, 2)),
        (b"K\x01K\x02K\x03\x87", (1, 2, 3)),
        (b"K\x01K\x020", 1),
        (b"K\x01(K\x02K\x031", 1),
        (b"}K\x01K\x02s", {1: 2}),
        (b"\x8f(K\x01K\x02\x90", {1, 2}),
        (b"](K\x01(K\x02te", [1, (2,)]),
        (b"]q\x050]h\x05a", [[]]),
        (b"]r\x05\x01\x00\x000]j\x05\x01\x00\x00a", [[]]),
        (b"]\x94}\x940(h\x00h\x01t\x86", ([], ([], {}))),
        (b"\x95\x01" + bytes(7) + b"N", None),
    ],
)
def test_opcodes(code: bytes, value: Any) -> None:
    assert load(wf.pickled(code)) == value


def test_what_is_shared_stays_shared() -> None:
    shared = [1]
    found = load(pickle.dumps([shared, shared, (shared,)], 2))
    assert found[0] is found[1] is found[2][0]
