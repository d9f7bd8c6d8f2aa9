"""Modules that come and go take their parameters into and out of optimizers."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

import weft
from weft import nn


def layers(*sizes: int) -> nn.Sequential:
    return nn.Sequential(*(nn.Linear(a, b) for a, b in pairwise(sizes)))


def train(model: nn.Module, *optimizers: Any, steps: int = 1) -> None:
    for _ in range(steps):
        model(weft.ones(2, 2)).pow(2).sum().backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()


def trains(optimizer: Any, model: nn.Module) -> bool:
    """Whether an optimizer has the parameters of a model, in their order, and no other state."""
    own = [id(param) for group in optimizer.param_groups for param in group["params"]]
    expected = [id(param) for param in model.parameters()]
    return own == expected and {id(param) for param in optimizer.state} <= set(expected)


class TestReplace:
    def test_a_module(self) -> None:
        model = layers(2, 2, 2)
        optimizer = weft.optim.Adam(model.parameters())
        train(model, optimizer)
        first, old, new = model[0], model[1], nn.Linear(2, 3)
        moments = optimizer.state[first.weight]["exp_avg"]
        assert model.replace_("1", new) is old
        assert model[1] is new
        assert trains(optimizer, model)
        assert optimizer.state[first.weight]["exp_avg"] is moments
        assert set(optimizer.state) == {first.weight, first.bias}
        before = new.weight.detach().clone()
        train(model, optimizer)
        assert (new.weight != before).any()

    def test_a_dotted_path_and_other_names(self) -> None:
        model = nn.ModuleDict({"body": layers(2, 2, 2, 2), "head": nn.Linear(2, 1)})
        optimizer = weft.optim.SGD(model.parameters(), lr=0.1)
        model.replace_("body.1", nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 2)))
        assert trains(optimizer, model)

    def test_a_parameter(self) -> None:
        model = layers(2, 2)
        optimizer = weft.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        train(model, optimizer)
        old = model[0].weight
        assert model.replace_("0.weight", nn.Parameter(weft.zeros(3, 2))) is old
        assert trains(optimizer, model)
        assert old not in optimizer.state

    def test_what_the_new_module_keeps_stays_as_it_is(self) -> None:
        model = layers(2, 2, 2)
        optimizer = weft.optim.Adam(model.parameters())
        train(model, optimizer)
        kept = model[1]
        moments = optimizer.state[kept.weight]["exp_avg"]
        model.replace_("1", nn.Sequential(kept, nn.Linear(2, 2)))
        assert trains(optimizer, model)
        assert optimizer.state[kept.weight]["exp_avg"] is moments

    def test_what_another_module_shares_stays(self) -> None:
        trunk = nn.Linear(2, 2)
        one, two = nn.Sequential(trunk, nn.Linear(2, 1)), nn.Sequential(trunk, nn.Linear(2, 3))
        every = {*one.parameters(), *two.parameters()}
        optimizer = weft.optim.SGD(list(every), lr=0.1)
        one.replace_("0", nn.Linear(2, 2))
        now = set(optimizer.param_groups[0]["params"])
        assert now == every | set(one[0].parameters())

    def test_tied_weights_stay(self) -> None:
        class Tied(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.table, self.scores = nn.Embedding(4, 2), nn.Linear(2, 4, bias=False)
                self.scores.weight = self.table.weight

        model = Tied()
        optimizer = weft.optim.SGD(model.parameters(), lr=0.1)
        model.replace_("scores", nn.Linear(2, 4, bias=False))
        assert trains(optimizer, model)

    def test_groups_are_those_of_the_same_name(self) -> None:
        model = layers(2, 2, 2)
        weights, biases = [m.weight for m in model], [m.bias for m in model]
        optimizer = weft.optim.SGD([{"params": weights}, {"params": biases, "lr": 1.0}], lr=0.1)
        model.replace_("0", nn.Linear(2, 2))
        assert [g["params"] for g in optimizer.param_groups] == [
            [m.weight for m in model],
            [m.bias for m in model],
        ]

    def test_two_optimizers(self) -> None:
        model = layers(2, 2, 2)
        first = weft.optim.SGD(model[0].parameters(), lr=0.1)
        second = weft.optim.Adam(model[1].parameters())
        model.replace_("1", nn.Linear(2, 5))
        assert trains(first, model[0])
        assert trains(second, model[1])

    def test_what_nobody_trains(self) -> None:
        model = layers(2, 2, 2)
        optimizer = weft.optim.SGD(model[1].parameters(), lr=0.1)
        model.replace_("0", nn.Linear(2, 2))
        assert trains(optimizer, model[1])

    def test_names_of_parameters_follow(self) -> None:
        model = nn.ModuleDict({"body": layers(2, 2, 2)})
        optimizer = weft.optim.SGD(model.named_parameters(), lr=0.1)
        model["body"].insert_("0", nn.Linear(2, 2))
        model["body"].replace_("1", nn.Linear(2, 2, bias=False))
        names = [name for name, _ in model.named_parameters()]
        assert optimizer.param_groups[0]["param_names"] == names
        assert trains(optimizer, model)

    @pytest.mark.parametrize(
        ("name", "new", "error", "message"),
        [
            ("2", nn.ReLU(), AttributeError, "has no module or parameter at '2'"),
            ("0.bias", nn.ReLU(), TypeError, "new must be a Parameter, as 0.bias is, not a ReLU"),
            ("0", weft.ones(2), TypeError, "new must be a Module, as 0 is, not a Tensor"),
            ("", nn.ReLU(), AttributeError, "has no part at ''"),
            ("0.", nn.ReLU(), AttributeError, "has no part at '0.'"),
            ("7.weight", nn.ReLU(), AttributeError, "has no module at '7'"),
        ],
    )
    def test_errors(self, name: str, new: Any, error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            layers(2, 2, 2).replace_(name, new)


class TestInsert:
    def test_in_a_sequential(self) -> None:
        model = layers(2, 2, 2)
        optimizer = weft.optim.Adam(model.parameters())
        train(model, optimizer)
        last = model[1]
        moments = optimizer.state[last.weight]["exp_avg"]
        new = nn.Linear(2, 2)
        assert model.insert_("1", new) is model
        assert list(model)[1:] == [new, last]
        assert optimizer.state[last.weight]["exp_avg"] is moments
        model.insert_("3", nn.Linear(2, 2))
        assert trains(optimizer, model)
        train(model, optimizer)
        assert optimizer.state[last.weight]["step"] == 2
        assert optimizer.state[new.weight]["step"] == 1

    def test_as_an_attribute(self) -> None:
        model = nn.ModuleDict({"body": layers(2, 2)})
        optimizer = weft.optim.SGD(model.parameters(), lr=0.1)
        model.insert_("head", nn.Linear(2, 1))
        assert trains(optimizer, model)
        with pytest.raises(KeyError, match=r"already has a module 'head'; see replace_\(\)"):
            model.insert_("head", nn.Linear(2, 1))

    def test_the_optimizer_of_the_part_takes_it(self) -> None:
        model = nn.ModuleDict({"generator": layers(2, 2), "critic": layers(2, 2)})
        first = weft.optim.SGD(model["generator"].parameters(), lr=0.1)
        second = weft.optim.SGD(model["critic"].parameters(), lr=0.1)
        model.insert_("generator.1", nn.Linear(2, 2))
        assert trains(first, model["generator"])
        assert trains(second, model["critic"])

    def test_several_groups_need_a_model(self) -> None:
        model = layers(2, 2, 2)
        weights, biases = [m.weight for m in model], [m.bias for m in model]
        optimizer = weft.optim.SGD([{"params": weights}, {"params": biases}], lr=0.1)
        with pytest.raises(ValueError, match=r"1.weight could join any of 2 groups .* like="):
            model.insert_("1", nn.Linear(2, 2))
        assert len(model) == 2
        model.insert_("1", nn.Linear(2, 2), like="0")
        assert [g["params"] for g in optimizer.param_groups] == [
            [m.weight for m in model],
            [m.bias for m in model],
        ]

    def test_errors(self) -> None:
        model = layers(2, 2)
        with pytest.raises(TypeError, match="new must be a Module, not a int"):
            model.insert_("0", 3)
        with pytest.raises(IndexError, match="index 9 is out of range"):
            model.insert_("9", nn.ReLU())

    def test_a_cell_sees_it(self) -> None:
        @weft.cell
        class Cell(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.body = layers(2, 2)

            def forward(self, x: Any) -> Any:
                return self.body(x)

        cell = Cell()
        input = weft.ones(1, 2)
        cell(input)
        cell.insert_("body.0", nn.Linear(2, 2))
        assert (cell(input) == cell.body(input)).all()
        cell.body.append(nn.Linear(2, 3))
        assert cell(input).shape == (1, 3)


class TestRemove:
    def test_in_a_sequential(self) -> None:
        model = layers(2, 2, 2, 2)
        optimizer = weft.optim.Adam(model.parameters())
        train(model, optimizer)
        old = model[1]
        assert model.remove_("1") is old
        assert len(model) == 2
        assert trains(optimizer, model)
        assert len(optimizer.state) == 4

    def test_an_attribute(self) -> None:
        model = nn.ModuleDict({"body": layers(2, 2), "head": nn.Linear(2, 1)})
        optimizer = weft.optim.SGD(model.parameters(), lr=0.1)
        model.remove_("head")
        assert trains(optimizer, model)
        assert "head" not in model
        with pytest.raises(AttributeError, match="no module at 'head'"):
            model.remove_("head")

    def test_a_group_may_run_empty(self) -> None:
        model = layers(2, 2, 2)
        groups = [{"params": model[0].parameters()}, {"params": model[1].parameters(), "lr": 1.0}]
        optimizer = weft.optim.Adam(groups)
        model.remove_("1")
        assert [len(group["params"]) for group in optimizer.param_groups] == [2, 0]
        train(model, optimizer)


def test_pytorchs_own_methods_tell_nobody() -> None:
    """Programs for PyTorch call add_param_group themselves, which must not find it done."""
    model = layers(2, 2)
    optimizer = weft.optim.SGD(model.parameters(), lr=0.1)
    model.append(nn.Linear(2, 2))
    optimizer.add_param_group({"params": model[1].parameters()})
    assert trains(optimizer, model)


def test_no_part_of_itself() -> None:
    model = nn.Sequential(nn.Sequential(nn.Linear(2, 2)))
    for change in (lambda: model.insert_("0.1", model), lambda: model.replace_("0", model)):
        with pytest.raises(ValueError, match="cannot be a part of itself"):
            change()
    assert len(model) == len(model[0]) == 1


def test_a_path_is_a_text() -> None:
    with pytest.raises(TypeError, match=r"must be a str such as .*, not int"):
        nn.Sequential().insert_(0, nn.Tanh())  # type: ignore[arg-type]
