"""Routines to be read: their instructions, with the lines of the source beside them."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import NamedTuple

from weft import _core

KINDS = _core.routine_instructions()
_SYMBOLS = {
    "unary": ("-", "+", "~", "not"),
    "binary": ("+", "-", "*", "/", "//", "%", "**", "@", "<<", ">>", "&", "|", "^"),
    "compare": ("<", "<=", "==", "!=", ">", ">="),
}
_SYMBOLS["inplace"] = _SYMBOLS["binary"]


class Listing(str):
    """A text that shows itself as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Instruction(NamedTuple):
    """One instruction: where it is, its number among the kinds, and its operands by letter."""

    place: int
    name: str
    operands: list[tuple[str, int]]


def instructions(routine: _core.Routine) -> Iterator[Instruction]:
    """Yield a routine's instructions."""
    code = routine.code
    place = 0
    while place < len(code):
        name, letters, _ = KINDS[code[place]]
        at = place + 1
        operands: list[tuple[str, int]] = []
        for i, letter in enumerate(letters):
            if letter == "*":
                continue
            count = 1
            if letters[i + 1 : i + 2] == "*":
                count = code[at]
                at += 1
            operands += [(letter, number) for number in code[at : at + count]]
            at += count
        yield Instruction(place, name, operands)
        place = at


def lines_of(code: CodeType) -> dict[int, int]:
    """Return the line of each byte of Python's own code."""
    return {
        offset: line
        for begin, end, line in code.co_lines()
        if line is not None
        for offset in range(begin, end, 2)
    }


def register_name(routine: _core.Routine, number: int) -> str:
    """Return what a register is called: a variable's name, or a number."""
    names = routine.variables
    return names[number] if number < len(names) else f"%{number - len(names)}"


def _constant(routine: _core.Routine, number: int) -> str:
    value = routine.constants[number]
    return value.co_name if isinstance(value, CodeType) else repr(value)


def _operand(routine: _core.Routine, name: str, index: int, letter: str, number: int) -> str:
    if number == -1 and letter in "RK":
        return "-"
    match letter:
        case "w" | "t" | "r" | "R" if number >= 0:
            return register_name(routine, number)
        case "r" | "R":
            return _constant(routine, -2 - number)
        case "k" | "K":
            return _constant(routine, number)
        case "n":
            return f".{routine.names[number]}"
        case "L":
            return f"-> {number}"
        case "f":
            return f"{routine.nested[number].name} {number}"
        case _:
            is_operator = index == 1 and name in _SYMBOLS
            return _SYMBOLS[name][number] if is_operator else str(number)


def written(routine: _core.Routine, instruction: Instruction) -> str:
    """Return an instruction as text: what it writes, its name, and what it reads."""
    _, name, operands = instruction
    texts = [
        (letter, _operand(routine, name, index, letter, number))
        for index, (letter, number) in enumerate(operands)
    ]
    targets = ", ".join(text for letter, text in texts if letter == "w")
    rest = " ".join(text for letter, text in texts if letter != "w")
    if not targets or name in ("unbind", "delete", "cell"):
        return f"{name} {targets}{rest}".rstrip()
    return f"{targets} = {name} {rest}".rstrip()


def _lines(routine: _core.Routine, code: CodeType) -> Iterator[str]:
    by_offset = lines_of(code)
    offsets = routine.offsets
    shown = None
    handled = {place: register_name(routine, target) for _, _, place, target in routine.handlers}
    for instruction in instructions(routine):
        line = by_offset.get(offsets[instruction.place])
        if line is not None and line != shown:
            shown = line
            yield f"{line:5} | {linecache.getline(code.co_filename, line).rstrip()}"
        if instruction.place in handled:
            yield f"      {'':5}   an exception: {handled[instruction.place]}"
        yield f"      {instruction.place:5}   {written(routine, instruction)}"
    for begin, end, place, _ in routine.handlers:
        yield f"      errors from {begin} to {end} -> {place}"


def _codes(code: CodeType) -> dict[str, list[CodeType]]:
    found: dict[str, list[CodeType]] = {}
    for item in code.co_consts:
        if isinstance(item, CodeType):
            found.setdefault(item.co_name, []).append(item)
    return found


def _with_nested(routine: _core.Routine, code: CodeType, name: str) -> Iterator[str]:
    place = f"{code.co_filename}:{code.co_firstlineno}"
    yield f"{name} ({place}): {routine.registers} registers"
    yield from _lines(routine, code)
    inside = _codes(code)
    for number, nested in enumerate(routine.nested):
        codes = inside.get(nested.name)
        yield ""
        yield from _with_nested(
            nested, codes.pop(0) if codes else code, f"{name}.{nested.name} {number}"
        )


def listing(function: FunctionType | None) -> Listing:
    """Return a function's routine as text."""
    routine = _core.routine_of(function) if function is not None else None
    if routine is None or function is None:
        return Listing("nothing is compiled: Python runs it, and explain() says why")
    return Listing("\n".join(_with_nested(routine, function.__code__, function.__qualname__)))
