"""What a picture of a graph shows: boxes, edges and frames around them, not yet where.

A picture is of a merged graph (of one run or several), so it has the decisions. It rolls loops up:
one round stands for all, and what goes from one round to the next is an edge back. Parameters and
constants are words on the boxes that use them. If there is too much, inner groups become boxes.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Literal

from weft.tracing import Folded, Group, Node, Trace
from weft.viewer.merging import END, Merged
from weft.viewer.words import TIMES, number_text, place_of, plain, shortened

BoxKind = Literal["op", "cell", "input", "decision", "group", "output", "failure"]
EdgeKind = Literal["data", "control"]


@dataclass(slots=True)
class Box:
    """One thing with a text. `notes` are further lines, `group` is the frame around it, or -1."""

    kind: BoxKind
    title: str
    notes: list[str] = field(default_factory=list[str])
    group: int = -1


@dataclass(frozen=True, slots=True)
class Edge:
    """From one box to another; `is_back` if it leads to the next round of a loop."""

    source: int
    target: int
    kind: EdgeKind = "data"
    label: str = ""
    is_back: bool = False


@dataclass(frozen=True, slots=True)
class Cluster:
    """A frame around boxes. A parent stands before its children."""

    label: str
    parent: int
    kind: str


@dataclass(frozen=True, slots=True)
class Picture:
    """Everything to draw."""

    title: str
    boxes: list[Box]
    edges: list[Edge]
    clusters: list[Cluster]


def make_picture(merged: Merged, max_boxes: int = 80) -> Picture:
    """Decide what a picture of a graph shows.

    Args:
        merged: The graph.
        max_boxes: How many boxes at most; groups that are too much become boxes themselves.
    """
    rolled = _Rolled(merged.trace, merged.folded)
    return _Painter(merged, rolled, max_boxes).picture()


class _Rolled:
    """Groups and nodes after all rounds of a loop became one."""

    def __init__(self, trace: Trace, folded: Folded) -> None:
        self._trace = trace
        self.groups: list[Group] = []
        self.labels: list[list[str]] = []
        self.group_of_group = self._roll_groups(folded)
        self.nodes: list[int] = []
        # For each node the position in `nodes` of the one that stands for it.
        self.standing_for = self._roll_nodes(folded)
        # For each position in `nodes` all that it stands for.
        self.members: list[list[int]] = [[] for _ in self.nodes]
        for number, position in enumerate(self.standing_for):
            self.members[position].append(number)
        self.group_of = [
            self.group_of_group[folded.group_of[node]] if folded.group_of[node] >= 0 else -1
            for node in self.nodes
        ]

    def _roll_groups(self, folded: Folded) -> list[int]:
        known: dict[Hashable, int] = {}
        seen: dict[Hashable, int] = {}
        numbers: list[int] = []
        for group in folded.groups:
            parent = numbers[group.parent] if group.parent >= 0 else -1
            kind = group.label.rpartition(" (")[2] if group.kind == "module" else group.label
            word = "" if group.kind == "iteration" else kind
            mine = (group.kind, word, self._line(group.frame))
            inside = (group.parent, mine) if group.kind != "iteration" else group.label
            times = seen[inside] = seen.get(inside, 0) + 1
            key = (parent, mine, 1 if group.kind == "iteration" else times)
            if key not in known:
                known[key] = len(self.groups)
                self.groups.append(Group(group.kind, group.label, parent, group.frame, group.count))
                self.labels.append([])
            at = known[key]
            numbers.append(at)
            if group.label not in self.labels[at]:
                self.labels[at].append(group.label)
        return numbers

    def _roll_nodes(self, folded: Folded) -> list[int]:
        known: dict[Hashable, int] = {}
        seen: dict[Hashable, int] = {}
        standing: list[int] = []
        for number, node in enumerate(self._trace.nodes):
            inside = folded.group_of[number]
            mine = (node.op, node.kind, node.name, self._line(node.frame))
            times = seen[inside, mine] = seen.get((inside, mine), 0) + 1
            group = self.group_of_group[inside] if inside >= 0 else -1
            key = (group, mine, times) if self._is_rolled(group) else number
            if key not in known:
                known[key] = len(self.nodes)
                self.nodes.append(number)
            standing.append(known[key])
        return standing

    def is_rolled(self, number: int) -> bool:
        """Tell whether a node stands for those of other rounds too."""
        return self._is_rolled(self.group_of[self.standing_for[number]])

    def _is_rolled(self, group: int) -> bool:
        while group >= 0:
            if self.groups[group].kind == "iteration":
                return True
            group = self.groups[group].parent
        return False

    def _line(self, frame: int) -> Hashable:
        place = place_of(self._trace, frame)
        return (place.file, place.line) if place else None

    def label(self, number: int) -> str:
        """Return what a frame says: a loop with how many times it ran."""
        group, labels = self.groups[number], self.labels[number]
        if group.kind == "loop":
            return f"{group.label} {TIMES} {group.count}"
        if len(labels) > 1 and group.kind == "module":
            first, _, kind = labels[0].rpartition(" (")
            return f"{first} … {labels[-1].rpartition(' (')[0]} ({kind}"
        return group.label


class _Painter:
    """Chooses what is visible, and collects boxes and edges."""

    def __init__(self, merged: Merged, rolled: _Rolled, max_boxes: int) -> None:
        self._merged = merged
        self._trace = merged.trace
        self._rolled = rolled
        self._boxes: list[Box] = []
        self._edges: dict[tuple[int, int, EdgeKind, str], Edge] = {}
        self._clusters: list[Cluster] = []
        self._cluster_of: dict[int, int] = {-1: -1}
        self._chips = _chips(self._trace, rolled)
        self._open = self._opened(max_boxes)
        self._middle = self._left_out(max_boxes)
        self._box_of_group: dict[int, int] = {}
        self._box_of_node: list[int] = []

    def picture(self) -> Picture:
        """Return the picture."""
        for position, number in enumerate(self._rolled.nodes):
            self._box_of_node.append(self._add_node(position, number))
        self._add_data()
        outputs = self._add_outputs()
        self._add_links(outputs)
        return Picture(
            plain(self._trace.title), self._boxes, list(self._edges.values()), self._clusters
        )

    def _opened(self, max_boxes: int) -> set[int]:
        """Return the groups to show as frames: outer ones first, as long as there is room."""
        rolled = self._rolled
        inside: dict[int, list[int]] = {}
        for number, group in enumerate(rolled.groups):
            inside.setdefault(group.parent, []).append(number)
        nodes: dict[int, int] = {}
        for position, number in enumerate(rolled.nodes):
            if number not in self._chips:
                group = rolled.group_of[position]
                nodes[group] = nodes.get(group, 0) + 1
        opened = {-1}
        boxes = nodes.get(-1, 0) + len(inside.get(-1, []))
        waiting = list(inside.get(-1, []))
        for group in waiting:
            more = nodes.get(group, 0) + len(inside.get(group, [])) - 1
            if boxes + more <= max_boxes or group in opened:
                boxes += more
                opened.add(group)
                waiting.extend(inside.get(group, []))
        return opened

    def _left_out(self, max_boxes: int) -> range:
        """Return the nodes (by position) in the middle that are one box, if there are too many."""
        rolled = self._rolled
        outer = [
            position
            for position, number in enumerate(rolled.nodes)
            if rolled.group_of[position] < 0 and number not in self._chips
        ]
        if len(outer) <= max_boxes:
            return range(0)
        keep = max(1, max_boxes // 2)
        return range(outer[keep], outer[-keep])

    def _cluster(self, group: int) -> int:
        """Return the frame of an open group; rounds have none, their loop's is enough."""
        way: list[int] = []
        while group not in self._cluster_of:
            way.append(group)
            group = self._rolled.groups[group].parent
        for one in reversed(way):
            kind = self._rolled.groups[one].kind
            parent = self._cluster_of[self._rolled.groups[one].parent]
            if kind == "iteration":
                self._cluster_of[one] = parent
                continue
            self._cluster_of[one] = len(self._clusters)
            self._clusters.append(Cluster(plain(self._rolled.label(one)), parent, kind))
        return self._cluster_of[way[0]] if way else self._cluster_of[group]

    def _add_node(self, position: int, number: int) -> int:
        """Add a box for a node, or for the closed group it is in. Return -1 for words on boxes."""
        if number in self._chips:
            return -1
        group = self._rolled.group_of[position]
        if group < 0 and position in self._middle:
            return self._middle_box()
        closed, at = -1, group
        while at >= 0:
            closed = at if at not in self._open else closed
            at = self._rolled.groups[at].parent
        if closed < 0:
            alike = [self._trace.nodes[one] for one in self._rolled.members[position]]
            box = _box(self._trace.nodes[number], self._chips, alike)
            box.group = self._cluster(group)
            self._boxes.append(box)
            return len(self._boxes) - 1
        if closed not in self._box_of_group:
            self._box_of_group[closed] = len(self._boxes)
            parent = self._rolled.groups[closed].parent
            label = plain(self._rolled.label(closed))
            if self._rolled.groups[closed].kind == "iteration":
                label = "one round"
            self._boxes.append(Box("group", label, group=self._cluster(parent)))
        return self._box_of_group[closed]

    def _middle_box(self) -> int:
        if -1 not in self._box_of_group:
            self._box_of_group[-1] = len(self._boxes)
            self._boxes.append(Box("group", f"... {len(self._middle):,} more"))
        return self._box_of_group[-1]

    def _box(self, node: int) -> int:
        return self._box_of_node[self._rolled.standing_for[node]] if node >= 0 else -1

    def _add_edge(self, source: int, target: int, kind: EdgeKind = "data", label: str = "") -> None:
        if source < 0 or target < 0 or (source == target and self._boxes[source].kind == "group"):
            return
        self._edges.setdefault(
            (source, target, kind, label), Edge(source, target, kind, label, source >= target)
        )

    def _add_data(self) -> None:
        for number, node in enumerate(self._trace.nodes):
            for one in node.inputs:
                self._add_edge(self._box(one.node), self._box(number))

    def _add_outputs(self) -> int:
        """Add where results go, or where it failed; return that box."""
        failure = self._trace.failure
        if failure is not None:
            lines = wrap(shortened(plain(failure.message), 150), 52)
            self._boxes.append(Box("failure", shortened(plain(failure.kind), 60), lines))
            box = len(self._boxes) - 1
            if self._trace.nodes:
                self._add_edge(self._box(len(self._trace.nodes) - 1), box, "control")
            return box
        if not self._trace.outputs:
            return -1
        self._boxes.append(Box("output", "output"))
        box = len(self._boxes) - 1
        for one in self._trace.outputs:
            self._add_edge(self._box(one.node), box)
        return box

    def _add_links(self, end: int) -> None:
        labels: dict[tuple[int, int], list[str]] = {}
        for link in self._merged.links:
            target = end if link.target == END else self._box(link.target)
            known = labels.setdefault((self._box(link.source), target), [])
            known.extend(one for one in link.label.split(", ") if one not in known)
        for (source, target), words in labels.items():
            text = ", ".join(words) if len(words) <= 3 else f"{words[0]} … {words[-1]}"
            self._add_edge(source, target, "control", plain(text))


