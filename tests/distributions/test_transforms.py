"""Transforms: there and back, and how much they stretch."""

from __future__ import annotations

import math
from typing import Any

import pytest

import weft
from weft import Tensor
from weft import distributions as D
from weft.func import jacrev, vmap

POSITIVE = [0.25, 1.0, 3.0]
ANY = [-1.5, 0.25, 2.0]
SCALE = weft.tensor([2.0, -0.5, 3.0], dtype=weft.float64)
BIJECTIVE: dict[str, tuple[D.Transform, list[float], Any]] = {
    "exp": (D.ExpTransform(), ANY, lambda x: x.exp()),
    "power": (D.PowerTransform(2.5), POSITIVE, lambda x: x**2.5),
    "root": (D.PowerTransform(SCALE.abs()), POSITIVE, lambda x: x ** SCALE.abs()),
    "sigmoid": (D.SigmoidTransform(), ANY, lambda x: 1 / (1 + (-x).exp())),
    "softplus": (D.SoftplusTransform(), ANY, lambda x: (1 + x.exp()).log()),
    "tanh": (D.TanhTransform(), ANY, lambda x: x.tanh()),
    "affine": (D.AffineTransform(1.0, -2.0), ANY, lambda x: 1 - 2 * x),
    "affine, tensors": (D.AffineTransform(SCALE, SCALE), ANY, lambda x: SCALE + SCALE * x),
    "inverse": (D.TanhTransform().inv, [-0.5, 0.25, 0.75], lambda x: x.atanh()),
    "composed": (
        D.ComposeTransform([D.AffineTransform(1.0, -2.0), D.ExpTransform(), D.PowerTransform(2.0)]),
        ANY,
        lambda x: (2 - 4 * x).exp(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BIJECTIVE)
def test_there_and_back(name: str) -> None:
    transform, values, expected = BIJECTIVE[name]
    x = weft.tensor(values, dtype=weft.float64)
    y = transform(x)
    assert transform.bijective
    assert transform.inv.bijective
    assert weft.allclose(y, expected(x))
    assert weft.allclose(transform.inv(y), x)
    assert weft.allclose(transform.inv.inv(x), y)
    assert transform.domain.check(x).all()
    assert transform.codomain.check(y).all()


@pytest.mark.parametrize("name", BIJECTIVE)
def test_how_much_it_stretches(name: str) -> None:
    transform, values, _ = BIJECTIVE[name]
    x = weft.tensor(values, dtype=weft.float64)
    y = transform(x)
    stretch = jacrev(transform)(x).diagonal().abs().log()
    assert weft.allclose(transform.log_abs_det_jacobian(x, y), stretch)
    assert weft.allclose(transform.inv.log_abs_det_jacobian(y, x), -stretch)


def test_vectors_stretch_as_a_whole() -> None:
    whole = D.AffineTransform(0.0, SCALE, event_dim=1)
    both = D.ComposeTransform([D.ExpTransform(), whole])
    assert both.event_dim == both.inv.event_dim == 1
    x = weft.tensor([ANY, POSITIVE], dtype=weft.float64)
    found = both.log_abs_det_jacobian(x, both(x))
    assert weft.allclose(found, vmap(jacrev(both))(x).det().abs().log())
    assert D.ComposeTransform([]).log_abs_det_jacobian(x, x).tolist() == (x * 0).tolist()
    fixed = D.AffineTransform(0.0, 3.0, event_dim=2)
    assert float(fixed.log_abs_det_jacobian(x, x)) == pytest.approx(6 * math.log(3))


def test_what_cannot_go_back() -> None:
    x = weft.tensor([-2.0, 1.0])
    away = D.AbsTransform()
    assert not away.bijective
    assert not D.ComposeTransform([D.ExpTransform(), away]).bijective
    assert away(x).tolist() == [2, 1]
    assert away.inv(away(x)).tolist() == [2, 1]
    soft = D.SoftmaxTransform()
    assert weft.allclose(soft(x), weft.tensor([0.0474, 0.9526]), atol=1e-4)
    assert weft.allclose(soft(soft.inv(soft(x))), soft(x))
    with pytest.raises(NotImplementedError, match="SoftmaxTransform has no log_abs_det_jacobian"):
        soft.log_abs_det_jacobian(x, x)
    made = D.TransformedDistribution(D.Normal(weft.zeros(2, 3), 1.0), soft)
    assert (made.batch_shape, made.event_shape) == ((2,), (3,))


def test_values_near_the_ends_stay_inside() -> None:
    y = D.SigmoidTransform()(weft.tensor([-200.0, 200.0]))
    assert float(y[0]) > 0
    assert float(y[1]) < 1
    assert D.SigmoidTransform().inv(weft.tensor([0.0, 1.0])).isfinite().all()


@pytest.mark.parametrize("size", [0, 1])
def test_the_last_values_are_kept_if_wanted(size: int) -> None:
    class Counted(D.ExpTransform):
        calls: list[str] = []  # noqa: RUF012

        def _call(self, x: Tensor) -> Tensor:
            self.calls.append("there")
            return super()._call(x)

        def _inverse(self, y: Tensor) -> Tensor:
            self.calls.append("back")
            return super()._inverse(y)

    transform = Counted(cache_size=size)
    Counted.calls = []
    x = weft.tensor(2.0)
    y = transform(x)
    assert (transform(x) is y, transform.inv(y) is x) == (size == 1, size == 1)
    other = weft.tensor(3.0)
    back = transform.inv(other)
    assert (transform(back) is other) == (size == 1)
    done = ["there", "back"] if size else ["there", "there", "back", "back", "there"]
    assert Counted.calls == done
    with pytest.raises(ValueError, match="cache_size must be 0 or 1"):
        Counted(cache_size=2)


def test_text() -> None:
    assert repr(D.TanhTransform()) == "TanhTransform()"
    assert repr(D.TanhTransform().inv) == "_InverseTransform(TanhTransform())"
    both = D.ComposeTransform([D.ExpTransform(), D.AbsTransform()])
    assert repr(both) == "ComposeTransform(\n    ExpTransform(),\n    AbsTransform()\n)"
    with pytest.raises(NotImplementedError, match="must define _call"):
        D.Transform()(weft.ones(1))
    with pytest.raises(NotImplementedError, match="has no inverse"):
        D.Transform().inv(weft.ones(1))
