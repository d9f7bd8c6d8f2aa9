"""Merge runs into one graph that has both sides of each decision."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

from weft.tracing import Folded, Frame, Input, ModuleCall, Node, Place, Trace
from weft.tracing.fold import fold_scopes
from weft.tracing.scopes import LEAVES, Scope
from weft.tracing.sources import Outline
from weft.viewer.alignment import Alignment, Slot

END = -1


@dataclass(frozen=True, slots=True)
class Link:
    """What was recorded because of an answer; `target` is `END` where nothing was any more.

    Example:
        >>> from weft.viewer import Link
        >>> Link(source=3, target=4, label="True").label
        'True'
    """

    source: int
    target: int
    label: str


@dataclass(frozen=True, slots=True)
class Merged:
    """One graph of several runs.

    Attributes:
        trace: Its nodes; a node of kind "decision" stands for what Python read.
        folded: How they fold.
        links: From decisions to what was recorded because of the answer.
        sides: For each node the runs that have it.
    """

    trace: Trace
    folded: Folded
    links: tuple[Link, ...]
    sides: tuple[tuple[int, ...], ...]


def merge_traces(traces: Sequence[Trace], title: str = "") -> Merged:
    """Merge traces of one program.

    Args:
        traces: One or more.
        title: The title of the result; that of the first trace if it is left out.
    """
    merger = _Merger(Alignment(traces))
    return merger.merged(title or (traces[0].title if traces else ""))


class _Tables:
    """Places, frames and sources of all traces in one."""

    def __init__(self, traces: Sequence[Trace]) -> None:
        self.places: dict[Place, int] = {}
        self.frames: dict[Frame, int] = {}
        self.frame_maps: list[list[int]] = []
        self.sources: dict[str, dict[int, str]] = {}
        for trace in traces:
            mapped: list[int] = []
            for frame in trace.frames:
                place = self.places.setdefault(trace.places[frame.place], len(self.places))
                caller = mapped[frame.caller] if frame.caller >= 0 else -1
                mapped.append(self.frames.setdefault(Frame(place, caller), len(self.frames)))
            mapped.append(-1)
            self.frame_maps.append(mapped)
            for file, lines in trace.sources.items():
                known = self.sources.setdefault(file, {})
                for line, text in lines.items():
                    known.setdefault(line, text)


class _Merger:
    """Builds the merged trace from an alignment."""

    def __init__(self, alignment: Alignment) -> None:
        self._traces = alignment.traces
        self._alignment = alignment
        self._tables = _Tables(alignment.traces)
        self._outlines = [Outline(trace.sources) for trace in alignment.traces]
        self._slots = list(_in_order(alignment.root))
        self._nodes: list[Node] = []
        self._sides: list[tuple[int, ...]] = []
        # For each run: its node -> the merged node.
        self._numbers: list[dict[int, int]] = [{} for _ in alignment.traces]
        self._number_of: dict[int, int] = {}
        self._modules: list[ModuleCall] = []
        self._scopes: list[Scope] = []

    def merged(self, title: str) -> Merged:
        """Return everything as one."""
        decisions = self._decisions()
        self._add_leaves()
        self._add_scopes(decisions)
        outputs = dict.fromkeys(
            (self._numbers[side].get(one.node, -1), one.output, one.number, one.name)
            for side, trace in enumerate(self._traces)
            for one in trace.outputs
        )
        failures = [trace.failure for trace in self._traces if trace.failure is not None]
        sides = [side for side, trace in enumerate(self._traces) if trace.failure is not None]
        failure = None
        if failures:
            frame = self._tables.frame_maps[sides[0]][failures[0].frame]
            failure = replace(failures[0], frame=frame, after=len(self._nodes))
        trace = Trace(
            title=title,
            places=tuple(self._tables.places),
            frames=tuple(self._tables.frames),
            modules=tuple(self._modules),
            nodes=tuple(self._nodes),
            outputs=tuple(Input(*output) for output in outputs),
            failure=failure,
            sources=self._tables.sources,
            seconds=sum(one.seconds for one in self._traces) / max(1, len(self._traces)),
        )
        links = self._links(decisions)
        return Merged(trace, fold_scopes(trace, self._scopes), links, tuple(self._sides))

    # ---- which reads are decisions ---------------------------------------------------------------

    def _decisions(self) -> set[int]:
        """Return the slots (by identity) of reads that decided what was recorded."""
        found: set[int] = set()
        differs = self._differs_from()
        for position, slot in enumerate(self._slots):
            if slot.kind != "read":
                continue
            reads = [self._traces[side].reads[n] for side, n in slot.sides.items()]
            if reads[0].kind == "bool":
                found.add(id(slot))
            elif reads[0].kind in ("int", "float", "item", "list"):
                answers = {read.value for read in reads}
                place = self._place(slot)
                plain = all(_is_whole(answer) for answer in answers)
                tested = place is not None and self._keyword(slot) in ("if", "elif", "while")
                if len(answers) > 1 and (plain or tested) and position < differs:
                    found.add(id(slot))
        return found

    def _differs_from(self) -> int:
        """Return the position of the last slot that not all runs have."""
        everyone = len(self._traces)
        positions = [n for n, slot in enumerate(self._slots) if len(slot.sides) < everyone]
        return positions[-1] if positions else -1

    def _place(self, slot: Slot) -> Place | None:
        side, number = next(iter(slot.sides.items()))
        trace = self._traces[side]
        frame = trace.reads[number].frame if slot.kind == "read" else trace.nodes[number].frame
        return trace.places[trace.frames[frame].place] if frame >= 0 else None

    def _keyword(self, slot: Slot) -> str:
        place = self._place(slot)
        side = next(iter(slot.sides))
        return self._outlines[side].keyword(place.file, place.line) if place else ""

    # ---- nodes -----------------------------------------------------------------------------------

    def _add_leaves(self) -> None:
        """Add parameters, inputs and constants; they are the same if name or use is the same."""
        users: list[dict[int, Hashable]] = [{} for _ in self._traces]
        for position, slot in enumerate(self._slots):
            if slot.kind != "node":
                continue
            for side, number in slot.sides.items():
                for argument, one in enumerate(self._traces[side].nodes[number].inputs):
                    users[side].setdefault(one.node, (position, argument))
        known: dict[Hashable, int] = {}
        for side, trace in enumerate(self._traces):
            for number, node in enumerate(trace.nodes):
                if node.kind not in LEAVES:
                    continue
                key = (node.kind, node.name or users[side].get(number, (side, number)))
                if key not in known:
                    known[key] = len(self._nodes)
                    frame = self._tables.frame_maps[side][node.frame]
                    self._nodes.append(replace(node, frame=frame, module=-1, inputs=()))
                    self._sides.append(())
                at = known[key]
                self._numbers[side][number] = at
                self._sides[at] = (*self._sides[at], side)
        for at, sides in enumerate(self._sides):
            if len(sides) > 1:
                self._nodes[at] = _without_values(self._nodes[at])

    def _add_scopes(self, decisions: set[int]) -> None:
        """Add scopes with their nodes, the outermost first."""
        waiting: list[tuple[Slot, int, int]] = [(self._alignment.root, -1, -1)]
        while waiting:
            slot, parent, module = waiting.pop()
            if slot.kind == "scope":
                number = len(self._scopes)
                module = self._add_scope(slot, parent, module)
                if parent >= 0:
                    self._scopes[parent].items.append(("scope", number))
                waiting.extend((item, number, module) for item in reversed(slot.items))
            elif slot.kind == "node" or id(slot) in decisions:
                node = (
                    self._node(slot, module)
                    if slot.kind == "node"
                    else self._decision(slot, module)
                )
                self._number_of[id(slot)] = len(self._nodes)
                if slot.kind == "node":
                    for side, number in slot.sides.items():
                        self._numbers[side][number] = len(self._nodes)
                self._scopes[parent].items.append(("node", len(self._nodes)))
                self._nodes.append(node)
                self._sides.append(tuple(sorted(slot.sides)))

    def _add_scope(self, slot: Slot, parent: int, module: int) -> int:
        """Add one scope; return the call of a module that its nodes belong to."""
        side, number = next(iter(slot.sides.items()))
        scope = self._alignment.scopes[side][number]
        frame = self._tables.frame_maps[side][scope.frame]
        body = any(self._alignment.scopes[s][n].has_body for s, n in slot.sides.items())
        self._scopes.append(replace(scope, parent=parent, frame=frame, has_body=body, items=[]))
        if scope.kind == "module":
            call = self._traces[side].modules[scope.number]
            at = self._tables.frame_maps[side][call.frame]
            self._modules.append(replace(call, parent=module, frame=at))
            module = self._scopes[-1].number = len(self._modules) - 1
        return module

    def _node(self, slot: Slot, module: int) -> Node:
        """Return one node for that of each run; what differs between them is left out."""
        side, number = next(iter(slot.sides.items()))
        node = self._traces[side].nodes[number]
        several = [self._traces[s].nodes[n] for s, n in slot.sides.items()]
        frame = self._tables.frame_maps[side][node.frame]
        inputs = self._inputs(slot)
        node = replace(node, frame=frame, module=module, inputs=inputs, sequence=0)
        if len(several) == 1:
            return node
        shapes = dict.fromkeys(" ".join(_shape(one.shape) for one in n.results) for n in several)
        attributes = node.attributes | ({"shapes": ", ".join(shapes)} if len(shapes) > 1 else {})
        seconds = sum(one.seconds for one in several) / len(several)
        return _without_values(replace(node, attributes=attributes, seconds=seconds))

    def _inputs(self, slot: Slot) -> tuple[Input, ...]:
        """Return what a node reads in any of the runs, argument by argument."""
        found: dict[tuple[int, int, int, float | None], Input] = {}
        for side, number in slot.sides.items():
            for argument, one in enumerate(self._traces[side].nodes[number].inputs):
                at = self._numbers[side].get(one.node, -1)
                found.setdefault((argument, at, one.output, one.number), replace(one, node=at))
        return tuple(found[key] for key in sorted(found, key=lambda key: key[0]))

    def _decision(self, slot: Slot, module: int) -> Node:
        side, number = next(iter(slot.sides.items()))
        read = self._traces[side].reads[number]
        place = self._place(slot)
        text = self._outlines[side].condition(place.file, place.line) if place else ""
        values = dict.fromkeys(
            (
                self._numbers[s].get(self._traces[s].reads[n].node, -1),
                self._traces[s].reads[n].output,
            )
            for s, n in slot.sides.items()
        )
        answers = {str(s): self._traces[s].reads[n].value for s, n in slot.sides.items()}
        return Node(
            text or f"{read.kind}()",
            "decision",
            tuple(Input(*value) for value in values if value[0] >= 0),
            attributes={"read": read.kind, "answers": _answers(list(answers.values()))},
            frame=self._tables.frame_maps[side][read.frame],
            module=module,
            example=read.example,
        )

    # ---- links -----------------------------------------------------------------------------------

    def _links(self, decisions: set[int]) -> tuple[Link, ...]:
        """Return the links from decisions to what each run recorded next."""
        found: dict[tuple[int, int], list[str]] = {}
        shown = [slot for slot in self._slots if slot.kind == "node" or id(slot) in decisions]
        for side in range(len(self._traces)):
            own = [slot for slot in shown if side in slot.sides]
            for position, slot in enumerate(own):
                if slot.kind != "read":
                    continue
                after = own[position + 1] if position + 1 < len(own) else None
                if after is not None and self._example(side, after) != self._example(side, slot):
                    after = None
                target = END if after is None else self._number_of[id(after)]
                labels = found.setdefault((self._number_of[id(slot)], target), [])
                label = self._label(side, slot, after)
                if label not in labels:
                    labels.append(label)
        return tuple(
            Link(source, target, ", ".join(labels)) for (source, target), labels in found.items()
        )

    def _example(self, side: int, slot: Slot) -> int:
        trace, number = self._traces[side], slot.sides[side]
        return trace.nodes[number].example if slot.kind == "node" else trace.reads[number].example

    def _label(self, side: int, slot: Slot, after: Slot | None) -> str:
        """Return the answer that one run got: "True", "again", "3"."""
        read = self._traces[side].reads[slot.sides[side]]
        keyword = self._keyword(slot)
        answer = read.value
        if read.kind != "bool" and keyword in ("if", "elif", "while"):
            answer = str(self._went_in(side, slot, after))
        if keyword == "while" and answer in ("True", "False"):
            return "again" if answer == "True" else "done"
        return answer

    def _went_in(self, side: int, slot: Slot, after: Slot | None) -> bool:
        """Tell whether what was recorded next stands in the block of a test."""
        test = self._place(slot)
        place = self._place(after) if after is not None else None
        if test is None or place is None or place.file != test.file:
            return False
        blocks = self._outlines[side].blocks(place.file, place.line, place.function) or ()
        return any(block.line == test.line for block in blocks)


def _in_order(root: Slot) -> Iterator[Slot]:
    """Yield the nodes and reads of a tree of slots in order."""
    waiting = [root]
    while waiting:
        slot = waiting.pop()
        if slot.kind != "scope":
            yield slot
        waiting.extend(reversed(slot.items))


def _without_values(node: Node) -> Node:
    results = tuple(replace(result, value=None, gradient=None) for result in node.results)
    return replace(node, results=results)


def _shape(shape: tuple[int, ...]) -> str:
    return str(shape)


def _answers(answers: list[str]) -> str:
    return ", ".join(dict.fromkeys(answers))


def _is_whole(text: str) -> bool:
    try:
        return float(text).is_integer()
    except ValueError:
        return False
