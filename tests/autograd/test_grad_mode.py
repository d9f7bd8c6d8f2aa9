"""no_grad, enable_grad, set_grad_enabled, inference_mode, detach."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import weft
from weft import Tensor


def leaf(*numbers: float) -> Tensor:
    return weft.tensor(list(numbers), dtype=weft.float32, requires_grad=True)


def test_no_grad() -> None:
    x = leaf(1)
    with weft.no_grad():
        assert not weft.is_grad_enabled()
        assert not (x * 2).requires_grad
        with weft.enable_grad():
            assert (x * 2).requires_grad
        assert not weft.is_grad_enabled()
    assert weft.is_grad_enabled()


def test_an_exception_restores_the_mode() -> None:
    with pytest.raises(KeyError), weft.no_grad():
        raise KeyError
    assert weft.is_grad_enabled()


def test_modes_as_decorators() -> None:
    @weft.no_grad()
    def first(x: Tensor) -> Tensor:
        return x * 2

    @weft.no_grad
    def second(x: Tensor) -> Tensor:
        return first(x)

    @weft.no_grad()
    def third(x: Tensor) -> Iterator[Tensor]:
        while True:
            yield x * 2

    assert first.__name__ == "first"
    assert not first(leaf(1)).requires_grad
    assert not second(leaf(1)).requires_grad
    generated = third(leaf(1))
    assert not next(generated).requires_grad
    assert weft.is_grad_enabled()
    assert not next(generated).requires_grad


def test_set_grad_enabled() -> None:
    x = leaf(1)
    with weft.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    assert weft.is_grad_enabled()
    weft.set_grad_enabled(False)
    try:
        assert not (x * 2).requires_grad
    finally:
        weft.set_grad_enabled(True)
    assert (x * 2).requires_grad


def test_each_thread_has_its_own_mode() -> None:
    seen: list[bool] = []
    with weft.no_grad():
        thread = threading.Thread(target=lambda: seen.append(weft.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_inference_mode() -> None:
    x = leaf(1, 2)
    with weft.inference_mode():
        assert weft.is_inference_mode_enabled()
        y = x * 2
        y.add_(1)
        with weft.inference_mode(False):
            assert not weft.is_inference_mode_enabled()
    assert not weft.is_inference_mode_enabled()
    assert weft.is_grad_enabled()
    assert y.is_inference()
    assert not y.requires_grad
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        y.add_(1)
    with pytest.raises(RuntimeError, match="inference mode cannot be saved"):
        x * y
    with pytest.raises(RuntimeError, match="inference tensor"):
        y.requires_grad_()
    assert (y + x).requires_grad
    assert (x * y.clone()).requires_grad
    assert not y.clone().is_inference()


def test_detach() -> None:
    x = leaf(1, 2)
    y = x.detach()
    assert not y.requires_grad
    assert y.is_leaf
    y[0] = 5
    assert x.tolist() == [5, 2]
    z = x * 2
    z.detach_()
    assert z.is_leaf
    assert not z.requires_grad
    with pytest.raises(RuntimeError, match="detach"):
        (x * 2)[0].detach_()


def test_data_can_be_replaced() -> None:
    x = leaf(1, 2)
    x.data = weft.tensor([3.0, 4.0])
    assert x.requires_grad
    (x * x).sum().backward()
    assert x.grad.tolist() == [6, 8]
    x.data.add_(1)
    assert x.tolist() == [4, 5]


def test_a_view_keeps_its_history_wherever_it_is_read() -> None:
    """After a write to its base a view is made again when it is next used, here under no_grad."""
    x = leaf(1, 2)
    y = x * 1
    view = y[0]
    y.mul_(3)
    with weft.no_grad():
        assert view.item() == 3
    assert view.requires_grad
    view.backward()
    assert x.grad.tolist() == [3, 0]


def test_generators_get_what_is_thrown_into_them() -> None:
    closed: list[bool] = []

    @weft.no_grad()
    def numbers() -> Any:
        try:
            yield 1
        except ValueError:
            yield weft.is_grad_enabled()
        finally:
            closed.append(weft.is_grad_enabled())

    running = numbers()
    assert next(running) == 1
    assert running.throw(ValueError) is False
    assert weft.is_grad_enabled()
    running.close()
    assert closed == [False]
    running = numbers()
    next(running)
    with pytest.raises(KeyError, match="other"):
        running.throw(KeyError("other"))
    assert closed == [False, False]
    assert weft.is_grad_enabled()
