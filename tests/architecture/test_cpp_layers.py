"""A C++ layer includes only what its row of the table names."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "cpp" / "weft"

# The table of ARCHITECTURE.md: layer -> the layers it may include. Every layer includes itself.
LAYERS = {
    "base": "",
    "tensor": "base",
    "kernels": "base tensor",
    "graph": "base tensor",
    "ops": "base tensor kernels graph",
    "autograd": "base tensor graph ops",
    "schedule": "base tensor graph",
    "exec": "base tensor graph kernels schedule",
    "cell": "base tensor kernels graph ops autograd schedule exec",
    "trace": "base graph",
    "routine": "base graph",
    "bind": "base tensor kernels graph ops autograd schedule exec cell trace routine",
}
# Files that the build derives from the op declarations, and the layer each belongs to.
GENERATED = {"ops.h": "ops", "formulas.inc": "kernels"}

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"(?P<quoted>[^"]+)"|<(?P<angled>[^>]+)>)', re.MULTILINE)
PYTHON_HEADER = re.compile(r"nanobind/|(Python|structmember|frameobject|datetime)\.h$|cpython/")


def complaint(layer: str, quoted: str | None, angled: str | None) -> str | None:
    """Say what is wrong with one include of a file in this layer, or nothing."""
    if angled is not None:
        if PYTHON_HEADER.match(angled) and layer != "bind":
            return f"<{angled}>: only bind knows Python"
        if angled.startswith("weft/"):
            return f"<{angled}>: Weft's own files are included with quotes"
        return None
    assert quoted is not None
    folder, _, rest = quoted.partition("/")
    included = GENERATED.get(quoted) or (rest.partition("/")[0] if folder == "weft" else None)
    if included is None:
        return f'"{quoted}": write the path from the root, "weft/<layer>/..."'
    if included not in LAYERS:
        return f'"{quoted}": {included} is not a layer'
    if included != layer and included not in LAYERS[layer].split():
        return f'"{quoted}": {layer} may not include {included}'
    return None


def complaints(layer: str, text: str) -> list[str]:
    """List what is wrong with the includes of a file in this layer."""
    found = (complaint(layer, match["quoted"], match["angled"]) for match in INCLUDE.finditer(text))
    return [problem for problem in found if problem]


def files(layer: str) -> list[Path]:
    return sorted(path for path in (SOURCES / layer).rglob("*") if path.is_file())


@pytest.mark.parametrize("layer", LAYERS)
def test_layer_includes_only_what_its_row_names(layer: str) -> None:
    problems = [
        f"{path.relative_to(ROOT)}: {problem}"
        for path in files(layer)
        for problem in complaints(layer, path.read_text())
    ]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("layer", LAYERS)
def test_namespace_is_the_folder(layer: str) -> None:
    opened = re.compile(r"^(?:inline\s+)?namespace\s+(weft(?:::\w+)*)\s*\{", re.MULTILINE)
    problems = [
        f"{path.relative_to(ROOT)} opens {name}, expected weft::{layer}"
        for path in files(layer)
        for name in opened.findall(path.read_text())
        if name != f"weft::{layer}" and not name.startswith(f"weft::{layer}::")
    ]
    assert not problems, "\n".join(problems)


def test_every_file_belongs_to_a_layer() -> None:
    strangers = {
        path.relative_to(ROOT).as_posix()
        for path in SOURCES.rglob("*")
        if path.is_file() and path.relative_to(SOURCES).parts[0] not in LAYERS
    }
    assert not strangers


def test_table_has_no_cycle() -> None:
    # A row names only rows that stand above it, except that trace is a branch of its own.
    seen: set[str] = set()
    for layer, included in LAYERS.items():
        assert set(included.split()) <= seen, layer
        seen.add(layer)


@pytest.mark.parametrize(
    ("layer", "line", "wrong"),
    [
        ("tensor", '#include "weft/base/errors.h"', False),
        ("tensor", '#include "weft/tensor/shape.h"', False),
        ("tensor", '#include "weft/graph/node.h"', True),
        ("schedule", '#include "weft/kernels/map.h"', True),
        ("exec", '#include "weft/autograd/engine.h"', True),
        ("autograd", '#include "ops.h"', False),
        ("exec", '#include "ops.h"', True),
        ("kernels", '  #  include "formulas.inc"', False),
        ("graph", "#include <Python.h>", True),
        ("graph", "#include <nanobind/nanobind.h>", True),
        ("bind", "#include <nanobind/nanobind.h>", False),
        ("graph", "#include <vector>", False),
        ("graph", '#include "node.h"', True),
        ("graph", "#include <weft/graph/node.h>", True),
        ("graph", '#include "weft/grpah/node.h"', True),
    ],
)
def test_the_check_itself(layer: str, line: str, wrong: bool) -> None:
    assert bool(complaints(layer, f"#pragma once\n{line}\n")) == wrong
