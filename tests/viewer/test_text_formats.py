"""Mermaid and DOT, checked by the programs that read them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.tracing import programs
from tests.tracing.building import run
from tests.viewer.tools import graphviz, mermaid_complaints
from weft.tracing import Input, ModuleCall, Node, Result, Trace
from weft.viewer import Graph, graph, merge
from weft.viewer.words import TIMES

HOSTILE = [
    'a "quoted" text',
    "[brackets] {braces} (round) <angle>",
    "two\nlines\r\nand a\ttab",
    "end",
    "subgraph",
    "graph TD; a --> b",
    "日本語 ünï © 🧵",
    "`code`",
    "%% comment",
    "%%{init: {'theme': 'dark'}}%%",
    "<script>alert(1)</script>",
    "<b>bold</b><br/>&amp;&lt;",
    '\\ back \\n \\" slash \\',
    "#35; #quot; #",
    "a|b|c",
    "---",
    "click n1 href",
    "style n1 fill:#f00",
    "\x00\x07\x1b[31m",
    "\ud800 lone",
    "\u202e backwards \u2028",
    "",
    " ",
    "x" * 300,
    ":::class",
    "@{ shape: rect }",
]

REAL = [
    programs.branch,
    programs.until,
    programs.module,
    programs.module_while,
    programs.layers,
    programs.recursion,
    programs.failing,
    programs.examples,
    programs.nested,
]


def hostile_trace(text: str) -> Trace:
    """Return a trace that has a text wherever texts are shown."""
    return Trace(
        title=text,
        modules=(ModuleCall(text, text), ModuleCall(text + "2", text)),
        nodes=(
            Node("input", "input", name=text, results=(Result((2,), text),)),
            Node("parameter", "parameter", name=text, results=(Result((2,), "float32"),), module=0),
            Node(text, inputs=(Input(0), Input(1)), results=(Result((2,), text),), module=0),
            Node(text, "cell", inputs=(Input(2),), results=(Result((), "int64"),), module=1),
            Node(text, "decision", inputs=(Input(3),)),
        ),
        outputs=(Input(3),),
    )


def graphs() -> list[Graph]:
    found = [graph(run(program, [1.0, 0.6])) for program in REAL]
    found.append(merge([run(programs.branch, [1.0]), run(programs.branch, [-1.0])]))
    found.append(merge([run(programs.until, [1.0]), run(programs.until, [4.0])]))
    return found + [graph(hostile_trace(text)) for text in HOSTILE] + [graph(Trace())]


def test_mermaid_accepts_all() -> None:
    texts = [one.mermaid() for one in graphs()]
    complaints = mermaid_complaints(texts)
    assert [(t, c) for t, c in zip(texts, complaints, strict=True) if c] == []


def test_mermaid_refuses_nonsense() -> None:
    assert mermaid_complaints(['flowchart TD\n    n1["open'])[0]


def test_graphviz_accepts_all() -> None:
    for one in graphs():
        drawn = graphviz(one.dot())
        ET.fromstring(drawn)


def test_graphviz_shows_the_texts() -> None:
    drawn = graphviz(graph(run(programs.module, [1.0, 2.0])).dot())
    root = ET.fromstring(drawn)
    texts = {element.text for element in root.iter() if element.tag.endswith("text")}
    assert {"first (Layer)", "tanh", "mul", "output", "first.weight"} <= texts


def test_merged_branch_reads_like_a_flowchart() -> None:
    merged = merge([run(programs.branch, [1.0, 2.0]), run(programs.branch, [-1.0, -2.0])])
    assert (
        merged.mermaid()
        == """\
flowchart TD
    n0(["x0<br/>(2,) float32"])
    n1["sum<br/>() float32"]
    n2["gt 0<br/>() float32"]
    n3{"if x.sum() #62; 0"}
    n4["mul 2<br/>(2,) float32"]
    n5["sub 2<br/>(2,) float32"]
    n6(["output"])
    n0 --> n1
    n1 --> n2
    n2 --> n3
    n0 --> n4
    n0 --> n5
    n4 --> n6
    n5 --> n6
    n3 -->|"True"| n4
    n3 -->|"False"| n5
"""
    )


@pytest.mark.parametrize("program", [programs.loop, programs.nested, programs.calls])
def test_loops_are_rolled_up(program: Callable[..., Any]) -> None:
    text = graph(run(program, [1.0])).mermaid()
    assert f"{TIMES} 3" in text
    assert text.count("mul") == 1
    assert "-.->" in text


def test_at_most_so_many_boxes() -> None:
    deep = graph(run(programs.module_while, [1.0, 0.6]))
    few = deep.dot(max_boxes=3)
    assert few.count("shape=") <= 4
    assert "while x.sum()" in few
    assert deep.dot(max_boxes=100).count("shape=") > 10
