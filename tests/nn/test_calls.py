"""Calls of modules: what was found once is not looked up again, and all that changes is seen."""

from __future__ import annotations

import copy
import gc
from collections.abc import Callable

import pytest

import weft
from weft import Tensor, nn


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.factor = 2.0

    def forward(self, x: Tensor) -> Tensor:
        return x * self.factor


@weft.cell
class ScaledCell(Scaled):
    def forward(self, x: Tensor) -> Tensor:
        return x * self.factor


MODULES = (
    Scaled,
    ScaledCell,
    lambda: nn.Linear(2, 2, bias=False).requires_grad_(requires_grad=False),
)


@pytest.mark.parametrize("make", MODULES)
def test_what_changes_after_the_first_calls_is_seen(
    make: Callable[[], nn.Module], monkeypatch: pytest.MonkeyPatch
) -> None:
    x = weft.ones(2)
    module = make()
    expected = module(x).tolist()
    assert module(x).tolist() == expected
    handle = module.register_forward_hook(lambda module, args, result: result + 1)
    assert module(x).tolist() == pytest.approx([number + 1 for number in expected])
    handle.remove()
    assert module(x).tolist() == expected
    module.forward = lambda x: x * 7  # type: ignore[method-assign]
    assert module(x).tolist() == [7, 7]
    del module.forward
    assert module(x).tolist() == expected
    with monkeypatch.context() as patch:
        patch.setattr(type(module), "forward", lambda self, x: x * 9)
        assert module(x).tolist() == [9, 9]
    assert module(x).tolist() == expected
    with monkeypatch.context() as patch:
        patch.setattr(type(module), "__call__", lambda self, x: x * 11, raising=False)
        assert module(x).tolist() == [11, 11]
    assert module(x).tolist() == expected


@pytest.mark.parametrize("make", MODULES)
def test_attributes_and_dictionaries_that_change_are_seen(make: Callable[[], nn.Module]) -> None:
    x = weft.ones(2)
    module = make()
    module(x), module(x)
    if isinstance(module, nn.Linear):
        module.weight = nn.Parameter(weft.full((2, 2), 3.0))
    else:
        module.factor = 6.0
    assert module(x).tolist() == [6, 6]
    other = make()
    other(x)
    module.__dict__.update(copy.deepcopy(other).__dict__)
    assert module(x).tolist() == other(x).tolist()
    module.__dict__ = dict(module.__dict__)
    assert module(x).tolist() == other(x).tolist()


def test_modules_in_the_place_of_others() -> None:
    x = weft.ones(2)
    for factor in range(200):
        module = Scaled() if factor % 2 else ScaledCell()
        module.factor = float(factor)
        assert module(x).tolist() == [factor, factor]
        assert module(x).tolist() == [factor, factor]
        del module


def test_a_module_that_goes_while_it_is_called() -> None:
    held: list[nn.Module] = []

    class Leaving(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            held.clear()
            gc.collect()
            return x * 2

    for _ in range(3):
        held.append(Leaving())
        assert held[0](weft.ones(1)).item() == 2


def test_attributes_that_are_computed_are_asked_for() -> None:
    class Odd(nn.Module):
        def __getattribute__(self, name: str) -> object:
            return (lambda x: x * 5) if name == "forward" else super().__getattribute__(name)

        def forward(self, x: Tensor) -> Tensor:
            return x * 2

    odd = Odd()
    assert [odd(weft.ones(1)).item() for _ in range(3)] == [5, 5, 5]
