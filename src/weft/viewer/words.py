"""Nodes, values and places in words, for terminals and pictures."""

from __future__ import annotations

import os
from dataclasses import dataclass

from weft.tracing import Failure, Input, Node, Place, Read, Result, Statistics, Trace
from weft.tracing.sources import Outline

FEW = 6
TIMES = "\N{MULTIPLICATION SIGN}"


@dataclass(frozen=True, slots=True)
class Decision:
    """What Python read from a tensor, and where.

    Attributes:
        condition: The source text: "if x.sum() > 0"; "" if it is not known.
        value: What was read: "True", "3".
        kind: How: "bool", "int", "item", ...
        file: Where.
        line: Its line, 0 if it is not known.
        function: The function it stands in.
        node: Which node's value, -1 if it came from outside.
        after: How many nodes had been recorded by then.

    Example:
        >>> import weft
        >>> graph = weft.graph(lambda x: bool(x.sum() > 0), weft.ones(2))
        >>> graph.decisions[0].kind, graph.decisions[0].value
        ('bool', 'True')
    """

    condition: str
    value: str
    kind: str
    file: str
    line: int
    function: str
    node: int
    after: int

    def __str__(self) -> str:
        what = self.condition or f"{self.kind}()"
        return f"{what} -> {self.value}" + (f" at line {self.line}" if self.line else "")


def decision_of(trace: Trace, read: Read, outline: Outline) -> Decision:
    """Return a read with its source text."""
    place = place_of(trace, read.frame)
    if place is None:
        return Decision("", read.value, read.kind, "", 0, "", read.node, read.after)
    text = outline.condition(place.file, place.line)
    return Decision(
        text,
        read.value,
        read.kind,
        place.file,
        place.line,
        place.function,
        read.node,
        read.after,
    )


def place_of(trace: Trace, frame: int) -> Place | None:
    """Return the innermost place of a frame, None without one."""
    return trace.places[trace.frames[frame].place] if frame >= 0 else None


def place_text(place: Place | None) -> str:
    """Return "at file:line", the file from the current folder if it is in there."""
    if place is None or not place.line:
        return ""
    here = os.getcwd() + os.sep  # noqa: PTH109 - as a text, not a path
    return f"at {plain(place.file.removeprefix(here))}:{place.line}"


def failure_text(failure: Failure) -> str:
    """Return an exception as one line."""
    message = " ".join(failure.message.split())
    return f"{failure.kind}: {message}" if message else failure.kind


def number_text(number: float) -> str:
    """Return a number shortly: 2, 0.5, 1.234e-05."""
    return f"{number:.4g}"


def statistics_text(statistics: Statistics, shape: tuple[int, ...] = ()) -> str:
    """Return all numbers of a tensor if they are few, else their range.

    Args:
        statistics: What is known of it.
        shape: Its shape.

    Example:
        >>> from weft.tracing import Statistics
        >>> statistics_text(Statistics(100, -1.0, 2.5, nans=3))
        '-1 to 2.5, 3 nan'
    """
    values = statistics.values
    if values is not None and len(values) <= FEW:
        return nested_text([number_text(value) for value in values], shape)
    parts: list[str] = []
    if statistics.minimum is not None and statistics.maximum is not None:
        parts.append(f"{number_text(statistics.minimum)} to {number_text(statistics.maximum)}")
    if statistics.nans:
        parts.append(f"{statistics.nans} nan")
    if statistics.infinities:
        parts.append(f"{statistics.infinities} inf")
    return ", ".join(parts)


def nested_text(words: list[str], shape: tuple[int, ...]) -> str:
    """Return numbers with the brackets that their shape has: [[1, 2], [3, 4]]."""
    count = 1
    for size in shape:
        count *= size
    if count != len(words) or 0 in shape:
        return f"[{', '.join(words)}]"
    for size in reversed(shape):
        words = [
            f"[{', '.join(words[start : start + size])}]" for start in range(0, len(words), size)
        ]
    return ", ".join(words)


def result_text(result: Result) -> str:
    """Return shape and dtype, value and gradient where they are known."""
    text = f"{result.shape} {result.dtype}"
    value = statistics_text(result.value, result.shape) if result.value else ""
    if value:
        text += f", value {value}"
    gradient = statistics_text(result.gradient, result.shape) if result.gradient else ""
    if gradient:
        text += f", grad {gradient}"
    return text


def nodes_text(count: int) -> str:
    """Return how many nodes there are."""
    return "1 node" if count == 1 else f"{count} nodes"


def name_of(trace: Trace, number: int) -> str:
    """Return how a node is called where others use it: its name, or its number."""
    node = trace.nodes[number]
    return node.name or f"#{number}"


def argument_text(trace: Trace, argument: Input) -> str:
    """Return an argument as a call would have it."""
    if argument.node < 0:
        return "?" if argument.number is None else number_text(argument.number)
    text = name_of(trace, argument.node)
    return f"{text}.{argument.output}" if argument.output else text


def call_text(trace: Trace, node: Node) -> str:
    """Return a node as a call: "mul(x, 2)", "sum(#3, dim=1)"."""
    words = [argument_text(trace, one) for one in node.inputs]
    words += [f"{name}={value}" for name, value in node.attributes.items()]
    if len(words) > 8:
        words = [*words[:7], "..."]
    return f"{node.op}({', '.join(words)})"


def plain(text: str) -> str:
    """Return a text on one line, without characters that files and terminals stumble over."""
    text = " ".join(text.split())
    text = "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text
    )
    return text.encode("utf-8", "replace").decode("utf-8")


def shortened(text: str, length: int) -> str:
    """Cut a text that is too long."""
    return text if len(text) <= length else text[: length - 1] + "…"
