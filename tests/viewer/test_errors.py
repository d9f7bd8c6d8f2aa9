"""Bad, missing, foreign and huge files: a sentence, never a blank page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.viewer import pages, samples
from tests.viewer.pages import Shown

Show = Callable[..., Shown]


def broken(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    page = samples.branch()
    change(page)
    return page


CASES: dict[str, tuple[Any, str]] = {
    "missing": ("null", "There is no graph in this page yet"),
    "empty": ("  ", "There is no graph in this page yet"),
    "cut off": (json.dumps(samples.branch())[:-200], "not JSON, or not all of it arrived"),
    "a list": ([1, 2], "should be an object, but it is a list"),
    "foreign": ({"model": "onnx"}, "neither a page nor a trace of Weft"),
    "newer": (broken(lambda page: page.update(version=99)), "version 99 of the format"),
    "newer trace": (
        broken(lambda page: page["graphs"][0]["trace"].update(version=7)),
        "version 7 of the format",
    ),
    "no graphs": (broken(lambda page: page.update(graphs=[])), "no graphs and no curves"),
    "bad index": (
        broken(lambda page: page["graphs"][0]["trace"]["nodes"][1]["inputs"][0].update(node=99)),
        "graphs[0].trace.nodes[1].inputs[0].node is 99, but there are 6 of them",
    ),
    "bad group": (
        broken(lambda page: page["graphs"][0].update(group_of=[0])),
        "graphs[0].group_of[0] is 0, but there are 0 of them",
    ),
    "short groups": (
        broken(lambda page: page["graphs"][0].update(group_of=[-1])),
        "group_of has 1 entries for 6 nodes",
    ),
    "bad type": (
        broken(lambda page: page["graphs"][0]["trace"].update(nodes="many")),
        'graphs[0].trace.nodes should be a list, but it is string "many"',
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_page_says_what_is_wrong(show: Show, name: str) -> None:
    data, sentence = CASES[name]
    shown = show(data, ready=False)
    assert sentence in shown.page.get_by_role("alert").inner_text()
    assert shown.page.get_by_label("file to open").is_visible()


def test_huge_trace_says_so(show: Show) -> None:
    # The text of 300,000 small nodes, made without building them.
    nodes = ",".join(['{"op":"add"}'] * 300_000)
    text = f'{{"format":"weft-trace","version":1,"nodes":[{nodes}]}}'
    shown = show(text, ready=False)
    assert (
        "300,000 nodes, and the page shows at most 250,000"
        in shown.page.get_by_role("alert").inner_text()
    )


def drop(shown: Shown, name: str, text: str) -> None:
    shown.page.evaluate(
        """([name, text]) => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([text], name));
            document.body.dispatchEvent(
                new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
        }""",
        [name, text],
    )


def test_dropped_trace_and_page_are_shown(show: Show) -> None:
    shown = show("null", ready=False)
    drop(shown, "trace.json", json.dumps(samples.transformer_graph(1)["trace"]))
    shown.wait()
    assert "Transformer" in shown.labels()
    drop(shown, "page.json", json.dumps(samples.diff()))
    shown.page.get_by_role("tab", name="positive").click()
    shown.wait("s.items === 6")
    assert shown.page.get_by_role("tab").all_inner_texts() == ["positive", "negative", "Diff"]
    # Keys go to the new page only.
    shown.press("ArrowDown", "ArrowDown")
    assert shown.state()["selectedNode"] == 1


def test_exported_page_can_be_dropped(show: Show) -> None:
    shown = show("null", ready=False)
    drop(shown, "page.html", pages.html(samples.merged()))
    shown.wait()
    assert "if h.sum() > 0" in shown.labels()


def test_bad_file_leaves_the_graph(show: Show) -> None:
    shown = show(samples.branch())
    drop(shown, "notes.txt", "not json at all")
    dialog = shown.page.get_by_role("dialog")
    assert "not JSON" in dialog.inner_text()
    dialog.get_by_role("button", name="Close").click()
    assert shown.labels()[0] == "x"


def test_open_button_reads_a_file(show: Show, tmp_path: Path) -> None:
    shown = show(samples.branch())
    file = tmp_path / "other.json"
    file.write_text(json.dumps(samples.plan()))
    shown.page.get_by_label("file to open").set_input_files(str(file))
    shown.wait("s.items === 29")
    assert shown.page.get_by_role("heading", level=1).inner_text().endswith("A batched plan")


def test_markup_in_a_trace_stays_text(show: Show) -> None:
    page = samples.branch()
    evil = "</script><img src=x onerror=alert(1)>"
    page["title"] = evil
    page["graphs"][0]["trace"]["nodes"][1]["op"] = evil
    page["graphs"][0]["trace"]["reads"][0]["value"] = evil
    shown = show(page)
    assert shown.page.locator("img").count() == 0
    shown.page.get_by_role("treeitem", name="<img").first.click()
    assert evil in shown.panel()
