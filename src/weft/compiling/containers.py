"""Containers and what is in them: displays, slices, attributes, items and texts."""

from __future__ import annotations

import ast

from weft.compiling.operators import Operators
from weft.compiling.writing import folded


class Containers(Operators):
    """Writes containers, attributes and f-strings."""

    # ---- Containers

    def _display(self, kind: str, nodes: list[ast.expr], node: ast.expr, into: int) -> None:
        if not any(isinstance(item, ast.Starred) for item in nodes):
            items = self.values(nodes)
            self.asm.at(node)
            self.asm.emit(kind, into, len(items), *items)
            self.free_all(items)
            return
        made = self.asm.take()
        self.spread_into_list(nodes, node, made)
        self.asm.at(node)
        if kind == "tuple":
            self.asm.emit("freeze", into, made)
            self.free(made)
        else:
            self.moved(into, made)

    def spread_into_list(self, nodes: list[ast.expr], node: ast.expr, made: int) -> None:
        """Write a new list of items, of which some are `*items`."""
        self.asm.at(node)
        self.asm.emit("list", made, 0)
        for item in nodes:
            value = self.value(item.value if isinstance(item, ast.Starred) else item)
            self.asm.at(node)
            self.asm.emit("extend" if isinstance(item, ast.Starred) else "append", made, value)
            self.free(value)

    def on_Tuple(self, node: ast.Tuple, into: int) -> None:
        """Write a tuple."""
        value = folded(node)
        if value is not None:
            self.asm.emit("constant", into, self.asm.constant(value))
        else:
            self._display("tuple", node.elts, node, into)

    def on_List(self, node: ast.List, into: int) -> None:
        """Write a list."""
        self._display("list", node.elts, node, into)

    def on_Set(self, node: ast.Set, into: int) -> None:
        """Write a set."""
        self._display("set", node.elts, node, into)

    def on_Dict(self, node: ast.Dict, into: int) -> None:
        """Write a dict."""
        if all(key is not None for key in node.keys):
            items: list[int] = []
            for key, value in zip(node.keys, node.values, strict=True):
                assert key is not None
                items += [self.kept(key), self.kept(value)]
            self.asm.at(node)
            self.asm.emit("dict", into, len(items), *items)
            self.free_all(items)
            return
        made = self.asm.take()
        self.asm.at(node)
        self.asm.emit("dict", made, 0)
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                given = self.value(value)
                self.asm.at(node)
                self.asm.emit("update", made, given)
                self.free(given)
                continue
            first = self.kept(key)
            second = self.value(value)
            self.asm.at(node)
            self.asm.emit("put", made, first, second)
            self.free(second)
            self.free(first)
        self.moved(into, made)

    def on_Slice(self, node: ast.Slice, into: int) -> None:
        """Write a slice."""
        parts = [
            self.constant(None) if item is None else self.kept(item)
            for item in (node.lower, node.upper, node.step)
        ]
        self.asm.at(node)
        self.asm.emit("slice", into, *parts)
        self.free_all(parts)

    # ---- Attributes, items, text

    def on_Attribute(self, node: ast.Attribute, into: int) -> None:
        """Write `a.name`, or `super().name`."""
        if self.is_super(node.value):
            self._super_attribute(node, into)
            return
        owner = self.operand(node.value, into)
        self.asm.at(node)
        name = self.asm.name(self.scope.mangle(node.attr))
        self.asm.emit("get_attribute", into, owner, name)
        self.free_operand(owner, into)

    def is_super(self, node: ast.expr) -> bool:
        """Tell whether this is `super()` of a method."""
        return (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "super"
            and not node.args
            and not node.keywords
            and "__class__" in self.free_names
            and bool(self.scope.parameters)
        )

    def _super_attribute(self, node: ast.Attribute, into: int) -> None:
        owner, receiver = self.asm.take(), self.asm.take()
        self.asm.at(node)
        self.asm.emit(
            "read_cell", owner, self.free_names["__class__"], self.asm.name("__class__"), 1
        )
        first = ast.copy_location(ast.Name(self.scope.parameters[0], ast.Load()), node)
        self.on_Name(first, receiver)
        name = self.asm.name(self.scope.mangle(node.attr))
        self.asm.emit("super_attribute", into, owner, receiver, name)
        self.free(receiver)
        self.free(owner)

    def on_Subscript(self, node: ast.Subscript, into: int) -> None:
        """Write `a[i]`."""
        owner = self.operand(node.value, into)
        index = self.value(node.slice)
        self.asm.at(node)
        self.asm.emit("get_item", into, owner, index)
        self.free(index)
        self.free_operand(owner, into)

    def on_JoinedStr(self, node: ast.JoinedStr, into: int) -> None:
        """Write an f-string."""
        parts = self.values(node.values)
        self.asm.at(node)
        if len(parts) == 1:
            self.moved(into, parts[0])
            return
        self.asm.emit("join_text", into, len(parts), *parts)
        self.free_all(parts)

    def on_FormattedValue(self, node: ast.FormattedValue, into: int) -> None:
        """Write one field of an f-string."""
        value = self.kept(node.value)
        spec = -1 if node.format_spec is None else self.value(node.format_spec)
        self.asm.at(node)
        self.asm.emit("format", into, value, max(node.conversion, 0), spec)
        self.free(spec)
        self.free(value)
