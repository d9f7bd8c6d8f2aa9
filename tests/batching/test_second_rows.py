"""Gradients of gradients of a map's results, asked for from outside: examples stay apart."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import pytest

import weft
from weft import nn

pytestmark = [
    pytest.mark.filterwarnings("ignore:more than 20 plans in a row:RuntimeWarning"),
    pytest.mark.python,
]

Function = Callable[[weft.Tensor], weft.Tensor]
WAYS = ["eager", "map", "lazy"]


def run_all(function: Function, xs: list[Any], way: str) -> list[weft.Tensor]:
    if way != "lazy":
        return weft.map(function, xs, batch=way == "map")
    with weft.lazy():
        results = [function(x) for x in xs]
        weft.stack(results).tolist()  # runs all in one plan
    return results


def leaves(*numbers: float, shape: tuple[int, ...] = ()) -> list[weft.Tensor]:
    return [weft.full(shape, number, dtype=weft.float64, requires_grad=True) for number in numbers]


def plain(tensor: weft.Tensor | None) -> Any:
    return None if tensor is None else tensor.tolist()


def grads(tensors: list[weft.Tensor]) -> list[Any]:
    return [plain(tensor.grad) for tensor in tensors]


def assert_same(found: Any, expected: Any) -> None:
    """Compare numbers in lists; where one is missing or no number, so is the other."""
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-9, nan_ok=True), (found, expected)
    else:
        assert found == expected, (found, expected)


def assert_alike(run: Callable[[str], Any]) -> None:
    expected = run("eager")
    for way in WAYS[1:]:
        assert_same(run(way), expected)


def root(x: weft.Tensor) -> weft.Tensor:
    return x.sqrt()


def test_an_infinite_row_stays_by_itself() -> None:
    def run(way: str) -> list[Any]:
        xs = leaves(1.0, 0.0, 4.0)
        gs = weft.autograd.grad(sum(run_all(root, xs, way)), xs, create_graph=True)
        gs[0].sum().backward()
        return [*map(plain, gs), *grads(xs)]

    expected = run("eager")
    assert expected[1] == math.inf
    assert expected[3:] == [-0.25, None, None]
    assert_alike(run)


@pytest.mark.parametrize("chosen", [[0], [2, 3], [0, 3], [0, 1, 2, 3]])
def test_shared_parameters(chosen: list[int]) -> None:
    def run(way: str) -> list[Any]:
        weight = weft.tensor([2.0, 3.0], dtype=weft.float64, requires_grad=True)
        xs = leaves(1.0, 0.0, 4.0, 9.0, shape=(2,))
        ys = run_all(lambda x: (x.sqrt() * weight).sum() * weight[0], xs, way)
        gs = weft.autograd.grad(sum(ys), xs, create_graph=True)
        sum(gs[i].sum() for i in chosen).backward()
        return [*map(plain, gs), *grads([*xs, weight])]

    assert_alike(run)
    if 1 not in chosen:
        assert all(map(math.isfinite, run("map")[-1]))


def model_and_examples() -> tuple[nn.Module, list[weft.Tensor]]:
    weft.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.LayerNorm(5), nn.Linear(5, 2)).double()
    xs = [weft.randn(3, dtype=weft.float64, requires_grad=True) for _ in range(5)]
    return model, xs


@pytest.mark.parametrize("chosen", [[1], [0, 4], [0, 1, 2, 3, 4]])
def test_a_penalty_on_gradients_of_inputs(chosen: list[int]) -> None:
    def run(way: str) -> list[Any]:
        model, xs = model_and_examples()
        ys = run_all(lambda x: model(x).square().sum(), xs, way)
        gs = weft.autograd.grad(weft.stack(ys).sum(), xs, create_graph=True)
        sum(gs[i].square().sum() for i in chosen).backward()
        return grads([*xs, *model.parameters()])

    assert_alike(run)


def test_gradients_of_parameters_and_of_inputs() -> None:
    def run(way: str) -> list[Any]:
        model, xs = model_and_examples()
        weights = list(model.parameters())
        ys = run_all(lambda x: model(x).square().sum(), xs, way)
        gs = weft.autograd.grad(ys[0] * 2 + ys[3], [xs[0], xs[1], *weights],
                                create_graph=True, allow_unused=True)  # fmt: skip
        assert gs[1] is None
        sum(g.square().sum() for g in gs if g is not None).backward()
        return [[plain(g) for g in gs], [g is not None and g.requires_grad for g in gs],
                grads([*xs, *weights])]  # fmt: skip

    assert_alike(run)


def test_dropped_examples_with_infinite_losses() -> None:
    def run(way: str) -> list[Any]:
        scale = weft.tensor(2.0, dtype=weft.float64, requires_grad=True)
        xs = leaves(1.0, 0.0, 4.0, -1.0)
        ys = run_all(lambda x: (x.log() * scale).exp() * x.sqrt(), xs, way)
        gs = weft.autograd.grad(ys[0] + ys[2], [xs[0], xs[2], scale], create_graph=True)
        (gs[0] * gs[2]).backward()
        return [*map(plain, gs), *grads([*xs, scale])]

    assert_alike(run)


def test_states_that_are_used_again() -> None:
    def run(way: str) -> list[Any]:
        weight = weft.tensor(0.5, dtype=weft.float64, requires_grad=True)
        xs = leaves(1.0, 0.0, 4.0)
        halves = run_all(lambda x: (x * weight).sqrt(), xs, way)
        # Rows of one batch in another order, some of them twice.
        pairs = [(halves[2], halves[0]), (halves[0], halves[0]), (halves[1], halves[2])]
        ys = run_all(lambda pair: pair[0] * pair[1] + pair[0].exp(), pairs, way)
        first = weft.autograd.grad(ys[0] + ys[1], [xs[0], xs[2]], create_graph=True)
        (first[0] * 3 + first[1]).backward()
        return [*map(plain, first), *grads([*xs, weight])]

    assert_alike(run)


def test_gradients_of_rows_in_the_middle() -> None:
    def run(way: str) -> list[Any]:
        xs = leaves(1.0, 0.0, 4.0)
        hidden = run_all(root, xs, way)
        ys = run_all(lambda h: (h * h).sqrt() * h, hidden, way)
        gs = weft.autograd.grad(ys[0] + ys[1] + ys[2], [hidden[0], hidden[2]], create_graph=True)
        (gs[0] * gs[0] * hidden[0]).backward()
        return [*map(plain, gs), *grads(xs)]

    assert_alike(run)


@pytest.mark.parametrize("chosen", [[0], [0, 2]])
def test_third_and_fourth_derivatives(chosen: list[int]) -> None:
    def run(way: str) -> list[Any]:
        weight = weft.tensor(1.5, dtype=weft.float64, requires_grad=True)
        xs = leaves(1.0, 0.0, 4.0)
        found = run_all(lambda x: (x * weight).sqrt() * x.sin(), xs, way)
        results: list[Any] = []
        for _ in range(3):
            used = [xs[i] for i in chosen]
            found = dict(zip(chosen, weft.autograd.grad(
                sum(found[i] for i in chosen), used, create_graph=True), strict=True))  # fmt: skip
            results += map(plain, found.values())
        found[0].backward()
        return [*results, *grads([*xs, weight])]

    assert_alike(run)


def test_hooks_of_rows_change_the_first_gradient() -> None:
    def run(way: str) -> list[Any]:
        xs = leaves(1.0, 0.0, 4.0)
        hidden = run_all(root, xs, way)
        ys = run_all(lambda h: h * h * h, hidden, way)
        hidden[0].register_hook(lambda g: g * g)
        gs = weft.autograd.grad(sum(ys), xs, create_graph=True)
        (gs[0] + gs[2]).backward()
        return [*map(plain, gs), *grads(xs)]

    assert_alike(run)


def test_each_example_may_be_differentiated_once() -> None:
    def run(way: str) -> list[Any]:
        xs = leaves(1.0, 2.0, 4.0)
        gs = weft.autograd.grad(sum(run_all(root, xs, way)), xs, create_graph=True)
        gs[0].backward()
        gs[2].backward()
        with pytest.raises(RuntimeError, match="second time"):
            gs[0].backward()
        return grads(xs)

    assert_alike(run)


def test_what_has_no_graph_of_its_own() -> None:
    def run(way: str) -> list[Any]:
        weight = weft.tensor(2.0, dtype=weft.float64, requires_grad=True)
        bias = weft.tensor(1.0, dtype=weft.float64, requires_grad=True)
        xs = leaves(1.0, 2.0)
        ys = run_all(lambda x: x * weight + bias, xs, way)
        gs = weft.autograd.grad(sum(ys), [*xs, weight, bias], create_graph=True)
        return [*map(plain, gs), [g.requires_grad for g in gs]]

    assert_alike(run)


def test_given_gradients_that_need_gradients() -> None:
    def run(way: str) -> list[Any]:
        xs, vs = leaves(1.0, 0.0, 4.0), leaves(2.0, 3.0, 5.0)
        gs = weft.autograd.grad(run_all(root, xs, way), xs, vs, create_graph=True)
        (gs[0] + gs[2] * gs[2]).backward()
        return [*map(plain, gs), *grads([*xs, *vs])]

    assert_alike(run)


def test_ops_with_many_inputs_and_outputs() -> None:
    def run(way: str) -> list[Any]:
        weft.manual_seed(0)
        xs = [weft.rand(40, dtype=weft.float64).requires_grad_() for _ in range(3)]
        ys = run_all(lambda x: weft.stack([p.sqrt() * p for p in x.unbind()]).prod(), xs, way)
        gs = weft.autograd.grad(sum(ys), xs, create_graph=True)
        gs[0].square().sum().backward()
        return [*map(plain, gs), *grads(xs)]

    assert_alike(run)


def test_all_columns_of_a_hessian_at_once() -> None:
    def run(way: str) -> list[Any]:
        xs = leaves(1.0, 0.0, 4.0, shape=(3,))
        gs = weft.autograd.grad(sum(run_all(lambda x: (x.sqrt() * x.sum()).prod(), xs, way)), xs,
                                create_graph=True)  # fmt: skip

        def column(v: weft.Tensor) -> weft.Tensor:
            (second,) = weft.autograd.grad(gs[2], [xs[2]], v, create_graph=True)
            return weft.autograd.grad(second.sum(), [xs[2]], retain_graph=True)[0]

        return [plain(weft.vmap(column)(weft.eye(3, dtype=weft.float64)))]

    assert_alike(run)


def test_a_second_gradient_of_one_example_carries_no_graph_of_the_others() -> None:
    def function(x: weft.Tensor) -> weft.Tensor:
        total = ((x**3).sin() * x).exp().sum()
        return total * 2 if total.item() > 0 else total

    def second(x: weft.Tensor) -> weft.Tensor:
        return weft.func.grad(lambda x: weft.func.grad(function)(x).square().sum())(x)

    found = weft.map(second, [weft.tensor([1.0, 2.0]), weft.tensor([3.0, 1.0])])
    assert [gradient.requires_grad for gradient in found] == [False, False]


def test_backward_twice_into_leaves() -> None:
    def run(way: str) -> list[Any]:
        weight = weft.tensor(3.0, dtype=weft.float64, requires_grad=True)
        xs = leaves(1.0, 0.0, 4.0)
        ys = run_all(lambda x: x.sqrt() * weight, xs, way)
        sum(ys).backward(create_graph=True)
        first = [x.grad for x in xs]
        for tensor in [*xs, weight]:
            tensor.grad = None
        first[2].square().backward()
        return [*map(plain, first), *grads([*xs, weight])]

    assert_alike(run)


FORMULAS: list[Function] = [
    lambda x: x.sqrt(),
    lambda x: x.log(),
    lambda x: x.exp(),
    lambda x: x.flip(0),
    lambda x: x.softmax(0),
    lambda x: x.cumsum(0),
    lambda x: x.reshape(2, 2).t().reshape(4),
    lambda x: weft.cat([x[2:], x[:2] * 2]),
    lambda x: x * x.sum(),
    lambda x: x[weft.tensor([3, 1, 1, 0])],
]


@pytest.mark.parametrize("seed", range(30))
def test_random_programs(seed: int) -> None:
    def run(way: str) -> list[Any]:
        draw = random.Random(seed)
        weft.manual_seed(seed)
        matrix = weft.randn(4, 4, dtype=weft.float64).requires_grad_()
        xs = [weft.rand(4, dtype=weft.float64) + 0.5 for _ in range(5)]
        xs[draw.randrange(5)][:] = 0.0
        for x in xs:
            x.requires_grad_()
        steps = [draw.choice([*FORMULAS, lambda x: (x @ matrix).square()]) for _ in range(4)]

        def formula(x: weft.Tensor) -> weft.Tensor:
            y = x
            for step in steps:
                y = step(y) + x * 0.5
            return y.sum()

        ys = run_all(formula, xs, way)
        total = sum(ys[i] * (i + 1.0) for i in draw.sample(range(5), draw.randint(2, 5)))
        gs = weft.autograd.grad(total, [*xs, matrix], create_graph=True, allow_unused=True)
        used = [g for g in gs[:-1] if g is not None and g.requires_grad]
        picked = draw.sample(used, min(len(used), draw.randint(1, 3)))
        if picked:
            sum(g.square().sum() for g in picked).backward()
        return [*map(plain, gs), [g is not None and g.requires_grad for g in gs],
                *grads([*xs, matrix])]  # fmt: skip

    assert_alike(run)


PAIRS: list[Callable[[weft.Tensor, weft.Tensor], weft.Tensor]] = [
    lambda x, y: x * y,
    lambda x, y: x / (y.square() + 0.5),
    lambda x, y: weft.cat([x[:2], y[2:]]),
    lambda x, y: weft.outer(x, y).sum(0),
    weft.maximum,
]


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_over_results(seed: int) -> None:
    """A map over pairs of results of another, some of them equal; gradients of anything."""

    def run(way: str) -> list[Any]:
        draw = random.Random(seed)
        weft.manual_seed(seed)
        xs, zs = ([weft.rand(4, dtype=weft.float64) + 0.2 for _ in range(4)] for _ in range(2))
        if draw.random() < 0.4:
            xs[draw.randrange(4)][:] = 0.0
        zs[2] = zs[draw.randrange(3)]
        for leaf in [*xs, *zs]:
            leaf.requires_grad_()
        first, second = ([draw.choice(FORMULAS) for _ in range(2)] for _ in range(2))
        one, other = draw.choice(PAIRS), draw.choice(PAIRS)
        pairs = list(zip(xs, zs, strict=True))
        hs = run_all(lambda p: one(first[0](p[0]), first[1](p[1])), pairs, way)
        pairs = [(draw.choice(hs), draw.choice(hs + zs)) for _ in range(4)]
        ys = run_all(lambda p: other(second[0](p[0]), second[1](p[1])).sum(), pairs, way)
        all_ = [*xs, *zs, *hs]
        current, results = sum(draw.sample(ys, draw.randint(1, 4))), [list(map(plain, ys))]
        for _ in range(2):
            inputs = draw.sample(all_, draw.randint(1, len(all_)))
            gs = weft.autograd.grad(current, inputs, create_graph=True, allow_unused=True)
            results += [list(map(plain, gs)), [g is not None and g.requires_grad for g in gs]]
            used = [g for g in gs if g is not None and g.requires_grad]
            if not used:
                return results
            current = sum(
                (g + g.square() * 0.1).sum() for g in draw.sample(used, 1 + len(used) // 2)
            )
        current.backward()
        return [*results, grads([*xs, *zs])]

    assert_alike(run)


def test_gradients_of_different_inputs_of_one_op() -> None:
    def run(way: str) -> list[Any]:
        xs, zs = leaves(0.0, 1.0), leaves(2.0, 3.0)
        roots = run_all(root, xs, way)
        products = run_all(lambda pair: pair[0] * pair[1], list(zip(roots, zs, strict=True)), way)
        gs = weft.autograd.grad(sum(products), [roots[0], zs[1]], create_graph=True)
        (gs[0] + gs[1]).backward()
        return [*map(plain, gs), *grads([*xs, *zs])]

    assert run("eager")[2:] == [None, 0.5, 1.0, None]
    assert_alike(run)


def test_each_example_has_gradients_of_its_own_outputs() -> None:
    """Of an op with several: none for one output is not zeros, which infinities would meet."""

    def parts(x: weft.Tensor) -> Any:
        return weft.linalg.svd(x)

    def run(way: str) -> list[Any]:
        xs = [weft.eye(2, dtype=weft.float64), weft.tensor([[1.0, 2.0], [3.0, 5.0]]).double()]
        for x in xs:
            x.requires_grad_()
        ones, others = weft.map(parts, xs, batch=way == "map")
        (ones[1].sum() + others[0].square()[0, 0] + others[1][0]).backward()
        return grads(xs)

    assert run("eager")[0] == [[1.0, 0.0], [0.0, 1.0]]
    assert_same(run("map"), run("eager"))


@pytest.mark.parametrize("function", [lambda x: x.exp(), lambda x: x.tanh(), lambda x: x * x * x])
def test_equal_examples_have_gradients_of_their_own(function: Function) -> None:
    def run(way: str) -> list[Any]:
        (z,) = leaves(1.0)
        hs = run_all(function, [z, z, z], way)
        (g,) = weft.autograd.grad(hs[0] * 2 + hs[1].square(), [z], create_graph=True)
        seconds = weft.autograd.grad(g, hs, allow_unused=True, create_graph=True)
        seconds[1].backward()
        return [plain(g), *map(plain, seconds), *grads([z])]

    assert run("eager")[2] is not None
    assert_alike(run)


def test_equal_examples_inside_of_others() -> None:
    def run(way: str) -> list[Any]:
        (w,) = leaves(1.0)
        xs = leaves(2.0, 3.0)
        pairs = weft.map(lambda x: (w.exp(), x * w.exp()), xs, batch=way == "map")
        loss = pairs[0][0] ** 2 * pairs[0][1] + pairs[1][0]
        (g,) = weft.autograd.grad(loss, [w], create_graph=True)
        shared = [pair[0] for pair in pairs]
        return [plain(g), *map(plain, weft.autograd.grad(g, shared, allow_unused=True))]

    assert_same(run("map"), run("eager"))


def test_equal_examples_of_ops_with_several_outputs() -> None:
    def run(way: str) -> list[Any]:
        z = weft.tensor([[2.0, 1.0], [1.0, 5.0]], dtype=weft.float64, requires_grad=True)
        pairs = weft.map(weft.linalg.eigh, [z, z], batch=way == "map")
        loss = pairs[0][0].prod() + pairs[1][0].sum() + pairs[1][1].square()[0, 0]
        (g,) = weft.autograd.grad(loss, [z], create_graph=True)
        outputs = [output for pair in pairs for output in pair]
        return [plain(g), *map(plain, weft.autograd.grad(g.square().sum(), outputs))]

    assert_same(run("map"), run("eager"))


def test_rows_of_gradients_need_gradients_as_single_ones_do() -> None:
    def run(way: str) -> list[Any]:
        hs = run_all(lambda x: x.exp(), leaves(1.0, 2.0, 3.0), way)
        pairs = [(hs[0], hs[1]), (hs[2], hs[2])]
        ys = run_all(lambda pair: pair[0] * pair[0] + pair[1], pairs, way)
        gs = weft.autograd.grad(ys[0], hs[:2], create_graph=True)
        return [[g.requires_grad, g.grad_fn is None] for g in gs]

    assert run("eager") == [[True, False], [False, True]]
    assert_alike(run)


def test_saved_tensors_that_a_hook_computes() -> None:
    def run(way: str) -> list[Any]:
        xs = leaves(1.0, 3.0)
        with weft.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t / 2):
            ys = run_all(lambda x: x.exp(), xs, way)
        return [*map(plain, weft.autograd.grad(sum(ys), xs, create_graph=True))]

    assert_alike(run)


@pytest.mark.parametrize("multiply", [lambda x, w: x * w, lambda x, w: (x * x) @ w])
def test_what_a_derivative_does_not_read_may_change(multiply: Callable[..., Any]) -> None:
    def run(way: str) -> Any:
        (w,) = leaves(2.0, shape=(2,))
        xs = leaves(1.0, 3.0, shape=(2,))
        results = [y.sum() for y in run_all(lambda x: multiply(x, w).sum(), xs, way)]
        gradients = weft.autograd.grad(sum(results), xs, create_graph=True)
        with weft.no_grad():
            w.add_(1.0)
        try:
            gradients[0].sum().backward()
        except RuntimeError:
            return "it was changed"
        return grads([w])

    assert_alike(run)


def test_what_a_derivative_reads_may_not() -> None:
    def run(way: str) -> Any:
        (w,) = leaves(2.0)
        xs = leaves(1.0, 3.0)
        results = run_all(lambda x: (x * x * w) * x, xs, way)
        gradients = weft.autograd.grad(sum(results), xs, create_graph=True)
        with weft.no_grad():
            w.add_(1.0)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            gradients[0].backward()

    for way in WAYS:
        run(way)


def test_rules_that_save_nothing_run_twice() -> None:
    for function in (lambda x: -x, lambda x: x + 1, lambda x: x.reshape(2, 1), lambda x: x[:1]):

        def run(way: str, function: Function = function) -> Any:
            xs = leaves(1.0, 3.0, shape=(2,))
            results = run_all(function, xs, way)
            given = [weft.ones_like(y).requires_grad_() for y in results]
            gradients = weft.autograd.grad(results, xs, given, create_graph=True)
            gradients[0].sum().backward()
            gradients[0].sum().backward()
            return grads(given)

        assert_alike(run)
