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
    assert repr(result).startswith(f"weft.return_types.{name}(\nvalues=tensor(")


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


NAN = float("nan")


@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_the_middle_shares_its_gradient(name):
    x = weft.tensor([1.0, 0.0, 1.0, 0.0, 1.0, 0.0], requires_grad=True)
    middle = getattr(weft, name)(x * 1)
    assert (middle.item(), middle.grad_fn.name()) == (0.0, f"{name.title()}Backward0")
    (slope,) = weft.autograd.grad(middle, x, create_graph=True)
    assert slope.tolist() == pytest.approx([0, 1 / 3] * 3)
    square = getattr(weft, name)(x**2) * 6
    (slope,) = weft.autograd.grad(square, x, create_graph=True)
    assert weft.autograd.grad(slope.sum(), x)[0].tolist() == pytest.approx([0, 4] * 3)
    rows = weft.tensor([[1.0, 1.0, 3.0], [2.0, 5.0, 2.0]])
    slopes = weft.vmap(weft.func.grad(getattr(weft, name)))(rows)
    assert slopes.tolist() == [[0.5, 0.5, 0], [0.5, 0, 0.5]]


def test_nan_is_the_middle_of_what_has_one():
    x = weft.tensor([[1.0, NAN, 1.0], [NAN, NAN, 2.0], [4.0, 4.0, 3.0]], requires_grad=True)
    assert np.isnan(weft.median(x).item())
    assert np.isnan(weft.median(x.half()).item())
    for dim, values, indices in ((0, [NAN, NAN, 2.0], [1, 0, 1]), (1, [NAN, NAN, 4.0], [1, 0, 0])):
        found = weft.median(x, dim)
        np.testing.assert_equal(found.values.tolist(), values)
        assert found.indices.tolist() == indices
        kept = weft.median(x, dim, keepdim=True)
        assert kept.indices.squeeze(dim).tolist() == indices
    slope = weft.autograd.grad(weft.median(x), x)[0]
    assert slope.tolist() == pytest.approx(np.array([[0, 1, 0], [1, 1, 0], [0, 0, 0]]) / 3)
    assert weft.autograd.grad(weft.median(x, 1)[0].sum(), x)[0].sum(1).tolist() == [1, 1, 1]
    ints = weft.tensor([3, 1, 2])
    assert (weft.median(ints).item(), weft.median(ints, 0).indices.item()) == (2, 2)


@pytest.mark.parametrize("name", ["max", "min"])
def test_nan_shares_the_gradient_of_an_extreme(name):
    x = weft.tensor([[1.0, NAN], [NAN, 2.0]], requires_grad=True)
    getattr(weft, name)(x).backward()
    assert x.grad.tolist() == [[0, 0.5], [0.5, 0]]
    rows = weft.tensor([[1.0, 1.0], [NAN, 2.0], [NAN, NAN]])
    slopes = weft.vmap(weft.func.grad(getattr(weft, name)))(rows)
    assert slopes.tolist() == [[0.5, 0.5], [1, 0], [0.5, 0.5]]
    mapped = [row.clone().requires_grad_() for row in rows]
    weft.stack(weft.map(lambda row: getattr(weft, name)(row * 1), mapped)).sum().backward()
    assert [row.grad.tolist() for row in mapped] == [[0.5, 0.5], [1, 0], [0.5, 0.5]]


def test_the_gradient_of_a_mode_goes_where_its_index_says():
    x = weft.tensor([1.0, 0.0, 1.0, 0.0, 1.0], requires_grad=True)
    found = weft.mode(x)
    found.values.backward()
    assert found.indices.item() == 4
    assert x.grad.tolist() == [0, 0, 0, 0, 1]
    assert weft.mode(weft.tensor([NAN, NAN])).indices.item() == 0


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "nearest", "midpoint"])
def test_a_quantile_of_nan_is_nan(interpolation):
    x = weft.tensor([[1.0, NAN, 2.0], [1.0, 3.0, 2.0]], requires_grad=True)
    found = weft.quantile(x, 0.5, dim=1, interpolation=interpolation)
    np.testing.assert_equal(found.tolist(), [NAN, 2.0])
    found.sum().backward()
    assert x.grad.tolist() == [[0, 1, 0], [0, 0, 1]]
    nothing = weft.tensor([NAN, NAN], requires_grad=True)
    weft.nanquantile(nothing, 0.3, interpolation=interpolation).backward()
    assert nothing.grad.tolist() == [1, 0]
