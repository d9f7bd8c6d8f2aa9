"""Distributions give PyTorch's numbers, values and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import weft

Make = Callable[[Any, list[Any]], Any]
POSITIVE = [[0.5, 1.5, 3.0], [0.25, 2.0, 1.0]]
ANY = [[-1.0, 0.0, 2.5], [0.3, -0.7, 1.0]]
PARTS = [[0.2, 0.5, 0.9], [0.1, 0.6, 0.25]]
MATRIX = [[2.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 0.5]]
LOWER = [[1.0, 0.0, 0.0], [0.5, 2.0, 0.0], [-0.3, 0.1, 0.7]]

# Name -> arguments, how to make it of tensors, and values in its support.
TABLE: dict[str, tuple[list[Any], Make, Any]] = {
    "Normal": ([ANY, POSITIVE], lambda d, a: d.Normal(*a), ANY),
    "Normal, broadcast": ([[1.0], POSITIVE], lambda d, a: d.Normal(*a), ANY),
    "Uniform": ([ANY, [[4.0, 5.0, 6.0]]], lambda d, a: d.Uniform(*a), [[3.0, 2.0, 5.0]]),
    "Exponential": ([POSITIVE], lambda d, a: d.Exponential(*a), POSITIVE),
    "Bernoulli": ([PARTS], lambda d, a: d.Bernoulli(*a), [[0.0, 1.0, 1.0]]),
    "Bernoulli, logits": ([ANY], lambda d, a: d.Bernoulli(logits=a[0]), [[0.0, 1.0, 1.0]]),
    "Categorical": ([PARTS], lambda d, a: d.Categorical(*a), [0, 2]),
    "Categorical, logits": ([ANY], lambda d, a: d.Categorical(logits=a[0]), [2, 1]),
    "Categorical, one": ([PARTS[0]], lambda d, a: d.Categorical(*a), 1),
    "Laplace": ([ANY, POSITIVE], lambda d, a: d.Laplace(*a), ANY),
    "LogNormal": ([ANY, POSITIVE], lambda d, a: d.LogNormal(*a), POSITIVE),
    "HalfNormal": ([POSITIVE], lambda d, a: d.HalfNormal(*a), POSITIVE),
    "Gumbel": ([ANY, POSITIVE], lambda d, a: d.Gumbel(*a), ANY),
    "Gamma": ([POSITIVE, PARTS], lambda d, a: d.Gamma(*a), POSITIVE),
    "Chi2": ([POSITIVE], lambda d, a: d.Chi2(*a), POSITIVE),
    "Beta": ([POSITIVE, PARTS], lambda d, a: d.Beta(*a), PARTS),
    "Dirichlet": ([POSITIVE], lambda d, a: d.Dirichlet(*a), [0.25, 0.25, 0.5]),
    "Geometric": ([PARTS], lambda d, a: d.Geometric(*a), [[0.0, 1.0, 3.0]]),
    "OneHotCategorical": ([PARTS], lambda d, a: d.OneHotCategorical(*a), [0.0, 1.0, 0.0]),
    "OneHotCategoricalStraightThrough": (
        [ANY],
        lambda d, a: d.OneHotCategoricalStraightThrough(logits=a[0]),
        [0.0, 0.0, 1.0],
    ),
    "RelaxedBernoulli": ([[0.7], PARTS], lambda d, a: d.RelaxedBernoulli(*a), PARTS),
    "RelaxedOneHotCategorical": (
        [0.7, ANY],
        lambda d, a: d.RelaxedOneHotCategorical(a[0], logits=a[1]),
        [0.25, 0.25, 0.5],
    ),
    "MixtureSameFamily": (
        [PARTS, ANY, POSITIVE],
        lambda d, a: d.MixtureSameFamily(d.Categorical(a[0]), d.Normal(a[1], a[2])),
        [0.1, -0.4],
    ),
    "MixtureSameFamily, vectors": (
        [PARTS[0][:2], ANY, POSITIVE],
        lambda d, a: d.MixtureSameFamily(
            d.Categorical(a[0]), d.Independent(d.Normal(a[1], a[2]), 1)
        ),
        [0.1, -0.4, 0.3],
    ),
    "TransformedDistribution": (
        [ANY, POSITIVE],
        lambda d, a: d.TransformedDistribution(
            d.Normal(*a), [d.TanhTransform(), d.AffineTransform(1.0, 2.0)]
        ),
        [[0.5, 1.0, 2.5]],
    ),
    "TransformedDistribution, vectors": (
        [ANY[0], LOWER, POSITIVE[0]],
        lambda d, a: d.TransformedDistribution(
            d.MultivariateNormal(a[0], scale_tril=a[1]),
            [d.SigmoidTransform(), d.AffineTransform(a[0], a[2], event_dim=1)],
        ),
        [-0.8, 0.2, 3.5],
    ),
    "TransformedDistribution, others": (
        [POSITIVE, POSITIVE],
        lambda d, a: d.TransformedDistribution(
            d.Exponential(a[0]), [d.ExpTransform().inv, d.SoftplusTransform(), d.ExpTransform()]
        ),
        [[1.5, 2.0, 3.5]],
    ),
    "Independent": ([ANY, POSITIVE], lambda d, a: d.Independent(d.Normal(*a), 1), ANY),
    "Independent, all": ([PARTS], lambda d, a: d.Independent(d.Bernoulli(*a), 2), [[0.0] * 3] * 2),
    "MultivariateNormal": (
        [ANY, MATRIX],
        lambda d, a: d.MultivariateNormal(a[0], a[1]),
        [[0.1, 0.2, 0.3], [1.0, 2.0, -1.0]],
    ),
    "MultivariateNormal, scale_tril": (
        [ANY[0], LOWER],
        lambda d, a: d.MultivariateNormal(a[0], scale_tril=a[1]),
        [0.1, 0.2, 0.3],
    ),
}
WAYS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "log_prob": lambda t, d, v: d.log_prob(v),
    "entropy": lambda t, d, v: d.entropy(),
    "perplexity": lambda t, d, v: d.perplexity(),
    "cdf": lambda t, d, v: d.cdf(v),
    "icdf": lambda t, d, v: d.icdf(t.tensor([0.1, 0.5, 0.9], dtype=t.float64)),
    "mean": lambda t, d, v: d.mean,
    "variance": lambda t, d, v: d.variance,
    "stddev": lambda t, d, v: d.stddev,
    "mode": lambda t, d, v: d.mode,
    "rsample": lambda t, d, v: d.rsample((5,)),
    "rsample, one": lambda t, d, v: d.rsample(),
    "enumerate_support": lambda t, d, v: d.enumerate_support(),
    "enumerate_support, small": lambda t, d, v: d.enumerate_support(expand=False),
    "expand": lambda t, d, v: d.expand((4, *d.batch_shape)).log_prob(v),
    "expand, rsample": lambda t, d, v: d.expand((4, *d.batch_shape)).rsample((2,)),
    "covariance_matrix": lambda t, d, v: d.covariance_matrix,
    "precision_matrix": lambda t, d, v: d.precision_matrix,
}


# What PyTorch has and Weft lacks: gradients through gamma values, and some numbers.
LACKING = {
    ("Beta", "mode"),
    ("Chi2", "cdf"),
    ("Dirichlet", "mode"),
    ("Gamma", "cdf"),
    ("HalfNormal", "mode"),
}
SAMPLED_ONLY = ("Gamma", "Chi2", "Beta", "Dirichlet")


def run(t: Any, name: str, way: str) -> Any:
    """Return the value and the gradients, or the error's type if there is none."""
    numbers, make, value = TABLE[name]
    given = [t.tensor(n, dtype=t.float64, requires_grad=True) for n in numbers]
    t.manual_seed(3)
    distribution = make(t.distributions, given)
    try:
        result = WAYS[way](t, distribution, t.tensor(value, dtype=t.float64))
    except (NotImplementedError, AttributeError):
        return None
    grads = [None] * len(given)
    if result.requires_grad:
        result.backward(t.ones_like(result))
        grads = [g.grad for g in given]
    shapes = (tuple(distribution.batch_shape), tuple(distribution.event_shape))
    return result, grads, shapes, distribution.has_rsample, distribution.has_enumerate_support


