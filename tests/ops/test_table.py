"""The table itself: nothing twice, every row can fail, every op has a row."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.ops.row import Row
from tests.ops.table import TABLE, row_id


def test_rows_are_distinct() -> None:
    assert [name for name, count in Counter(map(row_id, TABLE)).items() if count > 1] == []


def test_table_is_large() -> None:
    assert len(TABLE) >= 230


@pytest.mark.parametrize("row", TABLE, ids=row_id)
def test_row_says_enough(row: Row) -> None:
    assert (row.reference is None) == (row.check is not None), "a row has a reference or a check"
    for dtype in row.dtypes:
        assert row.calls(dtype), f"no samples for {dtype}"
