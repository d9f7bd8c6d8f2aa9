"""The source of a function: its node in the syntax tree, found again from its code object."""

from __future__ import annotations
import __future__

import ast
import inspect
import linecache
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any

from weft.compiling.refusals import Refusal, RefusedError

# What has a code object of its own, by the name that the code object carries.
CODE_NODES = {
    ast.Lambda: "<lambda>",
    ast.GeneratorExp: "<genexpr>",
    ast.ListComp: "<listcomp>",
    ast.SetComp: "<setcomp>",
    ast.DictComp: "<dictcomp>",
}
Comprehension = ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | Comprehension


@dataclass(frozen=True)
class Definition:
    """A function's node, its code, and the class in whose body its names are private."""

    node: FunctionNode
    code: CodeType
    class_name: str | None


Written = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def _nothing() -> dict[int, Any]:
    return {}


@dataclass
class File:
    """A file that has been read: its functions by first line, and its code objects."""

    text: str
    by_line: dict[int, list[tuple[Written, str | None]]] = field(default_factory=_nothing)
    codes: dict[int, list[CodeType]] = field(default_factory=_nothing)


_files: dict[tuple[str, int], File] = {}  # by name and flags
# What `from __future__` changes in code, also where the text that was compiled has no such line.
_FUTURE = 0
for _feature in __future__.all_feature_names:
    _FUTURE |= getattr(__future__, _feature).compiler_flag  # pyright: ignore[reportConstantRedefinition]


def first_line(node: ast.AST) -> int:
    """Return the line that a code object made of this node begins at."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.decorator_list:
        return node.decorator_list[0].lineno
    return getattr(node, "lineno", 0)


def span(node: ast.AST) -> tuple[int, int, int, int]:
    """Return where a node begins and ends: line and column, each."""
    if not isinstance(node, (ast.expr, ast.stmt, ast.ExceptHandler, ast.arg, ast.keyword)):
        return 0, 0, 0, 0
    end_line, end_column = node.end_lineno, node.end_col_offset
    return node.lineno, node.col_offset, end_line or 0, end_column or 0


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """Yield the code objects that are directly inside one."""
    return (item for item in code.co_consts if isinstance(item, CodeType))


def is_within(code: CodeType, node: ast.AST) -> bool:
    """Tell whether all of a code object's instructions were made from a part of this node."""
    begin_line, begin_column, last_line, last_column = span(node)
    first, last = (begin_line, begin_column), (last_line, last_column)
    for line, end_line, column, end_column in code.co_positions():
        if line is None or end_line is None or column is None or end_column is None:
            continue
        is_start = column == end_column == 0  # where the function begins: no place in the text
        if not is_start and not first <= (line, column) <= (end_line, end_column) <= last:
            return False
    return True


def nested_code(code: CodeType, node: ast.AST, name: str) -> CodeType:
    """Return the code object of a nested function, lambda or comprehension."""
    found = [
        item
        for item in codes_in(code)
        if item.co_name == name and item.co_firstlineno == first_line(node)
    ]
    if len(found) > 1:
        found = [item for item in found if is_within(item, node)]
    if not found:
        raise LookupError(name)
    return found[0]


def _read_file(name: str, globals_: dict[str, object], flags: int) -> File | None:
    linecache.checkcache(name)
    text = "".join(linecache.getlines(name, globals_))
    known = _files.get((name, flags))
    if not text:
        return None
    if known is not None and known.text == text:
        return known
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python has given them when it read the file
            tree = ast.parse(text)
            code = compile(text, name, "exec", flags=flags, dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    made = File(text)
    _note_functions(tree, None, made)
    _note_codes(code, made)
    _files[name, flags] = made
    return made


def _note_functions(node: ast.AST, class_name: str | None, made: File) -> None:
    stack: list[tuple[ast.AST, str | None]] = [(node, class_name)]
    while stack:
        here, owner = stack.pop()
        if isinstance(here, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            made.by_line.setdefault(first_line(here), []).append((here, owner))
        inside = here.name if isinstance(here, ast.ClassDef) else owner
        stack.extend((child, inside) for child in ast.iter_child_nodes(here))


def _note_codes(code: CodeType, made: File) -> None:
    stack = [code]
    while stack:
        here = stack.pop()
        made.codes.setdefault(here.co_firstlineno, []).append(here)
        stack.extend(codes_in(here))


def read(function: FunctionType) -> Definition:
    """Find the definition of a function.

    Raises:
        RefusedError: There is no source, or it is not what runs.
    """
    code = function.__code__
    name = code.co_filename
    line = code.co_firstlineno

    def refuse(construct: str, reason: str, instead: str) -> RefusedError:
        return RefusedError(
            [Refusal(line, construct, reason, instead, name, function.__qualname__)]
        )

    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise refuse(
            "a generator or `async def`",
            "a routine has no frame to come back to",
            "build and return a list",
        )
    file = _read_file(name, function.__globals__, code.co_flags & _FUTURE)
    if file is None:
        raise refuse("a function without source", "there is nothing to read", "a file with it")
    if code not in file.codes.get(line, ()):
        raise refuse(
            "a function whose source has changed",
            "the file no longer says what runs",
            "import the module anew",
        )
    wanted = code.co_name
    for node, class_name in file.by_line.get(line, ()):
        is_it = (
            wanted == "<lambda>" and is_within(code, node)
            if isinstance(node, ast.Lambda)
            else isinstance(node, ast.FunctionDef) and node.name == wanted
        )
        if is_it:
            return Definition(node, code, class_name)
    raise refuse("a function without source", "there is nothing to read", "a file with it")
