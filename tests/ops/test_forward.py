"""Values, shapes and dtypes of every op against NumPy and SciPy."""

from __future__ import annotations

import numpy as np
import pytest

import weft
from tests.ops.row import (
    LAYOUTS,
    Row,
    Sample,
    assert_close,
    dtype_name,
    expected_dtype,
    flatten,
    is_tensor,
    to_arrays,
    to_call,
)
from tests.ops.table import TABLE, row_id

WITH_REFERENCE = [row for row in TABLE if row.reference is not None]


def reference_of(row: Row, sample: Sample):
    args, kwargs = to_arrays(sample)
    with np.errstate(all="ignore"):
        return row.reference(*args, **kwargs)


def check_sample(row: Row, sample: Sample, dtype: str, layout: str = "contiguous") -> None:
    """Run one sample and compare values, shapes, dtypes, and that the arguments are as before."""
    call = to_call(weft, sample, dtype, layout)
    result = row.function(weft)(*call.args, **call.kwargs)
    expected = reference_of(row, sample)
    assert_close(result, expected, dtype, row.tolerance, what=f"{row.name}{sample!r}")
    for got, want in zip(flatten(result), flatten(expected), strict=True):
        if is_tensor(got):
            assert dtype_name(got) == expected_dtype(row, want, dtype), f"{row.name}{sample!r}"
    if not row.name.endswith("_") and "writes" not in row.tags:
        before = to_call(weft, sample, dtype)
        assert_close(
            [value for value in flatten(call.args) if is_tensor(value)],
            [value for value in flatten(before.args) if is_tensor(value)],
            dtype,
            what=f"{row.name}{sample!r} changed an argument",
        )


@pytest.mark.parametrize("row", WITH_REFERENCE, ids=row_id)
def test_values(row: Row) -> None:
    for sample in row.calls(row.dtypes[0]):
        check_sample(row, sample, row.dtypes[0])


@pytest.mark.parametrize("row", [row for row in WITH_REFERENCE if len(row.dtypes) > 1], ids=row_id)
def test_dtypes(row: Row) -> None:
    for dtype in row.dtypes[1:]:
        for sample in row.calls(dtype):
            check_sample(row, sample, dtype)


@pytest.mark.parametrize(
    "row", [row for row in WITH_REFERENCE if "contiguous" not in row.tags], ids=row_id
)
def test_layouts(row: Row) -> None:
    for layout in LAYOUTS[1:]:
        for sample in row.calls(row.dtypes[0]):
            check_sample(row, sample, row.dtypes[0], layout)


@pytest.mark.parametrize("row", [row for row in TABLE if row.method], ids=row_id)
def test_method(row: Row) -> None:
    for sample in row.calls(row.dtypes[0]):
        call = to_call(weft, sample, row.dtypes[0])
        if not is_tensor(call.args[0]):
            continue
        weft.manual_seed(1)
        expected = row.function(weft)(*call.args, **call.kwargs)
        weft.manual_seed(1)
        result = getattr(call.args[0], row.name)(*call.args[1:], **call.kwargs)
        assert_close(result, expected, row.dtypes[0], what=f"Tensor.{row.name}{sample!r}")


@pytest.mark.parametrize("row", [row for row in TABLE if row.in_place], ids=row_id)
def test_in_place(row: Row) -> None:
    ran = 0
    for sample in row.calls(row.dtypes[0]):
        call = to_call(weft, sample, row.dtypes[0])
        expected = reference_of(row, sample)
        if not is_tensor(call.args[0]) or tuple(call.args[0].shape) != np.shape(expected):
            continue
        target, dtype = call.args[0], call.args[0].dtype
        result = getattr(target, row.name + "_")(*call.args[1:], **call.kwargs)
        assert result is target
        assert target.dtype == dtype
        wanted = np.asarray(expected)
        kind = target.numpy().dtype
        assert_close(
            target,
            wanted if kind.kind == "f" else wanted.astype(kind),
            row.dtypes[0],
            row.tolerance,
        )
        ran += 1
    assert ran, "no sample of this row can run in place"


def test_batch_norm_updates_its_running_statistics() -> None:
    x = np.random.default_rng(0).normal(size=(5, 3, 4))
    mean, variance = np.arange(3.0), np.arange(3.0) + 1
    running = weft.tensor(mean), weft.tensor(variance)
    weft.nn.functional.batch_norm(weft.tensor(x), *running, training=True, momentum=0.3)
    axes = (0, 2)
    np.testing.assert_allclose(running[0].numpy(), 0.7 * mean + 0.3 * x.mean(axes))
    np.testing.assert_allclose(running[1].numpy(), 0.7 * variance + 0.3 * x.var(axes, ddof=1))
    weft.nn.functional.batch_norm(weft.tensor(x), *running)
    np.testing.assert_allclose(running[0].numpy(), 0.7 * mean + 0.3 * x.mean(axes))
