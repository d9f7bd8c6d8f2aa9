"""Dropout modules."""

from __future__ import annotations

import pytest

import weft
from weft import nn


def test_dropout_only_while_training():
    layer = nn.Dropout(0.25)
    x = weft.ones(200, 100)
    y = layer(x)
    assert sorted(set(y.reshape(-1).tolist())) == pytest.approx([0, 4 / 3])
    assert float((y == 0).float().mean()) == pytest.approx(0.25, abs=0.02)
    assert layer.eval()(x) is x


def test_gradient_follows_the_mask():
    x = weft.ones(50, requires_grad=True)
    y = nn.Dropout(0.5)(x)
    y.sum().backward()
    assert weft.equal(x.grad, y.detach())


@pytest.mark.parametrize(
    ("kind", "shape"), [(nn.Dropout1d, (20, 30, 4)), (nn.Dropout2d, (20, 30, 2, 2))]
)
def test_channels_are_dropped_whole(kind, shape):
    y = kind(0.5)(weft.ones(shape)).reshape(*shape[:2], -1)
    kept = (y != 0).float().mean(-1)
    assert set(kept.reshape(-1).tolist()) == {0, 1}
    assert 0.4 < float(kept.mean()) < 0.6
    x = weft.ones(shape)
    assert kind().eval()(x) is x


def test_dropout1d_of_one_example():
    assert nn.Dropout1d()(weft.ones(3, 4)).shape == (3, 4)


def test_alpha_dropout_keeps_mean_and_variance():
    y = nn.AlphaDropout(0.3)(weft.randn(400, 100))
    assert float(y.mean()) == pytest.approx(0, abs=0.03)
    assert float(y.std()) == pytest.approx(1, abs=0.03)


def test_in_place():
    x = weft.ones(1000)
    assert nn.Dropout(0.5, inplace=True)(x) is x
    assert (x == 0).any()


@pytest.mark.parametrize("p", [-0.1, 1.5])
def test_probability_is_checked(p):
    with pytest.raises(ValueError, match=str(p)):
        nn.Dropout(p)


def test_text():
    assert repr(nn.Dropout(0.3)) == "Dropout(p=0.3, inplace=False)"


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("dropout", (2, 3)),
        ("alpha_dropout", (2, 3)),
        ("feature_alpha_dropout", (2, 3)),
        ("dropout1d", (2, 3, 1)),
        ("dropout2d", (2, 3, 1, 1)),
        ("dropout3d", (2, 3, 1, 1, 1)),
    ],
)
def test_all_may_be_dropped(name, shape):
    drop, x = getattr(nn.functional, name), weft.ones(shape)
    assert drop(x, 1.0, True).tolist() == (x * 0).tolist()
    assert drop(x, 0.0, True).tolist() == x.tolist()
    with pytest.raises(ValueError, match=r"1\.01"):
        drop(x, 1.01, True)
