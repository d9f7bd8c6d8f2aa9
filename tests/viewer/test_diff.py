"""What differs between two runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import weft
from tests.tracing import programs
from tests.tracing.building import run
from weft.tracing import Frame, Node, Place, Read, Result, Statistics, Trace
from weft.viewer import Diff, Graph, diff, page
from weft.viewer.differences import bytes_text, same_statistics, seconds_text


def compared(program: Callable[..., Any], left: list[float], right: list[float]) -> Diff:
    return diff(run(program, left), run(program, right))


def texts(found: Diff, kind: Any) -> list[str]:
    return [change.text for change in found.of_kind(kind)]


def line(program: Callable[..., Any], offset: int) -> int:
    return program.__code__.co_firstlineno + offset


def test_branch() -> None:
    found = compared(programs.branch, [1.0, 2.0], [-1.0, -2.0])
    test = line(programs.branch, 1)
    assert texts(found, "branch") == [
        f"`if x.sum() > 0` at line {test} was True on the left and False on the right"
    ]
    assert texts(found, "only-left") == [
        f"only on the left, where `if x.sum() > 0` was True: mul from line {test + 1}"
    ]
    assert texts(found, "only-right") == [
        f"only on the right, where `if x.sum() > 0` was False: sub from line {test + 3}"
    ]
    assert found.of_kind("only-left")[0].left == (3,)
    assert found.of_kind("only-right")[0].right == (3,)
    assert found.summary[0].startswith("`if x.sum() > 0` at line")
    assert found.summary[1] == "1 node only on the left, 1 node only on the right."
    assert found.pairs == ((0, 0), (1, 1), (2, 2))


def test_loops() -> None:
    found = compared(programs.counted, [2.0], [3.0])
    header = line(programs.counted, 2)
    assert texts(found, "loop") == [
        f"`for _ in range(n)` at line {header} ran 2 times on the left and 3 times on the right"
    ]
    assert found.of_kind("loop")[0].left == ()
    assert len(found.of_kind("loop")[0].right) == 1
    assert texts(found, "only-right") == []
    assert any(
        "read 2.0 on the left and 3.0 on the right" in text for text in texts(found, "value")
    )


def test_while() -> None:
    found = compared(programs.until, [1.0, 2.0], [3.0, 2.0])
    assert texts(found, "branch") == []
    assert "ran 2 times on the left and once on the right" in texts(found, "loop")[0]


def test_loop_that_did_not_run() -> None:
    found = compared(programs.counted, [0.0], [2.0])
    assert "ran 0 times on the left and 2 times on the right" in texts(found, "loop")[0]
    assert texts(found, "only-right") == []


def test_branch_in_a_round() -> None:
    found = compared(programs.loop_with_branch, [1.0], [-20.0])
    assert len(texts(found, "branch")) == 1
    assert "in round 1 was True on the left" in texts(found, "branch")[0]


def by_item(x: Any) -> Any:
    if x.sum().item() > 0:
        return x * 2
    return x - 2


def test_item_on_an_if() -> None:
    found = compared(by_item, [1.5], [-1.5])
    assert len(texts(found, "branch")) == 1
    assert compared(by_item, [1.5], [2.5]).of_kind("branch") == []


def test_shapes_and_bytes() -> None:
    found = compared(programs.straight, [1.0, 2.0], [1.0, 2.0, 3.0])
    assert texts(found, "shape")[0] == (
        "input x0: (2,) float32 on the left, (3,) float32 on the right"
    )
    assert len(texts(found, "shape")) == 3
    assert found.summary[-1] == "Results take 24 bytes on the left and 36 bytes on the right."
    one = Trace(nodes=(Node("a", results=(Result((2,), "float32", 8),)),))
    two = Trace(nodes=(Node("a", results=(Result((2,), "float32", 0),)),))
    assert texts(diff(one, two), "bytes") == ["a: 8 bytes on the left, 0 bytes on the right"]


def test_values_are_said_once_for_a_line() -> None:
    found = compared(programs.loop, [1.0], [2.0])
    values = texts(found, "value")
    assert len(values) == 3
    assert values[1].endswith("2 on the left, 4 on the right (3 nodes)")
    assert len(found.of_kind("value")[1].left) == 3


def test_arguments() -> None:
    place, frame = Place("a.py", 3, "f", 2), Frame(0)
    one = Trace(
        places=(place,), frames=(frame,), nodes=(Node("sum", attributes={"dim": "0"}, frame=0),)
    )
    two = replace(one, nodes=(Node("sum", attributes={"dim": "1"}, frame=0),))
    assert texts(diff(one, two), "value") == [
        "sum at line 3: dim=0 on the left, dim=1 on the right"
    ]


def test_time_is_said_but_is_no_difference() -> None:
    trace = run(programs.straight, [1.0])
    slow = replace(
        trace, nodes=tuple(replace(node, seconds=0.5) for node in trace.nodes), seconds=1.5
    )
    found = diff(trace, slow)
    assert len(texts(found, "time")) == 2
    assert not found
    assert "the left took" in found.summary[0].lower()
    assert str(found) != "no difference"


@pytest.mark.parametrize(
    "program",
    [programs.branch, programs.until, programs.module_while, programs.recursion, programs.examples],
)
def test_no_difference(program: Callable[..., Any]) -> None:
    found = compared(program, [1.0, 0.5], [1.0, 0.5])
    assert not found
    assert found.changes == ()
    assert found.summary == ()
    assert str(found) == "no difference"
    assert len(found.pairs) == len(found.left)


def test_parameters_of_two_steps() -> None:
    trace = run(programs.module, [1.0])
    other = list(trace.nodes)
    number = next(n for n, node in enumerate(other) if node.kind == "parameter")
    moved = replace(other[number].results[0], value=Statistics(1, 0.7, 0.7, 0.7, values=(0.7,)))
    other[number] = replace(other[number], results=(moved,))
    found = diff(trace, replace(trace, nodes=tuple(other)))
    assert texts(found, "value") == ["parameter first.weight: 0.5 on the left, 0.7 on the right"]


def test_failures() -> None:
    found = diff(run(programs.failing, [1.0]), run(programs.straight, [1.0]))
    assert found
    assert found.summary[0] == (
        "The left raised ValueError: no way on from 1 numbers, the right ended well."
    )
    assert "no way on" in str(found)


FIRST = """
def model(x):
    y = x * 2
    if y.sum() > 0:
        y = y.tanh()
    return y + 1
