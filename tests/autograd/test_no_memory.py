"""Where memory runs out in ops that run at once, tensors are as they were."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import weft
from tests.no_memory import ALWAYS, without_memory
from weft import _core, nn

Write = Callable[[weft.Tensor, weft.Tensor], Any]


def written_in_part(x: weft.Tensor, y: weft.Tensor) -> None:
    x[1:, ::2] = y[1:, ::2]


def written_where(x: weft.Tensor, y: weft.Tensor) -> None:
    x[x > 0] = 2.0


def written_at(x: weft.Tensor, y: weft.Tensor) -> None:
    x[weft.tensor([0, 2]), 1] += y[0, :2]


WRITES: dict[str, Write] = {
    "add": lambda x, y: x.add_(y),
    "add a scaled number": lambda x, y: x.add_(y.to(weft.float32), alpha=2),
    "of another dtype": lambda x, y: x.mul_(y.to(weft.float32)),
    "a row": lambda x, y: x.sub_(y[0]),
    "its own transpose": lambda x, y: x.add_(x.t()),
    "its own sum": lambda x, y: x.div_(x.sum()),
    "itself": lambda x, y: x.mul_(x),
    "the other transposed": lambda x, y: x.copy_(y.t()),
    "tanh": lambda x, y: x.tanh_(),
    "clamp": lambda x, y: x.clamp_(-0.1, 0.1),
    "power": lambda x, y: x.pow_(3),
    "zero": lambda x, y: x.zero_(),
    "fill": lambda x, y: x.fill_(2.0),
    "addmm": lambda x, y: x.addmm_(y, y),
    "lerp": lambda x, y: x.lerp_(y, 0.3),
    "addcmul": lambda x, y: x.addcmul_(x, y),
    "masked": lambda x, y: x.masked_fill_(y > 0, 1.0),
    "where": written_where,
    "index": written_at,
    "index_add": lambda x, y: x.index_add_(0, weft.tensor([1, 1, 0]), y),
    "scatter": lambda x, y: x.scatter_(0, weft.tensor([[0, 1, 2]]), y),
    "part": written_in_part,
    "through a view": lambda x, y: x[0].exp_(),
    "through a transpose": lambda x, y: x.t().add_(y),
    "through a diagonal": lambda x, y: x.diagonal().mul_(y[0]),
    "cumulative": lambda x, y: x.cumsum_(0),
    "mish": lambda x, y: nn.functional.mish(x, inplace=True),
    "relu": lambda x, y: nn.functional.relu(x, inplace=True),
    "dropout": lambda x, y: nn.functional.dropout(x, 0.5, inplace=True),
    "uniform": lambda x, y: x.uniform_(),
    "normal": lambda x, y: x.normal_(),
}


@pytest.mark.parametrize("count", [1, ALWAYS], ids=["once", "from then on"])
@pytest.mark.parametrize("grad", ["none", "of it", "of the other", "of both"])
@pytest.mark.parametrize("name", WRITES)
def test_a_write_that_fails_leaves_all_as_it_was(name: str, grad: str, count: int) -> None:
    write = WRITES[name]
    a = weft.randn(3, 3, dtype=weft.float64, requires_grad=grad in ("of it", "of both"))
    b = weft.randn(3, 3, dtype=weft.float64, requires_grad=grad in ("of the other", "of both"))
    leaves = [leaf for leaf in (a, b) if leaf.requires_grad]

    def made() -> tuple[weft.Tensor, weft.Tensor, weft.Tensor]:
        x = a * 2
        return x, b.sin(), x[1]

    def gradients(x: weft.Tensor) -> list[Any]:
        if not x.requires_grad:
            return []
        found = weft.autograd.grad((x * x).sum(), leaves, allow_unused=True)
        return [None if one is None else one.tolist() for one in found]

    x, y, row = made()
    untouched = x.tolist(), gradients(x)
    x, y, row = made()
    weft.manual_seed(1)
    write(x, y)
    expected = x.tolist(), row.tolist(), gradients(x), weft.rand(1).item()
    before: list[Any] = []

    def prepare() -> None:
        nonlocal x, y, row
        x, y, row = made()
        weft.manual_seed(1)
        before[:] = x._version, x.grad_fn, x.requires_grad

    for after in without_memory(lambda: write(x, y), prepare, count=count, least=0):
        assert x.tolist() == untouched[0], after
        assert row.tolist() == untouched[0][1], after
        assert [x._version, x.grad_fn, x.requires_grad] == before, after
        assert gradients(x) == untouched[1], after
        prepare()
        write(x, y)
        assert (x.tolist(), row.tolist(), gradients(x), weft.rand(1).item()) == expected, after


class Model(nn.Module):
    """Layers of many kinds, and a parameter that is used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(5, 4)
        self.conv = nn.Conv1d(4, 4, 3, padding=1)
        self.norm = nn.LayerNorm(4)
        self.batch_norm = nn.BatchNorm1d(4)
        self.lstm = nn.LSTM(4, 3, batch_first=True)
        self.linear = nn.Linear(3, 3)
        self.scale = nn.Parameter(weft.ones(1))

    def forward(self, words: weft.Tensor) -> weft.Tensor:
        x = self.embedding(words)
        x = self.norm(x + self.conv(x.mT).mT)
        x = self.batch_norm(x.mT).mT * self.scale
        y, (h, _) = self.lstm(nn.functional.dropout(x, 0.3))
        y = weft.cat([self.linear(y), self.linear(h.transpose(0, 1)) * self.scale], dim=1)
        y[:, 0] *= 2
        y = y.masked_fill(y > 1, 0.0).softmax(-1)
        return y.max(1).values.log().sum() + y[weft.tensor([0, 0])].std()


