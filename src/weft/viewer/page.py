"""The page: one JSON object by docs/trace-format.md, and one HTML file that holds it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.tracing import Folded, Trace, to_data
from weft.viewer.merging import END, Link

if TYPE_CHECKING:
    from weft.viewer.graph import Graph

VERSION = 1
PLACEHOLDER = '<script type="application/json" id="weft-page">null</script>'


class PageMissingError(FileNotFoundError):
    """The page is built from `viewer/` and is not there.

    Example:
        >>> from weft.viewer import PageMissingError
        >>> issubclass(PageMissingError, Exception)
        True
    """


def page_graph(
    title: str,
    trace: Trace,
    folded: Folded,
    links: Sequence[Link] = (),
    sides: Sequence[Sequence[int]] = (),
) -> dict[str, Any]:
    """Return one graph as the page reads it.

    Args:
        title: What its tab says.
        trace: The trace.
        folded: How it folds.
        links: Of a merged graph: what was recorded because of which answer.
        sides: Of a merged graph: for each node the graphs that have it.
    """
    result: dict[str, Any] = {
        "title": title,
        "trace": to_data(trace),
        "groups": [asdict(group) for group in folded.groups],
        "group_of": list(folded.group_of),
    }
    if links:
        result["links"] = [asdict(link) for link in links if link.target != END]
    if sides:
        result["sides"] = [list(one) for one in sides]
    return result


def make_page(title: str, graphs: Sequence[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Return a page of one or more graphs.

    Args:
        title: The title of the page.
        graphs: What `page_graph` gave.
        **more: Other fields of the page: `diff`, `series`, `live`.

    Example:
        >>> make_page("empty", [])
        {'format': 'weft-page', 'version': 1, 'title': 'empty', 'graphs': []}
    """
    page = {"format": "weft-page", "version": VERSION, "title": title, "graphs": list(graphs)}
    return page | more


def page_of(graphs: Sequence[Graph], title: str = "", **more: Any) -> dict[str, Any]:
    """Return a page of graphs, one tab each.

    Args:
        graphs: The graphs.
        title: The title of the page; that of the first graph if it is left out.
        **more: Other fields of the page: `diff`, `series`, `live`.

    Example:
        >>> import weft
        >>> graph = weft.graph(lambda x: x * 2, weft.ones(2))
        >>> from weft.viewer import page_of
        >>> page_of([graph], title="runs")["title"]
        'runs'
    """
    parts = [
        page_graph(
            graph.title or f"graph {number + 1}",
            graph.trace,
            graph.folded,
            graph.links,
            graph.sides,
        )
        for number, graph in enumerate(graphs)
    ]
    return make_page(title or (graphs[0].title if graphs else "") or "Weft", parts, **more)


def page_html(page: dict[str, Any]) -> str:
    """Return the text of a self-contained file that shows a page.

    Args:
        page: What `page_of` gave.

    Raises:
        PageMissingError: The viewer was not built.

    Example:
        >>> import weft
        >>> graph = weft.graph(lambda x: x * 2, weft.ones(2))
        >>> from weft.viewer import page_html, page_of
        >>> "<html" in page_html(page_of([graph]))
        True
    """
    before, after = page_parts()
    return f"{before}{page_data(page)}{after}"


def page_data(page: dict[str, Any]) -> str:
    """Return a page's data as text that can stand in a script of a document."""
    return json.dumps(page, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def page_parts() -> tuple[str, str]:
    """Return what stands before and behind the data.

    Raises:
        PageMissingError: The viewer was not built.
    """
    before, found, after = template().partition(PLACEHOLDER)
    if not found:
        raise PageMissingError("weft/viewer/page.html has no place for a graph; build it again")
    head, tail = PLACEHOLDER.split("null")
    return before + head, tail + after


def template() -> str:
    """Return the page without a graph.

    Raises:
        PageMissingError: The viewer was not built.
    """
    try:
        return resources.files("weft.viewer").joinpath("page.html").read_text(encoding="utf-8")
    except FileNotFoundError:
        raise PageMissingError(
            "weft/viewer/page.html is missing: build it with `make viewer` in a checkout, or "
            "install Weft again where there is npm; .svg(), .mermaid() and print() work without it"
        ) from None


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write a file at once: a reader sees the old one or the new one, whole.

    Args:
        path: Where.
        text: What.
    """
    target = Path(path)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return target
