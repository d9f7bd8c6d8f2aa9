"""Statements that do one thing: assignments, `del`, `assert`, `raise`."""

from __future__ import annotations

import ast
from collections.abc import Callable

from weft.compiling.assemble import Label
from weft.compiling.comprehensions import Comprehensions
from weft.compiling.operators import BINARY


class Statements(Comprehensions):
    """Writes plain statements."""

    def statements(self, body: list[ast.stmt]) -> None:
        """Write one statement after the other."""
        for statement in body:
            write: Callable[[ast.stmt], None] = getattr(self, f"do_{type(statement).__name__}")
            write(statement)

    def do_Pass(self, node: ast.Pass) -> None:
        """Write nothing."""

    def do_Global(self, node: ast.Global) -> None:
        """Write nothing: the scope knows."""

    def do_Nonlocal(self, node: ast.Nonlocal) -> None:
        """Write nothing: the scope knows."""

    def do_Expr(self, node: ast.Expr) -> None:
        """Evaluate, for what it does."""
        if not isinstance(node.value, ast.Constant):
            self.free(self.value(node.value))

    def do_Assign(self, node: ast.Assign) -> None:
        """Give a value to each target."""
        first = node.targets[0]
        into = self.own_register(first) if len(node.targets) == 1 else None
        if into is not None and isinstance(first, ast.Name):
            self.value_into(node.value, into)
            self.note_bound(self.scope.mangle(first.id))
            return
        value = self.value(node.value)
        if len(node.targets) > 1 and not self.is_temporary(value):
            value = self.copied(value)  # the first target may be what it is read from
        for target in node.targets:
            self.store(target, value)
        self.free(value)

    def do_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Give a value to a target; annotations of variables are not evaluated."""
        if node.value is not None:
            value = self.value(node.value)
            self.store(node.target, value)
            self.free(value)
        elif isinstance(node.target, (ast.Attribute, ast.Subscript)):
            self.free(self.value(node.target.value))

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        """Change a target in place, where its type can."""
        target = node.target
        operator = BINARY[type(node.op)]
        if isinstance(target, ast.Name):
            loaded = ast.copy_location(ast.Name(target.id, ast.Load()), target)
            old = self.value(loaded)
            value = self.value(node.value)
            self.asm.at(node)
            into = self.own_register(target)
            result = into if into is not None else self.asm.take()
            self.asm.emit("inplace", result, operator, old, value)
            self.free(value)
            self.free(old)
            if into is None:
                self.store(target, result)
                self.free(result)
            return
        owner = self.value(target.value)
        if not self.is_temporary(owner):
            owner = self.copied(owner)
        if isinstance(target, ast.Attribute):
            name = self.asm.name(self.scope.mangle(target.attr))
            old = self.asm.take()
            self.asm.at(target)
            self.asm.emit("get_attribute", old, owner, name)
            value = self.value(node.value)
            self.asm.at(node)
            self.asm.emit("inplace", old, operator, old, value)
            self.free(value)
            self.asm.at(target)
            self.asm.emit("set_attribute", owner, name, old)
        else:
            index = self.value(target.slice)
            if not self.is_temporary(index):
                index = self.copied(index)
            old = self.asm.take()
            self.asm.at(target)
            self.asm.emit("get_item", old, owner, index)
            value = self.value(node.value)
            self.asm.at(node)
            self.asm.emit("inplace", old, operator, old, value)
            self.free(value)
            self.asm.at(target)
            self.asm.emit("set_item", owner, index, old)
            self.free(index)
        self.free(old)
        self.free(owner)

    def do_Delete(self, node: ast.Delete) -> None:
        """Unbind names, remove attributes and items."""
        for target in node.targets:
            self.unbind(target)

    def do_Assert(self, node: ast.Assert) -> None:
        """Raise unless a condition holds."""
        if not __debug__:
            return
        fine = Label()
        self.jump_if(node.test, fine)
        bound = set(self.bound)
        text = -1 if node.msg is None else self.value(node.msg)
        self.asm.at(node.test)
        self.asm.emit("raise_assertion", text)
        self.drop(text)
        self.asm.mark(fine)
        self.bound = bound

    def do_Raise(self, node: ast.Raise) -> None:
        """Raise an exception, or again the one that is handled."""
        error = -1 if node.exc is None else self.value(node.exc)
        cause = -1 if node.cause is None else self.value(node.cause)
        self.asm.at(node)
        self.asm.emit("raise", error, cause)
        self.drop(cause)
        self.drop(error)

    def do_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Make a nested function and give it its name."""
        decorators = [(item, self.kept(item)) for item in node.decorator_list]
        made = self.function(node, node.name)
        for item, decorator in reversed(decorators):
            self.asm.at(item)
            self.asm.emit("call", made, decorator, -1, 1, made)
            self.free(decorator)
        self.asm.at(node)
        self.store(ast.copy_location(ast.Name(node.name, ast.Store()), node), made)
        self.free(made)
