"""Words of reports: places, ranges, bytes, times and tables."""

from __future__ import annotations

import math
import sys

import pytest

from weft.debug import wording
from weft.debug.wording import Range, Table
from weft.tracing import Input, Place, Recording, Statistics, Trace


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1536, "1.5 KiB"),
        (3 << 20, "3.0 MiB"),
        (5 << 40, "5120.0 GiB"),
    ],
)
def test_bytes(count: int, text: str) -> None:
    assert wording.bytes_text(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.5, "2.50 s"), (0.0025, "2.50 ms"), (2.5e-6, "2.5 us"), (0, "0.0 us")]
)
def test_seconds(seconds: float, text: str) -> None:
    assert wording.seconds_text(seconds) == text


def test_counts() -> None:
    assert wording.count_text(1, "node") == "1 node"
    assert wording.count_text(1234, "node") == "1,234 nodes"


def test_places() -> None:
    here = Place(__file__, 1, "run")
    assert "test_wording.py:1 in run: `" in wording.place_text(here)
    assert "Words of reports" in wording.place_text(here)
    assert wording.place_text(Place("gone.py", 3, "<module>")) == "gone.py:3"
    assert wording.place_text(None) == "an unknown line"
    assert wording.source_of(None) == ""
    assert wording.place_at(0) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Statistics(0), "empty"),
        (Statistics(1, 2.0, 2.0, values=(2.0,)), "value 2"),
        (Statistics(1, nans=1, values=(math.nan,)), "value nan"),
        (Statistics(5, -1.0, 3.5), "from -1 to 3.5"),
        (
            Statistics(5, -1.0, 3.5, nans=1, infinities=2),
            "from -1 to 3.5, 1 of 5 NaN, 2 of 5 infinite",
        ),
        (Statistics(2, nans=2), "2 of 2 NaN"),
    ],
)
def test_ranges(value: Statistics, text: str) -> None:
    assert wording.range_text(value) == text
    one = Range("x", (5,), "float32", value)
    assert str(one) == f"x (5,) float32, {text}"
    assert one.is_finite == (value.nans + value.infinities == 0)


def test_the_range_of_a_number() -> None:
    for number, is_finite in ((2.0, True), (math.inf, False), (math.nan, False)):
        one = wording.range_of(Trace(), Input(number=number))
        assert one.is_finite == is_finite
        assert one.name == "the number"


def test_nodes_outside_of_lines_and_modules() -> None:
    import weft

    with Recording() as run:
        weft.ones(2) * 2
    trace = run.trace()
    assert wording.module_of(trace, trace.nodes[-1]) == ""
    place = wording.place_of(trace, trace.nodes[-1])
    assert place is not None
    assert place.file == __file__


TABLE = Table("a title", ("name", ">number"), (("first", "1"), ("second [x]", "20")))


def test_a_plain_table() -> None:
    assert (
        TABLE.plain() == "a title\n  name        number\n  first            1\n  second [x]      20"
    )


def test_a_table_for_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    text = wording.tables_text([TABLE])
    assert "a title" in text
    assert "second [x]" in text
    assert "│" in text or "┃" in text


def test_tables_one_after_the_other() -> None:
    assert wording.tables_text([TABLE, TABLE]) == f"{TABLE.plain()}\n\n{TABLE.plain()}"
