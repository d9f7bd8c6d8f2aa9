"""Cells: one op a call, replayed, batched, and never stale."""

from __future__ import annotations

import copy
import inspect
import pickle
from functools import lru_cache, partial
from pathlib import Path

import pytest

import weft
from weft import nn


@weft.cell
def gate(x: weft.Tensor, y: weft.Tensor) -> tuple[weft.Tensor, weft.Tensor]:
    return x.sigmoid() * y.tanh(), x + y


def test_a_function_is_one_op_a_call() -> None:
    xs = [weft.randn(3) for _ in range(4)]
    with weft.lazy():
        results = [gate(x, x * 2) for x in xs]
    results[0][0].tolist()
    plain = [(x.sigmoid() * (x * 2).tanh(), x * 3) for x in xs]
    for (a, b), (c, d) in zip(results, plain, strict=True):
        assert weft.allclose(a, c)
        assert weft.allclose(b, d)


def test_cells_of_many_examples_run_together() -> None:
    w = weft.randn(3, requires_grad=True)
    xs = [weft.randn(3) for _ in range(5)]
    with weft.lazy():
        loss = weft.stack([gate(x * w, x)[0].sum() for x in xs]).sum()
    loss.backward()
    found = w.grad.clone()
    assert ("gate", 5) in [(b.op, b.rows) for b in weft.explain().plans[0].batches]
    w.grad = None
    weft.stack([((x * w).sigmoid() * x.tanh()).sum() for x in xs]).sum().backward()
    assert weft.allclose(found, w.grad, atol=1e-6)


def test_each_kind_of_call_has_a_program() -> None:
    @weft.cell
    def scale(x: weft.Tensor, factor: float) -> weft.Tensor:
        return x * factor

    assert scale(weft.ones(2), 2.0).tolist() == [2.0, 2.0]
    assert scale(weft.ones(2), 3.0).tolist() == [3.0, 3.0]
    assert scale(weft.ones(3), 3.0).tolist() == [3.0, 3.0, 3.0]
    assert len(scale.programs) == 2


def test_numbers_of_rows_differ() -> None:
    @weft.cell
    def scale(x: weft.Tensor, factor: float) -> weft.Tensor:
        return x * factor

    with weft.lazy():
        results = [scale(weft.ones(2) * i, i / 2) for i in range(4)]
    total = weft.stack(results).tolist()
    assert total == [[0.0, 0.0], [0.5, 0.5], [2.0, 2.0], [4.5, 4.5]]


def test_a_body_that_reads_a_value_runs_as_it_is() -> None:
    @weft.cell
    def choose(x: weft.Tensor) -> weft.Tensor:
        return x * 2 if x.sum().item() > 0 else x - 1

    assert choose(weft.ones(2)).tolist() == [2.0, 2.0]
    assert choose(-weft.ones(2)).tolist() == [-2.0, -2.0]
    assert "reads a value" in choose.note


def test_random_bodies_run_as_they_are() -> None:
    @weft.cell
    def noisy(x: weft.Tensor) -> weft.Tensor:
        return x + weft.rand(2)

    assert noisy(weft.ones(2)).tolist() != noisy(weft.ones(2)).tolist()


@pytest.mark.parametrize("kind", [nn.LSTMCell, nn.GRUCell])
def test_recurrent_cells_equal_their_bodies(kind: type[nn.Module]) -> None:
    module = kind(4, 3)
    body = kind.forward.__wrapped__
    x = weft.randn(2, 4)
    found, expected = module(x), body(module, x)
    for a, b in zip(weft.pytree.tree_leaves(found), weft.pytree.tree_leaves(expected), strict=True):
        assert weft.equal(a, b)


