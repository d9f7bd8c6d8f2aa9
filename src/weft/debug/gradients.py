"""`why_no_grad`: why a tensor gets no gradient from a loss, and the line that is to blame."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from weft import _core, pytree
from weft._core import Tensor
from weft._reports import Report
from weft.autograd.graph import get_gradient_edge, walk
from weft.debug.wording import line_text, place_at, place_of, place_text
from weft.tracing import Recording

if TYPE_CHECKING:
    from types import FrameType

    from weft._core import Node
    from weft.tracing import BackwardStep, Place, Read, Statistics, Trace
    from weft.tracing import Node as TraceNode

Kind = Literal[
    "",
    "not-required",
    "no-graph",
    "cut",
    "unused",
    "replaced",
    "later",
    "not-a-leaf",
    "none",
    "zero",
]

_CUTS = {
    "detach": "detach() (or .data) cut the graph",
    "no_grad": "an op ran under no_grad()",
    "integer": "a result has an integer or bool dtype, which has no gradient",
    "not_differentiable": "an op has no gradient",
    "leaf": "a new leaf begins there",
}
_ADVICE = {
    "detach": "Leave the detach() out where the gradient is wanted.",
    "no_grad": "Move it out of the no_grad() block.",
    "integer": "Use a form that is differentiable: softmax instead of argmax, weights instead of a "
    "comparison.",
    "not_differentiable": "Use an op that has a gradient.",
}
_READ_AS = {
    "item": "item()",
    "float": "float()",
    "int": "int()",
    "bool": "bool()",
    "list": "tolist()",
    "numpy": "numpy()",
    "text": "printing",
}


@dataclass(frozen=True, repr=False)
class NoGradient(Report):
    """Why a tensor gets no gradient; false if it does get one.

    Attributes:
        reason: One sentence.
        place: The line that is to blame, if there is one.
        kind: "not-required", "no-graph", "cut", "unused", "replaced", "later", "not-a-leaf",
            "none" (a function returned None for it), "zero", or "" if it does get a gradient.
        advice: What can be done.
        op: Of a cut: the op that is the first without a gradient.

    Example:
        >>> import weft, weft.debug
        >>> x = weft.ones(2, requires_grad=True)
        >>> report = weft.debug.why_no_grad((x.detach() * 2).sum(), x)
        >>> bool(report), report.kind
        (True, 'no-graph')
    """

    reason: str
    place: Place | None = None
    kind: Kind = ""
    advice: str = ""
    op: str = ""

    def __bool__(self) -> bool:
        return self.kind != ""

    def __str__(self) -> str:
        parts = [self.reason]
        if self.place is not None:
            parts.append(f"At {place_text(self.place)}")
        if self.advice:
            parts.append(self.advice)
        return "\n".join(parts)


def why_no_grad(loss: Tensor | Callable[[], Any], p: Tensor) -> NoGradient:
    """Tell why a tensor gets no gradient from a loss.

    Given a loss, it reads the graph: whether `p` is in it, which other leaves are, where paths end.
    Given a function that computes the loss, it runs it while watching every op, and names the very
    op at which the way from `p` to the loss was cut: that is exact where a graph alone can only
    guess, because a graph does not hold what needs no gradient.

    Args:
        loss: What is differentiated, or a function that takes nothing and computes it.
        p: The tensor that gets no gradient.

    Returns:
        An answer that is false if `p` does get a gradient, and prints as a short paragraph.

    Raises:
        TypeError: If they are something else.

    Example:
        >>> import weft, weft.debug
        >>> w = weft.ones(2, requires_grad=True)
        >>> def loss():
        ...     h = (w * 2).detach()
        ...     return (h * h).sum()
        >>> answer = weft.debug.why_no_grad(loss, w)
        >>> answer.reason
        'On the way from w to the loss, detach() (or .data) cut the graph.'
        >>> answer.place.function
        'loss'
    """
    given: Any = p
    if not isinstance(given, Tensor):
        raise TypeError(f"why_no_grad: p must be a tensor, not a {type(given).__name__}")
    frame = inspect.currentframe()
    name = _name_of(p, frame and frame.f_back) or "the tensor"
    del frame  # this function's own: the variable would keep it and its arguments alive
    if isinstance(loss, Tensor):
        return _of_graph(loss, p, name)
    if callable(loss):
        return _of_run(loss, p, name)
    raise TypeError(
        "why_no_grad: loss must be a tensor, or a function that computes it, not a "
        f"{type(loss).__name__}"
    )


def _name_of(tensor: Tensor, frame: FrameType | None) -> str:
    """Return the name of the caller's variable."""
    if frame is None:
        return ""
    is_function = frame.f_locals is not frame.f_globals
    variables = {**frame.f_globals, **frame.f_locals}
    names = [name for name, value in variables.items() if value is tensor]
    if is_function and frame.f_trace is None and sys.version_info < (3, 13):
        frame.f_locals.clear()  # a copy, which would keep everything alive
    return names[0] if names else ""


