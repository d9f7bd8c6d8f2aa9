"""Every scheduler against PyTorch's, over 20 steps and two groups."""

from __future__ import annotations

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


def rates(module: Any, make: Any) -> list[Any]:
    params = [module.zeros(1).requires_grad_() for _ in range(2)]
    groups = [{"params": params[:1]}, {"params": params[1:], "lr": 0.2}]
    optimizer = module.optim.SGD(groups, lr=0.3, momentum=0.9)
    scheduler = make(module.optim.lr_scheduler, optimizer)
    found = []
    for _ in range(20):
        optimizer.step()
        scheduler.step()
        found.append([(group["lr"], group["momentum"]) for group in optimizer.param_groups])
    return found


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.filterwarnings("ignore")
def test_rates(name: str) -> None:
    for got, expected in zip(rates(weft, MAKERS[name]), rates(torch, MAKERS[name]), strict=True):
        for ours, theirs in zip(got, expected, strict=True):
            assert ours == pytest.approx(theirs, rel=1e-9)
