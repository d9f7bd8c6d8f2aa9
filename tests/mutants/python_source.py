"""What can be changed in Python: found in the syntax tree, changed in the text."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator

from tests.mutants.change import Change, Edit, make_change

COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: (r"is\s+not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: (r"not\s+in", "in"),
}
OPERATORS: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: (r"\+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: (r"\*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: (r"\*\*", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: (r"\|", "&"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
}
# Types and texts: nothing that runs differently, or nothing but how a message reads.
LEFT_OUT = (ast.JoinedStr, ast.Import, ast.ImportFrom)


def find_changes(file: str, source: bytes) -> list[Change]:
    """Return every change of a file, in the order of its text."""
    finder = _Finder(source)
    found: list[Change] = []
    for statement in ast.parse(source).body:
        inside = getattr(statement, "name", "")
        for edits in finder.visit(statement):
            change = make_change(file, source, edits, inside)
            if change.before != change.after:
                found.append(change)
    return found


def public_names(source: bytes) -> list[str]:
    """Return what a module defines for others."""
    names = [getattr(statement, "name", "") for statement in ast.parse(source).body]
    return [name for name in names if name and not name.startswith("_")]


class _Finder:
    def __init__(self, source: bytes) -> None:
        self.source = source
        lengths = (len(line) for line in source.splitlines(keepends=True))
        self.lines = [0, *itertools.accumulate(lengths)]

    def start(self, node: ast.expr | ast.stmt) -> int:
        return self.lines[node.lineno - 1] + node.col_offset

    def stop(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.lines[node.end_lineno - 1] + node.end_col_offset

    def visit(self, node: ast.AST) -> Iterator[tuple[Edit, ...]]:
        """Yield the edits of a node and of those below it."""
        if isinstance(node, LEFT_OUT) or _is_for_type_checkers(node):
            return
        yield from self.change(node)
        for name, value in ast.iter_fields(node):
            if name in {"annotation", "returns", "decorator_list"}:
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from self.visit(child)

    def change(self, node: ast.AST) -> Iterator[tuple[Edit, ...]]:
        match node:
            case ast.Compare():
                operands = [node.left, *node.comparators]
                for left, operator, right in zip(operands, node.ops, operands[1:], strict=False):
                    yield self.between(left, right, *COMPARISONS[type(operator)])
            case ast.BinOp(left, operator, right) if type(operator) in OPERATORS:
                yield self.between(left, right, *OPERATORS[type(operator)])
            case ast.AugAssign(target, operator, value) if type(operator) in OPERATORS:
                yield self.between(target, value, *OPERATORS[type(operator)])
            case ast.BoolOp(operator, values):
                swap = ("and", "or") if isinstance(operator, ast.And) else ("or", "and")
                for left, right in itertools.pairwise(values):
                    yield self.between(left, right, *swap)
            case ast.UnaryOp(ast.Not() | ast.USub(), operand):
                yield (Edit(self.start(node), self.start(operand), ""),)
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                if not isinstance(test, ast.UnaryOp | ast.Compare):
                    yield (
                        Edit(self.start(test), self.start(test), "not ("),
                        Edit(self.stop(test), self.stop(test), ")"),
                    )
            case ast.Constant(bool(value)):
                yield self.replace(node, str(not value))
            case ast.Constant(int(value)):
                yield self.replace(node, str(value + 1))
                if value:
                    yield self.replace(node, str(value - 1))
            case ast.Constant(float(value)):
                yield self.replace(node, repr(value * 2 or 1.0))
            case _:
                pass

    def replace(self, node: ast.expr, text: str) -> tuple[Edit, ...]:
        return (Edit(self.start(node), self.stop(node), text),)

    def between(self, left: ast.expr, right: ast.expr, old: str, new: str) -> tuple[Edit, ...]:
        """Replace the operator that stands between two operands."""
        begin = self.stop(left)
        # Parentheses may stand around it, and comments with any word in them.
        gap = re.sub(
            rb"#[^\n]*", lambda found: b"#" * len(found[0]), self.source[begin : self.start(right)]
        )
        word = rf"\b{old}\b" if old[0].isalpha() else old
        found = re.search(word.encode(), gap)
        assert found is not None, (gap, old)
        return (Edit(begin + found.start(), begin + found.end(), new),)


def _is_for_type_checkers(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    if isinstance(node, ast.FunctionDef):
        return any(
            isinstance(name, ast.Name) and name.id == "overload" for name in node.decorator_list
        )
    # `Name: TypeAlias = int | None`, and `Name = Callable[...] | None`, are types too; the second
    # kind is found among what was not noticed, and is harmless.
    return (
        isinstance(node, ast.AnnAssign)
        and isinstance(node.annotation, ast.Name)
        and node.annotation.id == "TypeAlias"
    )
