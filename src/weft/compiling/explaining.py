"""What is compiled of a function and of all that it calls, as far as it can be known."""

from __future__ import annotations

import builtins
import functools
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from weft import _core
from weft.compiling.listing import Instruction, instructions, lines_of
from weft.compiling.lower import lower
from weft.compiling.refusals import Refusal, RefusedError
from weft.nn import Module

# Of Python's own functions, those that do the same wherever they are called from.
_EXACT = frozenset(
    "abs all any bool dict divmod enumerate filter float frozenset getattr hasattr hash id int "
    "isinstance issubclass iter len list map max min next object ord chr pow range repr reversed "
    "round set slice sorted str sum super tuple type zip".split()
)
# What the core runs: ops, and what stands for modules and composites that are one op.
_CORE_FUNCTIONS = (_core.OpFunction, _core.NumberFunction, _core.OpForward, _core.CellForward)
_MOST_SHOWN = 60  # letters of a value


@dataclass(frozen=True)
class Compiled:
    """A function that is compiled."""

    file: str
    line: int
    name: str
    instructions: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.name}: {self.instructions} instructions"


@dataclass(frozen=True)
class HostCall:
    """A call that Python runs, and why."""

    file: str
    line: int
    function: str
    called: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}: {self.called}: {self.reason}"


@dataclass(frozen=True)
class Outside:
    """A global, or a variable around the function, which is read each time."""

    file: str
    line: int
    function: str
    name: str
    value: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}: {self.name} = {self.value}"


@dataclass
class Explanation:
    """What is compiled of a function and of what it calls; printed, a text."""

    compiled: list[Compiled] = field(default_factory=list[Compiled])
    python: list[HostCall] = field(default_factory=list[HostCall])
    outside: list[Outside] = field(default_factory=list[Outside])
    refusals: list[Refusal] = field(default_factory=list[Refusal])
    open_calls: int = 0

    def __str__(self) -> str:
        total = sum(item.instructions for item in self.compiled)
        parts = [
            _block(
                f"compiled: {len(self.compiled)} functions, {total} instructions", self.compiled
            ),
            _block(f"runs as Python: {len(self.python)} calls", self.python),
            _block(f"not compiled: {len(self.refusals)} constructs", self.refusals),
            _block(f"read from outside: {len(self.outside)} names", self.outside),
        ]
        if self.open_calls:
            parts.append(f"calls of what is known only when they run: {self.open_calls}")
        return "\n".join(part for part in parts if part)

    __repr__ = __str__


def _block(head: str, items: list[Any]) -> str:
    return "\n".join([head, *(f"  {item}" for item in items)]) if items else ""


def _shown(value: object) -> str:
    if isinstance(value, (FunctionType, type, BuiltinFunctionType)):
        return f"{type(value).__name__} {value.__name__}"
    if isinstance(value, ModuleType):
        return f"module {value.__name__}"
    if isinstance(value, (_core.Tensor, Module)):
        return type(value).__name__
    text = repr(value) if isinstance(value, (int, float, str, bool, type(None))) else ""
    return text if text and len(text) <= _MOST_SHOWN else type(value).__name__


class _Unknown:
    """What a register holds that is known only when it runs."""


_UNKNOWN = _Unknown()


def _attribute(owner: object, name: str) -> object:
    """Return an attribute that can be read without running anything of the user's."""
    if isinstance(owner, Module):
        if name in owner.__dict__:
            return owner.__dict__[name]
        found: object = getattr(type(owner), name, _UNKNOWN)
        return MethodType(found, owner) if isinstance(found, FunctionType) else _UNKNOWN
    if isinstance(owner, (ModuleType, type)) and name in vars(owner):
        return getattr(owner, name, _UNKNOWN)
    return _UNKNOWN


