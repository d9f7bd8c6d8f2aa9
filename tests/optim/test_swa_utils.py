"""Averages of weights."""

from __future__ import annotations

import pytest

import weft
from weft import nn
from weft.optim.swa_utils import (
    SWALR,
    AveragedModel,
    get_ema_avg_fn,
    get_ema_multi_avg_fn,
    update_bn,
)


def moved(model: nn.Linear, values: list[float], averaged: AveragedModel) -> None:
    for value in values:
        with weft.no_grad():
            model.weight.fill_(value)
        averaged.update_parameters(model)


def test_the_mean_of_the_weights() -> None:
    model = nn.Linear(1, 1)
    averaged = AveragedModel(model)
    moved(model, [1.0, 2.0, 6.0], averaged)
    assert averaged.module.weight.item() == pytest.approx(3.0)
    assert averaged.n_averaged.item() == 3
    assert "module.weight" in averaged.state_dict()


def test_moving_averages() -> None:
    model = nn.Linear(1, 1)
    for averaged in (
        AveragedModel(model, avg_fn=get_ema_avg_fn(0.5)),
        AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.5)),
    ):
        moved(model, [1.0, 2.0, 6.0], averaged)
        assert averaged.module.weight.item() == pytest.approx(3.75)
    with pytest.raises(ValueError, match="not both"):
        AveragedModel(model, avg_fn=get_ema_avg_fn(), multi_avg_fn=get_ema_multi_avg_fn())


def test_statistics_are_computed_anew() -> None:
    norm = nn.BatchNorm1d(1)
    model = nn.Sequential(norm).eval()
    update_bn([weft.full((4, 1), 2.0), [weft.full((4, 1), 4.0), None]], model)
    assert norm.running_mean.tolist() == [3.0]
    assert norm.momentum == 0.1
    assert not model.training


def test_learning_rates_go_to_the_last_one() -> None:
    optimizer = weft.optim.SGD([nn.Parameter(weft.zeros(1))], lr=1.0)
    scheduler = SWALR(optimizer, swa_lr=0.2, anneal_epochs=4, anneal_strategy="linear")
    rates = []
    for _ in range(5):
        scheduler.step()
        rates.append(optimizer.param_groups[0]["lr"])
    assert rates == pytest.approx([0.8, 0.6, 0.4, 0.2, 0.2])
    with pytest.raises(ValueError, match="'cos' or 'linear'"):
        SWALR(optimizer, 0.1, anneal_strategy="square")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
