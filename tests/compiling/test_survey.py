"""Weft's own functions and modules, and those of its examples: compiled, and the same as Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from scripts import generate_compile_coverage as coverage
from tests.ops.row import Row, to_call
from tests.ops.table import TABLE, row_id
from tests.oracle.module_cases import CASES, Case


@pytest.fixture(scope="module")
def text() -> str:
    return coverage.page()


def test_the_page_is_current(text: str) -> None:
    assert coverage.PAGE.read_text(encoding="utf-8") == text, "run `make docs`"


def test_little_is_refused(text: str) -> None:
    shares = [line.rsplit("(", 1)[1] for line in text.splitlines() if line.endswith("%) |")]
    assert len(shares) == len(coverage.GROUPS)
    for share in shares:
        assert float(share.partition("%")[0]) <= 100 * coverage.MOST_REFUSED


def same(one: Any, other: Any) -> bool:
    """Tell whether two results are equal to the last bit."""
    if isinstance(one, weft.Tensor):
        alike = (one.dtype, one.shape, one.requires_grad) == (
            other.dtype,
            other.shape,
            other.requires_grad,
        )
        first, second = one.detach(), other.detach()
        if one.dtype is weft.bfloat16:
            first, second = first.float(), second.float()
        return alike and np.array_equal(
            first.numpy(), second.numpy(), equal_nan=one.is_floating_point()
        )
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    return type(one) is type(other)


def call(function: Any, args: Any, kwargs: Any) -> Any:
    return function(*args, **kwargs)


@pytest.mark.parametrize("row", TABLE, ids=row_id)
def test_ops_are_the_same(row: Row) -> None:
    dtype = "float64" if "float64" in row.dtypes else row.dtypes[0]
    compiled = weft.compile(call)
    for sample in row.calls(dtype)[:3]:
        results = []
        for run in (call, compiled):
            weft.manual_seed(3)
            given = to_call(weft, sample, dtype)
            results.append(run(row.function(weft), given.args, given.kwargs))
        assert same(*results)


def run_module(case: Case, wrap: Any) -> dict[str, Any]:
    def tensor(value: Any) -> Any:
        return weft.tensor(value) if isinstance(value, np.ndarray) else value

    weft.manual_seed(3)
    kwargs = {name: tensor(value) for name, value in case.kwargs.items()}
    module = getattr(weft.nn, case.name)(*map(tensor, case.args), **kwargs)
    seen: dict[int, Any] = {}
    inputs = [seen.setdefault(id(value), tensor(value)) for value in case.inputs]
    inputs = [item.float() if item.is_floating_point() else item for item in inputs]
    if inputs[0].is_floating_point():
        inputs[0].requires_grad_()
    module.train(case.train)
    result = wrap(module)(*inputs, **{name: tensor(value) for name, value in case.call.items()})
    flat = [item for item in weft.pytree.tree_leaves(result) if isinstance(item, weft.Tensor)]
    total = sum(item.sum() for item in flat if item.requires_grad)
    if isinstance(total, weft.Tensor):
        total.backward()
    return {
        "result": flat,
        "gradients": [item.grad for item in (*inputs, *module.parameters())],
        "buffers": list(module.buffers()),
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_modules_are_the_same(case: Case) -> None:
    expected = run_module(case, lambda module: module)
    assert same(expected, run_module(case, weft.compile))
