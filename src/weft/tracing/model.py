"""What a run did, as plain data: ops, shapes, decisions, source lines.

Everything that shows or explains a run reads this and nothing else. A trace can be written to JSON
and read back (docs/trace-format.md); `VERSION` counts changes of the format.
Things refer to each other by their place in the trace's tuples.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

VERSION = 1
# The offset of the place from which the recorded function was called.
ENTRY = -1

NodeKind = Literal["op", "cell", "parameter", "input", "constant", "decision"]
ReadKind = Literal["bool", "int", "float", "item", "list", "numpy", "text"]


@dataclass(frozen=True, slots=True)
class Place:
    """A point in the user's program. `offset` tells points of one line apart.

    It is `ENTRY` where the program called what was recorded: the ops of a built-in module that was
    given to `weft.graph` are recorded there.

    Example:
        >>> from weft import tracing
        >>> tracing.Place("model.py", 12, "forward").line
        12
    """

    file: str
    line: int
    function: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Frame:
    """A chain of calls: a place, and the frame that called it (-1: none).

    Example:
        >>> from weft import tracing
        >>> tracing.Frame(place=0).caller  # nobody called it
        -1
    """

    place: int
    caller: int = -1


@dataclass(frozen=True, slots=True)
class ModuleCall:
    """One call of a module. `path` is its name from the outermost module down: "encoder.0".

    Example:
        >>> from weft import tracing
        >>> tracing.ModuleCall("encoder.0", "Linear").kind
        'Linear'
    """

    path: str
    kind: str
    parent: int = -1
    frame: int = -1


@dataclass(frozen=True, slots=True)
class Statistics:
    """Facts about the numbers of a tensor.

    `minimum` to `deviation` are of the finite ones, None if there are none. `histogram` counts the
    finite numbers in equal steps from minimum to maximum. `values` are all of them, in order, if
    they are few.

    Example:
        >>> from weft import tracing
        >>> tracing.Statistics(4, minimum=0.0, maximum=1.5, nans=1).nans
        1
    """

    count: int
    minimum: float | None = None
    maximum: float | None = None
    mean: float | None = None
    deviation: float | None = None
    nans: int = 0
    infinities: int = 0
    zeros: int = 0
    histogram: tuple[int, ...] = ()
    values: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """One result of a node.

    Attributes:
        shape: Its sizes.
        dtype: Its type of elements.
        bytes: What it added to memory: 0 for a view.
        value: Facts about its numbers.
        gradient: Facts about the gradient that arrived at it.
        requires_grad: Whether gradients flow through it.

    Example:
        >>> import weft
        >>> from weft import tracing
        >>> trace = tracing.record(lambda: weft.ones(2) * 3).trace()
        >>> trace.nodes[-1].results[0].shape
        (2,)
    """

    shape: tuple[int, ...]
    dtype: str
    bytes: int = 0
    value: Statistics | None = None
    gradient: Statistics | None = None
    requires_grad: bool = False


@dataclass(frozen=True, slots=True)
class Input:
    """What a node read: result `output` of node `node`, or a plain number (`node` is -1).

    Example:
        >>> import weft
        >>> from weft import tracing
        >>> trace = tracing.record(lambda: weft.ones(2) * 3).trace()
        >>> trace.nodes[-1].inputs[1].number
        3.0
    """

    node: int = -1
    output: int = 0
    number: float | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """One op applied once, a leaf (a parameter, an input), or a cell.

    Attributes:
        op: "mul", "linear", a cell's name; "parameter", "input" or "constant" for leaves.
        kind: What it is.
        inputs: What it read.
        results: What it gave.
        attributes: The other arguments, as text.
        frame: Where in the program; -1 where it is not known.
        module: The call of a module that it belongs to, -1 outside of modules.
        start: When it was recorded, in seconds since the trace began.
        seconds: How long it ran; of a batch, its share.
        example: Of a `weft.map`: which one; -1 outside.
        name: A parameter's or input's name ("encoder.weight", "x").
        saved: Bytes kept for backward that no node before it keeps.
        sequence: The creation number of its node in the graph of gradients, 0 without one.
        phase: "backward" if it was recorded while gradients were computed.

    Example:
        >>> import weft
        >>> from weft import tracing
        >>> trace = tracing.record(lambda: weft.ones(2) * 3).trace()
        >>> [node.op for node in trace.nodes]
        ['ones', 'mul']
    """

    op: str
    kind: NodeKind = "op"
    inputs: tuple[Input, ...] = ()
    results: tuple[Result, ...] = ()
    attributes: dict[str, str] = field(default_factory=dict[str, str])
    frame: int = -1
    module: int = -1
    start: float = 0.0
    seconds: float = 0.0
    example: int = -1
    name: str = ""
    saved: int = 0
    sequence: int = 0
    phase: Literal["forward", "backward"] = "forward"


@dataclass(frozen=True, slots=True)
class Read:
    """Python read a value: `if x.sum() > 0` is a read of kind "bool" that gave "True".

    `after` is how many nodes had been recorded by then; `node` is -1 if the value came from
    outside.

    Example:
        >>> import weft
        >>> from weft import tracing
        >>> trace = tracing.record(lambda: bool(weft.ones(1).sum() > 0)).trace()
        >>> trace.reads[0].kind, trace.reads[0].value
        ('bool', 'True')
    """

    kind: ReadKind
    value: str
    node: int = -1
    output: int = 0
    frame: int = -1
    module: int = -1
    after: int = 0
    example: int = -1


@dataclass(frozen=True, slots=True)
class Batch:
    """Nodes that ran together: one row for each of `nodes`.

    Example:
        >>> import weft
        >>> from weft import tracing
        >>> with tracing.Recording() as run, weft.lazy():
        ...     y = (weft.ones(2) * 3).tolist()
        >>> run.trace().plans[0].batches[-1].op
        'mul'
    """

    op: str
    nodes: tuple[int, ...]
    bytes_copied: int = 0
    seconds: float = 0.0
    start: float = 0.0
    place: int = -1
    note: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What ran when a value was needed in lazy mode.

    Example:
        >>> import weft
        >>> from weft import tracing
        >>> with tracing.Recording() as run, weft.lazy():
        ...     y = (weft.ones(2) * 3).tolist()
        >>> len(run.trace().plans)
        1
    """

    batches: tuple[Batch, ...]
    seconds: float = 0.0
    seconds_planning: float = 0.0
    start: float = 0.0
    place: int = -1


