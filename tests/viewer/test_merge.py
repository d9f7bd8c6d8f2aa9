"""Several runs in one graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import weft
from tests.tracing import programs
from tests.tracing.building import Layer, run
from weft.tracing import Node, Trace, from_json
from weft.viewer import Graph, graph, merge
from weft.viewer.alignment import rising
from weft.viewer.merging import END


def merged(program: Callable[..., Any], *rows: list[float]) -> Graph:
    return merge([run(program, row) for row in rows])


def ops(shown: Graph, *sides: int) -> list[str]:
    """Return the ops that exactly these runs have."""
    return [n.op for n, side in zip(shown.nodes, shown.sides, strict=True) if side == sides]


def links(shown: Graph) -> list[tuple[str, str, str]]:
    """Return links as (condition, answer, op that follows)."""
    return [
        (
            shown.nodes[link.source].op,
            link.label,
            "the end" if link.target == END else shown.nodes[link.target].op,
        )
        for link in shown.links
    ]


def test_if_else() -> None:
    shown = merged(programs.branch, [1.0], [-1.0])
    assert ops(shown, 0, 1) == ["input", "sum", "gt", "if x.sum() > 0"]
    assert ops(shown, 0) == ["mul"]
    assert ops(shown, 1) == ["sub"]
    assert links(shown) == [("if x.sum() > 0", "True", "mul"), ("if x.sum() > 0", "False", "sub")]
    assert [shown.nodes[one.node].op for one in shown.trace.outputs] == ["mul", "sub"]


def test_what_follows_reads_both_sides() -> None:
    shown = merged(programs.branch_then, [1.0], [-1.0])
    last = next(node for node in shown if node.op == "mul" and len(node.inputs) == 4)
    assert [shown.nodes[one.node].op for one in last.inputs] == ["mul", "tanh", "mul", "tanh"]


def test_without_else() -> None:
    shown = merged(programs.without_else, [1.0], [-1.0])
    assert links(shown) == [("if x.sum() > 0", "True", "mul"), ("if x.sum() > 0", "False", "tanh")]


def test_nested_ifs_of_three_runs() -> None:
    shown = merged(programs.nested_branches, [1.0], [11.0], [-1.0])
    assert set(links(shown)) == {
        ("if x.sum() > 0", "True", "sum"),
        ("if x.sum() > 0", "False", "sub"),
        ("if x.sum() > 10", "True", "mul"),
        ("if x.sum() > 10", "False", "add"),
    }
    assert ops(shown, 0, 1) == ["sum", "gt", "if x.sum() > 10"]
    assert ops(shown, 0, 1, 2)[-1] == "tanh"


def test_early_return() -> None:
    shown = merged(programs.early, [1.0], [30.0])
    assert set(links(shown)) == {
        ("if y.sum() > 10", "False", "tanh"),
        ("if y.sum() > 10", "True", "the end"),
    }
    page = shown.page()["graphs"][0]
    assert [link["label"] for link in page["links"]] == ["False"]
    assert 'n4 -->|"True"| n7' in shown.mermaid()


def test_loops_of_different_length() -> None:
    shown = merged(programs.until, [1.0, 2.0], [3.0, 2.0], [0.1, 0.1])
    tests = [link for link in links(shown) if link[0] == "while x.sum() < limit"]
    assert {answer for _, answer, _ in tests} == {"again", "done"}
    (loop,) = [group for group in shown.folded.groups if group.kind == "loop"]
    assert loop.count == 6
    # The first round is in all of them, the last in one.
    assert shown.sides[1] == (0, 1, 2)
    assert shown.sides[-1] == (2,)


def test_loop_with_a_branch() -> None:
    shown = merged(programs.loop_with_branch, [1.0], [-20.0])
    assert {link[:2] for link in links(shown)} == {
        ("if x.sum() > 0", "True"),
        ("if x.sum() > 0", "False"),
    }
    assert shown.nodes[-1].op == "tanh"
    assert shown.sides[-1] == (0, 1)


def test_decision_by_a_number() -> None:
    shown = merged(programs.counted, [2.0], [3.0])
    assert links(shown) == [("n = int(x.sum().item())", "2.0, 3.0", "mul")]
    assert ops(shown, 1) == ["mul"]
    assert ops(shown, 0, 1)[-1] == "tanh"


def by_item(x: Any) -> Any:
    if x.sum().item() > 0:
        return x * 2
    return x - 2


def test_item_on_an_if_is_true_or_false() -> None:
    shown = merged(by_item, [1.5], [-1.5])
    assert links(shown) == [
        ("if x.sum().item() > 0", "True", "mul"),
        ("if x.sum().item() > 0", "False", "sub"),
    ]


def deep(x: Any) -> Any:
    if x.sum() > 100:
        return x - 1
    return deep(x * 3) + 1


def test_recursion_of_different_depth() -> None:
    shown = merged(deep, [50.0], [20.0])
    assert len(ops(shown, 1)) > 0
    assert ops(shown, 0, 1)[:4] == ["input", "sum", "gt", "if x.sum() > 100"]
    # The last add is that of the outermost call of both.
    assert shown.nodes[-1].op == "add"
    assert shown.sides[-1] == (0, 1)


def test_modules_stay_modules() -> None:
    shown = merged(programs.module, [1.0], [2.0])
    assert [group.label for group in shown.folded.groups] == [
        "Net",
        "first (Layer)",
        "second (Layer)",
    ]
    assert all(side == (0, 1) for side in shown.sides)
    assert [module.path for module in shown.trace.modules] == ["", "first", "second"]


class Model(Layer):
    def __init__(self) -> None:
        super().__init__("")
        self.head = Layer("head")

    def forward(self, x: Any) -> Any:
        if x.sum() > 0:
            return self.head(x)
        return self.head(x) - x


def test_a_module_called_from_two_branches_is_two_calls() -> None:
    shown = merge([run(Model(), row) for row in ([1.0], [-1.0])])
    labels = [group.label for group in shown.folded.groups]
    assert labels == ["Model", "head (Layer)", "head (Layer)"]
    assert ops(shown, 0) == ["mul", "add"]
    assert ops(shown, 1) == ["mul", "add", "sub"]


def test_one_graph() -> None:
    shown = merged(programs.branch, [1.0])
    assert links(shown) == [("if x.sum() > 0", "True", "mul")]


def test_equal_runs_are_all_the_same() -> None:
    for program in (programs.recursion, programs.module_while, programs.generator, programs.calls):
        trace = run(program, [1.0, 0.5])
        assert set(merge([trace, trace, trace]).sides) == {(0, 1, 2)}


@pytest.mark.parametrize(
    "program",
    [programs.until, programs.nested_branches, programs.module_while, programs.recursion, deep],
)
def test_a_merged_trace_is_a_good_trace(program: Callable[..., Any]) -> None:
    shown = merged(program, [1.0, 2.0], [-3.0, 40.0], [11.0, 0.5])
    assert from_json(shown.json()).nodes == shown.nodes
    assert len(shown.sides) == len(shown.nodes)
    page = shown.page()["graphs"][0]
    for link in page.get("links", []):
        assert 0 <= link["source"] < len(shown)
        assert 0 <= link["target"] < len(shown)
        assert shown.nodes[link["source"]].kind == "decision"


def test_wrong_things() -> None:
    with pytest.raises(ValueError, match="at least one graph"):
        weft.merge([])
    with pytest.raises(TypeError, match="takes graphs"):
        weft.merge([3])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="merged graph"):
        weft.merge([merged(programs.branch, [1.0], [2.0])])


def test_tree_of_a_merged_graph() -> None:
    text = merged(programs.branch, [1.0], [-1.0]).text()
    assert "? if x.sum() > 0 True: #4; False: #5" in text


def test_long_runs() -> None:
    one = Trace(nodes=tuple(Node("add") for _ in range(30_000)))
    two = Trace(nodes=tuple(Node("add") for _ in range(29_000)))
    shown = merge([graph(one), two])
    assert len(shown) == 30_000
    assert shown.sides.count((0, 1)) == 29_000


def test_rising() -> None:
    assert rising([]) == []
    assert rising([(2, 0), (0, 1), (1, 2)]) == [(0, 1), (1, 2)]
