"""Rows of random ops: what must hold of the result, whatever the numbers are.

Every check also runs twice under one seed (see test_random.py), so the numbers must repeat.
"""

from __future__ import annotations

import numpy as np

from tests.ops.row import Dtype, Row, Sample, bad, dtype_name, to_array

F = "nn.functional."
MANY = 4000


def _near(values, mean, deviation):
    """Mean and deviation within six standard errors."""
    count = values.size
    assert abs(values.mean() - mean) < 6 * max(deviation, 1e-6) / np.sqrt(count)
    assert abs(values.std() - deviation) < 6 * max(deviation, 1e-6) / np.sqrt(count)


def _uniform(low=0.0, high=1.0):
    def check(module, result, sample):
        values = to_array(result)
        assert values.min() >= low
        assert values.max() < high
        _near(values, (low + high) / 2, (high - low) / np.sqrt(12))

    return check


def _gaussian(mean=0.0, deviation=1.0):
    return lambda module, result, sample: _near(to_array(result), mean, deviation)


def _integers(low, high):
    def check(module, result, sample):
        values = to_array(result)
        assert dtype_name(result) == "int64"
        assert set(np.unique(values)) == set(range(low, high))
        _near(values, (low + high - 1) / 2, np.sqrt(((high - low) ** 2 - 1) / 12))

    return check


def _permutation(module, result, sample):
    values = to_array(result)
    assert values.shape == (sample.args[0],)
    assert dtype_name(result) == "int64"
    np.testing.assert_array_equal(np.sort(values), np.arange(sample.args[0]))
    assert sample.args[0] < 2 or not np.array_equal(values, np.arange(sample.args[0]))


def _coin(module, result, sample):
    values, chances = to_array(result), np.asarray(sample.args[0], float)
    assert set(np.unique(values)) <= {0, 1}
    np.testing.assert_array_equal(values[chances == 0], 0)
    np.testing.assert_array_equal(values[chances == 1], 1)
    middle = values[chances == 0.25]
    assert middle.size == 0 or abs(middle.mean() - 0.25) < 6 * np.sqrt(0.1875 / middle.size)


def _multinomial(module, result, sample):
    values, weights = to_array(result), np.asarray(sample.args[0])
    assert dtype_name(result) == "int64"
    assert values.shape == (*weights.shape[:-1], sample.args[1])
    assert np.all(np.take_along_axis(np.atleast_2d(weights), np.atleast_2d(values), -1) > 0)
    if sample.kwargs.get("replacement"):
        share = np.bincount(values, minlength=weights.size) / values.size
        assert np.abs(share - weights / weights.sum()).max() < 6 * 0.5 / np.sqrt(values.size)
    else:
        for row in np.atleast_2d(values):
            assert len(set(row.tolist())) == row.size


def _dropped(module, result, sample):
    values, inputs = to_array(result), np.asarray(sample.args[0])
    p, training = sample.kwargs.get("p", 0.5), sample.kwargs.get("training", True)
    if not training or p == 0:
        np.testing.assert_array_equal(values, inputs)
        return
    kept = values != 0
    if p == 1:
        assert not kept.any()
        return
    np.testing.assert_allclose(values[kept], inputs[kept] / (1 - p), rtol=1e-5)
    assert abs(kept.mean() - (1 - p)) < 6 * np.sqrt(p * (1 - p) / values.size)


def _dropped_channels(module, result, sample):
    values = to_array(result)
    kept = (values != 0).reshape(*values.shape[:2], -1)
    assert np.all(kept.all(-1) | ~kept.any(-1))
    assert 0.3 < kept.any(-1).mean() < 0.7


ONE = ("float32",)
INPUTS = ("float64", "float32")


def _drawn(name, samples, check, dtypes=ONE, errors=(), **more) -> Row:
    return Row(
        name, samples, None, dtypes, order=0, check=check, errors=errors, oracle="random", **more
    )


