"""A graph as a tree of text: ops, shapes, values, gradients and source lines."""

from __future__ import annotations

import linecache
import os
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from weft import _core
from weft._tensor import Tensor
from weft.autograd.graph import get_gradient_edge

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from weft._core import Node

__all__ = ["graph_text", "keep_values", "print_graph"]


class keep_values:  # noqa: N801 - used as a with statement's block
    """Let the nodes recorded inside a block keep their results, and later the gradients of these.

    Without it a graph holds only what backward needs. The tensors live as long as the graph.

    Example:
        >>> import weft, weft.debug
        >>> x = weft.tensor(3.0, requires_grad=True)
        >>> with weft.debug.keep_values():
        ...     y = (x * 2).exp()
        >>> y.grad_fn.next_functions[0][0]._values
        (tensor(6.),)
    """

    def __init__(self) -> None:
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(_core.set_keep_values(True))

    def __exit__(self, *_: object) -> None:
        _core.set_keep_values(self._before.pop())


class _Line(NamedTuple):
    """One node in the tree, in parts that a terminal may colour."""

    branches: str
    title: str
    facts: str
    place: str
    source: str


def graph_text(
    tensor: Tensor,
    *,
    names: Mapping[str, Tensor] | None = None,
    max_nodes: int = 200,
    max_elements: int = 6,
) -> str:
    """Write the graph behind a tensor as a tree, from the result down to the leaves.

    Each line shows a node's name, the shape and dtype of its result, the value and the gradient
    where they are known (of leaves, of tensors with `retain_grad()`, and of what was recorded under
    `keep_values()`), and the line of the program that recorded it. A node that several others use
    is shown once and only named again afterwards.

    Args:
        tensor: Where to start.
        names: Names for tensors of the graph.
        max_nodes: How many nodes to show at most.
        max_elements: How many elements of a value to show at most.

    Returns:
        The text, one node a line.

    Example:
        >>> import weft, weft.debug
        >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
        >>> print(weft.debug.graph_text((x * x).sum(), names={"x": x}))  # doctest: +ELLIPSIS
        SumBackward0 () float32, value 5 ...
        └─ MulBackward0 (2,) float32 ...
           ├─ x (2,) float32, value [1, 2] ...
           └─ x (shown above)
    """
    lines = _lines(tensor, names or {}, max_nodes, max_elements)
    return "\n".join(
        " ".join(part for part in (line.branches + line.title, line.facts, line.place) if part)
        + (f"  {line.source}" if line.source else "")
        for line in lines
    )


def print_graph(
    tensor: Tensor,
    *,
    names: Mapping[str, Tensor] | None = None,
    max_nodes: int = 200,
    max_elements: int = 6,
) -> None:
    """Print the graph behind a tensor as a tree; in colour where rich is installed.

    Args:
        tensor: Where to start.
        names: Names for tensors of the graph.
        max_nodes: How many nodes to show at most.
        max_elements: How many elements of a value to show at most.

    Example:
        >>> import weft, weft.debug
        >>> x = weft.ones(2, requires_grad=True)
        >>> weft.debug.print_graph((x * 2).sum())  # doctest: +ELLIPSIS
        SumBackward0 () float32, value 4 at ...
        └─ MulBackward0 (2,) float32 at ...
           └─ AccumulateGrad (2,) float32, value [1, 1] at ...
    """
    try:
        from rich.console import Console  # noqa: PLC0415 - optional
        from rich.text import Text  # noqa: PLC0415
    except ImportError:
        text = graph_text(tensor, names=names, max_nodes=max_nodes, max_elements=max_elements)
        print(text)  # noqa: T201 - that is what it is for
        return
    console = Console(soft_wrap=True, highlight=False)
    for line in _lines(tensor, names or {}, max_nodes, max_elements):
        text = Text(line.branches, style="dim")
        text.append(line.title, style="bold")
        if line.facts:
            text.append(f" {line.facts}")
        if line.place:
            text.append(f" {line.place}", style="cyan")
        if line.source:
            text.append(f"  {line.source}", style="green")
        console.print(text)


# A node waiting to be shown: which of its outputs is meant, and what stands before it.
_Waiting = tuple["Node", int, str, str]


