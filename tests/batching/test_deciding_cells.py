"""Cells that read values to decide how to go on: bodies in parts, one for each way they take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import weft
from weft import nn, tracing

pytestmark = pytest.mark.filterwarnings("ignore:more than 20 plans")


def ways(body: Callable[..., Any], examples: list[Any]) -> list[list[Any]]:
    """Return what all ways of running a cell give; the plain body one by one comes first."""
    cell = weft.cell(body)
    with weft.lazy():
        lazily = [cell(example) for example in examples]
    return [
        [body(example) for example in examples],
        [cell(example) for example in examples],
        lazily,
        weft.map(cell, examples),
        weft.map(lambda example: cell(example) + 0, examples),
        weft.map(cell, iter(examples), width=2),
        weft.map(cell, examples, width=2),
        weft.map(cell, examples, batch=False),
    ]


def check_ways(body: Callable[..., Any], examples: list[Any], leaf: Any = None) -> Any:
    """Check that all ways agree, their gradients too; return the cell."""
    found = []
    for results in ways(body, examples):
        gradient = None
        if leaf is not None:
            total = weft.stack([result.sum() for result in results]).sum()
            (gradient,) = weft.autograd.grad(total, [leaf])
        found.append(([result.tolist() for result in results], gradient))
    expected, wanted = found[0]
    for values, gradient in found[1:]:
        for value, other in zip(values, expected, strict=True):
            assert value == pytest.approx(other, rel=1e-5)
        if wanted is not None:
            assert weft.allclose(gradient, wanted, rtol=1e-5)
    cell = weft.cell(body)
    for example in examples:
        cell(example)
    return cell


def vectors(count: int = 7) -> list[Any]:
    return list(weft.randn(count, 3, generator=weft.Generator().manual_seed(1)))


def test_both_ways_of_an_if_are_programs() -> None:
    w = weft.randn(3, requires_grad=True)

    def choose(x: Any) -> Any:
        y = x * w
        return (y * 2).tanh() if y.sum() > 0 else y - 1

    cell = check_ways(choose, vectors(), w)
    assert cell.note == ""
    assert len(cell.programs) == 3  # up to the value, and one for each way


def test_a_loop_that_ends_by_a_value() -> None:
    w = weft.tensor([0.5, 0.6, 0.7], requires_grad=True)

    def shrink(x: Any) -> Any:
        before = x
        while (x * x).sum() > 0.1:
            x, before = x * w, x
        return x + before

    cell = check_ways(shrink, vectors(), w)
    assert cell.note == ""


def test_recursion_and_several_decisions() -> None:
    w = weft.randn(3, 3, requires_grad=True)

    def descend(x: Any, depth: int) -> Any:
        if depth == 0:
            return x
        left = (w @ x).tanh()
        if left[0] > x[1]:
            return descend(left, depth - 1) * x
        return descend(x.sin(), depth - 1) + left

    cell = check_ways(lambda x: descend(x, 4), vectors(20), w)
    assert cell.note == ""


def test_a_number_as_an_index() -> None:
    weights = weft.randn(3, 3, requires_grad=True)

    def route(x: Any) -> Any:
        scores = weights @ x
        chosen = scores.argmax()
        return weights[chosen] * scores[chosen.item()] + int(chosen) * x[chosen]

    cell = check_ways(route, vectors(12), weights)
    assert cell.note == ""


class Experts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(3, 4)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(3, 5), nn.SiLU(), nn.Linear(5, 3)) for _ in range(4)
        )

    def forward(self, token: Any) -> Any:
        scores = self.router(token)
        chosen = scores.argmax().item()
        for number, expert in enumerate(self.experts):
            if number == chosen:
                token = token + expert(token) * scores.softmax(-1)[number]
        return (token * token).mean()


def train(model: Any, tokens: list[Any], **options: Any) -> list[Any]:
    model.zero_grad()
    losses = weft.map(model, tokens, **options)
    weft.stack(losses).mean().backward()
    return [loss.item() for loss in losses]


def test_a_module_that_routes() -> None:
    weft.manual_seed(0)
    plain = Experts()
    celled = weft.cell(type("Celled", (Experts,), {"forward": Experts.forward}))()
    celled.load_state_dict(plain.state_dict())
    tokens = vectors(40)
    expected = train(plain, tokens, batch=False)
    for options in ({}, {"width": 7}, {"batch": False}):
        for _ in range(3):
            assert train(celled, tokens, **options) == pytest.approx(expected, rel=1e-5)
            for one, other in zip(celled.parameters(), plain.parameters(), strict=True):
                assert (one.grad is None) == (other.grad is None)
                assert one.grad is None or weft.allclose(one.grad, other.grad, atol=1e-6)
    assert celled._weft_cell.note == ""
    # Other numbers in the same parameters, and another module in the place of one of them.
    with weft.no_grad():
        for model in (plain, celled):
            model.router.weight.neg_()
    assert train(celled, tokens) == pytest.approx(train(plain, tokens, batch=False), rel=1e-5)
    for model in (plain, celled):
        model.experts[2] = nn.Identity()
    assert train(celled, tokens) == pytest.approx(train(plain, tokens, batch=False), rel=1e-5)


def test_one_plan_for_all_that_decide() -> None:
    @weft.cell
    def choose(x: Any) -> Any:
        return x * 2 if x.sum() > 0 else x - 1

    examples = vectors(30)
    weft.map(choose, examples)
    weft.map(choose, examples)
    plans = weft.explain(plans=2).plans
    rows = [[batch.rows for batch in plan.batches] for plan in plans]
    assert sum(rows[0]) == 30
    assert sum(rows[1]) == 30
    assert len(rows[1]) == 2


def test_what_is_held_over_a_decision() -> None:
    kept = weft.ones(3)

    def body(x: Any) -> Any:
        a, b = x.exp(), x.sin()
        pair = [a, {"b": b[1:]}]
        fresh = weft.full((3,), 2.0) * kept
        if a.sum() > 3:
            c = pair[0] * 2
            if (c > 4).any():
                return c + pair[1]["b"].sum() * fresh
            return c - fresh
        return x

    check_ways(body, vectors(20))
    cell = weft.cell(body)
    for factor in (1.0, 3.0):  # what was computed of a tensor from outside is computed again
        kept.fill_(factor)
        for x in vectors(20):
            assert weft.allclose(cell(x), body(x))
    assert cell.note == ""


def test_decisions_on_what_is_given_and_on_buffers() -> None:
    limit = weft.tensor(0.0)
    flag = weft.tensor(True)

    def body(x: Any) -> Any:
        if flag:
            x = x + 1
        return x * 2 if x[0] > limit else x

    cell = weft.cell(body)
    for value, on in ((0.0, True), (100.0, False), (-100.0, True)):
        limit.fill_(value)
        flag.fill_(on)
        for x in vectors():
            assert cell(x).tolist() == body(x).tolist()
    assert cell.note == ""

    @weft.cell
    def by_argument(x: Any, yes: Any) -> Any:
        return x if yes else -x

    assert by_argument(weft.ones(2), weft.tensor(True)).tolist() == [1, 1]
    assert by_argument(weft.ones(2), weft.tensor(False)).tolist() == [-1, -1]
    assert by_argument.note == ""


def test_the_truth_of_a_float() -> None:
    check_ways(lambda x: x + 1 if x[0] * 0 else x * 2, vectors())
    check_ways(lambda x: x + 1 if x[0] else x * 2, [*vectors(), weft.zeros(3)])


def test_numbers_that_are_floats_are_not_decisions() -> None:
    cell = check_ways(lambda x: x / x.sum().item(), vectors())
    assert "reads a value" in cell.note


def test_integers_are_given_back() -> None:
    @weft.cell
    def step(x: Any) -> tuple[Any, int, str]:
        best = x.argmax().item()
        return x * 2, best, "even" if best % 2 == 0 else "odd"

    for x in (weft.tensor([1.0, 2.0]), weft.tensor([3.0, 2.0]), weft.tensor([0.0, 2.0])):
        result, best, name = step(x)
        assert result.tolist() == (x * 2).tolist()
        assert best == x.argmax().item()
        assert name == ("even" if best == 0 else "odd")
    assert step.note == ""


def test_too_many_ways_run_as_they_are() -> None:
    @weft.cell
    def step(x: Any) -> Any:
        return x * x.item()

    for number in range(600):
        assert step(weft.tensor(number)).item() == number * number
    assert "ways" in step.note


def test_a_way_that_raises() -> None:
    @weft.cell
    def positive(x: Any) -> Any:
        if x.sum() < 0:
            raise ValueError("negative")
        return x * 2

    examples = [weft.ones(2), -weft.ones(2), weft.ones(2) * 3]
    for _ in range(3):
        found = weft.map(positive, examples, return_exceptions=True)
        assert found[0].tolist() == [2, 2]
        assert isinstance(found[1], ValueError)
        assert found[2].tolist() == [6, 6]
        with pytest.raises(ValueError, match="negative") as caught:
            weft.map(positive, examples)
        assert caught.value.__notes__ == ["in example 1 of weft.map"]
        with pytest.raises(ValueError, match="negative"):
            positive(-weft.ones(2))
    assert positive(weft.ones(2)).tolist() == [2, 2]
    assert positive.note == ""


@pytest.mark.parametrize("kind", [Exception, BaseException])
def test_bodies_that_catch_what_ends_a_look(kind: type[BaseException]) -> None:
    ended = []

    def body(x: Any) -> Any:
        try:
            positive = bool(x.sum() > 0)
        except kind:
            ended.append(1)
            return x * 100
        finally:
            x = x + 1
        return x if positive else -x

    check_ways(body, vectors())


def test_a_body_that_does_something_else_each_time() -> None:
    calls = [0]

    @weft.cell
    def body(x: Any) -> Any:
        if x.sum() > 0:
            calls[0] += 1
            return x * calls[0]
        return x

    x = weft.ones(1)
    assert body(-x).item() == -1
    assert [body(x).item() for _ in range(4)] == [1, 2, 3, 4]


def test_a_body_that_keeps_tensors_after_a_decision() -> None:
    kept: list[Any] = []

    @weft.cell
    def body(x: Any) -> Any:
        y = x * 2
        if y.sum() > 0:
            kept.append(y)
        return y + 1

    for _ in range(3):
        assert body(weft.ones(2)).tolist() == [3, 3]
    assert [one.tolist() for one in kept] == [[2, 2]] * 3


def test_what_changes_while_a_call_waits() -> None:
    @weft.cell
    class Scale(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.factor = 1.0

        def forward(self, x: Any) -> Any:
            return x * self.factor if x.sum() > 0 else x

    module = Scale()

    def run(x: Any) -> Any:
        first = module(x)
        module.factor = 1.0 + module.factor
        return first

    for _ in range(3):
        module.factor = 1.0
        results = weft.map(run, [weft.ones(1) for _ in range(4)])
        assert all(result.item() >= 1 for result in results)
        assert module(weft.ones(1)).item() == 5


def test_second_gradients_and_checks() -> None:
    w = weft.randn(3, dtype=weft.float64, requires_grad=True)
    xs = [x.double() for x in vectors()]

    def body(x: Any) -> Any:
        y = (x * w).sin()
        return (y * y * w).sum() if y.sum() > 0 else (y.exp() * w).sum()

    def second(function: Callable[..., Any]) -> Any:
        total = weft.stack(weft.map(function, xs)).sum()
        (gradient,) = weft.autograd.grad(total, [w], create_graph=True)
        return weft.autograd.grad((gradient * gradient).sum(), [w])[0]

    assert weft.allclose(second(weft.cell(body)), second(body))
    assert weft.allclose(second(weft.cell(body, check=1.0)), second(body))


def test_hooks_and_rows_of_results() -> None:
    w = weft.ones(3, requires_grad=True)

    @weft.cell
    def body(x: Any) -> Any:
        y = x * w
        return y * 2 if y.sum() > 0 else y * 3

    xs = [weft.full((3,), float(i - 2)) for i in range(5)]
    for _ in range(2):
        w.grad = None
        results = weft.map(body, xs)
        seen: list[Any] = []
        results[4].register_hook(seen.append)
        results[4].sum().backward()
        assert [gradient.tolist() for gradient in seen] == [[1, 1, 1]]
        assert w.grad.tolist() == [4, 4, 4]


def test_maps_inside_maps() -> None:
    @weft.cell
    def body(x: Any) -> Any:
        return x * 2 if x.sum() > 0 else x - 1

    def outer(x: Any) -> Any:
        inner = weft.map(body, [x, -x, x * 2])
        return weft.stack(inner).sum() if inner[0].sum() > 0 else inner[1].sum()

    expected = [outer(x).item() for x in vectors()]
    for _ in range(3):
        assert [y.item() for y in weft.map(outer, vectors())] == pytest.approx(expected)


def test_random_numbers_after_a_map_of_a_cell() -> None:
    def body(x: Any) -> Any:
        return x * 2

    numbers = []
    for function in (body, weft.cell(body)):
        weft.manual_seed(3)
        weft.map(function, [weft.ones(1)])
        numbers.append((weft.rand(1).item(), weft.map(lambda x: weft.rand(1), [1])[0].item()))
    assert numbers[0] == numbers[1]


def test_a_trace_sees_the_body() -> None:
    @weft.cell
    def body(x: Any) -> Any:
        return x * 2 if x.sum() > 0 else x - 1

    body(weft.ones(2))
    trace = tracing.record(lambda: weft.map(body, [weft.ones(2), -weft.ones(2)])).trace()
    assert [node.op for node in trace.nodes].count("body") == 4
    assert [read.value for read in trace.reads] == ["True", "False"]


def test_odd_calls() -> None:
    @weft.cell
    def body(x: Any) -> Any:
        return x * 2 if x.sum() > 0 else x - 1

    assert weft.map(body, []) == []
    assert weft.map(body, ()) == []
    with pytest.raises(AttributeError):
        weft.map(body, [weft.ones(1), None])
    found = weft.map(body, (weft.ones(1), weft.ones(2), weft.ones(1, dtype=weft.int64)))
    assert [one.tolist() for one in found] == [[2], [2, 2], [2]]


def test_a_few_integers_are_read_as_a_list() -> None:
    weights = [weft.randn(6, 6) for _ in range(6)]

    def route(x: weft.Tensor) -> weft.Tensor:
        gates, chosen = x.topk(2)
        total = x
        for gate, k in zip(gates, chosen.tolist(), strict=True):
            total = total + gate * (weights[k] @ x)
        return total.sum() * (2 if (x > 0.5).tolist()[0] else 1)

    cell = weft.cell(route)
    for x in weft.randn(30, 6):
        weft.testing.assert_close(cell(x), route(x))
    assert not cell.note
    # Numbers that are no decisions, and too many of them.
    for body in (lambda x: x * sum(x.tolist()), lambda x: x * len(x.long().repeat(9).tolist())):
        other = weft.cell(body)
        weft.testing.assert_close(other(weft.ones(3)), body(weft.ones(3)))
        assert other.note
