"""See what was recorded: graphs as text, with values, gradients and the lines that made them."""

from __future__ import annotations

from weft.debug.graph import graph_text, keep_values, print_graph

__all__ = ["graph_text", "keep_values", "print_graph"]
