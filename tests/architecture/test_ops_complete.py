"""Every row of the op table is complete: documented, and differentiable or not for a reason.

That each op has a row of tests is checked in tests/ops/test_table.py.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import weft
from tests.ops.table import TABLE
from weft import _core

ROOT = Path(__file__).parents[2]
OPS: dict[str, dict[str, Any]] = {op["name"]: op for op in _core.describe_ops()}


def declared_ops() -> set[str]:
    sources = (ROOT / "cpp" / "weft" / "ops").glob("*.cpp")
    return {
        name
        for path in sources
        for name in re.findall(r"^OP\((\w+),", path.read_text(encoding="utf-8"), re.MULTILINE)
    }


def test_every_declaration_is_in_the_table() -> None:
    assert sorted(declared_ops() ^ set(OPS)) == []


@pytest.mark.parametrize("name", OPS)
def test_is_documented(name: str) -> None:
    doc = OPS[name]["doc"]
    assert re.match(r"[A-Z][a-z]+s? .*\.", doc), "the doc begins with a sentence"
    assert not re.match(r"(A|An|The|This|It|Whether)\b", doc), "the sentence begins with a verb"
    assert "  " not in doc, "two blanks in a row"


@pytest.mark.parametrize("name", OPS)
def test_has_a_gradient_or_a_reason(name: str) -> None:
    op = OPS[name]
    if op["differentiable"] or op["kind"] == "composite":
        return
    assert len(op["no_gradient"].split()) >= 3, "a reason is a sentence"


@pytest.mark.parametrize("name", [name for name, op in OPS.items() if op["no_batch"]])
def test_a_reason_not_to_batch_is_a_sentence(name: str) -> None:
    assert len(OPS[name]["no_batch"].split()) >= 4


@pytest.mark.parametrize(
    ("fields", "missing"),
    [
        (".shape = f, .run = kernel(f), .gradient = f", "batch"),
        (".shape = f, .run = view(), .batch = f", "gradient"),
        (".run = kernel(f), .gradient = f, .batch = f", "shape"),
        (".run = FORMULA(floats, (x), x)", "gradient"),
    ],
)
def test_a_declaration_without_a_rule_does_not_build(
    tmp_path: Path, fields: str, missing: str
) -> None:
    lines = fields.replace(", .", ",\n  .")
    text = f'OP(x, "(input: Tensor) -> Tensor") {{\n  {lines},\n}};\n'
    (tmp_path / "x.cpp").write_text(text, encoding="utf-8")
    script = ROOT / "scripts" / "generate_ops.py"
    command = [sys.executable, str(script), "--sources", str(tmp_path), "--output", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode != 0
    assert f"OP(x): it needs a `.{missing}` rule" in ran.stderr


@pytest.mark.parametrize("name", [name for name, op in OPS.items() if op["in_place"]])
def test_in_place_form_is_there(name: str) -> None:
    assert hasattr(_core.ops, f"{name}_")
    assert hasattr(weft.Tensor, f"{name}_")


@pytest.mark.parametrize("name", OPS)
def test_is_a_method_if_it_can_be(name: str) -> None:
    parameters = OPS[name]["parameters"]
    if parameters and parameters[0]["name"] == "input" and "Tensor" in parameters[0]["type"]:
        assert hasattr(weft.Tensor, name)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: "-".join((row.name, *row.tags)))
def test_row_is_of_something_public(row: Any) -> None:
    assert callable(row.function(weft))
    assert not row.method or hasattr(weft.Tensor, row.short_name)
    assert not row.in_place or hasattr(weft.Tensor, f"{row.short_name}_")


@pytest.mark.parametrize("name", OPS)
def test_signature_is_regular(name: str) -> None:
    seen_default = False
    for parameter in OPS[name]["parameters"]:
        has_default = parameter["default"] is not None or parameter["type"] == "Generator"
        assert has_default or parameter["keyword_only"] or not seen_default, parameter["name"]
        seen_default = seen_default or has_default
