"""What all distributions have in common: checks, shapes, lazy evaluation and maps."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import weft
from weft.distributions import (
    Bernoulli,
    Categorical,
    Distribution,
    Exponential,
    Independent,
    MultivariateNormal,
    Normal,
    Uniform,
)
from weft.distributions.distribution import broadcast_all

MAKERS: dict[str, Callable[[weft.Tensor], Distribution]] = {
    "Normal": lambda x: Normal(x, x.exp()),
    "Uniform": lambda x: Uniform(x, x + 2),
    "Exponential": lambda x: Exponential(x.exp()),
    "Bernoulli": lambda x: Bernoulli(logits=x),
    "Categorical": lambda x: Categorical(logits=x),
    "Independent": lambda x: Independent(Normal(x, x.exp()), 1),
    "MultivariateNormal": lambda x: MultivariateNormal(x, weft.diag(x.exp())),
}


@pytest.fixture
def unchecked() -> Iterator[None]:
    Distribution.set_default_validate_args(False)
    yield
    Distribution.set_default_validate_args(True)


def score(make: Callable[[weft.Tensor], Distribution], x: weft.Tensor) -> weft.Tensor:
    """Return a number that depends on a sample, its probability and the entropy."""
    distribution = make(x)
    drawn = distribution.rsample() if distribution.has_rsample else distribution.sample()
    return (distribution.log_prob(drawn) + distribution.entropy() + drawn.sum()).sum()


@pytest.mark.parametrize("name", MAKERS)
def test_lazy_is_eager(name: str) -> None:
    def run() -> tuple[float, list[float]]:
        weft.manual_seed(1)
        x = weft.tensor([0.1, 0.5, -0.3], requires_grad=True)
        value = score(MAKERS[name], x)
        value.backward()
        assert x.grad is not None
        return value.item(), x.grad.tolist()

    value, gradient = run()
    with weft.lazy():
        lazy_value, lazy_gradient = run()
    assert lazy_value == pytest.approx(value, rel=1e-5)
    assert lazy_gradient == pytest.approx(gradient, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("name", MAKERS)
def test_map_is_one_by_one(name: str) -> None:
    examples = [weft.tensor([0.1 * i, 0.5, -0.3 * i]) for i in range(6)]

    def run(batch: bool) -> list[float]:
        weft.manual_seed(1)
        return [y.item() for y in weft.map(lambda x: score(MAKERS[name], x), examples, batch=batch)]

    assert run(True) == pytest.approx(run(False), rel=1e-5)


@pytest.mark.parametrize(
    "name", [name for name in MAKERS if MAKERS[name](weft.zeros(2)).has_rsample]
)
def test_rsample_has_gradients(name: str) -> None:
    x = weft.tensor([0.1, 0.5, -0.3], dtype=weft.float64, requires_grad=True)

    def sample(x: weft.Tensor) -> weft.Tensor:
        weft.manual_seed(2)
        return MAKERS[name](x).rsample((4,))

    assert weft.autograd.gradcheck(sample, (x,))


@pytest.mark.parametrize("name", MAKERS)
def test_log_prob_has_gradients(name: str) -> None:
    x = weft.tensor([0.1, 0.5, -0.3], dtype=weft.float64, requires_grad=True)
    value = MAKERS[name](x).sample((4,)).detach()
    assert weft.autograd.gradcheck(lambda x: MAKERS[name](x).log_prob(value), (x,))
    assert weft.autograd.gradgradcheck(lambda x: MAKERS[name](x).log_prob(value), (x,))


@pytest.mark.parametrize("name", MAKERS)
def test_samples_have_no_gradient(name: str) -> None:
    x = weft.tensor([0.1, 0.5], requires_grad=True)
    distribution = MAKERS[name](x)
    assert not distribution.sample((2,)).requires_grad
    # Sampling first must not cut what is computed once and kept.
    assert distribution.log_prob(distribution.sample()).requires_grad


def test_an_error_names_the_argument_and_shows_it() -> None:
    with pytest.raises(ValueError, match=r"parameter scale .*Normal.*greater_than.*\n.*-1"):
        Normal(weft.zeros(2), weft.tensor([1.0, -1.0]))
    with pytest.raises(ValueError, match="within the support"):
        Categorical(weft.ones(3)).log_prob(weft.tensor(5))


def test_checks_can_be_left_out() -> None:
    assert Normal(0.0, -1.0, validate_args=False).scale.item() == -1
    with weft.lazy():
        assert Normal(0.0, -1.0).scale.item() == -1
        with pytest.raises(ValueError, match="scale"):
            Normal(0.0, -1.0, validate_args=True)


@pytest.mark.usefixtures("unchecked")
def test_checks_can_be_left_out_everywhere() -> None:
    assert Normal(0.0, -1.0).scale.item() == -1
    with pytest.raises(ValueError, match="scale"):
        Normal(0.0, -1.0, validate_args=True)


def test_numbers_become_tensors_like_the_others() -> None:
    number, given = broadcast_all(1, weft.zeros(2, dtype=weft.float64))
    assert number.dtype == weft.float64
    assert number.shape == given.shape
    with pytest.raises(ValueError, match="not str"):
        broadcast_all("a")


def test_what_is_missing_says_so() -> None:
    with pytest.raises(NotImplementedError, match="Bernoulli has no rsample"):
        Bernoulli(0.5).rsample()
    with pytest.raises(NotImplementedError, match="Categorical has no cdf"):
        Categorical(weft.ones(2)).cdf(weft.tensor(0))


def test_shapes_are_shown() -> None:
    assert repr(Normal(0.0, 2.0)) == "Normal(loc: 0.0, scale: 2.0)"
    assert "Size([3])" in repr(Normal(weft.zeros(3), 1.0))
