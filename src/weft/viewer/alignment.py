"""Lay several runs side by side: which node of one is which node of another.

Runs are compared scope by scope: a call with the call from the same site, a round of a loop with
the round of the same number. Within a scope things are told apart by where they were recorded, what
they are, and how many of the kind came before. The longest part that comes in the same order in
both is the same; the rest is in one only. So runs that took other branches or went round more often
still meet.
"""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath

from weft.tracing import Trace
from weft.tracing.model import ENTRY
from weft.tracing.scopes import ItemKind, Scope, find_scopes

Lines = Mapping[int, str]


@dataclass(slots=True)
class Slot:
    """A scope, node or read of one or more runs. `sides` gives its number in each of them."""

    kind: ItemKind
    key: Hashable
    order: int
    sides: dict[int, int] = field(default_factory=dict[int, int])
    items: list[Slot] = field(default_factory=list["Slot"])


class Alignment:
    """Several traces side by side.

    Attributes:
        traces: The traces.
        scopes: The scopes of each.
        root: What they have, as one tree.
    """

    def __init__(self, traces: Sequence[Trace]) -> None:
        self.traces = traces
        self.scopes = [find_scopes(trace) for trace in traces]
        self.places = PlaceNames(traces)
        self.root = Slot("scope", "root", 0)
        for side in range(len(traces)):
            self._add(side)

    def _add(self, side: int) -> None:
        """Lay one more trace beside the others."""
        self.root.sides[side] = 0
        waiting = [(self.root, 0)]
        while waiting:
            slot, number = waiting.pop()
            fresh = self._slots(side, self.scopes[side][number])
            slot.items = woven(slot.items, fresh, side)
            waiting.extend(
                (item, item.sides[side])
                for item in slot.items
                if item.kind == "scope" and side in item.sides
            )

    def _slots(self, side: int, scope: Scope) -> list[Slot]:
        """Return what a scope holds, each with a key that nothing else in it has."""
        seen: dict[Hashable, int] = {}
        result: list[Slot] = []
        for kind, number in scope.items:
            key, order = self._key(side, kind, number)
            times = seen[key] = seen.get(key, 0) + 1
            result.append(Slot(kind, (key, times), order, {side: number}))
        return result

    def _key(self, side: int, kind: ItemKind, number: int) -> tuple[Hashable, int]:
        """Return what tells a thing apart within its scope, and its offset there."""
        trace, places = self.traces[side], self.places
        if kind == "node":
            node = trace.nodes[number]
            place = self._place(side, node.frame)
            # Gradients are computed in the order of the graph: where is no help, what is.
            return ("node", places.key(side, place), node.op, node.kind), self._offset(side, place)
        if kind == "read":
            read = trace.reads[number]
            place = self._place(side, read.frame)
            return ("read", places.key(side, place), read.kind), self._offset(side, place)
        scope = self.scopes[side][number]
        if scope.kind == "iteration":
            return ("iteration", scope.number), scope.number
        if scope.kind == "module":
            call = trace.modules[scope.number]
            place = self._place(side, call.frame)
            return ("module", call.path, places.key(side, place)), self._offset(side, place)
        if scope.kind == "function":
            key = ("function", places.key(side, scope.site), scope.name)
            return key, self._offset(side, scope.site)
        line = places.line_key(side, scope.file, scope.line)
        return (scope.kind, line), self._offset(side, self._place(side, scope.frame))

    def _place(self, side: int, frame: int) -> int:
        return self.traces[side].frames[frame].place if frame >= 0 else -1

    def _offset(self, side: int, place: int) -> int:
        return self.traces[side].places[place].offset if place >= 0 else -1


def woven(old: list[Slot], fresh: list[Slot], side: int) -> list[Slot]:
    """Bring two lists of slots together; those with the same key, in the same order, become one."""
    positions = {slot.key: position for position, slot in enumerate(old)}
    pairs = [
        (positions[slot.key], position)
        for position, slot in enumerate(fresh)
        if slot.key in positions
    ]
    result: list[Slot] = []
    start = begin = 0
    for one, other in [*rising(pairs), (len(old), len(fresh))]:
        result.extend(_by_order(old[start:one], fresh[begin:other]))
        if one < len(old):
            old[one].sides[side] = fresh[other].sides[side]
            result.append(old[one])
        start, begin = one + 1, other + 1
    return result


def _by_order(old: list[Slot], fresh: list[Slot]) -> list[Slot]:
    """Merge what only one of two has: what stands first in the program comes first."""
    result: list[Slot] = []
    position = 0
    for slot in old:
        while position < len(fresh) and fresh[position].order < slot.order:
            result.append(fresh[position])
            position += 1
        result.append(slot)
    return result + fresh[position:]


def rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest part of a list of pairs whose first numbers rise.

    Args:
        pairs: Pairs of numbers, no number twice.

    Example:
        >>> rising([(0, 0), (3, 1), (1, 2), (2, 3)])
        [(0, 0), (1, 2), (2, 3)]
    """
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (value, _) in enumerate(pairs):
        length = bisect_left(ends, value)
        before.append(last[length - 1] if length else -1)
        if length == len(ends):
            ends.append(value)
            last.append(number)
        else:
            ends[length] = value
            last[length] = number
    result: list[tuple[int, int]] = []
    at = last[-1] if last else -1
    while at >= 0:
        result.append(pairs[at])
        at = before[at]
    return result[::-1]


class PlaceNames:
    """Names for places that are the same in several traces, also when lines moved.

    Where the lines that two traces know of a file are the same, a place is its offset. Where they
    differ, the lines are compared as texts, and a place is its line and its rank on that line.
    The place from which a run was called is the same in all, wherever it stands; so is the place of
    runs that have only one.
    """

    def __init__(self, traces: Sequence[Trace]) -> None:
        self._traces = traces
        self._files = [file_names(traces[0], trace) for trace in traces] if traces else []
        self._keys = [self._all_keys(side) for side in range(len(traces))]

    def key(self, side: int, place: int) -> Hashable:
        """Return the name of a place of a trace."""
        return self._keys[side][place] if place >= 0 else None

    def line_key(self, side: int, file: str, line: int) -> Hashable:
        """Return the name of a line of a file."""
        name = self._files[side].get(file, file)
        return name, self._line(side, name, line)

    def line_of(self, side: int, file: str, line: int) -> int | None:
        """Return the number that the first trace has for a line, None if it does not have it."""
        found = self._line(side, self._files[side].get(file, file), line)
        return found if isinstance(found, int) else None

    @cached_property
    def moved(self) -> set[str]:
        """The files (by their names in the first trace) whose lines differ between traces."""
        moved: set[str] = set()
        for side in range(1, len(self._traces)):
            for file, name in self._files[side].items():
                mine = self._traces[0].sources.get(name)
                theirs = self._traces[side].sources.get(file)
                if mine is not None and theirs is not None:
                    common = mine.keys() & theirs.keys()
                    if not common or any(mine[line] != theirs[line] for line in common):
                        moved.add(name)
        return moved

    @cached_property
    def _line_maps(self) -> dict[tuple[int, str], dict[int, int]]:
        """For each trace and file that moved: line there -> line in the first trace."""
        maps: dict[tuple[int, str], dict[int, int]] = {}
        for side in range(1, len(self._traces)):
            for file, name in self._files[side].items():
                if name in self.moved and file in self._traces[side].sources:
                    mine = self._traces[0].sources[name]
                    maps[side, name] = matching_lines(self._traces[side].sources[file], mine)
        return maps

    def _line(self, side: int, name: str, line: int) -> Hashable:
        if side == 0 or name not in self.moved:
            return line
        return self._line_maps.get((side, name), {}).get(line, ("only", side, line))

    def _all_keys(self, side: int) -> list[Hashable]:
        trace = self._traces[side]
        ranks: dict[tuple[str, str, int], list[int]] = {}
        for place in trace.places:
            ranks.setdefault((place.file, place.function, place.line), []).append(place.offset)
        keys: list[Hashable] = []
        is_only = all(len(one.places) == 1 for one in self._traces)
        for place in trace.places:
            if is_only or place.offset == ENTRY:
                keys.append("entry")
                continue
            name = self._files[side].get(place.file, place.file)
            if name in self.moved:
                offsets = sorted(set(ranks[place.file, place.function, place.line]))
                where = (self._line(side, name, place.line), offsets.index(place.offset))
                keys.append((name, place.function, where))
            else:
                keys.append((name, place.function, place.offset))
        return keys


def file_names(first: Trace, other: Trace) -> dict[str, str]:
    """Return for each file of a trace the file of the first that it is a version of."""
    mine = {place.file for place in first.places}
    theirs = dict.fromkeys(place.file for place in other.places)
    names = {file: file for file in theirs if file in mine}
    left = sorted(mine - set(names))
    for file in theirs:
        if file in names:
            continue
        same = [one for one in left if PurePath(one).name == PurePath(file).name]
        if not same and len(left) == 1 and len(theirs) - len(names) == 1:
            same = left
        names[file] = same[0] if same else file
        left = [one for one in left if one != names[file]]
    return names


def matching_lines(lines: Lines, reference: Lines) -> dict[int, int]:
    """Return which line of a file is which line of another version of it, by their texts."""
    mine = sorted(line for line, text in lines.items() if text.strip())
    theirs = sorted(line for line, text in reference.items() if text.strip())
    matcher = difflib.SequenceMatcher(
        None,
        [lines[line].strip() for line in mine],
        [reference[line].strip() for line in theirs],
        autojunk=False,
    )
    return {
        mine[block.a + step]: theirs[block.b + step]
        for block in matcher.get_matching_blocks()
        for step in range(block.size)
    }
