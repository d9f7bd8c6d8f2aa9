"""Pruned parameters."""

from __future__ import annotations

from typing import Any

import pytest

import weft
from weft import nn
from weft.nn.utils import prune


def test_the_mask_is_kept_while_training() -> None:
    layer: Any = prune.l1_unstructured(nn.Linear(4, 3), "weight", amount=0.5)
    assert [name for name, _ in layer.named_parameters()] == ["bias", "weight_orig"]
    zeros = layer.weight == 0
    assert int(zeros.sum()) == 6
    optimizer = weft.optim.SGD(layer.parameters(), lr=0.1)
    layer(weft.ones(2, 4)).sum().backward()
    optimizer.step()
    layer(weft.ones(2, 4))
    assert weft.equal(layer.weight == 0, zeros)


def test_pruning_twice_and_removing() -> None:
    layer: Any = nn.Linear(4, 3)
    prune.random_unstructured(layer, "weight", amount=3)
    prune.ln_structured(layer, "weight", amount=1, n=2, dim=0)
    assert int((layer.weight == 0).sum(1).max()) == 4
    (hook,) = layer._forward_pre_hooks.values()
    assert [type(each).__name__ for each in hook] == ["RandomUnstructured", "LnStructured"]
    assert prune.is_pruned(layer)
    weight = layer.weight.detach().clone()
    prune.remove(layer, "weight")
    assert not prune.is_pruned(layer)
    assert isinstance(layer.weight, nn.Parameter)
    assert weft.equal(layer.weight, weight)


def test_over_several_modules() -> None:
    first: Any = nn.Linear(10, 10)
    second: Any = nn.Linear(10, 10)
    with weft.no_grad():
        second.weight.mul_(10)
    pairs = [(first, "weight"), (second, "weight")]
    prune.global_unstructured(pairs, pruning_method=prune.L1Unstructured, amount=0.25)
    counts = [int((each.weight == 0).sum()) for each in (first, second)]
    assert sum(counts) == 50
    assert counts[0] > counts[1]


def test_a_method_of_ones_own() -> None:
    class EveryOther(prune.BasePruningMethod):
        def compute_mask(self, t: weft.Tensor, default_mask: weft.Tensor) -> weft.Tensor:
            mask = default_mask.clone().reshape(t.shape)
            mask.view(-1)[::2] = 0
            return mask

    layer: Any = nn.Linear(2, 4)
    EveryOther.apply(layer, "bias")
    assert layer.bias_mask.tolist() == [0, 1, 0, 1]


def test_errors() -> None:
    with pytest.raises(ValueError, match="share from 0 to 1"):
        prune.l1_unstructured(nn.Linear(2, 2), "weight", amount=1.5)
    with pytest.raises(ValueError, match="amount=5 is more than the 4"):
        prune.l1_unstructured(nn.Linear(2, 2), "weight", amount=5)
    with pytest.raises(ValueError, match="has to be pruned before"):
        prune.remove(nn.Linear(2, 2), "weight")