def close(found: Any, wanted: Any) -> None:
    if wanted is None:
        # No gradient, or one of zeros.
        assert found is None or not found.numpy().any()
        return
    assert str(found.dtype).split(".")[1] == str(wanted.dtype).split(".")[1]
    np.testing.assert_allclose(
        found.detach().numpy(), wanted.detach().numpy(), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", TABLE)
def test_ways(name: str, way: str) -> None:
    base = name.removesuffix("StraightThrough")
    if (base, way) in LACKING or (base in SAMPLED_ONLY and "rsample" in way):
        assert run(weft, name, way) is None
        return
    wanted, found = run(torch, name, way), run(weft, name, way)
    if wanted is None:
        assert found is None
        return
    close(found[0], wanted[0])
    assert found[2] == wanted[2]
    assert found[3:] == (base not in SAMPLED_ONLY and wanted[3], wanted[4])
    for mine, theirs in zip(found[1], wanted[1], strict=True):
        if mine is None and theirs is not None:
            assert not theirs.numpy().any()
        elif way == "precision_matrix" and theirs is not None and theirs.ndim > 1:
            close(mine.tril(), theirs.tril())  # theirs has numbers for what is not read, too
        else:
            close(mine, theirs)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(), (3,), (7, 4), (40,)])
@pytest.mark.parametrize("name", TABLE)
def test_samples(name: str, shape: tuple[int, ...], dtype: str) -> None:
    def draw(t: Any) -> list[Any]:
        numbers, make, _ = TABLE[name]
        given = [t.tensor(n, dtype=getattr(t, dtype)) for n in numbers]
        t.manual_seed(5)
        distribution = make(t.distributions, given)
        return [distribution.sample(shape), distribution.sample(), t.rand(2)]

    tolerance = 3e-6 if dtype == "float32" else 1e-9
    for found, wanted in zip(draw(weft), draw(torch), strict=True):
        assert tuple(found.shape) == tuple(wanted.shape)
        assert not found.requires_grad
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=tolerance, atol=tolerance)


