"""Random programs over one row: inside vmap they must agree with a loop, at every order."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from tests.test_vmap import assert_equal
from weft import Tensor, nn
from weft.func import grad, jacrev, vmap

# Few rows are the point here, not a mistake.
pytestmark = pytest.mark.filterwarnings("ignore:more than 20 plans")

ROWS, SIZE = 3, 4


def write_part(x: Tensor, y: Tensor, _: Tensor) -> Tensor:
    made = x.clone()
    made[1:3].mul_(y[:2])
    made[0] = y.sum()
    return made


def fill_empty(x: Tensor, y: Tensor, w: Tensor) -> Tensor:
    made = weft.zeros(SIZE, SIZE, dtype=x.dtype)
    made.diagonal().copy_(x)
    made.transpose(0, 1)[0].add_(y)
    return made @ w[0]


def cut(x: Tensor, y: Tensor, _: Tensor) -> Tensor:
    with weft.no_grad():
        scale = y.cos()
    return x * scale + y.detach()


STEPS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "add": lambda x, y, w: x + y,
    "multiply": lambda x, y, w: x * y,
    "tanh": lambda x, y, w: (x * y.sum()).tanh(),
    "matrix": lambda x, y, w: (w @ x).tanh(),
    "own matrix": lambda x, y, w: (x[:, None] * y).tanh() @ x,
    "softmax": lambda x, y, w: x.softmax(0) * y,
    "norm": lambda x, y, w: nn.functional.layer_norm(x, (SIZE,), w[0], y),
    "sort": lambda x, y, w: x.sort().values * y,
    "pick": lambda x, y, w: x[y.argmax()] * y,
    "gather": lambda x, y, w: x.gather(0, y.argsort()),
    "where": lambda x, y, w: weft.where(x > y, x, w[1]),
    "cumulate": lambda x, y, w: x.cumsum(0).sin() + y,
    "join": lambda x, y, w: weft.cat([x[:2], y.flip(0)[:2]]),
    "stack": lambda x, y, w: weft.stack([x, y, w[2]]).mean(0),
    "write": write_part,
    "fill": fill_empty,
    "cut": cut,
    "inner gradient": lambda x, y, w: grad(lambda z: (z * y).sin().sum())(x),
    "inner map": lambda x, y, w: vmap(lambda z: (z * x).sum().sin())(y),
    "inner jacobian": lambda x, y, w: jacrev(lambda z: (w @ z).tanh())(x) @ y,
}

PROGRAMS = st.lists(
    st.tuples(st.sampled_from(list(STEPS)), st.integers(0, 9), st.integers(0, 9)),
    min_size=1,
    max_size=5,
)


def program_of(steps: list[tuple[str, int, int]], w: Tensor) -> Callable[[Tensor], Tensor]:
    def run(row: Tensor) -> Tensor:
        results = [row, row * 0.5 + 0.1]
        for kind, first, second in steps:
            x, y = results[-1 - first % len(results)], results[-1 - second % len(results)]
            results.append(STEPS[kind](x, y, w))
        return results[-1]

    return run


@pytest.mark.parametrize("kind", STEPS)
def test_each_step(kind: str) -> None:
    compare([(kind, 0, 1)], 0)


@settings(max_examples=60, deadline=None)
@given(PROGRAMS, st.integers(0, 1000))
def test_programs(steps: list[tuple[str, int, int]], seed: int) -> None:
    compare(steps, seed)


def compare(steps: list[tuple[str, int, int]], seed: int) -> None:
    generator = weft.Generator().manual_seed(seed)
    x = weft.randn(ROWS, SIZE, generator=generator, dtype=weft.float64).requires_grad_()
    w = weft.randn(SIZE, SIZE, generator=generator, dtype=weft.float64).requires_grad_()
    run = program_of(steps, w)

    def number(row: Tensor) -> Tensor:
        return run(row).sin().sum()

    for function in (run, grad(number)):
        got = vmap(function)(x)
        expected = weft.stack([function(row) for row in x])
        assert_equal(got, expected)
        assert got.requires_grad == expected.requires_grad
        if expected.requires_grad:
            ours, theirs = (
                weft.autograd.grad((y * y).sum(), (x, w), materialize_grads=True)
                for y in (got, expected)
            )
            for one, other in zip(ours, theirs, strict=True):
                assert_equal(one, other)
    with weft.lazy():
        later = vmap(run)(x)
    assert_equal(later, vmap(run)(x))