WORDS = [[0, 1, 2, 2], [3, 1, 0, 4]]


def held() -> list[int]:
    gc.collect()
    return [_core.live_nodes(), _core.live_bytes(), _core.pending_count()]


@pytest.fixture
def quick_collections() -> Iterator[None]:
    """Look at what is made from here on only."""
    gc.collect()
    gc.disable()
    gc.freeze()
    yield
    gc.unfreeze()
    gc.enable()


def values(tensors: Any) -> list[Any]:
    return [None if one is None else one.tolist() for one in tensors]


@pytest.mark.usefixtures("quick_collections")
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("first", [False, True], ids=["more", "first"])
def test_a_backward_that_fails_gives_a_leaf_all_or_nothing(first: bool, create_graph: bool) -> None:
    model, words = Model(), weft.tensor(WORDS)
    parameters = list(model.parameters())

    def loss() -> weft.Tensor:
        weft.manual_seed(1)
        return model(words)

    def prepare() -> None:
        for parameter in parameters:
            parameter.grad = None if first else weft.ones_like(parameter)

    def backward(loss: weft.Tensor) -> None:
        loss.backward(retain_graph=True, create_graph=create_graph)

    prepare()
    before = values(one.grad for one in parameters)
    backward(loss())
    expected = values(one.grad for one in parameters)
    prepare()
    there = held()
    once: Any = loss()
    for after in without_memory(lambda: backward(once), prepare, least=50):
        assert weft.is_grad_enabled()
        for parameter, old, new in zip(parameters, before, expected, strict=True):
            grad = None if parameter.grad is None else parameter.grad.tolist()
            assert grad in (old, new), after
        prepare()
        backward(once)  # what was saved is as it was
        assert values(one.grad for one in parameters) == expected, after
    once = None
    prepare()
    assert held() == there


@pytest.mark.usefixtures("quick_collections")
def test_a_forward_that_fails_leaves_nothing() -> None:
    model, words = Model(), weft.tensor(WORDS)
    state = {name: value.clone() for name, value in model.state_dict().items()}

    def outcome() -> list[Any]:
        model.load_state_dict(state)
        weft.manual_seed(1)
        loss = model(words)
        return [loss.item(), values(weft.autograd.grad(loss, list(model.parameters())))]

    expected = outcome()
    there = held()
    for after in without_memory(lambda: model(words), least=20):
        assert weft.is_grad_enabled()
        assert held() == there, after
        assert outcome() == expected, after
