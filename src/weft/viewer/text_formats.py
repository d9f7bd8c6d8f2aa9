"""Pictures as text that other tools draw: Mermaid and DOT."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from weft.viewer.picture import Box, Edge, Picture

_MERMAID_SHAPES = {
    "op": ("[", "]"),
    "cell": ("[[", "]]"),
    "group": ("[[", "]]"),
    "input": ("([", "])"),
    "output": ("([", "])"),
    "decision": ("{", "}"),
    "failure": ("[/", "/]"),
}
_DOT_SHAPES = {
    "op": 'shape=box, style="rounded"',
    "cell": 'shape=box, style="rounded,bold"',
    "group": 'shape=box, style="rounded,bold"',
    "input": "shape=ellipse",
    "output": "shape=ellipse",
    "decision": "shape=diamond",
    "failure": 'shape=box, style="bold", color="#b3261e"',
}
# Everything else of ASCII becomes an entity: Mermaid gives meaning to most of it somewhere.
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,()+-=*/:_!?")


@dataclass(frozen=True, slots=True)
class Writer:
    """How a language writes a box, and the beginning and end of a frame."""

    box: Callable[[int, Box], str]
    opened: Callable[[int, str], str]
    closed: str


def mermaid(picture: Picture) -> str:
    """Write a picture as a Mermaid flowchart."""
    lines = ["flowchart TD"]
    for depth, text in _nested(picture, Writer(_mermaid_box, _mermaid_open, "end")):
        lines.append("    " * (depth + 1) + text)
    lines += ["    " + _mermaid_edge(edge) for edge in picture.edges]
    return "\n".join(lines) + "\n"


def mermaid_text(text: str) -> str:
    """Return a text as Mermaid has it inside quotes, whatever it contains.

    Args:
        text: Any text.

    Example:
        >>> mermaid_text('a "b" [c] %% end')
        'a #34;b#34; #91;c#93; #37;#37; end'
    """
    text = " ".join(text.split())
    letters = [
        letter if letter in _SAFE or (ord(letter) > 127 and letter.isprintable()) else _code(letter)
        for letter in text
    ]
    return "".join(letters) or " "


def _code(letter: str) -> str:
    return f"#{ord(letter)};" if letter.isprintable() else "\N{REPLACEMENT CHARACTER}"


def _mermaid_box(number: int, box: Box) -> str:
    left, right = _MERMAID_SHAPES[box.kind]
    text = "<br/>".join(mermaid_text(line) for line in (box.title, *box.notes))
    return f'n{number}{left}"{text}"{right}'


def _mermaid_open(number: int, label: str) -> str:
    return f'subgraph g{number}["{mermaid_text(label)}"]'


def _mermaid_edge(edge: Edge) -> str:
    arrow = "-.->" if edge.is_back and edge.kind == "data" else "-->"
    label = f'|"{mermaid_text(edge.label)}"|' if edge.label else ""
    return f"n{edge.source} {arrow}{label} n{edge.target}"


def dot(picture: Picture) -> str:
    """Write a picture in Graphviz' language."""
    lines = [
        "digraph weft {",
        f'  label="{dot_text(picture.title)}"; labelloc=t;',
        '  node [fontname="Helvetica", fontsize=11]; edge [fontname="Helvetica", fontsize=10];',
    ]
    for depth, text in _nested(picture, Writer(_dot_box, _dot_open, "}")):
        lines.append("  " * (depth + 1) + text)
    for edge in picture.edges:
        facts = [f'label="{dot_text(edge.label)}"'] if edge.label else []
        facts += ['style="dashed"'] if edge.kind == "control" or edge.is_back else []
        facts += ["constraint=false"] if edge.is_back else []
        lines.append(f"  n{edge.source} -> n{edge.target} [{', '.join(facts)}];")
    return "\n".join([*lines, "}"]) + "\n"


def dot_text(text: str) -> str:
    r"""Return a text as DOT has it inside quotes.

    Args:
        text: Any text.

    Example:
        >>> dot_text('a "b"')
        'a \\"b\\"'
    """
    return " ".join(text.split()).replace("\\", "\\\\").replace('"', '\\"')


def _dot_box(number: int, box: Box) -> str:
    text = "\\n".join(dot_text(line) for line in (box.title, *box.notes))
    return f'n{number} [label="{text}", {_DOT_SHAPES[box.kind]}];'


def _dot_open(number: int, label: str) -> str:
    return f'subgraph cluster_{number} {{ label="{dot_text(label)}"; style="rounded"; color="gray";'


def _nested(picture: Picture, write: Writer) -> Iterator[tuple[int, str]]:
    """Yield depth and text of all boxes, inside of their frames."""
    boxes: dict[int, list[int]] = {}
    for number, one in enumerate(picture.boxes):
        boxes.setdefault(one.group, []).append(number)
    inside: dict[int, list[int]] = {}
    for number, cluster in enumerate(picture.clusters):
        inside.setdefault(cluster.parent, []).append(number)
    waiting: list[tuple[int, int, bool]] = [(-1, -1, True)]
    while waiting:
        number, depth, begins = waiting.pop()
        if not begins:
            yield depth, write.closed
            continue
        if number >= 0:
            yield depth, write.opened(number, picture.clusters[number].label)
            waiting.append((number, depth, False))
        for one in boxes.get(number, []):
            yield depth + 1, write.box(one, picture.boxes[one])
        waiting.extend((one, depth + 1, True) for one in reversed(inside.get(number, [])))
