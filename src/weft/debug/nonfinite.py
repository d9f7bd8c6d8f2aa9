"""`find_nan`: where the first number that is not finite came from, forward or backward."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from weft import _core, pytree
from weft._core import Tensor
from weft._reports import Report
from weft.debug.wording import Range, module_of, place_of, place_text, range_of
from weft.tracing import Recording, Statistics
from weft.tracing.recording import argument_names, statistics_of

if TYPE_CHECKING:
    from weft.tracing import BackwardStep, Input, Node, Place, Trace

# What they give is whatever lay in memory; who reads it before writing is at fault.
_UNINITIALISED = ("empty", "empty_like", "new_empty", "empty_strided")
_LONG = 20_000  # nodes, after which a finite past is forgotten
_NOT_FINITE = re.compile(r"\b(inf|nan)\b")

Origin = Literal["op", "gradient", "input", "number", ""]


@dataclass(frozen=True, repr=False)
class NanReport(Report):
    """What `find_nan` found; false if every number was finite.

    Attributes:
        op: The op that made the first number that is not finite; of backward, the op whose gradient
            rule did. Of an input: the op that read it first.
        phase: "forward" or "backward".
        place: The line that recorded the op.
        origin: "op", "gradient", or what was not finite from the start: "input" or "number".
        name: The input's name, where it has one.
        module: The path of the module that the op belongs to.
        example: Of a `weft.map`: which one; -1 outside.
        inputs: What the op read.
        outputs: What it gave.
        gradients: In backward: the gradients that its rule was given.
        note: What else is to be known.
        error: The exception that ended the run, if one did.
        trace: The run up to there.

    Example:
        >>> import weft, weft.debug
        >>> report = weft.debug.find_nan(lambda: weft.tensor([-1.0]).log().sum())
        >>> report.op, report.phase
        ('log', 'forward')
    """

    op: str = ""
    phase: Literal["forward", "backward"] = "forward"
    place: Place | None = None
    origin: Origin = ""
    name: str = ""
    module: str = ""
    example: int = -1
    inputs: tuple[Range, ...] = ()
    outputs: tuple[Range, ...] = ()
    gradients: tuple[Range, ...] = ()
    note: str = ""
    error: BaseException | None = None
    trace: Trace | None = field(default=None, repr=False)

    def __bool__(self) -> bool:
        return self.origin != ""

    def __str__(self) -> str:
        lines = [self._title()]
        if self:
            if self.op:
                lines.append(f"  at {place_text(self.place)}")
            if self.module:
                lines.append(f"  in module {self.module}")
            if self.example >= 0:
                lines.append(f"  for example {self.example} of a map")
            lines.extend(f"  read {one}" for one in self.inputs)
            lines.extend(f"  gave {one}" for one in self.outputs)
            lines.extend(f"  was given the gradient {one}" for one in self.gradients)
        if self.note:
            lines.append(f"  {self.note}")
        if self.error is not None:
            lines.append(f"  The run ended with {type(self.error).__name__}: {self.error}")
        return "\n".join(lines)

    def _title(self) -> str:
        if self.origin == "op":
            return f"{self.op} made the first number that is not finite."
        if self.origin == "gradient":
            return f"The gradient of {self.op} made the first number that is not finite."
        if self.origin == "input" and not self.op:
            return f"{self.name} was not finite, and no op of the function made it."
        if self.origin == "input":
            return f"{self.name or 'An input'} was not finite before {self.op} read it."
        if self.origin == "number":
            return f"{self.op} was given a number that is not finite."
        return "Every number was finite."


def find_nan(
    function: Callable[..., Any], *args: Any, backward: bool = True, **kwargs: Any
) -> NanReport:
    """Run a function and find the op that made the first NaN or infinity.

    Ops run one by one while it does, also in lazy scopes, maps and cells, so that each is seen at
    its line. A NaN that came of an infinity is followed back to where that was made. Infinities
    that were given on purpose (`masked_fill(mask, -inf)`) are not to blame for anything but
    becoming NaN. If nothing is NaN and all gradients are finite, the first op that made an infinity
    is named.

    Args:
        function: What to run: a module, a training step, anything that can be called.
        args: Arguments for it.
        backward: If the function returns one number and has not called `backward` itself, look at
            its gradients as well; so too if that number was computed from gradients
            (`create_graph=True`). They are not added to anybody's `grad`.
        kwargs: Arguments for it.

    Returns:
        A report that is true if something was found, and prints as text.

    Example:
        >>> import weft, weft.debug
        >>> x = weft.tensor([0.0, 4.0], requires_grad=True)
        >>> report = weft.debug.find_nan(lambda: x.sqrt().sum())
        >>> report.op, report.phase, report.inputs[0].value.values
        ('sqrt', 'backward', (0.0, 4.0))
    """
    if not callable(function):
        raise TypeError(
            f"find_nan takes a function to run, not a {type(function).__name__}: pass "
            "`lambda: step(batch)`, so that the ops are seen while they run"
        )
    hunt = _Hunt()
    hunt.call(function, args, kwargs, backward)
    report = _Verdict(hunt.run.trace(), hunt.inputs, hunt.error).report()
    if not report and hunt.returns_nan:
        return replace(report, origin="input", name="A tensor that the function returned")
    return report


class _Hunt:
    """Runs the function, and notes what ops with results that are not finite read."""

    def __init__(self) -> None:
        self.inputs: dict[int, tuple[Range, ...]] = {}
        self.error: Exception | None = None
        self.returns_nan = False  # in a tensor that no op made
        self.run = Recording(
            parts=True, at_once=True, title="find_nan", on_node=self._look, on_event=self._happened
        )

    def call(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        backward: bool,
    ) -> None:
        self.run.name(argument_names(function, args, kwargs))
        self._differentiated = False
        try:
            with self.run:
                result = function(*args, **kwargs)
                self.run.result(result)
                self.returns_nan = any(map(self._is_given_nan, pytree.tree_leaves(result)))
                if backward and (not self._differentiated or self._is_differentiable(result)):
                    self._differentiate(result)
        except Exception as error:  # noqa: BLE001 - it is part of the report
            self.error = error

    def _differentiate(self, result: Any) -> None:
        for loss in pytree.tree_leaves(result):
            if isinstance(loss, Tensor) and loss.requires_grad and loss.numel() == 1:
                _core.run_backward([loss], [None], None, True, False, False)
                return

    def _is_given_nan(self, one: Any) -> bool:
        return (
            isinstance(one, Tensor)
            and self.run.number(one) < 0
            and one.dtype.is_floating_point
            and _has_nan(_range(one).value)
        )

    def _is_differentiable(self, result: Any) -> bool:
        """Tell whether a result was computed from gradients, and has none yet."""
        trace = self.run.trace()
        done = {n for run in trace.backwards for step in run.steps for n in step.nodes}
        leaves = [one for one in pytree.tree_leaves(result) if isinstance(one, Tensor)]
        nodes = [number for one in leaves if (number := self.run.number(one)) not in done]
        seen: set[int] = set()
        while nodes:
            number = nodes.pop()
            if number < 0 or number in seen:
                continue
            seen.add(number)
            if trace.nodes[number].phase == "backward":
                return True
            nodes.extend(read.node for read in trace.nodes[number].inputs)
        return False

    def _happened(self, run: Recording, kind: str) -> None:
        if kind != "backward":
            return
        self._differentiated = True
        # A long run of finite numbers need not be remembered.
        if len(run) > _LONG and not self.inputs and self._is_finite_so_far(run.trace()):
            run.clear()

    def _is_finite_so_far(self, trace: Trace) -> bool:
        ends_outside = not trace.nodes or trace.nodes[-1].module < 0
        return ends_outside and not any(
            _is_bad(value)
            for backward in trace.backwards
            for step in backward.steps
            for value in (*step.incoming, *step.outgoing)
        )

    def _look(self, run: Recording) -> None:
        if all(map(_is_finite, run.outputs)):
            return
        # What it read, as it is now: memory may have been written behind our back.
        self.inputs[len(run) - 1] = tuple(_range(read) for read in run.inputs if read is not None)


def _range(tensor: Tensor) -> Range:
    value = statistics_of(_core.statistics(tensor))
    return Range("", tuple(tensor.shape), tensor.dtype.name, value)


def _is_finite(tensor: Tensor | None) -> bool:
    if tensor is None or not tensor.dtype.is_floating_point:
        return True
    return bool(_core.ops.all(_core.ops.isfinite(tensor)))


def _is_bad(value: Statistics | None) -> bool:
    return value is not None and value.nans + value.infinities > 0


def _has_nan(value: Statistics | None) -> bool:
    return value is not None and value.nans > 0


def _has_infinity(value: Statistics | None) -> bool:
    return value is not None and value.infinities > 0


class _Verdict:
    """Decides, from what was seen, who is to blame."""

    def __init__(
        self,
        trace: Trace,
        inputs: dict[int, tuple[Range, ...]],
        error: Exception | None,
    ) -> None:
        self._trace = trace
        self._inputs = inputs
        self._error = error

    def report(self) -> NanReport:
        # In time: a backward runs after what it differentiates, and before what comes then.
        events: list[tuple[float, int, int, int]] = [
            (node.start, 0, i, 0)
            for i, node in enumerate(self._trace.nodes)
            if node.kind not in {"parameter", "input", "constant"}
        ]
        events += [
            (step.start, 1, i, k)
            for i, backward in enumerate(self._trace.backwards)
            for k, step in enumerate(backward.steps)
        ]
        events.sort()
        # An infinity in forward may be meant; a NaN is not, nor is a gradient without end.
        for _, kind, i, k in events:
            found = (
                self._judge_step(self._trace.backwards[i].steps[k], k)
                if kind
                else self._judge_nan(i)
            )
            if found:
                return found
        for _, kind, i, _ in events:
            found = None if kind else self._judge_infinity(i)
            if found:
                return found
        return NanReport(error=self._error, trace=self._trace)

    # ---- forward -------------------------------------------------------------------------------

    def _reads(self, number: int) -> list[Range]:
        """Return what a node read: as it was then, if that was looked at."""
        node = self._trace.nodes[number]
        reads = [range_of(self._trace, read) for read in node.inputs]
        # An in-place op has written over what it read.
        if number in self._inputs and not node.op.endswith("_"):
            for i, now in enumerate(self._inputs[number][: len(reads)]):
                if node.inputs[i].node >= 0:
                    reads[i] = replace(now, name=reads[i].name)
        return reads

    def _judge_nan(self, number: int) -> NanReport | None:
        node = self._trace.nodes[number]
        if node.op in _UNINITIALISED or not any(_has_nan(out.value) for out in node.results):
            return None
        reads = self._reads(number)
        for read, one in zip(node.inputs, reads, strict=True):
            if _has_nan(one.value):
                return self._given(number, read, one)
        if _is_given_on_purpose(node, "nan"):
            return self._report(number, "number")
        became = f"That became NaN in {node.op} at {place_text(place_of(self._trace, node))}"
        origin = self._origin_of_infinity(number)
        if origin is not None:
            return self._blame(origin, became)
        if given := self._given_infinity(number):
            return given
        is_finite = all(one.is_finite for one in reads)
        return self._blame(number, "" if is_finite else "Infinities that it was given became NaN.")

    def _judge_infinity(self, number: int) -> NanReport | None:
        node = self._trace.nodes[number]
        if node.op in _UNINITIALISED or not any(_has_infinity(out.value) for out in node.results):
            return None
        if _is_given_on_purpose(node):
            return None
        if all(one.is_finite for one in self._reads(number)):
            return self._blame(number)
        if given := self._given_infinity(number):
            return given
        leaf = self._infinite_leaf(number)
        is_result = any(output.node == number for output in self._trace.outputs)
        return self._given(number, *leaf) if leaf and is_result else None

    def _given(self, number: int, read: Input, one: Range) -> NanReport:
        """Report a value that came from outside, or was written unseen."""
        if read.node < 0:
            return self._report(number, "number")
        source = self._trace.nodes[read.node]
        note = ""
        if not _is_bad(source.results[read.output].value):
            note = (
                "It was finite at first, and has been written since, as an optimizer's step does."
            )
        names = {"parameter": "A parameter", "input": "", "constant": ""}
        name = one.name or names.get(source.kind, f"A result of {source.op}")
        return self._report(number, "input", name=name, note=note)

    def _given_infinity(self, number: int) -> NanReport | None:
        """Report an infinity that nobody can have meant: of a parameter, or written unseen."""
        reads = self._trace.nodes[number].inputs
        for read, one in zip(reads, self._reads(number), strict=True):
            if read.node < 0 or one.is_finite:
                continue
            source = self._trace.nodes[read.node]
            if source.kind == "parameter" or not _is_bad(source.results[read.output].value):
                return self._given(number, read, one)
        return None

    def _infinite_leaf(self, number: int) -> tuple[Input, Range] | None:
        for i in self._ancestors_with_infinity(number):
            for read in self._trace.nodes[i].inputs:
                one = range_of(self._trace, read)
                is_leaf = read.node >= 0 and self._trace.nodes[read.node].kind not in {"op", "cell"}
                if is_leaf and _has_infinity(one.value):
                    return read, one
        return None

    def _ancestors_with_infinity(self, number: int) -> Iterator[int]:
        """Go from a node through what it read that was infinite, to where that began."""
        waiting, seen = [number], {number}
        while waiting:
            current = waiting.pop()
            yield current
            node = self._trace.nodes[current]
            for read, one in zip(node.inputs, self._reads(current), strict=True):
                if read.node >= 0 and read.node not in seen and not one.is_finite:
                    seen.add(read.node)
                    waiting.append(read.node)

    def _origin_of_infinity(self, number: int) -> int | None:
        """Return the first op that made an infinity of finite numbers, on the way to a node."""
        makers = [
            i
            for i in self._ancestors_with_infinity(number)
            if self._trace.nodes[i].kind in {"op", "cell"}
            and i != number
            and not _is_given_on_purpose(self._trace.nodes[i])
            and self._trace.nodes[i].op not in _UNINITIALISED
            and all(one.is_finite for one in self._reads(i))
            and any(_has_infinity(out.value) for out in self._trace.nodes[i].results)
        ]
        return min(makers, default=None)

    def _blame(self, number: int, note: str = "") -> NanReport:
        return self._report(number, "op", note=note)

    def _report(self, number: int, origin: Origin, *, name: str = "", note: str = "") -> NanReport:
        node = self._trace.nodes[number]
        return NanReport(
            op=node.op,
            phase=node.phase,
            place=place_of(self._trace, node),
            origin=origin,
            name=name,
            module=module_of(self._trace, node),
            example=node.example,
            inputs=tuple(self._reads(number)),
            outputs=tuple(Range("", out.shape, out.dtype, out.value) for out in node.results),
            note=note,
            error=self._error,
            trace=self._trace,
        )

    # ---- backward ------------------------------------------------------------------------------

    def _judge_step(self, step: BackwardStep, position: int) -> NanReport | None:
        if any(map(_is_bad, step.incoming)):
            # Each gradient on the way here was finite, so their sum is not; or it was given.
            note = (
                "The gradient that backward was given was not finite."
                if position == 0
                else "The gradients that arrive at its result are finite, but their sum is not."
            )
            return self._rule_report(step, note)
        return self._blame_rule(step) if any(map(_is_bad, step.outgoing)) else None

    def _blame_rule(self, step: BackwardStep) -> NanReport:
        """Report a gradient rule, or the op of forward whose infinity it read."""
        for forward in step.nodes:
            origin = self._made_infinite(forward)
            if origin is not None:
                note = f"The gradient of {self._op_of(step)} is not finite for it."
                return self._blame(origin, note)
        return self._rule_report(step)

    def _made_infinite(self, number: int) -> int | None:
        """Return the op that made the infinity which a node of forward read or gave."""
        node = self._trace.nodes[number]
        reads = self._reads(number)
        if any(not one.is_finite for one in reads):
            return self._origin_of_infinity(number)
        makes = any(_has_infinity(out.value) for out in node.results)
        return number if makes and not _is_given_on_purpose(node) else None

    def _op_of(self, step: BackwardStep) -> str:
        name = step.name.removesuffix("0").removesuffix("Backward")
        return self._trace.nodes[step.nodes[0]].op if step.nodes else name

    def _rule_report(self, step: BackwardStep, note: str = "") -> NanReport:
        gradients = tuple(Range("", (), "", value) for value in step.incoming if value is not None)
        if not step.nodes:
            return NanReport(
                op=self._op_of(step),
                phase="backward",
                origin="gradient",
                gradients=gradients,
                note=note or "What it differentiates was computed before the run.",
                error=self._error,
                trace=self._trace,
            )
        number = step.nodes[0]
        report = self._report(number, "gradient", note=note)
        node = self._trace.nodes[number]
        op = (node.name or "a parameter") if node.kind == "parameter" else report.op
        return replace(report, op=op, phase="backward", gradients=gradients)


def _is_given_on_purpose(node: Node, what: str = "inf") -> bool:
    """Whether one of the op's plain arguments is not finite: `masked_fill(mask, -inf)`."""
    for read in node.inputs:
        number = read.number
        if number is not None and number - number != 0:
            return (number != number) == (what == "nan")  # noqa: PLR0124 - so NaN is known
    return any(what in _NOT_FINITE.findall(text) for text in node.attributes.values())
