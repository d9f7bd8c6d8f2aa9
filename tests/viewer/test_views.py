"""Backward, plan, replay, failures, merged graphs, curves."""

from __future__ import annotations

from collections.abc import Callable

import weft
from tests.viewer import samples
from tests.viewer.pages import Shown

Show = Callable[..., Shown]


def test_backward_shows_steps_with_gradients(show: Show) -> None:
    page = samples.transformer()
    shown = show(page)
    shown.page.get_by_role("radio", name="Backward").click()
    shown.wait("s.view === 'backward'")
    steps = page["graphs"][0]["trace"]["backwards"][0]["steps"]
    assert shown.state()["items"] == len(steps)
    rows = shown.page.get_by_role("grid", name="steps of backward").locator("tbody tr")
    assert rows.count() == len(steps)
    assert (
        rows.first.locator("td").nth(1).inner_text() == steps[0]["name"] == "CrossEntropyBackward0"
    )
    # Gradients flow from the loss back: the loss's step stands above all others.
    top = min(shown.boxes(), key=lambda box: box["world"]["y"])
    assert top["label"] == "CrossEntropyBackward0"
    rows.nth(4).click()
    shown.wait("s.selected.box >= 0")
    assert "step 5 of backward" in shown.panel()
    assert "Incoming gradient" in shown.panel()
    assert shown.page.locator(".panel .histogram").count() == 2


def test_inputs_stand_above_the_examples_that_read_them(show: Show) -> None:
    def double(x: weft.Tensor) -> weft.Tensor:
        return x.exp() if x > 0 else x

    examples = [weft.tensor(1.0), weft.tensor(-1.0)]
    shown = show(weft.graph(weft.map, double, examples).page())
    shown.press("e")
    shown.wait("s.layouts > 1")
    places = {box["label"]: box["y"] for box in shown.boxes()}
    assert {"examples[0]", "examples[1]", "example 0", "example 1"} <= places.keys()
    assert max(places["examples[0]"], places["examples[1]"]) < places["weft.map"]


def test_plan_shows_batches_and_highlights_their_nodes(show: Show) -> None:
    page = samples.plan()
    shown = show(page)
    shown.press("3")
    shown.wait("s.view === 'plan'")
    trace = page["graphs"][0]["trace"]
    batches = trace["plans"][0]["batches"]
    table = shown.page.get_by_role("grid", name="batches of the plan")
    rows = table.locator("tbody tr")
    assert rows.count() == len(batches)
    cells = rows.nth(1).locator("td").all_inner_texts()
    assert cells[1:4] == ["matmul", "3", "192 B"]
    assert cells[5] == "model.py:5"
    assert rows.nth(7).locator("td").last.inner_text() == "one row: nothing to batch"
    rows.nth(1).click()
    nodes = {box["box"]: box["node"] for box in shown.boxes()}
    assert sorted(nodes[box] for box in shown.state()["highlighted"]) == batches[1]["nodes"]
    assert "example 2" in shown.panel()
    assert "29 nodes ran in 12 batches" in shown.page.locator(".dock-title").inner_text()
    # Folded away, the nodes are shown by the groups that they are in.
    shown.press("c")
    shown.wait("s.layouts > 2")
    assert len(shown.state()["highlighted"]) == 3
    shown.press("Escape")
    assert shown.state()["highlighted"] == []


def test_replay_shows_the_graph_as_it_formed(show: Show) -> None:
    page = samples.branch()
    shown = show(page)
    last = shown.box("mean")
    whole = shown.pixel(last["x"] + 2, last["y"] + last["height"] / 2)
    slider = shown.page.get_by_role("slider")
    slider.fill("2")
    assert "mul model.py:4 h = x * 3.0" in shown.page.locator(".replay-text").inner_text()
    newest = next(box for box in shown.boxes() if box["box"] == shown.state()["newest"])
    assert newest["node"] == 1
    assert shown.page.locator(".panel .source .here").inner_text().startswith("4")
    assert shown.pixel(last["x"] + 2, last["y"] + last["height"] / 2) != whole
    shown.press(".", ".")
    assert "→ True at model.py:5" in shown.page.locator(".replay-text").inner_text()
    shown.press("Escape")
    assert shown.state()["newest"] == -1
    assert shown.pixel(last["x"] + 2, last["y"] + last["height"] / 2) == whole


