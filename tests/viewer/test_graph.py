"""Graph: what it knows and how it shows itself."""

from __future__ import annotations

import html
import json
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import weft
from tests.tracing import programs
from tests.tracing.building import run
from tests.viewer.test_text_formats import HOSTILE, hostile_trace
from weft.tracing import Node, Trace, from_data, from_json
from weft.viewer import Graph, PageMissingError, graph, page, page_html
from weft.viewer.words import TIMES


def test_nodes_and_decisions() -> None:
    shown = graph(run(programs.branch, [1.0, 2.0]))
    assert [node.op for node in shown] == ["input", "sum", "gt", "mul"]
    assert len(shown) == len(shown.nodes) == 4
    (decision,) = shown.decisions
    assert decision.condition == "if x.sum() > 0"
    assert decision.value == "True"
    assert decision.function == "branch"
    assert str(decision) == f"if x.sum() > 0 -> True at line {decision.line}"
    assert repr(shown) == "<Graph of branch: 4 nodes, 1 decisions>"


def lines_of(text: str) -> list[str]:
    """Return the lines of a tree without places and sources."""
    return [line.partition(" at ")[0].rstrip() for line in text.splitlines()]


def test_tree() -> None:
    text = graph(run(programs.branch, [1.0, 2.0])).text()
    assert lines_of(text) == [
        "branch 4 nodes",
        "├─ input x0 (2,) float32, value [1, 2]",
        "├─ #1 = sum(x0) () float32, value 3",
        "├─ #2 = gt(#1, 0) () float32, value 1",
        "├─ ? if x.sum() > 0 -> True",
        "└─ #3 = mul(x0, 2) (2,) float32, value [2, 4]",
    ]
    assert text.splitlines()[-1].endswith("y = x * 2")
    assert "tests/tracing/programs.py:" in text


def test_tree_folds_loops() -> None:
    assert lines_of(graph(run(programs.loop, [1.0])).text()) == [
        "loop 7 nodes",
        "├─ input x0 () float32, value 1",
        f"└─ for _ in range(3): {TIMES} 3",
        "   ├─ round 1",
        "   │  ├─ #1 = mul(x0, 2) () float32, value 2",
        "   │  └─ #2 = add(#1, 1) () float32, value 3",
        "   └─ rounds 2 to 3: the same",
    ]


def test_tree_shows_rounds_that_differ() -> None:
    lines = lines_of(graph(run(programs.alternating, [1.0])).text())
    assert [line.strip("│├└─ ") for line in lines if "round" in line] == [
        "round 1",
        "round 2",
        "round 3",
        "round 4",
    ]


def test_tree_of_a_failure() -> None:
    shown = graph(run(programs.failing, [1.0]))
    assert shown.failure is not None
    last = shown.text().splitlines()[-1]
    assert last.startswith("└─ ValueError: no way on from 1 numbers at ")
    assert last.endswith('raise ValueError(f"no way on from {len(z.value)} numbers")')
    assert "ValueError" in repr(shown)


def test_tree_is_cut() -> None:
    nodes = tuple(Node("add") for _ in range(100_000))
    text = Graph(Trace(nodes=nodes)).text(max_lines=50)
    assert len(text.splitlines()) == 51
    assert "more than 50 lines" in text