def _gets_one() -> NoGradient:
    return NoGradient("It does get a gradient.")


def _without_need(p: Tensor, name: str) -> NoGradient | None:
    """Answer if the tensor itself can have no gradient."""
    if p.requires_grad:
        return None
    if not p.dtype.is_floating_point:
        reason = f"{name} has the dtype {p.dtype.name}: only floating-point tensors have gradients."
        return NoGradient(reason, kind="not-required", advice=f"Make it with {name}.float().")
    cut, position = p._cut
    if cut:
        return NoGradient(
            f"{name} does not require grad: {_CUTS[cut]} when it was made.",
            place_at(position),
            "not-required",
            _ADVICE.get(cut, ""),
        )
    advice = f"Call {name}.requires_grad_() before it is used."
    return NoGradient(f"{name} does not require grad.", kind="not-required", advice=advice)


# ---- what the graph says -------------------------------------------------------------------------


def _of_graph(loss: Tensor, p: Tensor, name: str) -> NoGradient:
    answer = _without_need(p, name)
    if answer:
        return answer
    if not loss.requires_grad:
        return _no_graph(loss)
    nodes = list(walk(loss))
    edge = get_gradient_edge(p)
    if edge.node in nodes:
        return _on_the_way(loss, p, name)
    return _not_an_ancestor(p, name, nodes, edge.node)


def _no_graph(loss: Tensor) -> NoGradient:
    cut, position = loss._cut
    if cut:
        return NoGradient(
            f"The loss has no graph: {_CUTS[cut]}.",
            place_at(position),
            "no-graph",
            _ADVICE.get(cut, ""),
        )
    numbers = [read for read in _core.last_reads(0) if read[0] != "bool"]
    if numbers:
        kind, _, position, _ = numbers[-1]
        return NoGradient(
            "The loss has no graph: nothing it was computed from requires grad. Numbers carry no "
            f"graph, and a tensor was last read as a number by {_READ_AS.get(kind, kind)}.",
            place_at(position),
            "no-graph",
            "Compute with the tensor itself.",
        )
    reason = "The loss has no graph: nothing it was computed from requires grad."
    return NoGradient(reason, kind="no-graph", advice="Was it computed from the parameters?")


def _not_an_ancestor(p: Tensor, name: str, nodes: list[Node], own: Node) -> NoGradient:
    made = place_at(own._position)
    if not p.is_leaf:
        return NoGradient(
            f"{name} is not a leaf but the result of an op, and the loss was not computed from it.",
            made,
            "not-a-leaf",
            "If it replaced a parameter (p = p - ...), change the parameter in place under "
            "no_grad(), so that it stays the same tensor.",
        )
    last = max(node._sequence_nr() for node in nodes)
    if own._sequence_nr() > last:
        return NoGradient(
            f"{name} began to require grad only after the loss had been computed.",
            made,
            "later",
            "Call requires_grad_() before the tensor is used, or compute the loss again.",
        )
    other = _replacement(p, nodes)
    if other is not None:
        return NoGradient(
            f"The loss was computed from another tensor, not from {name}, which was made at "
            f"{line_text(made)}.",
            place_at(get_gradient_edge(other).node._position),
            "replaced",
            "One seems to be made from the other: change a parameter in place under no_grad(), so "
            "that it stays the same tensor.",
        )
    cuts = _cuts_near(nodes)
    if cuts:
        cut, place = cuts[0]
        return NoGradient(
            f"The loss was not computed from {name} by any way that gradients can go. On a way to "
            f"the loss, {_CUTS[cut]}.",
            place,
            "cut",
            "why_no_grad(function, p) tells whether that is the way from there.",
        )
    return NoGradient(
        f"The loss was not computed from {name}.",
        None,
        "unused",
        "Is it used in this branch at all? why_no_grad(function, p) tells more.",
    )