ROWS = [
    _drawn(
        "rand",
        lambda m: [Sample(MANY), Sample((40, 100)), Sample(MANY, dtype=Dtype("float64"))],
        _uniform(),
        errors=(bad(-1, error=RuntimeError, says=("-1",)),),
    ),
    _drawn("randn", lambda m: [Sample(MANY), Sample((40, 100))], _gaussian()),
    _drawn("rand_like", lambda m: [Sample(m(40, 100))], _uniform(), INPUTS),
    _drawn("randn_like", lambda m: [Sample(m(40, 100))], _gaussian(), INPUTS),
    _drawn(
        "randint",
        lambda m: [Sample(3, 9, (MANY,)), Sample(low=3, high=9, size=(40, 100))],
        _integers(3, 9),
        errors=(bad(3, 3, (2,), error=RuntimeError, says=("low", "high")),),
    ),
    _drawn("randint_like", lambda m: [Sample(m.index(MANY, below=3), 0, 5)], _integers(0, 5)),
    _drawn(
        "randperm",
        lambda m: [Sample(50), Sample(0), Sample(1)],
        _permutation,
        errors=(bad(-1, error=RuntimeError, says=("-1",)),),
    ),
    _drawn(
        "normal",
        lambda m: [
            Sample(2.0, 3.0, (MANY,)),
            Sample(np.full(MANY, 2.0), np.full(MANY, 3.0)),
            Sample(np.full(MANY, 2.0), 3.0),
        ],
        _gaussian(2.0, 3.0),
        errors=(bad(0.0, -1.0, (2,), error=RuntimeError, says=("std",)),),
    ),
    _drawn(
        "bernoulli",
        lambda m: [Sample(m.array(np.repeat([0, 0.25, 1], 1000)))],
        _coin,
        INPUTS,
        errors=(bad(np.array([1.5]), error=RuntimeError, says=("1",)),),
        method=True,
    ),
    _drawn(
        "multinomial",
        lambda m: [
            Sample(m.array([1, 2, 3, 4]), MANY, replacement=True),
            Sample(m.array([0.1, 0, 0.3, 0.6]), 3),
            Sample(m(5, 6, low=0.5), 4),
        ],
        _multinomial,
        INPUTS,
        errors=(
            bad(np.array([0.5, 0.5]), 3, error=RuntimeError, says=("replacement",)),
            bad(np.array([-1.0, 0.5]), 1, error=RuntimeError),
        ),
        method=True,
    ),
    _drawn("poisson", lambda m: [Sample(np.full(MANY, 4.0))], _gaussian(4.0, 2.0)),
    _drawn(
        "Tensor.uniform_",
        lambda m: [Sample(m(40, 100), -2, 3), Sample(m(MANY), -2.0, 3.0)],
        _uniform(-2, 3),
        INPUTS,
    ),
    _drawn("Tensor.normal_", lambda m: [Sample(m(40, 100), 1, 2)], _gaussian(1, 2), INPUTS),
    _drawn(
        "Tensor.bernoulli_", lambda m: [Sample(m.array(np.full(MANY, 0.25)), 0.25)], _coin, INPUTS
    ),
    _drawn("Tensor.random_", lambda m: [Sample(m.index(MANY, below=3), 2, 7)], _integers(2, 7)),
    _drawn("Tensor.exponential_", lambda m: [Sample(m(40, 100), 0.5)], _gaussian(2, 2), INPUTS),
    _drawn(
        F + "dropout",
        lambda m: [
            Sample(m(40, 100, gap=0.1)),
            Sample(m(40, 100, gap=0.1), p=0.2),
            Sample(m(3, 4), training=False),
            Sample(m(3), p=0.0),
            Sample(m(3), p=1.0),
        ],
        _dropped,
        INPUTS,
        errors=(bad(np.ones(3), p=1.5, error=ValueError, says=("p", "1.5")),),
    ),
    _drawn(
        F + "dropout2d", lambda m: [Sample(m(20, 20, 2, 2, gap=0.1))], _dropped_channels, INPUTS
    ),
    _drawn(
        F + "gumbel_softmax",
        lambda m: [Sample(m(40, 5), hard=True)],
        lambda module, result, sample: np.testing.assert_allclose(
            to_array(result).sum(-1), 1, rtol=1e-5
        ),
        INPUTS,
    ),
]
