"""Errors of compiled functions: their tracebacks, signals, and depth."""

from __future__ import annotations

import _thread
import signal
import threading
import time
import traceback

import pytest

import weft.compiling  # noqa: F401 - the front end
from weft import _core


def failing(items):  # type: ignore[no-untyped-def]
    def pick(place):  # type: ignore[no-untyped-def]
        return items[place]

    return [pick(place) for place in (0, 5)]


def test_frames_of_a_traceback_can_be_looked_at() -> None:
    with pytest.raises(IndexError) as caught:
        _core.CompiledCall(failing)([1])
    frames = [frame for frame, _ in traceback.walk_tb(caught.value.__traceback__)][1:]
    assert next(frame.f_code.co_name for frame in frames) == "failing"
    assert frames[-1].f_code.co_name == "pick"
    for frame in frames:
        assert isinstance(frame.f_locals, dict)
        assert frame.f_globals is globals()
        frame.clear()


def test_a_traceback_has_the_lines_of_python() -> None:
    def lines(function) -> list[tuple[str, int | None]]:  # type: ignore[no-untyped-def]
        with pytest.raises(IndexError) as caught:
            function([1])
        return [(at.name, at.lineno) for at in traceback.extract_tb(caught.value.__traceback__)][1:]

    assert lines(_core.CompiledCall(failing)) == lines(failing)


def endless(seen):  # type: ignore[no-untyped-def]
    while True:
        seen[0] += 1


def test_an_endless_loop_can_be_interrupted() -> None:
    def interrupt() -> None:
        while seen[0] == 0:
            time.sleep(0.001)
        _thread.interrupt_main()

    seen = [0]
    thread = threading.Thread(target=interrupt)
    # A shell that runs this in the background has it ignore interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            _core.CompiledCall(endless)(seen)
    finally:
        signal.signal(signal.SIGINT, before)
    thread.join()
    assert seen[0] > 0


def deep(n):  # type: ignore[no-untyped-def]
    return 0 if n == 0 else 1 + deep(n - 1)


def deep_by_name(n, call):  # type: ignore[no-untyped-def]
    return 0 if n == 0 else 1 + call(n - 1, call)


def without_end(n):  # type: ignore[no-untyped-def]
    return without_end(n + 1)


def test_recursion_is_as_deep_as_memory_allows() -> None:
    assert _core.CompiledCall(deep)(100_000) == 100_000


def test_compiled_functions_call_each_other_on_the_heap() -> None:
    compiled = _core.CompiledCall(deep_by_name)
    assert compiled(20_000, compiled) == 20_000


def test_recursion_without_end_is_an_error() -> None:
    with pytest.raises(RecursionError, match="maximum recursion depth exceeded") as caught:
        _core.CompiledCall(without_end)(0)
    assert caught.value.__traceback__ is not None
