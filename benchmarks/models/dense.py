"""Models with nothing to batch: what `weft.lazy()` costs there, and where fusion gains."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

import numpy as np

from benchmarks.measure import Row, Settings, set_threads, take_turns
from benchmarks.models.common import check_value

FLOATS = 4 << 20
CHAIN_LENGTH = 10
# The issue states how much slower lazy may be; a row states the inverse, as other rows do.
DENSE_BAR = 1 / 1.1
SMALL_BAR = 1 / 2
FUSED_BAR = 3.0
EAGER = "against eager Weft"


def mlp_step(weft: Any, *, lazy: bool) -> Callable[[], float]:
    """A training step of an MLP, 512 wide, at batch 128: no kernel takes under 10 us."""
    nn = weft.nn
    weft.manual_seed(0)
    layers = [nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 512)]
    model = nn.Sequential(*layers)
    generator = np.random.default_rng(0)
    inputs = weft.tensor(generator.standard_normal((128, 512), dtype=np.float32))
    labels = weft.tensor(generator.integers(0, 512, 128))

    def step() -> float:
        model.zero_grad()
        with weft.lazy(lazy):
            loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        return loss.item()

    return step


def chain_step(weft: Any, *, lazy: bool) -> Callable[[], float]:
    """Ten times (mul, tanh) on 8 floats, sum, backward."""
    x = weft.linspace(-1.0, 1.0, 8).requires_grad_()
    y = weft.linspace(0.5, 1.5, 8)

    def step() -> float:
        x.grad = None
        with weft.lazy(lazy):
            h = x
            for _ in range(CHAIN_LENGTH):
                h = (h * y).tanh()
            loss = h.sum()
        loss.backward()
        return loss.item()

    return step


def five_ops_step(library: Any, *, lazy: bool = False) -> Callable[[], float]:
    """Five element-wise ops over 4M floats, and one number of the result."""
    generator = np.random.default_rng(0)
    x, y = (library.tensor(generator.standard_normal(FLOATS, dtype=np.float32)) for _ in range(2))

    def compute() -> Any:
        return ((x * y + x) * 0.5 - y) * x

    def step() -> float:
        if not lazy:
            return compute()[1].item()
        with library.lazy():
            z = compute()
        # All of it is wanted, not only the number that is read.
        library._core.run_tensors([z])
        return z[1].item()

    return step


def race_steps(steps: dict[str, Callable[[], float]], settings: Settings) -> Any:
    """Check that all steps give one number, and time them."""
    first, *others = (step() for step in steps.values())
    for name, value in zip(list(steps)[1:], others, strict=True):
        check_value(name, value, first)

    def loop_of(step: Callable[[], float]) -> Callable[[int], None]:
        def loop(count: int) -> None:
            for _ in repeat(None, count):
                step()

        return loop

    return take_turns({name: loop_of(step) for name, step in steps.items()}, settings)


def measure(weft: Any, torch: Any, settings: Settings) -> list[Row]:
    """Measure all three."""
    rows = []
    for threads in settings.threads:
        set_threads(threads, weft, torch)
        for title, make, bar in (
            ("MLP 512 wide, batch 128, training", mlp_step, DENSE_BAR),
            ("8 floats: 10 x (mul, tanh), sum, backward", chain_step, SMALL_BAR),
        ):
            steps = {"lazy": make(weft, lazy=True), "eager": make(weft, lazy=False)}
            times = race_steps(steps, settings)
            rows.append(
                Row(
                    f"{title}: lazy / eager",
                    times["lazy"],
                    times["eager"],
                    required=round(bar, 3),
                    threads=threads,
                    note=EAGER,
                )
            )
        steps = {
            "lazy": five_ops_step(weft, lazy=True),
            "torch": five_ops_step(torch),
            "eager": five_ops_step(weft),
        }
        times = race_steps(steps, settings)
        title = "five element-wise ops, 4M floats"
        rows += [
            Row(
                f"{title}: lazy / torch",
                times["lazy"],
                times["torch"],
                required=FUSED_BAR,
                threads=threads,
            ),
            Row(
                f"{title}: lazy / eager", times["lazy"], times["eager"], threads=threads, note=EAGER
            ),
        ]
    return rows