@dataclass(frozen=True, slots=True)
class BackwardStep:
    """The gradient rule of one or, in a batch, several nodes.

    `name` is that of `grad_fn`, `sequence` its creation number.

    Example:
        >>> import weft
        >>> from weft import tracing
        >>> x = weft.ones(2, requires_grad=True)
        >>> with tracing.Recording() as run:
        ...     (x * 3).sum().backward()
        >>> [step.name for step in run.trace().backwards[0].steps]
        ['SumBackward0', 'MulBackward0', 'AccumulateGrad']
    """

    name: str
    nodes: tuple[int, ...]
    seconds: float = 0.0
    start: float = 0.0
    rows: int = 1
    incoming: tuple[Statistics | None, ...] = ()
    outgoing: tuple[Statistics | None, ...] = ()
    sequence: int = 0


@dataclass(frozen=True, slots=True)
class Backward:
    """One call of backward or grad, its steps in the order in which they ran.

    Example:
        >>> import weft
        >>> from weft import tracing
        >>> x = weft.ones(2, requires_grad=True)
        >>> with tracing.Recording() as run:
        ...     (x * 3).sum().backward()
        >>> len(run.trace().backwards)
        1
    """

    steps: tuple[BackwardStep, ...]
    seconds: float = 0.0
    start: float = 0.0
    place: int = -1


@dataclass(frozen=True, slots=True)
class Failure:
    """The exception that ended the run.

    Example:
        >>> import weft
        >>> from weft import tracing
        >>> run = tracing.record(lambda: weft.ones(2) @ weft.ones(3))
        >>> run.trace().failure.kind
        'ShapeError'
    """

    kind: str
    message: str
    frame: int = -1
    after: int = 0


@dataclass(frozen=True, slots=True)
class Trace:
    """A run. `sources` has the lines around every place: {file: {line: text}}.

    Example:
        >>> import weft
        >>> from weft import tracing
        >>> trace = tracing.record(lambda: weft.ones(2) * 3).trace()
        >>> len(trace.nodes), trace.failure
        (2, None)
    """

    title: str = ""
    places: tuple[Place, ...] = ()
    frames: tuple[Frame, ...] = ()
    modules: tuple[ModuleCall, ...] = ()
    nodes: tuple[Node, ...] = ()
    outputs: tuple[Input, ...] = ()
    reads: tuple[Read, ...] = ()
    plans: tuple[Plan, ...] = ()
    backwards: tuple[Backward, ...] = ()
    failure: Failure | None = None
    sources: dict[str, dict[int, str]] = field(default_factory=dict[str, dict[int, str]])
    seconds: float = 0.0
    version: int = VERSION
