"""Pages of real runs: models run under the recorder, and what is shown is what the trace has."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import weft
from tests.viewer import models, pages
from tests.viewer.pages import Shown
from tests.viewer.test_page_diff import open_diff
from tests.viewer.test_page_graph import search
from weft import viewer
from weft.tracing import Node, Statistics, from_json, to_json
from weft.viewer import Diff, Graph

Show = Callable[[Graph | Diff], Shown]
FILE = "models.py"
SOURCE = Path(models.__file__).read_text(encoding="utf-8").splitlines()


@pytest.fixture
def show_run(shown: Shown, tmp_path: Path) -> Show:
    """Write what a graph or a diff writes, and open it."""
    return lambda graph: shown.open(graph.html(tmp_path / "run.html"))


@cache
def run(name: str) -> Any:
    return getattr(models, name)()


def line_of(text: str, after: str = "") -> int:
    """The number of the first line with this text, below one with another."""
    start = next((at for at, line in enumerate(SOURCE) if after and after in line), 0)
    return next(at for at, line in enumerate(SOURCE[start:], start + 1) if text in line)


def place(graph: Graph, node: Node) -> tuple[str, int]:
    found = graph.trace.places[graph.trace.frames[node.frame].place]
    return Path(found.file).name, found.line


def numbers(words: list[str]) -> list[float]:
    known = {"∞": "inf", "−∞": "-inf", "-∞": "-inf", "NaN": "nan"}
    return [float(known.get(word, word)) for word in words]


def close(shown: list[float], wanted: tuple[float, ...] | None) -> bool:
    return shown == pytest.approx(list(wanted or ()), rel=2e-3, abs=1e-9, nan_ok=True)


def check_statistics(shown: Shown, title: str, wanted: Statistics) -> None:
    """Compare a section of the panel, "Value" or "Gradient", with the trace."""
    section = shown.page.locator(
        ".panel-body section", has=shown.page.locator("h3", has_text=re.compile(f"^{title}"))
    ).first
    cells = section.locator(".values td").all_inner_texts()
    if cells:
        assert close(numbers(cells), wanted.values)
        return
    assert section.locator(".histogram rect").count() == len(wanted.histogram)
    found = section.locator("dt", has_text="range").evaluate(
        "one => one.nextElementSibling.innerText"
    )
    assert close(numbers(found.split(" … ")), (wanted.minimum or 0.0, wanted.maximum or 0.0))


def check_node(shown: Shown, graph: Graph, number: int) -> None:
    """Compare all that the panel says of the selected node with the trace."""
    node = graph.nodes[number]
    assert shown.state()["selectedNode"] == number
    assert shown.fact("op") == node.op
    shapes = [
        f"{'×'.join(map(str, result.shape)) or 'scalar'} {result.dtype}" for result in node.results
    ]
    assert shown.fact("result").split("\n") == shapes
    file, line = place(graph, node)
    assert f"{file}:{line}" in shown.panel()
    here = shown.page.locator(".panel-body .source .here").first.inner_text().split(None, 1)
    assert here == [str(line), SOURCE[line - 1].strip()]
    which = [""] if len(node.results) == 1 else [f" {at}" for at in range(len(node.results))]
    for name, result in zip(which, node.results, strict=True):
        if result.value is not None:
            check_statistics(shown, f"Value{name}", result.value)
        if result.gradient is not None:
            check_statistics(shown, f"Gradient{name}", result.gradient)


def go_to(shown: Shown, graph: Graph, number: int) -> None:
    """Find a node by what it is called and where it stands, as a reader would."""
    node = graph.nodes[number]
    file, line = place(graph, node)
    found = search(shown, f"{node.op} {file}:{line}")
    assert found
    for _ in found:
        shown.press("Enter")
        if shown.state()["selectedNode"] == number:
            break
    shown.press("Escape")
    shown.wait(f"s.selectedNode === {number}")


# ---- A module with an if, and a loop -------------------------------------------------------------


def test_module_with_a_decision(show_run: Show) -> None:
    graph = run("gates")[0]
    shown = show_run(graph)
    ops = [at for at, node in enumerate(graph.nodes) if node.kind in ("op", "cell")]
    shown.press("e")
    shown.wait("s.layouts > 1")
    assert [box["node"] for box in shown.boxes() if box["kind"] in ("op", "cell")] == ops
    edges = {(edge["source"], edge["target"]) for edge in shown.state()["edges"]}
    boxes = {box["node"]: box["box"] for box in shown.boxes() if box["node"] >= 0}
    assert edges == {
        (boxes[one.node], boxes[at])
        for at in ops
        for one in graph.nodes[at].inputs
        if one.node in boxes
    }
    (decision,) = graph.decisions
    assert str(decision) == f"if x.sum() > 0 -> True at line {line_of('if x.sum() > 0')}"
    assert f"→ True at {FILE}:{decision.line}" in shown.page.get_by_role("tree").inner_text()
    text = shown.page.locator(".panel .decision").inner_text()
    assert "bool → True" in text
    assert "if x.sum() > 0:" in text
    shown.page.locator(".panel .decision").get_by_role("button", name="go to the value").click()
    check_node(shown, graph, decision.node)
    shown.press("Escape")
    for number in ops:
        go_to(shown, graph, number)
        check_node(shown, graph, number)


def test_loop_over_a_cell(show_run: Show) -> None:
    graph = run("tagger")
    shown = show_run(graph)
    loop = shown.box("for word in words:")
    assert (loop["kind"], loop["count"], loop["open"]) == ("loop", 37, False)
    assert "× 37" in shown.page.get_by_role("tree").inner_text()
    assert shown.labels()[0] == "words"
    shown.click("for word in words:")
    assert shown.fact("ran") == "37 times"
    counts = dict(row.split("\t")[:2] for row in shown.page.locator(".counts tr").all_inner_texts())
    assert counts == {"embedding": "37", "unsqueeze": "37", "LSTMCell": "37", "linear": "37"}
    shown.toggle("for word in words:")
    assert len([box for box in shown.boxes() if box["kind"] == "iteration"]) == 37
    shown.toggle("iteration 3")
    cells = [at for at, node in enumerate(graph.nodes) if node.op == "LSTMCell"]
    go_to(shown, graph, cells[2])
    check_node(shown, graph, cells[2])
    assert "called from" not in shown.panel()
    weight = next(at for at, node in enumerate(graph.nodes) if node.name == "cell.weight_ih")
    shown.page.locator(".panel").get_by_role("button", name="cell.weight_ih").click()
    shown.wait(f"s.selectedNode === {weight}")
    assert shown.fact("result") == "64×16 float32"


def test_search_counts_what_the_trace_has(show_run: Show) -> None:
    graph = run("transformer")
    shown = show_run(graph)
    counts = Counter(node.op for node in graph.nodes)
    for op in ("softmax", "transpose", "layer_norm"):
        assert len(search(shown, op)) == counts[op] > 0
    found = search(shown, "blocks.2 softmax")
    calls = graph.trace.modules
    inside = [
        node
        for node in graph.nodes
        if node.op == "softmax" and calls[node.module].path.startswith("blocks.2")
    ]
    assert len(found) == len(inside) == 4
    line = line_of("weights = (q @")
    on_the_line = [node for node in graph.nodes if place(graph, node) == (FILE, line)]
    assert len(search(shown, f"{FILE}:{line}")) == 60  # as many as are listed
    shown.press("Enter")
    shown.wait("s.selectedNode >= 0")
    assert shown.page.locator(".found").inner_text() == f"1 of {len(on_the_line)}"
    assert place(graph, graph.nodes[shown.state()["selectedNode"]]) == (FILE, line)
    shown.press("Escape", "Escape")


def test_replay_goes_in_the_order_of_the_run(show_run: Show) -> None:
    graph = run("gates")[1]
    shown = show_run(graph)
    ops = [at for at, node in enumerate(graph.nodes) if node.kind != "parameter"]
    slider = shown.page.get_by_role("slider")
    for count, number in enumerate(ops, 1):
        slider.fill(str(count))
        text = shown.page.locator(".replay-text").inner_text()
        node = graph.nodes[number]
        assert text.split()[0] == str(count) or node.op in text or node.name in text
        if node.kind == "op":
            assert node.op in text
            assert f"{FILE}:{place(graph, node)[1]}" in text
    assert f"sum {FILE}" in text
    shown.press("Escape")
    assert shown.state()["newest"] == -1


# ---- Backward and plan ---------------------------------------------------------------------------


def test_backward_of_a_run(show_run: Show) -> None:
    graph = run("gates")[1]
    shown = show_run(graph)
    shown.press("2")
    shown.wait("s.view === 'backward'")
    (backward,) = graph.trace.backwards
    rows = shown.page.get_by_role("grid", name="steps of backward").locator("tbody tr")
    names = [row.locator("td").nth(1).inner_text() for row in rows.all()]
    assert names == [step.name for step in backward.steps]
    assert shown.state()["items"] == len(backward.steps)
    step = next(one for one in backward.steps if one.name == "TanhBackward0")
    at = backward.steps.index(step)
    rows.nth(at).click()
    shown.wait("s.selected.box >= 0")
    assert f"step {at + 1} of backward" in shown.panel()
    assert step.incoming[0] is not None
    check_statistics(shown, "Incoming gradient", step.incoming[0])
    (number,) = step.nodes
    # What comes into a step is the gradient of the node's result.
    gradient = graph.nodes[number].results[0].gradient
    assert gradient is not None
    assert gradient.values == step.incoming[0].values
    assert f"{FILE}:{place(graph, graph.nodes[number])[1]}" in shown.panel()


def test_plan_of_a_map_over_trees(show_run: Show) -> None:
    graph = run("trees")
    shown = show_run(graph)
    loop = shown.box("weft.map")
    assert (loop["count"], loop["open"]) == (len(models.TREES), True)
    assert "example 0" in shown.labels()
    shown.press("e")
    shown.wait("s.layouts > 1")
    shown.press("3")
    shown.wait("s.view === 'plan'")
    plan = graph.trace.plans[0]
    rows = shown.page.get_by_role("grid", name="batches of the plan").locator("tbody tr")
    assert rows.count() == len(plan.batches)
    nodes = {box["box"]: box["node"] for box in shown.boxes()}
    for row, batch in zip(rows.all(), plan.batches, strict=True):
        cells = row.locator("td").all_inner_texts()
        assert cells[1:3] == [batch.op, str(len(batch.nodes))]
        assert cells[5] == f"{FILE}:{graph.trace.places[batch.place].line}"
        row.click()
        assert sorted(nodes[box] for box in shown.state()["highlighted"]) == sorted(batch.nodes)
        assert shown.fact("rows") == str(len(batch.nodes))
        listed = shown.page.locator(".panel .links li").all_inner_texts()
        examples = [int(text.rpartition("example ")[2]) for text in listed]
        assert examples == [graph.nodes[node].example for node in batch.nodes]
    # All numbers of the trees were looked up at once.
    assert max(len(batch.nodes) for batch in plan.batches if batch.op == "embedding") == 11
    assert f"needed at {FILE}" in shown.page.locator(".dock-title").inner_text()


def test_batched_backward_names_the_rows(show_run: Show) -> None:
    graph = run("trees")
    shown = show_run(graph)
    shown.press("2")
    shown.wait("s.view === 'backward'")
    steps = graph.trace.backwards[0].steps
    rows = shown.page.get_by_role("grid", name="steps of backward").locator("tbody tr")
    counts = [int(row.locator("td").nth(2).inner_text()) for row in rows.all()]
    assert counts == [len(step.nodes) for step in steps]
    assert max(counts) > 1


# ---- What went wrong -----------------------------------------------------------------------------


def test_failing_forward_shows_its_graph_so_far(show_run: Show) -> None:
    graph = run("failing")
    shown = show_run(graph)
    assert graph.failure is not None
    alert = shown.page.get_by_role("alert")
    line = line_of("return self.second(logs)")
    text = alert.inner_text()
    assert f"{graph.failure.kind} at {FILE}:{line} in forward()" in text
    assert graph.failure.message in text
    assert alert.locator(".here").inner_text().split(None, 1) == [
        str(line),
        "return self.second(logs)",
    ]
    assert f"{len(graph)} nodes had been recorded" in text
    last = len(graph) - 1
    alert.get_by_role("button").click()
    check_node(shown, graph, last)
    assert graph.nodes[last].op == "log"
    assert shown.fact("inf") == "4"
    shown.page.get_by_label("colour by").select_option("nan")
    marks = {box["label"]: box["mark"] for box in shown.boxes()}
    assert marks["log"] != marks["relu"]


# ---- Two runs ------------------------------------------------------------------------------------


def test_diff_of_two_inputs(show_run: Show) -> None:
    left, right = run("gates")
    diff = weft.diff(left, right)
    shown = show_run(diff)
    open_diff(shown)
    assert tuple(shown.page.locator(".summary li").all_inner_texts()) == diff.summary
    changes = shown.page.locator(".change")
    assert changes.count() == len(diff.changes)
    texts = [one.locator("span").last.inner_text() for one in changes.all()]
    assert texts == [change.text for change in diff.changes]
    for side, graph, only in ((0, left, "only-left"), (1, right, "only-right")):
        marks = {box["node"]: box["mark"] for box in shown.boxes(side) if box["node"] >= 0}
        alone = {
            node
            for change in diff.of_kind(only)  # type: ignore[arg-type]
            for node in getattr(change, only.removeprefix("only-"))
            if graph.nodes[node].kind == "op"
        }
        assert alone <= marks.keys()
        assert len({marks[node] for node in alone}) == 1
        assert {node for node, mark in marks.items() if mark == marks[min(alone)]} == alone
    changes.first.click()
    (branch,) = diff.of_kind("branch")
    shown.page.wait_for_function(
        f"weft.state(0).selectedNode === {branch.left[0]}"
        f" && weft.state(1).selectedNode === {branch.right[0]}"
    )


def test_diff_of_loops(show_run: Show) -> None:
    graphs = [weft.graph(models.counted, weft.ones(2), limit) for limit in (30.0, 5.0)]
    diff = weft.diff(*graphs)
    shown = show_run(diff)
    open_diff(shown)
    loops = [next(box for box in shown.boxes(side) if box["kind"] == "loop") for side in (0, 1)]
    assert [loop["count"] for loop in loops] == [4, 2]
    assert "ran 4 times on the left and 2 times on the right" in (
        shown.page.locator(".summary").inner_text()
    )


def test_merged_runs(show_run: Show) -> None:
    merged = weft.merge(run("gates"))
    shown = show_run(merged)
    shown.press("e")
    shown.wait("s.layouts > 1")
    decision = shown.box("if x.sum() > 0")
    assert decision["kind"] == "decision"
    nodes = {box["box"]: box["node"] for box in shown.boxes()}
    links = {
        (nodes[edge["source"]], nodes[edge["target"]], edge["label"])
        for edge in shown.state()["edges"]
        if edge["control"]
    }
    assert links == {(link.source, link.target, link.label) for link in merged.links}
    assert {label for _, _, label in links} == {"True", "False"}
    marks = {box["node"]: box["mark"] for box in shown.boxes() if box["node"] >= 0}
    by_sides: dict[tuple[int, ...], set[str]] = {}
    for node, mark in marks.items():
        by_sides.setdefault(merged.sides[node], set()).add(mark)
    assert all(len(found) == 1 for found in by_sides.values())
    assert len(set().union(*by_sides.values())) == 3


# ---- Files, notebooks, size ----------------------------------------------------------------------


def test_trace_file_of_a_run_is_shown(shown: Shown, tmp_path: Path) -> None:
    """What `.json()` writes can be opened on the page, and read back."""
    graph = run("gates")[0]
    path = graph.json(tmp_path / "trace.json")
    assert from_json(path.read_text(encoding="utf-8")) == graph.trace
    page = tmp_path / "empty.html"
    page.write_text(pages.html("null"), encoding="utf-8")
    shown.open(page, ready=False)
    shown.page.get_by_label("file to open").set_input_files(str(path))
    shown.wait()
    assert shown.state()["items"] == len([one for one in graph.nodes if one.kind != "parameter"])


def test_notebook_shows_the_graph(fresh: Shown, tmp_path: Path) -> None:
    """The HTML of a notebook's cell, without a network: the page in a frame, which works."""
    graph = run("gates")[0]
    bundle = graph._repr_mimebundle_()
    assert bundle["text/plain"] == graph.text()
    path = tmp_path / "cell.html"
    path.write_text(f"<!doctype html><body>{bundle['text/html']}</body>", encoding="utf-8")
    asked: list[str] = []
    fresh.page.context.set_offline(True)
    try:
        fresh.page.on("request", lambda request: asked.append(request.url))
        fresh.page.goto(path.as_uri())
        frame = fresh.page.frame_locator("iframe")
        tree = frame.get_by_role("tree")
        tree.get_by_role("treeitem", name="relu").wait_for()
        assert "→ True at" in tree.inner_text()
        tree.get_by_role("treeitem", name="relu").click()
        values = frame.locator(".panel .values").first.locator("td").all_inner_texts()
        relu = next(node for node in graph.nodes if node.op == "relu")
        assert relu.results[0].value is not None
        assert close(numbers(values), relu.results[0].value.values)
        frame.get_by_role("radio", name="Backward").click()
        frame.get_by_role("grid", name="steps of backward").wait_for()
    finally:
        fresh.page.context.set_offline(False)
    assert [url for url in asked if url.startswith(("http", "ws"))] == []