def _replacement(p: Tensor, nodes: list[Node]) -> Tensor | None:
    """Return a leaf of the graph that seems to be a copy of another one, or its successor."""
    for node in nodes:
        other: Any = node.variable if node.name() == "AccumulateGrad" else None
        if other is None or other.shape != p.shape or other.dtype != p.dtype:
            continue
        if other._cut[0] or bool(_core.ops.all(other.detach() == p.detach())):
            return other
    return None


def _cuts_near(nodes: list[Node]) -> list[tuple[str, Place | None]]:
    """Return where paths into the graph were cut, as far as saved tensors know."""
    found: dict[tuple[str, int], None] = {}
    for node in nodes:
        if node.name() == "AccumulateGrad":
            continue
        try:
            saved = node._saved_tensors
        except RuntimeError:
            continue
        for tensor in saved:
            if isinstance(tensor, Tensor) and tensor._cut[0]:  # pyright: ignore[reportUnnecessaryIsInstance]
                found[tensor._cut] = None
    return [(cut, place_at(position)) for cut, position in found]


# ---- the gradient itself -------------------------------------------------------------------------


def _on_the_way(loss: Tensor, p: Tensor, name: str) -> NoGradient:
    """Answer for a tensor that is in the graph: whether its gradient is None, zero, or not kept."""
    run = Recording()
    try:
        seed = loss.detach().new_ones(loss.shape)
        with run:
            (gradient,) = _core.run_backward([loss], [seed], [p], True, False, False)
    except RuntimeError:  # a backward has freed the graph
        return _gets_one() if p.grad is not None else _unknown(name)
    steps = run.trace().backwards[0].steps
    if gradient is None:
        return _none(loss, steps, name)
    if not p.is_leaf and not p.retains_grad:
        return NoGradient(
            f"{name} is the result of an op: gradients flow through it, but only leaves keep them.",
            place_at(p._position),
            "not-a-leaf",
            f"Call {name}.retain_grad() before backward, or use weft.autograd.grad.",
        )
    if bool(_core.ops.any(gradient != 0)):
        return _gets_one()
    return _zero(loss, steps, name)


def _unknown(name: str) -> NoGradient:
    reason = f"{name} is in the loss's graph, but a backward has freed that already."
    advice = "Was the gradient set to None since (zero_grad)? Ask before backward."
    return NoGradient(reason, kind="none", advice=advice)


def _node_of(loss: Tensor, step: BackwardStep) -> Node | None:
    return next((node for node in walk(loss) if node._sequence_nr() == step.sequence), None)


def _op_name(step: BackwardStep, node: Node | None) -> str:
    name = node._op if node is not None else None
    return name or step.name.removesuffix("0").removesuffix("Backward")


def _none(loss: Tensor, steps: tuple[BackwardStep, ...], name: str) -> NoGradient:
    # Only rules on the way ran, and none came after the one that gave nothing.
    step = steps[-1]
    node = _node_of(loss, step)
    return NoGradient(
        f"The backward of {_op_name(step, node)} returned None on the way to {name}.",
        place_at(node._position) if node is not None else None,
        "none",
        "Let the backward of the autograd.Function return a gradient for that argument.",
        _op_name(step, node),
    )


def _zero(loss: Tensor, steps: tuple[BackwardStep, ...], name: str) -> NoGradient:
    """Name the rule that made zeros of a gradient that was not zero."""
    advice = (
        "A step (round, sign, floor), a relu that is off everywhere, a saturated sigmoid, or a "
        "factor of zero has no slope."
    )
    for step in steps:
        outgoing = [value for value in step.outgoing if value is not None]
        if any(map(_is_all_zero, step.incoming)) or not outgoing:
            continue
        if all(map(_is_all_zero, outgoing)):
            node = _node_of(loss, step)
            return NoGradient(
                f"{name} gets a gradient, but it is exactly zero: {_op_name(step, node)} has no "
                "slope there.",
                place_at(node._position) if node is not None else None,
                "zero",
                advice,
                _op_name(step, node),
            )
    reason = f"{name} gets a gradient, but it is exactly zero."
    return NoGradient(reason, kind="zero", advice=advice)


def _is_all_zero(value: Statistics | None) -> bool:
    return value is not None and value.zeros == value.count


# ---- what a run says -----------------------------------------------------------------------------


