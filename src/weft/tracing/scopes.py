"""Find the calls, loops and iterations of a run from where its nodes were recorded.

A trace knows for each node the chain of call sites and the call of a module, and nothing of when a
function was entered or a loop began its next round. Both are found by looking at two neighbours in
the order of recording:

- Chains part in one function. If the second stands further back there, the function went back: the
  innermost loop around both begins a new round. If there is no such loop, the function was called
  again, so a loop of its caller, or of the caller's caller, did.
- A `while` begins a round at its test. In 3.11 a compiler writes the test twice, so offsets alone
  would not do.
- Two arms of one `if` never run in the same round, nor do an arm that ends with `continue` or
  `return` and what stands below it.
- Another call of a module from the same site is a new round too.
- The same place again is either one call that records several ops or a loop with a body of one: the
  shortest stretch of ops that repeats tells them apart.

What cannot be told apart: a loop whose body is nothing but another loop is seen as one loop.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Literal

from weft.tracing.model import Place, Trace
from weft.tracing.parts import Marks, Part, Parts
from weft.tracing.sources import Outline

ScopeKind = Literal["root", "module", "function", "loop", "iteration", "map"]
ItemKind = Literal["scope", "node", "read"]
LEAVES = frozenset({"parameter", "input", "constant"})
_CALLS_BACK = re.compile(r"\b(\w*map|reduce|accumulate|filter|sorted|scan)\w*\(")
_MAX_PASSES = 6


@dataclass(slots=True)
class Scope:
    """A call, a loop or a round of one, with what was recorded in it, in order.

    Attributes:
        kind: What it is.
        parent: The scope around it, -1 for the root.
        site: The place that the call came from, -1 where there is none.
        frame: A frame inside of it.
        name: A function's name, a loop's header ("" if not known), a module's path.
        file: Where a function or a loop stands.
        line: The line of a loop's header, or the first line seen of it.
        number: Of a round: counted from 1. Of a module: its number in the trace.
        has_body: Of a round: whether more than the loop's test was recorded.
        items: What it holds: scopes, nodes and reads by number.
    """

    kind: ScopeKind
    parent: int
    site: int = -1
    frame: int = -1
    name: str = ""
    file: str = ""
    line: int = 0
    number: int = 0
    has_body: bool = False
    first_offset: int = -1
    items: list[tuple[ItemKind, int]] = field(default_factory=list[tuple[ItemKind, int]])


def find_scopes(trace: Trace) -> list[Scope]:
    """Return the scopes of a trace; the first is the root, a parent stands before its children.

    Leaves (parameters, inputs, constants) are in none of them.

    Args:
        trace: Any trace.
    """
    outline = Outline(trace.sources)
    marks = Marks()
    builder = _Builder(trace, outline, marks)
    for _ in range(_MAX_PASSES):
        before = marks.count()
        builder = _Builder(trace, outline, marks)
        builder.run()
        if marks.count() == before:
            break
    return builder.scopes


@dataclass(frozen=True, slots=True)
class _Event:
    """A node or a read at its place; `word` says what happened there, to compare it."""

    kind: ItemKind
    number: int
    leaf: int
    word: str
    example: int


def _events(trace: Trace, parts: Parts) -> list[_Event]:
    """Return nodes and reads in the order in which they happened."""
    events: list[_Event] = []
    reads = sorted(range(len(trace.reads)), key=lambda number: trace.reads[number].after)
    position = 0
    for number in range(len(trace.nodes) + 1):
        while position < len(reads) and trace.reads[reads[position]].after <= number:
            read = trace.reads[reads[position]]
            leaf = parts.leaf(read.frame, read.module)
            word = f"read {read.kind}"
            events.append(_Event("read", reads[position], leaf, word, read.example))
            position += 1
        if number < len(trace.nodes) and trace.nodes[number].kind not in LEAVES:
            node = trace.nodes[number]
            leaf = parts.leaf(node.frame, node.module)
            word = "" if node.phase == "backward" else node.op
            events.append(_Event("node", number, leaf, word, node.example))
    return events


@dataclass(slots=True)
class _Stream:
    """The scopes open in one line of execution: one for each part of the way to its last event."""

    # Part, its scope, the scope that things inside go into.
    open: list[tuple[int, int, int]]
    # The depths at which loops are open.
    loops: list[int] = field(default_factory=list[int])
    in_run: int = 0

    def close(self, depth: int) -> None:
        """Close everything deeper."""
        del self.open[depth + 1 :]
        while self.loops and self.loops[-1] > depth:
            self.loops.pop()

    def loop_above(self, depth: int, top: int = 0) -> int:
        """Return the depth of the innermost open loop from a depth up, -1 if there is none."""
        position = bisect_right(self.loops, depth) - 1
        return self.loops[position] if position >= 0 and self.loops[position] > top else -1


class _Builder:
    """One pass over the events of a trace."""

    def __init__(self, trace: Trace, outline: Outline, marks: Marks) -> None:
        self._trace = trace
        self._outline = outline
        self._marks = marks
        self._tree = Parts(trace, outline, marks)
        self._parts = self._tree.parts
        self.scopes: list[Scope] = [Scope("root", -1)]
        self._events = _events(trace, self._tree)
        self._units = _units(self._events, self._parts)

    def run(self) -> None:
        """Put every event into its scope."""
        main = _Stream([(0, 0, 0)])
        examples: dict[int, _Stream] = {}
        map_scope = -1
        for event in self._events:
            if event.example < 0:
                examples.clear()
                self._step(main, event)
                continue
            if not examples:
                map_scope = self._new(0, Scope("map", 0))
            if event.example not in examples:
                number = event.example + 1
                scope = self._new(map_scope, Scope("iteration", map_scope, number=number))
                self.scopes[scope].has_body = True
                examples[event.example] = _Stream([(0, scope, scope)])
            self._step(examples[event.example], event)

    def _new(self, parent: int, scope: Scope) -> int:
        number = len(self.scopes)
        self.scopes.append(scope)
        self.scopes[parent].items.append(("scope", number))
        return number

    def _step(self, stream: _Stream, event: _Event) -> None:
        """Go from the last event of a stream to the next one."""
        last = stream.open[-1][0]
        if last == event.leaf and len(stream.open) > 1:
            stream.in_run += 1
            unit = self._units.get(event.leaf, 0)
            if unit and stream.in_run % unit == 0:
                self._repeat_place(stream)
                self._enter(stream, event.leaf)
        else:
            stream.in_run = 0
            self._move(stream, last, event.leaf)
        self.scopes[stream.open[-1][2]].items.append((event.kind, event.number))

    def _move(self, stream: _Stream, last: int, leaf: int) -> None:
        parts = self._parts
        one, other, common = _parting(parts, last, leaf)
        depth = parts[common].depth
        loop = -1
        is_call = parts[common].kind == "site" or parts[common].is_call
        if parts[common].kind in ("function", "loop") and not is_call:
            if one >= 0 and other >= 0 and self._goes_back(common, one, other):
                loop = self._loop_for(stream, depth, one, other)
        elif is_call and common not in (last, leaf):
            loop = stream.loop_above(depth)
            if loop < 0 and self._is_unknown(parts[common].place):
                self._marks.repeated_calls.add(parts[common].place)
        if loop >= 0:
            self._next_round(stream, loop)
        else:
            stream.close(depth)
        self._enter(stream, leaf)

    def _is_unknown(self, number: int) -> bool:
        place = self._trace.places[number]
        return self._outline.blocks(place.file, place.line, place.function) is None

    def _goes_back(self, common: int, one: int, other: int) -> bool:
        """Tell whether going from one site to another of a function needs a new round."""
        parts, places = self._parts, self._trace.places
        before, after = places[parts[one].place], places[parts[other].place]
        loop = parts[common]
        if loop.is_while and (before.line == loop.line) != (after.line == loop.line):
            return after.line == loop.line
        if after.offset < before.offset:
            return True
        return self._outline.are_apart(after.file, after.function, before.line, after.line)

    def _loop_for(self, stream: _Stream, depth: int, one: int, other: int) -> int:
        """Return the depth of the loop that explains going back, -1 if there is none."""
        parts, places = self._parts, self._trace.places
        before, after = places[parts[one].place], places[parts[other].place]
        known = self._outline.blocks(after.file, after.line, after.function) is not None
        function = depth
        while parts[stream.open[function][0]].kind != "function":
            function -= 1
        scope = self.scopes[stream.open[function][1]]
        restarts = after.offset <= scope.first_offset
        caller = parts[parts[stream.open[function][0]].parent]
        has_caller = caller.kind == "site" or caller.is_call
        own = stream.loop_above(depth, function)
        if own >= 0:
            return own
        if not known and not (restarts and has_caller):
            self._mark_range(after, before)
            return -1
        if self._mark_header(before, after, parts[other].place):
            return -1
        loop = stream.loop_above(function)
        if loop < 0 and restarts and caller.kind == "site" and after.offset < before.offset:
            self._marks.repeated_calls.add(caller.place)
        return loop

    def _mark_range(self, first: Place, last: Place) -> None:
        ranges = self._marks.ranges.setdefault((first.file, first.function), set())
        ranges.add((min(first.offset, last.offset), max(first.offset, last.offset)))

    def _mark_header(self, before: Place, after: Place, number: int) -> bool:
        """Note that rounds of a `for` come back to its header, where a generator goes on."""
        if self._outline.keyword(after.file, after.line) != "for":
            return False
        blocks = self._outline.blocks(before.file, before.line, before.function) or ()
        if not any(block.line == after.line for block in blocks):
            return False
        self._marks.headers.add(number)
        return True

    def _repeat_place(self, stream: _Stream) -> None:
        """Begin a new round because the same place came again."""
        depth = len(stream.open) - 1
        loop = stream.loop_above(depth)
        if loop >= 0:
            self._next_round(stream, loop)
            return
        site = self._parts[stream.open[-1][0]]
        place = self._trace.places[site.place]
        if self._outline.blocks(place.file, place.line, place.function) is None:
            self._mark_range(place, place)
            return
        function = self._parts[site.parent]
        caller = self._parts[function.parent]
        if caller.kind == "site":
            line = self._trace.places[caller.place]
            if _CALLS_BACK.search(self._outline.text(line.file, line.line)):
                self._marks.repeated_calls.add(caller.place)

    def _next_round(self, stream: _Stream, depth: int) -> None:
        """Close everything inside a loop and begin its next round."""
        stream.close(depth)
        part, scope, _ = stream.open[depth]
        stream.open[depth] = (part, scope, self._round(scope))

    def _round(self, loop: int) -> int:
        scope = self.scopes[loop]
        number = len(scope.items) + 1
        return self._new(
            loop, Scope("iteration", loop, frame=scope.frame, number=number, line=scope.line)
        )

    def _enter(self, stream: _Stream, leaf: int) -> None:
        """Open the scopes from the innermost open one down to a leaf."""
        parts = self._parts
        way: list[int] = []
        at = leaf
        depth = len(stream.open) - 1
        while parts[at].depth > depth:
            way.append(at)
            at = parts[at].parent
        for number in reversed(way):
            self._open(stream, number)

    def _open(self, stream: _Stream, number: int) -> None:
        part = self._parts[number]
        inside = stream.open[-1][2]
        if part.kind == "site":
            self._note_site(stream, part)
            stream.open.append((number, inside, inside))
            return
        above = self._parts[part.parent]
        scope = Scope("root", inside, frame=part.frame, name=part.name, site=above.place)
        if part.kind == "module":
            scope.kind, scope.number = "module", part.module
        elif part.kind == "function":
            scope.kind = "function"
            scope.file = self._trace.places[self._trace.frames[part.frame].place].file
        else:
            scope.kind = "loop"
            place = self._trace.places[self._trace.frames[part.frame].place]
            scope.file, scope.site = place.file, -1
            scope.line = part.line if part.line > 0 else place.line
        at = self._new(inside, scope)
        if part.kind == "loop":
            stream.loops.append(len(stream.open))
        stream.open.append((number, at, self._round(at) if part.kind == "loop" else at))

    def _note_site(self, stream: _Stream, part: Part) -> None:
        """Note for the function and the loops around a site that it was reached."""
        offset = self._trace.places[part.place].offset
        for number, scope, inside in reversed(stream.open):
            kind = self._parts[number].kind
            if kind == "loop" and self._parts[number].line != part.line:
                self.scopes[inside].has_body = True
            if kind == "function":
                if self.scopes[scope].first_offset < 0:
                    self.scopes[scope].first_offset = offset
                return


def _parting(parts: list[Part], first: int, second: int) -> tuple[int, int, int]:
    """Return the sites below the point where two ways part (-1: none), and that point."""
    one = other = -1
    while first != second:
        if parts[first].depth >= parts[second].depth:
            one = first if parts[first].kind == "site" else one
            first = parts[first].parent
        else:
            other = second if parts[second].kind == "site" else other
            second = parts[second].parent
    return one, other, first


def _units(events: list[_Event], parts: list[Part]) -> dict[int, int]:
    """Return for each place with stretches of ops how many ops are one visit of it."""
    runs: dict[int, list[list[str]]] = {}
    last: dict[int, int] = {}
    for event in events:
        if last.get(event.example) != event.leaf:
            runs.setdefault(event.leaf, []).append([])
        last[event.example] = event.leaf
        runs[event.leaf][-1].append(event.word)
    alone = _alone(runs, parts)
    units: dict[int, int] = {}
    for leaf, stretches in runs.items():
        shortest = min(stretches, key=len)
        longest = max(map(len, stretches))
        if longest < 2 or parts[leaf].kind == "module" or "" in shortest:
            continue
        unit = shortest[: _period(shortest)] if leaf in alone else shortest
        if len(unit) < longest and all(_is_power(one, unit) for one in stretches):
            units[leaf] = len(unit)
    return units


def _alone(runs: dict[int, list[list[str]]], parts: list[Part]) -> set[int]:
    """Return the leaves that are all that their innermost loop holds, or that are in none."""
    inside: dict[int, list[int]] = {}
    for leaf in runs:
        at = leaf
        while at > 0 and parts[at].kind != "loop":
            at = parts[at].parent
        inside.setdefault(at, []).append(leaf)
        while at > 0:
            at = parts[at].parent
            if parts[at].kind == "loop":
                inside.setdefault(at, []).append(-1)
    return {
        leaf
        for loop, leaves in inside.items()
        for leaf in leaves
        if leaf >= 0 and (loop <= 0 or len(leaves) == 1)
    }


def _period(words: list[str]) -> int:
    """Return the length of the shortest piece that, repeated, is the whole."""
    failure = [0] * len(words)
    length = 0
    for position in range(1, len(words)):
        while length and words[position] != words[length]:
            length = failure[length - 1]
        length += words[position] == words[length]
        failure[position] = length
    period = len(words) - failure[-1]
    return period if len(words) % period == 0 else len(words)


def _is_power(words: list[str], unit: list[str]) -> bool:
    count, rest = divmod(len(words), len(unit))
    return rest == 0 and words == unit * count
