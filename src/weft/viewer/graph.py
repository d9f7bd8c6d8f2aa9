"""Graph: what a run recorded, to look at."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, overload

from weft.tracing import Failure, Folded, Node, Trace, fold, to_json
from weft.tracing.sources import Outline
from weft.viewer import svg, text_formats
from weft.viewer.merging import Link, Merged, merge_traces
from weft.viewer.notebook import notebook_html
from weft.viewer.page import page_html, page_of, write_text
from weft.viewer.picture import Picture, make_picture
from weft.viewer.tree import Line, colored, tree_lines
from weft.viewer.words import Decision, decision_of, failure_text, nodes_text

PathLike = str | os.PathLike[str]


class Graph:
    """Show what a run recorded: its nodes, the decisions Python took, and how they fold.

    `weft.graph` makes one. It prints as a tree, shows itself in a notebook, and writes itself as a
    page, a picture or text. It holds plain data and no tensors.

    Args:
        trace: What was recorded.
        links: Of merged graphs: from decisions to what was recorded because of the answer.
        sides: Of merged graphs: for each node the graphs that have it.
        folded: How the nodes fold, if it is known.
        exception: What the function raised.

    Example:
        >>> from weft.tracing import Node, Result, Trace
        >>> print(
        ...     Graph(Trace(title="run", nodes=(Node("ones", results=(Result((2,), "int64"),)),)))
        ... )
        run 1 node
        └─ #0 = ones() (2,) int64
    """

    def __init__(
        self,
        trace: Trace,
        *,
        links: Sequence[Link] = (),
        sides: Sequence[tuple[int, ...]] = (),
        folded: Folded | None = None,
        exception: BaseException | None = None,
    ) -> None:
        self.trace = trace
        self.links = tuple(links)
        self.sides = tuple(sides)
        self.exception = exception
        self._folded = folded

    # ---- what is in it ---------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """What was run."""
        return self.trace.title

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes, in the order in which they were recorded."""
        return self.trace.nodes

    @property
    def failure(self) -> Failure | None:
        """The exception that ended the run, as plain data; None if it ended well."""
        return self.trace.failure

    @cached_property
    def folded(self) -> Folded:
        """How the nodes fold: by module, function, loop and round."""
        return self._folded or fold(self.trace)

    @cached_property
    def decisions(self) -> tuple[Decision, ...]:
        """What Python read from tensors, in order: `if x.sum() > 0` -> True at line 12.

        Reads that only print are left out.
        """
        outline = Outline(self.trace.sources)
        reads = sorted(self.trace.reads, key=lambda read: read.after)
        return tuple(
            decision_of(self.trace, read, outline) for read in reads if read.kind != "text"
        )

    def __len__(self) -> int:
        return len(self.trace.nodes)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.trace.nodes)

    def __bool__(self) -> bool:
        return True

    # ---- in a terminal and a notebook ------------------------------------------------------------

    def text(self, max_lines: int = 200) -> str:
        """Write the graph as a tree, without colours.

        Args:
            max_lines: How many lines at most.

        Example:
            >>> import weft
            >>> graph = weft.graph(lambda x: x * 2, weft.ones(2))
            >>> "mul" in graph.text()
            True
        """
        return "\n".join(str(line) for line in self._lines(max_lines))

    def _lines(self, max_lines: int) -> Iterator[Line]:
        return tree_lines(self.trace, self.folded, self.links, max_lines)

    def __str__(self) -> str:
        if sys.stdout.isatty() and find_spec("rich"):
            return colored(self._lines(200))
        return self.text()

    def __repr__(self) -> str:
        title = f" of {self.title}" if self.title else ""
        failed = f", {failure_text(self.failure)}" if self.failure else ""
        return f"<Graph{title}: {nodes_text(len(self))}, {len(self.decisions)} decisions{failed}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the page in a sandbox, or a picture without it.

        The page's code is in one output of a notebook; the others need it and show a picture until
        it is there.
        """
        return notebook_html(self.page(), self.title or "graph", self.svg())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Return the graph in the forms that notebooks choose from."""
        del include, exclude
        return {"text/plain": self.text(), "text/html": self._repr_html_()}

    # ---- files -----------------------------------------------------------------------------------

    @cached_property
    def _merged(self) -> Merged:
        """The graph with its decisions as nodes."""
        if self.sides:
            return Merged(self.trace, self.folded, self.links, self.sides)
        return merge_traces([self.trace])

    def _picture(self, max_boxes: int) -> Picture:
        return make_picture(self._merged, max_boxes)

    def page(self) -> dict[str, Any]:
        """Return what the page shows, as plain data (docs/trace-format.md).

        Example:
            >>> import weft
            >>> graph = weft.graph(lambda x: x * 2, weft.ones(2))
            >>> graph.page()["format"]
            'weft-page'
        """
        return page_of([self])

    @overload
    def html(self, path: None = None) -> str: ...
    @overload
    def html(self, path: PathLike) -> Path: ...
    def html(self, path: PathLike | None = None) -> str | Path:
        """Write one HTML file that shows the graph; it needs nothing else and no network.

        Args:
            path: Where to write it.

        Returns:
            The path, or the text if there is none.

        Example:
            >>> import weft
            >>> import os, tempfile
            >>> graph = weft.graph(lambda x: x * 2, weft.ones(2))
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     graph.html(os.path.join(folder, "graph.html")).name
            'graph.html'
        """
        return _given(path, page_html(self.page()))

    @overload
    def svg(self, path: None = None, *, max_boxes: int = 80) -> str: ...
    @overload
    def svg(self, path: PathLike, *, max_boxes: int = 80) -> Path: ...
    def svg(self, path: PathLike | None = None, *, max_boxes: int = 80) -> str | Path:
        """Draw the graph: loops rolled up, decisions as diamonds, light or dark as the reader is.

        Args:
            path: Where to write it.
            max_boxes: How many boxes at most; inner groups become boxes if there are more.

        Returns:
            The path, or the text if there is none.

        Example:
            >>> import weft
            >>> graph = weft.graph(lambda x: x * 2, weft.ones(2))
            >>> graph.svg()[:4]
            '<svg'
        """
        return _given(path, svg.svg(self._picture(max_boxes)))

    @overload
    def dot(self, path: None = None, *, max_boxes: int = 200) -> str: ...
    @overload
    def dot(self, path: PathLike, *, max_boxes: int = 200) -> Path: ...
    def dot(self, path: PathLike | None = None, *, max_boxes: int = 200) -> str | Path:
        """Write the graph in Graphviz' language.

        Args:
            path: Where to write it.
            max_boxes: How many boxes at most; inner groups become boxes if there are more.

        Returns:
            The path, or the text if there is none.

        Example:
            >>> import weft
            >>> graph = weft.graph(lambda x: x * 2, weft.ones(2))
            >>> graph.dot().splitlines()[0]
            'digraph weft {'
        """
        return _given(path, text_formats.dot(self._picture(max_boxes)))

    @overload
    def mermaid(self, path: None = None, *, max_boxes: int = 200) -> str: ...
    @overload
    def mermaid(self, path: PathLike, *, max_boxes: int = 200) -> Path: ...
    def mermaid(self, path: PathLike | None = None, *, max_boxes: int = 200) -> str | Path:
        """Write the graph as a Mermaid flowchart.

        Args:
            path: Where to write it.
            max_boxes: How many boxes at most; inner groups become boxes if there are more.

        Returns:
            The path, or the text if there is none.

        Example:
            >>> import weft
            >>> graph = weft.graph(lambda x: x * 2, weft.ones(2))
            >>> graph.mermaid().splitlines()[0]
            'flowchart TD'
        """
        return _given(path, text_formats.mermaid(self._picture(max_boxes)))

    @overload
    def json(self, path: None = None) -> str: ...
    @overload
    def json(self, path: PathLike) -> Path: ...
    def json(self, path: PathLike | None = None) -> str | Path:
        """Write the trace as JSON; `weft.tracing.from_json` reads it back.

        Args:
            path: Where to write it.

        Returns:
            The path, or the text if there is none.

        Example:
            >>> import weft
            >>> graph = weft.graph(lambda x: x * 2, weft.ones(2))
            >>> weft.tracing.from_json(graph.json()).nodes[-1].op
            'mul'
        """
        return _given(path, to_json(self.trace))


def _given(path: PathLike | None, text: str) -> str | Path:
    return text if path is None else write_text(path, text)
