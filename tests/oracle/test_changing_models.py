"""A model that grows trains as a PyTorch model does whose optimizer's state is grown by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import weft

OPTIMIZERS: dict[str, Callable[[Any, Any], Any]] = {
    "momentum": lambda t, params: t.optim.SGD(params, lr=0.05, momentum=0.9, weight_decay=0.01),
    "adam": lambda t, params: t.optim.Adam(params, lr=0.01),
    "amsgrad": lambda t, params: t.optim.AdamW(params, lr=0.01, amsgrad=True),
    "rmsprop": lambda t, params: t.optim.RMSprop(params, lr=0.01, momentum=0.5, centered=True),
    "adagrad": lambda t, params: t.optim.Adagrad(params, lr=0.05),
    "nadam": lambda t, params: t.optim.NAdam(params, lr=0.01),
}


def net(t: Any, width: int) -> Any:
    return t.nn.Sequential(t.nn.Linear(3, width), t.nn.Tanh(), t.nn.Linear(width, 2))


def train(t: Any, model: Any, optimizer: Any, steps: int) -> list[float]:
    x = t.arange(24.0).reshape(8, 3).sin()
    y = t.arange(16.0).reshape(8, 2).cos()
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (model(x) - y).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def padded(small: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """Put a tensor into the corner of zeros of a larger shape."""
    if small.dim() == 0:
        return small
    large = torch.zeros(shape)
    large[tuple(slice(size) for size in small.shape)] = small
    return large


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_goes_on_as_in_pytorch(name: str) -> None:
    make = OPTIMIZERS[name]
    weft.manual_seed(0)
    torch.manual_seed(0)
    ours, theirs = net(weft, 5), net(torch, 5)
    optimizers = make(weft, ours.parameters()), make(torch, theirs.parameters())
    first = train(weft, ours, optimizers[0], 5), train(torch, theirs, optimizers[1], 5)
    assert first[0] == pytest.approx(first[1], rel=1e-4)

    weft.nn.grow_(ours[0], out_features=9)
    weft.nn.grow_(ours[2], in_features=9)
    larger = net(torch, 9)
    for param, values in zip(larger.parameters(), ours.parameters(), strict=True):
        param.data = torch.from_numpy(values.detach().numpy().copy())
    optimizer = make(torch, larger.parameters())
    state = optimizers[1].state_dict()
    for number, param in enumerate(larger.parameters()):
        entries = state["state"][number]
        for key, entry in entries.items():
            entries[key] = padded(entry, param.shape)
    optimizer.load_state_dict(state)
    after = train(weft, ours, optimizers[0], 15), train(torch, larger, optimizer, 15)
    assert after[0] == pytest.approx(after[1], rel=1e-3)
    for one, two in zip(ours.parameters(), larger.parameters(), strict=True):
        assert one.detach().numpy() == pytest.approx(two.detach().numpy(), abs=1e-4)
