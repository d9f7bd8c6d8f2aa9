"""weft.map: plain Python over one example, run for many at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import weft
from weft import _core, nn


def halve(x: weft.Tensor) -> weft.Tensor:
    steps = 0
    while x.sum() > 1:
        x = x / 2
        steps += 1
    return x * steps


def test_decisions_park_one_example_only() -> None:
    xs = [weft.ones(3) * i for i in range(1, 20)]
    expected = weft.map(halve, xs, batch=False)
    _core.forget_plans()
    found = weft.map(halve, xs)
    for a, b in zip(expected, found, strict=True):
        assert weft.equal(a, b)
    assert len(weft.explain(99).plans) < 12


def test_generators_and_width() -> None:
    def numbers() -> Iterator[weft.Tensor]:
        for i in range(50):
            yield weft.ones(2) * i

    found = weft.map(halve, numbers(), width=7)
    expected = weft.map(halve, numbers(), batch=False)
    assert all(weft.equal(a, b) for a, b in zip(expected, found, strict=True))


def test_an_exception_names_its_example() -> None:
    def fails(x: weft.Tensor) -> weft.Tensor:
        if x.item() == 3:
            raise ValueError("three")
        return x * 2

    xs = [weft.tensor(float(i)) for i in range(5)]
    with pytest.raises(ValueError, match="three") as caught:
        weft.map(fails, xs)
    assert caught.value.__notes__ == ["in example 3 of weft.map"]
    results = weft.map(fails, xs, return_exceptions=True)
    assert isinstance(results[3], ValueError)
    assert results[4].item() == 8.0


def test_nested_maps_join_one_plan() -> None:
    def outer(xs: list[weft.Tensor]) -> weft.Tensor:
        return weft.stack(weft.map(halve, xs)).sum()

    data = [[weft.ones(2) * (i + j) for j in range(3)] for i in range(4)]
    expected = weft.map(outer, data, batch=False)
    found = weft.map(outer, data)
    assert all(weft.allclose(a, b) for a, b in zip(expected, found, strict=True))


def test_no_grad_around_a_park_stays_in_its_fiber() -> None:
    w = weft.ones(2, requires_grad=True)

    def model(x: weft.Tensor) -> weft.Tensor:
        with weft.no_grad():
            big = bool((w * x).sum() > 1)
        assert weft.is_grad_enabled()
        return w * x if big else -w * x

    results = weft.map(model, [weft.ones(2) * i for i in range(4)])
    assert weft.is_grad_enabled()
    assert all(result.requires_grad for result in results)


def test_training_equals_one_by_one() -> None:
    w = weft.tensor([0.5, -0.25], requires_grad=True)

    def model(x: weft.Tensor) -> weft.Tensor:
        y = (w * x).tanh()
        return y.sum() if y[0] > 0.1 else (y * y).sum()

    xs = [weft.tensor([i * 0.1, i * 0.3]) for i in range(8)]
    weft.stack(weft.map(model, xs, batch=False)).sum().backward()
    expected = w.grad.clone()
    w.grad = None
    weft.stack(weft.map(model, xs)).sum().backward()
    assert weft.allclose(w.grad, expected, atol=1e-6)


def test_inner_gradients() -> None:
    def slope(x: weft.Tensor) -> weft.Tensor:
        x = x.clone().requires_grad_()
        (gradient,) = weft.autograd.grad((x**3).sum(), [x])
        return gradient

    xs = [weft.tensor([1.0 * i, 2.0]) for i in range(3)]
    assert [g.tolist() for g in weft.map(slope, xs)] == [[0.0, 12.0], [3.0, 12.0], [12.0, 12.0]]


def test_random_numbers_of_all_examples_are_drawn_together() -> None:
    def noisy(x: weft.Tensor) -> weft.Tensor:
        y = nn.functional.dropout(x.exp(), 0.3) + weft.randn(4) * weft.rand(4)
        return y * weft.empty(4).uniform_(1, 2) + weft.empty(4).normal_()

    xs = [weft.randn(4, requires_grad=True) for _ in range(12)]
    weft.manual_seed(3)
    expected = weft.map(noisy, xs, batch=False)
    weft.stack(expected).sum().backward()
    gradients = [x.grad.clone() for x in xs]
    for x in xs:
        x.grad = None
    weft.manual_seed(3)
    found = weft.map(noisy, xs)
    drawn = {"dropout_by_counter", "randn", "rand", "uniform", "gaussian"}
    ran = [(b.op, b.rows) for b in weft.explain().plans[-1].batches if b.op in drawn]
    assert sorted(ran) == [(op, 12) for op in sorted(drawn)]
    weft.stack(found).sum().backward()
    for a, b, x, gradient in zip(found, expected, xs, gradients, strict=True):
        assert weft.equal(a, b)
        assert weft.equal(x.grad, gradient)


def test_what_draws_alone_does_not_slow_others_down() -> None:
    weights = weft.ones(3)

    def sample(_: int) -> int:
        return weft.multinomial(weights, 1).item()

    for _ in range(3):
        found = weft.map(sample, range(2000))
    assert set(found) == {0, 1, 2}
    assert len(weft.explain().plans[-1].batches) == 1


@pytest.mark.parametrize(
    ("examples", "named"),
    [
        ([weft.ones(2)], "a list first"),
        ((1, 2), "a tuple first"),
        (weft.ones(2, 2), "a Tensor first"),
        (iter([1]), "a list_iterator first"),
        ({"a": 1}.items(), "a dict_items first"),
    ],
)
@pytest.mark.parametrize("batch", [True, False])
def test_swapped_arguments_are_said_in_a_sentence(examples: Any, named: str, batch: bool) -> None:
    sentence = r"map takes the function first: weft\.map\(function, examples\)\. It was given "
    with pytest.raises(TypeError, match=f"^{sentence}{named}, and the function second\\.$"):
        weft.map(examples, weft.tanh, batch=batch)
    with pytest.raises(TypeError, match="takes the function first"):
        weft.map(examples, weft.nn.Linear(2, 2), batch=batch)


def test_what_is_no_function_is_named() -> None:
    with pytest.raises(TypeError, match="function must be something to call with one example, not"):
        weft.map([1], [2])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not a NoneType"):
        weft.map(None, [2])  # type: ignore[arg-type]
