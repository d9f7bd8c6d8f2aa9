"""A slow row of the benchmarks needs a reason."""

import pytest

from benchmarks import slower
from benchmarks.measure import Row, Spread


def row(name: str, ratio: float) -> Row:
    return slower.explain(Row(name, Spread.of([1.0]), Spread.of([ratio])))


def test_a_slow_row_without_a_reason_fails() -> None:
    assert row("a new model", 0.79).verdict == "SLOW"
    assert row("a new model", 0.81).verdict == "-"


def test_reasons_are_for_slow_rows_only() -> None:
    for title in slower.REASONS:
        assert row(title, 0.5).reason
        assert row(title, 0.5).verdict == "-"
        assert not row(title, 0.9).reason


@pytest.mark.parametrize("compare", ["at most", "at least"])
def test_numbers_without_a_peer_are_never_slow(compare: str) -> None:
    assert not Row("bytes", Spread.of([2.0]), Spread.of([1.0]), compare=compare).is_slow
