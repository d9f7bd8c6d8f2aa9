"""What all optimizers share."""

from __future__ import annotations

import copy
import pickle

import pytest

import weft
from weft import nn, optim


def parameters(count=2):
    return [nn.Parameter(weft.full((2,), float(i + 1))) for i in range(count)]


def test_groups_have_settings_of_their_own():
    a, b, c = parameters(3)
    optimizer = optim.SGD([{"params": [a], "lr": 0.5}, {"params": b}], lr=0.1)
    optimizer.add_param_group({"params": [c], "momentum": 0.9})
    assert [group["lr"] for group in optimizer.param_groups] == [0.5, 0.1, 0.1]
    assert [group["momentum"] for group in optimizer.param_groups] == [0, 0, 0.9]
    for parameter in (a, b, c):
        parameter.grad = weft.ones(2)
    optimizer.step()
    assert a.tolist() == pytest.approx([0.5, 0.5])
    assert b.tolist() == pytest.approx([1.9, 1.9])


def test_named_parameters():
    model = nn.Linear(2, 1)
    optimizer = optim.Adam(model.named_parameters())
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: optim.SGD([]), ValueError, "empty"),
        (lambda: optim.SGD(weft.zeros(2)), TypeError, "params"),
        (lambda: optim.SGD([3]), TypeError, "int"),
        (lambda: optim.SGD([nn.Parameter(weft.zeros(1)) * 2]), ValueError, "leaves"),
        (lambda: optim.SGD(parameters(1) * 2), ValueError, "twice"),
        (lambda: optim.SGD(parameters(), lr=-1.0), ValueError, "lr"),
        (lambda: optim.SGD(parameters(), nesterov=True), ValueError, "nesterov"),
        (lambda: optim.Adam(parameters(), betas=(0.9, 1.0)), ValueError, "betas"),
        (lambda: optim.Adam(parameters(), eps=float("nan")), ValueError, "eps"),
        (lambda: optim.SGD([{"params": set(parameters())}]), TypeError, "set"),
    ],
)
def test_mistakes(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_closures_run_with_gradients_on():
    (x,) = parameters(1)
    optimizer = optim.SGD([x], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (x * x).sum()
        loss.backward()
        return loss

    with weft.no_grad():
        assert float(optimizer.step(closure)) == 2
    assert x.tolist() == pytest.approx([0.8, 0.8])


def test_zero_grad():
    (x,) = parameters(1)
    optimizer = optim.SGD([x])
    x.grad = weft.ones(2)
    optimizer.zero_grad(set_to_none=False)
    assert x.grad.tolist() == [0, 0]
    optimizer.zero_grad()
    assert x.grad is None
    optimizer.step()
    assert x.tolist() == [1, 1]


def test_step_hooks():
    (x,) = parameters(1)
    optimizer = optim.SGD([x])
    seen = []
    before = optimizer.register_step_pre_hook(lambda *_: seen.append("before"))
    optimizer.register_step_post_hook(lambda *_: seen.append("after"))
    optimizer.step()
    before.remove()
    before.remove()
    optimizer.step()
    assert seen == ["before", "after", "after"]


KINDS = {
    "sgd": lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
    "adam": lambda p: optim.Adam(p, lr=0.1, amsgrad=True),
    "adamw": lambda p: optim.AdamW(p, lr=0.1),
    "rmsprop": lambda p: optim.RMSprop(p, lr=0.1, momentum=0.9, centered=True),
    "adagrad": lambda p: optim.Adagrad(p, lr=0.1),
}


@pytest.mark.parametrize("kind", KINDS)
def test_state_goes_round(kind):
    def run(optimizer, params, steps):
        for i in range(steps):
            for parameter in params:
                parameter.grad = weft.full((2,), 0.5 + i)
            optimizer.step()

    first = parameters()
    one = KINDS[kind](first)
    run(one, first, 3)
    second = [nn.Parameter(parameter.detach().clone()) for parameter in first]
    other = KINDS[kind](second)
    state = one.state_dict()
    assert state["param_groups"][0]["params"] == [0, 1]
    other.load_state_dict(copy.deepcopy(state))
    run(one, first, 3)
    run(other, second, 3)
    for a, b in zip(first, second, strict=True):
        assert weft.equal(a, b)


def test_state_that_does_not_fit():
    one, other = optim.Adam(parameters(2)), optim.Adam(parameters(3))
    with pytest.raises(ValueError, match=r"2.*3"):
        one.load_state_dict(other.state_dict())
    groups = optim.Adam([{"params": parameters(1)}, {"params": parameters(1)}])
    with pytest.raises(ValueError, match="group"):
        one.load_state_dict(groups.state_dict())


def test_pickles():
    (x,) = parameters(1)
    optimizer = optim.Adam([x], lr=0.1)
    x.grad = weft.ones(2)
    optimizer.step()
    twin = pickle.loads(pickle.dumps(optimizer))
    (own,) = twin.param_groups[0]["params"]
    own.grad = weft.ones(2)
    x.grad = weft.ones(2)
    optimizer.step()
    twin.step()
    assert weft.equal(own, x)


def test_text():
    assert repr(optim.SGD(parameters(), lr=0.5)).startswith("SGD (\nParameter Group 0\n")
    assert "    lr: 0.5\n" in repr(optim.SGD(parameters(), lr=0.5))


def test_own_optimizers():
    class Sign(optim.Optimizer):
        def __init__(self, params, lr) -> None:
            super().__init__(params, {"lr": lr})

        def step(self, closure=None):
            assert closure is None
            with weft.no_grad():
                for group in self.param_groups:
                    for parameter in group["params"]:
                        parameter.sub_(parameter.grad.sign() * group["lr"])

    (x,) = parameters(1)
    x.grad = weft.tensor([5.0, -0.1])
    Sign([x], lr=0.5).step()
    assert x.tolist() == [0.5, 1.5]
    with pytest.raises(NotImplementedError, match="Optimizer"):
        optim.Optimizer([x], {}).step()


def test_groups_have_pytorchs_settings() -> None:
    params = [weft.nn.Parameter(weft.zeros(1)), weft.nn.Parameter(weft.zeros(1))]
    groups = [{"params": params[:1]}, {"params": params[1:], "lr": 0.5}]
    optimizer = weft.optim.Adam(groups, lr=0.1, fused=False)
    assert optimizer.param_groups[0]["fused"] is False
    assert optimizer.param_groups[0]["foreach"] is None
    text = repr(optimizer)
    assert "    differentiable: False\n" in text
    assert "\n\nParameter Group 1\n" in text
    with pytest.raises(RuntimeError, match="differentiable=True is not supported"):
        weft.optim.SGD(params, lr=0.1, differentiable=True)
