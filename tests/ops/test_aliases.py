"""Names that PyTorch has twice: both give the same, as function and as method."""

from __future__ import annotations

import pytest

import weft
from tests.ops.row import assert_close, to_call
from tests.ops.table import TABLE

ALIASES = {
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "ger": "outer",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "not_equal": "ne",
    "row_stack": "vstack",
}


@pytest.mark.parametrize("alias", ALIASES)
def test_alias(alias: str) -> None:
    row = next(row for row in TABLE if row.name == ALIASES[alias])
    for sample in row.calls("float64"):
        call = to_call(weft, sample, "float64")
        expected = row.function(weft)(*call.args, **call.kwargs)
        assert_close(getattr(weft, alias)(*call.args, **call.kwargs), expected, "float64")
        if row.method:
            first, *rest = call.args
            assert_close(getattr(first, alias)(*rest, **call.kwargs), expected, "float64")
