"""Variables and targets: how names are read, and how everything is given its value."""

from __future__ import annotations

import ast

from weft.compiling.assemble import Label
from weft.compiling.writing import Writer, folded


class Variables(Writer):
    """Writes names and targets."""

    # ---- Names

    def load(self, node: ast.Name) -> int:
        """Return a register that holds a variable's value."""
        name = self.scope.mangle(node.id)
        self.asm.at(node)
        if name in self.variables and name not in self.cells:
            if name not in self.bound:
                self.asm.emit("check", self.variables[name], self.asm.name(name))
                self.note_bound(name)
            return self.variables[name]
        into = self.asm.take()
        self.on_Name(node, into)
        return into

    def on_Name(self, node: ast.Name, into: int) -> None:
        """Write the value of a variable."""
        name = self.scope.mangle(node.id)
        self.asm.at(node)
        if name in self.cells:
            self.asm.emit("read_cell", into, self.variables[name], self.asm.name(name), 0)
        elif name in self.variables:
            self.asm.emit("move", into, self.load(node))
        elif name in self.free_names:
            self.asm.emit("read_cell", into, self.free_names[name], self.asm.name(name), 1)
        else:
            self.asm.emit("global", into, self.asm.name(name))

    def own_register(self, target: ast.expr) -> int | None:
        """Return the register of a plain local variable."""
        if not isinstance(target, ast.Name):
            return None
        name = self.scope.mangle(target.id)
        if name in self.cells or name not in self.variables:
            return None
        return self.variables[name]

    # ---- Values

    def value(self, node: ast.expr) -> int:
        """Write an expression; return the register of its value."""
        if isinstance(node, ast.Name):
            return self.load(node)
        if isinstance(node, ast.Constant):
            return self.constant(node.value)
        number = folded(node)
        if number is not None:
            return self.constant(number)
        into = self.asm.take()
        self.value_into(node, into)
        return into

    def operand(self, node: ast.expr, into: int) -> int:
        """Return the first operand of what is written into a register, in that one if it may be.

        A variable keeps what it has until then.
        """
        is_there = self.own_register(node) is not None or isinstance(node, ast.Constant)
        if is_there or folded(node) is not None or not self.is_temporary(into):
            return self.kept(node)
        self.value_into(node, into)
        return into

    def free_operand(self, register: int, into: int) -> None:
        """Let go of an operand, unless the result is in its place."""
        if register != into:
            self.free(register)

    def kept(self, node: ast.expr) -> int:
        """Return a value that stays as it is while other expressions run."""
        value = self.value(node)
        may_change = self.scope.has_walrus and not self.is_temporary(value)
        return self.copied(value) if may_change else value

    def values(self, nodes: list[ast.expr]) -> list[int]:
        """Write expressions from left to right."""
        return [self.kept(node) for node in nodes]

    # ---- Targets

    def store(self, target: ast.expr, value: int) -> None:
        """Give a value to a name, attribute, item or several targets."""
        if isinstance(target, ast.Name):
            self._store_name(target, value)
        elif isinstance(target, ast.Attribute):
            owner = self.value(target.value)
            self.asm.at(target)
            name = self.asm.name(self.scope.mangle(target.attr))
            self.asm.emit("set_attribute", owner, name, value)
            self.free(owner)
        elif isinstance(target, ast.Subscript):
            owner = self.kept(target.value)
            index = self.value(target.slice)
            self.asm.at(target)
            self.asm.emit("set_item", owner, index, value)
            self.free(index)
            self.free(owner)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, value)

    def _store_name(self, target: ast.Name, value: int) -> None:
        name = self.scope.mangle(target.id)
        self.asm.at(target)
        if name in self.cells:
            self.asm.emit("write_cell", self.variables[name], value)
        elif name in self.variables:
            if self.variables[name] != value:
                self.asm.emit("move", self.variables[name], value)
            self.note_bound(name)
        elif name in self.free_names:
            self.asm.emit("write_cell", self.free_names[name], value)
        else:
            self.asm.emit("set_global", self.asm.name(name), value)

    def _unpack(self, target: ast.Tuple | ast.List, value: int) -> None:
        items = target.elts
        stars = [i for i, item in enumerate(items) if isinstance(item, ast.Starred)]
        targets = [self.asm.take() for _ in items]
        self.asm.at(target)
        if stars:
            self.asm.emit("unpack_rest", value, stars[0], len(targets), *targets)
        else:
            self.asm.emit("unpack", value, len(targets), *targets)
        for item, register in zip(items, targets, strict=True):
            self.store(item.value if isinstance(item, ast.Starred) else item, register)
            self.free(register)

    def unbind(self, target: ast.expr) -> None:
        """Write `del`."""
        self.asm.at(target)
        if isinstance(target, ast.Name):
            name = self.scope.mangle(target.id)
            if name in self.cells:
                self.asm.emit("empty_cell", self.variables[name], self.asm.name(name), 0)
            elif name in self.variables:
                self.asm.emit("delete", self.variables[name], self.asm.name(name))
            elif name in self.free_names:
                self.asm.emit("empty_cell", self.free_names[name], self.asm.name(name), 1)
            else:
                self.asm.emit("delete_global", self.asm.name(name))
        elif isinstance(target, ast.Attribute):
            owner = self.value(target.value)
            self.asm.at(target)
            self.asm.emit("delete_attribute", owner, self.asm.name(self.scope.mangle(target.attr)))
            self.free(owner)
        elif isinstance(target, ast.Subscript):
            owner = self.kept(target.value)
            index = self.value(target.slice)
            self.asm.at(target)
            self.asm.emit("delete_item", owner, index)
            self.free(index)
            self.free(owner)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for item in target.elts:
                self.unbind(item)

    def next_item(self, target: ast.expr, iterator: int, end: Label) -> None:
        """Write the head of a loop: the next item into its target, or on at the end."""
        into = self.own_register(target)
        item = into if into is not None else self.asm.take()
        self.asm.emit("next", item, iterator, end)
        if into is None:
            self.store(target, item)
            self.free(item)
        elif isinstance(target, ast.Name):
            self.note_bound(self.scope.mangle(target.id))
