"""What must happen whatever happens: `with` and `try`."""

from __future__ import annotations

import ast

from weft.compiling.assemble import Label, Region
from weft.compiling.control import Block, Control, ends


class Handling(Control):
    """Writes `with` and `try`."""

    def do_With(self, node: ast.With) -> None:
        """Enter, and leave whatever happens."""
        self._with(node, 0)

    def _with(self, node: ast.With, place: int) -> None:
        if place == len(node.items):
            self.statements(node.body)
            return
        item = node.items[place]
        manager = self.value(item.context_expr)
        leave, entered = self.asm.take(), self.asm.take()
        self.asm.at(item.context_expr)
        self.asm.emit("enter", leave, entered, manager)
        self.free(manager)
        error = self.asm.take()
        region = Region(Label(), error)
        end = Label()

        def leave_well() -> None:
            self.asm.at(node)
            self.asm.emit("leave", leave)

        block = Block(leave_well, len(self.asm.regions))
        before = set(self.bound)
        self.asm.open(region)
        self.blocks.append(block)
        if item.optional_vars is not None:
            self.store(item.optional_vars, entered)
        self.asm.unbind(entered)
        self._with(node, place + 1)
        self.blocks.pop()
        self.asm.close(region)
        # Where an inner manager swallows an exception, control comes to its end all the same.
        if place + 1 < len(node.items) or not ends(node.body):
            leave_well()
            self.asm.emit("jump", end)
        # An exception came out of the body.
        after = self.bound
        self.asm.mark(region.label)
        self.asm.at(node)
        again = Region(Label(), self.asm.take())
        self.asm.emit("handle", error)
        self.asm.open(again)
        swallowed, raised = self.asm.take(), Label()
        self.asm.emit("leave_by", swallowed, leave, error)
        self.asm.emit("jump_unless", swallowed, raised)
        self.asm.give_back(swallowed)
        self.asm.close(again)
        self.asm.emit("handled")
        self.asm.unbind(error)
        self.asm.emit("jump", end)
        self.asm.mark(raised)
        self.asm.emit("handled")
        self.asm.emit("raise_again", error)
        self.asm.mark(again.label)
        self.asm.emit("handled")
        self.asm.emit("raise_again", again.register)
        self.asm.mark(end)
        self.asm.unbind(leave)
        self.bound = before & after
        for register in (leave, entered, error, again.register):
            self.asm.give_back(register)

    def do_Try(self, node: ast.Try) -> None:
        """Handle exceptions of the body, and run `finally` whatever happens."""
        if node.finalbody:
            self._try_finally(node)
        else:
            self._try_except(node)

    def _try_finally(self, node: ast.Try) -> None:
        error = self.asm.take()
        region = Region(Label(), error)
        end = Label()

        def run_finally() -> None:
            bound = set(self.bound)
            self.statements(node.finalbody)
            self.bound = bound

        before = set(self.bound)
        self.asm.open(region)
        self.blocks.append(Block(run_finally, len(self.asm.regions) - 1))
        if node.handlers:
            self._try_except(node)
        else:
            self.statements(node.body)
        self.blocks.pop()
        self.asm.close(region)
        after = self.bound
        self.statements(node.finalbody)
        if not ends(node.finalbody):
            self.asm.emit("jump", end)
        final = self.bound
        # An exception came out of the body.
        self.asm.mark(region.label)
        self.bound = before & after
        again = Region(Label(), self.asm.take())
        self.asm.emit("handle", error)

        def end_handling() -> None:
            self.asm.emit("handled")

        self.blocks.append(Block(end_handling, len(self.asm.regions)))
        self.asm.open(again)
        self.statements(node.finalbody)
        self.asm.close(again)
        self.blocks.pop()
        self.asm.emit("handled")
        self.asm.emit("raise_again", error)
        self.asm.mark(again.label)
        self.asm.emit("handled")
        self.asm.emit("raise_again", again.register)
        self.asm.mark(end)
        self.bound = final
        self.asm.give_back(error)
        self.asm.give_back(again.register)

    def _try_except(self, node: ast.Try) -> None:
        error = self.asm.take()
        region = Region(Label(), error)
        end = Label()
        before = set(self.bound)
        self.asm.open(region)
        # A jump out of the body leaves the region with it.
        self.blocks.append(Block(lambda: None, len(self.asm.regions) - 1))
        self.statements(node.body)
        self.blocks.pop()
        self.asm.close(region)
        self.statements(node.orelse)
        self.asm.emit("jump", end)
        after = self.bound
        self.asm.mark(region.label)
        self.bound = before & after
        again = Region(Label(), self.asm.take())
        self.asm.emit("handle", error)
        for handler in node.handlers:
            self._handler(handler, error, again, end)
        self.asm.emit("handled")
        self.asm.emit("raise_again", error)
        self.asm.mark(again.label)
        self.asm.emit("handled")
        self.asm.emit("raise_again", again.register)
        self.asm.mark(end)
        self.bound = before & after
        self.asm.give_back(error)
        self.asm.give_back(again.register)

    def _handler(self, node: ast.ExceptHandler, error: int, again: Region, end: Label) -> None:
        skip = Label()
        self.asm.at(node)
        if node.type is not None:
            self.asm.open(again)
            kind = self.value(node.type)
            self.asm.at(node.type)
            fits = self.asm.take()
            self.asm.emit("matches", fits, error, kind)
            self.free(kind)
            self.asm.emit("jump_unless", fits, skip)
            self.asm.give_back(fits)
            self.asm.close(again)
        bound = set(self.bound)
        name = None if node.name is None else ast.Name(node.name, ast.Store())

        def forget_name() -> None:
            if name is not None:
                none = self.constant(None)
                self.store(name, none)
                self.free(none)
                self.unbind(name)

        def leave() -> None:
            self.asm.emit("handled")
            forget_name()

        inside = Region(Label(), self.asm.take())
        count = len(self.asm.regions)
        self.asm.open(inside)
        if name is not None:
            ast.copy_location(name, node)
            self.store(name, error)
        self.blocks.append(Block(leave, count))
        self.statements(node.body)
        self.blocks.pop()
        self.asm.close(inside)
        if not ends(node.body):
            leave()
            self.asm.unbind(error)
            self.asm.emit("jump", end)
        self.asm.mark(inside.label)
        leave()
        self.asm.emit("raise_again", inside.register)
        self.asm.give_back(inside.register)
        self.asm.mark(skip)
        self.bound = bound
