"""Initial values."""

from __future__ import annotations

import math

import numpy as np
import pytest

import weft
from weft.nn import init

MANY = (200, 100)


def filled(function, *args, shape=MANY, **kwargs):
    tensor = weft.zeros(shape, requires_grad=True)
    assert function(tensor, *args, **kwargs) is tensor
    assert tensor.is_leaf
    return tensor.detach().numpy()


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        (lambda: filled(init.uniform_, -2.0, 3.0), -2, 3),
        (
            lambda: filled(init.xavier_uniform_, 2.0),
            -2 * math.sqrt(6 / 300),
            2 * math.sqrt(6 / 300),
        ),
        (lambda: filled(init.kaiming_uniform_, a=math.sqrt(5)), -0.1, 0.1),
        (
            lambda: filled(init.kaiming_uniform_, mode="fan_out"),
            -math.sqrt(6 / 200),
            math.sqrt(6 / 200),
        ),
    ],
)
def test_uniform_draws(values, low, high):
    drawn = values()
    assert low <= drawn.min() < drawn.max() <= high
    assert drawn.mean() == pytest.approx((low + high) / 2, abs=0.02 * (high - low))
    assert drawn.std() == pytest.approx((high - low) / math.sqrt(12), rel=0.05)


@pytest.mark.parametrize(
    ("values", "mean", "deviation"),
    [
        (lambda: filled(init.normal_, 1.0, 2.0), 1, 2),
        (lambda: filled(init.xavier_normal_), 0, math.sqrt(2 / 300)),
        (lambda: filled(init.kaiming_normal_, nonlinearity="relu"), 0, math.sqrt(2 / 100)),
        (lambda: filled(init.kaiming_normal_, shape=(20, 10, 5, 5)), 0, math.sqrt(2 / 250)),
    ],
)
def test_normal_draws(values, mean, deviation):
    drawn = values()
    assert drawn.mean() == pytest.approx(mean, abs=0.1 * deviation)
    assert drawn.std() == pytest.approx(deviation, rel=0.05)


def test_truncated_draws():
    drawn = filled(init.trunc_normal_, std=2.0, a=-1.0, b=3.0)
    assert drawn.min() >= -1
    assert drawn.max() <= 3
    assert 0.5 < drawn.mean() < 1.2


def test_constants():
    assert (filled(init.constant_, 0.5) == 0.5).all()
    assert (filled(init.ones_) == 1).all()
    assert (filled(init.zeros_) == 0).all()
    np.testing.assert_array_equal(filled(init.eye_, shape=(2, 3)), np.eye(2, 3))


def test_dirac_passes_channels_through():
    weight = weft.zeros(4, 2, 3)
    init.dirac_(weight, groups=2)
    assert weight[:, :, 1].tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]
    assert weight.sum() == 4


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (2, 3, 2)])
def test_orthogonal(shape):
    drawn = filled(init.orthogonal_, 2.0, shape=shape).reshape(shape[0], -1)
    small = drawn @ drawn.T if drawn.shape[0] <= drawn.shape[1] else drawn.T @ drawn
    np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-5)


def test_sparse():
    drawn = filled(init.sparse_, 0.25)
    assert ((drawn == 0).sum(0) == 50).all()


def test_gains():
    assert init.calculate_gain("relu") == math.sqrt(2)
    assert init.calculate_gain("leaky_relu", 2.0) == math.sqrt(2 / 5)
    assert init.calculate_gain("tanh") == 5 / 3
    with pytest.raises(ValueError, match="sin"):
        init.calculate_gain("sin")


def test_seed_decides():
    weft.manual_seed(3)
    first = filled(init.normal_)
    weft.manual_seed(3)
    assert (filled(init.normal_) == first).all()
    generator = weft.Generator()
    generator.manual_seed(3)
    assert (filled(init.normal_, generator=generator) == first).all()


@pytest.mark.parametrize(
    "function",
    [init.xavier_uniform_, init.kaiming_normal_, init.eye_, init.orthogonal_, init.sparse_],
)
def test_shapes_that_do_not_fit(function):
    more = (0.5,) if function is init.sparse_ else ()
    with pytest.raises(ValueError, match="dimensions"):
        function(weft.zeros(3), *more)


def test_modes():
    with pytest.raises(ValueError, match="fan_in"):
        init.kaiming_uniform_(weft.zeros(2, 2), mode="fan")


@pytest.mark.parametrize("limits", [{"a": 3.0}, {"std": 0.0}, {"a": 1e30, "b": 2e30}])
def test_trunc_normal_of_nothing(limits: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="trunc_normal_"):
        init.trunc_normal_(weft.empty(3), **limits)


def test_truncated_between_bounds_beside_the_mean():
    weft.manual_seed(0)
    values = filled(init.trunc_normal_, 1.0, 2.0, 2.0, 4.0)
    assert values.min() >= 2.0
    assert values.max() <= 4.0
    # Of a normal distribution cut at half a deviation and at one and a half.
    low, high = 0.5, 1.5
    density = [math.exp(-z * z / 2) / math.sqrt(2 * math.pi) for z in (low, high)]
    share = (math.erf(high / math.sqrt(2)) - math.erf(low / math.sqrt(2))) / 2
    assert values.mean() == pytest.approx(1.0 + 2.0 * (density[0] - density[1]) / share, abs=0.02)
