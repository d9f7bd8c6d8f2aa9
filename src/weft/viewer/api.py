"""`weft.graph` and `weft.merge`."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import iscoroutinefunction, isgeneratorfunction
from typing import Any, cast

from weft._core import Tensor
from weft.tracing import Trace
from weft.viewer.graph import Graph
from weft.viewer.merging import merge_traces
from weft.viewer.recording import record_call, trace_tensors


def graph(x: Any, *args: Any, **kwargs: Any) -> Graph:
    """Show the graph behind a tensor, or of a call: nodes, values, source lines and decisions.

    A tensor's graph is what its gradients need. To see everything that a function does, give the
    function and its arguments: it is called under the recorder. A function that raises does not
    raise here: the graph shows what was recorded until then, and `failure` and `exception` hold
    what went wrong.

    Args:
        x: A tensor, a list or tuple of tensors, a module or function, a trace or a graph.
        *args: The arguments of the module or function.
        **kwargs: Its arguments by name.

    Returns:
        A `Graph`: print it, or call `.html()`, `.svg()`, `.mermaid()`, `.dot()`, `.json()`.

    Example:
        >>> import weft
        >>> from weft.tracing import Node, Trace
        >>> len(weft.graph(Trace(nodes=(Node("ones"),))))
        1
    """
    if isinstance(x, Graph | Trace):
        _no_arguments(x, args, kwargs)
        return x if isinstance(x, Graph) else Graph(x)
    tensors = _tensors(x)
    if tensors:
        _no_arguments(tensors, args, kwargs)
        return Graph(trace_tensors(tensors))
    if callable(x):
        if isgeneratorfunction(x) or iscoroutinefunction(x):
            raise TypeError(
                f"graph(x, *args): {title_of(x)} is a generator or async function, whose body does "
                "not run when it is called; give a function that runs it, such as "
                "`lambda: list(x(...))`"
            )
        trace, exception = record_call(x, args, kwargs, title_of(x))
        return Graph(trace, exception=exception)
    raise TypeError(
        "graph(x): x must be a tensor, a list of tensors, a function, module, trace or graph, "
        f"and is {type(x).__name__}"
    )


def _tensors(x: Any) -> list[Tensor]:
    """Return a tensor or several as a list, an empty one if it is something else."""
    given: list[Any] = list(cast("list[Any]", x)) if isinstance(x, list | tuple) else [x]
    return given if all(isinstance(one, Tensor) for one in given) else []


def _no_arguments(x: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if args or kwargs:
        raise TypeError(
            f"graph(x, *args): arguments are for functions and modules; x is {type(x).__name__}"
        )


def title_of(function: Any) -> str:
    """Return a name for a function or module."""
    name = getattr(function, "__name__", None) or type(function).__name__
    return name if isinstance(name, str) else type(function).__name__


def as_graph(value: Any, name: str) -> Graph:
    """Return a graph or a trace as a graph, anything else as an error that names the function."""
    if isinstance(value, Graph):
        if value.sides:
            raise ValueError(f"{name}: a merged graph cannot be taken apart again; give its parts")
        return value
    if isinstance(value, Trace):
        return Graph(value)
    raise TypeError(f"{name}: takes graphs (weft.graph) or traces, and got {type(value).__name__}")


def merge(graphs: Iterable[Graph | Trace], title: str = "") -> Graph:
    """Merge the graphs of several inputs into one that has both sides of each decision.

    Nodes that were recorded at the same place in the same turn are one. What Python read becomes a
    node of kind "decision", and links say what was recorded because of which answer: "True" and
    "False", "again" and "done" for the test of a loop. `sides` has for each node the graphs that
    have it.

    Args:
        graphs: Graphs or traces of one program.
        title: The title; that of the first graph if it is left out.

    Example:
        >>> import weft
        >>> from weft.tracing import Node, Trace
        >>> a, b = Trace(nodes=(Node("ones"),)), Trace(nodes=(Node("ones"), Node("exp")))
        >>> weft.merge([a, b]).sides
        ((0, 1), (1,))
    """
    given = [as_graph(one, "merge(graphs)") for one in graphs]
    if not given:
        raise ValueError("merge(graphs): needs at least one graph")
    merged = merge_traces([one.trace for one in given], title)
    return Graph(merged.trace, links=merged.links, sides=merged.sides, folded=merged.folded)
