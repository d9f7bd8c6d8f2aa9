"""Drives an optimizer and a NumPy formula with the same gradients."""

from __future__ import annotations

import numpy as np

import weft
from weft import nn

SHAPES = [(3, 4), (5,), (), (40_000,)]  # the last one is split over threads


def compare(make, formula, steps=4, dtype="float64"):
    """Check every parameter after every step.

    `formula(state, value, gradient, step)` returns the new value and keeps what it needs in
    `state`.
    """
    random = np.random.default_rng(0)
    values = [random.standard_normal(shape).astype(dtype) for shape in SHAPES]
    params = [nn.Parameter(weft.tensor(value)) for value in values]
    optimizer = make(params)
    states = [{} for _ in values]
    counts = [0] * len(values)
    tolerance = 1e-10 if dtype == "float64" else 2e-5
    for step in range(steps):
        for i, param in enumerate(params):
            if i == 1 and step == 1:  # a parameter without a gradient stays and does not count
                param.grad = None
                continue
            gradient = random.standard_normal(param.shape).astype(dtype)
            param.grad = weft.tensor(gradient)
            counts[i] += 1
            values[i] = formula(states[i], values[i].astype("float64"), gradient, counts[i])
        optimizer.step()
        for param, value in zip(params, values, strict=True):
            np.testing.assert_allclose(
                param.detach().numpy(), value, rtol=tolerance, atol=tolerance
            )