def test_what_changes_in_the_module_is_seen() -> None:
    @weft.cell
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(weft.ones(2))
            self.factor = 2.0

        def forward(self, x: weft.Tensor) -> weft.Tensor:
            y = x * self.weight * self.factor
            return y if self.training else -y

    module = Scaled()
    x = weft.ones(2)
    assert module(x).tolist() == [2.0, 2.0]
    module.factor = 3.0
    assert module(x).tolist() == [3.0, 3.0]
    module.eval()
    assert module(x).tolist() == [-3.0, -3.0]
    with weft.no_grad():
        module.weight.mul_(2)
    assert module(x).tolist() == [-6.0, -6.0]
    module.weight = nn.Parameter(weft.zeros(2))
    assert module(x).tolist() == [0.0, 0.0]
    module.weight.data = weft.ones(2)
    assert module(x=x).tolist() == [-3.0, -3.0]
    assert copy.deepcopy(module)(x).tolist() == [-3.0, -3.0]
    assert pickle.loads(pickle.dumps(nn.LSTMCell(2, 2)))(weft.ones(2))[0].shape == (2,)


def test_a_binary_tree_cell_is_its_formula() -> None:
    weft.manual_seed(0)
    module = nn.TreeLSTMCell(3, 4).double()
    own = weft.randn(2, 3, dtype=weft.float64)
    states = weft.randn(4, 2, 4, dtype=weft.float64, requires_grad=True)

    def formula(states: weft.Tensor) -> tuple[weft.Tensor, weft.Tensor]:
        gates = module.state_gates(weft.cat([states[0], states[2]], -1)) + module.input_gates(own)
        i, left, right, u, o = gates.chunk(5, -1)
        memory = i.sigmoid() * u.tanh() + left.sigmoid() * states[1] + right.sigmoid() * states[3]
        return o.sigmoid() * memory.tanh(), memory

    def by_cell(states: weft.Tensor) -> tuple[weft.Tensor, weft.Tensor]:
        return module(own, ((states[0], states[1]), (states[2], states[3])))

    for found, expected in zip(by_cell(states), formula(states), strict=True):
        assert weft.allclose(found, expected)
        (a,) = weft.autograd.grad(found.sum(), states, retain_graph=True)
        (b,) = weft.autograd.grad(expected.sum(), states, retain_graph=True)
        assert weft.allclose(a, b)
    assert weft.autograd.gradcheck(by_cell, (states,))
    assert weft.autograd.gradgradcheck(by_cell, (states,))


@pytest.mark.parametrize("child_sum", [False, True])
def test_tree_cells_learn_the_same_lazily(child_sum: bool) -> None:
    weft.manual_seed(0)
    module = nn.TreeLSTMCell(3, 4, child_sum=child_sum)
    inputs = [weft.randn(3) for _ in range(7)]

    def state(i: int) -> tuple[weft.Tensor, weft.Tensor]:
        if i >= 3:
            return inputs[i].sum() * weft.ones(4), weft.ones(4)
        return module(inputs[i], (state(2 * i + 1), state(2 * i + 2)))

    state(0)[0].sum().backward()
    expected = [p.grad.clone() for p in module.parameters()]
    module.zero_grad()
    with weft.lazy():
        loss = state(0)[0].sum()
    loss.backward()
    for p, gradient in zip(module.parameters(), expected, strict=True):
        assert weft.allclose(p.grad, gradient, atol=1e-6)


@weft.cell
class Doubled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.factor = 2.0

    def forward(self, x: weft.Tensor) -> weft.Tensor:
        """Multiply."""
        return x * self.factor


def test_a_shallow_copy_has_a_cell_of_its_own() -> None:
    module = Doubled()
    x = weft.ones(2)
    assert module(x).tolist() == [2.0, 2.0]
    other = copy.copy(module)
    other.factor = 5.0
    assert other(x).tolist() == [5.0, 5.0]
    assert module(x).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("as_cell", [True, False])
def test_a_forward_may_call_that_of_the_class_below(as_cell: bool) -> None:
    class More(Doubled):
        def forward(self, x: weft.Tensor) -> weft.Tensor:
            return super().forward(x) + 1

    module = (weft.cell(More) if as_cell else More)()
    xs = [weft.ones(2) * i for i in range(3)]
    with weft.lazy():
        results = [module(x) for x in xs]
    assert weft.stack(results).tolist() == [[1.0, 1.0], [3.0, 3.0], [5.0, 5.0]]
    parts = [batch.op for batch in weft.explain().plans[0].batches]
    assert ("add" in parts) == (not as_cell)


