"""The keyword `out`."""

from __future__ import annotations

from typing import Any

import pytest

import weft


@pytest.mark.parametrize(
    "call",
    [
        lambda **out: weft.mul(weft.arange(3.0), 2, **out),  # an op
        lambda **out: weft.square(weft.arange(3.0), **out),  # a composite
        lambda **out: weft.add(weft.arange(3.0), 2, **out),  # a function of Python's
        lambda **out: weft.matmul(weft.ones(3, 2), weft.ones(2), **out),
        lambda **out: weft.cat([weft.ones(1), weft.zeros(2)], **out),
        lambda **out: weft.sum(weft.ones(2, 3), 0, **out),
    ],
)
def test_results_are_written_there(call: Any) -> None:
    out = weft.full((3,), 9.0)
    assert call(out=out) is out
    assert weft.equal(out, call())
    assert weft.equal(call(out=None), call())


def test_several_results() -> None:
    values, indices = weft.zeros(2), weft.zeros(2, dtype=weft.int64)
    result = weft.max(weft.tensor([[1.0, 3.0], [2.0, 0.0]]), 1, out=(values, indices))
    assert result.values is values
    assert (values.tolist(), indices.tolist()) == ([3.0, 2.0], [1, 0])


def test_another_shape_and_dtype() -> None:
    out = weft.zeros(0)
    weft.exp(weft.zeros(2, 2), out=out)
    assert out.shape == (2, 2)
    double = weft.zeros(2, dtype=weft.float64)
    weft.add(weft.ones(2), 1, out=double)
    assert double.dtype is weft.float64
    with pytest.raises(TypeError, match=r"mul\(\): result type .*float32 can't be cast to out's"):
        weft.mul(weft.ones(2), 1.5, out=weft.zeros(2, dtype=weft.int64))
    with pytest.raises(TypeError, match=r"mul\(\): out must be a Tensor, not int"):
        weft.mul(weft.ones(2), 1.5, out=3)


def test_gradients_are_refused() -> None:
    x = weft.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        weft.exp(x, out=weft.zeros(2))
    with weft.no_grad():
        assert weft.exp(x, out=weft.zeros(2)).tolist() == weft.exp(x).tolist()
        weft.mul(x, 3, out=x)
    assert x.tolist() == [3, 3]
    assert x.requires_grad
