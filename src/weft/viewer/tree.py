"""A graph as a tree of text: groups, nodes and decisions in the order in which they happened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from weft.tracing import Folded, Group, Trace
from weft.tracing.scopes import LEAVES
from weft.tracing.sources import Outline
from weft.viewer.merging import END, Link
from weft.viewer.words import (
    TIMES,
    call_text,
    decision_of,
    failure_text,
    name_of,
    nodes_text,
    place_of,
    place_text,
    plain,
    result_text,
    shortened,
)

Style = Literal["dim", "bold", "plain", "cyan", "green", "yellow", "red"]


@dataclass(frozen=True, slots=True)
class Line:
    """One line, in parts that a terminal may colour."""

    parts: tuple[tuple[str, Style], ...]

    def __str__(self) -> str:
        return " ".join(text for text, _ in self.parts if text.strip())


@dataclass(slots=True)
class _Entry:
    """A group, a node or a read, and when it came first."""

    kind: Literal["group", "node", "read"]
    number: int
    items: list[_Entry]


def tree_lines(
    trace: Trace, folded: Folded, links: Sequence[Link] = (), max_lines: int = 200
) -> Iterator[Line]:
    """Yield the lines of a tree.

    Args:
        trace: What to show.
        folded: How it folds.
        links: Of a merged graph.
        max_lines: How many lines at most.
    """
    writer = _Writer(trace, folded, links)
    root = _entries(trace, folded)
    title = plain(trace.title) or "graph"
    yield Line(((title, "bold"), (nodes_text(len(trace.nodes)), "plain")))
    waiting: list[tuple[_Entry | str, str, bool]] = []
    _push(waiting, writer.inside(root), "", last=trace.failure is None)
    shown = 1
    while waiting:
        entry, indent, is_last = waiting.pop()
        if shown >= max_lines:
            yield Line(((indent + "└─", "dim"), (f"... more than {max_lines} lines", "plain")))
            break
        shown += 1
        branch, below = ("└─", "   ") if is_last else ("├─", "│  ")
        if isinstance(entry, str):
            yield Line(((indent + branch, "dim"), (entry, "dim")))
            continue
        yield Line(((indent + branch, "dim"), *writer.parts(entry)))
        _push(waiting, writer.inside(entry), indent + below)
    if trace.failure is not None:
        place = place_of(trace, trace.failure.frame)
        source = plain(writer.outline.text(place.file, place.line)) if place else ""
        text = shortened(plain(failure_text(trace.failure)), 200)
        yield Line(
            (("└─", "dim"), (text, "red"), (place_text(place), "cyan"), (f" {source}", "green"))
        )


def _push(
    waiting: list[tuple[_Entry | str, str, bool]],
    items: list[_Entry | str],
    indent: str,
    *,
    last: bool = True,
) -> None:
    final = len(items) - 1
    waiting.extend(
        (items[position], indent, last and position == final) for position in range(final, -1, -1)
    )


def _entries(trace: Trace, folded: Folded) -> _Entry:
    """Return groups, nodes and reads as a tree, in the order in which they came."""
    root = _Entry("group", -1, [])
    groups: dict[int, _Entry] = {-1: root}

    def group(number: int) -> _Entry:
        way: list[int] = []
        while number not in groups:
            way.append(number)
            number = folded.groups[number].parent
        for one in reversed(way):
            groups[one] = _Entry("group", one, [])
            groups[folded.groups[one].parent].items.append(groups[one])
        return groups[way[0]] if way else groups[number]

    reads = sorted(range(len(trace.reads)), key=lambda number: trace.reads[number].after)
    position = 0
    for number in range(len(trace.nodes) + 1):
        while position < len(reads) and trace.reads[reads[position]].after <= number:
            read = reads[position]
            inside = folded.group_of_read[read] if folded.group_of_read else -1
            group(inside).items.append(_Entry("read", read, []))
            position += 1
        if number < len(trace.nodes) and trace.nodes[number].kind not in LEAVES:
            group(folded.group_of[number]).items.append(_Entry("node", number, []))
    leaves: dict[int, list[_Entry]] = {}
    for number, node in enumerate(trace.nodes):
        if node.kind in LEAVES:
            leaves.setdefault(folded.group_of[number], []).append(_Entry("node", number, []))
    for number, entries in leaves.items():
        inside = group(number)
        inside.items = entries + inside.items
    return root


class _Writer:
    """Puts entries into words."""

    def __init__(self, trace: Trace, folded: Folded, links: Sequence[Link]) -> None:
        self._trace = trace
        self._folded = folded
        self.outline = Outline(trace.sources)
        self._links: dict[int, list[Link]] = {}
        for link in links:
            self._links.setdefault(link.source, []).append(link)

    def inside(self, entry: _Entry) -> list[_Entry | str]:
        """Return what stands below an entry: of a loop, rounds that differ from the one before."""
        is_group = entry.kind == "group" and entry.number >= 0
        group = self._folded.groups[entry.number] if is_group else None
        if group is None or group.kind != "loop":
            return list(entry.items)
        result: list[_Entry | str] = []
        last: object = None
        alike: list[str] = []
        for item in entry.items:
            shape = self._shape(item)
            label = self._folded.groups[item.number].label if item.kind == "group" else ""
            if shape == last and label:
                alike.append(label)
                continue
            result += _said_alike(_turn(group), alike)
            alike = []
            last = shape
            result.append(item)
        return result + _said_alike(_turn(group), alike)

    def _shape(self, entry: _Entry) -> object:
        """Return what two rounds have in common if they did the same."""
        words: list[object] = []
        waiting = [entry]
        while waiting:
            one = waiting.pop()
            if one.kind == "node":
                node = self._trace.nodes[one.number]
                place = place_of(self._trace, node.frame)
                shapes = tuple(result.shape for result in node.results)
                words.append((node.op, place and (place.file, place.line), shapes))
            elif one.kind == "read":
                read = self._trace.reads[one.number]
                words.append((read.kind, read.value if read.kind == "bool" else ""))
            else:
                words.append(self._folded.groups[one.number].kind)
            waiting.extend(reversed(one.items))
        return words

    def parts(self, entry: _Entry) -> tuple[tuple[str, Style], ...]:
        """Return an entry's line."""
        if entry.kind == "node":
            return self._node(entry.number)
        if entry.kind == "read":
            decision = decision_of(self._trace, self._trace.reads[entry.number], self.outline)
            place = place_of(self._trace, self._trace.reads[entry.number].frame)
            what = plain(decision.condition) or f"{decision.kind}()"
            answer = shortened(plain(decision.value), 40)
            return ("? " + what, "yellow"), (f"-> {answer}", "bold"), (place_text(place), "cyan")
        group = self._folded.groups[entry.number]
        label = shortened(plain(group.label), 100)
        if group.kind == "iteration":
            turn = _turn(self._folded.groups[group.parent])
            return ((label if label == "end" else f"{turn} {label}", "bold"),)
        if group.kind == "loop":
            return (label, "bold"), (f"{TIMES} {group.count}", "yellow")
        place = place_of(self._trace, group.frame)
        return (label, "bold"), (place_text(place) if group.kind == "function" else "", "cyan")

    def _node(self, number: int) -> tuple[tuple[str, Style], ...]:
        node = self._trace.nodes[number]
        place = place_of(self._trace, node.frame)
        where = place_text(place)
        facts = plain("; ".join(result_text(result) for result in node.results[:3]))
        if node.kind == "decision":
            return self._decision(number)
        if node.kind in ("parameter", "input", "constant"):
            name = plain(node.name)
            title = (
                f"{node.kind} {name}" if name else f"{name_of(self._trace, number)} = {node.kind}"
            )
            return (title, "bold"), (facts, "plain"), (where, "cyan")
        title = plain(f"{name_of(self._trace, number)} = {call_text(self._trace, node)}")
        source = plain(self.outline.text(place.file, place.line)) if place else ""
        return (title, "bold"), (facts, "plain"), (where, "cyan"), (f" {source}", "green")

    def _decision(self, number: int) -> tuple[tuple[str, Style], ...]:
        """Return the line of a decision in a merged graph: each answer and where it leads."""
        answers = [
            f"{link.label}: "
            + ("the end" if link.target == END else plain(name_of(self._trace, link.target)))
            for link in self._links.get(number, [])
        ]
        node = self._trace.nodes[number]
        where = place_text(place_of(self._trace, node.frame))
        return ("? " + plain(node.op), "yellow"), ("; ".join(answers), "bold"), (where, "cyan")


def _turn(loop: Group) -> str:
    """Return what one turn of a loop is called."""
    return "example" if loop.label == "weft.map" else "round"


def _said_alike(turn: str, labels: list[str]) -> list[_Entry | str]:
    if not labels:
        return []
    if len(labels) == 1:
        return [f"{turn} {labels[0]}: the same"]
    return [f"{turn}s {labels[0]} to {labels[-1]}: the same"]


def colored(lines: Iterator[Line]) -> str:
    """Return lines in colour, as rich writes them."""
    from rich.console import Console  # noqa: PLC0415 - optional
    from rich.text import Text  # noqa: PLC0415

    console = Console(soft_wrap=True, highlight=False, force_terminal=True)
    with console.capture() as captured:
        for line in lines:
            text = Text()
            for words, style in line.parts:
                if words:
                    text.append(words + " ", style="" if style == "plain" else style)
            text.rstrip()
            console.print(text)
    return captured.get().rstrip("\n")