"""
SECOND = """
# a comment more

def model(x):
    # and one here
    y = x * 2
    if y.sum() > 0:
        y = y.tanh()
        y = y - 3
    return y + 1
"""


def version(folder: Path, name: str, text: str, row: list[float]) -> Trace:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    found: dict[str, Any] = {}
    exec(compile(text, str(path), "exec"), found)
    return run(found["model"], row)


@pytest.mark.parametrize("names", [("a/model.py", "b/model.py"), ("one.py", "two.py")])
def test_two_versions(tmp_path: Path, names: tuple[str, str]) -> None:
    left = version(tmp_path, names[0], FIRST, [1.0])
    right = version(tmp_path, names[1], SECOND, [1.0])
    found = diff(left, right)
    assert texts(found, "only-left") == []
    assert texts(found, "only-right") == ["only on the right: sub from line 9"]
    assert [right.nodes[two].op for _, two in found.pairs] == [
        "input",
        "mul",
        "sum",
        "gt",
        "tanh",
        "add",
    ]
    # Only the end differs, and both lines are said.
    assert texts(found, "value") == [
        "add at line 6 (right: 10): 1.964 on the left, -1.036 on the right"
    ]


def test_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = compared(programs.branch, [1.0], [-1.0])
    shown = found.page()
    assert [one["title"] for one in shown["graphs"]] == ["branch", "branch"]
    assert set(shown["diff"]) == {"left", "right", "summary", "pairs", "changes"}
    for change in shown["diff"]["changes"]:
        assert set(change) == {"kind", "text", "left", "right"}
        assert all(0 <= number < len(found.left) for number in change["left"])
        assert all(0 <= number < len(found.right) for number in change["right"])
    json.dumps(shown, allow_nan=False)
    monkeypatch.setattr(page, "template", lambda: f"<p>{page.PLACEHOLDER}")
    assert '"diff":' in found.html()
    assert found.html(tmp_path / "diff.html").exists()


def test_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    found = compared(programs.branch, [1.0], [-1.0])
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert "\x1b[" in str(found)
    assert "\x1b[" not in found.text()
    bundle = found._repr_mimebundle_()
    assert bundle["text/plain"] == found.text()
    assert bundle["text/html"] == found._repr_html_()
    assert repr(found) == str(found)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False, raising=False)
    assert repr(found) == found.text()


def test_weft_diff_is_of_tensors_too() -> None:
    assert weft.diff(weft.tensor([1.0, 3.0, 7.0])).tolist() == [2.0, 4.0]
    assert weft.diff(input=weft.tensor([1.0, 3.0, 7.0]), n=2).tolist() == [2.0]
    with pytest.raises(TypeError, match="takes graphs"):
        weft.diff(3, 4)  # type: ignore[call-overload]


def test_reads_from_nowhere() -> None:
    one = Trace(reads=(Read("bool", "True"),))
    two = Trace(reads=(Read("bool", "False"),))
    assert texts(diff(one, two), "branch") == [
        "`bool()` was True on the left and False on the right"
    ]


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1500, "1.5 kB"), (2 * 10**12, "2000.0 GB")],
)
def test_bytes_text(count: int, text: str) -> None:
    assert bytes_text(count) == text


@pytest.mark.parametrize(("seconds", "text"), [(2.5, "2.5 s"), (0.002, "2 ms"), (3e-6, "3 us")])
def test_seconds_text(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


def test_same_statistics() -> None:
    nan = float("nan")
    assert same_statistics(Statistics(1, values=(nan,)), Statistics(1, values=(nan,)), 1e-6)
    assert not same_statistics(Statistics(1, values=(nan,)), Statistics(1, values=(1.0,)), 1e-6)
    assert not same_statistics(Statistics(2, nans=1), Statistics(2), 1e-6)
    assert not same_statistics(Statistics(1, 1.0), Statistics(1), 1e-6)


def test_examples_of_a_map_are_counted_as_in_the_list() -> None:
    def loss(x: weft.Tensor) -> weft.Tensor:
        return x.exp() if x > 0 else x.sin()

    def graph_of(*numbers: float) -> Graph:
        return weft.graph(weft.map, loss, [weft.tensor(one) for one in numbers])

    (change,) = weft.diff(graph_of(1.0, 2.0), graph_of(1.0, -2.0)).of_kind("branch")
    assert "of example 1" in change.text


def halved(x: weft.Tensor) -> weft.Tensor:
    while x.sum() > 3:
        x = x * 0.5
    return x


def halved_in_a_line(x: weft.Tensor) -> weft.Tensor:
    # fmt: off
    while x.sum() > 3: x = x * 0.5  # noqa: E701
    # fmt: on
    return x


@pytest.mark.parametrize("program", [halved, halved_in_a_line])
def test_a_while_whose_test_fails_at_once_ran_0_times(program: Callable[..., Any]) -> None:
    once, twice = weft.tensor([4.0]), weft.tensor([8.0])
    never = weft.graph(program, weft.tensor([1.0]))
    (loop,) = texts(weft.diff(never, weft.graph(program, twice)), "loop")
    assert loop.endswith(" ran 0 times on the left and 2 times on the right")
    (loop,) = texts(weft.diff(weft.graph(program, twice), weft.graph(program, once)), "loop")
    assert loop.endswith(" ran 2 times on the left and once on the right")


def test_a_module_that_was_called_at_two_lines() -> None:
    class Block(weft.nn.Module):
        def forward(self, x: weft.Tensor) -> weft.Tensor:
            return x.tanh()

    model = weft.nn.Sequential(weft.nn.Linear(3, 2), Block(), weft.nn.ReLU())
    left = weft.graph(model, weft.ones(2, 3))
    right = weft.graph(model, weft.ones(5, 3))
    found = weft.diff(left, right)
    assert not texts(found, "only-left")
    assert not texts(found, "only-right")
    assert len(texts(found, "shape")) == 4
    assert len(weft.merge([left, right])) == len(left)


def test_tensors_that_were_made_at_two_lines() -> None:
    model = weft.nn.Sequential(weft.nn.Linear(3, 2), weft.nn.ReLU())
    left = weft.graph(model(weft.ones(2, 3)))
    right = weft.graph(model(weft.ones(2, 3)))
    assert not weft.diff(left, right)
