"""watch_steps: graphs of earlier steps that stay alive."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import weft
from weft import nn, optim
from weft.debug import StepWatch, StillAlive, profile, watch_steps

Keep = Callable[[weft.Tensor], object]


def train(steps: int, keep: Keep) -> None:
    model = nn.Linear(3, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for i in range(steps):
        x = weft.randn(4, 3)
        h = model(x)
        for _ in range(i % 3):  # steps differ in size
            h = h * 0.5
        loss = (h**2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        keep(loss)


@contextmanager
def caught() -> Iterator[list[StillAlive]]:
    found: list[StillAlive] = []
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        yield found
    found.extend(one.message for one in given if isinstance(one.message, StillAlive))


def test_a_list_of_losses() -> None:
    losses: list[weft.Tensor] = []
    with caught() as found, watch_steps() as watch:
        train(20, losses.append)
    assert len(found) == 1
    assert watch.warnings == found
    text = str(found[0])
    assert "losses[0] in test_a_list_of_losses()" in text
    assert "loss.item()" in text


def test_a_running_total_names_the_line() -> None:
    def run() -> None:
        total = weft.zeros(())
        model = nn.Linear(3, 1)
        for _ in range(10):
            loss = (model(weft.randn(2, 3)) ** 2).mean()
            loss.backward()
            total = total + loss  # the mistake

    with caught() as found, watch_steps():
        run()
    (warning,) = found
    (holder,) = warning.holders
    assert holder.name == "total in run()"
    assert "total = total + loss  # the mistake" in str(warning)
    assert holder.place is not None
    assert holder.place.file == __file__


def test_a_hidden_state_that_goes_on() -> None:
    def run() -> None:
        cell = nn.RNNCell(2, 2)
        state = weft.zeros(1, 2)
        for _ in range(10):
            state = cell(weft.randn(1, 2), state)
            state.sum().backward(retain_graph=True)

    with caught() as found, watch_steps():
        run()
    assert [holder.name for one in found for holder in one.holders] == ["state in run()"]


def test_numbers_are_fine() -> None:
    numbers: list[float] = []
    with caught() as found, watch_steps():
        train(40, lambda loss: numbers.append(loss.item()))
    assert found == []


def test_two_losses_in_turn_are_fine() -> None:
    def run() -> None:
        one, two = nn.Linear(2, 2), nn.Linear(2, 2)
        for _ in range(20):
            first = one(weft.randn(3, 2)).sum()
            first.backward()
            second = two(weft.randn(3, 2)).sum()
            second.backward()

    with caught() as found, watch_steps():
        run()
    assert found == []


def test_graphs_from_before_are_fine() -> None:
    w = weft.ones(2, requires_grad=True)
    table = (w * 2).exp()
    with caught() as found, watch_steps():
        train(20, lambda _: None)
    assert found == []
    assert table.requires_grad


def test_the_profiler_watches_as_well() -> None:
    losses: list[weft.Tensor] = []
    with caught() as found, profile() as run:
        train(12, losses.append)
    assert len(found) == 1
    assert run.warnings == found


def test_searches_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    searches: list[int] = []
    watch = StepWatch()
    monkeypatch.setattr(watch, "_search", lambda _: searches.append(watch._steps))
    w = weft.ones(2, requires_grad=True)
    kept = []
    for i in range(1000):
        kept.append(w * i)
        watch.step()
    assert searches == [4, 8, 16, 32, 64, 128, 256, 512]


@pytest.mark.parametrize("patience", [1, 3])
def test_it_waits_for_so_many_steps(monkeypatch: pytest.MonkeyPatch, patience: int) -> None:
    searches: list[int] = []
    watch = StepWatch(patience=patience)
    monkeypatch.setattr(watch, "_search", lambda _: searches.append(watch._steps))
    w = weft.ones(2, requires_grad=True)
    kept = []
    for i in range(patience + 1):
        assert not searches
        kept.append(w * i)
        watch.step()
    assert searches == [patience + 1]


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="patience must be at least 1, not 0"):
        watch_steps(patience=0)
