"""Compiled functions beside the rest of Weft: maps, lazy scopes, graphs, hooks, checkpoints, vmap."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

import weft
from weft import nn


def shrink(x):  # type: ignore[no-untyped-def]
    steps = 0
    while x.norm() > 1:
        x = x * 0.5
        steps += 1
    return x.sum() * steps, steps


def examples() -> list[weft.Tensor]:
    return [weft.tensor([float(n), 1.0], requires_grad=True) for n in range(12)]


@pytest.mark.parametrize("batch", [True, False])
def test_a_compiled_function_is_mapped(batch: bool) -> None:
    given, expected_given = examples(), examples()
    results = weft.map(weft.compile(shrink), given, batch=batch)
    expected = [shrink(x) for x in expected_given]
    assert [steps for _, steps in results] == [steps for _, steps in expected]
    sum(total for total, _ in results).backward()  # type: ignore[union-attr]
    sum(total for total, _ in expected).backward()  # type: ignore[union-attr]
    for one, other in zip(given, expected_given, strict=True):
        assert (one.grad is None) == (other.grad is None)
        if one.grad is not None:
            assert weft.allclose(one.grad, other.grad)


def test_an_error_in_an_example_names_it() -> None:
    @weft.compile
    def fail(x):  # type: ignore[no-untyped-def]
        if x.sum() > 5:
            raise ValueError("too large")
        return x

    with pytest.raises(ValueError, match="too large") as caught:
        weft.map(fail, [weft.ones(2), weft.ones(9), weft.ones(3)])
    assert any("example 1" in note for note in caught.value.__notes__)


def test_compiled_calls_are_lazy() -> None:
    compiled = weft.compile(shrink)
    with weft.lazy():
        total, steps = compiled(weft.tensor([8.0, 1.0]))
        assert steps == 4
    assert total.item() == shrink(weft.tensor([8.0, 1.0]))[0].item()


def test_a_graph_has_the_lines_of_the_function() -> None:
    x = weft.tensor([3.0, 4.0])
    plain, compiled = weft.graph(shrink, x), weft.graph(weft.compile(shrink), x)
    assert str(plain) == str(compiled)
    assert [str(item) for item in plain.decisions] == [str(item) for item in compiled.decisions]


def test_transforms_of_compiled_functions() -> None:
    @weft.compile
    def f(x):  # type: ignore[no-untyped-def]
        return sum(v * v for v in [x, x * 2]).sum()

    x = weft.tensor([1.0, 2.0])
    assert weft.func.grad(f)(x).tolist() == [10.0, 20.0]
    rows = weft.tensor([[1.0], [2.0]])
    assert weft.vmap(f)(rows).tolist() == [5.0, 20.0]
    given = x.clone().requires_grad_()
    weft.utils.checkpoint.checkpoint(f, given, use_reentrant=False).backward()
    assert given.grad.tolist() == [10.0, 20.0]


def test_a_compiled_cell_and_a_compiled_module_inside_a_module() -> None:
    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = weft.compile(nn.Sequential(nn.Linear(2, 2), nn.Tanh()))

        def forward(self, x):  # type: ignore[no-untyped-def]
            return self.inner(self.inner(x))

    weft.manual_seed(0)
    outer = Outer()
    x = weft.ones(1, 2)
    assert weft.equal(weft.compile(outer)(x), outer(x))
    assert "inner._orig_mod.0.weight" in outer.state_dict()


def test_threads_with_errors() -> None:
    @weft.compile
    def f(n):  # type: ignore[no-untyped-def]
        try:
            return [1 // (n - v) for v in range(5)]
        except ZeroDivisionError:
            return "zero"

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(f, [2, 10] * 20))
    assert results == ["zero", [0] * 5] * 20
