"""Write docs/compile-coverage.md: which functions of Weft and of its examples are compiled."""

from __future__ import annotations

import importlib
import inspect
import linecache
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import CellType, CodeType, FunctionType
from typing import Any, NamedTuple

import weft.functional
from scripts import run_tour
from scripts.generate_docs import public_names
from weft import nn
from weft.compiling.lower import lower
from weft.compiling.refusals import RefusedError

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "compile-coverage.md"
PUBLIC = (
    "weft",
    "weft.nn",
    "weft.nn.functional",
    "weft.nn.init",
    "weft.nn.utils",
    "weft.optim",
    "weft.autograd",
    "weft.autograd.functional",
    "weft.random",
    "weft.pytree",
    "weft.distributions",
    "weft.func",
)
MOST_REFUSED = 0.1  # of a group
_PAGE = """\
<!-- Written by scripts/generate_compile_coverage.py (`make docs`); do not edit. -->

# What is compiled

Which functions of Weft, of its examples and of its benchmarks `weft.compile` compiles when they are
called; Python runs the others. What "compiled" means is on [its own page](routines.md).

| group | functions | compiled | refused |
|---|---|---|---|
{groups}

## What is refused, and why

| function | line | construct | because |
|---|---|---|---|
{rows}
"""
# Bodies of classes and what has no name of its own are no functions that anybody calls.
_INNER = frozenset({"<lambda>", "<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>", "<module>"})


class Entry(NamedTuple):
    """A function, under the name that the page gives it."""

    name: str
    function: Any


def _plain(value: Any) -> FunctionType | None:
    """Return the Python function that a callable was made from."""
    found = inspect.unwrap(value) if hasattr(value, "__wrapped__") else value
    return found if isinstance(found, FunctionType) else None


def module_classes() -> Iterator[Entry]:
    """Yield the forward of every public Module class."""
    for name in public_names(nn):
        kind = getattr(nn, name)
        if isinstance(kind, type) and issubclass(kind, nn.Module):
            forward = _plain(vars(kind).get("forward"))
            if forward is not None:
                yield Entry(f"nn.{name}.forward", forward)


def composites() -> Iterator[Entry]:
    """Yield the functions of weft.functional that are made of ops."""
    for info in pkgutil.iter_modules(weft.functional.__path__):
        module = importlib.import_module(f"weft.functional.{info.name}")
        for name, value in vars(module).items():
            found = _plain(value)
            if found is None or found.__module__ != module.__name__:
                continue
            if not name.startswith("_") and found.__name__ == name:
                yield Entry(f"functional.{info.name}.{name}", found)


def public_functions() -> Iterator[Entry]:
    """Yield every public function that is written in Python."""
    for module_name in PUBLIC:
        module = importlib.import_module(module_name)
        for name in public_names(module):
            found = _plain(getattr(module, name))
            if found is not None:
                yield Entry(f"{module_name}.{name}", found)


def _codes(code: CodeType, name: str) -> Iterator[tuple[str, CodeType]]:
    for item in code.co_consts:
        if not isinstance(item, CodeType) or item.co_name in _INNER:
            continue
        inner = f"{name}.{item.co_name}" if name else item.co_name
        if item.co_flags & inspect.CO_NEWLOCALS:
            yield inner, item
        yield from _codes(item, inner)


def _functions_of(text: str, file: str, shown: str) -> Iterator[Entry]:
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    for name, code in _codes(compile(text, file, "exec", dont_inherit=True), ""):
        cells = tuple(CellType() for _ in code.co_freevars)
        yield Entry(f"{shown}: {name}", FunctionType(code, {}, code.co_name, None, cells))


def functions_of_files(folder: str) -> Iterator[Entry]:
    """Yield all functions of a folder's files."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        shown = str(path.relative_to(ROOT))
        yield from _functions_of(path.read_text(encoding="utf-8"), str(path), shown)


def functions_of_tour() -> Iterator[Entry]:
    """Yield all functions of the programs of the tour."""
    for page in run_tour.pages():
        yield from _functions_of(page.program, f"<{page.path.name}>", f"docs/tour/{page.path.name}")


GROUPS = {
    "`forward` of Module classes": module_classes,
    "composites": composites,
    "public functions": public_functions,
    "`examples/`": lambda: functions_of_files("examples"),
    "`benchmarks/models/`": lambda: functions_of_files("benchmarks/models"),
    "`docs/tour/`": functions_of_tour,
}


def refusals(entry: Entry) -> list[tuple[int, str, str]]:
    """Return lines, constructs and reasons why a function is not compiled; none: it is."""
    try:
        lower(entry.function)
    except RefusedError as error:
        return [(item.line, item.construct, item.reason) for item in error.refusals]
    return []


def survey() -> dict[str, dict[str, list[tuple[int, str, str]]]]:
    """Return the refusals of each function of each group."""
    return {
        group: {entry.name: refusals(entry) for entry in entries()}
        for group, entries in GROUPS.items()
    }


def page() -> str:
    """Return the page's text."""
    groups: list[str] = []
    rows: list[str] = []
    for group, found in survey().items():
        refused = {name: reasons for name, reasons in found.items() if reasons}
        share = len(refused) / max(len(found), 1)
        groups.append(
            f"| {group} | {len(found)} | {len(found) - len(refused)} | "
            f"{len(refused)} ({share:.1%}) |"
        )
        for name, reasons in refused.items():
            line, construct, reason = reasons[0]
            more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
            rows.append(f"| `{name}` | {line} | {construct}{more} | {reason} |")
    return _PAGE.format(groups="\n".join(groups), rows="\n".join(rows))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
