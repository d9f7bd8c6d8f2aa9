"""Outputs of one notebook share the page's code, and stand by themselves where they must."""

from __future__ import annotations

import dataclasses
import html
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import weft
from tests.viewer import pages
from weft.viewer import Graph, notebook
from weft.viewer.page import template

CODE = 100_000  # characters: no graph of these tests is as long, and the page's code is longer


def doubled(x: weft.Tensor) -> weft.Tensor:
    return x * 2 if x.sum() > 0 else x - 1


def a_graph(value: float = 1.0) -> Graph:
    return weft.graph(doubled, weft.tensor([value]))


class Notebook:
    """What a front end does: it runs cells, keeps their outputs, and saves them as a document."""

    def __init__(self, with_names: bool) -> None:
        self.outputs: dict[str, list[str]] = {}
        self.with_names = with_names
        self.parent: dict[str, Any] = {}
        self._runs = 0

    def get_parent(self) -> dict[str, Any]:
        return self.parent

    def run(self, name: str, *values: Any) -> None:
        """Run a cell, whose outputs take the place of those it had."""
        self._runs += 1
        self.parent = {
            "header": {"msg_id": f"run {self._runs}"},
            "metadata": {"cellId": name} if self.with_names else {},
            "content": {"code": f"show({name})"},
        }
        self.outputs[name] = [value._repr_mimebundle_()["text/html"] for value in values]

    def document(self, order: list[str] | None = None) -> str:
        cells = [output for name in order or self.outputs for output in self.outputs[name]]
        return "<!doctype html><title>saved</title>" + "".join(
            f'<div class="output">{output}</div>' for output in cells
        )

    def copies(self) -> int:
        return self.document().count('id="weft-code-')


