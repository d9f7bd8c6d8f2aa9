"""Instructions of one routine while they are being written: registers, places, handlers."""

from __future__ import annotations

import ast
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType

from weft import _core
from weft.compiling.read import span

NUMBERS = {name: number for number, (name, _, _) in enumerate(_core.routine_instructions())}
OPERANDS = {name: operands for name, operands, _ in _core.routine_instructions()}
NO_FRAME = -2  # as an offset: an error here is not shown in this routine's own frame


@dataclass
class Label:
    """A place in the code that may not be known yet."""

    place: int = -1
    uses: list[int] = field(default_factory=list[int])


@dataclass
class Region:
    """Stretches of code whose exceptions go on at a label, with the exception in a register."""

    label: Label
    register: int
    begin: int = -1  # of the stretch that is open


class Positions:
    """Where the source's own code has what a node became."""

    def __init__(self, code: CodeType) -> None:
        self.exact: dict[tuple[int | None, ...], int] = {}
        self.lines: dict[int, int] = {}
        self.first = 0
        units = code.co_code
        for unit, position in enumerate(code.co_positions()):
            if units[2 * unit] == 0:  # a cache of the instruction before it
                continue
            self.exact[position] = 2 * unit
            if position[0] is not None:
                self.lines.setdefault(position[0], 2 * unit)

    def of(self, node: ast.AST) -> int:
        """Return the byte of the instruction that was made from a node."""
        if not hasattr(node, "lineno"):
            return self.first
        line, column, end_line, end_column = span(node)
        found = self.exact.get((line, end_line, column, end_column))
        if found is not None:
            return found
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            # A method's call begins where its name stands, if that is on another line.
            name = node.func
            line = name.end_lineno or line
            begin = (name.end_col_offset or 0) - len(name.attr.encode())
            found = self.exact.get((line, end_line, begin, end_column))
            if found is not None:
                return found
        if isinstance(node, ast.Attribute):
            line = node.end_lineno or line
        return self.lines.get(line, self.first)


class Assembler:
    """The code of one routine."""

    def __init__(self, positions: Positions) -> None:
        self.positions = positions
        self.code: list[int] = []
        self.offsets: list[int] = []
        self.names: dict[str, int] = {}
        self.constants: list[object] = []
        self._constant_numbers: dict[object, int] = {}
        self.nested: list[_core.Routine] = []
        self.handlers: list[tuple[Region, tuple[int, int]]] = []
        self.regions: list[Region] = []  # open ones, outermost first
        self.registers = 0
        self._free: list[int] = []
        self._offset = 0
        self._unbinding = -1  # where the count of the last instruction is, if that unbinds

    # ---- Registers

    def variable(self) -> int:
        """Return a register that stays taken."""
        self.registers += 1
        return self.registers - 1

    def take(self) -> int:
        """Return a register for a value in between."""
        return self._free.pop() if self._free else self.variable()

    def give_back(self, register: int) -> None:
        """Let others use a register, whose value is no longer needed."""
        self._free.append(register)

    # ---- Instructions

    def at(self, node: ast.AST) -> None:
        """Say which node the next instructions are made from."""
        self._offset = self.positions.of(node)

    @contextmanager
    def without_frame(self) -> Generator[None]:
        """Inside, let errors be those of the caller's line."""
        before, self._offset = self._offset, NO_FRAME
        try:
            yield
        finally:
            self._offset = before

    def emit(self, name: str, *operands: int | Label) -> None:
        """Add an instruction."""
        self._unbinding = -1
        self._unit(NUMBERS[name])
        for operand in operands:
            if isinstance(operand, Label):
                operand.uses.append(len(self.code))
                self._unit(operand.place)
            else:
                self._unit(operand)

    def unbind(self, register: int) -> None:
        """Let go of what a register holds; one instruction does so for several."""
        if self._unbinding < 0:
            self.emit("unbind", 0)
            self._unbinding = len(self.code) - 1
        self.code[self._unbinding] += 1
        self._unit(register)

    def _unit(self, number: int) -> None:
        self.code.append(number)
        self.offsets.append(self._offset)

    def name(self, text: str) -> int:
        """Return the number of a name."""
        return self.names.setdefault(text, len(self.names))

    def constant(self, value: object) -> int:
        """Return the number of a constant."""
        # -0.0 and 0.0, 1 and True are different constants.
        key = (
            (type(value), repr(value)) if not isinstance(value, CodeType) else (CodeType, id(value))
        )
        if key not in self._constant_numbers:
            self._constant_numbers[key] = len(self.constants)
            self.constants.append(value)
        return self._constant_numbers[key]

    # ---- Places

    def mark(self, label: Label) -> None:
        """Let a label be here."""
        self._unbinding = -1
        label.place = len(self.code)
        for use in label.uses:
            self.code[use] = label.place

    # ---- Handlers

    def open(self, region: Region) -> None:
        """From here on, exceptions go on at the region's label."""
        self._unbinding = -1
        region.begin = len(self.code)
        self.regions.append(region)

    def close(self, region: Region) -> None:
        """End the region that was opened last."""
        self.regions.remove(region)
        self._end_stretch(region)

    def _end_stretch(self, region: Region) -> None:
        self._unbinding = -1
        if len(self.code) > region.begin:
            self.handlers.append((region, (region.begin, len(self.code))))

    @contextmanager
    def outside(self, count: int) -> Generator[None]:
        """Write instructions that only the first so many regions cover."""
        left = self.regions[count:]
        for region in reversed(left):
            self._end_stretch(region)
        del self.regions[count:]
        try:
            yield
        finally:
            self._unbinding = -1
            for region in left:
                region.begin = len(self.code)
            self.regions[count:] = left

    def handler_table(self) -> list[list[int]]:
        """Return begin, end, place and register of each stretch, inner ones first."""
        return [
            [begin, end, region.label.place, region.register]
            for region, (begin, end) in sorted(
                self.handlers, key=lambda item: item[1][1] - item[1][0]
            )
        ]
