"""Wherever memory runs out, the program hears of it, and everything is as it was."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import weft
from tests.no_memory import ALWAYS, without_memory
from weft import _core, func, nn
from weft.batching import mapping, replaying
from weft.batching.replaying import Mapped
from weft.batching.worth import Engine

pytestmark = pytest.mark.filterwarnings("ignore:more than 20 plans")

Data = list[Any]


class Program:
    """Tensors that live on, what is done with them, and what must be as it was if that fails."""

    def __init__(self) -> None:
        weft.manual_seed(0)
        self.weight = weft.randn(3, 3, dtype=weft.float64, requires_grad=True)
        self.bias = weft.randn(3, dtype=weft.float64, requires_grad=True)
        self.leaves = [self.weight, self.bias]
        self.rows = [weft.randn(3, dtype=weft.float64) for _ in range(3)]

    def run(self) -> Any:
        raise NotImplementedError

    def reset(self) -> None:
        """Undo what a run that succeeds changes, and one that fails may have changed."""
        for leaf in self.leaves:
            leaf.grad = None

    def gradients(self) -> Data:
        return [None if leaf.grad is None else leaf.grad.tolist() for leaf in self.leaves]


def step(x: weft.Tensor, program: Program) -> weft.Tensor:
    y = (program.weight @ x + program.bias).tanh()
    if y.sum() > 0:
        y = y * 2 + weft.rand(3)
    return (y * x).sum()


class Maps(Program):
    """A map whose examples read values, and backward through all of them."""

    function: Callable[[weft.Tensor, Program], Any] = staticmethod(step)
    times = 1
    options: dict[str, Any] = {"replay": False}  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self.make()

    def make(self) -> None:
        function = self.function
        self.mapped: Any = lambda x: function(x, self)

    def run(self) -> Any:
        results: Data = []
        for _ in range(self.times):
            losses = weft.map(self.mapped, self.rows, **self.options)
            weft.stack([loss.sum() for loss in losses]).sum().backward()
            results += losses
        return results


class Nested(Maps):
    @staticmethod
    def function(x: weft.Tensor, program: Program) -> weft.Tensor:
        parts = weft.map(lambda y: step(y, program), [x, x + 1], replay=False)
        return parts[0] + parts[1] if parts[0] > parts[1] else parts[0]


class Equal(Maps):
    """Examples that compute the same, some of which they write into."""

    @staticmethod
    def function(x: weft.Tensor, program: Program) -> weft.Tensor:
        same = program.weight * 2
        part = same[0] + program.bias
        if same.sum() > 100:
            return part.sum()
        same[1] = x
        part.mul_(2)
        return (same @ x).sum() + part.sum()


class Gradients(Maps):
    @staticmethod
    def function(x: weft.Tensor, program: Program) -> weft.Tensor:
        x = x.clone().requires_grad_()
        loss = (program.weight @ x).sigmoid().square().sum()
        (gradient,) = weft.autograd.grad(loss, x, create_graph=True)
        return (gradient * x).sum() if gradient.sum() > 0 else (gradient * gradient).sum()


class Writes(Maps):
    @staticmethod
    def function(x: weft.Tensor, program: Program) -> weft.Tensor:
        y = program.weight @ x
        y.mul_(2).add_(program.bias)
        y[1:] += 1
        z = weft.zeros(3, dtype=weft.float64)
        z[0] = y.sum()
        if z[0] > 0:
            z.index_add_(0, weft.tensor([0, 2]), y[:2])
        y.tanh_()
        return (z * y).sum()


class Vmaps(Maps):
    @staticmethod
    def function(x: weft.Tensor, program: Program) -> weft.Tensor:
        found = weft.vmap(lambda row, k: (row * k).exp().sum())(program.weight, x)
        return found.sum() * 2 if found.sum() > 0 else found.mean()


class PerSample(Program):
    """vmap of grad, and backward through it."""

    def run(self) -> Any:
        def loss(weight: weft.Tensor, x: weft.Tensor) -> weft.Tensor:
            y = weight @ x
            y = y.index_add(0, weft.tensor([0]), x[:1])
            return y.tanh().square().sum()

        found = weft.vmap(func.grad(loss), in_dims=(None, 0))(self.weight, weft.stack(self.rows))
        (found.square().sum() + self.bias.sum()).backward()
        return found


class Replays(Maps):
    times = 2
    options: dict[str, Any] = {}  # noqa: RUF012

    @staticmethod
    def function(x: weft.Tensor, program: Program) -> weft.Tensor:
        y = (program.weight @ x + program.bias).tanh()
        return (y * 2).sum() if y.sum() > 0 else (y * x).sum()


class Declares(Maps):
    def make(self) -> None:
        @weft.cell(check=1.0)
        def cell(weight: weft.Tensor, x: weft.Tensor) -> weft.Tensor:
            y = (weight @ x).tanh()
            return y * 3 if y.sum() > 0 else y - x

        self.mapped = lambda x: (cell(self.weight, x) + cell(self.weight * 2, x) * self.bias).sum()


class Scopes(Program):
    def run(self) -> Any:
        with weft.lazy():
            rows = [(self.weight @ x + self.bias).tanh() for x in self.rows]
            total = rows[0] * 0
            for row in rows:
                total += row if row.sum() > 0 else row * 2
            mean = total.mean()
            view = total[:2]
            total.mul_(2)
        (mean + view.sum()).backward()
        return [total, mean, *rows]


class Layers(Maps):
    """Rows of weights' gradients wait for one another; examples go different ways."""

    def make(self) -> None:
        embedding, layer = nn.Embedding(2, 3).double(), nn.Linear(3, 3).double()
        self.leaves += [*embedding.parameters(), *layer.parameters()]

        def forward(x: weft.Tensor) -> weft.Tensor:
            h = embedding((x[0] > 0).long())
            for i in range(3):
                h = layer(h + x).tanh()
                if h.sum() > 0.3 * i:
                    h = layer(nn.functional.dropout(h, 0.5))
            first, second, _ = h.unbind(0)
            return first * second + h.max(0).values

        self.mapped = forward


