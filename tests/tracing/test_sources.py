"""The shape of programs as far as lines tell it."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.tracing import Place, collect_sources
from weft.tracing.sources import Outline, are_exclusive

PROGRAM = """\
import x

def outer(
    a,
    b,
):
    # a comment
    start()
    for one in a:
        if one:
            left()
        elif b:
            middle()
        else:
            right()
    while (
        a
        and b
    ):
        inside()
        f(
            argument(),
        )
    values = [g(i) for i in h(a)]
    for i in a: short()
    for a, b in zip(
        a,
        b,
    ):
        wide()
    return end()

class C:
    def method(self):
        with open_it():
            try:
                tried()
            except E:
                failed()
match = 3
"""


def at(text: str) -> int:
    return next(
        n for n, line in enumerate(PROGRAM.splitlines(), 1) if line.strip().startswith(text)
    )


@pytest.fixture
def outline(tmp_path: Path) -> Outline:
    path = tmp_path / "p.py"
    path.write_text(PROGRAM)
    lines = dict(enumerate(PROGRAM.splitlines(), 1))
    return Outline({"p.py": lines})


@pytest.mark.parametrize(
    ("line", "function", "expected"),
    [
        ("start()", "outer", []),
        ("left()", "outer", ["for one", "if one"]),
        ("middle()", "outer", ["for one", "elif b"]),
        ("right()", "outer", ["for one", "else"]),
        ("inside()", "outer", ["while ("]),
        ("argument()", "outer", ["while ("]),
        ("wide()", "outer", ["for a, b"]),
        ("return end()", "outer", []),
        ("tried()", "method", ["with", "try"]),
        ("failed()", "method", ["with", "except"]),
        ("left()", "<lambda>", []),
    ],
)
def test_blocks(outline: Outline, line: str, function: str, expected: list[str]) -> None:
    blocks = outline.blocks("p.py", at(line), function)
    assert blocks is not None
    assert [block.line for block in blocks] == [at(text) for text in expected]


def test_arms_exclude_each_other(outline: Outline) -> None:
    left, middle, right = (
        outline.blocks("p.py", at(text), "outer") or ()
        for text in ("left()", "middle()", "right()")
    )
    assert are_exclusive(left, right)
    assert are_exclusive(left, middle)
    assert not are_exclusive(left, left)
    tried = outline.blocks("p.py", at("tried()"), "method") or ()
    failed = outline.blocks("p.py", at("failed()"), "method") or ()
    assert not are_exclusive(tried, failed)


def test_texts(outline: Outline) -> None:
    assert outline.condition("p.py", at("if one")) == "if one"
    assert outline.keyword("p.py", at("match")) == ""
    assert outline.for_inside("p.py", at("values")) == "for i in h(a)"
    assert outline.for_inside("p.py", at("for one")) == ""
    assert outline.has_body("p.py", at("for i in a: short()"))
    assert not outline.has_body("p.py", at("for one"))
    assert outline.text("other.py", 3) == ""
    assert Outline({"a": {1: "x = 1  # why"}}).text("a", 1) == "x = 1"
    assert Outline({"a": {1: "x = '#'"}}).text("a", 1) == "x = '#'"


def test_unknown_lines() -> None:
    outline = Outline({"p.py": {9: "        deep()", 10: "        deep()"}})
    assert outline.blocks("p.py", 10, "f") is None
    assert outline.blocks("p.py", 3, "f") is None
    assert outline.blocks("q.py", 3, "f") is None


def test_collected_lines_are_enough(tmp_path: Path) -> None:
    # Few lines around, and the headers above: the blocks are those of the whole file.
    path = tmp_path / "p.py"
    path.write_text(PROGRAM)
    whole = Outline({str(path): dict(enumerate(PROGRAM.splitlines(), 1))})
    for number, text in enumerate(PROGRAM.splitlines(), 1):
        if "()" not in text or "def" in text:
            continue
        function = "method" if number > at("class") else "outer"
        few = Outline(collect_sources([Place(str(path), number, function)], around=0))
        assert few.blocks(str(path), number, function) == whole.blocks(str(path), number, function)


def test_collect_from_nowhere() -> None:
    assert collect_sources([Place("<string>", 1, "f"), Place("", 0, "")]) == {}
