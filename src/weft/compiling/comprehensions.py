"""Comprehensions, and generator expressions that are consumed where they stand."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable

from weft.compiling.assemble import Label
from weft.compiling.functions import Functions
from weft.compiling.names import Scope, is_inlined
from weft.compiling.operators import BINARY
from weft.compiling.read import CODE_NODES, Comprehension

# Builtins that take all of a generator expression before they do anything, or one item after the
# other in a way that a routine can follow exactly.
_CONSUMERS = {"list", "tuple", "sorted", "set", "any", "all", "sum"}
if sys.version_info >= (3, 12):  # where sums of floats are compensated
    _CONSUMERS.remove("sum")

_STARTS = {"any": False, "all": True, "sum": 0}


class Comprehensions(Functions):
    """Writes comprehensions."""

    made = "list"  # what a comprehension's own writer makes of the items

    def on_GeneratorExp(self, node: ast.GeneratorExp, into: int) -> None:
        """Write a generator expression: Python's own, which Python's code pulls."""
        iterable = self.value(node.generators[0].iter)
        made = self.make_function(node, "<genexpr>")
        iterator = self.asm.take()
        self.asm.at(node.generators[0].iter)
        self.asm.emit("iterate", iterator, iterable)
        self.asm.at(node)
        self.asm.emit("call", into, made, -1, 1, iterator)
        self.free_all([iterator, made, iterable])

    def on_ListComp(self, node: ast.ListComp, into: int) -> None:
        """Write a list comprehension."""
        self._comprehension(node, into, "list")

    def on_SetComp(self, node: ast.SetComp, into: int) -> None:
        """Write a set comprehension."""
        self._comprehension(node, into, "set")

    def on_DictComp(self, node: ast.DictComp, into: int) -> None:
        """Write a dict comprehension."""
        self._comprehension(node, into, "dict")

    def _comprehension(self, node: Comprehension, into: int, kind: str) -> None:
        iterable = self.value(node.generators[0].iter)
        iterator = self.replaced(iterable)
        self.asm.at(node.generators[0].iter)
        self.asm.emit("iterate", iterator, iterable)
        self._comprehend(node, into, iterator, kind)
        self.free(iterator)

    def _comprehend(self, node: Comprehension, into: int, iterator: int, kind: str) -> None:
        """Write the call of a comprehension's own routine."""
        name = CODE_NODES[type(node)]
        code = self.source if is_inlined(node) else self.code_of(node, name)
        scope = Scope(node, self.scope.class_name, self.scope)
        inner = type(self)(node, code, scope, self.file, name, self)
        inner.made = kind
        cells = [self.cell_of(variable, node) for variable in inner.free_names]
        number = len(self.asm.nested)
        self.asm.nested.append(inner.routine())
        self.asm.at(node)
        self.asm.emit("comprehend", into, number, iterator, len(cells), *cells)

    def comprehension_body(self, node: Comprehension) -> None:
        """Write the loops of a comprehension, whose first iterator is given."""
        result = self.asm.take()
        self.asm.at(node)
        if self.made in _STARTS:
            self.asm.emit("constant", result, self.asm.constant(_STARTS[self.made]))
        else:
            self.asm.emit(self.made, result, 0)
        self._loops(node, 0, 0, lambda: self._item(node, self.made, result))
        self.asm.at(node)
        self.asm.emit("return", result)

    def _item(self, node: Comprehension, kind: str, result: int) -> None:
        if isinstance(node, ast.DictComp):
            key = self.kept(node.key)
            value = self.value(node.value)
            self.asm.at(node)
            self.asm.emit("put", result, key, value)
            self.free(value)
            self.free(key)
            return
        item = self.value(node.elt)
        self.asm.at(node if kind != "set" or isinstance(node, ast.SetComp) else node.elt)
        if kind in ("any", "all"):
            go_on = Label()
            with self.asm.without_frame():
                self.asm.emit("jump_unless" if kind == "any" else "jump_if", item, go_on)
                found = self.constant(kind == "any")
                self.asm.emit("return", found)
                self.free(found)
            self.asm.mark(go_on)
        elif kind == "sum":
            with self.asm.without_frame():
                self.asm.emit("binary", result, BINARY[ast.Add], result, item)
        elif kind == "set":
            if isinstance(node, ast.SetComp):
                self.asm.emit("add", result, item)
            else:
                with self.asm.without_frame():
                    self.asm.emit("add", result, item)
        else:
            self.asm.emit("append", result, item)
        self.free(item)

    def _loops(
        self, node: Comprehension, place: int, iterator: int, body: Callable[[], None]
    ) -> None:
        generator = node.generators[place]
        again, end = Label(), Label()
        before = set(self.bound)
        self.asm.mark(again)
        self.asm.at(generator.iter if place > 0 or sys.version_info >= (3, 12) else node)
        self.next_item(generator.target, iterator, end)
        for condition in generator.ifs:
            self.jump_unless(condition, again)
        if place + 1 < len(node.generators):
            following = node.generators[place + 1]
            iterable = self.value(following.iter)
            inner = self.replaced(iterable)
            self.asm.at(following.iter)
            self.asm.emit("iterate", inner, iterable)
            self._loops(node, place + 1, inner, body)
            self.asm.unbind(inner)
            self.asm.give_back(inner)
        else:
            body()
        self.asm.at(node)
        self.asm.emit("jump", again)
        self.asm.mark(end)
        self.bound = before

    def on_Call(self, node: ast.Call, into: int) -> None:
        """Write a call; of what takes all of a generator expression at once, as loops."""
        match node:
            case ast.Call(
                func=ast.Name(id=name), args=[ast.GeneratorExp() as generator], keywords=[]
            ) if name in _CONSUMERS:
                self._call_consumer(node, name, generator, into)
            case _:
                super().on_Call(node, into)

    def _call_consumer(
        self, node: ast.Call, name: str, generator: ast.GeneratorExp, into: int
    ) -> None:
        """Write `any(... for ...)` and others as loops, if they are the builtins at that time."""
        function = self.kept(node.func)
        other, end = Label(), Label()
        self.asm.at(node)
        self.asm.emit("jump_unless_builtin", function, self.asm.name(name), other)
        bound = set(self.bound)
        iterable = self.value(generator.generators[0].iter)
        iterator = self.replaced(iterable)
        self.asm.at(generator.generators[0].iter)
        self.asm.emit("iterate", iterator, iterable)
        kind = name if name in ("any", "all", "sum", "set") else "list"
        result = self.asm.take()
        self._comprehend(generator, result, iterator, kind)
        self.free(iterator)
        if name in ("tuple", "sorted"):
            self.asm.at(node)
            self.asm.emit("call", result, function, -1, 1, result)
        self.moved(into, result)
        self.asm.emit("jump", end)
        self.asm.mark(other)
        self.bound = bound
        made = self.asm.take()
        self.on_GeneratorExp(generator, made)
        self.asm.at(node)
        self.asm.emit("call", into, function, -1, 1, made)
        self.free(made)
        self.asm.mark(end)
        self.free(function)