def _chips(trace: Trace, rolled: _Rolled) -> dict[int, str]:
    """Return the nodes that are words on others: parameters and constants that ops use."""
    used = {one.node for node in trace.nodes for one in node.inputs}
    chips: dict[int, str] = {}
    for number, node in enumerate(trace.nodes):
        if node.kind in ("parameter", "constant") and number in used:
            shape = node.results[0].shape if node.results else ()
            word = node.name or node.kind
            chips[number] = f"{word} {shape}" if shape else word + _number(node, number, rolled)
    return chips


def _number(node: Node, number: int, rolled: _Rolled) -> str:
    """Return the number that a constant is, if it is one and the same in all rounds."""
    value = node.results[0].value if node.results else None
    if node.name or value is None or value.values is None or rolled.is_rolled(number):
        return ""
    return f" {number_text(value.values[0])}"


def _call(node: Node, alike: list[Node]) -> str:
    """Return an op with its numbers: "sub 1" of `x - 1`, "1 sub" of `1 - x`.

    A number that is another one in other rounds of a loop is a "…".
    """
    first = next((at for at, one in enumerate(node.inputs) if one.number is None), 0)
    words: list[str] = []
    for at, one in enumerate(node.inputs):
        if one.number is not None:
            others = {other.inputs[at].number for other in alike if at < len(other.inputs)}
            words.append(number_text(one.number) if others == {one.number} else "…")
    return " ".join(dict.fromkeys([*words[:first], node.op, *words[first:]]))


def _box(node: Node, chips: dict[int, str], alike: list[Node]) -> Box:
    if node.kind == "decision":
        return Box("decision", shortened(plain(node.op), 60))
    if node.kind in ("input", "parameter", "constant"):
        box = Box("input", shortened(plain(node.name or node.kind), 40))
    else:
        kind: BoxKind = "cell" if node.kind == "cell" else "op"
        box = Box(kind, shortened(plain(_call(node, alike)), 40))
    if node.results:
        result = node.results[0]
        more = f" +{len(node.results) - 1}" if len(node.results) > 1 else ""
        text = f"{node.attributes.get('shapes') or result.shape} {result.dtype}{more}"
        box.notes.append(shortened(plain(text), 40))
    words = list(dict.fromkeys(chips[one.node] for one in node.inputs if one.node in chips))
    box.notes.extend(shortened(plain(word), 40) for word in words[:3])
    if len(words) > 3:
        box.notes.append(f"and {len(words) - 3} more")
    return box
