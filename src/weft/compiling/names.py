"""Which variable a name means: a function's own, one of a function around it, or a global."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from weft.compiling.read import FunctionNode

COMPREHENSIONS = (ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)
NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, *COMPREHENSIONS)
_SCOPES = (*NESTED, ast.ClassDef)
# Parts of expressions that say which of several kinds they are.
_WORDS = (ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop)


def is_inlined(node: ast.AST) -> bool:
    """Tell whether this is a comprehension that has no code object of its own."""
    is_comprehension = isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp))
    return is_comprehension and sys.version_info >= (3, 12)


def mangled(name: str, class_name: str | None) -> str:
    """Return a name as Python has it inside a class: `__x` is private there."""
    if class_name is None or not name.startswith("__") or name.endswith("__") or "." in name:
        return name
    owner = class_name.lstrip("_")
    return f"_{owner}{name}" if owner else name


def parameters(node: FunctionNode) -> list[str]:
    """Return the names of a function's parameters, in the order of its registers."""
    if isinstance(node, COMPREHENSIONS):
        return [".0"]
    given = node.args
    names = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    rest = [item for item in (given.vararg, given.kwarg) if item is not None]
    return [item.arg for item in (*names, *rest)]


def parts_outside(node: ast.AST) -> list[ast.AST]:
    """Return what of a nested function is evaluated where it is defined."""
    if isinstance(node, COMPREHENSIONS):
        return [node.generators[0].iter]
    if isinstance(node, ast.Lambda):
        return [item for item in (*node.args.defaults, *node.args.kw_defaults) if item is not None]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        given = node.args
        annotations = [
            item.annotation
            for item in (
                *given.posonlyargs,
                *given.args,
                *given.kwonlyargs,
                *(item for item in (given.vararg, given.kwarg) if item is not None),
            )
        ]
        found = [*node.decorator_list, *given.defaults, *given.kw_defaults, *annotations]
        return [item for item in (*found, node.returns) if item is not None]
    return []


def parts_inside(node: ast.AST) -> list[ast.AST]:
    """Return the parts of a function or comprehension that run in its own scope."""
    if isinstance(node, ast.Lambda):
        return [node.body]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return list(node.body)
    if not isinstance(node, COMPREHENSIONS):
        return list(ast.iter_child_nodes(node))
    parts: list[ast.AST] = []
    for place, generator in enumerate(node.generators):
        if place > 0:
            parts.append(generator.iter)
        parts.extend((generator.target, *generator.ifs))
    parts.extend([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])
    return parts


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run in a function's own scope; nested functions as they are."""
    stack = parts_inside(node)[::-1]
    while stack:
        here = stack.pop()
        yield here
        inside = parts_outside(here) if isinstance(here, _SCOPES) else ast.iter_child_nodes(here)
        stack.extend([child for child in inside if not isinstance(child, _WORDS)][::-1])


def _walrus_targets(node: ast.AST) -> set[str]:
    """Return the names that `:=` in a comprehension binds, which are those of the function."""
    found: set[str] = set()
    for here in own_nodes(node):
        if isinstance(here, ast.NamedExpr):
            found.add(here.target.id)
        elif isinstance(here, COMPREHENSIONS):
            found |= _walrus_targets(here)
    return found


class Scope:
    """The names of one function: which are its own, and which nested functions share."""

    def __init__(self, node: FunctionNode, class_name: str | None, outer: Scope | None) -> None:
        self.class_name = class_name
        self.outer = outer
        self.is_comprehension = isinstance(node, COMPREHENSIONS)
        self.parameters = [self.mangle(name) for name in parameters(node)]
        self.declared_global: set[str] = set()
        self.declared_free: set[str] = set()
        self.deleted: set[str] = set()
        self.has_walrus = False
        self.nodes = tuple(own_nodes(node))
        bound = self._bound()
        self.own = (bound | set(self.parameters)) - self.declared_global - self.declared_free
        inside = self._read_inside()
        # All names that occur, also in what is nested, and are not its own there.
        self.read = self._named() | inside | self.declared_free
        # Its own variables that nested functions and comprehensions use.
        self.shared = inside & self.own

    def mangle(self, name: str) -> str:
        """Return the name as this scope has it."""
        return mangled(name, self.class_name)

    def _bound(self) -> set[str]:
        bound: set[str] = set()
        walrus: set[str] = set()
        for here in self.nodes:
            if isinstance(here, ast.NamedExpr):
                walrus.add(self.mangle(here.target.id))
            elif isinstance(here, ast.Name) and not isinstance(here.ctx, ast.Load):
                bound.add(self.mangle(here.id))
                if isinstance(here.ctx, ast.Del):
                    self.deleted.add(self.mangle(here.id))
            elif isinstance(here, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                bound.add(self.mangle(here.name))
            elif isinstance(here, ast.ExceptHandler) and here.name is not None:
                bound.add(self.mangle(here.name))
                self.deleted.add(self.mangle(here.name))
            elif isinstance(here, ast.Global):
                self.declared_global |= {self.mangle(name) for name in here.names}
            elif isinstance(here, ast.Nonlocal):
                self.declared_free |= {self.mangle(name) for name in here.names}
            elif isinstance(here, COMPREHENSIONS) and not self.is_comprehension:
                walrus |= {self.mangle(name) for name in _walrus_targets(here)}
        self.has_walrus = bool(walrus)
        # The `:=` of a comprehension is the function's.
        return bound - walrus if self.is_comprehension else bound | walrus

    def _named(self) -> set[str]:
        found: set[str] = set()
        for here in self.nodes:
            if isinstance(here, ast.Name):
                found.add(self.mangle(here.id))
                if here.id == "super":
                    found.add("__class__")
        return found

    def _read_inside(self) -> set[str]:
        """Return what nested functions and comprehensions read that is not their own."""
        found: set[str] = set()
        for here in self.nodes:
            if isinstance(here, NESTED):
                inner = Scope(here, self.class_name, self)
                found |= inner.read - inner.own - inner.declared_global
        return found
