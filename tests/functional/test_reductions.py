"""Overloads of reductions, and the names of their results."""

from __future__ import annotations

import numpy as np
import pytest

import weft

X = weft.tensor([[1.0, 5.0, 2.0], [7.0, 3.0, 3.0]])


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("max", lambda x: x.max(1)),
        ("min", lambda x: x.min(dim=1)),
        ("median", lambda x: x.median(1)),
        ("mode", lambda x: x.mode(1)),
        ("sort", lambda x: x.sort()),
        ("topk", lambda x: x.topk(2)),
        ("kthvalue", lambda x: x.kthvalue(1)),
        ("cummax", lambda x: x.cummax(1)),
        ("cummin", lambda x: x.cummin(1)),
    ],
)
def test_results_have_names(name, call):
    result = call(X)
    values, indices = result
    assert result.values is values
    assert result.indices is indices
    assert weft.equal(X.gather(1, indices.reshape(2, -1)), values.reshape(2, -1))
    assert repr(result).startswith(f"torch.return_types.{name}(\nvalues=tensor(")


def test_extremes():
    assert X.max() == 7
    assert X.min() == 1
    assert weft.max(X, weft.tensor(3.0)).tolist() == [[3, 5, 3], [7, 3, 3]]
    assert weft.min(X, other=weft.tensor(3.0)).tolist() == [[1, 3, 2], [3, 3, 3]]
    both = weft.aminmax(X, dim=1)
    assert (both.min.tolist(), both.max.tolist()) == ([1, 3], [5, 7])


def test_spellings_of_the_correction():
    values = X.numpy()
    for name, reference in (("var", np.var), ("std", np.std)):
        function = getattr(weft, name)
        for result, expected in [
            (function(X), reference(values, ddof=1)),
            (function(X, False), reference(values)),
            (function(X, unbiased=False), reference(values)),
            (function(X, 1, False), reference(values, axis=1)),
            (function(X, dim=(0, 1), correction=2), reference(values, ddof=2)),
            (function(X, 1, True, True), reference(values, axis=1, ddof=1, keepdims=True)),
        ]:
            np.testing.assert_allclose(result.numpy(), expected, rtol=1e-6)
    variance, mean = weft.var_mean(X, 1, unbiased=False)
    np.testing.assert_allclose(variance.numpy(), values.var(1), rtol=1e-6)
    deviation, mean = weft.std_mean(X, 1)
    np.testing.assert_allclose(deviation.numpy(), values.std(1, ddof=1), rtol=1e-6)
    np.testing.assert_allclose(mean.numpy(), values.mean(1), rtol=1e-6)


def test_mode():
    x = weft.tensor([[2, 1, 2, 1, 3], [5, 5, 5, 0, 0]])
    assert weft.mode(x).values.tolist() == [1, 5]
    assert weft.mode(x).indices.tolist() == [3, 2]
    assert weft.mode(x, 0, keepdim=True).values.tolist() == [[2, 1, 2, 0, 0]]
    assert weft.mode(weft.tensor(4)).values == 4


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "nearest", "midpoint"])
def test_quantile(interpolation):
    x = weft.randn(4, 7, dtype=weft.float64)
    shares = weft.tensor([0.0, 0.3, 0.5, 1.0], dtype=weft.float64)
    result = weft.quantile(x, shares, dim=1, interpolation=interpolation)
    expected = np.quantile(x.numpy(), shares.numpy(), axis=1, method=interpolation)
    np.testing.assert_allclose(result.numpy(), expected)
    alone = weft.quantile(x, 0.3, keepdim=True, interpolation=interpolation)
    np.testing.assert_allclose(
        alone.numpy(), np.quantile(x.numpy(), 0.3, keepdims=True, method=interpolation)
    )


def test_quantile_errors():
    with pytest.raises(ValueError, match="q must be"):
        weft.quantile(X, 1.5)
    with pytest.raises(ValueError, match="cubic"):
        weft.quantile(X, 0.3, interpolation="cubic")


def test_differences_at_the_ends():
    x = weft.tensor([1, 4, 9])
    assert weft.diff(x, prepend=weft.tensor([0])).tolist() == [1, 3, 5]
    assert weft.diff(x, append=weft.tensor([9])).tolist() == [3, 5, 0]
    assert weft.diff(x > 3).tolist() == [True, False]