def test_plain_when_piped_and_colored_in_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("rich")
    shown = graph(run(programs.branch, [1.0]))
    print(shown)
    assert capsys.readouterr().out == shown.text() + "\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert "\x1b[" in str(shown)


def test_json_is_the_trace(tmp_path: Path) -> None:
    trace = run(programs.module, [1.0])
    shown = graph(trace)
    assert from_json(shown.json()) == trace
    path = shown.json(tmp_path / "trace.json")
    assert from_json(path.read_text()) == trace


def test_page_follows_the_contract() -> None:
    trace = run(programs.module_while, [1.0, 0.6])
    shown = graph(trace).page()
    assert (shown["format"], shown["version"]) == ("weft-page", 1)
    (one,) = shown["graphs"]
    assert set(one) == {"title", "trace", "groups", "group_of"}
    assert from_data(one["trace"]) == trace
    assert len(one["group_of"]) == len(trace.nodes)
    for number, group in enumerate(one["groups"]):
        assert set(group) == {"kind", "label", "parent", "frame", "count"}
        assert -1 <= group["parent"] < number
        assert group["kind"] in ("module", "function", "loop", "iteration")
        assert -1 <= group["frame"] < len(trace.frames)
    json.dumps(shown, allow_nan=False)


@pytest.fixture
def template(monkeypatch: pytest.MonkeyPatch) -> str:
    """Stand in for the built page."""
    text = f"<!doctype html><title>x</title>{page.PLACEHOLDER}<script>1</script>"
    monkeypatch.setattr(page, "template", lambda: text)
    return text


@pytest.mark.parametrize("text", HOSTILE)
def test_html_holds_the_page(template: str, text: str) -> None:
    shown = Graph(hostile_trace(text))
    written = shown.html()
    assert written.count("</script>") == template.count("</script>")
    start = written.index('id="weft-page">') + len('id="weft-page">')
    data = json.loads(written[start : written.index("</script>", start)])
    assert data == shown.page()


def test_html_file_is_written_at_once(template: str, tmp_path: Path) -> None:
    target = tmp_path / "graph.html"
    target.write_text("old")
    assert graph(run(programs.branch, [1.0])).html(target) == target
    assert target.read_text().startswith("<!doctype html>")
    assert [path.name for path in tmp_path.iterdir()] == ["graph.html"]
    assert stat.S_IMODE(target.stat().st_mode) & 0o044 == 0o044
    with pytest.raises(FileNotFoundError):
        graph(run(programs.branch, [1.0])).html(tmp_path / "no folder" / "graph.html")


def test_missing_page_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> str:
        raise PageMissingError("weft/viewer/page.html is missing")

    monkeypatch.setattr(page, "template", missing)
    with pytest.raises(PageMissingError, match=r"page\.html is missing"):
        graph(run(programs.branch, [1.0])).html()
    monkeypatch.setattr(page, "template", lambda: "<html></html>")
    with pytest.raises(PageMissingError, match="no place for a graph"):
        page_html({})


def test_notebook(template: str) -> None:
    shown = graph(run(programs.branch, [1.0]))
    bundle = shown._repr_mimebundle_()
    assert bundle["text/plain"] == shown.text()
    frame = bundle["text/html"]
    assert frame.startswith('<iframe title="branch" sandbox="allow-scripts"')
    assert html.escape(shown.html(), quote=True) in frame


def test_notebook_without_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> str:
        raise PageMissingError("no page")

    monkeypatch.setattr(page, "template", missing)
    assert graph(run(programs.branch, [1.0]))._repr_html_().startswith("<svg ")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_print(text: str) -> None:
    shown = str(Graph(hostile_trace(text)))
    shown.encode()
    assert "\x1b" not in shown


class TestWeftGraph:
    def test_of_graphs_and_traces(self) -> None:
        trace = run(programs.branch, [1.0])
        assert weft.graph(trace).trace is trace
        shown = weft.graph(trace)
        assert weft.graph(shown) is shown

    def test_wrong_things(self) -> None:
        with pytest.raises(TypeError, match=r"graph\(x\): x must be .* and is int"):
            weft.graph(3)
        with pytest.raises(TypeError, match="arguments are for functions"):
            weft.graph(Trace(), 1)

    def test_of_a_function(self) -> None:
        def divide(a: weft.Tensor, b: int) -> weft.Tensor:
            scaled = a * 2
            return scaled / (1 // b)

        good = weft.graph(divide, weft.ones(3), b=1)
        assert good.exception is None
        assert [node.op for node in good] == ["input", "mul", "div"]
        assert good.nodes[0].name == "a"
        bad = weft.graph(divide, weft.ones(3), b=0)
        assert isinstance(bad.exception, ZeroDivisionError)
        assert [node.op for node in bad] == ["input", "mul"]
        assert "ZeroDivisionError" in str(bad)

    def test_of_a_module(self) -> None:
        model = weft.nn.Sequential(weft.nn.Linear(3, 2), weft.nn.Tanh())
        shown = weft.graph(model, weft.ones(1, 3))
        assert {group.label for group in shown.folded.groups} == {
            "Sequential", "0 (Linear)", "1 (Tanh)",
        }  # fmt: skip
        assert {node.name for node in shown if node.kind == "parameter"} == {"0.weight", "0.bias"}

    def test_of_tensors(self) -> None:
        w = weft.ones(2, requires_grad=True)
        loss = (w * 3).sum()
        other = w + 1
        shown = weft.graph(loss)
        assert [node.name or node.op for node in shown] == ["w", "mul", "loss"]
        both = weft.graph([loss, other])
        assert {node.op for node in both} == {"parameter", "mul", "sum", "add"}

    def test_results_are_called_as_the_variables_are(self) -> None:
        w = weft.ones(2, requires_grad=True)
        double = w * 2
        loss = double.sum()
        texts = [line.partition(" (")[0] for line in str(weft.graph(loss)).splitlines()]
        assert texts[2:] == ["├─ double = mul(w)", "└─ loss = sum(double)"]

    def test_examples_of_a_map_are_counted_as_in_the_list(self) -> None:
        def double(x: weft.Tensor) -> weft.Tensor:
            return x.exp() if x > 0 else x

        numbers = [weft.tensor(value) for value in (1.0, 2.0, -1.0)]
        lines = str(weft.graph(weft.map, double, numbers)).splitlines()
        turns = [line.strip("├─└│ ") for line in lines if "example " in line]
        assert turns == ["example 0", "example 1: the same", "example 2"]

    def test_one_node(self) -> None:
        assert str(weft.graph(Trace(nodes=(Node("ones"),)))).startswith("graph 1 node\n")

    def test_of_a_pending_tensor(self) -> None:
        w = weft.ones(2, requires_grad=True)
        with weft.lazy():
            loss = (w * 3).sum()
        assert [node.op for node in weft.graph(loss)] == ["parameter", "mul", "sum"]


def test_importing_weft_does_not_import_the_viewer() -> None:
    program = (
        "import sys, weft\n"
        "assert not {'weft.viewer', 'weft.tracing', 'json', 'difflib'} & set(sys.modules)\n"
        "assert {'graph', 'merge', 'diff'} <= set(weft.__all__)\n"
        "weft.graph\n"
        "assert 'weft.viewer' in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def doubled(x: weft.Tensor) -> weft.Tensor:
    for _ in range(5):
        x = x * 2
        if x.sum() > 20:
            break
    return x


def test_a_round_that_decided_otherwise_is_not_the_same() -> None:
    text = str(weft.graph(doubled, weft.tensor([1.0, 2.0, 3.0])))
    assert "round 2: the same" not in text
    assert "-> False" in text
    assert "-> True" in text
    text = str(weft.graph(doubled, weft.tensor([1.0])))
    assert "rounds 2 to 4: the same" in text
    assert text.count("-> True") == 1


def test_functions_whose_body_does_not_run_are_refused() -> None:
    def numbers(x: weft.Tensor) -> Iterator[weft.Tensor]:
        yield x * 2

    with pytest.raises(TypeError, match="numbers is a generator or async function"):
        weft.graph(numbers, weft.ones(2))
