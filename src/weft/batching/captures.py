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
_MOST_STRICT = 2048  # which are looked at for many examples together
_OF_ALL = {*dir(object)} - {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}
MISSING = object()
# What cannot change while it is the same object.
_CONSTANTS = (
    *(int, float, complex, str, bytes, bool, frozenset, type(None), type, Enum, range, ModuleType),
    *(slice, type(...), property),
    *(BuiltinFunctionType, MethodDescriptorType, MethodWrapperType, WrapperDescriptorType),
    *(_core.dtype, device, np.generic, np.dtype, np.ufunc),
)
_CONTAINERS = (list, dict, set, bytearray, np.ndarray)
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


@lru_cache(maxsize=1024)
def read_names(code: CodeType) -> frozenset[str]:
    """Return the names of attributes, and others, that code and code inside it has."""
    inside = (read_names(part) for part in code.co_consts if isinstance(part, CodeType))
    return frozenset(code.co_names).union(*inside)


def _paths(code: CodeType) -> Iterator[Path]:
    instructions = list(dis.get_instructions(code))
    for i, instruction in enumerate(instructions):
        name = instruction.opname
        if name in ("LOAD_GLOBAL", "LOAD_NAME"):
            kind = "global"
        elif name in ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"):
            kind = "closure"
        elif "LOAD_FAST" in name:
            kind = "local"
        else:
            continue
        read = instruction.argval
        if isinstance(read, tuple):  # two in one, since 3.13
            first, read = cast("tuple[str, str]", read)
            if name.startswith("LOAD"):
                yield Path(kind, first, ())
        yield Path(kind, read, _steps(instructions, i + 1))


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

    Args:
        strict: Nobody has said that the body is pure: also watch what programs hardly ever change,
            and run no code of the user's to look.

    Attributes:
        unknown: What it reads of which nobody can tell whether it has changed; empty if nothing.
        functions: Those of the user's that it may call, each with its first argument.
        found: What else was found on the way.
    """

    def __init__(self, *, strict: bool = False) -> None:
        self.strict = strict
        self.body: Any = None
        self.tensors: list[_core.Tensor] = []
        self.modules: list[Any] = []
        self.unknown = ""
        self.functions: list[tuple[FunctionType, Any]] = []
        self.found: list[Any] = []
        self._guards: dict[tuple[int, Any], tuple[Any, Any, Any]] = {}
        self._visits: dict[int, int] = {}  # how often a tensor was found
        self._names: set[str] = set()  # attributes that code takes of whatever it has
        self._seen: dict[tuple[int, ...], Any] = {}

    def guards(self) -> list[Guard]:
        """Return what must be found where.

        A tensor that is found in one place only, and is not a module's, may be another one later;
        the guard does not keep it.
        """
        places = [id(found) for _, _, found in self._guards.values()]
        soft = {
            id(tensor): index
            for index, tensor in enumerate(self._alone())
            if places.count(id(tensor)) == 1 and self._visits[id(tensor)] == 1
        }
        return [
            Guard(container, key, None if id(found) in soft else found, soft.get(id(found), -1))
            for container, key, found in self._guards.values()
        ]

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

    def read(self, body: Any) -> None:
        """Look at all that a function, a method or a module reads."""
        if isinstance(body, MethodType) and _is_module(body.__self__):
            self.read_module(body.__self__)
        self.body = body
        self._visit(body, "the body")
        self.follow_names()
        if self.strict:
            self._guard_types()

    def _guard_types(self) -> None:
        """Watch what operators, calls and attributes mean for tensors and modules."""
        for name in dir(_core.Tensor):
            found = getattr(_core.Tensor, name)
            is_read = name in self._names or (name.startswith("__") and name not in _OF_ALL)
            if is_read and found is getattr(_core.Tensor, name):  # a class method is made each time
                self._guard(_core.Tensor, name, found)
        parts: list[Any] = [part for module in self.modules for part in module.modules()]
        for kind in cast("set[Any]", {type(part) for part in parts}):
            for name in ("__call__", "__getattribute__"):
                self._guard(kind, name, getattr(kind, name))

    # ---- functions -------------------------------------------------------------------------------

    def read_function(self, function: Any, owner: Any = MISSING) -> None:
        """Look at what a function reads; its first argument is `owner`, if that is given."""
        if isinstance(function, MethodType):
            owner, function = function.__self__, function.__func__
        while _is_wrapper(function):
            function = function.__wrapped__
        if not isinstance(function, FunctionType) or _is_ours(function):
            return
        code = function.__code__
        self._names.update(read_names(code))
        if not self._is_new(function, owner):
            return
        self.functions.append((function, owner))
        if self.strict:
            self._guard(function, "__code__", code)
            self._guard(function, "__defaults__", function.__defaults__)
            self._guard(function, "__kwdefaults__", function.__kwdefaults__)
            for key, value in (function.__kwdefaults__ or {}).items():
                self._guard(function.__kwdefaults__, key, value)
        owner_name = code.co_varnames[0] if code.co_argcount and owner is not MISSING else None
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
            if "forward" in part.__dict__:
                self._visit(part.__dict__["forward"], f"{type(part).__name__}.forward")
            for kind in type(part).__mro__:
                self._read_method(kind, "forward", part)

    def follow_names(self) -> None:
        """Look at what is reached by names that are not known: an attribute of each module.

        `for layer in self.layers: layer.step(x)` reads all that `step` reads.
        """
        before = -1
        while before != len(self._seen):
            before = len(self._seen)
            for part in [part for module in self.modules for part in module.modules()]:
                if _is_ours(type(part)):
                    continue
                for name in list(self._names):
                    found = part.__dict__.get(name, MISSING)
                    if found is MISSING:
                        self._read_attribute_of_class(part, name)
                    elif not isinstance(found, _core.Tensor):
                        self._visit(found, f"{type(part).__name__}.{name}")

    def _read_method(self, kind: Any, name: str, owner: Any) -> None:
        found = kind.__dict__.get(name)
        if found is not None and (self.strict or not _is_ours(kind)):
            # One of them may hide the other's later.
            for place in cast("tuple[Any, ...]", (kind, type(owner))):
                self._guard(place, name, getattr(place, name, None))
        self.read_function(found, owner)

    def _read_attribute_of_class(self, value: Any, name: str) -> None:
        """Look at a method, a property, or what all instances share."""
        for kind in type(value).__mro__:
            found = kind.__dict__.get(name, MISSING)
            if found is MISSING or _is_ours(kind):
                continue
            if isinstance(found, (property, staticmethod)):
                self._guard(type(value), name, getattr(cast("Any", type(value)), name, None))
            if isinstance(found, property):
                self.read_function(found.fget, value)
            elif isinstance(found, (FunctionType, _core.Cell, _core.CellForward)):
                self._read_method(kind, name, value)
            elif isinstance(found, (staticmethod, classmethod)):
                self._visit(cast("Any", found).__func__, f"{type(value).__name__}.{name}")
            else:
                self._guard(value, name, getattr(value, name, None))
                self._visit(found, f"{type(value).__name__}.{name}")

    # ---- paths -----------------------------------------------------------------------------------

    def _read(self, container: Any, key: Any, path: Path) -> None:
        found = _look_up(container, key)
        if found is MISSING:
            return
        if self.strict or not isinstance(found, ModuleType):
            self._guard(container, key, found)
        self._follow(found, path)

    def _follow(self, value: Any, path: Path) -> None:
        """Go along a path as far as it is one, and look at what is at its end."""
        shown = path.name
        for kind, key in path.steps:
            if isinstance(value, _core.Tensor):
                break
            if isinstance(value, ModuleType) and value.__name__.partition(".")[0] == "weft":
                found = getattr(value, key, MISSING)
                if not self.strict or kind == "item" or found is MISSING:
                    return
                self._guard(value, key, found)
                value = found
                continue
            if self.strict and not _is_plain(value):
                self.unknown = self.unknown or f"{shown}, a {type(value).__name__}"
                return
            attributes: Any = getattr(value, "__dict__", None)
            if kind == "item":
                if type(value) not in (list, dict, tuple):
                    break
                container: Any = value
            elif type(attributes) is dict and key in attributes:
                container = cast("Any", attributes)
            else:
                # What its class has; what a property computes is seen in what that reads.
                if not isinstance(value, (type, ModuleType)):
                    self._read_attribute_of_class(value, key)
                    break
                container = value
            found = _look_up(container, key)
            if found is MISSING:
                break
            if _is_module(value):
                self.read_module(value)  # setting an attribute of a module is seen by itself
                if self.strict:
                    self._guard(container, key, found)
            elif not isinstance(value, tuple):
                self._guard(container, key, found)
            value = found
            shown += f".{key}" if kind == "attribute" else f"[{key!r}]"
        self._visit(value, path=shown)

    def _visit(self, value: Any, path: str) -> None:
        """Note what was found: a tensor, or what in turn reads others."""
        self.found.append(value)
        if isinstance(value, _CONSTANTS):
            pass
        elif isinstance(value, _core.Tensor):
            self._visits[id(value)] = self._visits.get(id(value), 0) + 1
            if self._visits[id(value)] == 1:
                self.tensors.append(value)
        elif _is_module(value):
            self.read_module(value)
        elif isinstance(value, _FUNCTIONS):
            self.read_function(value)
        elif type(value).__module__ == "functools" and not isinstance(value, partial):
            self.read_function(getattr(value, "__wrapped__", None))
        elif self._is_new(value) and not self.unknown:
            self._visit_parts(value, path)

    def _visit_parts(self, value: Any, path: str) -> None:
        attributes: Any = getattr(value, "__dict__", None)
        kind = type(value).__name__
        if isinstance(value, tuple):
            for part in cast("tuple[Any, ...]", value):
                self._visit(part, path)
        elif self.strict and type(value) is dict:
            self.unknown = self.unknown or f"{path}, a dict"  # of which nobody watches the order
        elif type(value) is list or type(value) is dict:
            items = cast("list[Any] | dict[Any, Any]", value)
            self._guard(items, len, len(items))
            for key in items if isinstance(items, dict) else range(len(items)):
                if self.unknown:
                    break
                self._guard(items, key, items[key])
                self._visit(items[key], f"{path}[{key!r}]")
        elif isinstance(value, partial):
            for part in cast("list[Any]", [value.func, *value.args, *value.keywords.values()]):
                self._visit(part, path)
        elif callable(value) and _is_ours(value) and not isinstance(value, _CONTAINERS):
            pass
        elif type(attributes) is dict and not isinstance(value, _CONTAINERS):
            self._guard(attributes, len, len(cast("dict[str, Any]", attributes)))
            for key, part in cast("dict[str, Any]", attributes).items():
                self._guard(attributes, key, part)
                self._visit(part, f"{path}.{key}")
            for name in ("__call__", *self._names):
                self._read_attribute_of_class(value, name)
        else:
            self.unknown = self.unknown or f"{path}, a {kind}"

    def _guard(self, container: Any, key: Any, found: Any) -> None:
        self._guards.setdefault((id(container), key), (container, key, found))
        most = _MOST_STRICT if self.strict else _MOST_GUARDS
        if len(self._guards) > most:
            self.unknown = self.unknown or f"more than {most} things"

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
        return MISSING


def where_made(thing: Any) -> str:
    """Return the module that a function or class was made in: `wraps` copies another one's name."""
    if isinstance(thing, FunctionType):
        return str(thing.__globals__.get("__name__", ""))
    if thing is _core.Tensor:
        return "weft"  # under `weft run` it goes by PyTorch's name
    return str(getattr(thing, "__module__", ""))


def _is_module(value: Any) -> bool:
    return isinstance(value, _core.Forward)


def _is_plain(value: Any) -> bool:
    """Tell whether looking at its attributes runs nobody's code."""
    plain = (list, dict, tuple, ModuleType, *_FUNCTIONS, *_CONSTANTS)
    return _is_module(value) or isinstance(value, plain)


def _is_wrapper(function: Any) -> bool:
    is_cell = isinstance(function, (_core.Cell, _core.CellForward))
    return is_cell or (hasattr(function, "__wrapped__") and _is_ours(function))


def _is_ours(thing: Any) -> bool:
    """Tell whether it is made where nothing depends on what users change."""
    name = where_made(thing)
    return name.partition(".")[0] in ("weft", "numpy", "operator", "builtins")
