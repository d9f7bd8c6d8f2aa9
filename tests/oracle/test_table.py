"""Every row of the op table against real PyTorch: values, dtypes, shapes, gradients, errors."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch

import weft
from tests.ops.gradient import floating_arrays, outputs_of
from tests.ops.row import (
    FLOAT,
    Bad,
    Row,
    Sample,
    assert_close,
    dtype_name,
    flatten,
    is_tensor,
    to_call,
)
from tests.ops.table import TABLE, row_id

COMPARED = [row for row in TABLE if row.oracle is None]
# What PyTorch says where it has no kernel or no formula for a call; Weft may have one.
MISSING = (
    "not implemented",
    "not supported",
    "Cannot convert a ZeroTensor",
    "returned an invalid gradient",
    "derivative for",
    "is ambiguous",
    "modified by an inplace operation",  # by PyTorch itself
)


@contextmanager
def quiet() -> Iterator[None]:
    """Let PyTorch warn as it likes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def torch_or_none(work: Any) -> Any:
    """Run `work` in PyTorch; None where PyTorch cannot do it."""
    with quiet():
        try:
            return work()
        except RuntimeError as error:
            if any(part in str(error) for part in MISSING):
                return None
            raise


def run(row: Row, module: Any, sample: Sample, dtype: str) -> Any:
    call = to_call(module, sample, dtype)
    return row.function(module)(*call.args, **call.kwargs)


@pytest.mark.parametrize("row", COMPARED, ids=row_id)
def test_results(row: Row) -> None:
    compared = 0
    for dtype in row.dtypes:
        for sample in row.calls(dtype):
            expected = torch_or_none(
                lambda sample=sample, dtype=dtype: run(row, torch, sample, dtype)
            )
            if expected is None:
                continue
            compared += 1
            result = run(row, weft, sample, dtype)
            what = f"{row.name}{sample!r} in {dtype}"
            if row.check is None:
                assert_close(result, expected, dtype, row.tolerance, what)
            for got, want in zip(flatten(result), flatten(expected), strict=True):
                assert is_tensor(got) == is_tensor(want), what
                if is_tensor(got):
                    assert dtype_name(got) == dtype_name(want), what
                    assert tuple(got.shape) == tuple(want.shape), what
                else:
                    assert type(got) is type(want), what
            names = getattr(type(expected), "__match_args__", None)
            if isinstance(expected, tuple) and names:
                # A named result, such as max's (values, indices).
                for name in names:
                    assert_close(
                        getattr(result, name), getattr(expected, name), dtype, row.tolerance, what
                    )
    assert compared, "PyTorch ran no sample of this row"


def gradients(row: Row, module: Any, sample: Sample, dtype: str, order: int) -> list[Any] | None:
    """Return the gradients (and second gradients) of a weighted sum, or None without a graph."""
    random = np.random.default_rng(0)
    call = to_call(module, sample, dtype, gradient=True)
    outputs = [out for out in outputs_of(row, module, call) if out.requires_grad]
    if not outputs:
        return None
    weights = [_noise(module, random, out) for out in outputs]
    first = module.autograd.grad(
        outputs, call.leaves, weights, create_graph=order > 1, allow_unused=True
    )
    if order == 1:
        return list(first)
    used = [gradient for gradient in first if gradient is not None and gradient.requires_grad]
    seconds = [_noise(module, random, gradient) for gradient in used]
    if not used:
        return []
    return list(module.autograd.grad(used, call.leaves, seconds, allow_unused=True))


def _noise(module: Any, random: np.random.Generator, like: Any) -> Any:
    return module.tensor(np.asarray(random.uniform(0.5, 1.5, tuple(like.shape)))).to(like.dtype)


def compare_gradients(row: Row, dtype: str, order: int) -> None:
    for sample in row.calls(dtype):
        if not floating_arrays(sample) or (sample.order is not None and sample.order < order):
            continue
        expected = torch_or_none(
            lambda sample=sample: _solid(gradients(row, torch, sample, dtype, order))
        )
        if expected is None:
            continue
        result = gradients(row, weft, sample, dtype, order)
        what = f"gradient {order} of {row.name}{sample!r} in {dtype}"
        assert result is not None, f"{what}: PyTorch records a graph"
        shapes = floating_arrays(sample)
        for got, want, like in zip(
            _padded(result, shapes), _padded(expected, shapes), shapes, strict=True
        ):
            # None and zeros say the same.
            zero = np.zeros(like.shape)
            left, right = (zero if value is None else value for value in (got, want))
            # PyTorch rounds some constants of its float64 gradients to float32.
            factor = 100 if dtype == "float64" else 4
            assert_close(left, right, dtype, factor * row.tolerance, what)
            assert got is None or dtype_name(got) == dtype, what


def _padded(values: list[Any], like: list[Any]) -> list[Any]:
    return values or [None] * len(like)


def _solid(values: list[Any] | None) -> list[Any] | None:
    """PyTorch marks some zeros as not there; adding a real zero makes them plain tensors."""
    return values and [
        None if value is None else value + torch.zeros_like(value) for value in values
    ]


@pytest.mark.parametrize("row", [row for row in COMPARED if row.order >= 1], ids=row_id)
def test_gradients(row: Row) -> None:
    for dtype in FLOAT[:2] if FLOAT[1] in row.dtypes else FLOAT[:1]:
        compare_gradients(row, dtype, 1)


@pytest.mark.parametrize("row", [row for row in COMPARED if row.order >= 2], ids=row_id)
def test_second_gradients(row: Row) -> None:
    compare_gradients(row, "float64", 2)


CASES = [(row, mistake) for row in TABLE for mistake in row.errors]
IDS = [f"{row_id(row)}-{number}" for row in TABLE for number in range(len(row.errors))]


@pytest.mark.parametrize(("row", "mistake"), CASES, ids=IDS)
def test_errors(row: Row, mistake: Bad) -> None:
    """What PyTorch users catch catches Weft's error too."""

    def error_of(module: Any) -> Exception:
        call = to_call(module, mistake, "float64")
        with quiet(), pytest.raises(Exception) as caught:
            row.function(module)(*call.args, **call.kwargs)
        return caught.value

    expected = type(error_of(torch))
    expected = RuntimeError if expected is NotImplementedError else expected
    expected = weft.linalg.LinAlgError if expected is torch.linalg.LinAlgError else expected
    assert isinstance(error_of(weft), expected)


@pytest.mark.parametrize("row", TABLE, ids=row_id)
def test_forms(row: Row) -> None:
    """PyTorch has every name that the row claims, so the table cannot ask for made-up names."""
    assert callable(row.function(torch))
    if row.method:
        assert hasattr(torch.Tensor, row.name)
    if row.in_place:
        assert hasattr(torch.Tensor, row.name + "_")
