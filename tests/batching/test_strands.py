"""Strands: ops that follow one another again and again are pending as one."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

import weft
from weft import _core, nn
from weft.batching.explaining import Batch

pytestmark = [
    pytest.mark.strands,
    pytest.mark.filterwarnings("ignore:more than 20 plans in a row"),
]


def last_batches() -> list[Batch]:
    """Return the batches of the plan that ran last."""
    return weft.explain().plans[-1].batches


def in_strands(
    fn: Callable[[weft.Tensor], weft.Tensor], xs: list[weft.Tensor]
) -> list[weft.Tensor]:
    """Return each result, computed together, after the lines of `fn` have become known."""
    for _ in range(3):
        with weft.lazy():
            ys = [fn(x) for x in xs]
        sum(y.sum() for y in ys).item()
    with weft.lazy():
        return [fn(x) for x in xs]


def gate(x: weft.Tensor) -> weft.Tensor:
    a, b = x.chunk(2, -1)
    c = a.sigmoid() * b.tanh()
    return c * 2 + a


def test_ops_of_the_same_lines_become_one() -> None:
    xs = [weft.randn(8) for _ in range(20)]
    ys = in_strands(lambda x: gate(-x), xs)
    weft.stack(ys).tolist()
    assert [(b.op, b.rows) for b in last_batches()] == [("neg..add (7 ops)", 20)]
    for x, y in zip(xs, ys, strict=True):
        assert weft.allclose(y, gate(-x))


def test_gradients_and_what_a_row_shows() -> None:
    xs = [weft.randn(8, requires_grad=True) for _ in range(12)]
    ys = in_strands(gate, xs)
    weft.stack(ys).square().sum().backward()
    for x, y in zip(xs, ys, strict=True):
        plain = x.detach().requires_grad_()
        gate(plain).square().sum().backward()
        assert weft.allclose(x.grad, plain.grad, atol=1e-6)
        assert y.grad_fn.name() == "AddBackward0"
        assert [fn.name() for fn, _ in y.grad_fn.next_functions] == [
            "MulBackward0",
            "SplitBackward0",
        ]


def test_each_op_knows_its_own_line() -> None:
    def two_lines(x: weft.Tensor) -> weft.Tensor:
        y = x.exp()
        return y * x

    ys = in_strands(two_lines, [weft.randn(3, requires_grad=True) for _ in range(9)])
    weft.stack(ys).sum().item()
    first = two_lines.__code__.co_firstlineno
    fn = ys[4].grad_fn
    assert _core.resolve_position(fn._position)[1] == first + 2
    assert _core.resolve_position(fn.next_functions[0][0]._position)[1] == first + 1


def test_a_strand_ends_where_the_data_decides() -> None:
    def branching(x: weft.Tensor) -> weft.Tensor:
        y = x.exp().neg()
        return y.tanh() * 3 if len(x) == 4 else y.sin() + 1

    xs = [weft.randn(4 + i % 2) for i in range(16)]
    ys = in_strands(branching, xs)
    total = sum(y.sum() for y in ys)
    expected = sum(branching(x).sum().item() for x in xs)
    assert total.item() == pytest.approx(expected, rel=1e-5)


def test_recursion_is_cut_into_what_always_comes_together() -> None:
    class Fold(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.leaf = nn.Linear(3, 4)
            self.inner = nn.Linear(8, 4)

        def forward(self, tree: object) -> weft.Tensor:
            if isinstance(tree, tuple):
                return self.inner(weft.cat([self(tree[0]), self(tree[1])])).tanh().square()
            return self.leaf(tree).sigmoid().exp()

    def tree(depth: int) -> object:
        return weft.randn(3) if depth == 0 else (tree(depth - 1), tree(max(depth - 2, 0)))

    model = Fold()
    trees = [tree(depth) for depth in (2, 3, 4, 5) for _ in range(4)]
    for _ in range(6):
        with weft.lazy():
            loss = weft.stack([model(t) for t in trees]).sum()
        loss.item()
    names = {b.op for b in last_batches()}
    assert names == {"linear..exp (3 ops)", "cat..square (4 ops)", "stack", "sum"}
    eager = sum(model(t).sum().item() for t in trees)
    assert loss.item() == pytest.approx(eager, rel=1e-5)
    model.zero_grad()
    loss.backward()
    found = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    sum(model(t).sum() for t in trees).backward()
    for p, gradient in zip(model.parameters(), found, strict=True):
        assert weft.allclose(p.grad, gradient, atol=1e-4)


def test_a_loop_whose_rounds_vary_is_cut_into_rounds() -> None:
    w = weft.randn(4, 4, requires_grad=True)

    def loop(x: weft.Tensor, rounds: int) -> weft.Tensor:
        for _ in range(rounds):
            x = (w @ x).tanh() + x
        return x

    xs = [weft.randn(4) for _ in range(20)]
    rounds = [1 + i % 5 for i in range(20)]
    for _ in range(8):
        with weft.lazy():
            ys = [loop(x, n) for x, n in zip(xs, rounds, strict=True)]
        weft.stack(ys).sum().item()
    ran = [(b.op, b.rows) for b in last_batches() if "ops" in b.op]
    assert ran == [("mv..add (3 ops)", rows) for rows in (20, 16, 12, 8, 4)]


def test_a_long_loop_is_cut_even_if_it_never_varies() -> None:
    def loop(x: weft.Tensor) -> weft.Tensor:
        for _ in range(500):
            x = x.tanh() + 1
        return x

    x = weft.randn(4)
    for _ in range(3):
        with weft.lazy():
            y = loop(x)
        assert weft.allclose(y, loop(x))
    assert all(b.rows == 1 for b in last_batches())
    assert 8 <= len(last_batches()) <= 200


def test_what_nobody_holds_does_not_run() -> None:
    def wasteful(x: weft.Tensor) -> weft.Tensor:
        y = x.exp()
        y.cumsum(0)
        return y.neg()

    xs = [weft.randn(3) for _ in range(8)]
    ys = in_strands(wasteful, xs)
    before = weft.explain().skipped
    weft.stack(ys).tolist()
    assert last_batches()[0].op == "exp..neg (3 ops)"
    assert weft.explain().skipped == before + 8


def test_a_value_in_the_middle_can_be_asked_for() -> None:
    def with_middle(x: weft.Tensor) -> tuple[weft.Tensor, weft.Tensor]:
        y = x.exp()
        return y, y.neg() * 2

    xs = [weft.randn(3, requires_grad=True) for _ in range(6)]
    for _ in range(4):
        with weft.lazy():
            pairs = [with_middle(x) for x in xs]
        weft.stack([y for _, y in pairs]).sum().item()
    middle, end = pairs[2]
    assert weft.allclose(middle, xs[2].exp())
    (gradient,) = weft.autograd.grad(end.sum(), middle)
    assert weft.allclose(gradient, weft.full((3,), -2.0))


def test_hooks_and_retained_gradients_inside() -> None:
    seen: list[weft.Tensor] = []

    def hooked(x: weft.Tensor) -> tuple[weft.Tensor, weft.Tensor]:
        y = x.exp()
        y.register_hook(seen.append)
        y.retain_grad()
        return y, (y * 3).sum()

    xs = [weft.randn(3, requires_grad=True) for _ in range(6)]
    for _ in range(4):
        seen.clear()
        with weft.lazy():
            pairs = [hooked(x) for x in xs]
        weft.stack([loss for _, loss in pairs]).sum().backward()
    assert len(seen) == 6
    assert all(weft.equal(g, weft.full((3,), 3.0)) for g in seen)
    assert all(weft.equal(y.grad, weft.full((3,), 3.0)) for y, _ in pairs)


def test_numbers_may_differ_from_row_to_row() -> None:
    def scaled(pair: tuple[weft.Tensor, float]) -> weft.Tensor:
        x, by = pair
        return (x.exp() * by).neg() + 1

    pairs = [(weft.randn(3), float(i % 3)) for i in range(9)]
    for _ in range(4):
        with weft.lazy():
            ys = [scaled(pair) for pair in pairs]
        weft.stack(ys).sum().item()
    assert last_batches()[0].rows == 9
    for pair, y in zip(pairs, ys, strict=True):
        assert weft.allclose(y, scaled(pair))


def test_a_number_that_is_refused_is_refused() -> None:
    def divide(x: weft.Tensor, by: int) -> weft.Tensor:
        return (x + 1) // by

    x = weft.tensor([4, 6])
    for _ in range(6):
        with weft.lazy():
            y = divide(x, 2)
        y.tolist()
    with weft.lazy(), pytest.raises(weft.ArgumentError, match="divided by zero"):
        divide(x, 0)


def test_the_same_at_two_lines_runs_together() -> None:
    layer = nn.Sequential(nn.Linear(3, 3), nn.Tanh())

    def pair(x: weft.Tensor) -> weft.Tensor:
        a = layer(x)
        b = layer(x * 2)
        return a + b

    xs = [weft.randn(3) for _ in range(10)]
    ys = in_strands(pair, xs)
    weft.stack(ys).sum().item()
    assert sum("linear" in b.op for b in last_batches()) <= 2
    for x, y in zip(xs, ys, strict=True):
        assert weft.allclose(y, pair(x), atol=1e-6)


def test_an_error_of_a_value_names_the_op_s_line_and_the_example() -> None:
    table = weft.randn(5, 3)

    def look_up(i: weft.Tensor) -> weft.Tensor:
        j = i + 1
        return nn.functional.embedding(j, table)

    good = [weft.tensor(i % 4) for i in range(8)]
    for _ in range(5):
        weft.stack(weft.map(look_up, good)).sum().item()
    bad = [*good[:3], weft.tensor(40), *good[3:]]
    line = look_up.__code__.co_firstlineno + 2
    with pytest.raises(IndexError, match=rf"test_strands.py:{line}, example 3"):
        weft.stack(weft.map(look_up, bad)).sum().item()


def test_work_that_repeats_runs_once() -> None:
    x = weft.randn(4)
    for _ in range(5):
        with weft.lazy():
            total = weft.zeros(4)
            for _ in range(50):
                total = total + (x.exp() + 1)
        total.tolist()
    assert sum(b.rows for b in last_batches() if "exp" in b.op) <= 2
    assert weft.allclose(total, 50 * (x.exp() + 1), rtol=1e-4)


def test_pending_ops_are_counted_as_ops() -> None:
    gc.collect()  # what errors of other tests still hold
    x = weft.randn(3)
    others = weft.explain().pending
    for _ in range(6):
        with weft.lazy():
            y = x.exp().neg().tanh()
            assert weft.explain().pending == others + 3
        y.tolist()
    before = weft.explain().skipped
    with weft.lazy():
        y = x.exp().neg().tanh()
    del y
    assert weft.explain().skipped == before + 3
    assert weft.explain().pending == others


def test_examples_of_a_map_do_not_mix() -> None:
    def act(x: weft.Tensor) -> weft.Tensor:
        y = x.exp() * 2
        while y.sum().item() > 5:
            y = (y / 2).tanh() * 3 - 1
        return y + 1

    xs = [weft.randn(3) for _ in range(12)]
    for _ in range(4):
        found = weft.map(act, xs)
    for a, b in zip(found, weft.map(act, xs, batch=False), strict=True):
        assert weft.allclose(a, b, atol=1e-6)


def test_memory_limit_runs_what_is_open() -> None:
    before = weft.batching.set_memory_limit(4096)
    try:
        ys = in_strands(gate, [weft.randn(64) for _ in range(40)])
        values = [y.tolist() for y in ys]
    finally:
        weft.batching.set_memory_limit(before)
    assert len(values) == 40


def five(x: weft.Tensor, y: weft.Tensor) -> weft.Tensor:
    return ((x * y + x) * 0.5 - y).tanh() * x


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.float16])
@pytest.mark.parametrize("shapes", [((300, 40), (300, 40)), ((300, 40), (40,)), ((7, 1), (1, 900))])
def test_one_pass_over_memory_gives_what_single_ops_give(
    shapes: tuple[tuple[int, ...], tuple[int, ...]], dtype: weft.dtype
) -> None:
    # Small, or sums of squares would be too large for float16.
    x, y = ((weft.randn(shape) * 0.2).to(dtype).requires_grad_() for shape in shapes)
    eager = five(x, y)
    expected = weft.autograd.grad(eager.sum(), (x, y), create_graph=True)
    seconds = weft.autograd.grad(expected[0].square().sum(), (x, y))
    for _ in range(2):
        with weft.lazy():
            z = five(x, y)
            loss = z.sum()
        found = weft.autograd.grad(loss, (x, y), create_graph=True)
        assert weft.equal(z, eager)
        for a, b in zip(found, expected, strict=True):
            assert weft.allclose(a, b, rtol=1e-3, atol=1e-3)
        for a, b in zip(weft.autograd.grad(found[0].square().sum(), (x, y)), seconds, strict=True):
            assert weft.allclose(a, b, rtol=1e-2, atol=1e-2)


def test_large_tensors_are_a_strand_at_once() -> None:
    before = _core.set_strand_threshold(100)
    try:
        x, y = weft.randn(1 << 17), weft.randn(1 << 17)
        with weft.lazy():
            z = five(x, y)
        assert weft.equal(z, five(x, y))
    finally:
        _core.set_strand_threshold(before)
    assert [b.op for b in last_batches()] == ["mul..mul (6 ops)"]


def test_what_one_pass_does_not_write_is_not_kept() -> None:
    x = weft.randn(1 << 18)
    with weft.lazy():
        z = five(x, x)
    z[0].item()
    with weft.lazy():
        a = x * 2 + 1
        b = a.neg() * 3
    assert weft.equal(b, (x * 2 + 1).neg() * 3)
    assert weft.equal(a, x * 2 + 1)


def test_a_saved_result_can_be_packed_and_changed_in_place_is_noticed() -> None:
    x = weft.randn(5000, requires_grad=True)
    with weft.lazy():
        y = (x * 2).exp()
        z = (y + 1).square().sum()
    z.item()
    with weft.no_grad():
        y.mul_(2)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation|in place"):
        z.backward()


class Pairs(nn.Module):
    """Pairs of states, down to numbers: what comes before its parameters reads none."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(10, 4)
        self.both = nn.Linear(8, 8)

    def state(self, tree: Any) -> weft.Tensor:
        if isinstance(tree, int):
            return self.embed(weft.tensor(tree)).tanh()
        x = weft.cat([self.state(tree[0]), self.state(tree[1])])
        a, b = self.both(x).chunk(2)
        return a.sigmoid() * b.tanh()

    def forward(self, tree: Any) -> weft.Tensor:
        return self.state(tree).sum()