def _is_exact(callee: Any) -> bool:
    if inspect.isclass(callee) and issubclass(callee, BaseException):
        return True
    if isinstance(callee, _CORE_FUNCTIONS):
        return True
    if getattr(callee, "__module__", None) == math.__name__:
        return True
    name = getattr(callee, "__name__", "")
    return name in _EXACT and getattr(builtins, name) is callee


class _Walk:
    """Goes through a function and what it calls, each once."""

    def __init__(self, *, into_library: bool) -> None:
        self.explanation = Explanation()
        self.into_library = into_library
        self.seen: set[CodeType] = set()
        self.may_compare_numbers = False  # by `is`, which routines refuse
        self.waiting: list[tuple[FunctionType, object]] = []

    def add(self, function: FunctionType, receiver: object = _UNKNOWN) -> str | None:
        """Note a function that is called; return why it is not compiled, if so."""
        refusals = refusals_in(function)
        if refusals:
            known = self.explanation.refusals
            known += [item for item in refusals if item not in known]
            return "it is not compiled"
        if function.__code__ not in self.seen:
            self.seen.add(function.__code__)
            self.waiting.append((function, receiver))
        return None

    def run(self) -> None:
        """Go through all that waits."""
        while self.waiting:
            self._through(*self.waiting.pop(0))

    def _through(self, function: FunctionType, receiver: object) -> None:
        routine = _core.routine_of(function)
        assert routine is not None
        code = function.__code__
        found = list(instructions(routine))
        made = Compiled(code.co_filename, code.co_firstlineno, function.__qualname__, len(found))
        self.explanation.compiled.append(made)
        is_library = (function.__module__ or "").startswith("weft.")
        if is_library and not self.into_library:
            return
        values: dict[int, object] = {0: receiver} if code.co_argcount else {}
        self._routine(function, routine, found, values)

    def _routine(
        self,
        function: FunctionType,
        routine: _core.Routine,
        found: list[Instruction],
        values: dict[int, object],
    ) -> None:
        lines = lines_of(function.__code__)
        offsets = routine.offsets
        for instruction in found:
            line = lines.get(offsets[instruction.place], function.__code__.co_firstlineno)
            value = self._value(function, routine, instruction, values, line)
            self._call(function, instruction, values, line)
            self._compare(routine, instruction, values)
            targets = [number for letter, number in instruction.operands if letter == "w"]
            for number in targets:
                values.pop(number, None)
            is_variable = bool(targets) and targets[0] < len(routine.variables)
            if targets and value is not _UNKNOWN and not is_variable:
                values[targets[0]] = value
        for nested in routine.nested:
            self._nested(function, nested)

    def _nested(self, function: FunctionType, nested: _core.Routine) -> None:
        for instruction in instructions(nested):
            if instruction.name == "global":
                line = function.__code__.co_firstlineno
                self._value(function, nested, instruction, {}, line)

    def _value(
        self,
        function: FunctionType,
        routine: _core.Routine,
        instruction: Instruction,
        values: dict[int, object],
        line: int,
    ) -> object:
        name, operands = instruction.name, instruction.operands
        if name == "global":
            text = routine.names[operands[1][1]]
            if text not in function.__globals__:
                return getattr(builtins, text, _UNKNOWN)
            value = function.__globals__[text]
            self._read(function, line, text, value)
            return value
        if name == "read_cell" and operands[3][1] == 1:
            text = routine.names[operands[2][1]]
            cells = dict(
                zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
            )
            try:
                value = cells[text].cell_contents
            except (KeyError, ValueError):
                return _UNKNOWN
            self._read(function, line, text, value)
            return value
        if name in ("move", "take"):
            return values.get(operands[1][1], _UNKNOWN)
        if name in ("get_attribute", "method"):
            owner = values.get(operands[-2][1], _UNKNOWN)
            return _attribute(owner, routine.names[operands[-1][1]])
        return _UNKNOWN

    def _read(self, function: FunctionType, line: int, name: str, value: object) -> None:
        code = function.__code__
        made = Outside(code.co_filename, line, function.__qualname__, name, _shown(value))
        if not any(
            (item.file, item.function, item.name) == (made.file, made.function, made.name)
            for item in self.explanation.outside
        ):
            self.explanation.outside.append(made)

    def _call(
        self,
        function: FunctionType,
        instruction: Instruction,
        values: dict[int, object],
        line: int,
    ) -> None:
        if instruction.name not in ("call", "call_method", "call_spread"):
            return
        callee = values.get(instruction.operands[1][1], _UNKNOWN)
        if callee is _UNKNOWN:
            self.explanation.open_calls += 1
            return
        reason = self.reason(callee)
        if reason is not None:
            code = function.__code__
            called = getattr(callee, "__qualname__", type(callee).__qualname__)
            self.explanation.python.append(
                HostCall(code.co_filename, line, function.__qualname__, called, reason)
            )

    def _compare(
        self, routine: _core.Routine, instruction: Instruction, values: dict[int, object]
    ) -> None:
        if instruction.name not in ("is", "is_not"):
            return
        sides = [
            routine.constants[-2 - number] if number < 0 else values.get(number, _UNKNOWN)
            for letter, number in instruction.operands
            if letter == "r"
        ]
        is_number = [side is _UNKNOWN or isinstance(side, (int, float)) for side in sides]
        self.may_compare_numbers = self.may_compare_numbers or all(is_number)

    def reason(self, callee: object) -> str | None:
        """Return why Python runs a call, if it does."""
        if isinstance(callee, _core.CompiledCall):
            callee = callee._target
        if isinstance(callee, Module):
            if type(callee).__call__ is not Module.__call__:
                return "its class has a `__call__` of its own"
            if callee.__dict__.get("_hooks") is not None:
                return "it has hooks"
            callee = callee.forward
        receiver: object = _UNKNOWN
        if isinstance(callee, MethodType):
            receiver, callee = callee.__self__, callee.__func__
        if _core.is_composite(callee):
            return None
        if isinstance(callee, FunctionType):
            return self.add(callee, receiver)
        if _is_exact(callee):
            return None
        if isinstance(callee, type):
            return "Python makes the object, and runs its `__init__`"
        return "it is not written in Python"