def test_large_run_opens(show_run: Show) -> None:
    """A real run of more than 10,000 nodes; benchmarks/viewer.py measures how fast."""
    graph = models.large()
    assert len(graph) > 10_000
    shown = show_run(graph)
    assert 0 < len(shown.boxes()) <= 60
    softmaxes = [at for at, node in enumerate(graph.nodes) if node.op == "softmax"]
    assert len(softmaxes) == 230 * 4
    assert len(search(shown, "blocks.200 softmax")) == 4
    shown.press("Enter")
    shown.wait("s.selectedNode >= 0")
    number = shown.state()["selectedNode"]
    assert graph.trace.modules[graph.nodes[number].module].path == "blocks.200"
    check_node(shown, graph, number)


def test_first_view_of_a_loop_alone(show_run: Show) -> None:
    """A graph that is one loop shows its first rounds, not one box."""
    graph = weft.graph(models.counted, weft.ones(2), 1e30)
    shown = show_run(graph)
    loop = shown.box("while x.sum() < limit:")
    assert loop["open"]
    first = shown.box("iteration 1")
    assert first["open"]
    assert {"sum", "lt", "mul"} <= set(shown.labels())
    assert len(shown.boxes()) <= 300


# ---- The demo ------------------------------------------------------------------------------------


def test_demo_page(shown: Shown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(pages.ROOT / "examples"))
    for name in ("demo", "demo_page"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    from demo_page import TREES, write_index  # type: ignore[import-not-found]
    from listops import Settings, Trainer  # type: ignore[import-not-found]
    from listops_page import Report  # type: ignore[import-not-found]

    weft.manual_seed(0)
    report = Report(majority=(0, 0.1), batch=4)
    trainer = Trainer(Settings(hidden=8))
    report.losses, report.step_seconds = [2.3, 2.2, 2.1], [0.01, 0.02, 0.015]
    report.accuracies = [(1, 0.25), (3, 0.5)]
    path = write_index(tmp_path / "index.html", trainer.loss, report)
    shown.open(path)
    tabs = shown.page.get_by_role("tab")
    assert tabs.all_inner_texts() == [
        "positive input",
        "negative input",
        "both in one",
        "a training step on trees",
        "Diff",
        "Curves",
    ]
    for tab in tabs.all():  # none is cut off
        box = tab.bounding_box()
        assert box["x"] + box["width"] <= 1440
    assert "→ True" in shown.page.get_by_role("tree").inner_text()
    tabs.nth(1).click()
    shown.wait("s.items === 7")
    assert "→ False" in shown.page.get_by_role("tree").inner_text()
    tabs.nth(2).click()
    shown.wait("s.items === 9")
    assert shown.box("if x.sum() > 0")["kind"] == "decision"
    tabs.nth(3).click()
    shown.wait("s.items > 9")
    assert shown.box("weft.map")["count"] == len(TREES)
    shown.press("3")
    shown.page.get_by_role("grid", name="batches of the plan").wait_for()
    tabs.nth(4).click()
    shown.page.wait_for_function("weft.state(0).ready && weft.state(1).ready")
    assert "was True on the left and False on the right" in (
        shown.page.locator(".summary").inner_text()
    )
    tabs.nth(5).click()
    labels = [
        plot.get_attribute("aria-label")
        for plot in shown.page.get_by_role("group", name="curves", exact=True)
        .get_by_role("img")
        .all()
    ]
    assert [label.split(":")[0] for label in labels] == ["loss", "held-out accuracy", "a step"]
    assert "from 25 % to 50 %" in labels[1]


def test_round_trip_of_a_page() -> None:
    """A page is plain data: what it holds is the trace, as JSON has it."""
    graph = run("trees")
    page = viewer.page_of([graph])
    assert page["graphs"][0]["trace"]["title"] == graph.title
    assert to_json(from_json(graph.json())) == graph.json()
