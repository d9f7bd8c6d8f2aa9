"""The graph behind tensors that are there already, as a trace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from weft import _core
from weft._core import Tensor
from weft.autograd.graph import get_gradient_edge
from weft.tracing.model import Frame, Input, Node, Read, Result, Statistics, Trace
from weft.tracing.recording import Places, statistics_of
from weft.tracing.sources import collect_sources

if TYPE_CHECKING:
    from weft.tracing.model import ReadKind

_MOST_STEPS_BACK = 8


def of_tensors(
    tensors: Iterable[Tensor], names: Mapping[str, Tensor] | None = None, *, title: str = ""
) -> Trace:
    """Return the graph of gradients behind tensors as a trace.

    It has what the graph keeps: ops, shapes, attributes, lines, and values and gradients of leaves,
    of the tensors themselves, and of what was recorded under `weft.debug.keep_values()`. Times,
    modules and ops that need no gradient are known only to a Recording. The decisions are those
    that Python took while the graph was made, as far back as the last thousand.

    Example:
        >>> import weft, weft.tracing
        >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
        >>> trace = weft.tracing.of_tensors([(x * x).sum()], {"x": x})
        >>> [(node.op, node.name) for node in trace.nodes]
        [('parameter', 'x'), ('mul', ''), ('sum', '')]
    """
    return _Walk(list(tensors), dict(names or {}), title).trace


class _Walk:
    def __init__(self, tensors: list[Tensor], names: dict[str, Tensor], title: str) -> None:
        self._places = Places()
        self._frames: dict[int, int] = {}  # by place
        self._tensors = self._known(tensors, names)
        plain = [tensor for tensor in tensors if not tensor.requires_grad]
        found = self._collect([tensor for tensor in tensors if tensor.requires_grad])
        self._numbers = {node: number for number, node in enumerate(found)}
        nodes = [self._node(node) for node in found]
        nodes += [_constant(tensor) for tensor in plain]
        outputs: list[Input] = []
        for tensor in tensors:
            if tensor.requires_grad:
                edge = get_gradient_edge(tensor)
                outputs.append(Input(self._numbers[edge.node], edge.output_nr))
            else:
                outputs.append(Input(len(found) + len(outputs)))
        reads = self._reads(nodes)
        self.trace = Trace(
            title=title,
            nodes=tuple(nodes),
            outputs=tuple(outputs) if not plain else (),
            reads=reads,
            frames=tuple(Frame(place) for place in self._frames),
            places=tuple(self._places.places),
            sources=collect_sources(self._places.places),
        )

    def _known(
        self, tensors: list[Tensor], names: dict[str, Tensor]
    ) -> dict[tuple[_core.Node, int], tuple[str, Tensor]]:
        """Return names and tensors by the place in the graph that they stand for."""
        known: dict[tuple[_core.Node, int], tuple[str, Tensor]] = {}
        for name, tensor in [*(("", tensor) for tensor in tensors), *names.items()]:
            if tensor.requires_grad:
                edge = get_gradient_edge(tensor)
                known[edge.node, edge.output_nr] = (name, tensor)
        return known

    def _collect(self, tensors: list[Tensor]) -> list[_core.Node]:
        """Return all nodes behind the tensors in the order in which they were made."""
        seen: dict[_core.Node, int] = {}
        waiting = [get_gradient_edge(tensor).node for tensor in tensors]
        while waiting:
            node = waiting.pop()
            if node in seen:
                continue
            seen[node] = node._sequence_nr()
            waiting.extend(below for below, _ in node.next_functions if below is not None)
        return sorted(seen, key=lambda node: seen[node])

    def _frame(self, position: int) -> int:
        place = self._places.number(position)
        if place < 0:
            return -1
        return self._frames.setdefault(place, len(self._frames))

    def _node(self, node: _core.Node) -> Node:
        name, tensor = self._tensors.get((node, 0), ("", None))
        if node.name() == "AccumulateGrad":
            leaf = node.variable
            result = _result(leaf) if leaf is not None else Result((), "float32")  # pyright: ignore[reportUnnecessaryComparison]
            return Node(
                "parameter", "parameter", results=(result,), name=name, sequence=node._sequence_nr()
            )
        results = [
            self._kept(node, output, tuple(shape), dtype.name)
            for output, (shape, dtype) in enumerate(node._outputs)
        ]
        if tensor is not None and results:
            results[0] = _result(tensor, results[0].gradient)
        return Node(
            op=node._op or node.name().removesuffix("Backward"),
            inputs=tuple(
                Input(self._numbers[below], output)
                for below, output in node.next_functions
                if below is not None
            ),
            results=tuple(results),
            attributes=node._attributes,
            frame=self._frame(node._position),
            name=name,
            saved=node._saved_bytes,
            sequence=node._sequence_nr(),
        )

    def _kept(self, node: _core.Node, output: int, shape: tuple[int, ...], dtype: str) -> Result:
        values, gradients = node._values, node._gradients
        value = values[output] if output < len(values) else None
        gradient = gradients[output] if output < len(gradients) else None
        return Result(
            shape,
            dtype,
            value=_statistics(value),
            gradient=_statistics(gradient),
            requires_grad=True,
        )

    def _reads(self, nodes: list[Node]) -> tuple[Read, ...]:
        """Return the decisions that were taken while these nodes were made."""
        made = [node.sequence for node in nodes if node.kind == "op"]
        if not made:
            return ()
        last = max(made)
        reads = [read for read in _core.last_reads(0) if read[3] <= last]
        first = next((i for i, read in enumerate(reads) if read[3] >= min(made)), len(reads))
        # What was asked before the first op belongs to it if it stands above it in its function.
        oldest = next(node for node in nodes if node.kind == "op")
        functions = {(place.file, place.function) for place in self._places.places}
        offset = 1 << 62
        if oldest.frame >= 0:
            offset = self._places.places[list(self._frames)[oldest.frame]].offset
        for _ in range(_MOST_STEPS_BACK):
            if first == 0:
                break
            file, _line, function = _core.resolve_position(reads[first - 1][2])
            before = _core.position_offset(reads[first - 1][2])
            if (file, function) not in functions or before >= offset:
                break
            offset = before
            first -= 1
        return tuple(
            Read(_kind(kind), text, frame=self._frame(position), after=_before(nodes, at))
            for kind, text, position, at in reads[first:]
        )


def _kind(kind: str) -> ReadKind:
    for known in ("bool", "int", "float"):
        if kind == known:
            return known
    return "item"


def _before(nodes: list[Node], sequence: int) -> int:
    return sum(node.kind != "op" or node.sequence < sequence for node in nodes)


def _statistics(tensor: Tensor | None) -> Statistics | None:
    return None if tensor is None else statistics_of(_core.statistics(tensor))


def _result(tensor: Tensor, gradient: Statistics | None = None) -> Result:
    if gradient is None and (tensor.is_leaf or tensor.retains_grad):
        gradient = _statistics(tensor.grad)
    return Result(
        tuple(tensor.shape),
        tensor.dtype.name,
        0,
        _statistics(tensor),
        gradient,
        tensor.requires_grad,
    )


def _constant(tensor: Tensor) -> Node:
    return Node("constant", "constant", results=(_result(tensor),))
