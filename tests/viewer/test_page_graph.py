"""The graph: boxes, folding, search, selection, zoom, keyboard, colours, the outline."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import pytest

from tests.viewer import pages, samples
from tests.viewer.pages import Shown

Show = Callable[..., Shown]


def overlaps(one: dict[str, float], other: dict[str, float]) -> bool:
    return (
        one["x"] < other["x"] + other["width"]
        and other["x"] < one["x"] + one["width"]
        and one["y"] < other["y"] + other["height"]
        and other["y"] < one["y"] + one["height"]
    )


def test_boxes_are_the_nodes(show: Show) -> None:
    page = samples.branch()
    shown = show(page)
    nodes = page["graphs"][0]["trace"]["nodes"]
    assert [box["node"] for box in shown.boxes()] == list(range(len(nodes)))
    assert shown.labels() == ["x", "mul", "sum", "gt", "mul", "mean"]
    edges = {(edge["source"], edge["target"]) for edge in shown.state()["edges"]}
    wanted = {
        (one["node"], at)
        for at, node in enumerate(nodes)
        for one in node["inputs"]
        if "node" in one
    }
    assert edges == wanted


@pytest.mark.parametrize("name", ["branch", "lstm", "transformer", "plan", "merged"])
def test_siblings_never_overlap_and_children_stay_inside(show: Show, name: str) -> None:
    shown = show(samples.ALL[name]())
    shown.press("e")
    shown.wait("s.layouts > 1")
    boxes = shown.boxes()
    by_parent: dict[int, list[dict[str, float]]] = {}
    for box in boxes:
        by_parent.setdefault(box["parent"], []).append(box["world"])
    for siblings in by_parent.values():
        for one, other in combinations(siblings, 2):
            assert not overlaps(one, other)
    items = shown.state()["items"]
    for box in boxes:
        if box["parent"] < 0:
            continue
        outer = next(one for one in boxes if one["box"] == items + box["parent"])["world"]
        inner = box["world"]
        assert outer["x"] <= inner["x"]
        assert outer["y"] <= inner["y"]
        assert inner["x"] + inner["width"] <= outer["x"] + outer["width"] + 0.01
        assert inner["y"] + inner["height"] <= outer["y"] + outer["height"] + 0.01


def test_loop_is_one_box_and_opens_to_iterations(show: Show) -> None:
    shown = show(samples.lstm())
    loop = shown.box("for t in range(len(words)):")
    assert (loop["kind"], loop["count"], loop["open"]) == ("loop", 37, False)
    assert "× 37" in shown.page.get_by_role("tree").inner_text()
    shown.toggle("for t in range(len(words)):")
    iterations = [box for box in shown.boxes() if box["kind"] == "iteration"]
    assert [box["label"] for box in iterations] == [f"iteration {at}" for at in range(1, 38)]
    shown.toggle("for t in range(len(words)):")
    assert not [box for box in shown.boxes() if box["kind"] == "iteration"]


def test_expand_and_collapse_all(show: Show) -> None:
    page = samples.lstm()
    shown = show(page)
    shown.page.get_by_role("button", name="Expand all").click()
    shown.wait("s.layouts > 1")
    trace = page["graphs"][0]["trace"]
    leaves = [box["node"] for box in shown.boxes() if box["node"] >= 0]
    drawn = [at for at, node in enumerate(trace["nodes"]) if node.get("kind") != "parameter"]
    assert leaves == drawn
    assert len(shown.boxes()) == len(drawn) + len(page["graphs"][0]["groups"])
    shown.page.get_by_role("button", name="Collapse all").click()
    shown.wait("s.layouts > 2")
    assert shown.labels() == ["words", "Tagger"]


def test_parameters_are_chips_and_never_boxes(show: Show) -> None:
    shown = show(samples.transformer())
    assert all(box["kind"] != "parameter" for box in shown.boxes())
    embedding = shown.box("embedding (Embedding)")
    scale = shown.state()["transform"]["k"]
    shown.page.mouse.click(embedding["x"] + 50 * scale, embedding["y"] + 53 * scale)
    assert "embedding.weight" in shown.panel()
    assert "1000×64" in shown.fact("result")


def test_names_are_shown_without_what_they_stand_in(show: Show) -> None:
    shown = show(samples.transformer())
    assert "attention (Attention)" in shown.labels()
    assert "blocks.3 (Block)" in shown.labels()


def test_double_click_and_enter_open_a_group(show: Show) -> None:
    shown = show(samples.transformer())
    before = len(shown.boxes())
    box = shown.box("attention (Attention)")
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    shown.page.mouse.dblclick(x, y)
    shown.wait("s.layouts > 1")
    assert len(shown.boxes()) == before + 10
    shown.press("Enter")
    shown.wait("s.layouts > 2")
    assert len(shown.boxes()) == before


def test_selected_node_shows_its_facts_source_and_values(show: Show) -> None:
    page = samples.branch()
    shown = show(page)
    shown.click("mul")
    node = page["graphs"][0]["trace"]["nodes"][1]
    assert shown.state()["selectedNode"] == 1
    assert shown.fact("op") == "mul"
    assert shown.fact("result") == "3 float32"
    assert shown.fact("saved") == "12 B for backward"
    cells = shown.page.locator(".panel .values td").all_inner_texts()
    assert [float(cell) for cell in cells] == node["results"][0]["value"]["values"]
    here = shown.page.locator(".panel .source .here")
    assert here.inner_text().split(None, 1) == ["4", "h = x * 3.0"]
    assert "Inputs" in shown.panel()
    assert "Read by 2" in shown.panel()
    shown.page.locator(".panel").get_by_role("button", name="sum").click()
    assert shown.state()["selectedNode"] == 2


def test_large_values_are_histogram_and_range(show: Show) -> None:
    page = samples.transformer()
    shown = show(page)
    shown.click("add")
    node = shown.state()["selectedNode"]
    facts = page["graphs"][0]["trace"]["nodes"][node]["results"][0]["value"]
    bars = shown.page.locator(".panel .histogram").first.locator("rect")
    assert bars.count() == len(facts["histogram"])
    low = shown.fact("range").split(" … ")[0]
    assert float(low) == pytest.approx(facts["minimum"], rel=1e-3)
    assert "Gradient" in shown.panel()


def test_group_shows_sums_and_op_counts(show: Show) -> None:
    page = samples.lstm()
    shown = show(page)
    shown.click("for t in range(len(words)):")
    assert shown.fact("ran") == "37 times"
    assert shown.fact("ops") == str(37 * 14)
    counts = dict(row.split("\t")[:2] for row in shown.page.locator(".counts tr").all_inner_texts())
    assert counts["sigmoid"] == str(3 * 37)


def test_decision_stands_on_its_node(show: Show) -> None:
    shown = show(samples.branch())
    tree = shown.page.get_by_role("tree")
    assert "→ True at model.py:5" in tree.inner_text()
    shown.click("gt")
    assert "bool → True" in shown.panel()
    assert "if h.sum() > 0:" in shown.page.locator(".panel .decision").inner_text()
    box, theme = shown.box("gt"), (253, 241, 216)
    scale = shown.state()["transform"]["k"]
    assert shown.pixel(box["x"] + (box["width"] - 16 * scale), box["y"] + 50 * scale) == theme


def search(shown: Shown, query: str) -> list[str]:
    """Type a query, and return what is listed."""
    shown.page.get_by_role("searchbox").fill(query)
    return shown.page.locator("#search-results").get_by_role("option").all_inner_texts()


def test_search_finds_ops_and_goes_from_one_to_the_next(show: Show) -> None:
    page = samples.transformer()
    shown = show(page)
    shown.press("/")
    shown.page.keyboard.type("soft")
    assert len(search(shown, "softmax")) == 4
    # Those that are folded away are marked by the groups that they are in.
    assert len(shown.state()["matches"]) == 4
    nodes = page["graphs"][0]["trace"]["nodes"]
    wanted = [at for at, node in enumerate(nodes) if node["op"] == "softmax"]
    for node in wanted:
        shown.press("Enter")
        shown.wait(f"s.selectedNode === {node}")
        inside = shown.page.locator("canvas.graph").bounding_box()
        box = next(one for one in shown.boxes() if one["node"] == node)
        assert inside["x"] < box["x"] < inside["x"] + inside["width"]
        assert inside["y"] < box["y"] < inside["y"] + inside["height"]
    assert shown.page.locator(".found").inner_text() == "4 of 4"
    shown.press("Escape")
    assert shown.state()["matches"] == []


def test_search_finds_lines_modules_and_parameters(show: Show) -> None:
    page = samples.transformer()
    shown = show(page)
    trace = page["graphs"][0]["trace"]
    line = next(place["line"] for place in trace["places"] if place["line"] > 12)
    frames = [
        at
        for at, frame in enumerate(trace["frames"])
        if trace["places"][frame["place"]]["line"] == line
    ]
    here = [node for node in trace["nodes"] if node.get("frame") in frames]
    groups = [group for group in page["graphs"][0]["groups"] if group["frame"] in frames]
    assert len(search(shown, f"model.py:{line}")) == len(here) + len(groups) > 0
    found = search(shown, "blocks.2.attention matmul")
    assert len(found) == 2
    assert all("blocks.2.attention" in text for text in found)
    assert len(search(shown, "head.weight")) == 1
    shown.press("Enter")
    shown.wait("s.selected.chip >= 0")
    assert trace["nodes"][shown.state()["selectedNode"]]["name"] == "head.weight"
    assert search(shown, "nothing of the kind") == []
    assert shown.page.locator(".found").inner_text() == "none"


def test_zoom_pan_fit_and_keys(show: Show) -> None:
    shown = show(samples.transformer())
    before = shown.state()["transform"]
    shown.page.mouse.move(600, 400)
    shown.page.mouse.wheel(0, -300)
    shown.wait(f"s.transform.k > {before['k']}")
    zoomed = shown.state()["transform"]
    shown.page.mouse.move(300, 700)
    shown.page.mouse.down()
    shown.page.mouse.move(340, 760, steps=4)
    shown.page.mouse.up()
    moved = shown.state()["transform"]
    assert (moved["x"] - zoomed["x"], moved["y"] - zoomed["y"]) == pytest.approx((40, 60), abs=1)
    shown.press("f")
    canvas = shown.page.locator("canvas.graph").bounding_box()
    for box in shown.boxes():
        assert canvas["y"] <= box["y"]
        assert box["y"] + box["height"] <= canvas["y"] + canvas["height"]
    k = shown.state()["transform"]["k"]
    shown.press("+")
    shown.wait(f"s.transform.k > {k}")


def test_keys_walk_along_the_graph(show: Show) -> None:
    shown = show(samples.branch())
    shown.press("ArrowDown")
    assert shown.state()["selectedNode"] == 0
    shown.press("ArrowDown")
    assert shown.state()["selectedNode"] == 1
    shown.press("ArrowDown")
    child = shown.state()["selectedNode"]
    assert child in (2, 4)
    shown.press("ArrowRight" if child == 2 else "ArrowLeft")
    assert shown.state()["selectedNode"] == 6 - child
    shown.press("ArrowUp", "ArrowUp")
    assert shown.state()["selectedNode"] == 0
    shown.press("Escape")
    assert shown.state()["selected"]["box"] == -1


def test_help_lists_the_keys(show: Show) -> None:
    shown = show(samples.branch())
    shown.press("?")
    dialog = shown.page.get_by_role("dialog", name="keyboard")
    assert "expand all" in dialog.inner_text()
    shown.press("Escape")
    assert not dialog.is_visible()


@pytest.mark.parametrize("mode", ["module", "time", "bytes", "nan"])
def test_colours(show: Show, mode: str) -> None:
    shown = show(samples.failure())
    shown.page.get_by_label("colour by").select_option(mode)
    legend = shown.page.get_by_role("group", name="legend").inner_text()
    marks = {box["label"]: box["mark"] for box in shown.boxes()}
    if mode == "module":
        assert "Linear" in legend
    elif mode == "time":
        assert "µs" in legend
    elif mode == "bytes":
        assert "B" in legend
        assert marks["log"] != marks["x"]
    else:
        assert "has NaN" in legend
        assert marks["log"] != marks["relu"]
        assert marks["Net"] == marks["log"]
        box = shown.box("log")
        assert shown.pixel(box["x"] + 2, box["y"] + box["height"] / 2) == (194, 47, 61)


def test_outline_follows_and_leads(show: Show) -> None:
    shown = show(samples.lstm())
    tree = shown.page.get_by_role("tree")
    rows = tree.get_by_role("treeitem")
    assert rows.count() == len(shown.boxes())
    loop = tree.get_by_role("treeitem", name="for t in")
    assert loop.get_attribute("aria-expanded") == "false"
    loop.click()
    assert shown.fact("ran") == "37 times"
    assert loop.get_attribute("aria-selected") == "true"
    tree.focus()
    shown.press("ArrowRight")
    shown.wait("s.layouts > 1")
    assert rows.count() == len(shown.boxes())
    shown.press("ArrowDown")
    assert "iteration 1" in shown.panel()


def test_light_and_dark(show: Show) -> None:
    shown = show(samples.branch())
    root = shown.page.locator("html")
    assert root.get_attribute("data-theme") == "light"
    light = shown.pixel(700, 700)
    shown.page.emulate_media(color_scheme="dark")
    shown.page.wait_for_function("document.documentElement.dataset.theme === 'dark'")
    assert sum(shown.pixel(700, 700)) < sum(light) / 3
    shown.page.get_by_role("button", name="Light or dark").click()
    assert root.get_attribute("data-theme") == "light"
    shown.press("t")
    assert root.get_attribute("data-theme") == "dark"


def test_long_edges_become_portals(show: Show) -> None:
    shown = show(samples.lstm())
    shown.toggle("for t in range(len(words)):")
    assert shown.state()["portals"] > 30


def test_many_nodes_without_groups_are_folded(show: Show) -> None:
    shown = show(samples.flat(2500))
    assert shown.labels()[0] == "1 – 250"
    assert len(shown.boxes()) == 10
    shown.toggle("1 – 250")
    assert len(shown.boxes()) == 260


def test_ten_thousand_nodes_open(show: Show) -> None:
    page = samples.large()
    shown = show(page)
    nodes = page["graphs"][0]["trace"]["nodes"]
    assert len(nodes) > 10_000
    assert 0 < len(shown.boxes()) <= 60
    shown.press("e")
    shown.wait("s.layouts > 1")
    assert 2000 < len(shown.boxes()) <= 3000
    assert "3,000 boxes" in shown.page.locator(".toast").inner_text()


def test_tabs(show: Show) -> None:
    page = samples.page("two", samples.branch_graph(True), samples.lstm_graph(3))
    shown = show(page)
    tabs = shown.page.get_by_role("tab")
    assert tabs.all_inner_texts() == ["positive", "LSTM over 3 words"]
    tabs.nth(1).click()
    shown.wait("s.items > 10")
    assert "words" in shown.labels()
    shown.press("[")
    shown.wait("s.items < 10")
    assert "x" in shown.labels()


def test_trace_without_nodes_is_shown(show: Show) -> None:
    build = samples.Builder("empty", "raise ValueError\n")
    build.extra["failure"] = {"kind": "ValueError", "message": "at once", "after": 0}
    shown = show(samples.page("empty", build.graph()))
    assert shown.boxes() == []
    assert "ValueError: at once" in shown.page.get_by_role("alert").inner_text()


def test_deep_recursion_opens_step_by_step(show: Show) -> None:
    build = samples.Builder("deep", "def f(x):\n    return f(x * 2.0)\n")
    x = build.input("x", [])
    for _ in range(400):
        build.open("function", "f()", build.frame("return f"))
        x = build.add("mul", [x, 2.0], [], "return f")
    for _ in range(400):
        build.close()
    shown = show(samples.page("deep", build.graph()))
    assert len(shown.boxes()) <= 60
    shown.press("e")
    shown.wait("s.layouts > 1")
    assert len(shown.boxes()) == 801


def test_edges_that_lead_back_are_drawn(show: Show) -> None:
    # A group that reads what reads it: folded, its edges make a circle.
    build = samples.Builder("circle", "a\nb\nc\n")
    build.open("function", "outer()")
    first = build.add("mul", [], [], "a")
    build.close()
    second = build.add("add", [first], [], "b")
    build.add("sub", [second], [], "c")
    graph = build.graph()
    graph["group_of"] = [0, -1, 0]
    shown = show(samples.page("circle", graph))
    shown.press("c")
    shown.wait("s.layouts > 1")
    ends = {(edge["source"], edge["target"]) for edge in shown.state()["edges"]}
    group = shown.box("outer()")["box"]
    assert ends == {(group, 1), (1, group)}
    assert len(shown.state()["routes"]) == 2


def test_page_works_where_workers_do_not(fresh: Shown, tmp_path: Path) -> None:
    shown = fresh
    shown.page.add_init_script("delete window.Worker; delete window.SharedWorker;")
    path = tmp_path / "page.html"
    path.write_text(pages.html(samples.lstm()), encoding="utf-8")
    shown.open(path)
    shown.toggle("for t in range(len(words)):")
    assert len([box for box in shown.boxes() if box["kind"] == "iteration"]) == 37
