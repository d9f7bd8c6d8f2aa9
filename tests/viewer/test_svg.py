"""Pictures: well-formed, complete, nothing on top of another, whatever the texts are."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import weft
from tests.tracing import programs
from tests.tracing.building import run
from tests.viewer.test_text_formats import HOSTILE, REAL, hostile_trace
from weft.tracing import Input, Node, Result, Trace
from weft.viewer import Graph, graph, merge
from weft.viewer.layout import lay_out
from weft.viewer.merging import merge_traces
from weft.viewer.picture import make_picture
from weft.viewer.svg import _size

NAMESPACE = "{http://www.w3.org/2000/svg}"


def parsed(shown: Graph) -> ET.Element:
    return ET.fromstring(shown.svg())


def kinds(root: ET.Element) -> list[str]:
    return [element.get("class", "") for element in root.iter(f"{NAMESPACE}g")]


def test_branch() -> None:
    root = parsed(merge([run(programs.branch, [1.0]), run(programs.branch, [-1.0])]))
    found = kinds(root)
    assert found.count("decision") == 1
    assert found.count("op") == 4
    assert found.count("input") == 1
    assert found.count("output") == 1
    texts = {element.text for element in root.iter(f"{NAMESPACE}text")}
    assert {"if x.sum() > 0", "True", "False", "mul 2", "sub 2"} <= texts
    assert len(list(root.iter(f"{NAMESPACE}path"))) == 9


def test_light_and_dark_and_no_script() -> None:
    text = graph(run(programs.branch, [1.0])).svg()
    assert "prefers-color-scheme:dark" in text
    assert "<script" not in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts(text: str) -> None:
    ET.fromstring(graph(hostile_trace(text)).svg())


@pytest.mark.parametrize("program", REAL)
def test_nothing_overlaps(program: Callable[..., Any]) -> None:
    picture = make_picture(merge_traces([run(program, [1.0, 0.6])]))
    sizes = [_size(box) for box in picture.boxes]
    layout = lay_out(picture, sizes, [100.0] * len(picture.clusters))
    boxes = [
        (x - w / 2, y - h / 2, x + w / 2, y + h / 2)
        for (w, h), (x, y) in zip(sizes, layout.centres, strict=True)
    ]
    for one, other in combinations(boxes, 2):
        apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
        assert apart
    for left, top, right, bottom in boxes:
        assert left >= 0
        assert top >= 0
        assert right <= layout.width
        assert bottom <= layout.height
    for box, one in zip(picture.boxes, boxes, strict=True):
        group = box.group
        while group >= 0:
            x, y, width, height = layout.frames[group]
            assert x <= one[0]
            assert y <= one[1]
            assert one[2] <= x + width
            assert one[3] <= y + height
            group = picture.clusters[group].parent


def test_edges_go_down_and_end_at_their_boxes() -> None:
    picture = make_picture(merge_traces([run(programs.recursion, [1.0])]))
    sizes = [_size(box) for box in picture.boxes]
    layout = lay_out(picture, sizes, [60.0] * len(picture.clusters))
    for edge, path in zip(picture.edges, layout.paths, strict=True):
        heights = [y for _, y in path]
        assert heights == sorted(heights)
        assert abs(heights[-1] - (layout.centres[edge.target][1] - sizes[edge.target][1] / 2)) < 1


def test_many_nodes_become_few_boxes(tmp_path: Path) -> None:
    nodes = [Node("input", "input", results=(Result((), "float32"),))]
    nodes += [
        Node("add", inputs=(Input(number),), results=(Result((), "float32"),))
        for number in range(3000)
    ]
    # No groups to close: the beginning and the end are shown.
    path = Graph(Trace(nodes=tuple(nodes))).svg(tmp_path / "long.svg", max_boxes=20)
    text = path.read_text()
    assert text.count('<g class="op">') == 19
    assert "... 2,981 more" in text


def test_empty() -> None:
    assert kinds(parsed(graph(Trace(title="nothing")))) == [""]


def titles(shown: Graph) -> list[str]:
    return [box.title for box in make_picture(shown._merged).boxes]


def notes(shown: Graph) -> list[str]:
    return [note for box in make_picture(shown._merged).boxes for note in box.notes]


def test_numbers_stand_where_the_call_has_them() -> None:
    def both(x: weft.Tensor) -> weft.Tensor:
        return (1 - x) * (x - 2)

    assert titles(weft.graph(both, weft.ones(2))) == ["x", "1 sub", "sub 2", "mul", "output"]


def test_numbers_that_differ_between_rounds_are_not_shown() -> None:
    def rounds(x: weft.Tensor) -> weft.Tensor:
        for number in range(3):
            x = x * number + 7
        return x

    assert titles(weft.graph(rounds, weft.ones(2))) == ["x", "mul …", "add 7", "output"]


def test_constants_that_are_one_number() -> None:
    def add(x: weft.Tensor) -> weft.Tensor:
        x = x + weft.tensor(0.5)
        for _ in range(2):
            x = x * weft.tensor(3.0)
        return x

    assert {"constant 0.5", "constant"} <= set(notes(weft.graph(add, weft.ones(2))))


def test_a_failure_shows_its_message() -> None:
    def fails(x: weft.Tensor) -> weft.Tensor:
        return x.exp() + weft.ones(3)

    picture = make_picture(weft.graph(fails, weft.ones(2))._merged)
    assert picture.boxes[-1].title == "ShapeError"
    assert "do not broadcast" in " ".join(picture.boxes[-1].notes)


def test_edges_to_the_next_round_go_around_boxes() -> None:
    def smooth(level: weft.Tensor, readings: list[weft.Tensor]) -> weft.Tensor:
        for reading in readings:
            level = level * 0.5 + (reading - 1) * 0.5
        return level

    shown = weft.graph(smooth, weft.ones(2), [weft.ones(2), weft.ones(2)])
    picture = make_picture(shown._merged)
    sizes = [_size(box) for box in picture.boxes]
    layout = lay_out(picture, sizes, [0.0] * len(picture.clusters))
    back = [number for number, edge in enumerate(picture.edges) if edge.is_back]
    assert back
    for number in back:
        for (x1, y1), (x2, y2) in pairwise(layout.paths[number]):
            for (width, height), (x, y) in zip(sizes, layout.centres, strict=True):
                assert (
                    max(x1, x2) <= x - width / 2
                    or min(x1, x2) >= x + width / 2
                    or max(y1, y2) <= y - height / 2
                    or min(y1, y2) >= y + height / 2
                )
