"""Control that leaves blocks: what runs, how often, and what is bound afterwards."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.compiling.oracle import load
from weft import _core


def leaving(items):  # type: ignore[no-untyped-def]
    seen = []
    for item in items:
        try:
            if item == 1:
                continue
            if item == 2:
                break
            seen.append(item)
        finally:
            seen.append(-item)
    return seen


def returning(items):  # type: ignore[no-untyped-def]
    for item in items:
        for other in items:
            try:
                return [item, other]
            finally:
                items.append("finally")
    return None


def handling(number):  # type: ignore[no-untyped-def]
    seen = []
    try:
        try:
            1 // number
        except ZeroDivisionError as error:
            seen.append(str(error))
            read = lambda: error
            raise ValueError(str(error)) from error
        else:
            read = lambda: seen
    except ValueError as error:
        seen.append(type(error.__cause__).__name__)
    try:
        seen.append(type(read()).__name__)
    except NameError as error:
        seen.append(str(error))
    return seen


class Manager:
    def __init__(self, log, name, swallows=False):  # type: ignore[no-untyped-def]
        self.log, self.name, self.swallows = log, name, swallows

    def __enter__(self):  # type: ignore[no-untyped-def]
        self.log.append(f"enter {self.name}")

    def __exit__(self, kind, error, trace):  # type: ignore[no-untyped-def]
        self.log.append(f"exit {self.name} {kind and kind.__name__}")
        return self.swallows


def managing(log, number):  # type: ignore[no-untyped-def]
    with Manager(log, "outer"), Manager(log, "inner", True):
        log.append(1 // number)
        return "inside"
    return "behind"


def consuming(flag, items):  # type: ignore[no-untyped-def]
    if flag:
        given = items
    return any(item for item in given), given


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (leaving, ([0, 1, 3, 2, 5],)),
        (returning, ([7],)),
        (handling, (0,)),
        (handling, (1,)),
        (managing, ([], 1)),
        (managing, ([], 0)),
        (consuming, (True, [0])),
        (consuming, (False, [0])),
    ],
)
def test_compiled_control_does_what_python_does(
    function: Callable[..., object], arguments: tuple[object, ...]
) -> None:
    def outcome(call: Callable[..., object]) -> tuple[object, object]:
        given = [list(item) if isinstance(item, list) else item for item in arguments]
        try:
            return call(*given), given
        except Exception as error:  # noqa: BLE001 - errors are compared
            return (type(error), str(error)), given

    assert _core.routine_of(function) is not None
    assert outcome(_core.CompiledCall(function)) == outcome(function)


def test_the_text_of_an_assert_is_read_only_where_it_fails() -> None:
    # As a text of its own: pytest writes the asserts of its tests anew.
    function = load(
        "def program(flag, items):\n"
        "    if flag:\n"
        "        text = 'set'\n"
        "    assert items or flag, text\n"
        "    return text.upper()\n",
        -1,
    ).program
    assert _core.routine_of(function) is not None
    assert _core.CompiledCall(function)(True, []) == "SET"
    with pytest.raises(UnboundLocalError, match="'text'"):
        _core.CompiledCall(function)(False, [1])
    with pytest.raises(UnboundLocalError, match="'text'"):
        _core.CompiledCall(function)(False, [])
