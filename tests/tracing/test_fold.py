"""Grouping the nodes of real control flow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.tracing import programs
from tests.tracing.building import run
from weft.tracing import Folded, Frame, Node, Place, Trace, fold
from weft.tracing.scopes import LEAVES


def outline(trace: Trace, folded: Folded) -> list[str]:
    """Write the groups and ops of a trace as indented lines; leaves are left out."""
    groups = folded.groups
    lines: list[str] = []
    seen: set[int] = set()
    for number, node in enumerate(trace.nodes):
        if node.kind in LEAVES:
            continue
        path = []
        at = folded.group_of[number]
        while at >= 0:
            path.append(at)
            at = groups[at].parent
        for depth, group in enumerate(reversed(path)):
            if group not in seen:
                seen.add(group)
                one = groups[group]
                times = f" x {one.count}" if one.kind == "loop" else ""
                lines.append(". " * depth + one.label + times)
        lines.append(". " * len(path) + node.op)
    return lines


def written(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


TABLE: list[tuple[Callable[..., Any], str]] = [
    (programs.straight, "mul\ntanh"),
    (
        programs.loop,
        """for _ in range(3): x 3
        . 1
        . . mul
        . . add
        . 2
        . . mul
        . . add
        . 3
        . . mul
        . . add""",
    ),
    (
        programs.loop_of_one,
        """for _ in range(3): x 3
        . 1
        . . mul
        . 2
        . . mul
        . 3
        . . mul""",
    ),
    (programs.loop_once, "mul\nadd"),
    (
        programs.loop_on_one_line,
        """for _ in range(3): x = x * 2 x 3
        . 1
        . . mul
        . 2
        . . mul
        . 3
        . . mul""",
    ),
    (
        programs.nested,
        """for _ in range(2): x 2
        . 1
        . . add
        . . for _ in range(3): x 3
        . . . 1
        . . . . mul
        . . . 2
        . . . . mul
        . . . 3
        . . . . mul
        . 2
        . . add
        . . for _ in range(3): x 3
        . . . 1
        . . . . mul
        . . . 2
        . . . . mul
        . . . 3
        . . . . mul""",
    ),
    (
        programs.two_loops,
        """for _ in range(2): x 2
        . 1
        . . mul
        . . tanh
        . 2
        . . mul
        . . tanh
        for _ in range(3): x 3
        . 1
        . . add
        . . tanh
        . 2
        . . add
        . . tanh
        . 3
        . . add
        . . tanh""",
    ),
    (
        programs.alternating,
        """for number in range(4): x 4
        . 1
        . . add
        . 2
        . . mul
        . 3
        . . add
        . 4
        . . mul""",
    ),
    (
        programs.until,
        """while x.sum() < limit: x 3
        . 1
        . . sum
        . . lt
        . . mul
        . 2
        . . sum
        . . lt
        . . mul
        . 3
        . . sum
        . . lt
        . . mul
        . end
        . . sum
        . . lt""",
    ),
    (
        programs.calls,
        """for _ in range(3): x 3
        . 1
        . . mul
        . . tanh
        . 2
        . . mul
        . . tanh
        . 3
        . . mul
        . . tanh
        add""",
    ),
    (
        programs.two_calls,
        """cell()
        . mul
        . tanh
        cell()
        . mul
        . tanh
        add""",
    ),
    (
        programs.comprehension,
        """for _ in range(3) x 3
        . 1
        . . mul
        . . tanh
        . 2
        . . mul
        . . tanh
        . 3
        . . mul
        . . tanh""",
    ),
    (
        programs.mapped,
        """return list(map(lambda y: cell(y, x), [x, x, x])) x 3
        . 1
        . . mul
        . . tanh
        . 2
        . . mul
        . . tanh
        . 3
        . . mul
        . . tanh""",
    ),
    (
        programs.recursion,
        """recursion()
        . mul
        . mul
        . add
        . tanh
        recursion()
        . mul
        . mul
        . add
        . tanh
        add
        tanh""",
    ),
    (
        programs.recursion_in_a_loop,
        """mul
        for _ in range(depth): x 2
        . 1
        . . recursion_in_a_loop()
        . . . mul
        . . . mul
        . . . add
        . . add
        . 2
        . . recursion_in_a_loop()
        . . . mul
        . . . mul
        . . . add
        . . add""",
    ),
    (
        programs.generator,
        """for y in steps(x): x 3
        . 1
        . . mul
        . . add
        . 2
        . . mul
        . . add
        . 3
        . . mul
        . . add""",
    ),
    (
        programs.composites,
        """mul
        add
        mul
        for _ in range(2): x 2
        . 1
        . . mul
        . . add
        . . mul
        . 2
        . . mul
        . . add
        . . mul""",
    ),
    (programs.caught, "mul\nadd\ntanh"),
    (
        programs.module,
        """Net
        . first (Layer)
        . . mul
        . . add
        . tanh
        . second (Layer)
        . . mul
        . . add""",
    ),
    (
        programs.module_while,
        """while x.sum() < 600: x 2
        . 1
        . . sum
        . . lt
        . . net (Net)
        . . . net.first (Layer)
        . . . . mul
        . . . . add
        . . . tanh
        . . . net.second (Layer)
        . . . . mul
        . . . . add
        . . mul
        . . mul
        . . add
        . 2
        . . sum
        . . lt
        . . net (Net)
        . . . net.first (Layer)
        . . . . mul
        . . . . add
        . . . tanh
        . . . net.second (Layer)
        . . . . mul
        . . . . add
        . . mul
        . . mul
        . . add
        . end
        . . sum
        . . lt""",
    ),
    (
        programs.layers,
        """for layer in Chain("", Layer("0"), Layer("1"), Layer("2")): x 3
        . 1
        . . 0 (Layer)
        . . . mul
        . . . add
        . 2
        . . 1 (Layer)
        . . . mul
        . . . add
        . 3
        . . 2 (Layer)
        . . . mul
        . . . add""",
    ),
    (
        programs.chain,
        """net (Chain)
        . net.0 (Layer)
        . . mul
        . . add
        . net.1 (Layer)
        . . mul
        . . add
        tanh""",
    ),
    (
        programs.loop_with_branch,
        """for _ in range(3): x 3
        . 1
        . . sum
        . . gt
        . . mul
        . . sub
        . 2
        . . sum
        . . gt
        . . add
        . 3
        . . sum
        . . gt
        . . add
        tanh""",
    ),
    (
        programs.continued,
        """for turn in range(4): x 4
        . 1
        . . add
        . 2
        . . tanh
        . 3
        . . add
        . 4
        . . add""",
    ),
    (
        programs.left_behind_a_break,
        """for turn in range(3): x 2
        . 1
        . . add
        . 2
        . . tanh
        mul""",
    ),
    (
        programs.returned,
        """for turn in range(3): x 3
        . 1
        . . add
        . 2
        . . tanh
        . 3
        . . add""",
    ),
    (
        programs.matched,
        """for turn in range(4): x 4
        . 1
        . . add
        . 2
        . . tanh
        . 3
        . . mul
        . 4
        . . add""",
    ),
]


@pytest.mark.parametrize(("program", "expected"), TABLE, ids=[f.__name__ for f, _ in TABLE])
def test_table(program: Callable[..., Any], expected: str) -> None:
    trace = run(program, [1.0, 0.6])
    assert trace.failure is None
    assert outline(trace, fold(trace)) == written(expected)


def test_examples_of_a_map_by_turns() -> None:
    trace = run(programs.examples, [1.0])
    folded = fold(trace)
    assert [group.label for group in folded.groups if group.parent < 1] == ["weft.map", "0", "1"]
    examples = []
    for number in range(1, 5):
        at = folded.group_of[number]
        while folded.groups[at].parent != 0:
            at = folded.groups[at].parent
        examples.append(folded.groups[at].label)
    assert examples == ["0", "1", "0", "1"]


WITHOUT_SOURCES = [
    (programs.loop, "line", 3),
    (programs.loop_of_one, "line", 3),
    (programs.calls, "line", 3),
    (programs.comprehension, "line", 3),
    (programs.layers, "line", 3),
]


@pytest.mark.parametrize(("program", "label", "count"), WITHOUT_SOURCES)
def test_without_sources(program: Callable[..., Any], label: str, count: int) -> None:
    trace = run(program, [1.0, 0.6], sources=False)
    loops = [group for group in fold(trace).groups if group.kind == "loop"]
    assert [(group.label.split()[0], group.count) for group in loops] == [(label, count)]


def test_parents_come_first_and_rounds_are_numbered() -> None:
    for program, _ in TABLE:
        folded = fold(run(program, [1.0, 0.6]))
        for number, group in enumerate(folded.groups):
            assert group.parent < number
            if group.kind == "iteration":
                assert folded.groups[group.parent].kind == "loop"
            if group.kind == "loop":
                inside = [one for one in folded.groups if one.parent == number]
                labels = [one.label for one in inside]
                assert labels[: group.count] == [str(n + 1) for n in range(group.count)]


def test_parameters_stand_where_they_are_used() -> None:
    trace = run(programs.module_while, [1.0, 0.6])
    folded = fold(trace)
    place = {
        node.name: folded.group_of[number]
        for number, node in enumerate(trace.nodes)
        if node.kind == "parameter"
    }
    # Used in every round, so in none of them.
    assert set(place.values()) == {-1}
    trace = run(programs.module, [1.0])
    folded = fold(trace)
    labels = {
        node.name: folded.groups[folded.group_of[number]].label
        for number, node in enumerate(trace.nodes)
        if node.kind == "parameter"
    }
    assert labels == {"first.weight": "first (Layer)", "second.weight": "second (Layer)"}


def test_empty() -> None:
    assert fold(Trace()) == Folded((), (), ())


def test_nodes_from_nowhere() -> None:
    trace = Trace(nodes=(Node("add"), Node("mul"), Node("mul")))
    assert fold(trace).group_of == (-1, -1, -1)


def test_a_hundred_thousand_nodes_deep_calls() -> None:
    depth = 900
    last = Place("a.py", 12, f"f{depth - 1}", 8)
    places = (*(Place("a.py", 10, f"f{n}", 4) for n in range(depth)), last)
    frames = [Frame(n, n - 1) for n in range(depth)]
    frames.append(Frame(depth, depth - 2))
    ends = (depth - 1, depth)
    nodes = tuple(Node("add", frame=ends[n % 2]) for n in range(100_000))
    folded = fold(Trace(places=places, frames=tuple(frames), nodes=nodes))
    loops = [group for group in folded.groups if group.kind == "loop"]
    assert [group.count for group in loops] == [50_000]
