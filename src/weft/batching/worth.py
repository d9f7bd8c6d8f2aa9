"""Whether the batches of a map pay: where they cost more than they save, examples run one by one.

Nothing is timed, so a program decides alike each time that it runs. A map's plans are counted, and
what an op, a batch, a plan and a wait cost on average, and what a byte saves that is read once for
all rows, has been fitted to the models of `benchmarks/cliffs` at several widths and batch sizes.
"""

from __future__ import annotations

from typing import NamedTuple

from weft import _core


class Counts(NamedTuple):
    """What maps have done: in plans, and as tasks of a routine."""

    ops: int
    runs: int
    plans: int
    waits: int
    spared: int  # bytes that are read once for all rows
    copied: int
    kernels: int
    instructions: int
    segments: int
    segment_ops: int

    @classmethod
    def now(cls) -> Counts:
        """Return what this thread has done until now."""
        return cls(*_core.ran_counts(), *_core.routine_counts())

    def since(self, before: Counts) -> Counts:
        """Return what has been done since then."""
        return Counts(*(one - other for one, other in zip(self, before, strict=True)))


class _Costs(NamedTuple):
    """Nanoseconds: what batching costs, and below that what running one by one does."""

    op: float
    run: float
    plan: float
    wait: float
    example: float
    byte_spared: float
    byte_copied: float
    instruction: float
    segment_op: float
    op_alone: float
    run_alone: float
    byte_alone: float
    instruction_alone: float
    example_alone: float
    margin: float  # what must be lost, as a share of the time of running one by one


# With gradients each op is worth a node less, and backward runs in batches, too.
_FIBERS = (
    _Costs(60, 1600, 350, 1200, 2700, -0.008, 0.5, 0, 0, 230, 360, 0.014, 0, 0, 0.25),
    _Costs(-290, 2500, 8000, 1000, 2000, -0.023, 0, 0, 0, 750, 2400, 0.04, 0, 0, 0.15),
)
_TASKS = (
    _Costs(79, 1580, 1880, 1250, 1620, -0.012, 1.4, 17.6, -67, 116, 379, 0.027, 23.5, 587, 0.1),
    _Costs(-149, 3590, -216, 1750, 604, -0.064, 0.6, 18.8, -334, 480, 1620, 0.11, 22, 2600, 0.1),
)


def _loss(costs: _Costs, examples: int, of: Counts) -> float:
    """Return what batching lost, as a share of the time of running one by one."""
    lost = costs.op * of.ops + costs.run * of.runs + costs.plan * of.plans + costs.wait * of.waits
    lost += costs.example * examples + costs.byte_spared * of.spared
    lost += costs.byte_copied * of.copied + costs.instruction * of.instructions
    lost += costs.segment_op * of.segment_ops
    ops = of.ops + of.segment_ops - of.segments  # as they are without segments
    alone = costs.op_alone * ops + costs.run_alone * of.runs + costs.byte_alone * of.spared
    alone += costs.instruction_alone * of.instructions + costs.example_alone * examples
    return lost / max(alone, 1.0)


class Worth:
    """What batching a function's examples came to, with gradients or without.

    Strands are learned in the first maps; later ones, and after a while one more, tell.
    """

    learning = 5  # maps
    shortest, longest = 16, 1024  # spells of maps whose examples run one by one

    def __init__(self) -> None:
        self.batched = 0
        self.spell = self.shortest
        self.left = 0  # of this spell

    def steps_aside(self) -> bool:
        """Tell whether the next map's examples should run one by one."""
        if self.left == 0:
            return False
        self.left -= 1
        return True

    def judge(self, examples: int, done: Counts, *, training: bool) -> None:
        """Look at what the plans of a map had to do."""
        self.batched += 1
        if self.batched < self.learning:
            return
        costs = (_TASKS if done.instructions else _FIBERS)[training]
        if _loss(costs, examples, done) <= costs.margin:
            self.spell = self.shortest
            return
        self.left = self.spell
        self.spell = min(4 * self.spell, self.longest)


# How the examples of the last maps' functions run, by name, as far as it has been decided.
decisions: dict[str, str] = {}
_MOST_DECISIONS = 64


def decide(name: str, how: str) -> None:
    """Note how a function's examples run from here on."""
    decisions.pop(name, None)
    if len(decisions) >= _MOST_DECISIONS:
        del decisions[next(iter(decisions))]
    decisions[name] = how


class Engine:
    """Whether a function's examples run in fibers, or unasked as tasks of its routine.

    The first maps run in fibers, then some as tasks; what each had to do for an example decides.
    """

    fibers, tasks = 4, 3  # maps of each, of which the last one is looked at
    # Nanoseconds: what an op and a batch less save, without gradients and with them, and what an
    # instruction costs beyond Python's. Fitted as above.
    op, run, instruction = 181, (450, 1600), 9.5

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.maps = 0
        self.examples = 0
        self.in_fibers: Counts | None = None
        self.runs_tasks = False

    @property
    def is_decided(self) -> bool:
        """Whether no more maps are tried."""
        return self.maps >= self.fibers + self.tasks

    @property
    def wants_tasks(self) -> bool:
        """Whether the next map should run tasks, for good or to be looked at."""
        return self.runs_tasks if self.is_decided else self.maps >= self.fibers

    def settle(self, why: str) -> None:
        """Let Python run for good."""
        self.maps = self.fibers + self.tasks
        self.runs_tasks = False
        decide(self.name, f"Python runs in fibers, {why}")

    def note(self, examples: int, done: Counts, *, training: bool) -> None:
        """Look at what a map had to do."""
        if self.is_decided:
            return
        if self.in_fibers is not None and not self.examples <= 2 * examples <= 4 * self.examples:
            return  # not alike
        self.maps += 1
        if self.maps == self.fibers:
            self.examples, self.in_fibers = examples, done
        if self.is_decided and self.in_fibers is not None:
            before, share = self.in_fibers, self.examples / max(examples, 1)
            gain = self.op * (before.ops - done.ops * share)
            gain += self.run[training] * (before.runs - done.runs * share)
            gain -= self.instruction * done.instructions * share
            self.runs_tasks = gain > 0
            each = abs(gain) / max(self.examples, 1) / 1000
            how = "as tasks of its routine" if gain > 0 else "Python runs in fibers"
            decide(self.name, f"{how}, which has {each:.1f} us less to do for an example")


class Replays:
    """What replaying a function came to, against running it in fibers.

    A replayed example is one op. What is alike within it, as the leaves of a tree are, runs once
    for each place, where fibers had it in one batch.
    """

    margin = 2.5  # times as many kernels for so many examples lose

    def __init__(self) -> None:
        self.examples = 0  # of the last map in fibers
        self.kernels = 0

    def note_fibers(self, examples: int, done: Counts) -> None:
        """Keep what a map in fibers ran."""
        self.examples, self.kernels = examples, done.kernels

    def lose(self, examples: int, done: Counts) -> bool:
        """Tell whether a replayed map ran more than fibers did for about as many examples."""
        is_alike = self.examples <= 2 * examples <= 4 * self.examples
        return is_alike and done.kernels > self.margin * self.kernels