def _source_refusals(function: FunctionType) -> list[Refusal]:
    try:
        lower(function)
    except RefusedError as error:
        return error.refusals
    except RecursionError:
        line = function.__code__.co_firstlineno
        where = function.__code__.co_filename, function.__qualname__
        return [Refusal(line, "an expression", "it is too deep", "smaller ones", *where)]
    return []


def refusals_in(function: FunctionType) -> list[Refusal]:
    """Return why a function is not compiled, if so."""
    return [] if _core.routine_of(function) is not None else _source_refusals(function)


def _walk(target: object, *, into_library: bool) -> _Walk:
    walk = _Walk(into_library=into_library)
    if isinstance(target, functools.partial):
        target = target.func
    reason = walk.reason(target)
    if reason is not None and not walk.explanation.refusals:
        name = getattr(target, "__qualname__", type(target).__qualname__)
        walk.explanation.python.append(HostCall("", 0, name, name, reason))
    walk.run()
    return walk


def explain(target: Callable[..., Any]) -> Explanation:
    """Say what is compiled of a function or module and of what it calls."""
    return _walk(target, into_library=False).explanation


def is_all_compiled(target: Callable[..., Any]) -> bool:
    """Tell whether nothing of a function, as far as can be known, is left to Python or refused."""
    walk = _walk(target, into_library=False)
    found = walk.explanation
    is_left = found.refusals or found.python or walk.may_compare_numbers
    return bool(found.compiled) and not is_left


def refusals_within(target: Callable[..., Any]) -> list[Refusal]:
    """Return all constructs that keep a function and those that it calls from being compiled."""
    return sorted(explain(target).refusals)
