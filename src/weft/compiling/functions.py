"""Nested functions: they are made where their definition runs."""

from __future__ import annotations

import ast
from types import CodeType

from weft.compiling.calls import Calls
from weft.compiling.read import FunctionNode, nested_code

_FUTURE_ANNOTATIONS = 0x1000000


class Functions(Calls):
    """Writes lambdas and nested functions."""

    def function(self, node: ast.FunctionDef | ast.Lambda, name: str) -> int:
        """Write a nested function; return its register."""
        given = node.args
        defaults, named = -1, -1
        if given.defaults:
            items = self.values(given.defaults)
            defaults = self.asm.take()
            self.asm.at(node)
            self.asm.emit("tuple", defaults, len(items), *items)
            self.free_all(items)
        pairs = [
            (item.arg, value)
            for item, value in zip(given.kwonlyargs, given.kw_defaults, strict=True)
            if value is not None
        ]
        if pairs:
            keys = [self.constant(self.scope.mangle(key)) for key, _ in pairs]
            items = self.values([value for _, value in pairs])
            named = self.asm.take()
            both = [register for pair in zip(keys, items, strict=True) for register in pair]
            self.asm.at(node)
            self.asm.emit("dict", named, len(both), *both)
            self.free_all(both)
        made = self.make_function(node, name, defaults, named)
        self.free(named)
        self.free(defaults)
        annotations = self._annotations(node)
        if annotations >= 0:
            self.asm.emit("set_attribute", made, self.asm.name("__annotations__"), annotations)
            self.free(annotations)
        return made

    def _annotations(self, node: ast.FunctionDef | ast.Lambda) -> int:
        if isinstance(node, ast.Lambda):
            return -1
        given = node.args
        everyone = [*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg]
        pairs = [
            (self.scope.mangle(item.arg), item.annotation)
            for item in everyone
            if item is not None and item.annotation is not None
        ]
        if node.returns is not None:
            pairs.append(("return", node.returns))
        if not pairs:
            return -1
        as_text = bool(self.source.co_flags & _FUTURE_ANNOTATIONS)
        items: list[int] = []
        for name, annotation in pairs:
            items.append(self.constant(name))
            items.append(
                self.constant(ast.unparse(annotation)) if as_text else self.kept(annotation)
            )
        made = self.asm.take()
        self.asm.at(node)
        self.asm.emit("dict", made, len(items), *items)
        self.free_all(items)
        return made

    def code_of(self, node: FunctionNode, name: str) -> CodeType:
        """Return the code object that Python has made of a nested function."""
        owner = self
        while owner.is_inlined and owner.outer is not None:
            owner = owner.outer
        try:
            return nested_code(owner.source, node, name)
        except LookupError:
            raise self.refusal(
                node, f"`{name}`", "Python has no code for it, since it never runs", "leave it out"
            ) from None

    def make_function(
        self, node: FunctionNode, name: str, defaults: int = -1, named: int = -1
    ) -> int:
        """Write a function of that code; return its register."""
        made = self.asm.take()
        code = self.code_of(node, self.scope.mangle(name))
        cells = [self.cell_of(variable, node) for variable in code.co_freevars]
        self.asm.at(node)
        number = self.asm.constant(code)
        self.asm.emit("function", made, number, defaults, named, len(cells), *cells)
        return made

    def cell_of(self, name: str, node: ast.AST) -> int:
        """Return the register of the cell that holds a variable which a nested function reads."""
        if name in self.cells:
            return self.variables[name]
        if name not in self.free_names:
            raise self.refusal(node, f"`{name}` in a nested function", "it is not found", "pass it")
        return self.free_names[name]

    def on_Lambda(self, node: ast.Lambda, into: int) -> None:
        """Write a lambda."""
        made = self.function(node, "<lambda>")
        self.moved(into, made)
