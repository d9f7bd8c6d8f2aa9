"""Gradients by finite differences along one random direction, to second order, in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.ops.row import Call, Fixed, Row, Sample, flatten, is_floating, is_tensor, to_call

STEP = 1e-5
RELATIVE, ABSOLUTE = 2e-5, 2e-6


def floating_arrays(sample: Sample) -> list[np.ndarray]:
    """Return the arrays of a sample that get a gradient, in the order of `to_call`'s leaves."""
    found: list[np.ndarray] = []
    _rebuilt(sample, lambda array: found.append(array) or array)
    return found


def moved(sample: Sample, arrays: list[np.ndarray]) -> Sample:
    """Return the sample with other values in the arrays that get a gradient."""
    supply = iter(arrays)
    return _rebuilt(sample, lambda _: next(supply))


def _rebuilt(sample: Sample, change: Callable[[np.ndarray], np.ndarray]) -> Sample:
    def walk(value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            return change(value)
        if isinstance(value, list | tuple) and not isinstance(value, Fixed):
            return type(value)([walk(item) for item in value])
        return value

    args = [walk(value) for value in sample.args]
    return Sample(*args, **{name: walk(value) for name, value in sample.kwargs.items()})


def outputs_of(row: Row, module: Any, call: Call) -> list[Any]:
    """Run the op and return its floating results."""
    result = row.function(module)(*call.args, **call.kwargs)
    return [leaf for leaf in flatten(result) if is_tensor(leaf) and is_floating(leaf)]


class GradientCheck:
    """Compares an op's gradients at one sample with finite differences.

    With random weights w, F(x, w) = sum(w * op(x)) is one number, and so is
    H(x, w) = <dF/dx, u> for a random u. The first order compares dF/dx along u, the second
    compares dH/dx and dH/dw along another direction.
    """

    def __init__(self, row: Row, module: Any, sample: Sample, seed: int = 0) -> None:
        self.row, self.module, self.sample = row, module, sample
        self.random = np.random.default_rng(seed)
        self.x = floating_arrays(sample)
        outputs = outputs_of(row, module, to_call(module, sample, "float64"))
        self.w = [np.asarray(self.random.uniform(0.5, 1.5, tuple(out.shape))) for out in outputs]
        self.u = self.directions(self.x)

    def directions(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        return [np.asarray(self.random.choice([-1.0, 1.0], array.shape)) for array in arrays]

    def value(self, x: list[np.ndarray], w: list[np.ndarray]) -> float:
        """Return F(x, w)."""
        outputs = outputs_of(
            self.row, self.module, to_call(self.module, moved(self.sample, x), "float64")
        )
        return float(
            sum((np.asarray(o.numpy()) * v).sum() for o, v in zip(outputs, w, strict=True))
        )

    def slope(self, x: list[np.ndarray], w: list[np.ndarray], create_graph: bool = False) -> Any:
        """Return H(x, w) as a number and, for `create_graph`, its gradients for x and w."""
        module = self.module
        call = to_call(module, moved(self.sample, x), "float64", gradient=True)
        weights = [module.tensor(v).requires_grad_(create_graph) for v in w]
        outputs = outputs_of(self.row, module, call)
        pairs = [(o, v) for o, v in zip(outputs, weights, strict=True) if o.requires_grad]
        assert pairs or not outputs, "no result of the op requires a gradient"
        gradients = module.autograd.grad(
            [o for o, _ in pairs],
            call.leaves,
            [v for _, v in pairs],
            create_graph=create_graph,
            allow_unused=True,
        )
        for gradient, leaf in zip(gradients, call.leaves, strict=True):
            if gradient is not None:
                assert tuple(gradient.shape) == tuple(leaf.shape), "a gradient has another shape"
                assert gradient.dtype == leaf.dtype, "a gradient has another dtype"
        total = sum(
            (
                (g * module.tensor(u)).sum()
                for g, u in zip(gradients, self.u, strict=True)
                if g is not None
            ),
            module.zeros((), dtype=module.float64),
        )
        number = float(total.detach().numpy())
        if not create_graph:
            return number
        if not total.requires_grad:
            return number, [None] * (len(call.leaves) + len(weights))
        return number, module.autograd.grad(total, [*call.leaves, *weights], allow_unused=True)

    def first(self) -> None:
        """Compare dF/dx along u."""
        ahead, behind = (
            self.value(shifted(self.x, self.u, step), self.w) for step in (STEP, -STEP)
        )
        _agree(self.slope(self.x, self.w), (ahead - behind) / (2 * STEP), "first gradient")

    def second(self) -> None:
        """Compare dH/d(x, w) along a fresh direction."""
        _, gradients = self.slope(self.x, self.w, create_graph=True)
        point = self.x + self.w
        along = self.directions(point)
        exact = sum(
            (np.asarray(g.detach().numpy()) * v).sum()
            for g, v in zip(gradients, along, strict=True)
            if g is not None
        )

        def at(step: float) -> float:
            there = shifted(point, along, step)
            return self.slope(there[: len(self.x)], there[len(self.x) :])

        _agree(exact, (at(STEP) - at(-STEP)) / (2 * STEP), "second gradient")


def shifted(arrays: list[np.ndarray], along: list[np.ndarray], step: float) -> list[np.ndarray]:
    # A sum of 0-d arrays is a NumPy scalar, hence the conversion.
    return [np.asarray(a + step * v) for a, v in zip(arrays, along, strict=True)]


def _agree(exact: float, numeric: float, what: str) -> None:
    assert np.isfinite(exact), f"{what} is {exact}"
    assert abs(exact - numeric) <= ABSOLUTE + RELATIVE * abs(numeric), (
        f"{what} along a random direction is {exact}, finite differences say {numeric}"
    )
