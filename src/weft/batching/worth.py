"""Whether the batches of a map pay: where they cost more than they save, examples run one by one.

Nothing is timed, so a program decides alike each time that it runs. A map's plans are counted, and
what an op, a batch, a plan and a wait cost on average, and what a byte saves that is read once for
all rows, has been fitted to the models of `benchmarks/cliffs` at several widths and batch sizes.
"""

from __future__ import annotations

from typing import NamedTuple

from weft import _core


class _Costs(NamedTuple):
    """Nanoseconds: what batching costs, and below that what running one by one does."""

    op: float
    run: float
    plan: float
    wait: float
    example: float
    byte_spared: float
    byte_copied: float
    op_alone: float
    run_alone: float
    byte_alone: float
    margin: float  # what must be lost, as a share of the time of running one by one


# With gradients each op is worth a node less, and backward runs in batches, too.
_TRAINING = _Costs(-290, 2500, 8000, 1000, 2000, -0.023, 0, 750, 2400, 0.04, 0.15)
_FORWARD = _Costs(60, 1600, 350, 1200, 2700, -0.008, 0.5, 230, 360, 0.014, 0.25)


def _loss(costs: _Costs, examples: int, counts: tuple[int, ...]) -> float:
    """Return what batching lost, as a share of the time of running one by one."""
    ops, runs, plans, waits, spared, copied, _ = counts
    lost = costs.op * ops + costs.run * runs + costs.plan * plans + costs.wait * waits
    lost += costs.example * examples + costs.byte_spared * spared + costs.byte_copied * copied
    alone = costs.op_alone * ops + costs.run_alone * runs + costs.byte_alone * spared
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

    def judge(self, examples: int, before: tuple[int, ...], *, training: bool) -> None:
        """Look at what the plans of a map had to do since these counts."""
        self.batched += 1
        if self.batched < self.learning:
            return
        now = _core.ran_counts()
        counts = tuple(one - other for one, other in zip(now, before, strict=True))
        costs = _TRAINING if training else _FORWARD
        if _loss(costs, examples, counts) <= costs.margin:
            self.spell = self.shortest
            return
        self.left = self.spell
        self.spell = min(4 * self.spell, self.longest)


class Replays:
    """What replaying a function came to, against running it in fibers.

    A replayed example is one op. What is alike within it, as the leaves of a tree are, runs once
    for each place, where fibers had it in one batch.
    """

    margin = 2.5  # times as many kernels for so many examples lose

    def __init__(self) -> None:
        self.examples = 0  # of the last map in fibers
        self.kernels = 0

    def note_fibers(self, examples: int, before: tuple[int, ...]) -> None:
        """Keep what a map in fibers ran since these counts."""
        self.examples, self.kernels = examples, _core.ran_counts()[-1] - before[-1]

    def lose(self, examples: int, before: tuple[int, ...]) -> bool:
        """Tell whether a replayed map ran more than fibers did for about as many examples."""
        is_alike = self.examples <= 2 * examples <= 4 * self.examples
        kernels = _core.ran_counts()[-1] - before[-1]
        return is_alike and kernels > self.margin * self.kernels