def test_replay_plays_and_pauses(show: Show) -> None:
    shown = show(samples.branch())
    shown.page.get_by_role("button", name="play", exact=True).click()
    shown.wait("s.newest >= 2")
    shown.page.get_by_role("button", name="pause").click()
    at = shown.state()["newest"]
    shown.page.wait_for_timeout(600)
    assert shown.state()["newest"] == at
    shown.press("p")
    shown.wait(f"s.newest === {shown.state()['items'] - 1}")


def test_failure_shows_banner_line_and_graph_so_far(show: Show) -> None:
    page = samples.failure()
    shown = show(page)
    alert = shown.page.get_by_role("alert")
    failure = page["graphs"][0]["trace"]["failure"]
    assert failure["message"] in alert.inner_text()
    assert "ValueError at model.py:5 in forward()" in alert.inner_text()
    assert "y = self.second(h)" in alert.locator(".here").inner_text()
    assert f"{failure['after']} nodes had been recorded" in alert.inner_text()
    assert "log" in shown.labels()
    alert.get_by_role("button").click()
    assert shown.fact("op") == "log"
    assert shown.fact("NaN") == "1"
    assert shown.fact("inf") == "9"
    assert shown.page.locator(".panel .values td.bad").count() == 10


def test_merged_graph_has_diamonds_and_labelled_sides(show: Show) -> None:
    shown = show(samples.merged())
    decision = shown.box("if h.sum() > 0")
    assert decision["kind"] == "decision"
    links = {edge["label"]: edge["target"] for edge in shown.state()["edges"] if edge["control"]}
    nodes = {box["box"]: box["node"] for box in shown.boxes()}
    assert {label: nodes[box] for label, box in links.items()} == {"True": 5, "False": 6}
    marks = {box["node"]: box["mark"] for box in shown.boxes()}
    assert len({marks[0], marks[5], marks[6]}) == 3
    assert "only in graph 2" in shown.page.get_by_role("group", name="legend").inner_text()


def test_curves(show: Show) -> None:
    shown = show(samples.curves())
    beside = shown.page.get_by_role("group", name="curves beside the graph")
    beside.locator("canvas").nth(1).wait_for()  # they are drawn when there is time
    assert beside.locator("canvas").count() == 2
    shown.page.get_by_role("tab", name="Curves").click()
    plots = shown.page.get_by_role("group", name="curves", exact=True)
    assert plots.locator("figcaption").first.inner_text().startswith("loss")
    label = plots.get_by_role("img").first.get_attribute("aria-label")
    assert label.startswith("loss: 200 points from ")
    plots.locator("canvas").nth(1).wait_for()
    assert plots.locator("canvas").count() == 2


def test_each_plan_and_backward_can_be_chosen(show: Show) -> None:
    page = samples.plan()
    trace = page["graphs"][0]["trace"]
    first = trace["plans"][0]
    trace["plans"].append({**first, "batches": first["batches"][:2]})
    step = {"name": "MeanBackward0", "nodes": [len(trace["nodes"]) - 1]}
    trace["backwards"] = [{"steps": [step]}, {"steps": [step, {**step, "nodes": [0]}]}]
    shown = show(page)
    shown.press("3")
    shown.wait("s.view === 'plan'")
    shown.page.locator(".dock-title select").select_option("1")
    shown.page.get_by_text("ran in 2 batches").wait_for()
    shown.press("2")
    shown.wait("s.view === 'backward' && s.items === 1")
    shown.page.locator(".dock-title select").select_option("1")
    shown.wait("s.items === 2")
