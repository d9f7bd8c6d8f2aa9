"""Random programs: folding finds the loops and rounds that really ran."""

from __future__ import annotations

import itertools
import linecache
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tracing.building import run
from weft.tracing import Folded, Trace, fold

_numbers = itertools.count()

# A statement: an op; ("for", rounds, body); ("if", condition, then, otherwise); ("call", body).
statements: Any = st.recursive(
    st.just("op"),
    lambda inner: st.one_of(
        st.tuples(st.just("for"), st.integers(0, 3), st.lists(inner, min_size=1, max_size=3)),
        st.tuples(
            st.just("if"),
            st.sampled_from(["turn % 2", "turn % 3 == 0", "True"]),
            st.lists(inner, min_size=1, max_size=2),
            st.lists(inner, min_size=1, max_size=2),
        ),
        st.tuples(st.just("call"), st.lists(inner, min_size=1, max_size=3)),
    ),
    max_leaves=12,
)


def begins_alike(body: list[Any]) -> bool:
    """Tell whether all rounds begin with the same op, so that they can be told apart."""
    while isinstance(body[0], tuple) and body[0][0] == "call":
        body = body[0][1]
    return body[0] == "op"


class Writer:
    """Writes a program that also notes, for each op, the loops and rounds it is in."""

    def __init__(self) -> None:
        self.functions: list[str] = []
        self.names = itertools.count()

    def block(self, body: list[Any], indent: str, turn: str) -> list[str]:
        lines: list[str] = []
        for one in body:
            if one == "op":
                lines += [f"{indent}NOTES.append(tuple(WAY)); x = x * 2"]
            elif one[0] == "for":
                turn_inside = f"t{next(self.names)}"
                lines += [f"{indent}for {turn_inside} in range({one[1]}):"]
                lines += [f"{indent}    WAY.append(('{turn_inside}', {turn_inside} + 1))"]
                if not begins_alike(one[2]):
                    lines += [f"{indent}    NOTES.append(tuple(WAY)); x = x + 1"]
                lines += self.block(one[2], indent + "    ", turn_inside)
                lines += [f"{indent}    WAY.pop()"]
            elif one[0] == "if":
                lines += [f"{indent}if {one[1].replace('turn', turn)}:"]
                lines += self.block(one[2], indent + "    ", turn)
                lines += [f"{indent}else:"]
                lines += self.block(one[3], indent + "    ", turn)
            else:
                lines += [f"{indent}x = {self.function(one[1])}(x, {turn})"]
        return lines

    def function(self, body: list[Any]) -> str:
        name = f"f{next(self.names)}"
        lines = [f"def {name}(x, turn=0):", *self.block(body, "    ", "turn"), "    return x", ""]
        self.functions.append("\n".join(lines))
        return name


def found_way(trace: Trace, folded: Folded, number: int) -> tuple[tuple[str, int], ...]:
    way = []
    at = folded.group_of[number]
    while at >= 0:
        group = folded.groups[at]
        if group.kind == "iteration":
            loop = folded.groups[group.parent].label.split()[1]
            way.append((loop, int(group.label)))
        at = group.parent
    return tuple(reversed(way))


@settings(max_examples=300)
@given(st.lists(statements, min_size=1, max_size=4))
def test_loops_and_rounds(body: list[Any]) -> None:
    writer = Writer()
    name = writer.function(body)
    text = "\n".join(writer.functions)
    file = f"<random program {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    notes: list[tuple[tuple[str, int], ...]] = []
    space: dict[str, Any] = {"NOTES": notes, "WAY": []}
    exec(compile(text, file, "exec"), space)
    trace = run(space[name], [1.0])
    assert trace.failure is None, (trace.failure, text)
    folded = fold(trace)
    expected = without_single_rounds(notes)
    ways = [found_way(trace, folded, number + 1) for number in range(len(notes))]
    assert ways == expected, text


def without_single_rounds(
    notes: list[tuple[tuple[str, int], ...]],
) -> list[tuple[tuple[str, int], ...]]:
    """Leave out loops that ran once: they are no groups."""
    last: dict[tuple[tuple[str, int], ...], int] = {}
    for way in notes:
        for depth, (loop, number) in enumerate(way):
            key = (*way[:depth], (loop, 0))
            last[key] = max(last.get(key, 0), number)
    return [
        tuple(step for depth, step in enumerate(way) if last[(*way[:depth], (step[0], 0))] > 1)
        for way in notes
    ]
