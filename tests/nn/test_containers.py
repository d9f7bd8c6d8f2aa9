"""Sequential, lists and dictionaries of modules and parameters."""

from __future__ import annotations

from collections import OrderedDict

import pytest

import weft
from weft import nn


class Add(nn.Module):
    def __init__(self, amount) -> None:
        super().__init__()
        self.amount = amount

    def forward(self, x):
        return x + self.amount

    def extra_repr(self):
        return str(self.amount)


def amounts(container):
    return [item.amount for item in container]


def test_sequential_runs_in_order():
    model = nn.Sequential(Add(1), nn.Sequential(Add(2)), Add(3))
    assert model(0) == 6
    assert len(model) == 3
    assert model[-1].amount == 3
    assert amounts(model[::2]) == [1, 3]
    named = nn.Sequential({"a": Add(1), "b": Add(2)})
    assert named.b.amount == 2
    assert [name for name, _ in named[1:].named_children()] == ["b"]


def test_sequential_changes():
    model = nn.Sequential(Add(1), Add(3))
    model.insert(1, Add(2)).append(Add(4)).extend([Add(5)])
    assert amounts(model) == [1, 2, 3, 4, 5]
    assert model.pop(0).amount == 1
    del model[1:3]
    assert amounts(model) == [2, 5]
    model[0] = Add(7)
    assert amounts(model + nn.Sequential(Add(1))) == [7, 5, 1]
    assert amounts(model * 2) == [7, 5, 7, 5]
    model += nn.Sequential(Add(9))
    assert [name for name, _ in model.named_children()] == ["0", "1", "2"]
    with pytest.raises(IndexError, match="7"):
        model[7]
    with pytest.raises(IndexError, match="9"):
        model.insert(9, Add(1))
    with pytest.raises(TypeError, match="Module"):
        model.append(3)


def test_module_list():
    items = nn.ModuleList([Add(1), Add(2)])
    items += [Add(3)]
    assert amounts(items) == [1, 2, 3]
    assert amounts(items[1:]) == [2, 3]
    assert isinstance(items[1:], nn.ModuleList)
    assert amounts(items + nn.ModuleList([Add(4)])) == [1, 2, 3, 4]
    assert items.pop(-1).amount == 3
    with pytest.raises(TypeError, match="iterable"):
        items.extend(3)


def test_module_list_text_counts_repeats():
    items = nn.ModuleList([Add(1), Add(1), Add(2)])
    assert repr(items) == "ModuleList(\n  (0-1): 2 x Add(1)\n  (2): Add(2)\n)"
    assert repr(nn.ModuleList()) == "ModuleList()"


def test_module_dict():
    items = nn.ModuleDict({"a": Add(1)})
    items["b"] = Add(2)
    items.update([("c", Add(3))])
    assert list(items) == list(items.keys()) == ["a", "b", "c"]
    assert [item.amount for item in items.values()] == [1, 2, 3]
    assert "b" in items
    assert items.pop("b").amount == 2
    del items["a"]
    assert [(name, item.amount) for name, item in items.items()] == [("c", 3)]
    items.clear()
    assert len(items) == 0
    with pytest.raises(KeyError):
        items["a"]


def test_parameter_list():
    items = nn.ParameterList([weft.zeros(2), nn.Parameter(weft.ones(1))])
    items.append(weft.ones(3))
    assert [len(item) for item in items] == [2, 1, 3]
    assert all(isinstance(item, nn.Parameter) for item in items)
    assert len(list(items.parameters())) == 3
    items[-1] = weft.zeros(5)
    assert items[2].shape == (5,)
    items += [weft.zeros(1)]
    assert len(items[1:]) == 3
    assert "(0): Parameter containing: [weft.float32 of size 2]" in repr(items)
    with pytest.raises(IndexError, match="9"):
        items[9]
    with pytest.raises(TypeError, match="values"):
        items.extend(weft.zeros(2))


def test_parameter_dict():
    items = nn.ParameterDict({"a": weft.zeros(2)})
    items["b"] = nn.Parameter(weft.ones(1))
    assert list(items) == list(items.keys()) == ["a", "b"]
    assert [len(item) for item in items.values()] == [2, 1]
    assert "b" in items
    assert items.get("c") is None
    assert items.pop("a").shape == (2,)
    assert len(items) == 1
    assert [name for name, _ in items.named_parameters()] == ["b"]
    assert [name for name, _ in items.items()] == ["b"]
    assert "torch.FloatTensor of size 1" in repr(items)
    with pytest.raises(KeyError):
        items["a"]


def test_parameters_of_a_plain_mapping_come_sorted():
    one, pairs = weft.ones(1), [("b", weft.ones(1)), ("a", weft.ones(1))]
    assert list(nn.ParameterDict(dict(pairs)).keys()) == ["a", "b"]
    assert list(nn.ParameterDict(OrderedDict(pairs)).keys()) == ["b", "a"]
    assert list(nn.ParameterDict(pairs).keys()) == ["b", "a"]
    assert list(nn.ParameterDict(nn.ParameterDict(pairs)).keys()) == ["b", "a"]
    held = nn.ParameterDict({"z": one})
    held.update(dict(pairs))
    assert [name for name, _ in held.named_parameters()] == ["z", "a", "b"]
