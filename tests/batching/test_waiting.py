"""Where an example may not wait for others: in locks, in the middle of a line, in a debugger."""

from __future__ import annotations

import builtins
import io
import multiprocessing
import pdb  # noqa: T100
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import weft

pytestmark = [pytest.mark.filterwarnings("ignore:more than 20 plans")]

EXAMPLES = [weft.ones(3) * k for k in range(4)]


def line_of(function: Callable[..., Any], text: str) -> int:
    """Return the number of the function's line that contains a text."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    start = function.__code__.co_firstlineno
    return next(i for i in range(start, len(lines) + 1) if text in lines[i - 1])


def refused(function: Callable[[weft.Tensor], Any], read: str, taken: str) -> None:
    """Assert that a map raises and names both lines, and that the next one is as ever."""
    with pytest.raises(RuntimeError, match="inside a lock") as caught:
        weft.map(function, EXAMPLES)
    message = str(caught.value)
    assert f"{__file__}:{line_of(function, read)} inside" in message
    assert f"taken by {__file__}:{line_of(function, taken)})" in message
    assert weft.map(lambda x: x.sum().item(), EXAMPLES) == [0, 3, 6, 9]


@contextmanager
def guarded(lock: threading.Lock) -> Iterator[None]:
    with lock:
        yield


def test_a_read_inside_a_lock_is_refused() -> None:
    lock = threading.Lock()

    def model(x: weft.Tensor) -> float:
        try:
            with weft.enable_grad(), lock:
                return x.sum().item() * 2  # the read
        finally:
            assert not lock.locked()

    refused(model, "# the read", "# the read")
    assert weft.map(model, EXAMPLES, batch=False) == [0, 6, 12, 18]
    failed = weft.map(model, EXAMPLES, return_exceptions=True)
    assert all(isinstance(error, RuntimeError) for error in failed)
    assert "in example 2 of weft.map" in failed[2].__notes__


def test_a_read_in_a_function_that_is_called_inside_a_lock_is_refused() -> None:
    lock = threading.Lock()

    def inner(x: weft.Tensor) -> float:
        try:
            return float(x.sum())  # the read
        except ValueError:
            return 0.0

    def model(x: weft.Tensor) -> float:
        y = 0.0
        for _ in range(2):
            with lock:
                try:
                    y = inner(x)  # the call
                except KeyError:
                    y = 1.0
        return y

    with pytest.raises(RuntimeError, match="inside a lock") as caught:
        weft.map(model, EXAMPLES)
    assert f"{__file__}:{line_of(inner, '# the read')} inside" in str(caught.value)
    assert f"taken by {__file__}:{line_of(model, '# the call')})" in str(caught.value)


@pytest.mark.parametrize(
    "make",
    [
        threading.Semaphore,
        threading.BoundedSemaphore,
        lambda: threading.Condition(threading.Lock()),
        lambda: multiprocessing.get_context("spawn").Lock(),
    ],
    ids=["semaphore", "bounded", "condition", "of processes"],
)
def test_other_locks_are_refused_as_well(make: Callable[[], Any]) -> None:
    lock = make()

    def model(x: weft.Tensor) -> float:
        with lock:
            return x.sum().item()  # the read

    refused(model, "# the read", "# the read")


def test_a_lock_of_a_context_manager_is_seen() -> None:
    lock = threading.Lock()

    def model(x: weft.Tensor) -> float:
        with guarded(lock):
            return x.sum().item()  # the read

    refused(model, "# the read", "# the read")


def test_a_map_inside_a_lock_is_refused() -> None:
    lock = threading.Lock()

    def model(x: weft.Tensor) -> list[float]:
        with lock:
            return weft.map(lambda y: y.item(), [x.sum()] * 2, replay=False)

    with pytest.raises(RuntimeError, match="inside a lock"):
        weft.map(model, EXAMPLES)
    assert not lock.locked()


def test_what_nobody_would_wait_for_is_allowed() -> None:
    lock, again, some = threading.Lock(), threading.RLock(), threading.Semaphore(9)
    changed = threading.Condition()

    def model(x: weft.Tensor) -> float:
        with lock:
            y = x.sum() * 2
            z = weft.ones(2).tolist()[0] if x.shape[0] == 0 else 1.0
        with again, some, changed:
            y = y * y.item()
        with lock:
            pass
        return y.item() * z

    expected = weft.map(model, EXAMPLES, batch=False)
    assert weft.map(model, EXAMPLES) == expected
    with lock:  # taken by who maps
        assert weft.map(lambda x: x.sum().item(), EXAMPLES) == [0, 3, 6, 9]


def printed(function: Callable[[weft.Tensor], Any]) -> list[str]:
    """Return the lines that examples print; they come in another order than one by one."""
    texts = []
    for batch in (False, True):
        before, sys.stdout = sys.stdout, io.StringIO()
        try:
            weft.map(function, EXAMPLES, batch=batch)
            texts.append(sys.stdout.getvalue())
        finally:
            sys.stdout = before
    assert sorted(texts[1].splitlines()) == sorted(texts[0].splitlines())
    return texts[1].splitlines()


def test_lines_are_printed_whole() -> None:
    lines = printed(lambda x: print(x * 2, x.sum(), x.sum() * 2))
    assert len(lines) == len(EXAMPLES)
    assert lines[1] == "tensor([2., 2., 2.]) tensor(3.) tensor(6.)"


def test_lines_with_lists_and_objects_are_printed_whole() -> None:
    class Named:
        def __init__(self, x: weft.Tensor) -> None:
            self.x = x

        def __str__(self) -> str:
            return f"<{(self.x + 1).sum()}>"

    lines = printed(lambda x: print("x", [x.sum(), x * 2], Named(x), sep=" | ", end=";\n"))
    assert lines[2] == "x | [tensor(6.), tensor([4., 4., 4.])] | <9.0>;"


def test_lines_to_files_are_printed_whole() -> None:
    file = io.StringIO()
    weft.map(lambda x: print("x", x.sum(), x.mean(), file=file, flush=True), EXAMPLES)
    assert file.getvalue().splitlines()[3] == "x tensor(9.) tensor(3.)"


def test_a_print_of_the_users_own_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    original = print
    seen: list[tuple[object, ...]] = []

    def mine(*args: Any, **kwargs: Any) -> None:
        seen.append(args)
        original(*args, **kwargs)

    monkeypatch.setattr(builtins, "print", mine)
    lines = printed(lambda x: print("x", x.sum()))
    assert lines[1] == "x tensor(3.)"
    assert builtins.print is mine
    assert all(isinstance(args[1], weft.Tensor) for args in seen)


def test_print_in_maps_is_pythons_own() -> None:
    def model(x: weft.Tensor) -> str:
        with pytest.raises(TypeError, match="sep must be"):
            print(x.sum(), x, sep=1)  # type: ignore[call-overload]
        with pytest.raises(AttributeError):
            print(x.sum(), file=3)  # type: ignore[call-overload]
        assert print is builtins.print
        return print.__name__

    assert weft.map(model, EXAMPLES) == ["print"] * 4


def test_threads_print_while_others_map() -> None:
    file = io.StringIO()
    threads = [
        threading.Thread(
            target=weft.map, args=(lambda x: print("x", x.sum(), file=file), EXAMPLES * 8)
        )
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert file.getvalue().count("\n") == 3 * 32
    assert file.getvalue().count("x") == 3 * 32


class Session:
    """Answers a debugger's prompts from a list of commands."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, commands: list[str]) -> None:
        self.commands = iter(commands)
        self.output = io.StringIO()

        def set_trace(*_: Any, **__: Any) -> None:
            stdin: Any = self
            debugger = pdb.Pdb(stdin=stdin, stdout=self.output, nosigint=True, readrc=False)
            debugger.use_rawinput = False
            debugger.set_trace(sys._getframe(1))

        monkeypatch.setattr(sys, "breakpointhook", set_trace)

    def readline(self) -> str:
        return next(self.commands) + "\n"


