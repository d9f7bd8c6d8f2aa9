"""What the model benchmarks share: equal weights, a check before the clock, and a race."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.measure import Row, Settings, Spread, now, set_threads, undisturbed

HIDDEN_SIZES = (64, 128, 256, 512)
BATCH_SIZES = (1, 16, 64, 256)
MAIN_BATCH = 64  # the issue states its bars for this one
MAIN_HIDDEN = 128

# Runs step number i, each with other data, and returns the seconds that count.
Entrant = Callable[[int], float]


@dataclass(frozen=True)
class Size:
    """One cell of the grid of sizes."""

    hidden: int
    batch: int

    def __str__(self) -> str:
        return f"hidden {self.hidden}, batch {self.batch}"


def all_sizes(settings: Settings) -> list[Size]:
    """Every hidden size with every batch size."""
    if settings.quick:
        return [Size(hidden, MAIN_BATCH) for hidden in (64, 256)]
    return [Size(hidden, batch) for hidden in HIDDEN_SIZES for batch in BATCH_SIZES]


def main_sizes(settings: Settings) -> list[Size]:
    """Every hidden size at the main batch size, and every batch size at the main hidden size."""
    if settings.quick:
        return [Size(MAIN_HIDDEN, MAIN_BATCH)]
    sizes = [Size(hidden, MAIN_BATCH) for hidden in HIDDEN_SIZES]
    return sizes + [Size(MAIN_HIDDEN, batch) for batch in BATCH_SIZES if batch != MAIN_BATCH]


def take_batches(examples: Sequence[Any], size: int, most: int = 32) -> list[list[Any]]:
    """Cut examples into batches.

    There are many, so that a plan that was kept for one batch does not serve the next: in
    training, too, the trees of a batch are not seen again before a whole epoch is over.
    """
    count = min(most, len(examples) // size)
    return [list(examples[i * size : (i + 1) * size]) for i in range(count)]


def timed(
    batches: Sequence[Any],
    run: Callable[[Any], object],
    prepare: Callable[[Any], Any] | None = None,
) -> Entrant:
    """Make an entrant: `prepare` has the batch before the clock starts, `run` gets what it made."""

    def step(number: int) -> float:
        data = batches[number % len(batches)]
        if prepare is not None:
            data = prepare(data)
        begin = now()
        run(data)
        return now() - begin

    return step


def race(entrants: Mapping[str, Entrant], settings: Settings) -> dict[str, Spread]:
    """Time entrants in alternating rounds over the same data; slow ones get fewer steps."""
    rounds, steps = (3, 2) if settings.quick else (6, 3)
    samples: dict[str, list[float]] = {name: [] for name in entrants}
    with undisturbed():
        for entrant in entrants.values():
            entrant(0)
        estimates = {name: entrant(1) for name, entrant in entrants.items()}
        for turn in range(rounds):
            for name, entrant in entrants.items():
                if estimates[name] > 0.5 and turn > 1:
                    continue
                if estimates[name] < 0.1:
                    entrant(turn)  # the entrant before has emptied the caches
                repeats = steps if estimates[name] < 0.5 else 1
                if estimates[name] < 0.005:
                    repeats *= 5
                for i in range(repeats):
                    samples[name].append(entrant(2 + turn * steps + i))
    return {name: Spread.of(times) for name, times in samples.items()}


# ---- Equal before fast ---------------------------------------------------------------------------


def plain_names(module: Any) -> dict[str, str]:
    """Return what the reference calls a module's parameters; `plain_name` says if otherwise."""
    rename = getattr(module, "plain_name", str)
    return {name: rename(name) for name, _ in module.named_parameters()}


def copy_weights(source: Any, target: Any, library: Any) -> None:
    """Give Weft's module the weights of PyTorch's, by name."""
    weights = source.state_dict()
    names, order = plain_names(target), getattr(target, "in_plain_order", _as_it_is)
    target.load_state_dict(
        {name: library.tensor(order(name, weights[names[name]].numpy())) for name in names}
    )


def _as_it_is(_: str, array: np.ndarray) -> np.ndarray:
    return array


def gradients(module: Any) -> dict[str, np.ndarray]:
    """Return a module's gradients by the reference's names; what was not reached has zeros."""
    names, order = plain_names(module), getattr(module, "in_plain_order", _as_it_is)
    return {
        names[name]: np.zeros(tuple(parameter.shape), np.float32)
        if parameter.grad is None
        else np.array(order(name, parameter.grad.numpy()))
        for name, parameter in module.named_parameters()
    }


def check_value(what: str, value: float, expected: float) -> None:
    """Raise unless two numbers agree within the reach of float32."""
    if not abs(value - expected) <= 2e-4 * max(1.0, abs(expected)):
        raise AssertionError(f"{what}: the value is {value}, not {expected}")


def check_gradients(
    what: str, found: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]
) -> None:
    """Raise unless gradients agree within the reach of float32."""
    if found.keys() != expected.keys():
        raise AssertionError(f"{what}: gradients of {sorted(found)}, not {sorted(expected)}")
    for name, gradient in found.items():
        scale = float(np.abs(expected[name]).max())
        error = float(np.abs(gradient - expected[name]).max())
        if not error <= 1e-3 * scale + 1e-7:
            raise AssertionError(
                f"{what}: the gradient of {name} is off by {error:.2g}, of at most {scale:.2g}"
            )


def check_training(
    runs: Mapping[str, tuple[Any, Callable[[], Any]]], reference: str
) -> dict[str, float]:
    """Run each model once and compare loss and gradients with the reference's.

    Args:
        runs: by name, the module whose gradients count, and what makes the loss and calls
            backward.
        reference: the name of the run that is right.

    Returns:
        The losses.
    """
    losses, found = {}, {}
    for name, (module, run) in runs.items():
        module.zero_grad()
        losses[name] = float(run())
        found[name] = gradients(module)
    for name in runs:
        check_value(name, losses[name], losses[reference])
        check_gradients(name, found[name], found[reference])
    return losses


# ---- Rows ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Comparison:
    """One line to print of a race: who against whom, and what is asked of it."""

    weft: str
    other: str
    required: float | None = None
    aim: float | None = None
    note: str = ""


def compare(
    title: str,
    times: Mapping[str, Spread],
    comparisons: Iterable[Comparison],
    threads: int | None = None,
) -> list[Row]:
    """Turn the times of a race into rows of the report."""
    return [
        Row(
            f"{title}: {line.weft} / {line.other}",
            times[line.weft],
            times[line.other],
            required=line.required,
            aim=line.aim,
            threads=threads,
            note=line.note,
        )
        for line in comparisons
    ]


Measure = Callable[[Any, Any, Settings, Size, int], list[Row]]


def over_sizes(
    weft: Any,
    torch: Any,
    settings: Settings,
    sizes: Iterable[Size],
    measure: Measure,
    guarded: Callable[[str, Callable[[], list[Row]]], list[Row]],
    name: str,
) -> list[Row]:
    """Measure a model at each size with each number of threads; a failure costs one cell only."""
    rows: list[Row] = []
    for size in sizes:
        for threads in settings.threads:
            set_threads(threads, weft, torch)

            def case(size: Size = size, threads: int = threads) -> list[Row]:
                return measure(weft, torch, settings, size, threads)

            rows += guarded(f"{name}, {size}, threads {threads}", case)
    return rows
