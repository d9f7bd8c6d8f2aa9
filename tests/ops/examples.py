"""Several examples of each sample of the op table, for tests that run many at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.ops.row import Make, Row, Sample, assert_close, is_tensor
from tests.ops.table import TABLE

EXAMPLES = 3


def examples_of(row: Row) -> list[list[Sample]]:
    """Return, for each sample of a row, examples of the same shapes with other values."""
    makes = [Make(row.dtypes[0], f"{row.name}{i}") for i in range(EXAMPLES)]
    return [list(examples) for examples in zip(*(row.samples(make) for make in makes), strict=True)]


def map_tensors(value: Any, change: Any) -> Any:
    """Apply a function to the tensors among arguments."""
    if isinstance(value, list | tuple):
        return type(value)([map_tensors(item, change) for item in value])
    return change(value) if is_tensor(value) else value


def assert_same(row: Row, got: Sequence[Any], expected: Sequence[Any]) -> None:
    assert len(got) == len(expected)
    for ours, theirs in zip(got, expected, strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            assert ours.dtype == theirs.dtype
            assert_close(ours, theirs.detach().numpy(), row.dtypes[0], row.tolerance)


ROWS = [row for row in TABLE if row.reference is not None and examples_of(row)]