def _of_run(function: Callable[[], Any], p: Tensor, name: str) -> NoGradient:
    answer = _without_need(p, name)
    cuts: dict[int, tuple[str, int]] = {}

    def look(run: Recording) -> None:
        for output in run.outputs:
            if output is not None and output._cut[0]:
                cuts[len(run) - 1] = output._cut

    run = Recording(values=False, parts=True, at_once=True, on_node=look)
    with run:
        result = function()
    losses = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, Tensor)]
    if len(losses) != 1:
        raise TypeError(
            f"why_no_grad: the function must return the loss, one tensor, not {result!r}"
        )
    if answer and not p.requires_grad:
        return answer
    loss = losses[0]
    if loss.requires_grad and get_gradient_edge(p).node in set(walk(loss)):
        return _on_the_way(loss, p, name)
    ways = _Ways(run.trace(), run.number(p), run.number(loss), cuts, name)
    return ways.answer() or _of_graph(loss, p, name)


class _Ways:
    """The ways that data took from a tensor, in a run."""

    def __init__(
        self, trace: Trace, start: int, end: int, cuts: dict[int, tuple[str, int]], name: str
    ) -> None:
        self._trace = trace
        self._start = start
        self._end = end
        self._cuts = cuts
        self._name = name
        # Nodes come after what they read: one pass finds everything that was made of the tensor.
        self._made = {start} if start >= 0 else set[int]()
        self._carry = set(self._made)  # and gradients still flow through
        for i, node in enumerate(trace.nodes):
            if not any(read.node in self._made for read in node.inputs):
                continue
            self._made.add(i)
            carries = any(read.node in self._carry for read in node.inputs)
            if carries and any(result.requires_grad for result in node.results):
                self._carry.add(i)

    def answer(self) -> NoGradient | None:
        if self._start < 0:
            return NoGradient(
                f"The function never used {self._name}.",
                None,
                "unused",
                "Is it another tensor with the same values, or was a branch not taken?",
            )
        if self._end in self._made:
            return self._cut()
        return (
            self._written_aside()
            or self._read_as_number()
            or self._first_cut(self._made)
            or self._unused()
        )

    def _cut(self) -> NoGradient | None:
        """Name the first node on the way to the end through which no gradient flows."""
        return self._first_cut(self._leading_to(self._end) & self._made)

    def _first_cut(self, among: set[int]) -> NoGradient | None:
        for i in sorted(among):
            node = self._trace.nodes[i]
            if i in self._carry or not any(read.node in self._carry for read in node.inputs):
                continue
            cut = self._cuts.get(i, ("not_differentiable", 0))[0]
            return NoGradient(
                f"On the way from {self._name} to the loss, {_CUTS[cut]}.",
                place_of(self._trace, node),
                "cut",
                _ADVICE.get(cut, ""),
                node.op,
            )
        return None

    def _leading_to(self, end: int) -> set[int]:
        seen, waiting = {end}, [end]
        while waiting:
            for read in self._trace.nodes[waiting.pop()].inputs:
                if read.node >= 0 and read.node not in seen:
                    seen.add(read.node)
                    waiting.append(read.node)
        return seen

    def _written_aside(self) -> NoGradient | None:
        """Answer if the values went into another tensor through its `.data`."""
        for i in sorted(self._made):
            node = self._trace.nodes[i]
            if not node.op.endswith("_") or not node.inputs or node.inputs[0].node < 0:
                continue
            target = self._trace.nodes[node.inputs[0].node]
            if target.op == "detach":
                return NoGradient(
                    f"What was made of {self._name} was written into another tensor's .data (or "
                    "detach()), which the graph does not see.",
                    place_of(self._trace, node),
                    "cut",
                    "Write into the tensor itself.",
                    node.op,
                )
        return None

    def _read_as_number(self) -> NoGradient | None:
        reads = [read for read in self._trace.reads if read.node in self._made]
        for read in sorted(reads, key=_likelihood):
            return NoGradient(
                f"What was made of {self._name} was read as plain numbers by "
                f"{_READ_AS.get(read.kind, read.kind)}: numbers carry no graph.",
                self._place_of_read(read),
                "cut",
                "Compute with the tensor itself.",
                read.kind,
            )
        return None

    def _place_of_read(self, read: Read) -> Place | None:
        if read.frame < 0:
            return None
        place = self._trace.frames[read.frame].place
        return self._trace.places[place] if place >= 0 else None

    def _unused(self) -> NoGradient:
        last: TraceNode = self._trace.nodes[max(self._made)]
        place = place_of(self._trace, last)
        used = f"{last.op} is the last op that used it" if place else "no op used it"
        return NoGradient(
            f"The loss was not computed from {self._name}: {used}, and its result went nowhere.",
            place,
            "unused",
            "Was its branch not taken, or its result overwritten?",
        )


def _likelihood(read: Read) -> int:
    return 1 if read.kind == "bool" else 0
