"""docs/routines.md: its programs print the same when every function of them is compiled."""

from __future__ import annotations

import ast
import contextlib
import io
import warnings
from pathlib import Path

import pytest

import weft
from tests.docs.pages import Program, programs
from weft import _core

PROGRAMS = programs("routines.md")


class Compile(ast.NodeTransformer):
    """Lets what a module defines be compiled; the functions' own lines stay as they are."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> list[ast.stmt]:
        name = ast.Name(node.name, ast.Load())
        call = ast.Call(ast.Name("__compiled__", ast.Load()), [name], [])
        return [node, ast.Assign([ast.Name(node.name, ast.Store())], call)]

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        return ast.Call(ast.Name("__compiled__", ast.Load()), [node], [])


def output_compiled(program: Program) -> tuple[str, int]:
    """Run a program so; return what it prints, and how many of its functions are compiled."""
    Path(program.name).write_text(f"# {program.name}\n{program.source}", encoding="utf-8")
    tree = Compile().visit(ast.parse(Path(program.name).read_text(encoding="utf-8")))
    count = 0

    def compiled(function: object) -> object:
        nonlocal count
        made = weft.compile(function)  # type: ignore[call-overload]
        count += _core.routine_of(function) is not None  # type: ignore[arg-type]
        return made

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("always")
        code = compile(ast.fix_missing_locations(tree), program.name, "exec", dont_inherit=True)
        names = {"__name__": "<run_path>", "__compiled__": compiled, "__file__": program.name}
        exec(code, names)
    return printed.getvalue(), count


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.name for program in PROGRAMS])
def test_a_program_prints_the_same_when_it_is_compiled(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text, count = output_compiled(program)
    assert text == program.text
    defines = "def " in program.source or "lambda" in program.source
    assert (count > 0) == defines
