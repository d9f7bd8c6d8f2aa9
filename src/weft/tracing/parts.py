"""Where nodes stand: the way from the outermost call down to a place, as steps that nodes share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from weft.tracing.model import Place, Trace
from weft.tracing.sources import COMPREHENSIONS, Outline


@dataclass(slots=True)
class Marks:
    """What one pass over the nodes found out for the next."""

    # Call sites (places) from which something is called again and again without a loop around.
    repeated_calls: set[int] = field(default_factory=set[int])
    # Places on the header of a `for` that each round comes back to: a generator goes on there.
    headers: set[int] = field(default_factory=set[int])
    # Loops of functions without source: (file, function) -> ranges of offsets.
    ranges: dict[tuple[str, str], set[tuple[int, int]]] = field(
        default_factory=dict[tuple[str, str], set[tuple[int, int]]]
    )

    def count(self) -> int:
        """Return how much is known: a pass that adds nothing was the last."""
        return len(self.repeated_calls) + len(self.headers) + sum(map(len, self.ranges.values()))

    def loops_at(self, place: Place) -> list[tuple[int, int]]:
        """Return the ranges around an offset, outermost first."""
        found = [
            (low, high)
            for low, high in _joined(self.ranges.get((place.file, place.function), set()))
            if low <= place.offset <= high
        ]
        return sorted(found, key=lambda one: one[0] - one[1])


def _joined(ranges: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join ranges that begin together or overlap in part; those that nest stay apart."""
    result: list[tuple[int, int]] = []
    for low, high in sorted(ranges, key=lambda one: (one[0], -one[1])):
        for position, (start, end) in enumerate(result):
            if low == start or start < low <= end < high:
                result[position] = (start, max(end, high))
                break
        else:
            result.append((low, high))
    return result


PartKind = Literal["root", "module", "function", "loop", "site"]


@dataclass(slots=True)
class Part:
    """One step of the way from the outermost call to a node. Steps form a tree, shared by nodes."""

    kind: PartKind
    parent: int
    depth: int
    frame: int = -1
    place: int = -1
    module: int = -1
    name: str = ""
    line: int = 0
    is_while: bool = False
    # Of a loop that nobody wrote: one place calls again and again, as `map(cell, xs)` does.
    is_call: bool = False


class Parts:
    """The tree of ways; `leaf(frame, module)` is where a node recorded there stands."""

    def __init__(self, trace: Trace, outline: Outline, marks: Marks) -> None:
        self._trace = trace
        self._outline = outline
        self._marks = marks
        self.parts = [Part("root", -1, 0)]
        self._children: dict[tuple[int, PartKind, object], int] = {}
        self._leaves: dict[tuple[int, int], int] = {(-1, -1): 0}
        self._depths = _depths(trace)

    def leaf(self, frame: int, module: int) -> int:
        """Return the part of a frame within a call of a module."""
        waiting = [(frame, module)]
        while waiting:
            at = waiting[-1]
            if at in self._leaves:
                waiting.pop()
                continue
            frame_here, module_here = at
            before = self._before(frame_here, module_here)
            if before not in self._leaves:
                waiting.append(before)
                continue
            above = self._leaves[before]
            if before[0] == frame_here:
                self._leaves[at] = self._module(above, module_here)
            else:
                self._leaves[at] = self._site(above, frame_here)
            waiting.pop()
        return self._leaves[frame, module]

    def _before(self, frame: int, module: int) -> tuple[int, int]:
        """Return what stands before: a module is called from its frame, a frame from its caller."""
        if module >= 0:
            call = self._trace.modules[module]
            if self._depths[call.frame] >= self._depths[frame]:
                return frame, call.parent
        return self._trace.frames[frame].caller, module

    def _add(self, part: Part, key: object) -> int:
        at = (part.parent, part.kind, key)
        if at not in self._children:
            self._children[at] = len(self.parts)
            self.parts.append(part)
        return self._children[at]

    def _child(self, above: int, kind: PartKind, key: object, **facts: object) -> int:
        depth = self.parts[above].depth + 1
        return self._add(Part(kind, above, depth, **facts), key)  # pyright: ignore[reportArgumentType]

    def _module(self, above: int, module: int) -> int:
        call = self._trace.modules[module]
        return self._child(above, "module", module, module=module, frame=call.frame, name=call.path)

    def _site(self, above: int, frame: int) -> int:
        """Add a function, the loops around one of its places, and the place."""
        number = self._trace.frames[frame].place
        place = self._trace.places[number]
        key = (place.file, place.function)
        at = self._child(above, "function", key, frame=frame, name=place.function)
        for line, name, is_while in self._loops(place, number):
            at = self._child(
                at, "loop", (line, name), frame=frame, name=name, line=line, is_while=is_while
            )
        at = self._child(at, "site", number, frame=frame, place=number, line=place.line)
        if number in self._marks.repeated_calls:
            name = self._outline.condition(place.file, place.line)
            at = self._child(
                at, "loop", "call", frame=frame, name=name, line=place.line, is_call=True
            )
        return at

    def _loops(self, place: Place, number: int) -> Iterator[tuple[int, str, bool]]:
        """Yield line, header and whether it is a `while` of the loops around a place."""
        outline, file, line = self._outline, place.file, place.line
        blocks = outline.blocks(file, line, place.function)
        if blocks is None:
            yield from ((-low - 1, "", False) for low, _ in self._marks.loops_at(place))
            return
        for block in blocks:
            if block.keyword in ("for", "while"):
                yield block.line, outline.text(file, block.line), block.keyword == "while"
        keyword = outline.keyword(file, line)
        on_header = outline.has_body(file, line) or number in self._marks.headers
        if keyword == "while" or (keyword == "for" and on_header):
            yield line, outline.text(file, line), keyword == "while"
        elif place.function in COMPREHENSIONS or outline.for_inside(file, line):
            yield line, outline.for_inside(file, line) or outline.condition(file, line), False


def _depths(trace: Trace) -> list[int]:
    """Return how many frames each chain has; the last item is that of frame -1."""
    depths: list[int] = []
    for frame in trace.frames:
        depths.append(depths[frame.caller] + 1 if frame.caller >= 0 else 1)
    depths.append(0)
    return depths
