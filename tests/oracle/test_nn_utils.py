"""Parametrized, pruned and averaged weights are PyTorch's from the same seed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.utils.prune
from torch.optim import swa_utils

import weft

assert swa_utils  # `t.optim.swa_utils` is there in both


def _pruned(how: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    def make(t: Any) -> Any:
        layer = t.nn.Conv2d(3, 8, 3)
        how(t.nn.utils.prune, layer)
        return layer

    return make


def _pruned_twice(prune: Any, layer: Any) -> None:
    prune.random_unstructured(layer, "weight", 0.3)
    prune.ln_structured(layer, "weight", 0.25, n=2, dim=0)
    prune.l1_unstructured(layer, "weight", 10)
    prune.random_structured(layer, "weight", 2, dim=1)
    prune.l1_unstructured(layer, "bias", 3)
    prune.remove(layer, "bias")


MAKE: dict[str, Callable[[Any], Any]] = {
    "weight_norm": lambda t: t.nn.utils.weight_norm(t.nn.Conv2d(3, 8, 3)),
    "weight_norm, all": lambda t: t.nn.utils.weight_norm(t.nn.Conv2d(3, 8, 3), dim=None),
    "weight_norm, dim 1": lambda t: t.nn.utils.weight_norm(t.nn.Conv2d(3, 8, 3), dim=1),
    "spectral_norm": lambda t: t.nn.utils.spectral_norm(t.nn.Conv2d(3, 8, 3)),
    "parametrizations.weight_norm": lambda t: t.nn.utils.parametrizations.weight_norm(
        t.nn.Conv2d(3, 8, 3)
    ),
    "parametrizations.spectral_norm": lambda t: t.nn.utils.parametrizations.spectral_norm(
        t.nn.Conv2d(3, 8, 3), n_power_iterations=2
    ),
    "random_unstructured": _pruned(lambda p, m: p.random_unstructured(m, "weight", 0.4)),
    "l1_unstructured": _pruned(lambda p, m: p.l1_unstructured(m, "weight", 0.4)),
    "ln_structured": _pruned(lambda p, m: p.ln_structured(m, "weight", 0.5, n=1, dim=0)),
    "random_structured": _pruned(lambda p, m: p.random_structured(m, "weight", 1, dim=1)),
    "pruned twice": _pruned(_pruned_twice),
    "global_unstructured": _pruned(
        lambda p, m: p.global_unstructured(
            [(m, "weight"), (m, "bias")], pruning_method=p.L1Unstructured, amount=0.3
        )
    ),
}


def trained(t: Any, make: Callable[[Any], Any]) -> tuple[list[str], list[Any]]:
    """Return the names of a module's state, and what two steps of training left of it."""
    t.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layer = make(t)
    optimizer = t.optim.SGD(layer.parameters(), lr=0.05)
    losses = []
    for _ in range(2):
        loss = layer(t.ones(1, 3, 4, 4)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    layer.eval()
    losses.append(layer(t.ones(1, 3, 4, 4)).detach())
    state = layer.state_dict()
    return sorted(state), [*losses, *(state[name] for name in sorted(state))]


@pytest.mark.parametrize("name", MAKE)
def test_layers(name: str) -> None:
    wanted, found = trained(torch, MAKE[name]), trained(weft, MAKE[name])
    assert found[0] == wanted[0]
    for mine, theirs in zip(found[1], wanted[1], strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-5)


def averaged(t: Any) -> list[Any]:
    t.manual_seed(0)
    swa = t.optim.swa_utils
    model = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.BatchNorm1d(4), t.nn.Linear(4, 1))
    optimizer = t.optim.SGD(model.parameters(), lr=0.1)
    scheduler = swa.SWALR(optimizer, swa_lr=0.02, anneal_epochs=3)
    means = [
        swa.AveragedModel(model),
        swa.AveragedModel(model, multi_avg_fn=swa.get_ema_multi_avg_fn(0.8), use_buffers=True),
        swa.AveragedModel(model, avg_fn=swa.get_ema_avg_fn(0.5)),
    ]
    data = [t.randn(8, 3) for _ in range(4)]
    rates = []
    for x in data:
        optimizer.zero_grad()
        (model(x) - 1).square().mean().backward()
        optimizer.step()
        scheduler.step()
        rates.append(optimizer.param_groups[0]["lr"])
        for mean in means:
            mean.update_parameters(model)
    swa.update_bn(data, means[0])
    results = [each for mean in means for _, each in sorted(mean.state_dict().items())]
    return [t.tensor(rates), *results]


def test_averages() -> None:
    for mine, theirs in zip(averaged(weft), averaged(torch), strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-5)