PAIRS: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {
    "Normal": lambda d, t: (d.Normal(t(ANY), t(POSITIVE)), d.Normal(t(POSITIVE), t(PARTS))),
    "Bernoulli": lambda d, t: (d.Bernoulli(t(PARTS)), d.Bernoulli(logits=t(ANY))),
    "Bernoulli, sure": lambda d, t: (
        d.Bernoulli(t([0.0, 1.0, 0.5, 0.5, 0.0])), d.Bernoulli(t([0.0, 1.0, 0.0, 1.0, 1.0])),
    ),
    "Categorical": lambda d, t: (d.Categorical(t(PARTS)), d.Categorical(logits=t(ANY))),
    "Laplace": lambda d, t: (d.Laplace(t(ANY), t(POSITIVE)), d.Laplace(t(PARTS), t(PARTS))),
    "Gamma": lambda d, t: (d.Gamma(t(PARTS), t(POSITIVE)), d.Gamma(t(POSITIVE), t(PARTS))),
    "Beta": lambda d, t: (d.Beta(t(PARTS), t(POSITIVE)), d.Beta(t(POSITIVE), t(PARTS))),
    "Dirichlet": lambda d, t: (d.Dirichlet(t(PARTS)), d.Dirichlet(t(POSITIVE))),
    "LogNormal": lambda d, t: (d.LogNormal(t(ANY), t(POSITIVE)), d.LogNormal(t(ANY), t(PARTS))),
    "OneHotCategorical": lambda d, t: (
        d.OneHotCategorical(t(PARTS)), d.OneHotCategorical(logits=t(ANY)),
    ),
    "Categorical, sure": lambda d, t: (
        d.Categorical(t([[0.0, 1.0], [0.5, 0.5]])), d.Categorical(t([0.0, 1.0])),
    ),
    "Uniform": lambda d, t: (
        d.Uniform(t([0.0, 0.0]), t([1.0, 3.0])), d.Uniform(t([-1.0, 0.0]), t([2.0, 2.0])),
    ),
    "Exponential": lambda d, t: (d.Exponential(t(POSITIVE)), d.Exponential(t(PARTS))),
    "Independent": lambda d, t: (
        d.Independent(d.Normal(t(ANY), t(POSITIVE)), 1),
        d.Independent(d.Normal(t(POSITIVE), t(PARTS)), 1),
    ),
    "MultivariateNormal": lambda d, t: (
        d.MultivariateNormal(t(ANY), t(MATRIX)),
        d.MultivariateNormal(t(POSITIVE[0]), scale_tril=t(LOWER)),
    ),
    "Uniform, Normal": lambda d, t: (d.Uniform(t(ANY), t([4.0] * 3)), d.Normal(t(ANY), t(PARTS))),
    "Uniform, Exponential": lambda d, t: (
        d.Uniform(t([-1.0, 0.5]), t([4.0, 2.0])), d.Exponential(t([1.0, 2.0])),
    ),
    "Exponential, Normal": lambda d, t: (d.Exponential(t(PARTS)), d.Normal(t(ANY), t(POSITIVE))),
    "Normal, Uniform": lambda d, t: (d.Normal(t(ANY), t(PARTS)), d.Uniform(t(ANY), t([4.0] * 3))),
    "Normal, Exponential": lambda d, t: (d.Normal(t(ANY), t(PARTS)), d.Exponential(t(PARTS))),
    "Exponential, Uniform": lambda d, t: (
        d.Exponential(t(PARTS)), d.Uniform(t(ANY), t([4.0] * 3)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_kl(name: str) -> None:
    def run(t: Any) -> Any:
        given: list[Any] = []

        def make(numbers: Any) -> Any:
            given.append(t.tensor(numbers, dtype=t.float64, requires_grad=True))
            return given[-1]

        result = t.distributions.kl_divergence(*PAIRS[name](t.distributions, make))
        if result.requires_grad and "sure" not in name:
            result[result.isfinite()].sum().backward()
        return result, [g.grad for g in given]

    (found, gradients), (wanted, wanted_gradients) = run(weft), run(torch)
    close(found, wanted)
    for mine, theirs in zip(gradients, wanted_gradients, strict=True):
        close(mine, theirs)


BAD: dict[str, Callable[[Any, Any], Any]] = {
    "scale": lambda t, d: d.Normal(t.zeros(2), t.tensor([1.0, -1.0])),
    "nan": lambda t, d: d.Normal(t.tensor(float("nan")), 1.0),
    "probs": lambda t, d: d.Bernoulli(t.tensor([1.5])),
    "negative": lambda t, d: d.Categorical(t.tensor([-0.5, 1.5])),
    "0-d": lambda t, d: d.Categorical(t.tensor(1.0)),
    "both": lambda t, d: d.Bernoulli(t.ones(1), t.ones(1)),
    "neither": lambda t, d: d.Categorical(),
    "order": lambda t, d: d.Uniform(1.0, 0.0),
    "value": lambda t, d: d.Bernoulli(0.5).log_prob(t.tensor(0.5)),
    "class": lambda t, d: d.Categorical(t.ones(3)).log_prob(t.tensor(3)),
    "shape": lambda t, d: d.Normal(t.zeros(3), 1.0).log_prob(t.zeros(2)),
    "no tensor": lambda t, d: d.Normal(0.0, 1.0).log_prob(0.0),
    "rate": lambda t, d: d.Exponential(-1.0),
    "dims": lambda t, d: d.Independent(d.Normal(0.0, 1.0), 1),
    "matrix": lambda t, d: d.MultivariateNormal(t.zeros(2), scale_tril=t.ones(2, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_errors(name: str) -> None:
    for t in (torch, weft):
        with pytest.raises(ValueError):
            BAD[name](t, t.distributions)