def test_the_forward_of_a_cell_class_looks_like_its_body() -> None:
    forward = Doubled.forward
    assert (forward.__name__, forward.__doc__) == ("forward", "Multiply.")
    assert list(inspect.signature(forward).parameters) == ["self", "x"]
    assert list(inspect.signature(Doubled().forward).parameters) == ["x"]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Doubled()()
    with pytest.raises(TypeError, match="self"):
        forward()


def test_hooks_of_a_cell_are_called() -> None:
    module = Doubled()
    module(weft.ones(2))
    seen = []
    handle = module.register_forward_hook(lambda _module, _args, output: seen.append(output))
    module(weft.ones(2))
    handle.remove()
    module(weft.ones(2))
    assert [output.tolist() for output in seen] == [[2.0, 2.0]]


def test_what_a_body_kept_where_nobody_sees_it_has_no_values() -> None:
    store = lru_cache(list[weft.Tensor])

    @weft.cell
    def keep(x: weft.Tensor) -> weft.Tensor:
        store().append(x)
        return x * 2

    keep(weft.ones(3))
    assert keep.note == "its body keeps tensors for later"
    assert store()[-1].tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(ValueError, match="has no values"):
        weft.zeros(3).add_(store()[0])


def test_check_finds_a_body_that_is_not_pure(tmp_path: Path) -> None:
    file = str(tmp_path / "number")
    Path(file).write_text("1")

    def body(x: weft.Tensor) -> tuple[weft.Tensor, weft.Tensor]:
        return x * 2, x + float(Path(file).read_text())

    x = weft.ones(2, requires_grad=True)
    free, watched = weft.cell(body), weft.cell(check=1.0)(body)
    assert free(x)[1].tolist() == watched(x)[1].tolist() == [2.0, 2.0]
    Path(file).write_text("5")
    assert free(x)[1].tolist() == [2.0, 2.0]  # as it was when it was looked at
    with pytest.raises(RuntimeError, match=r"cell body: the body gives another result 1 .* pure"):
        watched(x)


def test_check_looks_at_a_share_of_the_calls(capsys: pytest.CaptureFixture[str]) -> None:
    @weft.cell(check=0.25)
    class Doubled(weft.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = weft.nn.Linear(2, 2)

        def forward(self, x: weft.Tensor) -> weft.Tensor:
            print("runs")
            return self.linear(x) * 2

    module = Doubled()
    for _ in range(8):
        y = module(weft.ones(2))
    assert y.requires_grad
    assert weft.allclose(y, module.linear(weft.ones(2)) * 2)
    # Twice to see what it is made of, then for the first and the fifth call.
    assert capsys.readouterr().out.split() == ["runs"] * 4
    double = weft.cell(partial(weft.mul, 2.0), check=1.0)
    assert double(weft.ones(2)).tolist() == [2.0, 2.0]
    with pytest.raises(ValueError, match="check must be between 0 and 1, not 2"):
        weft.cell(check=2)


def test_what_cannot_be_a_cell_is_refused() -> None:
    for target in (3, dict):
        with pytest.raises(TypeError, match="a function or a class of modules"):
            weft.cell(target)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="width must be an integer"):
        weft.map(abs, [1], width="a")  # type: ignore[arg-type]


def test_a_body_that_maps() -> None:
    def inner(x: weft.Tensor) -> weft.Tensor:
        return (x / 2 - weight).sum()

    weight = weft.randn(2)
    outer = weft.cell(lambda rows: weft.map(inner, list(rows), width=3))
    xs = [weft.randn(5, 2) for _ in range(4)]
    expected = [[inner(row) for row in x] for x in xs]
    for got in (weft.map(outer, xs), weft.map(lambda x: outer(x), xs), [outer(x) for x in xs]):  # noqa: PLW0108
        for results, right in zip(got, expected, strict=True):
            assert weft.allclose(weft.stack(results), weft.stack(right))
    assert outer.note == "its body draws random numbers"  # which the map's streams follow from
