"""The op table: one row for every public op, gathered from the families."""

from __future__ import annotations

from tests.ops.row import Row
from tests.ops.rows import (
    activation,
    arithmetic,
    convolution,
    creation,
    indexing,
    linear_algebra,
    loss,
    pointwise,
    random,
    reduction,
    shape,
)

FAMILIES = (
    arithmetic,
    pointwise,
    activation,
    reduction,
    linear_algebra,
    shape,
    indexing,
    convolution,
    loss,
    creation,
    random,
)
TABLE: tuple[Row, ...] = tuple(row for family in FAMILIES for row in family.ROWS)


def row_id(row: Row) -> str:
    """Name a row in pytest's output."""
    return "-".join((row.name, *row.tags))
