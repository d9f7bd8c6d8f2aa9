"""`autograd.grad(..., inputs)` runs, of what was batched, the rows that lead to an input."""

from __future__ import annotations

import random
from typing import Any

import pytest

import weft


def make(batch: bool, *, count: int = 4) -> tuple[list[Any], list[Any], list[Any]]:
    """Hidden states, states above them and losses of examples that share a weight."""
    weight = weft.tensor([1.0, 2.0, 3.0], requires_grad=True)
    lower: list[Any] = [None] * count
    upper: list[Any] = [None] * count

    def model(i: int) -> weft.Tensor:
        lower[i] = (weight * weft.tensor(0.1 * (i + 1))).tanh()
        upper[i] = lower[i].exp() * weight
        return (upper[i] * lower[i]).sum()

    losses = weft.map(model, range(count), batch=batch)
    return lower, upper, losses


@pytest.mark.parametrize("batch", [False, True])
def test_what_leads_to_no_input_stays_for_another_backward(batch: bool) -> None:
    lower, _, losses = make(batch)
    total = losses[0] + losses[1] * 2
    weft.autograd.grad(total, [lower[0]])
    weft.autograd.grad(losses[1], [lower[1]])
    with pytest.raises(RuntimeError, match="second time"):
        weft.autograd.grad(losses[0], [lower[0]])


def test_hooks_of_rows_that_lead_to_no_input_are_not_called() -> None:
    lower, upper, losses = make(True)
    called: list[int] = []
    for i, (below, above) in enumerate(zip(lower, upper, strict=True)):
        below.register_hook(lambda _, i=i: called.append(i))
        above.register_hook(lambda _, i=i: called.append(10 + i))
    weft.autograd.grad(weft.stack(losses).sum(), [lower[2]])
    assert sorted(called) == [2, 12]


def test_a_row_that_is_an_input_does_not_run_below_it() -> None:
    lower, upper, losses = make(True)
    weft.autograd.grad(weft.stack(losses).sum(), [upper[1], lower[2]])
    # The rule of `upper[1]` did not run, so nothing of it is released.
    weft.autograd.grad(upper[1].sum(), [lower[1]])
    with pytest.raises(RuntimeError, match="second time"):
        weft.autograd.grad(upper[2].sum(), [lower[2]])


@pytest.mark.parametrize("seed", range(40))
def test_any_order_of_gradients_is_as_one_by_one(seed: int) -> None:
    def run(batch: bool) -> list[Any]:
        draw = random.Random(seed)
        lower, upper, losses = make(batch)
        found: list[Any] = []
        for _ in range(4):
            roots = draw.sample([*losses, *(u.sum() for u in upper)], draw.randint(1, 3))
            total = sum(root * (k + 1.0) for k, root in enumerate(roots))
            inputs = draw.sample([*lower, *upper], draw.randint(1, 3))
            keep = draw.random() < 0.5
            try:
                gradients = weft.autograd.grad(total, inputs, retain_graph=keep, allow_unused=True)
            except RuntimeError as error:
                found.append(str(error).split(":")[0])
            else:
                found.append([None if g is None else g.tolist() for g in gradients])
        return found

    expected, got = run(batch=False), run(batch=True)
    for a, b in zip(expected, got, strict=True):
        if isinstance(a, str) or isinstance(b, str):
            assert a == b
        else:
            assert [None if x is None else pytest.approx(x) for x in a] == b
