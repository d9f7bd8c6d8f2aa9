"""What the models without a required ratio share: a race of Weft against whoever is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.measure import Row, Settings
from benchmarks.models.common import Comparison, check_training, compare, race, timed

Run = Callable[[Any], Any]


def training_step(library: Any, model: Any, losses: Run) -> Run:
    """Return a step: the examples' losses, their mean, backward."""

    def step(batch: Any) -> Any:
        model.zero_grad()
        loss = library.stack(losses(batch)).mean()
        loss.backward()
        return loss.item()

    return step


def race_training(
    title: str,
    weft: dict[str, tuple[Any, Run]],
    torch: dict[str, tuple[Any, Run]],
    batches: Sequence[Any],
    settings: Settings,
    threads: int,
) -> list[Row]:
    """Check and time training steps; each of Weft's is compared with each of PyTorch's.

    Args:
        title: what the rows are called.
        weft: by name, the module and the step.
        torch: the same of PyTorch; the first one is right.
        batches: what the steps take.
        settings: how long to measure.
        threads: for the report.
    """
    entrants = weft | torch
    runs = {
        name: (module, lambda step=step: step(batches[0]))
        for name, (module, step) in entrants.items()
    }
    check_training(runs, next(iter(torch)))
    times = race({name: timed(batches, step) for name, (_, step) in entrants.items()}, settings)
    lines = [Comparison(ours, theirs) for ours in weft for theirs in torch]
    return compare(title, times, lines, threads)
