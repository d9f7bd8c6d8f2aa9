"""The table itself: nothing twice, every row can fail, every op has a row."""

from __future__ import annotations

from collections import Counter

import pytest

import weft
from tests.ops.row import Row
from tests.ops.table import PARTS, TABLE, row_id


def test_rows_are_distinct() -> None:
    assert [name for name, count in Counter(map(row_id, TABLE)).items() if count > 1] == []


def test_table_is_large() -> None:
    assert len(TABLE) >= 230


def test_every_op_has_a_row() -> None:
    """An op is tested under its own name, or listed as a part of one that is."""
    names = {name for name in dir(weft._core.ops) if not name.startswith("_")}
    ops = {name for name in names if not (name.endswith("_") and name[:-1] in names)}
    rows = {row.short_name for row in TABLE}
    assert sorted(ops - rows - set(PARTS)) == []
    assert sorted(set(PARTS) - ops) == [], "PARTS names ops that are gone"
    whole = {row.name for row in TABLE}
    assert [row for row in PARTS.values() if row not in whole and ": " not in row] == []


@pytest.mark.parametrize("row", TABLE, ids=row_id)
def test_row_says_enough(row: Row) -> None:
    assert (row.reference is None) == (row.check is not None), "a row has a reference or a check"
    for dtype in row.dtypes:
        assert row.calls(dtype), f"no samples for {dtype}"
