"""Reports show themselves: at a prompt, in a notebook, and by print."""

from __future__ import annotations

import code
import io
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from html.parser import HTMLParser
from typing import Any

import pytest

import weft
import weft.debug
from weft.batching.explaining import Batch, Explanation, Plan


def planted() -> weft.Tensor:
    x = weft.tensor([-1.0], requires_grad=True)
    return x.log().sum()


def explained() -> Explanation:
    with weft.lazy():
        (weft.ones(2) * 2).tolist()
    return weft.explain()


def profiled() -> weft.debug.Profile:
    with weft.debug.profile() as run:
        planted()
    return run.report


def remembered() -> weft.debug.MemoryReport:
    with weft.debug.memory() as run:
        y = planted()
    assert y.requires_grad
    return run.report


REPORTS: dict[str, Callable[[], Any]] = {
    "find_nan": lambda: weft.debug.find_nan(planted),
    "find_nan, nothing": lambda: weft.debug.find_nan(lambda: weft.ones(1).sum()),
    "explain": explained,
    "explain, nothing": lambda: weft.explain(0),
    "compare": lambda: weft.debug.compare(lambda: weft.ones(2).exp().sum()),
    "why_no_grad": lambda: weft.debug.why_no_grad(weft.ones(1), weft.ones(1)),
    "why_alive": lambda: weft.debug.why_alive(weft.ones(1)),
    "memory": remembered,
    "profile": profiled,
    "diff": lambda: weft.diff(weft.graph(planted), weft.graph(lambda: weft.ones(1))),
}


@pytest.fixture(params=REPORTS)
def report(request: pytest.FixtureRequest) -> Any:
    return REPORTS[request.param]()


def test_is_its_text_at_a_prompt(report: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    with redirect_stdout(shown):
        monkeypatch.setattr(sys, "displayhook", sys.__displayhook__)
        code.InteractiveInterpreter({"report": report}).runsource("report")
        assert shown.getvalue() == f"{report}\n"
    assert "object at 0x" not in repr(report)
    assert "Trace(" not in repr(report)


class Checker(HTMLParser):
    """Collects what HTML says, and checks that every tag is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:  # noqa: ARG002 - the parser's
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(html: str) -> str:
    checker = Checker()
    checker.feed(html)
    checker.close()
    assert checker.open == []
    return " ".join(checker.text)


def test_shows_itself_in_a_notebook(report: Any) -> None:
    html = report._repr_html_()
    if isinstance(report, Explanation) or html.startswith("<iframe"):
        return
    assert read(html).split() == str(report).split()


def test_explain_is_tables_in_a_notebook() -> None:
    batch = Batch("mul<script>", 1200, 4096, 0.5, "/a/b.py", 7, "not <b>bold</b>", 0)
    plan = Plan((batch, batch), 2, 0.001, 0.002, "/a/b.py", 9)
    html = Explanation((plan, plan), 1, 3, {"step": "why"}, {"body": "as tasks"})._repr_html_()
    text = read(html)
    assert html.count("<table>") == 2
    assert html.count("<tr>") == 6
    for said in ("mul<script>", "1,200", "4,096", "500,000.0", "b.py:7", "not <b>bold</b>", "us"):
        assert said in text
    assert "plan for b.py:9: 2 ops in 2 batches" in text
    assert "1 op pending, 3 never needed" in text
    assert "cell step runs as it is: why" in text


def test_what_is_found_is_still_true_or_false() -> None:
    assert weft.debug.find_nan(planted)
    assert not weft.debug.find_nan(lambda: weft.ones(1).sum())


def test_reports_are_compared_by_what_they_say() -> None:
    assert weft.debug.NanReport(op="log") == weft.debug.NanReport(op="log")
    assert weft.debug.NanReport(op="log") != weft.debug.NanReport(op="exp")
