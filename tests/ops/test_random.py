"""Random and uninitialised ops: what must hold of their results, and that a seed repeats them."""

from __future__ import annotations

import pytest

import weft
from tests.ops.row import Row, assert_close, dtype_name, flatten, is_tensor, to_array, to_call
from tests.ops.table import TABLE, row_id

FREE = [row for row in TABLE if row.check is not None]
RANDOM = [row for row in FREE if row.oracle == "random"]


def run(row: Row, sample, dtype: str):
    call = to_call(weft, sample, dtype)
    return row.function(weft)(*call.args, **call.kwargs)


@pytest.mark.parametrize("row", FREE, ids=row_id)
def test_result(row: Row) -> None:
    for dtype in row.dtypes:
        for sample in row.calls(dtype):
            weft.manual_seed(3)
            result = run(row, sample, dtype)
            row.check(weft, result, sample)


@pytest.mark.parametrize("row", RANDOM, ids=row_id)
def test_seed(row: Row) -> None:
    """The same seed gives the same numbers, another seed gives others."""
    dtype = row.dtypes[0]
    sample = row.calls(dtype)[0]
    results = []
    for seed in (5, 5, 6):
        weft.manual_seed(seed)
        results.append(run(row, sample, dtype))
    assert_close(results[0], results[1], dtype, factor=0.0, what="the same seed")
    assert (to_array(results[0]) != to_array(results[2])).any()


@pytest.mark.parametrize(
    "row",
    [r for r in FREE if len(r.dtypes) > 1 and r.short_name != "multinomial"],
    ids=row_id,
)
def test_dtype(row: Row) -> None:
    """A result has its input's dtype."""
    for dtype in row.dtypes:
        for leaf in flatten(run(row, row.calls(dtype)[0], dtype)):
            assert is_tensor(leaf)
            assert dtype_name(leaf) == dtype
