"""What of a function has no instructions: all of it at once, before anything is written."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import CodeType

from weft.compiling.names import COMPREHENSIONS, Scope
from weft.compiling.refusals import (
    CONSTRUCTS,
    FRAME_ATTRIBUTES,
    FRAME_READERS,
    FRAME_READERS_WITHOUT_ARGUMENTS,
    Refusal,
)

# A construct, the reason, and what to write instead.
Complaint = tuple[str, str, str]


def refusals_of(scope: Scope, code: CodeType, function: str, writer: type) -> list[Refusal]:
    """Return all that keeps a function from being compiled, by line.

    Args:
        scope: Its names.
        code: What Python has made of it.
        function: Its name.
        writer: What has a method for each kind of node that can be written.
    """
    found = _Check(code.co_freevars, writer).complaints(scope)
    return sorted(
        Refusal(line, *complaint, code.co_filename, function) for line, complaint in found
    )


class _Check:
    """Looks through one function."""

    def __init__(self, free_names: tuple[str, ...], writer: type) -> None:
        self.free_names = free_names
        self.writer = writer

    def complaints(self, scope: Scope) -> Iterator[tuple[int, Complaint]]:
        """Yield lines, and what is wrong there."""
        owners: set[ast.expr] = set()  # x of x.name
        for here in scope.nodes:
            if isinstance(here, COMPREHENSIONS):
                if any(item.is_async for item in here.generators):
                    yield here.lineno, CONSTRUCTS["AsyncFor"]
                yield from self.complaints(Scope(here, scope.class_name, scope))
            elif isinstance(here, (ast.expr, ast.stmt)):
                if isinstance(here, ast.Attribute):
                    owners.add(here.value)
                complaint = self._complaint(here, scope, is_owner=here in owners)
                if complaint is not None:
                    yield here.lineno, complaint

    def _complaint(
        self, node: ast.expr | ast.stmt, scope: Scope, *, is_owner: bool
    ) -> Complaint | None:
        match node:
            case ast.Name(id=name) if name in FRAME_READERS and self._is_global(name, scope):
                return (
                    f"`{name}`",
                    "it looks at Python's own frame of the function",
                    "pass what is needed as an argument",
                )
            case ast.Attribute(attr=name) if name in FRAME_ATTRIBUTES:
                return (f"`{name}`", "it looks at Python's own frames", "pass what is needed")
            case ast.Call(func=ast.Name(id=name), args=[]) if (
                name in FRAME_READERS_WITHOUT_ARGUMENTS and self._is_global(name, scope)
            ):
                if name != "super":
                    return (f"`{name}()`", "it looks at Python's own frame", f"`{name}(object)`")
                if is_owner and "__class__" in self.free_names:
                    return None
                return ("`super()` alone", "it looks at Python's own frame", "`super().method()`")
            case ast.Set(elts=items) if any(isinstance(item, ast.Starred) for item in items):
                reason = "there is no instruction that adds all of something to a set"
                return ("`{*items}`", reason, "`set(items)`")
            case ast.Starred():
                return None
            case _:
                kind = type(node).__name__
                method = f"{'on' if isinstance(node, ast.expr) else 'do'}_{kind}"
                unknown = (f"`{kind}`", "it has no instructions", "a function of its own")
                return None if hasattr(self.writer, method) else CONSTRUCTS.get(kind, unknown)

    def _is_global(self, name: str, scope: Scope | None) -> bool:
        while scope is not None:
            if scope.mangle(name) in scope.own:
                return False
            scope = scope.outer
        return name not in self.free_names
