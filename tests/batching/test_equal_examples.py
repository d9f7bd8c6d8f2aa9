"""Equal examples are computed once, and what is held of each has its own place in the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import weft

pytestmark = pytest.mark.filterwarnings("ignore:more than 20 plans in a row:RuntimeWarning")

Function = Callable[[weft.Tensor], Any]
Map = Callable[[Function, list[weft.Tensor]], list[Any]]


def one_by_one(function: Function, examples: list[weft.Tensor]) -> list[Any]:
    return weft.map(function, examples, batch=False)


def together(function: Function, examples: list[weft.Tensor]) -> list[Any]:
    return weft.map(function, examples)


def as_cells(function: Function, examples: list[weft.Tensor]) -> list[Any]:
    cell = weft.cell(function)
    return weft.map(lambda x: cell(x), examples)  # noqa: PLW0108


def lazily(function: Function, examples: list[weft.Tensor]) -> list[Any]:
    cell = weft.cell(function)
    with weft.lazy():
        results = [cell(x) for x in examples]
        tensors = [t for r in results for t in (r if isinstance(r, tuple) else (r,))]
        weft.cat([tensor.reshape(-1) for tensor in tensors]).tolist()  # runs all in one plan
    return results


def numbers(tensors: Any) -> list[Any]:
    return [None if tensor is None else tensor.tolist() for tensor in tensors]


def grads(result: weft.Tensor, inputs: list[weft.Tensor]) -> list[Any]:
    return numbers(weft.autograd.grad(result, inputs, allow_unused=True, retain_graph=True))


def check(run: Callable[[Map], list[Any]]) -> list[Any]:
    expected = run(one_by_one)
    for way in (together, as_cells, lazily):
        assert run(way) == pytest.approx(expected), way.__name__
    return expected


def flat(nested: Any) -> list[Any]:
    """Return the numbers of nested lists, in a row."""
    return [n for part in nested for n in flat(part)] if isinstance(nested, list) else [nested]


def vector(*items: float) -> weft.Tensor:
    return weft.tensor(items, dtype=weft.float64, requires_grad=True)


def matrix() -> weft.Tensor:
    return weft.tensor([[2.0, 1.0], [1.0, 5.0]], dtype=weft.float64, requires_grad=True)


def test_a_result_that_another_result_reads() -> None:
    def body(x: weft.Tensor) -> tuple[weft.Tensor, weft.Tensor]:
        h = x.exp()
        return h * 2, h

    def run(way: Map) -> list[Any]:
        x = vector(0.1, 0.2)
        results = way(body, [x, x])
        found = grads(results[0][0].sum(), [results[0][1], results[1][1]])
        results[0][1].register_hook(lambda g: g * 0)
        results[0][0].sum().backward()
        return flat([found, x.grad.tolist()])

    assert check(run) == [2.0, 2.0, None, 0.0, 0.0]


VIEWS: list[Callable[[weft.Tensor, weft.Tensor], weft.Tensor]] = [
    lambda w, m: w @ m,
    lambda w, _: w.view(1, 2),
    lambda w, _: w[0],
    lambda _, m: m[1],
    lambda _, m: m.t(),
    lambda w, _: w.chunk(2)[0],
    lambda w, _: w.expand(3, 2),
    lambda w, _: w.repeat_interleave(2),
]


@pytest.mark.parametrize("view", VIEWS)
def test_views(view: Callable[[weft.Tensor, weft.Tensor], weft.Tensor]) -> None:
    def run(way: Map) -> list[Any]:
        w, m = vector(1.0, 2.0), matrix()
        results = way(lambda _: view(w, m), [vector(0.0), vector(0.0)])
        loss = results[0].sum() + 5 * results[1].sum()
        found = grads(loss, results)
        results[0].register_hook(lambda g: g * 10)
        loss.backward()
        return flat([found, numbers([w.grad, m.grad])])

    check(run)


def test_a_written_view_is_the_view_of_one() -> None:
    def run(way: Map) -> list[Any]:
        w = vector(1.0, 2.0)
        bases = way(lambda x: x * 2, [w, w])
        parts = [base[:1] for base in bases]
        parts[0].mul_(3)
        (bases[0].sum() + bases[1].sum()).backward()
        return flat([numbers([*bases, *parts]), w.grad.tolist()])

    assert check(run)[-2:] == [8.0, 4.0]


def with_another_between(x: weft.Tensor) -> tuple[weft.Tensor, ...]:
    values, vectors = weft.linalg.eigh(x)
    return values, x.exp(), vectors


def with_one_read_inside(x: weft.Tensor) -> tuple[weft.Tensor, ...]:
    values, vectors = weft.linalg.eigh(x)
    return values, (vectors**3).sum(0)


@pytest.mark.parametrize("function", [with_another_between, with_one_read_inside])
def test_second_gradients_of_one_of_several_outputs(function: Function) -> None:
    def run(way: Map) -> list[Any]:
        z, other = matrix(), matrix()
        with weft.no_grad():
            other.mul_(2)
        results = way(function, [z, other, z])
        (g,) = weft.autograd.grad((results[0][-1] ** 3).sum(), [z], create_graph=True)
        return flat(grads(g.square().sum(), [results[0][0], results[2][0]]))

    assert check(run)[0] is not None


def test_each_may_be_differentiated_once() -> None:
    def run(way: Map) -> list[Any]:
        z = vector(1.0)
        one, other = way(lambda x: x.exp(), [z, z])
        one.sum().backward()
        with pytest.raises(RuntimeError, match="second time: the result of exp"):
            one.sum().backward()
        other.sum().backward()
        return z.grad.tolist()

    check(run)


def shared_product(v: weft.Tensor, x: weft.Tensor) -> weft.Tensor:
    return (v * 2.0).sum() + x[0]


def shared_chain(v: weft.Tensor, x: weft.Tensor) -> weft.Tensor:
    return (v.exp() + 1).reshape(2, 1).sum() - x.sum()


def shared_matrix(v: weft.Tensor, x: weft.Tensor) -> weft.Tensor:
    return (x.expand(2) @ (v / v.norm())).sum()


def passed_on(v: weft.Tensor, x: weft.Tensor) -> weft.Tensor:
    """Return what saves nothing, all the way down: any number of backwards."""
    return (v + 1).sum() + x[0]


@pytest.mark.parametrize("function", [shared_product, shared_chain, shared_matrix, passed_on])
@pytest.mark.parametrize("order", ["001", "0101", "102", "0x0", "x012", "2g02", "g012"])
def test_each_example_has_its_own_backward_through_what_all_compute_once(
    function: Callable[..., weft.Tensor], order: str
) -> None:
    def run(way: Map) -> list[Any]:
        v = vector(1.0, 2.0)
        out = way(lambda x: function(v, x), [vector(1.0), vector(2.0), vector(3.0)])
        refused: list[bool] = []
        for name in order:
            try:
                if name == "x":  # all at once, and the graph stays
                    weft.stack(out).sum().backward(retain_graph=True)
                elif name == "g":
                    weft.autograd.grad(out[0], v)
                else:
                    out[int(name)].backward()
            except RuntimeError as error:
                assert "second time" in str(error)  # noqa: PT017
                refused.append(True)
            else:
                refused.append(False)
        return [*refused, *v.grad.tolist()]

    check(run)


def test_what_is_passed_on_keeps_its_place() -> None:
    def run(way: Map) -> list[Any]:
        xs = [vector(1.0, 2.0), vector(3.0, 4.0)]
        results = way(lambda h: (h, h * h), [x.exp() for x in [*xs, xs[0]]])
        loss = results[0][1].sum() + 3 * results[1][0].sum()
        assert results[0][0].grad_fn.name() == "ExpBackward0"
        return flat(grads(loss, [results[0][0], results[1][0], *xs]))

    check(run)


def test_a_graph_shows_the_gradient_of_each() -> None:
    z = weft.tensor(1.0, requires_grad=True)

    def lines(batch: bool) -> list[str]:
        def step() -> None:
            results = weft.map(lambda x: x.exp(), [z, z], batch=batch)
            (results[0] ** 2 + results[1] * 3).backward()

        return [line for line in str(weft.graph(step)).split("\n") if "= exp(" in line]

    assert "grad" in lines(batch=False)[0]
    assert lines(batch=True) == lines(batch=False)
