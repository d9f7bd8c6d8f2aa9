"""Optimizers follow models that change, and leave alone what a plain `if` left out."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import weft
from weft import nn, optim

OPTIMIZERS: dict[str, Callable[[Any], optim.Optimizer]] = {
    "sgd": lambda params: optim.SGD(params, lr=0.1),
    "momentum": lambda params: optim.SGD(params, lr=0.05, momentum=0.9),
    "nesterov": lambda params: optim.SGD(params, lr=0.05, momentum=0.9, nesterov=True),
    "adam": lambda params: optim.Adam(params, lr=0.01),
    "amsgrad": lambda params: optim.AdamW(params, lr=0.01, amsgrad=True),
    "adamax": optim.Adamax,
    "nadam": optim.NAdam,
    "radam": optim.RAdam,
    "rmsprop": lambda params: optim.RMSprop(params, lr=0.01, momentum=0.5, centered=True),
    "adagrad": lambda params: optim.Adagrad(params, initial_accumulator_value=0.5),
    "adadelta": optim.Adadelta,
    "rprop": optim.Rprop,
    "asgd": optim.ASGD,
}
FIRST = {("adagrad", "sum"): 0.5, ("rprop", "step_size"): 0.01}


def net(width: int = 5) -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, width), nn.Tanh(), nn.Linear(width, 2))


def widen(model: nn.Sequential, width: int = 8) -> None:
    nn.grow_(model[0], out_features=width)
    nn.grow_(model[2], in_features=width)


def data() -> tuple[Any, Any]:
    generator = weft.Generator().manual_seed(3)
    return weft.randn(8, 3, generator=generator), weft.randn(8, 2, generator=generator)


def train(model: nn.Module, optimizer: optim.Optimizer, steps: int) -> list[float]:
    input, target = data()
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (model(input) - target).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def tensors(optimizer: optim.Optimizer, param: Any) -> dict[str, Any]:
    state = optimizer.state[param]
    return {name: item for name, item in state.items() if isinstance(item, weft.Tensor)}


@pytest.fixture(autouse=True)
def _seeded() -> None:
    weft.manual_seed(0)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_moments_follow(name: str) -> None:
    model = net()
    optimizer = OPTIMIZERS[name](model.parameters())
    train(model, optimizer, 4)
    first, last = model[0].weight, model[2].weight
    old = copy.deepcopy([tensors(optimizer, param) for param in (first, last)])
    counts = [optimizer.state[param].get("step") for param in (first, last)]
    assert name == "sgd" or all(old)
    widen(model)
    rows, columns = tensors(optimizer, first), tensors(optimizer, last)
    for key, entry in old[0].items():
        assert (rows[key][:5] == entry).all()
        assert (rows[key][5:] == FIRST.get((name, key), 0.0)).all()
    for key, entry in old[1].items():
        assert (columns[key][:, :5] == entry).all()
        assert (columns[key][:, 5:] == FIRST.get((name, key), 0.0)).all()
    assert [optimizer.state[param].get("step") for param in (first, last)] == counts


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_next_steps_are_those_of_a_model_of_that_size(name: str) -> None:
    """A grown model trains as one that was made so large, and got the same state, does."""
    model = net()
    optimizer = OPTIMIZERS[name](model.parameters())
    train(model, optimizer, 4)
    widen(model)
    twin = net(8)
    twin.load_state_dict(model.state_dict())
    other = OPTIMIZERS[name](twin.parameters())
    other.load_state_dict(optimizer.state_dict())
    assert train(model, optimizer, 5) == train(twin, other, 5)
    for one, two in zip(model.parameters(), twin.parameters(), strict=True):
        assert (one == two).all()


@pytest.mark.parametrize("name", ["momentum", "adam"])
def test_elements_that_see_the_same_gradients_move_as_without_growth(name: str) -> None:
    """New outputs that nobody reads change nothing for the old ones."""
    grown, plain = nn.Linear(3, 2), nn.Linear(3, 2)
    plain.load_state_dict(grown.state_dict())
    input, target = data()
    optimizers = [OPTIMIZERS[name](model.parameters()) for model in (grown, plain)]
    for step in range(6):
        if step == 3:
            nn.grow_(grown, out_features=4)
        for model, optimizer in zip((grown, plain), optimizers, strict=True):
            optimizer.zero_grad()
            (model(input)[:, :2] - target).pow(2).mean().backward()
            optimizer.step()
    assert weft.allclose(grown.weight[:2], plain.weight, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_loss_is_the_same_before_and_after(name: str) -> None:
    model = net()
    optimizer = OPTIMIZERS[name](model.parameters())
    train(model, optimizer, 3)
    input, target = data()
    before = (model(input) - target).pow(2).mean().item()
    widen(model)
    model.insert_("2", nn.Linear(8, 8))
    nn.init.eye_(model[2].weight)
    nn.init.zeros_(model[2].bias)
    assert abs((model(input) - target).pow(2).mean().item() - before) < 1e-6
    first = train(model, optimizer, 30)
    assert first[-1] < before


def test_gates_keep_their_moments() -> None:
    cell = nn.LSTMCell(2, 3)
    optimizer = optim.Adam(cell.parameters())
    cell(weft.randn(4, 2))[0].sum().backward()
    optimizer.step()
    old = optimizer.state[cell.weight_ih]["exp_avg"].clone().view(4, 3, 2)
    nn.grow_(cell, hidden_size=5)
    new = optimizer.state[cell.weight_ih]["exp_avg"].view(4, 5, 2)
    assert (new[:, :3] == old).all()
    assert (new[:, 3:] == 0).all()


def test_rates_of_groups_and_schedulers_go_on() -> None:
    model = net()
    groups = [{"params": model[0].parameters(), "lr": 0.5}, {"params": model[2].parameters()}]
    optimizer = optim.SGD(groups, lr=0.1, momentum=0.9)
    scheduler = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    train(model, optimizer, 1)
    scheduler.step()
    widen(model)
    model.replace_("2", nn.Linear(8, 2))
    train(model, optimizer, 1)
    scheduler.step()
    assert [group["lr"] for group in optimizer.param_groups] == [0.125, 0.025]
    assert [len(group["params"]) for group in optimizer.param_groups] == [2, 2]
    before = model[0].bias.detach().clone()
    weights, state = model[0].bias, optimizer.state[model[0].bias]["momentum_buffer"].clone()
    optimizer.zero_grad()
    weights.grad = weft.zeros_like(weights)
    optimizer.step()
    assert weft.allclose(before - weights, 0.125 * 0.9 * state)


@pytest.mark.parametrize("name", ["momentum", "amsgrad", "rmsprop", "adagrad"])
def test_save_and_resume_reproduces_the_run(name: str, tmp_path: Path) -> None:
    model = net()
    optimizer = OPTIMIZERS[name](model.parameters())
    scheduler = optim.lr_scheduler.StepLR(optimizer, 2)
    train(model, optimizer, 3)
    widen(model)
    model.insert_("2", nn.Linear(8, 8))
    model.replace_("3", nn.Linear(8, 2))
    train(model, optimizer, 3)
    scheduler.step()
    weft.save(
        {
            "width": model[0].out_features,
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(),
        },
        tmp_path / "run.weft",
    )
    expected = train(model, optimizer, 5)

    saved = weft.load(tmp_path / "run.weft")
    width = saved["width"]
    again = nn.Sequential(
        nn.Linear(3, width), nn.Tanh(), nn.Linear(width, width), nn.Linear(width, 2)
    )
    other = OPTIMIZERS[name](again.parameters())
    timetable = optim.lr_scheduler.StepLR(other, 2)
    again.load_state_dict(saved["model"])
    other.load_state_dict(saved["optimizer"])
    timetable.load_state_dict(saved["scheduler"])
    assert train(again, other, 5) == expected
    for one, two in zip(model.parameters(), again.parameters(), strict=True):
        assert (one == two).all()


def test_copies_and_pickles_follow_their_own_model() -> None:
    model = net()
    optimizer = optim.Adam(model.parameters())
    train(model, optimizer, 2)
    for twin, other in (
        copy.deepcopy((model, optimizer)),
        pickle.loads(pickle.dumps((model, optimizer))),
    ):
        widen(twin)
        assert other.state[twin[0].weight]["exp_avg"].shape == (8, 3)
        train(twin, other, 1)
    assert optimizer.state[model[0].weight]["exp_avg"].shape == (5, 3)


def test_lbfgs_begins_anew() -> None:
    model = net()
    optimizer = optim.LBFGS(model.parameters(), max_iter=4)
    input, target = data()

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (model(input) - target).pow(2).mean()
        loss.backward()
        return loss

    before = float(optimizer.step(closure))
    widen(model)
    model.insert_("2", nn.Linear(8, 8))
    assert not optimizer.state
    for _ in range(4):
        last = float(optimizer.step(closure))
    assert last < before


def test_state_of_another_shape_is_an_error_and_nothing_changes() -> None:
    class Factored(optim.SGD):
        def step(self, closure: Any = None) -> Any:
            for param in self.param_groups[0]["params"]:
                self.state[param]["rows"] = param.sum(-1).detach()
            return super().step(closure)

    model = net()
    follower = optim.Adam(model.parameters())
    optimizer = Factored(model.parameters())
    train(model, follower, 1)
    train(model, optimizer, 1)
    with pytest.raises(ValueError, match=r"Factored cannot follow growth: it keeps rows of shape"):
        widen(model)
    assert model[0].weight.shape == (5, 3)
    assert model[0].out_features == 5
    assert follower.state[model[0].weight]["exp_avg"].shape == (5, 3)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_model_that_was_not_taken_stays_untouched(name: str) -> None:
    small, large = nn.Linear(2, 1), nn.Linear(2, 1)
    optimizer = OPTIMIZERS[name]([*small.parameters(), *large.parameters()])
    begun = copy.deepcopy(dict(optimizer.state[large.weight]))
    values = large.weight.detach().clone()
    for size in (0.5, 0.2, 0.9):
        input = weft.full((1, 2), size)
        model = small if size < 1 else large
        optimizer.zero_grad()
        model(input).pow(2).sum().backward()
        optimizer.step()
    assert small.weight.grad is not None
    assert large.weight.grad is None
    assert large.bias.grad is None
    assert (large.weight == values).all()
    now = dict(optimizer.state[large.weight])
    assert now.keys() == begun.keys()
    assert all(bool((weft.as_tensor(now[key]) == weft.as_tensor(begun[key])).all()) for key in now)
