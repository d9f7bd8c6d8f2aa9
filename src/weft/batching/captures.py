"""What a function reads from outside of itself, and how to see that it has changed."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from enum import Enum
from functools import lru_cache, partial
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, NamedTuple, cast

import numpy as np

from weft import _core
from weft._tensor import device

_MOST_GUARDS = 256
_MISSING = object()
# What cannot change while it is the same object.
_CONSTANTS = (
    *(int, float, complex, str, bytes, bool, frozenset, type(None), type, Enum, range, ModuleType),
    *(BuiltinFunctionType, MethodDescriptorType, MethodWrapperType, WrapperDescriptorType),
    *(_core.dtype, device, np.generic, np.dtype, np.ufunc),
)
_FUNCTIONS = (FunctionType, MethodType, _core.Cell, _core.CellForward)


class Guard(NamedTuple):
    """What was found in a place. None as the key asks for what a closure's cell holds."""

    container: Any
    key: Any
    found: Any
    parameter: int  # a tensor there may be another one next time: its place in the parameters


class Path(NamedTuple):
    """A name that code reads, and the attributes and constant items that it takes of it at once."""

    kind: str  # "local", "closure" or "global"
    name: str
    steps: tuple[tuple[str, Any], ...]


@lru_cache(maxsize=1024)
def read_paths(code: CodeType) -> tuple[Path, ...]:
    """Return all that code, and code inside it, reads by name."""
    found = dict.fromkeys(_paths(code))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found.update(dict.fromkeys(read_paths(constant)))
    return tuple(found)


def _paths(code: CodeType) -> Iterator[Path]:
    instructions = list(dis.get_instructions(code))
    for i, instruction in enumerate(instructions):
        name = instruction.opname
        if name in ("LOAD_GLOBAL", "LOAD_NAME"):
            kind = "global"
        elif name in ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"):
            kind = "closure"
        elif name.startswith("LOAD_FAST"):
            kind = "local"
        else:
            continue
        read = instruction.argval
        yield Path(kind, read[-1] if isinstance(read, tuple) else read, _steps(instructions, i + 1))


def _steps(instructions: list[dis.Instruction], at: int) -> tuple[tuple[str, Any], ...]:
    steps: list[tuple[str, Any]] = []
    while at < len(instructions):
        name, argument = instructions[at].opname, instructions[at].argval
        if name in ("LOAD_ATTR", "LOAD_METHOD"):
            steps.append(("attribute", argument))
            at += 1
        elif (
            name.startswith("LOAD_CONST")
            and isinstance(argument, (int, str))
            and at + 1 < len(instructions)
            and (
                instructions[at + 1].opname == "BINARY_SUBSCR"
                or instructions[at + 1].argrepr == "[]"
            )
        ):
            steps.append(("item", argument))
            at += 2
        else:
            break
    return tuple(steps)


