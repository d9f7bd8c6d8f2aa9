"""What `make bench` makes of its results: a page and the README's table."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import weft
from benchmarks import __main__ as command
from benchmarks import page, report
from benchmarks.measure import Row, Settings, Spread
from benchmarks.models import parser, tree_lstm
from benchmarks.models.common import Comparison, compare

AS_FAST = Spread.of([1.0])


def rows(**more: Row) -> list[tuple[str, Row]]:
    """Return what the README shows, and other rows by their cases."""
    shown = [(case, Row(name, AS_FAST, Spread.of([2.5]))) for (case, name), *_ in page.README_ROWS]
    return shown + list(more.items())


def document(**more: Row) -> dict[str, Any]:
    """Return the document of such a run."""
    machine = report.describe_machine(weft, None) | {"torch": "2.0", "torch_vectors": "AVX2"}
    made = report.document_of(machine, report.results_of(rows(**more)), 60.0)
    return json.loads(json.dumps(made))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the page be written into an empty folder."""
    monkeypatch.setattr(page, "ROOT", tmp_path)
    for name in ("README", "PAGE", "RESULTS"):
        monkeypatch.setattr(page, name, tmp_path / f"{name}.txt")
    page.README.write_text(f"before\n{page.BEGIN}old\n{page.END}after\n")
    return tmp_path


def test_a_row_keeps_its_figure_and_a_slow_one_is_said_to_be_slow() -> None:
    slow = Row("an op", Spread(2e-6, 1e-6, 3e-6, 5), Spread(1e-6, 1e-6, 1e-6, 5), reason="of x")
    made = document(adam=slow, new=Row("|x|", AS_FAST, Spread.of([2.5]), threads=2))
    assert [row.figure for case, row in page.rows_of(made) if case in {"adam", "new"}] == [0.5, 2.5]
    text = page.page_text(made)
    assert "| an op |  | 2 us ±50% | 1 us | 0.50x |" in text
    assert "| \\|x\\| | 2 | 1 s | 2.5 s | 2.50x |" in text
    assert text.index("## Small models") < text.index("an op") < text.index("## Large tensors")
    assert text.endswith("## Where the peer is faster\n\n- an op (0.50x): of x.\n")


def test_what_was_not_measured_is_said_without_the_error() -> None:
    text = page.page_text(document(beam=Row("beam", None, error="no such file: /home/x")))
    assert "| beam |  | - | - | not measured |" in text
    assert "/home/x" not in text


def test_each_figure_stands_under_its_heading() -> None:
    accuracy = Row("exp, worst error", AS_FAST, AS_FAST, "ulp", "at most")
    made = document(**{"exp-ulp": accuracy, "lines": Row("lines", AS_FAST), "gemm": accuracy})
    text = page.page_text(made)
    assert text.count("| exp, worst error |  | 1 ulp | 1 ulp |  |") == 2
    assert text.index("## Accuracy") < text.index("exp, worst error") < text.index("## Large")
    assert "| lines |" not in text


def test_conditions_of_the_run_are_on_the_page() -> None:
    made = document()
    assert "quick" not in page.page_text(made)
    made["machine"] |= {"quick": True, "clock": "processor time", "other_work": 0.7}
    text = page.page_text(made)
    assert "a quick one" in text
    assert "processor time" in text
    assert "0.7 of the machine's cores" in text


def test_results_of_an_earlier_run_are_published(
    files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = files / "results.json"
    path.write_text(json.dumps(document()))
    monkeypatch.setattr("sys.argv", ["benchmarks", "--publish", str(path)])
    assert command.main() == 0
    assert "are now these of" in capsys.readouterr().out
    readme = page.README.read_text()
    assert readme.startswith("before\n")
    assert readme.endswith("after\n")
    assert readme.count("2.5x the speed ") == 3
    assert "old" not in readme
    assert page.PAGE.read_text() == page.page_text(json.loads(page.RESULTS.read_text()))


@pytest.mark.parametrize("broken", ["format", "case", "figure", "text", "file", "place"])
def test_what_cannot_be_published_changes_nothing(
    broken: str, files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, made = files / "results.json", document()
    if broken == "format":
        made["format"] = 1
    elif broken == "case":
        del made["results"][0]["case"]
    elif broken == "figure":
        made["results"][0]["weft"] = None
    elif broken == "place":
        page.README.write_text("without a place\n")
    path.write_text("no JSON" if broken == "text" else json.dumps(made))
    if broken == "file":
        path.unlink()
    before = page.README.read_text()
    monkeypatch.setattr("sys.argv", ["benchmarks", "--publish", str(path)])
    assert command.main() == 1
    assert capsys.readouterr().err.startswith("docs/performance.md is as it was: ")
    assert page.README.read_text() == before
    assert not page.PAGE.exists()
    assert not page.RESULTS.exists()


def test_every_name_on_the_page_is_one_of_a_case() -> None:
    settings = Settings(quick=False, threads=(1, 2))
    cases = command.build_cases(weft, None, settings)
    cases |= command.build_models(weft, None, settings, command.guarded)
    named = [name for _, names in page.PARTS.values() for name in names]
    assert [name for name in named if name not in cases] == []
    assert len(set(named)) == len(named)
    models = set(command.build_models(weft, None, settings, command.guarded))
    assert models <= set(named), "models stand under a heading of their own"


@pytest.mark.parametrize(("row", "module"), [(0, tree_lstm), (1, parser)])
def test_rows_of_the_readme_are_called_as_models_call_them(row: int, module: ModuleType) -> None:
    (_, name), *_ = page.README_ROWS[row]
    title, _, sides = name.partition(": ")
    weft_side, torch_side = sides.split(" / ")
    source = inspect.getsource(module)
    assert f'Comparison("{weft_side}", "{torch_side}"' in source
    assert title.partition(", ")[0] in source
    line = Comparison(weft_side, torch_side)
    times = {weft_side: AS_FAST, torch_side: AS_FAST}
    assert [row.name for row in compare(title, times, [line])] == [name]
