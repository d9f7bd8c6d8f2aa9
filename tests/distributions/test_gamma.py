"""The gamma distribution and its kin."""

from __future__ import annotations

import pytest

import weft
from weft.distributions import Beta, Chi2, Dirichlet, Gamma


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64])
def test_values_too_small_for_floats_share_evenly(dtype: weft.dtype) -> None:
    tiny = weft.tensor(1e-5, dtype=dtype)
    assert Beta(tiny, tiny).sample((3,)).tolist() == [0.5] * 3
    shares = Dirichlet(weft.full((4,), 1e-5, dtype=dtype)).sample((2,))
    assert shares.tolist() == [[0.25] * 4] * 2


def test_samples_of_small_concentrations_are_shares() -> None:
    shares = Dirichlet(weft.full((3,), 1e-3)).sample((300,))
    assert shares.sum(-1).tolist() == pytest.approx([1.0] * 300)
    assert shares.min().item() > 0
    assert Beta(1e-3, 1e-3).sample((300,)).isfinite().all()


def test_the_smallest_value_is_scaled() -> None:
    tiny = weft.finfo(weft.float32).tiny
    assert Chi2(weft.tensor([1e-5])).sample().item() == 2 * tiny
    assert Gamma(1e-5, 1e-10).sample().item() == pytest.approx(1e10 * tiny)
    assert Gamma(1e-5, 1e10).sample().item() == tiny