def test_another_model_of_the_class_takes_no_batch_apart() -> None:
    trees = [((1, 2), (3, 4)), (5, (6, 7)), ((1, (8, 9)), 2), ((3, 4), 5)] * 4
    found: list[int] = []
    models = [Pairs() for _ in range(4)]
    for model in [*models, models[0], models[2]]:
        for _ in range(4):
            losses = weft.map(model, trees, replay=False)
            weft.stack(losses).sum().backward()
        found.append(len(last_batches()))
        for loss, tree in zip(losses, trees, strict=True):
            assert weft.allclose(loss, model(tree), atol=1e-6)
    assert found == [found[0]] * 6


def test_modules_that_examples_choose_leave_what_comes_before_together() -> None:
    trunk, ways = nn.Linear(4, 4), nn.ModuleList(nn.Linear(4, 4) for _ in range(4))

    def choose(x: weft.Tensor, which: int) -> weft.Tensor:
        return ways[which](trunk(x).tanh()).sum()

    xs = [weft.randn(4) for _ in range(16)]
    for _ in range(6):
        with weft.lazy():
            ys = [choose(x, i % 4) for i, x in enumerate(xs)]
        weft.stack(ys).sum().item()
    first = [batch.rows for batch in last_batches() if "linear" in batch.op]
    assert sorted(first) == [4, 4, 4, 4, 16]


def test_explain_says_why_strands_are_apart() -> None:
    first, layers = nn.Linear(3, 3), [nn.Linear(3, 3), nn.Linear(3, 3)]

    def either(x: weft.Tensor, which: int) -> weft.Tensor:
        y = first(x.exp())
        return layers[which](y).tanh()

    xs = [weft.randn(3 if i % 4 else 1).expand(3) for i in range(16)]
    for _ in range(6):
        with weft.lazy():
            ys = [either(x, i % 2) for i, x in enumerate(xs)]
        weft.stack(ys).sum().item()
    notes = {b.note for b in last_batches()}
    assert "apart: weight of linear is another parameter" in notes
    assert "apart: the strides of input of exp differ" in notes
