"""Time one model in a process of its own: `python -m benchmarks.cliffs.run model step calls clock`.

The modes have modules of their own and take turns call by call, so that other work on the machine
slows all of them alike. Prints one JSON object.
"""

from __future__ import annotations

import gc
import importlib
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks import measure
from benchmarks.cliffs.findings import BY_HAND, EAGER, KNOWN, MODES
from benchmarks.cliffs.model import Model, to_tensors
from benchmarks.cliffs.models import MODELS
from benchmarks.models.common import check_gradients, check_value, copy_weights, gradients

BATCHES = 16
INSTANCES = 5
BETWEEN_CALLS = 30  # of each instance between the first and the last
LAST_CALLS = KNOWN[1]
AGAIN_CALLS = 30
CHECKED_FULLY = 3  # calls, with gradients; values are checked at all of them


@dataclass
class Entrant:
    """One way to run a model: its own module, its batches, and the whole step."""

    module: Any
    batches: list[list[Any]]
    step: Callable[[list[Any]], float]


def training_step(module: Any, mean_loss: Callable[[list[Any]], Any]) -> Any:
    """Return a step with backward."""

    def step(batch: list[Any]) -> float:
        module.zero_grad()
        loss = mean_loss(batch)
        loss.backward()
        return loss.item()

    return step


def forward_step(library: Any, mean_loss: Callable[[list[Any]], Any]) -> Any:
    """Return a step without gradients."""

    def step(batch: list[Any]) -> float:
        with library.no_grad():
            return mean_loss(batch).item()

    return step


def make_entrant(
    library: Any,
    mode: str,
    module: Any,
    mean_loss: Callable[[list[Any]], Any],
    data: list[list[Any]],
    *,
    training: bool,
) -> Entrant:
    step = training_step(module, mean_loss) if training else forward_step(library, mean_loss)
    if mode == "lazy":
        plain = step

        def step(batch: list[Any]) -> float:
            with library.lazy():
                return plain(batch)

    return Entrant(module, [to_tensors(library, batch) for batch in data], step)


def make_entrants(
    weft: Any,
    torch: Any,
    model: Model,
    data: list[list[Any]],
    hidden: int,
    *,
    seed: int = 0,
    training: bool = True,
) -> dict[str, Entrant]:
    """Make a model in each mode, all with the same weights; without `torch` not that by hand."""
    entrants = {}
    for mode in (EAGER, *MODES):
        weft.manual_seed(seed)
        module = model.make(weft, hidden)

        def mean_loss(batch: list[Any], module: Any = module, mode: str = mode) -> Any:
            losses = weft.map(module, batch) if mode == "map" else [module(x) for x in batch]
            return weft.stack(losses).mean()

        entrants[mode] = make_entrant(weft, mode, module, mean_loss, data, training=training)
    if torch is not None and model.by_hand is not None:
        by_hand, module = model.by_hand, model.make(torch, hidden)
        copy_weights(entrants[EAGER].module, module, torch)
        entrants[BY_HAND] = make_entrant(
            torch,
            BY_HAND,
            module,
            lambda batch: by_hand(torch, module, batch),
            data,
            training=training,
        )
    return entrants


class Comparison:
    """Whether all ways of running a model agree, and what was found where they do not."""

    def __init__(self) -> None:
        self.faults: dict[str, str] = {}

    def check(
        self, what: str, entrants: Mapping[str, Entrant], losses: dict[str, float], *, fully: bool
    ) -> None:
        """Compare losses, and fully: gradients and buffers, with eager Weft's."""
        expected = losses[EAGER]
        gradients_expected = gradients(entrants[EAGER].module) if fully else {}
        for mode, loss in losses.items():
            if mode == EAGER or mode in self.faults:
                continue
            try:
                check_value(mode, loss, expected)
                if fully:
                    check_gradients(mode, gradients(entrants[mode].module), gradients_expected)
                    check_buffers(mode, entrants[mode].module, entrants[EAGER].module)
            except AssertionError as error:
                self.faults[mode] = f"{what}: {error}"


def check_buffers(what: str, module: Any, reference: Any) -> None:
    """Raise unless what modules keep besides parameters agrees."""
    for (name, found), (_, expected) in zip(
        module.named_buffers(), reference.named_buffers(), strict=True
    ):
        if not abs(found.numpy() - expected.numpy()).max() <= 1e-4:
            raise AssertionError(f"{what}: the buffer {name} differs")


def call_in_turn(
    what: str,
    entrants: dict[str, Entrant],
    calls: range,
    comparison: Comparison,
    checked_fully: int = CHECKED_FULLY,
) -> dict[str, list[float]]:
    """Call all modes in turn; return the seconds of each call. What raises is left out."""
    seconds: dict[str, list[float]] = {mode: [] for mode in entrants}
    for call in calls:
        losses = {}
        for mode, entrant in entrants.items():
            if mode not in seconds:
                continue
            batch = entrant.batches[call % len(entrant.batches)]
            begin = measure.now()
            try:
                losses[mode] = entrant.step(batch)
            except Exception as error:  # noqa: BLE001 - whatever it is, the report must show it
                comparison.faults[mode] = f"{what}, call {call + 1}: {error!r}"
                del seconds[mode]
                continue
            seconds[mode].append(measure.now() - begin)
        if EAGER in losses:
            fully = call < checked_fully
            comparison.check(f"{what}, call {call + 1}", entrants, losses, fully=fully)
        gc.collect(1)  # what this call left behind
    return seconds


def run(weft: Any, torch: Any, model: Model, step: str, calls: int) -> dict[str, Any]:
    """Measure a model, then four more of its class, then the first one again."""
    data = model.draw_batches(BATCHES, model.batch, model.hidden)
    comparison = Comparison()
    training = step == "training"

    def instance(number: int) -> dict[str, Entrant]:
        return make_entrants(weft, torch, model, data, model.hidden, seed=number, training=training)

    # The first op of its kind takes longer, in whatever mode it is.
    for mode, entrant in instance(0).items():
        if mode not in MODES:
            entrant.step(entrant.batches[0])
    first = instance(0)
    gc.collect()
    gc.freeze()  # what is there already is not looked through between calls
    gc.disable()
    times = {"first": call_in_turn("first model", first, range(calls), comparison)}
    others = [instance(number) for number in range(1, INSTANCES)]
    for number, other in enumerate(others[:-1], 2):
        gc.collect()
        call_in_turn(f"model {number} of its class", other, range(BETWEEN_CALLS), comparison)
    title = f"model {INSTANCES} of its class"
    times["last"] = call_in_turn(title, others[-1], range(LAST_CALLS), comparison)
    again = range(calls, calls + AGAIN_CALLS)
    times["again"] = call_in_turn("first model again", first, again, comparison)
    return {
        "times": {
            which: {mode: [round(s, 7) for s in seconds] for mode, seconds in by_mode.items()}
            for which, by_mode in times.items()
        },
        "faults": comparison.faults,
    }


def main() -> None:
    name, step, calls, clock = sys.argv[1:]
    if clock == "process_time":
        measure.use_cpu_time()
    weft = importlib.import_module("weft")
    libraries = [weft]
    torch = None
    if MODELS[name].by_hand is not None:
        try:
            torch = importlib.import_module("torch")
            libraries.append(torch)
        except ImportError:
            pass
    measure.set_threads(1, *libraries)
    begin = time.perf_counter()
    result = run(weft, torch, MODELS[name], step, int(calls))
    print(json.dumps({**result, "seconds": time.perf_counter() - begin}))


if __name__ == "__main__":
    main()
