"""Hooks around forward and backward."""

from __future__ import annotations

import pytest

import weft
from weft import nn


def test_pre_hooks_replace_arguments():
    layer = nn.Identity()
    handle = layer.register_forward_pre_hook(lambda _module, args: args[0] + 1)
    layer.register_forward_pre_hook(lambda _module, args: (args[0] * 2,))
    assert layer(weft.ones(1)) == 4
    handle.remove()
    handle.remove()
    assert layer(weft.ones(1)) == 2


def test_forward_hooks_replace_the_output_in_order():
    layer = nn.Identity()
    layer.register_forward_hook(lambda _module, _args, output: output * 2)
    layer.register_forward_hook(lambda _module, _args, output: output + 1, prepend=True)
    assert layer(weft.ones(1)) == 4


def test_keyword_arguments():
    class Scale(nn.Module):
        def forward(self, x, factor=1):
            return x * factor

    layer = Scale()

    def double(_module, args, kwargs):
        return args, {"factor": kwargs["factor"] * 2}

    with layer.register_forward_pre_hook(double, with_kwargs=True):
        assert layer(weft.ones(1), factor=3) == 6
    seen = []
    layer.register_forward_hook(
        lambda _module, _args, kwargs, _output: seen.append(kwargs), with_kwargs=True
    )
    layer(weft.ones(1), factor=3)
    assert seen == [{"factor": 3}]
    layer.register_forward_pre_hook(lambda *_: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match="kwargs"):
        layer(weft.ones(1), factor=3)


def test_always_called_hooks_see_failures():
    class Failing(nn.Module):
        def forward(self):
            raise ValueError("no")

    seen = []
    layer = Failing()
    layer.register_forward_hook(lambda *_: seen.append("plain"))
    layer.register_forward_hook(lambda *_: seen.append("always"), always_call=True)
    with pytest.raises(ValueError, match="no"):
        layer()
    assert seen == ["always"]


def test_backward_hooks_see_and_replace_gradients():
    layer = nn.Linear(2, 1, bias=False)
    nn.init.constant_(layer.weight, 3.0)
    seen = []

    def hook(module, grad_input, grad_output):
        seen.append((module is layer, grad_input[0].tolist(), grad_output[0].tolist()))
        return (grad_input[0] * 10,)

    layer.register_full_backward_hook(hook)
    x = weft.ones(1, 2, requires_grad=True)
    layer(x).sum().backward()
    assert seen == [(True, [[3.0, 3.0]], [[1.0]])]
    assert x.grad is not None
    assert x.grad.tolist() == [[30.0, 30.0]]
    assert layer.weight.grad is not None
    assert layer.weight.grad.tolist() == [[1.0, 1.0]]


def test_backward_hooks_of_several_inputs_get_all_gradients_at_once():
    class Mix(nn.Module):
        def forward(self, a, b):
            return a * b, a + b

    seen = []
    layer = Mix()
    layer.register_full_backward_hook(lambda _m, gi, go: seen.append((len(gi), len(go))))
    a, b = weft.ones(1, requires_grad=True), weft.ones(1, requires_grad=True)
    product, total = layer(a, b)
    (product + total).sum().backward()
    assert seen == [(2, 2)]


def test_backward_hooks_without_gradients_of_inputs():
    layer = nn.Linear(2, 1)
    seen = []
    layer.register_full_backward_hook(lambda _m, gi, _go: seen.append(gi))
    layer(weft.ones(1, 2)).sum().backward()
    assert seen == [(None,)]


def test_backward_pre_hooks_replace_gradients_of_outputs():
    layer = nn.Identity()
    layer.register_full_backward_pre_hook(lambda _module, grads: (grads[0] * 5,))
    x = weft.ones(1, requires_grad=True)
    layer(x).sum().backward()
    assert x.grad == 5


def test_hooks_can_be_looked_at_and_taken_away() -> None:
    layer = nn.Linear(2, 2)

    def hook(*_: object) -> None:
        calls.append(1)

    calls: list[int] = []
    layer.register_forward_pre_hook(hook)
    assert list(layer._forward_pre_hooks.values()) == [hook]
    layer(weft.ones(1, 2))
    layer._forward_pre_hooks.clear()
    layer(weft.ones(1, 2))
    assert calls == [1]
    assert repr(layer._forward_hooks) == "OrderedDict()"
    assert len(layer._backward_hooks) == 0


def test_backward_hooks_stay_out_of_second_derivatives() -> None:
    class Cube(nn.Module):
        def forward(self, x: weft.Tensor) -> weft.Tensor:
            return x**3

    module, seen = Cube(), []
    module.register_full_backward_hook(lambda _, before, after: seen.append((before, after)))
    x = weft.tensor([2.0], requires_grad=True)
    (slope,) = weft.autograd.grad(module(x), x, create_graph=True)
    assert (slope.item(), len(seen)) == (12, 1)
    assert weft.autograd.grad(slope, x, create_graph=True)[0].item() == 12
    assert len(seen) == 1
    y = module(x)
    for count in (2, 3):
        y.backward(retain_graph=True)
        assert len(seen) == count


def test_backward_hooks_cannot_give_gradients_to_what_has_none() -> None:
    module = nn.Linear(2, 1)
    module.register_full_backward_hook(lambda *_: (weft.ones(1, 2),))
    with pytest.raises(RuntimeError, match="must return None"):
        module(weft.ones(1, 2)).sum().backward()
