"""Cells leave random streams where their bodies would have left them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import Any

import pytest

import weft
from weft import distributions, nn
from weft.utils import data

pytestmark = pytest.mark.python

F = nn.functional
own = weft.Generator()


def in_a_branch(x: weft.Tensor) -> weft.Tensor:
    if x.sum() > 0:
        weft.rand(2)
    return x * 2


def caught(x: weft.Tensor) -> weft.Tensor:
    with suppress(ValueError):
        weft.rand(2)
    return x * 2


def seeds(x: weft.Tensor) -> weft.Tensor:
    weft.manual_seed(7)
    return x * 2


def forks(x: weft.Tensor) -> weft.Tensor:
    with weft.random.fork_rng():
        y = weft.rand(3)
    return x * y


def maps(x: weft.Tensor) -> weft.Tensor:
    weft.map(lambda y: y * 2, [x, x])
    return x * 2


def reads_a_seed(x: weft.Tensor) -> weft.Tensor:
    return x * (weft.initial_seed() % 7)


def doing(draw: Callable[[weft.Tensor], Any]) -> Callable[[weft.Tensor], weft.Tensor]:
    def body(x: weft.Tensor) -> weft.Tensor:
        draw(x)
        return x * 2

    return body


BODIES: dict[str, Callable[[weft.Tensor], Any]] = {
    "rand": doing(lambda _: weft.rand(3)),
    "randint": doing(lambda _: weft.randint(0, 3, (3,))),
    "randn_like": doing(weft.randn_like),
    "randperm": doing(lambda _: weft.randperm(5)),
    "bernoulli": doing(lambda x: weft.bernoulli(x.sigmoid())),
    "multinomial": doing(lambda x: weft.multinomial(x.softmax(0), 2)),
    "dropout": doing(F.dropout),
    "dropout_module": doing(nn.Dropout()),
    "uniform_": doing(lambda _: weft.empty(3).uniform_()),
    "normal_": doing(lambda x: x.clone().normal_()),
    "distribution": doing(lambda _: distributions.Normal(0.0, 1.0).sample((3,))),
    "gamma": doing(lambda _: distributions.Gamma(2.0, 1.0).sample()),
    "init": doing(lambda _: nn.init.xavier_uniform_(weft.empty(2, 3))),
    "layer": doing(lambda _: nn.Linear(2, 3)),
    "sampler": doing(lambda _: list(data.RandomSampler(range(4)))),
    "attention": doing(
        lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None], dropout_p=0.5)
    ),
    "gumbel": doing(F.gumbel_softmax),
    "rrelu": doing(lambda x: F.rrelu(x, training=True)),
    "own_generator": doing(lambda _: weft.rand(3, generator=own)),
    "own_generator_used": lambda x: x + weft.rand(3, generator=own),
    "used": lambda x: x + weft.rand(3),
    "in_a_branch": in_a_branch,
    "caught": caught,
    "seeds": seeds,
    "forks": forks,
    "maps": maps,
    "reads_a_seed": reads_a_seed,
}


def after(function: Callable[[weft.Tensor], Any], how: str) -> list[Any]:
    """Return what some calls give, and the numbers that are drawn next."""
    weft.manual_seed(3)
    own.manual_seed(5)
    xs = [weft.ones(3), -weft.ones(3), weft.ones(3) * 2]
    with weft.lazy() if how == "lazy" else nullcontext():
        results = weft.map(function, xs) if how == "map" else [function(x) for x in xs]
        given = [result.tolist() for result in results]
    return [given, weft.rand(2).tolist(), weft.rand(2, generator=own).tolist()]


@pytest.mark.parametrize("how", ["eager", "lazy", "map"])
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.filterwarnings("ignore:more than 20 plans")
def test_a_cell_draws_what_its_body_draws(name: str, how: str) -> None:
    body = BODIES[name]
    cell = weft.cell(body)
    for _ in range(3):
        assert after(cell, how) == after(body, how)


def test_who_draws_says_so() -> None:
    cell: Any = weft.cell(BODIES["randint"])
    cell(weft.ones(3))
    assert cell.note == "its body draws random numbers"
