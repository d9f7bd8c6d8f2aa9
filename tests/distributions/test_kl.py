"""Divergences of pairs of distributions."""

from __future__ import annotations

import math

import pytest

import weft
from weft.distributions import (
    Bernoulli,
    Categorical,
    Distribution,
    Exponential,
    Normal,
    Uniform,
    kl_divergence,
    register_kl,
)


@pytest.mark.parametrize(
    ("p", "q"),
    [
        (Normal(0.5, 1.0), Normal(0.0, 2.0)),
        (Uniform(0.2, 0.9), Normal(0.0, 1.0)),
        (Exponential(2.0), Exponential(0.7)),
        (Exponential(2.0), Normal(0.3, 1.0)),
        (Bernoulli(0.3), Bernoulli(0.6)),
        (Categorical(weft.tensor([0.2, 0.8])), Categorical(weft.tensor([0.5, 0.5]))),
    ],
    ids=lambda d: type(d).__name__,
)
def test_is_the_mean_of_log_ratios(p: Distribution, q: Distribution) -> None:
    drawn = p.sample((100_000,))
    estimate = (p.log_prob(drawn) - q.log_prob(drawn)).mean().item()
    assert kl_divergence(p, q).item() == pytest.approx(estimate, abs=0.02)


def test_what_q_never_gives_is_infinitely_far() -> None:
    assert kl_divergence(Normal(0.0, 1.0), Uniform(0.0, 1.0)).item() == math.inf
    sure = Categorical(weft.tensor([1.0, 0.0]))
    assert kl_divergence(Categorical(weft.ones(2)), sure).item() == math.inf


def test_the_nearest_formula_is_taken() -> None:
    class Near(Normal):
        pass

    assert kl_divergence(Near(0.0, 1.0), Normal(0.0, 1.0)).item() == 0

    @register_kl(Near, Normal)
    def near(p: Near, q: Normal) -> weft.Tensor:
        return weft.tensor(7.0)

    assert kl_divergence(Near(0.0, 1.0), Normal(0.0, 1.0)).item() == 7
    assert kl_divergence(Normal(0.0, 1.0), Near(0.0, 1.0)).item() == 0


def test_errors() -> None:
    with pytest.raises(NotImplementedError, match="p type Bernoulli and q type Normal"):
        kl_divergence(Bernoulli(0.5), Normal(0.0, 1.0))
    with pytest.raises(TypeError, match="subclasses of Distribution"):
        register_kl(int, Normal)