def test_breakpoints_stop_in_each_example(monkeypatch: pytest.MonkeyPatch) -> None:
    stops: list[int] = []

    def model(k: int) -> float:
        x = weft.ones(3) * k
        breakpoint()  # noqa: T100
        y = x * 2
        stops.append(k)
        return y.sum().item()

    session = Session(monkeypatch, ["p y.sum() if 'y' in dir() else x.sum()", "n", "p y", "c"] * 4)
    assert weft.map(model, range(4)) == [0, 6, 12, 18]
    assert stops == [0, 1, 2, 3]
    assert next(session.commands, None) is None  # all were asked for
    for k in range(4):
        assert f"tensor({3.0 * k:.0f}.)" in session.output.getvalue()


def test_breakpoints_stop_after_examples_have_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    def model(k: int) -> float:
        x = (weft.ones(3) * k).sum()
        if x > 100:
            return 0.0
        breakpoint()  # noqa: T100
        y = x * 2
        if y.item() > 3:
            y = y + 1
        return y.item()

    # Steps over a read: no other example goes on, and the next step stops in this one.
    session = Session(monkeypatch, ["n", "n", "p ('here', k, y.item())", "c"] * 4)
    assert weft.map(model, range(4)) == [0, 7, 13, 19]
    assert next(session.commands, None) is None
    for k in range(4):
        assert f"('here', {k}, {6.0 * k})" in session.output.getvalue()


def test_a_breakpoint_that_is_set_in_a_session_stops_in_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stopped: list[int] = []

    def model(k: int) -> float:
        x = (weft.ones(3) * k).sum()
        if x > 100:
            return 0.0
        if k == 0:
            breakpoint()  # noqa: T100
        y = x * 2  # here
        return y.item()

    line = line_of(test_a_breakpoint_that_is_set_in_a_session_stops_in_others, "# here")
    commands = [f"b {__file__}:{line}", "c", *["!stopped.append(k)", "c"] * 4]
    monkeypatch.setattr(sys.modules[__name__], "stopped", stopped, raising=False)
    Session(monkeypatch, commands)
    try:
        assert weft.map(model, range(4)) == [0, 6, 12, 18]
    finally:
        sys.settrace(None)
        pdb.Pdb(nosigint=True, readrc=False).clear_all_breaks()
    assert stopped[-3:] == [1, 2, 3]
