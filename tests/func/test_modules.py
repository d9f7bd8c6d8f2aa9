"""Modules as functions, per-example gradients, and ensembles."""

from __future__ import annotations

from typing import Any

import pytest

import weft
from tests.test_vmap import assert_equal, floats
from weft import Tensor, nn
from weft.func import functional_call, grad, stack_module_state, vmap


def model() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()


def test_call_with_other_parameters() -> None:
    net, x = model(), floats(5, 3)
    given = {name: floats(*p.shape) for name, p in net.named_parameters()}
    before = dict(net.named_parameters())
    got = functional_call(net, given, x)
    expected = (x @ given["0.weight"].T + given["0.bias"]).tanh() @ given["2.weight"].T
    assert_equal(got, expected + given["2.bias"])
    assert all(p is before[name] for name, p in net.named_parameters())
    some = functional_call(net, {"2.bias": given["2.bias"]}, (x,))
    assert_equal(some - given["2.bias"], net(x) - net[2].bias)


def test_the_module_is_itself_again_after_an_error() -> None:
    net = model()
    weight = net[0].weight
    with pytest.raises(RuntimeError):
        functional_call(net, {"0.weight": floats(7, 7)}, floats(5, 3))
    assert net[0].weight is weight


def test_names() -> None:
    net, x = model(), floats(3)
    with pytest.raises(AttributeError, match=r"no parameter or buffer 0\.other"):
        functional_call(net, {"0.other": x}, x)
    with pytest.raises(RuntimeError, match=r"missing: .*2.bias.* unknown: \['a'\]"):
        functional_call(net, {"0.bias": x, "a": x}, x, strict=True)
    with pytest.raises(ValueError, match=r"0\.bias is given twice"):
        functional_call(net, ({"0.bias": x}, {"0.bias": x}), x)


def test_arguments() -> None:
    class Two(nn.Module):
        def forward(self, x: Tensor, y: Tensor, scale: float = 1) -> Tensor:
            return (x + y) * scale

    x = floats(3)
    assert_equal(functional_call(Two(), {}, (x, x), {"scale": 2}), 4 * x)


def test_tied_weights() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one = nn.Linear(2, 2, bias=False).double()
            self.two = self.one

        def forward(self, x: Tensor) -> Tensor:
            return self.two(self.one(x))

    class Shared(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one = nn.Parameter(floats(2))
            self.two = self.one

        def forward(self, x: Tensor) -> Tensor:
            return x * self.one * self.two

    x, w = floats(2), floats(2)
    assert_equal(functional_call(Shared(), {"one": w}, x), x * w * w)
    own = Shared()
    assert_equal(functional_call(own, {"one": w}, x, tie_weights=False), x * w * own.two)
    assert_equal(functional_call(Tied(), {"one.weight": weft.eye(2).double()}, x), x)


def test_buffers_are_written_where_they_were_given() -> None:
    norm = nn.BatchNorm1d(3).double()
    given = {name: b.clone() for name, b in norm.named_buffers()}
    functional_call(norm, given, floats(8, 3))
    assert given["num_batches_tracked"] == 1
    assert norm.num_batches_tracked == 0


def test_cells_see_the_parameters() -> None:
    cell, x = nn.GRUCell(3, 4).double(), floats(2, 3)
    other = nn.GRUCell(3, 4).double()
    cell(x)
    assert_equal(functional_call(cell, dict(other.named_parameters()), x), other(x))
    assert_equal(cell(x), cell(x))


def test_gradients_of_each_example() -> None:
    net, x, y = model(), floats(5, 3), weft.tensor([0, 1, 1, 0, 1])
    parameters = {name: p.detach() for name, p in net.named_parameters()}

    def loss(parameters: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        scores = functional_call(net, parameters, x[None])
        return nn.functional.cross_entropy(scores, y[None])

    got = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, x, y)
    for i in range(5):
        net.zero_grad()
        nn.functional.cross_entropy(net(x[i : i + 1]), y[i : i + 1]).backward()
        for name, parameter in net.named_parameters():
            assert_equal(got[name][i], parameter.grad)
    assert not any(g.requires_grad for g in got.values())


def test_ensemble() -> None:
    models, x = [model() for _ in range(3)], floats(5, 3)
    parameters, buffers = stack_module_state(models)
    assert all(p.is_leaf and p.requires_grad for p in parameters.values())

    def call(parameters: Any, buffers: Any, x: Tensor) -> Tensor:
        return functional_call(models[0], (parameters, buffers), x)

    got = vmap(call, in_dims=(0, 0, None))(parameters, buffers, x)
    assert_equal(got, weft.stack([one(x) for one in models]))
    got.pow(2).sum().backward()
    for number, one in enumerate(models):
        one(x).pow(2).sum().backward()
        assert_equal(parameters["0.weight"].grad[number], one[0].weight.grad)


def test_models_that_do_not_stack() -> None:
    with pytest.raises(RuntimeError, match="at least one"):
        stack_module_state([])
    with pytest.raises(RuntimeError, match="one class"):
        stack_module_state([nn.Linear(1, 1), nn.Tanh()])
    with pytest.raises(RuntimeError, match="one mode"):
        stack_module_state([nn.Linear(1, 1), nn.Linear(1, 1).eval()])
