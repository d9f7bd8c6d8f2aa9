"""Clipping of gradients."""

from __future__ import annotations

import math

import pytest

import weft
from weft import nn
from weft.nn import utils


def parameters():
    a, b, c = (nn.Parameter(weft.zeros(2)) for _ in range(3))
    a.grad, b.grad = weft.tensor([3.0, 0.0]), weft.tensor([0.0, -4.0])
    return [a, b, c]


@pytest.mark.parametrize(("norm_type", "norm"), [(2.0, 5.0), (1.0, 7.0), (math.inf, 4.0)])
def test_norm(norm_type, norm):
    params = parameters()
    total = utils.clip_grad_norm_(iter(params), 1.0, norm_type)
    assert float(total) == pytest.approx(norm)
    assert params[0].grad.tolist() == pytest.approx([3 / norm, 0], abs=1e-5)
    assert params[1].grad.tolist() == pytest.approx([0, -4 / norm], abs=1e-5)


def test_small_gradients_stay():
    params = parameters()
    utils.clip_grad_norm_(params, 100.0)
    assert params[0].grad.tolist() == [3, 0]
    assert utils.clip_grad_norm_([nn.Parameter(weft.zeros(1))], 1.0) == 0
    assert float(utils.clip_grad_norm_(params[0], 1.0)) == 3


def test_norms_that_are_not_finite():
    params = parameters()
    params[0].grad[0] = math.inf
    with pytest.raises(RuntimeError, match="inf"):
        utils.clip_grad_norm_(params, 1.0, error_if_nonfinite=True)
    assert not math.isfinite(float(utils.clip_grad_norm_(params, 1.0)))


def test_values():
    params = parameters()
    utils.clip_grad_value_(params, 2.5)
    assert params[0].grad.tolist() == [2.5, 0]
    assert params[1].grad.tolist() == [0, -2.5]