def _lines(
    tensor: Tensor, names: Mapping[str, Tensor], max_nodes: int, max_elements: int
) -> Iterator[_Line]:
    if not tensor.requires_grad:
        facts = (
            f"{tuple(tensor.shape)} {tensor.dtype.name}, value {_number_text(tensor, max_elements)}"
        )
        yield _Line("", "a tensor without a graph", facts, "", "")
        return
    known = _known(tensor, names)
    root, output = get_gradient_edge(tensor)
    waiting: list[_Waiting] = [(root, output, "", "")]
    shown: set[Node] = set()
    while waiting:
        node, output, branches, indent = waiting.pop()
        title, about = known.get((node, output), ("", None))
        title = title or node.name()
        if node in shown:
            yield _Line(branches, title, "(shown above)", "", "")
            continue
        if len(shown) == max_nodes:
            yield _Line(branches, f"... more than {max_nodes} nodes", "", "", "")
            return
        shown.add(node)
        place, source = _place(node._position)
        yield _Line(branches, title, _facts(node, output, about, max_elements), place, source)
        nexts = [(one, number) for one, number in node.next_functions if one is not None]
        for position, (function, number) in reversed(list(enumerate(nexts))):
            is_last = position == len(nexts) - 1
            branch, below = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
            waiting.append((function, number, indent + branch, indent + below))


def _known(
    tensor: Tensor, names: Mapping[str, Tensor]
) -> dict[tuple[Node, int], tuple[str, Tensor | None]]:
    """Return names and tensors by the place in the graph that they stand for."""
    known: dict[tuple[Node, int], tuple[str, Tensor | None]] = {}
    root = get_gradient_edge(tensor)
    known[root.node, root.output_nr] = ("", tensor)
    for name, named in names.items():
        if named.requires_grad:
            edge = get_gradient_edge(named)
            known[edge.node, edge.output_nr] = (_title(name, named), named)
    return known


def _title(name: str, tensor: Tensor) -> str:
    function = tensor.grad_fn
    return name if function is None else f"{name} = {function.name()}"


def _facts(node: Node, output: int, tensor: Tensor | None, max_elements: int) -> str:
    """Describe one output of a node: shape and dtype, value and gradient where they are known."""
    value, gradient = tensor, None
    if tensor is None and node.name() == "AccumulateGrad":
        value = node.variable
    if value is not None and (value.is_leaf or value.retains_grad):
        gradient = value.grad
    if value is None:
        value = _item(node._values, output)
    if gradient is None:
        gradient = _item(node._gradients, output)
    if value is not None:
        shape, kind = value.shape, value.dtype
    elif node.name() == "AccumulateGrad":
        return "a leaf that is gone"
    else:
        shape, kind = node._outputs[output]
    facts = f"{tuple(shape)} {kind.name}"
    if value is not None:
        facts += f", value {_number_text(value, max_elements)}"
    if gradient is not None:
        facts += f", grad {_number_text(gradient, max_elements)}"
    return facts


def _item(items: tuple[Tensor | None, ...], number: int) -> Tensor | None:
    return items[number] if number < len(items) else None


def _number_text(tensor: Tensor, max_elements: int) -> str:
    """Write a tensor's elements, or some of them, on one line."""
    flat = tensor.detach().reshape(-1)
    if flat.numel() > max_elements:
        few = ", ".join(f"{number:.4g}" for number in flat[: max_elements // 2].tolist())
        return f"[{few}, ... {flat.numel()} in all]"
    return _nested_text(tensor.detach().tolist())


def _nested_text(data: Any) -> str:
    # Six elements at most, so this cannot go deep but for dimensions of size 1.
    if isinstance(data, list):
        return "[" + ", ".join(_nested_text(item) for item in cast("list[Any]", data)) + "]"
    return f"{data:.4g}" if isinstance(data, float) else str(data)


def _place(position: int) -> tuple[str, str]:
    """Return "file:line" and the text of that line."""
    file, line, _ = _core.resolve_position(position)
    if not line:
        return "", ""
    source = linecache.getline(file, line).strip()
    here = os.getcwd() + os.sep  # noqa: PTH109 - pathlib is slow to import
    return f"at {file.removeprefix(here)}:{line}", source