@pytest.fixture(params=[True, False], ids=["cell ids", "cell texts"])
def book(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Notebook:
    one = Notebook(request.param)
    ipython: Any = ModuleType("IPython")
    ipython.get_ipython = lambda: one
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setattr(notebook, "_copy", notebook.Copy())
    return one


def test_one_copy_of_the_code(book: Notebook) -> None:
    book.run("a", a_graph(), a_graph(-1.0))
    book.run("b", a_graph())
    book.run("c", weft.diff(a_graph(), a_graph(-1.0)))
    first, *others = [output for cell in book.outputs.values() for output in cell]
    assert len(first) > CODE
    assert [len(output) < CODE for output in others] == [True] * 3
    assert book.copies() == 1


def test_a_cell_that_runs_again_brings_its_copy_again(book: Notebook) -> None:
    book.run("a", a_graph())
    book.run("b", a_graph())
    book.run("b", a_graph())
    assert book.copies() == 1
    book.run("a", a_graph(), a_graph())
    assert book.copies() == 1
    book.run("a", a_graph())
    assert book.copies() == 1
    assert len(book.outputs["b"][0]) < CODE


def test_all_have_a_picture_and_their_data(book: Notebook) -> None:
    book.run("a", a_graph(), weft.diff(a_graph(), a_graph(-1.0)))
    graph, difference = book.outputs["a"]
    assert "<svg " in graph
    assert "<pre>left:" in difference
    assert all('{"format":"weft-page"' in output for output in (graph, difference))
    places = re.findall(r'id="(weft-[0-9a-f]{32})"', book.document())
    assert len(set(places)) == len(places) == 2


def test_a_graph_too_large_for_a_notebook(book: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, "LIMIT", 10)
    assert a_graph()._repr_html_().startswith("<svg ")
    assert weft.diff(a_graph(), a_graph())._repr_html_().startswith("<pre>")


def whole(output: str) -> bool:
    source = re.search(r'srcdoc="([^"]*)"', output)
    return source is not None and html.unescape(source[1]).startswith(template()[:200])


@pytest.mark.parametrize("where", ["no notebook", "terminal", "colab", "no message"])
def test_stands_alone_where_outputs_are_documents(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shells: dict[str, Any] = {
        "no notebook": None,
        "terminal": SimpleNamespace(),
        "colab": Notebook(True),
        "no message": SimpleNamespace(get_parent=dict),
    }
    ipython: Any = ModuleType("IPython")
    ipython.get_ipython = lambda: shells[where]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    if where == "colab":
        shells[where].run("a")
        monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    assert notebook.running_cell() is None
    assert whole(a_graph()._repr_html_())
    assert whole(a_graph()._repr_html_())


# ---- in a browser --------------------------------------------------------------------------------

Open = Callable[[str], pages.Shown]


@pytest.fixture
def opened(fresh: pages.Shown, tmp_path: Path) -> Open:
    def open_document(text: str) -> pages.Shown:
        path = tmp_path / "saved.html"
        path.write_text(text, encoding="utf-8")
        fresh.page.goto(path.as_uri())
        return fresh

    return open_document


def frames(shown: pages.Shown) -> int:
    """Return how many outputs show the page, and check that each page shows its graph."""
    count = shown.page.locator(".output iframe").count()
    for index in range(count):
        frame = shown.page.frame_locator(".output iframe").nth(index)
        frame.get_by_text("doubled").first.wait_for()
    return count


def test_a_saved_notebook_opens(book: Notebook, opened: Open) -> None:
    book.run("a", a_graph())
    book.run("b", a_graph(-1.0), weft.diff(a_graph(), a_graph(-1.0)))
    shown = opened(book.document())
    assert frames(shown) == 3
    assert shown.page.locator(".output > div > svg").count() == 0
    assert shown.page.locator("iframe").first.get_attribute("sandbox") == "allow-scripts"


def test_the_code_may_come_last(book: Notebook, opened: Open) -> None:
    book.run("a", a_graph())
    book.run("b", a_graph(-1.0))
    assert frames(opened(book.document(["b", "a"]))) == 2


def test_without_the_code_pictures_stay(book: Notebook, opened: Open) -> None:
    book.run("a", a_graph())
    book.run("b", a_graph(-1.0), weft.diff(a_graph(), a_graph(-1.0)))
    shown = opened(book.document(["b"]))
    assert frames(shown) == 0
    assert shown.page.locator(".output svg").first.is_visible()
    assert "only on the left" in shown.page.locator(".output pre").inner_text()


def test_a_front_end_that_adds_outputs_one_by_one(book: Notebook, opened: Open) -> None:
    """As JupyterLab does: text first, then each script again, in the document."""
    shown = opened('<!doctype html><title>live</title><div id="cells"></div>')
    add = """output => {
      const host = document.createElement("div");
      host.className = "output";
      host.innerHTML = output;
      document.getElementById("cells").append(host);
      for (const old of host.querySelectorAll("script")) {
        const again = document.createElement("script");
        for (const each of old.attributes) again.setAttribute(each.name, each.value);
        again.textContent = old.textContent;
        old.replaceWith(again);
      }
    }"""
    book.run("a", a_graph())
    book.run("b", a_graph(-1.0))
    shown.page.evaluate(add, book.outputs["b"][0])
    assert frames(shown) == 0
    shown.page.evaluate(add, book.outputs["a"][0])
    assert frames(shown) == 2
    book.run("c", a_graph())
    shown.page.evaluate("document.getElementById('cells').replaceChildren()")
    shown.page.evaluate(add, book.outputs["c"][0])
    assert frames(shown) == 1  # the document still knows the code


def test_no_text_of_a_program_leaves_its_place(book: Notebook, opened: Open) -> None:
    title = '</script><script>window.hurt = 1</script> $& {place} " doubled'
    trace = dataclasses.replace(a_graph().trace, title=title)
    book.run("a", Graph(trace), weft.diff(trace, a_graph(-1.0)))
    shown = opened(book.document())
    assert frames(shown) == 2
    assert shown.page.evaluate("window.hurt") is None
