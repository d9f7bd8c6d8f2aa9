"""Where memory runs out in a step, the optimizer can go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import weft
from tests.no_memory import without_memory
from weft import optim

Made = Callable[[Any], optim.Optimizer]
NATIVE: dict[str, Made] = {
    "sgd": lambda p: optim.SGD(p, lr=0.1),
    "momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.5),
    "adam": lambda p: optim.Adam(p, lr=0.1),
    "amsgrad": lambda p: optim.AdamW(p, lr=0.1, amsgrad=True, weight_decay=0.1),
}
OTHERS: dict[str, Made] = {
    "rmsprop": lambda p: optim.RMSprop(p, momentum=0.5, centered=True, weight_decay=0.1),
    "adagrad": lambda p: optim.Adagrad(p, maximize=True),
    "adadelta": optim.Adadelta,
    "adamax": optim.Adamax,
    "nadam": optim.NAdam,
    "radam": optim.RAdam,
    "rprop": optim.Rprop,
    "asgd": optim.ASGD,
}
STEPS = 3


def made(optimizer: Made) -> tuple[list[weft.Tensor], optim.Optimizer]:
    weft.manual_seed(0)
    parameters = [weft.randn(3, 4, dtype=weft.float64, requires_grad=True) for _ in range(3)]
    for parameter in parameters:
        parameter.grad = weft.randn(4, 3, dtype=weft.float64).t()  # not in order
    return parameters, optimizer(parameters)


def data(parameters: list[weft.Tensor]) -> list[Any]:
    return [parameter.tolist() for parameter in parameters]


@pytest.mark.parametrize("before", range(STEPS - 1))
@pytest.mark.parametrize("name", NATIVE)
def test_a_step_changes_all_or_nothing(name: str, before: int) -> None:
    parameters, optimizer = made(NATIVE[name])
    expected = [data(parameters)]
    for _ in range(STEPS):
        optimizer.step()
        expected.append(data(parameters))

    def prepare() -> None:
        nonlocal parameters, optimizer
        parameters, optimizer = made(NATIVE[name])
        for _ in range(before):
            optimizer.step()

    def step() -> None:
        optimizer.step()

    for after in without_memory(step, prepare):
        assert data(parameters) == expected[before], after
        for number in range(before + 1, STEPS + 1):
            optimizer.step()
            assert data(parameters) == expected[number], after


@pytest.mark.parametrize("name", OTHERS)
def test_the_next_step_works(name: str) -> None:
    parameters, optimizer = made(OTHERS[name])
    optimizer.step()
    keys = [set(optimizer.state[parameter]) for parameter in parameters]

    def prepare() -> None:
        nonlocal parameters, optimizer
        parameters, optimizer = made(OTHERS[name])

    def step() -> None:
        optimizer.step()

    for after in without_memory(step, prepare, least=10):
        before = data(parameters)
        optimizer.step()
        assert [set(optimizer.state[parameter]) for parameter in parameters] == keys, after
        assert all(one != other for one, other in zip(data(parameters), before, strict=True)), after
        assert all(parameter.isfinite().all() for parameter in parameters), after
