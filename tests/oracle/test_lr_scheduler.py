"""Every scheduler against PyTorch's, over 20 steps and two groups."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch

import weft

MAKERS: dict[str, Any] = {
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda i: 0.9**i),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, lambda i: 0.95),
    "StepLR": lambda s, o: s.StepLR(o, 3, 0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [2, 7], 0.1),
    "ConstantLR": lambda s, o: s.ConstantLR(o, 0.5, 4),
    "LinearLR": lambda s, o: s.LinearLR(o, 0.2, 1.0, 6),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.9),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, 8, 1.5),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 7, 0.01),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 4, 2),
    "CyclicLR": lambda s, o: s.CyclicLR(o, 0.01, 0.5, 3, 5, "triangular2"),
    "CyclicLR by steps": lambda s, o: s.CyclicLR(o, 0.01, 0.5, 3, mode="exp_range", gamma=0.9),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, 0.5, total_steps=25),
    "OneCycleLR to its end": lambda s, o: s.OneCycleLR(o, 0.5, total_steps=20),
    "OneCycleLR in three": lambda s, o: s.OneCycleLR(
        o, [0.5, 0.2], total_steps=22, three_phase=True, anneal_strategy="linear"
    ),
    "ChainedScheduler": lambda s, o: s.ChainedScheduler(
        [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)]
    ),
    "SequentialLR": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, 1.0, 5), s.CosineAnnealingLR(o, 10)], [5]
    ),
}


def optimizer_of(module: Any) -> Any:
    params = [module.zeros(1).requires_grad_() for _ in range(2)]
    groups = [{"params": params[:1]}, {"params": params[1:], "lr": 0.2}]
    return module.optim.SGD(groups, lr=0.3, momentum=0.9)


def walk(optimizer: Any, scheduler: Any, steps: int) -> list[Any]:
    found = []
    for _ in range(steps):
        optimizer.step()
        scheduler.step()
        found.append([(group["lr"], group["momentum"]) for group in optimizer.param_groups])
    return found


def rates(module: Any, make: Any) -> list[Any]:
    optimizer = optimizer_of(module)
    return walk(optimizer, make(module.optim.lr_scheduler, optimizer), 20)


def compare(got: list[Any], expected: list[Any]) -> None:
    for ours, theirs in zip(got, expected, strict=True):
        for pair, other in zip(ours, theirs, strict=True):
            assert pair == pytest.approx(other, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.filterwarnings("ignore")
def test_rates(name: str) -> None:
    compare(rates(weft, MAKERS[name]), rates(torch, MAKERS[name]))


class At:
    """The schedulers' module, whose classes begin at a step."""

    def __init__(self, module: Any, last_epoch: int) -> None:
        self.module, self.last_epoch = module, last_epoch

    def __getattr__(self, name: str) -> Any:
        return partial(getattr(self.module, name), last_epoch=self.last_epoch)


ALONE = [name for name in MAKERS if name not in ("ChainedScheduler", "SequentialLR")]
# PyTorch's loses the length of a period here; see scripts/pytorch_differences.py.
LOST = ("CosineAnnealingWarmRestarts", 9)


@pytest.mark.parametrize("taken", [1, 3, 9])
@pytest.mark.parametrize("name", ALONE)
@pytest.mark.filterwarnings("ignore")
def test_resumed(name: str, taken: int) -> None:
    def resumed(module: Any) -> list[Any]:
        optimizer, schedulers = optimizer_of(module), module.optim.lr_scheduler
        walk(optimizer, MAKERS[name](schedulers, optimizer), taken)
        return walk(optimizer, MAKERS[name](At(schedulers, taken), optimizer), 9)

    if (name, taken) != LOST:
        compare(resumed(weft), resumed(torch))


@pytest.mark.parametrize("asked", [0, 1, 5, 12])
@pytest.mark.parametrize("name", ALONE)
@pytest.mark.filterwarnings("ignore")
def test_asked_for_a_step(name: str, asked: int) -> None:
    def jumped(module: Any) -> list[Any]:
        optimizer = optimizer_of(module)
        scheduler = MAKERS[name](module.optim.lr_scheduler, optimizer)
        walk(optimizer, scheduler, 4)
        scheduler.step(asked)
        return walk(optimizer, scheduler, 6)

    compare(jumped(weft), jumped(torch))


@pytest.mark.parametrize("name", ALONE)
@pytest.mark.filterwarnings("ignore")
def test_in_sequences_and_chains(name: str) -> None:
    def sequence(s: Any, o: Any) -> Any:
        chain = s.ChainedScheduler([MAKERS[name](s, o), s.ExponentialLR(o, 0.8)])
        return s.SequentialLR(o, [chain, MAKERS[name](s, o), s.StepLR(o, 2)], [4, 11])

    compare(rates(weft, sequence), rates(torch, sequence))
