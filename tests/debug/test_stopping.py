"""breakpoint_when: the debugger stands at the user's line, with its variables."""

from __future__ import annotations

import bdb
import io
import os
import pdb  # noqa: T100
import pty
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import weft
import weft.debug
from weft import nn
from weft.debug import Match, breakpoint_when, is_nan, module, op, shape


class Script:
    """A debugger that is given commands, and keeps what it prints."""

    def __init__(self, *commands: str) -> None:
        self.commands = io.StringIO("".join(f"{command}\n" for command in commands))
        self.output = io.StringIO()

    def __call__(self) -> pdb.Pdb:
        return pdb.Pdb(
            stdin=self.commands, stdout=self.output, skip=["weft", "weft.*"], nosigint=True
        )

    @property
    def text(self) -> str:
        return self.output.getvalue()


def inner(x: weft.Tensor) -> weft.Tensor:
    secret = 42
    y = x.log()  # stops here
    after = secret + 1
    return y * after


def outer(x: weft.Tensor) -> weft.Tensor:
    mine = "the caller's"
    assert mine
    return inner(x)


def test_stops_at_the_line_with_its_variables() -> None:
    script = Script("p secret", "p x.tolist()", "up", "p mine", "down", "p secret + 1", "c")
    with breakpoint_when(is_nan, debugger=script):
        result = outer(weft.tensor([1.0, -1.0]))
    assert "y = x.log()  # stops here" in script.text
    assert "42" in script.text
    assert "[1.0, -1.0]" in script.text
    assert "the caller's" in script.text
    assert "43" in script.text
    assert "weft: log, forward: (2,) float32" in script.text
    assert result.shape == (2,)


def test_next_goes_on_line_by_line() -> None:
    script = Script("n", "p after if 'after' in dir() else 'not yet'", "n", "p after", "c")
    with breakpoint_when(is_nan, debugger=script):
        outer(weft.tensor([-1.0]))
    assert "-> after = secret + 1" in script.text
    assert "not yet" in script.text
    assert "43" in script.text
    assert sys.gettrace() is None or "pdb" not in repr(sys.gettrace())


def test_quitting_ends_the_run() -> None:
    script = Script("q")
    with pytest.raises(bdb.BdbQuit), breakpoint_when(is_nan, debugger=script):
        outer(weft.tensor([-1.0]))
    assert (weft.ones(1) * 2).item() == 2


def test_in_a_lazy_scope() -> None:
    script = Script("p secret", "c")
    with breakpoint_when(is_nan, debugger=script), weft.lazy():
        outer(weft.tensor([-1.0]))
    assert "y = x.log()  # stops here" in script.text
    assert "42" in script.text


def test_inside_a_map_in_the_example_that_matches() -> None:
    script = Script("p secret", "p x.item()", "up", "p mine", "c")
    with breakpoint_when(is_nan, debugger=script):
        weft.map(outer, [weft.tensor(float(i)) for i in (2, 1, -3, 4)])
    assert "example 2" in script.text
    assert "-3.0" in script.text
    assert "the caller's" in script.text


def test_inside_a_cell() -> None:
    @weft.cell
    def ratio(a: weft.Tensor, b: weft.Tensor) -> weft.Tensor:
        local = 7
        c = a / b  # in the cell
        return c * local

    ratio(weft.ones(2), weft.ones(2))
    script = Script("p local", "c")
    with breakpoint_when(is_nan, debugger=script):
        ratio(weft.zeros(2), weft.zeros(2))
    assert "c = a / b  # in the cell" in script.text
    assert "\n7\n" in script.text.replace("(Pdb) ", "\n")


def stops(condition: Callable[[Match], object], run: Callable[[], object]) -> list[str]:
    """Return the ops at which a condition stops."""
    found: list[str] = []

    def note(node: Match) -> bool:
        if condition(node):
            found.append(node.op)
        return False

    with breakpoint_when(note):
        run()
    return found


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(3, 4), nn.Tanh())
        self.head = nn.Linear(4, 2)

    def forward(self, x: weft.Tensor) -> weft.Tensor:
        return weft.softmax(self.head(self.encoder(x)), dim=-1)


