"""The benchmark's models are in PyTorch's spelling: there they give the same as in Weft."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import weft
from benchmarks.cliffs.model import Model, to_tensors
from benchmarks.cliffs.models import MODELS
from benchmarks.models.common import check_gradients, check_value, gradients

HIDDEN = 8


def make_reference(model: Model, module: Any) -> Any:
    """Return PyTorch's model with the weights and buffers of Weft's."""
    reference = model.make(torch, HIDDEN)
    state = {name: torch.tensor(value.numpy()) for name, value in module.state_dict().items()}
    reference.load_state_dict(state)
    return reference


def mean_loss(library: Any, module: Any, batch: list[Any]) -> Any:
    return library.stack([module(example) for example in batch]).mean()


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.name)
def test_same_as_in_pytorch(model: Model) -> None:
    module = model.make(weft, HIDDEN)
    (batch,) = model.draw_batches(1, 4, HIDDEN)
    loss = mean_loss(weft, module, to_tensors(weft, batch))
    loss.backward()
    losses = {"by example": mean_loss}
    if model.by_hand is not None:
        losses["by hand"] = model.by_hand
    for what, compute in losses.items():
        reference = make_reference(model, module)
        expected = compute(torch, reference, to_tensors(torch, batch))
        expected.backward()
        check_value(what, loss.item(), expected.item())
        check_gradients(what, gradients(module), gradients(reference))