class Parts(Maps):
    """Several backwards, which reach some rows each."""

    def run(self) -> Any:
        def forward(x: weft.Tensor) -> tuple[weft.Tensor, ...]:
            y = self.weight @ x
            z = (y * self.bias).exp()
            return y, z / z.sum() if z.sum() > 3 else z

        rows = weft.map(forward, self.rows, **self.options)
        (rows[0][0].sum() + rows[1][1].sum()).backward(retain_graph=True)
        (rows[2][0][0] * rows[0][1].sum()).backward(retain_graph=True)
        loss = rows[1][0].sum() * rows[0][1].sum()
        first, second = weft.autograd.grad(loss, self.leaves, create_graph=True)
        (first.square().sum() + second.square().sum()).backward()
        return rows


PROGRAMS = {
    "map": Maps,
    "nested": Nested,
    "equal": Equal,
    "gradients": Gradients,
    "writes": Writes,
    "vmap": Vmaps,
    "per sample": PerSample,
    "replayed": Replays,
    "declared": Declares,
    "lazy": Scopes,
    "layers": Layers,
    "parts": Parts,
}


def plain_data(found: Any) -> Any:
    if isinstance(found, weft.Tensor):
        return found.tolist()
    return [plain_data(item) for item in found] if isinstance(found, (list, tuple)) else found


def numbers_in(data: Any) -> Data:
    if isinstance(data, list):
        return [number for item in data for number in numbers_in(item)]
    return [] if data is None else [data]


def modes() -> dict[str, Any]:
    """Return what a program may switch and must put back."""
    return {
        "grad": weft.is_grad_enabled(),
        "modes": _core.describe_modes(),
        "dtype": weft.get_default_dtype(),
        "hub": mapping._running.hub,
    }


def held() -> dict[str, Any]:
    """Return what there is in memory."""
    return {
        "pending": _core.pending_count(),
        "nodes": _core.live_nodes(),
        "bytes": _core.live_bytes(),
    }


@pytest.fixture(autouse=True)
def quick_collections() -> Iterator[None]:
    """Collect garbage when asked only, and look at what is made from here on only."""
    gc.collect()
    gc.disable()
    gc.freeze()
    yield
    gc.unfreeze()
    gc.enable()
    gc.collect()


@pytest.mark.parametrize("count", [1, ALWAYS], ids=["once", "from then on"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_memory_runs_out(name: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mapped, "warm", 2)
    monkeypatch.setattr(replaying, "_is_traced", lambda: False)
    monkeypatch.setattr(Engine, "settle", lambda *_: None)  # tasks go on after an error
    program = PROGRAMS[name]()

    def outcome() -> Data:
        program.reset()
        weft.manual_seed(0)
        found = [plain_data(program.run()), program.gradients(), weft.rand(2).tolist()]
        program.reset()
        return found

    expected = outcome()
    for _ in range(4):  # what is remembered of code is known from here on
        expected = outcome()
    before = modes()
    gc.collect()
    there = held()
    found: Data = []

    def prepare() -> None:
        program.reset()
        found.clear()
        weft.manual_seed(0)

    def run() -> None:
        found.append(plain_data(program.run()))

    failed = 0
    for after in without_memory(run, prepare, count=count):
        assert modes() == before, after
        if found:
            # One by one where they would run together: sums may be rounded otherwise.
            found += [program.gradients(), weft.rand(2).tolist()]
            assert numbers_in(found) == pytest.approx(numbers_in(expected), rel=1e-12), after
        else:
            failed += 1
        program.reset()
        if held() != there:
            gc.collect()
        assert held() == there, after
        assert outcome() == expected, after
    assert failed > 5


@pytest.mark.parametrize("count", [1, 2, 4, ALWAYS])
@pytest.mark.parametrize("grad", [False, True])
def test_equal_values_do_not_stay_one(grad: bool, count: int) -> None:
    """They are computed once; where there is no memory to part them, they part before a write."""
    weight, x = weft.rand(3, 3, requires_grad=grad), weft.rand(3)
    expected = (weight @ x).tolist()
    same: list[weft.Tensor] = []
    views: list[weft.Tensor] = []
    others: list[weft.Tensor] = []

    def prepare() -> None:
        with weft.lazy():
            same[:] = [weight @ x for _ in range(3)]
            views[:] = [one[1:] for one in same]
            others[:] = [(one.exp() + i).sum() for i, one in enumerate(same)]

    for after in without_memory(
        lambda: _core.run_tensors([*same, *views, *others]), prepare, count=count, least=5
    ):
        with weft.no_grad():
            same[0].mul_(2)
            views[1].mul_(4)
        assert same[0].tolist() == [2 * item for item in expected], after
        assert same[1].tolist() == [expected[0], *(4 * item for item in expected[1:])], after
        assert same[2].tolist() == expected, after
        assert [one.tolist() for one in views] == [one.tolist()[1:] for one in same], after


def test_a_row_stays_one_of_its_batch_until_it_has_memory_of_its_own() -> None:
    weight = weft.rand(3, 3, requires_grad=True)

    def made() -> list[weft.Tensor]:
        return weft.map(lambda x: (weight @ x).tanh(), [weft.ones(3) * i for i in range(4)])

    rows = made()

    def prepare() -> None:
        rows[:] = made()

    for _ in without_memory(lambda: rows[0].detach().zero_(), prepare):
        rows[0].detach().zero_()
        for row in rows[1:]:
            row.sum().backward()
