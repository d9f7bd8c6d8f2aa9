"""See graphs: as a tree, a picture, a page; several in one; the difference of two."""

from weft._missing import explain_missing
from weft.viewer.api import graph, merge
from weft.viewer.diff import Diff, diff
from weft.viewer.differences import Change
from weft.viewer.graph import Graph
from weft.viewer.merging import Link
from weft.viewer.page import PageMissingError, make_page, page_html, page_of
from weft.viewer.words import Decision

__all__ = [
    "Change",
    "Decision",
    "Diff",
    "Graph",
    "Link",
    "PageMissingError",
    "diff",
    "graph",
    "make_page",
    "merge",
    "page_html",
    "page_of",
]

explain_missing(__name__)
