"""Diff: what differs between two graphs, to read and to look at."""

from __future__ import annotations

import html
import sys
from collections.abc import Iterator
from dataclasses import asdict
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, overload

from weft._core import Tensor
from weft.functional.reductions import diff as neighbours
from weft.tracing import Trace
from weft.viewer.api import as_graph
from weft.viewer.differences import (
    KINDS,
    Change,
    ChangeKind,
    Found,
    bytes_text,
    find_changes,
    seconds_text,
)
from weft.viewer.graph import Graph, PathLike
from weft.viewer.notebook import notebook_html
from weft.viewer.page import page_html, page_of, write_text
from weft.viewer.tree import Line, Style, colored
from weft.viewer.words import failure_text, nodes_text, plain

_SHOWN = 12
_HEADINGS: dict[ChangeKind, tuple[str, Style]] = {
    "branch": ("branches", "yellow"),
    "loop": ("loops", "yellow"),
    "only-left": ("only on the left", "red"),
    "only-right": ("only on the right", "green"),
    "shape": ("shapes", "cyan"),
    "bytes": ("bytes", "cyan"),
    "value": ("values", "cyan"),
    "time": ("time", "cyan"),
}


class Diff:
    """Say what differs between two graphs. It is false where nothing but time differs.

    Args:
        left: One graph.
        right: The other.
        tolerance: How far values may differ, in relation to their size, and be the same.

    Example:
        >>> import weft
        >>> from weft.tracing import Node, Trace
        >>> a, b = Trace(nodes=(Node("ones"),)), Trace(nodes=(Node("ones"), Node("exp")))
        >>> difference = weft.diff(a, b)
        >>> [change.kind for change in difference.changes]
        ['only-right']
    """

    def __init__(self, left: Graph, right: Graph, tolerance: float = 1e-6) -> None:
        self.left = left
        self.right = right
        self._found: Found = find_changes(left.trace, right.trace, tolerance)

    @property
    def changes(self) -> tuple[Change, ...]:
        """All differences, the most important first."""
        return self._found.changes

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The nodes that are the same in both, by number."""
        return self._found.pairs

    @cached_property
    def summary(self) -> tuple[str, ...]:
        """A few sentences, the most important first; none if nothing differs."""
        return tuple(_capital(sentence) for sentence in self._sentences())

    def of_kind(self, kind: ChangeKind) -> list[Change]:
        """Return the differences of one kind.

        Args:
            kind: "branch", "loop", "only-left", "only-right", "shape", "bytes", "value" or "time".

        Example:
            >>> import weft
            >>> from weft.tracing import Node, Trace
            >>> a, b = Trace(nodes=(Node("ones"),)), Trace(nodes=(Node("ones"), Node("exp")))
            >>> difference = weft.diff(a, b)
            >>> [change.kind for change in difference.of_kind("only-right")]
            ['only-right']
        """
        return [change for change in self.changes if change.kind == kind]

    def __bool__(self) -> bool:
        only_time = all(change.kind == "time" for change in self.changes)
        return not only_time or self._failures() is not None

    def _failures(self) -> str | None:
        sides = [graph.failure for graph in (self.left, self.right)]
        words = [failure_text(side) if side else "ended well" for side in sides]
        if words[0] == words[1]:
            return None
        said = [f"raised {word}" if side else word for word, side in zip(words, sides, strict=True)]
        return plain(f"the left {said[0]}, the right {said[1]}")

    def _sentences(self) -> Iterator[str]:
        failures = self._failures()
        if failures:
            yield failures
        control: tuple[ChangeKind, ...] = ("branch", "loop")
        for kind in control:
            found = self.of_kind(kind)
            yield from (change.text for change in found[:5])
            if len(found) > 5:
                yield f"{len(found) - 5} more {_HEADINGS[kind][0]} differ"
        counts = [
            sum(len(change.left) for change in self.of_kind("only-left")),
            sum(len(change.right) for change in self.of_kind("only-right")),
        ]
        if any(counts):
            left, right = map(nodes_text, counts)
            yield f"{left} only on the left, {right} only on the right"
        data: tuple[ChangeKind, ...] = ("shape", "value")
        for kind in data:
            found = self.of_kind(kind)
            if found:
                count = sum(max(len(change.left), len(change.right)) for change in found)
                yield f"{kind}s differ at {nodes_text(count)}, first: {found[0].text}"
        sizes = [_bytes(graph.trace) for graph in (self.left, self.right)]
        if sizes[0] != sizes[1]:
            yield (
                f"results take {bytes_text(sizes[0])} on the left and {bytes_text(sizes[1])} on "
                "the right"
            )
        if self.of_kind("time"):
            spent = [seconds_text(graph.trace.seconds) for graph in (self.left, self.right)]
            yield f"the left took {spent[0]}, the right {spent[1]}"

    # ---- to read ---------------------------------------------------------------------------------

    def text(self) -> str:
        """Write the differences as text, without colours.

        Example:
            >>> import weft
            >>> from weft.tracing import Node, Trace
            >>> a, b = Trace(nodes=(Node("ones"),)), Trace(nodes=(Node("ones"), Node("exp")))
            >>> difference = weft.diff(a, b)
            >>> len(difference.text()) > 0
            True
        """
        return "\n".join(str(line) for line in self._lines())

    def _lines(self) -> Iterator[Line]:
        if not self and not self.changes:
            yield Line((("no difference", "plain"),))
            return
        for side, graph in (("left: ", self.left), ("right:", self.right)):
            title = plain(graph.title) or "graph"
            yield Line(((side, "dim"), (title, "bold"), (f"({nodes_text(len(graph))})", "plain")))
        failures = self._failures()
        if failures:
            yield Line(((failures, "red"),))
        for kind in KINDS:
            found = self.of_kind(kind)
            if not found:
                continue
            heading, style = _HEADINGS[kind]
            yield Line(((heading, style),))
            for change in found[:_SHOWN]:
                yield Line((("  -", "dim"), (_said(change), "plain")))
            if len(found) > _SHOWN:
                yield Line((("  -", "dim"), (f"... {len(found) - _SHOWN} more", "dim")))

    def __str__(self) -> str:
        if sys.stdout.isatty() and find_spec("rich"):
            return colored(self._lines())
        return self.text()

    def __repr__(self) -> str:
        return str(self)  # it shows itself where it is the value of a line

    # ---- to look at ------------------------------------------------------------------------------

    def page(self) -> dict[str, Any]:
        """Return what the page shows, as plain data (docs/trace-format.md).

        Example:
            >>> import weft
            >>> from weft.tracing import Node, Trace
            >>> a, b = Trace(nodes=(Node("ones"),)), Trace(nodes=(Node("ones"), Node("exp")))
            >>> difference = weft.diff(a, b)
            >>> len(difference.page()["graphs"])
            2
        """
        difference = {
            "left": 0,
            "right": 1,
            "summary": list(self.summary),
            "pairs": [list(pair) for pair in self.pairs],
            "changes": [
                asdict(change) | {"left": list(change.left), "right": list(change.right)}
                for change in self.changes
            ],
        }
        titles = [plain(graph.title) or "graph" for graph in (self.left, self.right)]
        return page_of(
            [self.left, self.right], " and ".join(dict.fromkeys(titles)), diff=difference
        )

    @overload
    def html(self, path: None = None) -> str: ...
    @overload
    def html(self, path: PathLike) -> Path: ...
    def html(self, path: PathLike | None = None) -> str | Path:
        """Write one HTML file that shows both graphs side by side, and what differs.

        Args:
            path: Where to write it.

        Returns:
            The path, or the text if there is none.

        Example:
            >>> import weft
            >>> import os, tempfile
            >>> from weft.tracing import Node, Trace
            >>> a, b = Trace(nodes=(Node("ones"),)), Trace(nodes=(Node("ones"), Node("exp")))
            >>> difference = weft.diff(a, b)
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     difference.html(os.path.join(folder, "diff.html")).name
            'diff.html'
        """
        text = page_html(self.page())
        return text if path is None else write_text(path, text)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the page with both graphs, or the text without it."""
        text = f"<pre>{html.escape(self.text())}</pre>"
        page = self.page()
        return notebook_html(page, f"difference of {page['title']}", text)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Return the differences in the forms that notebooks choose from."""
        del include, exclude
        return {"text/plain": self.text(), "text/html": self._repr_html_()}


@overload
def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor: ...
@overload
def diff(left: Graph | Trace, right: Graph | Trace, /, *, tolerance: float = 1e-6) -> Diff: ...
def diff(
    input: Any,
    n: Any = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    *,
    tolerance: float = 1e-6,
) -> Any:
    """Compare two graphs; or, of a tensor, return the differences of neighbours, `n` times.

    Of two graphs (of two inputs, two steps, or two versions of a model) it says which branch each
    took, which loops ran a different number of times, which nodes only one has, and where shapes,
    bytes, values and time differ. Lines that moved are found by their text.

    Args:
        input: A graph or trace; or a tensor.
        n: The other graph or trace; of a tensor, how often.
        dim: Of a tensor: along which dimension.
        prepend: Of a tensor: what stands before the first element.
        append: Of a tensor: what stands after the last element.
        tolerance: How far values may differ, in relation to their size, and be the same.

    Returns:
        A `Diff`: print it, or call `.html()`; it is false where nothing differs. Or a tensor.

    Example:
        >>> import weft
        >>> from weft.tracing import Node, Trace
        >>> a, b = Trace(nodes=(Node("ones"),)), Trace(nodes=(Node("ones"), Node("exp")))
        >>> weft.diff(a, b).summary
        ('0 nodes only on the left, 1 node only on the right.',)
        >>> print(weft.diff(a, a))
        no difference
    """
    if isinstance(input, Tensor):
        return neighbours(input, n, dim, prepend, append)
    name = "diff(left, right)"
    return Diff(as_graph(input, name), as_graph(n, name), tolerance)


def _said(change: Change) -> str:
    """Return a change below its heading, which says already on which side it is."""
    text = change.text
    for side in ("only on the left", "only on the right"):
        text = text.removeprefix(side).removeprefix(": ").removeprefix(", ")
    return text


def _bytes(trace: Trace) -> int:
    return sum(result.bytes for node in trace.nodes for result in node.results)


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:] + "."
