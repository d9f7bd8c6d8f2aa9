"""Branches, loops and `return`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Self

from weft.compiling.assemble import Label
from weft.compiling.names import Scope
from weft.compiling.read import FunctionNode
from weft.compiling.statements import Statements


@dataclass
class Loop:
    """A loop that is being written."""

    end: Label  # for `break`
    again: Label  # for `continue`
    iterator: int | None
    regions: int  # how many regions were open around it


@dataclass
class Block:
    """What has to be done when control leaves it: by return, break or continue."""

    leave: Callable[[], None]
    regions: int  # how many regions were open around it


class Control(Statements):
    """Writes what decides where a function goes on."""

    def __init__(
        self,
        node: FunctionNode,
        code: CodeType,
        scope: Scope,
        file: str,
        function: str,
        outer: Self | None = None,
    ) -> None:
        super().__init__(node, code, scope, file, function, outer)
        self.blocks: list[Block | Loop] = []

    def _leave_blocks(self, count: int) -> None:
        """Write what leaving all blocks but the first so many needs, innermost first."""
        kept = self.blocks[:]
        while len(self.blocks) > count:
            block = self.blocks.pop()
            if isinstance(block, Loop):
                if block.iterator is not None:
                    self.asm.unbind(block.iterator)
            else:
                with self.asm.outside(block.regions):
                    block.leave()
        self.blocks = kept

    def do_Return(self, node: ast.Return) -> None:
        """Leave with a value."""
        if node.value is None:
            self.asm.at(node)
            value = self.constant(None)
        else:
            value = self.value(node.value)
        if self.blocks and not self.is_temporary(value):
            value = self.copied(value)  # a `finally` may write the variable
        self._leave_blocks(0)
        self.asm.at(node)
        with self.asm.outside(0):
            self.asm.emit("return", value)
        self.drop(value)

    def do_Break(self, node: ast.Break) -> None:
        """Leave the innermost loop."""
        self._jump_from_loop(node, lambda loop: loop.end, keeps_iterator=False)

    def do_Continue(self, node: ast.Continue) -> None:
        """Go on with the next round."""
        self._jump_from_loop(node, lambda loop: loop.again, keeps_iterator=True)

    def _jump_from_loop(
        self, node: ast.stmt, where: Callable[[Loop], Label], *, keeps_iterator: bool
    ) -> None:
        place = max(i for i, block in enumerate(self.blocks) if isinstance(block, Loop))
        loop = self.blocks[place]
        assert isinstance(loop, Loop)
        self.asm.at(node)
        self._leave_blocks(place + 1)
        with self.asm.outside(loop.regions):
            if not keeps_iterator and loop.iterator is not None:
                self.asm.unbind(loop.iterator)
            self.asm.emit("jump", where(loop))

    def do_If(self, node: ast.If) -> None:
        """Take one of two ways."""
        otherwise, end = Label(), Label()
        self.jump_unless(node.test, otherwise)
        before = set(self.bound)
        self.statements(node.body)
        after_body, self.bound = self.bound, before
        if node.orelse:
            if not ends(node.body):
                self.asm.emit("jump", end)
            self.asm.mark(otherwise)
            self.statements(node.orelse)
            if ends(node.body):
                pass
            elif ends(node.orelse):
                self.bound = after_body
            else:
                self.bound &= after_body
        else:
            self.asm.mark(otherwise)
            if not ends(node.body):
                self.bound &= after_body
        self.asm.mark(end)

    def do_While(self, node: ast.While) -> None:
        """Go on while a condition holds."""
        loop = Loop(Label(), Label(), None, len(self.asm.regions))
        otherwise = Label()
        self.asm.mark(loop.again)
        before = set(self.bound)
        self.jump_unless(node.test, otherwise)
        self.blocks.append(loop)
        self.statements(node.body)
        self.blocks.pop()
        self.asm.at(node)
        self.asm.emit("jump", loop.again)
        self.asm.mark(otherwise)
        self.bound = set(before)
        self.statements(node.orelse)
        self.asm.mark(loop.end)
        self.bound = before

    def do_For(self, node: ast.For) -> None:
        """Go on for each item."""
        iterable = self.value(node.iter)
        self.asm.at(node.iter)
        iterator = self.replaced(iterable)
        self.asm.emit("iterate", iterator, iterable)
        loop = Loop(Label(), Label(), iterator, len(self.asm.regions))
        otherwise = Label()
        before = set(self.bound)
        self.asm.mark(loop.again)
        self.asm.at(node.iter)
        self.next_item(node.target, iterator, otherwise)
        self.blocks.append(loop)
        self.statements(node.body)
        self.blocks.pop()
        self.asm.at(node.iter)
        self.asm.emit("jump", loop.again)
        self.asm.mark(otherwise)
        self.asm.unbind(iterator)
        self.bound = set(before)
        self.statements(node.orelse)
        self.asm.mark(loop.end)
        self.bound = before
        self.asm.give_back(iterator)


def ends(body: list[ast.stmt]) -> bool:
    """Tell whether control never comes to the end of these statements."""
    return bool(body) and isinstance(body[-1], (ast.Return, ast.Raise, ast.Break, ast.Continue))
