"""The type stubs say what the built module has, and type checkers believe them."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import weft
from scripts import generate_stub

ROOT = Path(__file__).parents[2]
NAMES = ("_core.pyi", "__init__.pyi")

TYPED_PROGRAM = '''\
"""A program with the types that a checker should find in it."""

from typing import Any, assert_type

import weft
import weft as torch
from weft import Tensor, nn
from weft.nn import functional as F

x = weft.ones(2, requires_grad=True)
assert_type(x, Tensor)
assert_type(x * 2, Tensor)
assert_type(2 - x, Tensor)
assert_type(x > 0, Tensor)
assert_type(x == x, Tensor)
assert_type(x[0], Tensor)
assert_type(weft.tanh(x), Tensor)
assert_type(x.tanh(), Tensor)
assert_type(x.reshape(2, 1), Tensor)
assert_type(x.reshape([2, 1]), Tensor)
assert_type(x.mul_(2), Tensor)
assert_type(x.sum(dim=0, keepdim=True), Tensor)
assert_type(weft.matmul(x, x), Tensor)
assert_type(weft.unbind(x), tuple[Tensor, ...])
assert_type(x.dtype, weft.dtype)
assert_type(x.shape, weft.Size)
assert_type(x.size(0), int)
assert_type(x.item(), Any)
assert_type(x.grad, Tensor | None)
assert_type(x.float(), Tensor)
assert_type(x.to(weft.float64), Tensor)
assert_type(float(x[0]), float)
assert_type(bool(x[0] > 0), bool)
assert_type(weft.float32, weft.dtype)
assert_type(torch.get_default_dtype(), torch.dtype)
assert_type(F.relu(x), Tensor)
assert_type(nn.Parameter(x).detach(), Tensor)
x.sum().backward()
for row in x:
    assert_type(row, Tensor)
try:
    weft.zeros(2).view(3)
except weft.ShapeError as error:
    raise ValueError from error
'''
WRONG_PROGRAM = """\
import weft
weft.tanh("a")
weft.ones(2).sum(dim="a")
weft.not_there(1)
weft.ones(2).not_there()
"""


@cache
def fresh_stubs() -> dict[str, str]:
    return {path.name: text for path, text in generate_stub.stubs().items()}


@pytest.mark.parametrize("name", NAMES)
def test_is_up_to_date(name: str) -> None:
    path = generate_stub.PACKAGE / name
    assert path.exists(), "run `make stub`"
    assert path.read_text(encoding="utf-8") == fresh_stubs()[name], "run `make stub`"


def test_is_marked_as_typed() -> None:
    assert (ROOT / "src" / "weft" / "py.typed").exists()


def names_of(text: str, within: str | None = None) -> set[str]:
    """Return the names that a stub declares, in the module or in one of its classes."""
    body: list[ast.stmt] = ast.parse(text).body
    if within is not None:
        body = next(n.body for n in body if isinstance(n, ast.ClassDef) and n.name == within)
    found = set()
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
    return found


def test_has_every_public_name() -> None:
    declared = names_of(fresh_stubs()["__init__.pyi"])
    assert sorted(set(weft.__all__) - declared) == []


def test_has_every_method() -> None:
    declared = names_of(fresh_stubs()["_core.pyi"], within="Tensor")
    public = {name for name in dir(weft.Tensor) if not name.startswith("_")}
    assert sorted(public - declared) == []


def check_types(tmp_path: Path, program: str) -> list[str]:
    beside = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    checker = shutil.which("pyright", path=beside)
    if checker is None:
        pytest.skip("pyright is not installed; `make types` has it")
    (tmp_path / "program.py").write_text(program)
    settings = {
        "include": ["program.py"],
        "extraPaths": [str(ROOT / "src")],
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "reportUnusedExpression": "none",
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    result = subprocess.run(
        [checker, "--outputjson", "-p", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    problems = json.loads(result.stdout)["generalDiagnostics"]
    return [f"{p['range']['start']['line'] + 1}: {p['message']}" for p in problems]


def test_right_program_has_its_types(tmp_path: Path) -> None:
    assert check_types(tmp_path, TYPED_PROGRAM) == []


def test_wrong_program_is_noticed(tmp_path: Path) -> None:
    lines = {problem.partition(":")[0] for problem in check_types(tmp_path, WRONG_PROGRAM)}
    assert lines >= {"2", "3", "4", "5"}