def test_ready_conditions() -> None:
    net = Net()
    x = weft.ones(5, 3)
    assert stops(op("softmax"), lambda: net(x)) == ["softmax"]
    assert stops(op("soft*", "tanh"), lambda: net(x)) == ["tanh", "softmax"]
    assert stops(module("encoder.*"), lambda: net(x)) == ["linear", "tanh"]
    assert stops(module("head"), lambda: net(x)) == ["linear"]
    assert stops(shape(5, 4), lambda: net(x)) == ["linear", "tanh"]
    assert stops(shape(None, 2), lambda: net(x)) == ["linear", "softmax"]
    assert stops(shape(5), lambda: net(x)) == []
    assert stops(is_nan, lambda: net(x)) == []


def test_what_a_node_knows() -> None:
    seen: list[Match] = []
    with breakpoint_when(seen.append):
        weft.ones(2, 3, dtype=weft.float64) / 0
    node = seen[-1]
    assert (node.op, node.shape, node.shapes) == ("div", (2, 3), ((2, 3),))
    assert node.dtype == weft.float64
    assert not node.is_nan
    assert not node.is_finite
    assert node.module == ""
    assert node.example == -1
    assert node.place is not None
    assert node.place.file == __file__
    assert node.values.shape == (2, 3)


def test_stops_as_often_as_it_is_told() -> None:
    for times, expected in ((1, 1), (2, 2), (None, 3)):
        script = Script(*["c"] * 5)
        with breakpoint_when(op("mul"), times=times, debugger=script):
            for _ in range(3):
                weft.ones(2) * 2
        assert script.text.count("weft: mul") == expected


def test_gradient_rules_can_be_looked_at() -> None:
    x = weft.tensor([0.0], requires_grad=True)
    script = Script("p x.tolist()", "c")
    with breakpoint_when(lambda node: not node.is_finite, backward=True, debugger=script):
        loss = x.sqrt().sum()
        loss.backward()  # in backward
    assert "loss.backward()  # in backward" in script.text
    assert "SqrtBackward0, backward" in script.text


def test_as_a_switch() -> None:
    script = Script("c")
    stop = breakpoint_when(op("exp"), debugger=script)
    weft.ones(1).exp()
    stop.cancel()
    stop.cancel()
    weft.ones(1).exp()
    assert script.text.count("weft: exp") == 1


def test_cancelled_from_the_debugger() -> None:
    script = Script("stop.cancel()", "c", "c")
    stop = breakpoint_when(op("exp"), times=None, debugger=script)
    for _ in range(3):
        weft.ones(1).exp()
    stop.cancel()
    assert script.text.count("weft: exp") == 1


def test_an_error_of_the_condition_is_raised() -> None:
    with pytest.raises(ZeroDivisionError), breakpoint_when(lambda _: 1 / 0):
        weft.ones(1) * 2
    assert (weft.ones(1) * 2).item() == 2


def test_long_runs_are_not_remembered() -> None:
    with breakpoint_when(op("nothing")) as stop:
        for _ in range(5000):
            weft.ones(1) * 2
        assert len(stop._run) <= 2 * weft.debug.stopping._MOST_NODES


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: breakpoint_when(3), "takes a condition to call with each node"),
        (op, "give one or more names"),
        (lambda: module(3), "give one or more names"),
        (lambda: shape("a"), "must be integers or None"),
    ],
)
def test_bad_arguments(make: Callable[[], object], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        make()


PROGRAM = """
import weft, weft.debug

def step(x):
    local = "seen from the prompt"
    return x.log()

with weft.debug.breakpoint_when(weft.debug.is_nan):
    step(weft.tensor([-1.0]))
print("went on")
"""


def test_in_a_real_terminal(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    keyboard, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, str(program)], stdin=terminal, stdout=terminal, stderr=terminal
    )
    os.close(terminal)
    os.write(keyboard, b"p local\nc\n")
    output = b""
    while process.poll() is None or select.select([keyboard], [], [], 0)[0]:
        if select.select([keyboard], [], [], 0.1)[0]:
            try:
                output += os.read(keyboard, 4096)
            except OSError:  # the other end is closed
                break
    os.close(keyboard)
    assert process.wait() == 0, output
    assert b"return x.log()" in output
    assert b"'seen from the prompt'" in output
    assert b"went on" in output


def test_the_environment_switches_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONBREAKPOINT", "0")
    with breakpoint_when(lambda _: True):
        assert (weft.ones(1) * 2).item() == 2
