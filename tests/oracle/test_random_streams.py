"""The same seed gives PyTorch's numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import weft

SEEDS = (0, 5, 123456789012)
# At 16 elements PyTorch begins to draw normal numbers in groups.
COUNTS = (1, 3, 15, 16, 17, 40, 1000)
FLOATS = ("float32", "float64", "float16", "bfloat16")

Draw = Callable[[Any, int], list[Any]]


def numbers(tensor: Any) -> np.ndarray:
    return tensor.detach().double().numpy()


def check(draw: Callable[[Any], list[Any]], tolerance: float = 0.0) -> None:
    for seed in SEEDS:
        torch.manual_seed(seed)
        weft.manual_seed(seed)
        for wanted, found in zip(draw(torch), draw(weft), strict=True):
            np.testing.assert_allclose(
                numbers(found), numbers(wanted), rtol=tolerance, atol=tolerance
            )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("count", COUNTS)
def test_uniform_and_normal(count: int, dtype: str) -> None:
    check(lambda t: [t.rand(count, dtype=getattr(t, dtype)) for _ in range(2)])
    close = {"float16": 2e-3, "bfloat16": 1e-2}.get(dtype, 3e-6)  # an ulp: their cosine is another
    check(lambda t: [t.randn(count, dtype=getattr(t, dtype)) for _ in range(3)], close)


EXACT: dict[str, Draw] = {
    "randint": lambda t, n: [t.randint(0, 10, (n,)), t.randint(-5, 2**40, (n,))],
    "randint int32": lambda t, n: [t.randint(3, 9, (n,), dtype=t.int32)],
    "randperm": lambda t, n: [t.randperm(n), t.randperm(n)],
    "bernoulli": lambda t, n: [t.bernoulli(t.full((n,), 0.3)), t.rand(1)],
    "bernoulli float64": lambda t, n: [t.bernoulli(t.full((n,), 0.3, dtype=t.float64))],
    "bernoulli_": lambda t, n: [t.empty(n).bernoulli_(0.3), t.rand(1)],
    "multinomial": lambda t, n: [
        t.multinomial(t.arange(1.0, n + 1), 1),
        t.multinomial(t.arange(1.0, n + 1), min(n, 3)),
        t.multinomial(t.arange(1.0, n + 1), 5, replacement=True),
        t.multinomial(t.arange(1.0, 2 * n + 1).reshape(2, n), 1),
        t.rand(1),
    ],
    "random_": lambda t, n: [
        t.empty(n, dtype=t.int64).random_(0, 7),
        t.empty(n).random_(5),
        t.empty(n).random_(),
        t.empty(n, dtype=t.uint8).random_(),
        t.empty(n, dtype=t.int32).random_(),
        t.empty(n, dtype=t.int64).random_(),
        t.empty((), dtype=t.int64).random_(),
    ],
    "generator": lambda t, n: [t.rand(n, generator=t.Generator().manual_seed(3)), t.rand(n)],
}
CLOSE: dict[str, Draw] = {
    "dropout of a transposed tensor": lambda t, n: [
        t.nn.functional.dropout(t.ones(n, 3).t(), 0.4),
        t.nn.functional.dropout(t.ones(2, 3, n).permute(2, 0, 1)[:, :1], 0.4),
        t.nn.functional.dropout(t.ones(3, n)[:, ::2].t(), 0.4),
        t.nn.functional.dropout(t.ones(1, n).expand(3, n), 0.4),
        t.rand(1),
    ],
    "like a stretched tensor": lambda t, n: [
        t.rand_like(t.ones(1, n).expand(3, n)), t.randn_like(t.ones(1, n).expand(3, n)),
        t.randint_like(t.ones(1, n).expand(3, n), 100), t.rand(1),
    ],
    "trunc_normal_": lambda t, n: [
        t.nn.init.trunc_normal_(t.empty(n)), t.nn.init.trunc_normal_(t.empty(n), a=-0.1, b=0.2),
        t.nn.init.trunc_normal_(t.empty(n), mean=1.0, std=0.5, a=1.5, b=3.0), t.rand(1),
    ],
    "orthogonal_": lambda t, n: [
        t.nn.init.orthogonal_(t.empty(3, n)), t.nn.init.orthogonal_(t.empty(n, 2)), t.rand(1),
    ],
    "dropout": lambda t, n: [
        t.nn.functional.dropout(t.ones(n), 0.4), t.nn.functional.dropout(t.ones(n), 0.1),
    ],
    "exponential_": lambda t, n: [t.empty(n).exponential_(2.0)],
    "uniform_": lambda t, n: [t.empty(n).uniform_(-3, 2)],
    "normal_": lambda t, n: [t.empty(n).normal_(1, 2), t.normal(t.arange(float(n)), 2.0)],
    "rrelu": lambda t, n: [t.nn.functional.rrelu(t.linspace(-3, 3, n), training=True)],
    "gumbel_softmax": lambda t, n: [t.nn.functional.gumbel_softmax(t.zeros(n))],
    "dropout2d": lambda t, n: [t.nn.functional.dropout2d(t.ones(2, n, 2, 2), 0.5, True)],
    "alpha_dropout": lambda t, n: [t.nn.functional.alpha_dropout(t.ones(n), 0.5, True)],
    "one after the other": lambda t, n: [t.randn(3), t.rand(n), t.randn(2), t.randn(n), t.randn(1)],
}  # fmt: skip


VIEWS: dict[str, Callable[[Any], Any]] = {
    "transposed": lambda t: t.zeros(5, 7).t(),
    "small": lambda t: t.zeros(2, 3).t(),
    "permuted": lambda t: t.zeros(3, 4, 5).permute(2, 0, 1),
    "with gaps": lambda t: t.zeros(5, 8)[:, ::2],
    "rows": lambda t: t.zeros(6, 5)[1:4],
}
FILLS: dict[str, Callable[[Any, Any], Any]] = {
    "uniform_": lambda t, view: view.uniform_(-1, 2),
    "normal_": lambda t, view: view.normal_(1, 2),
    "bernoulli_": lambda t, view: view.bernoulli_(0.4),
    "exponential_": lambda t, view: view.exponential_(2.0),
    "random_": lambda t, view: view.random_(100),
    "rand_like": lambda t, view: t.rand_like(view),
    "randn_like": lambda t, view: t.randn_like(view),
    "randint_like": lambda t, view: t.randint_like(view, 10),
    "bernoulli": lambda t, view: t.bernoulli(view + 0.4),
    "dropout": lambda t, view: t.nn.functional.dropout(view.fill_(1.0), 0.4),
    "xavier_normal_": lambda t, view: t.nn.init.xavier_normal_(view),
}


@pytest.mark.parametrize("name", FILLS)
@pytest.mark.parametrize("view", VIEWS)
def test_views_are_filled_in_the_order_of_memory(name: str, view: str) -> None:
    check(lambda t: [FILLS[name](t, VIEWS[view](t)), t.rand(3)], 3e-6)


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("count", COUNTS)
def test_exactly(name: str, count: int) -> None:
    check(lambda t: EXACT[name](t, count))


@pytest.mark.parametrize("name", CLOSE)
@pytest.mark.parametrize("count", COUNTS)
def test_but_for_rounding(name: str, count: int) -> None:
    check(lambda t: CLOSE[name](t, count), 3e-6)


@pytest.mark.parametrize(
    "make",
    [
        lambda nn: nn.Linear(7, 5),
        lambda nn: nn.Conv1d(3, 4, 3),
        lambda nn: nn.Conv2d(3, 4, 3),
        lambda nn: nn.ConvTranspose2d(3, 4, 3),
        lambda nn: nn.LSTM(4, 5, 2, bidirectional=True),
        lambda nn: nn.GRUCell(3, 4),
        lambda nn: nn.RNN(3, 4),
        lambda nn: nn.Embedding(10, 6),
    ],
)
def test_modules_start_with_the_same_weights(make: Callable[[Any], Any]) -> None:
    check(lambda t: list(make(t.nn).parameters()), 1e-6)


@pytest.mark.parametrize(
    "name",
    [
        "xavier_uniform_",
        "xavier_normal_",
        "kaiming_uniform_",
        "kaiming_normal_",
        "normal_",
        "uniform_",
        "trunc_normal_",
    ],
)
def test_init(name: str) -> None:
    check(lambda t: [getattr(t.nn.init, name)(t.empty(6, 20))], 1e-6)


def test_lazy_draws_the_same_numbers() -> None:
    def draw(t: Any) -> list[Any]:
        x = t.ones(20, requires_grad=True)
        y = t.nn.functional.dropout(x * 2, 0.5) + t.rand(20)
        y.sum().backward()
        return [y, x.grad, t.randn(20)]

    def lazily(t: Any) -> list[Any]:
        if t is torch:
            return draw(t)
        with weft.lazy():
            return draw(t)

    check(lazily, 3e-6)