class Captures:
    """What a body reads from outside: tensors, modules, and guards for the way to them.

    Attributes:
        unknown: What it reads of which nobody can tell whether it has changed; empty if nothing.
    """

    def __init__(self) -> None:
        self.tensors: list[_core.Tensor] = []
        self.modules: list[Any] = []
        self.unknown = ""
        self._guards: dict[tuple[int, Any], tuple[Any, Any, Any]] = {}
        self._seen: dict[tuple[int, ...], Any] = {}

    def guards(self) -> list[Guard]:
        """Return what must be found where.

        A tensor that is found in one place only, and is not a module's, may be another one later.
        """
        places = [id(found) for _, _, found in self._guards.values()]
        soft = {
            id(tensor): index
            for index, tensor in enumerate(self._alone())
            if places.count(id(tensor)) == 1
        }
        return [Guard(*guard, soft.get(id(guard[2]), -1)) for guard in self._guards.values()]

    def parameters(self) -> list[_core.Tensor]:
        """Return the tensors that it reads, those of modules last."""
        return [*self._alone(), *self._of_modules().values()]

    def _of_modules(self) -> dict[int, _core.Tensor]:
        return {
            id(tensor): tensor
            for module in self.modules
            for tensor in (*module.parameters(), *module.buffers())
        }

    def _alone(self) -> list[_core.Tensor]:
        of_modules = self._of_modules()
        return [tensor for tensor in self.tensors if id(tensor) not in of_modules]

    # ---- functions -------------------------------------------------------------------------------

    def read_function(self, function: Any, owner: Any = _MISSING) -> None:
        """Look at what a function reads; its first argument is `owner`, if that is given."""
        if isinstance(function, MethodType):
            owner, function = function.__self__, function.__func__
        while _is_wrapper(function):
            function = function.__wrapped__
        if not isinstance(function, FunctionType) or _is_ours(function):
            return
        code = function.__code__
        if not self._is_new(code, owner, *(function.__closure__ or ())):
            return
        owner_name = code.co_varnames[0] if code.co_argcount and owner is not _MISSING else None
        closure = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        for path in read_paths(code):
            if path.name == owner_name and path.kind != "global":
                self._follow(owner, path)
            elif path.kind == "closure" and path.name in closure:
                self._read(closure[path.name], None, path)
            elif path.kind == "global" and path.name in function.__globals__:
                self._read(function.__globals__, path.name, path)
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._visit(default, path=f"an argument of {function.__name__}")

    def read_module(self, module: Any) -> None:
        """Look at what a module, and those inside it, read besides parameters and buffers."""
        if not any(module is other for other in self.modules):
            self.modules.append(module)
        for part in module.modules():
            if not self._is_new(part):
                continue
            for kind in type(part).__mro__:
                self.read_function(kind.__dict__.get("forward"), part)

    # ---- paths -----------------------------------------------------------------------------------

    def _read(self, container: Any, key: Any, path: Path) -> None:
        found = _look_up(container, key)
        if found is _MISSING:
            return
        if not isinstance(found, ModuleType):
            self._guard(container, key, found)
        self._follow(found, path)

    def _follow(self, value: Any, path: Path) -> None:
        """Go along a path as far as it is one, and look at what is at its end."""
        shown = path.name
        for kind, key in path.steps:
            if isinstance(value, (_core.Tensor, FunctionType, _core.Cell)):
                break
            if isinstance(value, ModuleType) and value.__name__.partition(".")[0] == "weft":
                return
            container: Any = value
            if kind == "attribute":
                attributes: Any = getattr(value, "__dict__", None)
                if type(attributes) is dict and key in attributes:
                    container = cast("Any", attributes)
            elif not isinstance(value, (list, dict, tuple)):
                break
            found = _look_up(container, key)
            if found is _MISSING:
                break
            if _is_module(value):
                # Setting an attribute of a module is seen by itself.
                self.read_module(value)
            elif not isinstance(value, tuple) and not isinstance(found, MethodType):
                self._guard(container, key, found)
            value = found
            shown += f".{key}" if kind == "attribute" else f"[{key!r}]"
        self._visit(value, path=shown)

    def _visit(self, value: Any, path: str) -> None:
        """Note what was found: a tensor, or what in turn reads others."""
        if isinstance(value, _CONSTANTS):
            pass
        elif isinstance(value, _core.Tensor):
            if not any(value is other for other in self.tensors):
                self.tensors.append(value)
        elif _is_module(value):
            self.read_module(value)
        elif isinstance(value, _FUNCTIONS):
            self.read_function(value)
        elif isinstance(getattr(value, "__wrapped__", None), FunctionType):
            self.read_function(value.__wrapped__)
        elif self._is_new(value):
            self._visit_parts(value, path)

    def _visit_parts(self, value: Any, path: str) -> None:
        attributes: Any = getattr(value, "__dict__", None)
        if isinstance(value, tuple):
            for part in cast("tuple[Any, ...]", value):
                self._visit(part, path)
        elif type(value) is list or type(value) is dict:
            items = cast("list[Any] | dict[Any, Any]", value)
            self._guard(items, len, len(items))
            for key in items if isinstance(items, dict) else range(len(items)):
                self._guard(items, key, items[key])
                self._visit(items[key], f"{path}[{key!r}]")
        elif isinstance(value, partial):
            for part in cast("list[Any]", [value.func, *value.args, *value.keywords.values()]):
                self._visit(part, path)
        elif callable(value) and _is_ours(value):
            pass
        elif type(attributes) is dict:
            for key, part in cast("dict[str, Any]", attributes).items():
                self._guard(attributes, key, part)
                self._visit(part, f"{path}.{key}")
            self.read_function(type(value).__dict__.get("__call__"), value)
        else:
            self.unknown = self.unknown or f"{path}, a {type(value).__name__}"

    def _guard(self, container: Any, key: Any, found: Any) -> None:
        self._guards.setdefault((id(container), key), (container, key, found))
        if len(self._guards) > _MOST_GUARDS:
            self.unknown = self.unknown or f"more than {_MOST_GUARDS} things"

    def _is_new(self, *things: Any) -> bool:
        numbers = tuple(map(id, things))
        if numbers in self._seen:
            return False
        self._seen[numbers] = things  # alive, so that nothing else gets their numbers
        return True


def _look_up(container: Any, key: Any) -> Any:
    try:
        if isinstance(container, CellType):
            return container.cell_contents
        if isinstance(container, (list, dict, tuple)):
            return cast("Any", container)[key]
        return getattr(container, key)
    except (ValueError, LookupError, AttributeError, TypeError):
        return _MISSING


def _is_module(value: Any) -> bool:
    return isinstance(value, _core.Forward)


def _is_wrapper(function: Any) -> bool:
    is_cell = isinstance(function, (_core.Cell, _core.CellForward))
    return is_cell or (hasattr(function, "__wrapped__") and _is_ours(function))


def _is_ours(thing: Any) -> bool:
    """Tell whether it is made where nothing depends on what users change."""
    return str(thing.__module__).partition(".")[0] in ("weft", "numpy", "operator")
