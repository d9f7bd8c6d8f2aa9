"""Every call that must fail raises the right type, with the op's name and the facts in its text."""

from __future__ import annotations

import re

import pytest

import weft
from tests.ops.row import Bad, Row, to_call
from tests.ops.table import TABLE, row_id

CASES = [(row, mistake) for row in TABLE for mistake in row.errors]
IDS = [f"{row_id(row)}-{number}" for row in TABLE for number in range(len(row.errors))]


@pytest.mark.parametrize(("row", "mistake"), CASES, ids=IDS)
def test_error(row: Row, mistake: Bad) -> None:
    call = to_call(weft, mistake, "float64")
    with pytest.raises(mistake.error) as caught:
        row.function(weft)(*call.args, **call.kwargs)
    text = str(caught.value)
    # An operator has no name that a user would know.
    name = () if "__" in row.name else (row.alias or row.short_name.strip("_"),)
    for fragment in (*name, *mistake.fragments):
        start = r"(?<![\w.])" if fragment[0].isalnum() else ""
        found = re.search(start + re.escape(fragment), text, re.IGNORECASE)
        assert found, f"{fragment!r} is not in: {text}"


@pytest.mark.parametrize(
    "row", [row for row in TABLE if (row.method or row.errors) and "__" not in row.name], ids=row_id
)
def test_unknown_keyword(row: Row) -> None:
    call = to_call(weft, row.calls(row.dtypes[0])[0], row.dtypes[0])
    with pytest.raises(TypeError, match="no_such_argument"):
        row.function(weft)(*call.args, **call.kwargs, no_such_argument=1)
