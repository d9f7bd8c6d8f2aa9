"""What has no place in a file is named, with its place in the object."""

from __future__ import annotations

import io
import threading
from collections import defaultdict, namedtuple
from typing import Any

import numpy as np
import pytest

import weft
from weft.serialization import LoadError, SaveError
from weft.serialization.tree import DEEPEST, Decoder

Point = namedtuple("Point", "x y")  # noqa: PYI024 - the plain kind is meant
LOOP: list[Any] = [1]
LOOP.append(LOOP)
DEEP: list[Any] = []
for _ in range(DEEPEST + 5):
    DEEP = [DEEP]


class Thing:
    pass


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Thing(), r"an object of type tests\.\S*Thing at \['a'\]\[1\]"),
        (Thing, r"the class Thing at \['a'\]\[1\]"),
        (len, r"the function len at \['a'\]\[1\]"),
        (lambda: 0, r"the function <lambda> at \['a'\]\[1\]"),
        (1j, r"an object of type complex at \['a'\]\[1\]"),
        (weft.nn.Linear(1, 1), r"Linear at \['a'\]\[1\]\. Save its state_dict\(\) instead"),
        (Point(1, 2), r"Point at \['a'\]\[1\]"),
        (defaultdict(list), r"defaultdict at \['a'\]\[1\]"),
        (threading.Lock(), r"lock at \['a'\]\[1\]"),
        ({Thing: 1}, r"the dictionary at \['a'\]\[1\] has the key <class"),
        ({(1, (2, 3)): 1}, r"the dictionary at \['a'\]\[1\] has the key \(1, \(2, 3\)\)"),
        ({"x": {"y": Thing()}}, r"at \['a'\]\[1\]\['x'\]\['y'\]"),
        (np.array(["text"]), r"type <U4 at \['a'\]\[1\]"),
        (np.array([1j]), r"type complex128 at \['a'\]\[1\]"),
        (np.datetime64("2020-01-01"), r"NumPy value .* at \['a'\]\[1\]"),
        (LOOP, r"the list at \['a'\]\[1\]\[1\] contains itself"),
        (DEEP, "lies deeper than 100 levels"),
    ],
    ids=range(17),
)
def test_what_cannot_be_saved(value: Any, message: str) -> None:
    with pytest.raises(SaveError, match=message):
        weft.save({"a": [0, value]}, io.BytesIO())


def test_at_the_top() -> None:
    with pytest.raises(SaveError, match="at the top"):
        weft.save(Thing(), io.BytesIO())


def test_the_same_container_twice_is_no_loop() -> None:
    shared = [1]
    file = io.BytesIO()
    weft.save([shared, shared], file)
    file.seek(0)
    assert weft.load(file) == [[1], [1]]


@pytest.mark.parametrize(
    "tree",
    [
        {"unknown": 1},
        {"unknown": "1"},
        {},
        {"a": 1, "b": 2},
        {"tuple": 3},
        {"tuple": {"a": 1}},
        {"dict": 3},
        {"dict": [[1]]},
        {"dict": [[[1], 2]]},
        {"dict": [[{"dict": {}}, 2]]},
        {"counter": 1},
        {"set": [[1]]},
        {"size": ["a"]},
        {"tensor": 0},
        {"tensor": -1},
        {"tensor": True},
        {"tensor": "a"},
        {"bytes": "?"},
        {"bytes": 1},
        {"int": "z"},
        {"float": "1"},
        {"dtype": "complex64"},
        {"device": "cuda"},
    ],
    ids=str,
)
def test_damaged_trees(tree: Any) -> None:
    def missing(number: int) -> Any:
        raise LoadError(f"no {number}")

    with pytest.raises((LoadError, weft.UnsupportedError)):
        Decoder(missing, "file").decode([tree])


def test_a_deep_tree_is_refused() -> None:
    with pytest.raises(LoadError, match="deeper"):
        Decoder(lambda _: weft.ones(1), "file").decode(DEEP)
