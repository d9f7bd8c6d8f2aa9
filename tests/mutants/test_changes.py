"""What the mutation tester changes, and which tests it runs."""

from __future__ import annotations

import ast

import pytest

from tests.mutants import cpp_source, python_source
from tests.mutants.change import Change
from tests.mutants.judge import ROOT
from tests.mutants.suites import suites_for


def python_lines(text: str) -> list[str]:
    """Return the changed first lines of a text."""
    return [change.after for change in python_source.find_changes("f.py", text.encode())]


def cpp_lines(text: str) -> list[str]:
    return [change.after for change in cpp_source.find_changes("f.cpp", text.encode())]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < b", ["a <= b"]),
        ("a is not b", ["a is b"]),
        ("(a) not  in (b)", ["(a) in (b)"]),
        ("a < b == c", ["a <= b == c", "a < b != c"]),
        ("a + b * c", ["a - b * c", "a + b / c"]),
        ("a ** b", ["a * b"]),
        ("a //= b", ["a *= b"]),
        ("a or b or c", ["a and b or c", "a or b and c"]),
        ("not a", ["a"]),
        ("x = -a", ["x = a"]),
        ("x[1:]", ["x[2:]", "x[0:]"]),
        ("f(0, True, 0.5)", ["f(1, True, 0.5)", "f(0, False, 0.5)", "f(0, True, 1.0)"]),
        ("if a:\n  b", ["if not (a):"]),
        ("a if b else c", ["a if not (b) else c"]),
        # An operator is looked for between its operands, not in comments; positions are of bytes.
        ("x = (a  # is - not\n  - b)", ["+ b)"]),
        ("'é' + b", ["'é' - b"]),
    ],
)
def test_python(text: str, expected: list[str]) -> None:
    assert python_lines(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "x: Literal[1]",
        "def f(x: Literal[1]) -> Literal[2]: ...",
        "if TYPE_CHECKING:\n  x = 1",
        "@overload\ndef f(x=1): ...",
        "f'{1 + 2}'",
        "'1 + 2'  # 1 < 2",
    ],
)
def test_python_leaves_types_and_texts_alone(text: str) -> None:
    assert python_lines(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < b;", ["a <= b;"]),
        ("vector<int>& x = y;", []),
        ("T* p = &a * b;", ["T* p = &a / b;"]),
        ("f(T&& x, !y);", ["f(T&& x, y);"]),
        ("a &&\n b;", ["a ||"]),
        ("x[i - 1];", ["x[i + 1];", "x[i - 2];", "x[i - 0];"]),
        ("if (f(a)) return true;", ["if (!(f(a))) return true;", "if (f(a)) return false;"]),
        ("if (auto x = f()) g();", []),
        ("for (;;) continue;", ["for (;;) break;"]),
        ("template <int N = 1> struct X;", []),
        ("// 1 < 2\n\"1 < 2\"; /* 1 */ '1';", []),
        ("#include <a>\n#if 1 < 2\n", []),
    ],
)
def test_cpp(text: str, expected: list[str]) -> None:
    assert cpp_lines(text) == expected


def test_each_change_of_a_file_is_one_of_a_python_program() -> None:
    file = "src/weft/optim/lr_scheduler.py"
    source = (ROOT / file).read_bytes()
    changes = python_source.find_changes(file, source)
    assert len({change.edits for change in changes}) == len(changes) > 300
    whole = ast.dump(ast.parse(source))
    for change in changes[::25]:
        assert ast.dump(ast.parse(change.apply(source))) != whole


def paths(file: str, inside: str = "") -> list[str]:
    change = Change(file, 1, "", "", (), inside)
    return [path for suite in suites_for(ROOT, change) for path in suite.paths]


def test_the_likeliest_tests_come_first() -> None:
    found = paths("src/weft/optim/lr_scheduler.py", "OneCycleLR")
    assert found[:2] == ["tests/optim/test_lr_scheduler.py", "src/weft/optim/lr_scheduler.py"]
    assert "tests/oracle/test_lr_scheduler.py" in found
    assert len(set(found)) == len(found)
    assert paths("cpp/weft/graph/strand.cpp")[0] == "tests/batching/test_strands.py"
    assert paths("src/weft/_vmap.py")[0] == "tests/test_vmap.py"


def test_folders_are_there() -> None:
    assert all((ROOT / path).exists() for path in paths("cpp/weft/exec/rows.cpp"))
    assert (ROOT / "cpp/weft/exec/rows.cpp").exists()
