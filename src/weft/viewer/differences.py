"""Find what differs between two runs: branches, loops, nodes, shapes, bytes, values and time."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from weft.tracing import Node, Place, Read, Statistics, Trace
from weft.tracing.fold import rounds_of
from weft.tracing.scopes import LEAVES, Scope
from weft.tracing.sources import Outline
from weft.viewer.alignment import Alignment, Slot
from weft.viewer.words import number_text, place_of, plain, statistics_text

ChangeKind = Literal["branch", "loop", "only-left", "only-right", "shape", "bytes", "value", "time"]
KINDS: tuple[ChangeKind, ...] = (
    "branch",
    "loop",
    "only-left",
    "only-right",
    "shape",
    "bytes",
    "value",
    "time",
)
# What the left answered, and what the right did.
Reason = tuple[str, str]
# Seconds are noise unless they differ by this factor and by this much.
_TIME_FACTOR = 2.0
_TIME_SECONDS = 1e-3


@dataclass(frozen=True, slots=True)
class Change:
    """One difference, as a sentence, and the nodes on each side that it is about.

    Example:
        >>> from weft.viewer import Change
        >>> Change("loop", "the loop ran 3 times, then 5 times").kind
        'loop'
    """

    kind: ChangeKind
    text: str
    left: tuple[int, ...] = ()
    right: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """All differences, and the nodes that are the same in both."""

    changes: tuple[Change, ...]
    pairs: tuple[tuple[int, int], ...]


def find_changes(left: Trace, right: Trace, tolerance: float = 1e-6) -> Found:
    """Compare two traces.

    Args:
        left: One run.
        right: Another.
        tolerance: How far values may differ, in relation to their size, and be the same.
    """
    return _Finder(left, right, tolerance).found()


class _Finder:
    def __init__(self, left: Trace, right: Trace, tolerance: float) -> None:
        self._traces = (left, right)
        self._alignment = Alignment([left, right])
        self._outlines = (Outline(left.sources), Outline(right.sources))
        self._tolerance = tolerance
        self._changes: list[Change] = []
        self._pairs: list[tuple[int, int]] = []
        # Differences of single nodes, to be said once for all with the same words.
        self._alike: dict[Hashable, tuple[Change, str]] = {}

    def found(self) -> Found:
        """Return everything."""
        self._walk()
        self._leaves()
        for number, other in sorted(self._pairs):
            self._compare(number, other)
        for change, words in self._alike.values():
            count = max(len(change.left), len(change.right))
            more = f" ({count} nodes)" if count > 1 else ""
            self._changes.append(
                Change(change.kind, change.text + words + more, change.left, change.right)
            )
        self._times()
        self._changes.sort(key=_order)
        return Found(tuple(self._changes), tuple(sorted(self._pairs)))

    # ---- structure -------------------------------------------------------------------------------

    def _walk(self) -> None:
        """Go through what both have, in order, and note what only one has."""
        waiting = [(self._alignment.root, "")]
        while waiting:
            slot, turn = waiting.pop()
            scope = self._scope(slot)
            if scope.kind == "iteration":
                is_example = self._alignment.scopes[0][scope.parent].kind == "map"
                turn = f" in round {scope.number}"
                if is_example:  # as they are counted in the list of examples
                    turn = f" of example {scope.number - 1}"
            if scope.kind == "loop":
                self._compare_rounds(slot)
            else:
                self._compare_items(slot, turn)
            waiting.extend(
                (item, turn)
                for item in reversed(slot.items)
                if item.kind == "scope" and len(item.sides) == 2
            )

    def _scope(self, slot: Slot) -> Scope:
        side, number = next(iter(slot.sides.items()))
        return self._alignment.scopes[side][number]

    def _compare_rounds(self, slot: Slot) -> None:
        counts = [self._rounds(side, slot.sides[side]) for side in (0, 1)]
        if counts[0] == counts[1]:
            return
        only = [
            self._nodes([item for item in slot.items if set(item.sides) == {side}], side)
            for side in (0, 1)
        ]
        text = f"{self._loop_text(slot)} ran {_times(counts[0])} on the left and "
        text += f"{_times(counts[1])} on the right"
        self._changes.append(Change("loop", text, only[0], only[1]))

    def _rounds(self, side: int, number: int) -> int:
        """Return how many times a loop ran: 0 if all that there is of it is a test that failed."""
        scopes, trace = self._alignment.scopes[side], self._traces[side]
        loop = scopes[number]
        first = scopes[loop.items[0][1]]
        reads = [trace.reads[one] for kind, one in first.items if kind == "read"]
        if len(loop.items) > 1 or first.has_body or not reads or first.items[-1][0] != "read":
            return rounds_of(scopes, number)
        text, keyword = self._condition(place_of(trace, reads[-1].frame), reads[-1], side)
        # `while a: b` on one line may have been tested again after its body.
        is_whole = self._outlines[side].has_body(loop.file, loop.line)
        passed = is_whole and any(read.value == "True" for read in reads)
        is_test = keyword == "while" and not re.search(r"\bnot\b", text) and not passed
        if is_test and reads[-1].kind == "bool" and reads[-1].value == "False":
            return 0
        return rounds_of(scopes, number)

    def _compare_items(self, slot: Slot, turn: str) -> None:
        gap: list[Slot] = []
        reason: Reason | None = None
        for item, after in zip_longest(slot.items, slot.items[1:]):
            if len(item.sides) < 2:
                gap.append(item)
                continue
            self._note_gap(gap, reason)
            gap = []
            if item.kind == "read":
                parts = after is not None and len(after.sides) < 2
                reason = self._compare_reads(item, turn, parts) or reason
            elif item.kind == "node":
                self._pairs.append((item.sides[0], item.sides[1]))
        self._note_gap(gap, reason)

    def _note_gap(self, gap: list[Slot], reason: Reason | None) -> None:
        """Note what one side recorded between two things that both did."""
        for side in (0, 1):
            mine = [item for item in gap if side in item.sides]
            loops = [
                item for item in mine if item.kind == "scope" and self._scope(item).kind == "loop"
            ]
            for item in loops:
                rounds = self._rounds(side, item.sides[side])
                counts = (rounds, 0) if side == 0 else (0, rounds)
                text = f"{self._loop_text(item)} ran {_times(counts[0])} on the left and "
                text += f"{_times(counts[1])} on the right"
                nodes = self._nodes([item], side)
                self._changes.append(Change("loop", text, *_sided(side, nodes)))
            rest = self._nodes([item for item in mine if item not in loops], side)
            if rest:
                self._changes.append(self._only(side, rest, reason))

    def _only(self, side: int, nodes: tuple[int, ...], reason: Reason | None) -> Change:
        trace = self._traces[side]
        ops = [trace.nodes[number].op for number in nodes]
        shown = ", ".join(ops[:6]) + (f", ... {len(ops)} in all" if len(ops) > 6 else "")
        place = place_of(trace, trace.nodes[nodes[0]].frame)
        where = f" from line {place.line}" if place and place.line else ""
        name = ("left", "right")[side]
        kind: ChangeKind = "only-left" if side == 0 else "only-right"
        because = f", where {reason[side]}" if reason else ""
        return Change(
            kind, f"only on the {name}{because}: {plain(shown)}{where}", *_sided(side, nodes)
        )

    def _nodes(self, slots: list[Slot], side: int) -> tuple[int, ...]:
        """Return the nodes of one side inside of slots."""
        found: list[int] = []
        waiting = slots[::-1]
        while waiting:
            slot = waiting.pop()
            if slot.kind == "node" and side in slot.sides:
                found.append(slot.sides[side])
            waiting.extend(item for item in reversed(slot.items) if side in item.sides)
        return tuple(found)

    def _loop_text(self, slot: Slot) -> str:
        scope = self._scope(slot)
        where = f" at line {scope.line}" if scope.line and scope.name else ""
        return (
            f"`{plain(scope.name).removesuffix(':')}`{where}"
            if scope.name
            else f"the loop at line {scope.line}"
        )

    # ---- reads -----------------------------------------------------------------------------------

    def _compare_reads(self, slot: Slot, turn: str, parts: bool) -> Reason | None:
        """Note a read that gave different answers; return what each side answered.

        Args:
            slot: The read.
            turn: In which round of a loop.
            parts: Whether the two sides recorded different things next.
        """
        reads = [self._traces[side].reads[slot.sides[side]] for side in (0, 1)]
        if reads[0].value == reads[1].value:
            return None
        places = [place_of(self._traces[side], reads[side].frame) for side in (0, 1)]
        text, keyword = self._condition(places[0], reads[0])
        is_bool = reads[0].kind == "bool"
        verb = "was" if is_bool else "read"
        values = [plain(read.value)[:40] for read in reads]
        # How a `while` ends is said by how many times it ran.
        if not (is_bool and keyword == "while"):
            where = _lines_text(places[0], places[1]) + turn
            said = f"`{text}`{where} {verb} {values[0]} on the left and {values[1]} on the right"
            nodes = [(read.node,) if read.node >= 0 else () for read in reads]
            is_branch = is_bool or (keyword in ("if", "elif") and parts)
            kind: ChangeKind = "branch" if is_branch else "value"
            self._changes.append(Change(kind, said, nodes[0], nodes[1]))
        return f"`{text}` {verb} {values[0]}", f"`{text}` {verb} {values[1]}"

    def _condition(self, place: Place | None, read: Read, side: int = 0) -> tuple[str, str]:
        if place is None:
            return f"{read.kind}()", ""
        outline = self._outlines[side]
        text = outline.condition(place.file, place.line)
        return plain(text) or f"{read.kind}()", outline.keyword(place.file, place.line)

    # ---- nodes -----------------------------------------------------------------------------------

    def _leaves(self) -> None:
        """Pair parameters, inputs and constants by their names, or by what uses them."""
        partner = dict(self._pairs)
        users: list[dict[Hashable, int]] = [{}, {}]
        for side, trace in enumerate(self._traces):
            used: dict[int, Hashable] = {}
            for number, node in enumerate(trace.nodes):
                name: Hashable = partner.get(number, ("only", number)) if side == 0 else number
                for argument, one in enumerate(node.inputs):
                    if one.node >= 0:
                        used.setdefault(one.node, (name, argument))
            for number, node in enumerate(trace.nodes):
                if node.kind in LEAVES:
                    key = (node.kind, node.name or used.get(number, ("unused", number)))
                    users[side].setdefault(key, number)
        for key, number in users[0].items():
            if key in users[1]:
                self._pairs.append((number, users[1][key]))
            elif self._traces[0].nodes[number].name:
                self._lone_leaf(0, number)
        for key, number in users[1].items():
            if key not in users[0] and self._traces[1].nodes[number].name:
                self._lone_leaf(1, number)

    def _lone_leaf(self, side: int, number: int) -> None:
        node = self._traces[side].nodes[number]
        text = f"only on the {('left', 'right')[side]}: {node.kind} {plain(node.name)}"
        kind: ChangeKind = "only-left" if side == 0 else "only-right"
        self._changes.append(Change(kind, text, *_sided(side, (number,))))

    def _compare(self, number: int, other: int) -> None:
        """Note how a node differs from its partner."""
        one, two = self._traces[0].nodes[number], self._traces[1].nodes[other]
        shapes = [", ".join(f"{r.shape} {r.dtype}" for r in node.results) for node in (one, two)]
        if shapes[0] != shapes[1]:
            self._note("shape", number, other, shapes[0], shapes[1])
        sizes = [sum(result.bytes for result in node.results) for node in (one, two)]
        saved = [node.saved for node in (one, two)]
        if shapes[0] == shapes[1] and (sizes[0], saved[0]) != (sizes[1], saved[1]):
            words = [f"{bytes_text(size + kept)}" for size, kept in zip(sizes, saved, strict=True)]
            self._note("bytes", number, other, words[0], words[1])
        arguments = [_arguments(node) for node in (one, two)]
        if arguments[0] != arguments[1]:
            self._note("value", number, other, arguments[0], arguments[1])
        elif shapes[0] == shapes[1]:
            self._compare_values(number, other)

    def _compare_values(self, number: int, other: int) -> None:
        one, two = self._traces[0].nodes[number], self._traces[1].nodes[other]
        for mine, theirs in zip(one.results, two.results, strict=True):
            for name, first, second in (
                ("", mine.value, theirs.value),
                ("gradient ", mine.gradient, theirs.gradient),
            ):
                if first and second and not same_statistics(first, second, self._tolerance):
                    words = [
                        name + (statistics_text(s, r.shape) or "other values")
                        for s, r in ((first, mine), (second, theirs))
                    ]
                    self._note("value", number, other, words[0], words[1])
                    return

    def _note(self, kind: ChangeKind, number: int, other: int, first: str, second: str) -> None:
        """Note a difference of one node; those at one place that differ alike are one."""
        node = self._traces[0].nodes[number]
        places = [
            place_of(self._traces[0], node.frame),
            place_of(self._traces[1], self._traces[1].nodes[other].frame),
        ]
        name = f"{node.kind} {node.name}" if node.kind in LEAVES else node.op
        words = f": {plain(first)} on the left, {plain(second)} on the right"
        # Values differ by numbers that nobody compares one by one: the first is said.
        place = places[0]
        where = place and (place.file, place.line)
        key = (kind, name, where, "" if kind == "value" else words)
        known = self._alike.get(key)
        if known is None:
            text = f"{plain(name)}{_lines_text(places[0], places[1])}"
            self._alike[key] = (Change(kind, text, (number,), (other,)), words)
            return
        change, words = known
        both = ((*change.left, number), (*change.right, other))
        self._alike[key] = (Change(kind, change.text, *both), words)

    def _times(self) -> None:
        """Note lines that took much more time on one side."""
        spent: dict[Hashable, list[float]] = {}
        nodes: dict[Hashable, tuple[list[int], list[int]]] = {}
        lines: dict[Hashable, str] = {}
        for pair in self._pairs:
            place = place_of(self._traces[0], self._traces[0].nodes[pair[0]].frame)
            if place is None:
                continue
            key = (place.file, place.line)
            lines[key] = self._outlines[0].text(place.file, place.line)
            for side in (0, 1):
                spent.setdefault(key, [0.0, 0.0])[side] += (
                    self._traces[side].nodes[pair[side]].seconds
                )
                nodes.setdefault(key, ([], []))[side].append(pair[side])
        for key, (first, second) in spent.items():
            low, high = sorted((first, second))
            if high > _TIME_FACTOR * low and high - low > _TIME_SECONDS:
                text = f"`{plain(lines[key])}` took {seconds_text(first)} on the left and "
                text += f"{seconds_text(second)} on the right"
                both = nodes[key]
                self._changes.append(Change("time", text, tuple(both[0]), tuple(both[1])))


def _order(change: Change) -> tuple[int, int]:
    """Return what sorts differences: by kind, then by when they came."""
    return KINDS.index(change.kind), min(change.left or change.right or (0,))


def _sided(side: int, nodes: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return (nodes, ()) if side == 0 else ((), nodes)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _lines_text(left: Place | None, right: Place | None) -> str:
    """Return " at line 12", with both lines where they moved."""
    lines = [place.line for place in (left, right) if place and place.line]
    if not lines:
        return ""
    if len(set(lines)) == 2:
        return f" at line {lines[0]} (right: {lines[1]})"
    return f" at line {lines[0]}"


def _arguments(node: Node) -> str:
    """Return the plain arguments of a node as text."""
    words = [number_text(one.number) for one in node.inputs if one.number is not None]
    words += [f"{name}={value}" for name, value in node.attributes.items()]
    return ", ".join(words)


def _numbers(statistics: Statistics) -> Iterator[float | None]:
    yield from (statistics.minimum, statistics.maximum, statistics.mean, statistics.deviation)
    yield from statistics.values or ()


def same_statistics(one: Statistics, other: Statistics, tolerance: float) -> bool:
    """Tell whether two tensors have the same numbers, as far as is known.

    Args:
        one: What is known of one.
        other: What is known of the other.
        tolerance: How far numbers may differ in relation to their size.

    Example:
        >>> from weft.tracing import Statistics
        >>> same_statistics(Statistics(2, 0.0, 1.0), Statistics(2, 0.0, 1.5), 1e-6)
        False
    """
    if (one.count, one.nans, one.infinities) != (other.count, other.nans, other.infinities):
        return False
    first, second = list(_numbers(one)), list(_numbers(other))
    if len(first) != len(second):
        return False
    return all(_same(a, b, tolerance) for a, b in zip(first, second, strict=True))


def _same(one: float | None, other: float | None, tolerance: float) -> bool:
    if one is None or other is None:
        return one is other
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance * 1e-3)


def bytes_text(count: int) -> str:
    """Return a number of bytes shortly: "48 bytes", "1.2 MB"."""
    size = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{count} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return ""


def seconds_text(seconds: float) -> str:
    """Return a time shortly: "1.2 ms"."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"
