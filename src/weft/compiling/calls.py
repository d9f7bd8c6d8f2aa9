"""Calls: arguments of every kind."""

from __future__ import annotations

import ast

from weft.compiling.containers import Containers


class Calls(Containers):
    """Writes calls."""

    def on_Call(self, node: ast.Call, into: int) -> None:
        """Write a call."""
        has_spread = any(isinstance(item, ast.Starred) for item in node.args) or any(
            item.arg is None for item in node.keywords
        )
        if has_spread:
            self._call_spread(node, into)
        elif isinstance(node.func, ast.Attribute) and not self.is_super(node.func.value):
            self._call_method(node, node.func, into)
        else:
            function = self.operand(node.func, into)
            given, names = self._arguments(node)
            self.asm.at(node)
            self.asm.emit("call", into, function, names, len(given), *given)
            self.free_all(given)
            self.free_operand(function, into)

    def _arguments(self, node: ast.Call) -> tuple[list[int], int]:
        given = self.values([*node.args, *(item.value for item in node.keywords)])
        if not node.keywords:
            return given, -1
        return given, self.asm.constant(tuple(item.arg for item in node.keywords))

    def _call_method(self, node: ast.Call, attribute: ast.Attribute, into: int) -> None:
        owner = self.operand(attribute.value, into)
        function = into if self.is_temporary(into) else self.asm.take()
        receiver = self.asm.take()
        self.asm.at(attribute)
        name = self.asm.name(self.scope.mangle(attribute.attr))
        self.asm.emit("method", function, receiver, owner, name)
        self.free_operand(owner, function)
        given, names = self._arguments(node)
        self.asm.at(node)
        self.asm.emit("call_method", into, function, receiver, names, len(given), *given)
        self.free_all(given)
        self.free(receiver)
        self.free_operand(function, into)

    def _call_spread(self, node: ast.Call, into: int) -> None:
        function = self.kept(node.func)
        match node.args:
            case [ast.Starred(value=only)]:  # it is iterated last of all
                positional = self.kept(only)
            case _:
                only = None
                positional = self.asm.take()
                self.spread_into_list(node.args, node, positional)
        options = -1
        if node.keywords:
            options = self.asm.take()
            self.asm.at(node)
            self.asm.emit("dict", options, 0)
            self._keywords(node, function, options)
        self.asm.at(node)
        if only is not None:
            items, positional = positional, self.replaced(positional)
            self.asm.emit("spread", positional, items, function)
        self.asm.emit("call_spread", into, function, positional, options)
        self.free(options)
        self.free(positional)
        self.free(function)

    def _keywords(self, node: ast.Call, function: int, options: int) -> None:
        """Put names and `**mappings` into a dict; a name twice is an error before the call."""
        seen_mapping = False
        for item in node.keywords:
            value = self.value(item.value)
            self.asm.at(node)
            if item.arg is None:
                self.asm.emit("merge", options, value, function)
                seen_mapping = True
            else:
                key = self.constant(item.arg)
                if seen_mapping:
                    one = self.asm.take()
                    self.asm.emit("dict", one, 2, key, value)
                    self.asm.emit("merge", options, one, function)
                    self.free(one)
                else:
                    self.asm.emit("put", options, key, value)
                self.free(key)
            self.free(value)
