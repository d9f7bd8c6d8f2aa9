"""Linear systems: what the op table cannot say."""

from __future__ import annotations

import numpy as np
import pytest

import weft

RANDOM = np.random.default_rng(4)


@pytest.mark.parametrize("driver", [None, "gelsy", "gelsd", "gelss", "gels"])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
def test_least_squares(driver, shape):
    a, b = RANDOM.normal(size=shape), RANDOM.normal(size=(shape[0], 2))
    found = weft.linalg.lstsq(weft.tensor(a), weft.tensor(b), driver=driver)
    solution, residuals, rank, values = np.linalg.lstsq(a, b, rcond=None)
    np.testing.assert_allclose(found.solution, solution, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        found.residuals, [] if driver in (None, "gelsy") else residuals, rtol=1e-9
    )
    if driver != "gels":
        assert found.rank.item() == rank
    if driver in ("gelsd", "gelss"):
        np.testing.assert_allclose(found.singular_values, values)
    else:
        assert found.singular_values.numel() == 0


def test_least_squares_of_lower_rank_has_no_residuals():
    found = weft.linalg.lstsq(weft.ones(4, 2), weft.ones(4), driver="gelsd")
    assert found.residuals.numel() == 0
    assert found.rank.item() == 1
    np.testing.assert_allclose(found.solution, [0.5, 0.5], rtol=1e-6)


def test_least_squares_has_a_gradient():
    a = weft.tensor(RANDOM.normal(size=(5, 3)), requires_grad=True)
    b = weft.tensor(RANDOM.normal(size=(5, 2)), requires_grad=True)
    assert weft.autograd.gradcheck(lambda a, b: weft.linalg.lstsq(a, b).solution, (a, b))
    assert weft.autograd.gradgradcheck(lambda a, b: weft.linalg.lstsq(a, b).solution, (a, b))


def test_a_driver_that_there_is_not():
    with pytest.raises(ValueError, match=r"lstsq\(.*driver.*'x'"):
        weft.linalg.lstsq(weft.eye(2), weft.eye(2), driver="x")


def test_rows_cannot_be_vectors():
    with pytest.raises(ValueError, match="left=False"):
        weft.linalg.solve(weft.eye(2), weft.ones(2), left=False)


def test_rank_by_an_absolute_bound():
    a = weft.diag(weft.tensor([2.0, 1.0, 0.01]))
    assert weft.linalg.matrix_rank(a, 0.1).item() == 2
    assert weft.linalg.matrix_rank(a, atol=weft.tensor(1.5)).item() == 1
