"""Facts about tensors and dtypes."""

from __future__ import annotations

import numpy as np
import pytest

import weft


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_limits_of_floats(name):
    own, reference = weft.finfo(getattr(weft, name)), np.finfo(name)
    assert own.bits == reference.bits
    for field in ("eps", "max", "min", "tiny", "smallest_normal", "resolution"):
        assert getattr(own, field) == pytest.approx(float(getattr(reference, field)), rel=1e-3)


def test_limits_of_bfloat16_and_the_default():
    assert weft.finfo(weft.bfloat16).eps == 2**-7
    assert weft.finfo().bits == 32
    assert repr(weft.finfo(weft.float32)).startswith("finfo(resolution=1e-06, min=-3.40282e+38")
    with pytest.raises(TypeError, match="int64"):
        weft.finfo(weft.int64)


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "uint8"])
def test_limits_of_integers(name):
    own, reference = weft.iinfo(getattr(weft, name)), np.iinfo(name)
    assert (own.min, own.max, own.bits) == (reference.min, reference.max, reference.bits)
    assert "iinfo(min=" in repr(own)


def test_questions():
    x = weft.ones(2, 3)
    assert weft.is_tensor(x)
    assert not weft.is_tensor(3)
    assert weft.is_floating_point(x)
    assert not weft.is_complex(x)
    assert weft.is_nonzero(weft.tensor(2))
    assert weft.numel(x) == 6
    assert weft.can_cast(weft.int32, weft.float16)
    assert not weft.can_cast(weft.float16, weft.int64)
    with pytest.raises(TypeError, match="float32"):
        weft.iinfo(weft.float32)


def test_result_types():
    integers = weft.ones(2, dtype=weft.int32)
    assert weft.result_type(integers, 1.5) is weft.float32
    assert weft.result_type(integers, 1) is weft.int32
    assert weft.result_type(integers, weft.tensor(1.5, dtype=weft.float64)) is weft.float64
    assert weft.result_type(integers, weft.ones(1, dtype=weft.float64)) is weft.float64
