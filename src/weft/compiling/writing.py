"""What all parts of the writer share: the function's names, registers, values in between."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Self

from weft import _core
from weft.compiling.assemble import Assembler, Positions
from weft.compiling.names import COMPREHENSIONS, Scope, is_inlined
from weft.compiling.read import FunctionNode
from weft.compiling.refusals import Refusal, RefusedError


class Writer:
    """Writes the instructions of one function."""

    def __init__(
        self,
        node: FunctionNode,
        code: CodeType,
        scope: Scope,
        file: str,
        function: str,
        outer: Self | None = None,
    ) -> None:
        self.node = node
        self.source = code
        self.scope = scope
        self.file = file
        self.function_name = function
        self.outer = outer
        shares = outer is not None and is_inlined(node)
        self.is_inlined = shares  # a comprehension that has no code object of its own
        self.asm = Assembler(outer.asm.positions if outer and shares else Positions(code))
        self.bound: set[str] = set(scope.parameters) - scope.deleted
        self.cells = scope.shared
        self.variables = {name: self.asm.variable() for name in scope.parameters}
        for name in sorted(scope.own - set(scope.parameters)):
            self.variables[name] = self.asm.variable()
        self.free_begin = self.asm.registers
        self.free_names = {name: self.asm.variable() for name in self._free_names()}
        self.temporaries_from = self.asm.registers
        for name in sorted(self.cells):
            self.asm.emit("cell", self.variables[name])

    def _free_names(self) -> tuple[str, ...]:
        if self.outer is None:
            return self.source.co_freevars
        around = self.outer.scope.own | set(self.outer.free_names)
        own = self.scope.own | self.scope.declared_global
        return tuple(sorted((self.scope.read - own) & around))

    def refusal(self, node: ast.AST, construct: str, reason: str, instead: str) -> RefusedError:
        """Return the error for what turns out to have no instructions."""
        line: int = getattr(node, "lineno", self.source.co_firstlineno)
        return RefusedError(
            [Refusal(line, construct, reason, instead, self.file, self.function_name)]
        )

    # ---- Registers

    def is_temporary(self, register: int) -> bool:
        """Tell whether a register holds no variable."""
        return register >= self.temporaries_from

    def free(self, register: int) -> None:
        """Let go of a value in between."""
        if register >= self.temporaries_from:
            self.asm.unbind(register)
            self.asm.give_back(register)

    def drop(self, register: int) -> None:
        """Let others use a register of a value that has been overwritten or moved."""
        if register >= self.temporaries_from:
            self.asm.give_back(register)

    def moved(self, into: int, register: int) -> None:
        """Give a value in between to another register."""
        if self.is_temporary(register):
            self.asm.emit("take", into, register)
            self.asm.give_back(register)
        else:
            self.asm.emit("move", into, register)

    def replaced(self, register: int) -> int:
        """Return a register for what is made of a value: its own, unless a variable's."""
        return register if self.is_temporary(register) else self.asm.take()

    def copied(self, register: int) -> int:
        """Return a register of its own for a variable's value."""
        made = self.asm.take()
        self.asm.emit("move", made, register)
        return made

    def constant(self, value: object) -> int:
        """Return the operand that stands for a constant."""
        return -2 - self.asm.constant(value)

    def free_all(self, registers: Sequence[int]) -> None:
        """Let go of values in between."""
        for register in registers:
            self.free(register)

    def note_bound(self, name: str) -> None:
        """From here on, a variable has a value."""
        if name not in self.scope.deleted:
            self.bound.add(name)

    # ---- Values

    def value_into(self, node: ast.expr, into: int) -> None:
        """Write an expression whose last instruction writes that register."""
        write: Callable[[ast.expr, int], None] = getattr(self, f"on_{type(node).__name__}")
        write(node, into)

    # ---- The whole

    def routine(self) -> _core.Routine:
        """Return the function's routine."""
        raise NotImplementedError

    def finish(self) -> _core.Routine:
        """Return the routine, when all is written."""
        is_comprehension = isinstance(self.node, COMPREHENSIONS)
        asm, code = self.asm, self.source
        names = [""] * len(asm.names)
        for text, number in asm.names.items():
            names[number] = text
        return _core.make_routine(
            name=self.function_name,
            source=code,
            positional=1 if is_comprehension else code.co_argcount,
            keyword_only=0 if is_comprehension else code.co_kwonlyargcount,
            has_rest=not is_comprehension and bool(code.co_flags & inspect.CO_VARARGS),
            has_options=not is_comprehension and bool(code.co_flags & inspect.CO_VARKEYWORDS),
            is_comprehension=is_comprehension,
            is_inlined=self.is_inlined,
            registers=asm.registers,
            free_begin=self.free_begin,
            free_count=len(self.free_names),
            variables=list(self.variables | self.free_names),
            names=tuple(names),
            constants=tuple(asm.constants),
            code=asm.code,
            offsets=asm.offsets,
            nested=asm.nested,
            handlers=asm.handler_table(),
        )


def folded(node: ast.expr) -> object:
    """Return what Python makes one constant of, or None."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        number = node.operand.value
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            if isinstance(node.op, ast.USub):
                return -number
            if isinstance(node.op, ast.UAdd):
                return +number
    if isinstance(node, ast.Tuple) and node.elts and isinstance(node.ctx, ast.Load):
        items: list[object] = []
        for item in node.elts:
            value = item.value if isinstance(item, ast.Constant) else folded(item)
            if value is None:  # None itself is rare here, and a tuple made anew is equal
                return None
            items.append(value)
        return tuple(items)
    return None
