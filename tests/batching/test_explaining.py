"""How what ran is told."""

from __future__ import annotations

import sys

import pytest

from weft.batching.explaining import Batch, Explanation, Plan

FILE = "/home/one/model.py"
EXPLANATION = Explanation(
    plans=(
        Plan(
            batches=(
                Batch("exp", 12, 3400, 0.5e-6, FILE, 7, "", 0),
                Batch("a_cell_with_a_long_name", 1, 0, 2e-3, FILE, 0, "why", 4),
                Batch("add", 3, 0, 1e-6, FILE, 8, "", 2),
            ),
            nodes=20,
            seconds_planning=0.25e-3,
            seconds=1.5e-3,
            file=FILE,
            line=9,
        ),
    ),
    pending=1,
    skipped=5,
    inlined_cells={"gate": "it reads values"},
    maps={"Net.forward": "as tasks of its routine"},
)


def test_text() -> None:
    assert str(EXPLANATION).split("\n") == [
        "plan for model.py:9: 20 ops in 3 batches, 1.50 ms (0.25 ms planning)",
        "  op                        rows    copied       us  line",
        "  exp                         12      3400      0.5  model.py:7",
        "  a_cell_with_a_long_name      1         0   2000.0  -  (for 5, equal ones once; why)",
        "  add                          3         0      1.0  model.py:8  (for 5, equal ones once)",
        "1 op pending, 5 never needed",
        "cell gate runs as it is: it reads values",
        "map of Net.forward: as tasks of its routine",
    ]
    assert str(Explanation((), 2, 0, {}, {})) == "2 ops pending, 0 never needed"


def test_table_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    shown = str(EXPLANATION)
    assert "plan for model.py:9" in shown
    (line,) = (line for line in shown.split("\n") if "exp" in line)
    assert "3,400" in line
    assert "for 5, equal ones once; why" in shown
    assert "cell gate runs as it is: it reads values" in shown
