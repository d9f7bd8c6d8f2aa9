"""Whether a function is pure for all that its code shows: it only reads, computes and decides."""

from __future__ import annotations

import builtins
import dis
import math
import operator
from collections.abc import Iterator
from functools import cache
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NoReturn, cast

from weft import _core
from weft.batching.captures import MISSING, Captures, where_made

_UNKNOWN = object()  # what some code has made: a tensor, a module, a number, a container
_CALLS = {
    *(abs, all, any, callable, divmod, isinstance, iter, len, max, min, pow, round, sorted, sum),
    *(bool, enumerate, filter, float, int, list, map, range, reversed, slice, str, tuple, zip),
}
_READS = {"items", "keys", "values", "get"}  # of containers
_FACTS = {
    *("T", "mT", "H", "mH", "dtype", "itemsize", "ndim", "shape", "device", "nbytes", "detach"),
    *("dim", "item", "nelement", "numel", "size", "tolist"),
}
_CONSTANTS = (int, float, complex, str, bytes, bool, type(None), type(...), range, _core.dtype)
_PLAIN_KINDS = {*_CONSTANTS, _core.OpFunction, _core.Cell, list, tuple}
# Neither stores anything but in local variables, nor catches, imports, opens a context, or asks
# what is the same object, as sets do.
_INSTRUCTIONS = frozenset(
    """
    BINARY_OP BINARY_SLICE BINARY_SUBSCR BUILD_CONST_KEY_MAP BUILD_LIST
    BUILD_SLICE BUILD_STRING BUILD_TUPLE CACHE CALL CALL_FUNCTION_EX CALL_INTRINSIC_1 CALL_KW
    COMPARE_OP CONTAINS_OP CONVERT_VALUE COPY COPY_FREE_VARS DELETE_FAST
    END_FOR EXTENDED_ARG FORMAT_SIMPLE FORMAT_VALUE FORMAT_WITH_SPEC FOR_ITER GET_ITER IS_OP
    JUMP_BACKWARD JUMP_FORWARD KW_NAMES LIST_APPEND LIST_EXTEND LIST_TO_TUPLE LOAD_ASSERTION_ERROR
    LOAD_ATTR LOAD_CLOSURE LOAD_CONST LOAD_DEREF LOAD_FAST LOAD_FAST_AND_CLEAR LOAD_FAST_CHECK
    LOAD_FAST_LOAD_FAST LOAD_GLOBAL LOAD_METHOD MAKE_CELL MAKE_FUNCTION NOP POP_TOP PRECALL
    PUSH_NULL RAISE_VARARGS RERAISE RESUME RETURN_CONST RETURN_GENERATOR RETURN_VALUE
    SET_FUNCTION_ATTRIBUTE STORE_DEREF STORE_FAST STORE_FAST_LOAD_FAST
    STORE_FAST_STORE_FAST SWAP TO_BOOL UNARY_INVERT UNARY_NEGATIVE UNARY_NOT UNARY_POSITIVE
    UNPACK_EX UNPACK_SEQUENCE YIELD_VALUE
    """.split()
)


class NotKnownError(Exception):
    """It may be pure, but that cannot be seen."""


def _refuse(what: str) -> NoReturn:
    raise NotKnownError(what)


def _tensor_names() -> frozenset[str]:
    """Return the names of a tensor's methods that are ops, and of what says what it is."""
    names = {
        name
        for name in dir(_core.Tensor)
        if not name.endswith("_") and _is_op(getattr(_core.Tensor, name))
    }
    return frozenset(names | _FACTS)


def _is_op(function: Any) -> bool:
    if isinstance(function, _core.OpFunction):
        return not function.__name__.endswith("_")
    where = where_made(function)
    return isinstance(function, FunctionType) and (
        where.startswith("weft.functional") or where == "weft.nn.functional"
    )


class Proof:
    """Goes through all code that a body may run; raises what it cannot prove."""

    def __init__(self, captures: Captures) -> None:
        self.parts = [part for module in captures.modules for part in module.modules()]
        # What code takes of something that is not known. A module has some methods of a tensor's
        # names, which change it.
        written = {name for kind in (list, dict, set, bytearray) for name in dir(kind)}
        others = written.union(dir(str), dir(_core.Tensor))
        fields = {name for part in self.parts for name in _fields(part)} - others
        self.tensor_names = _tensor_names()
        methods = {name for part in self.parts for name in _methods(cast("Any", type(part)))}
        self.names = (((self.tensor_names - written) | _READS) - methods) | fields

    def run(self, captures: Captures) -> None:
        """Look at all that was found, and at the code of all functions."""
        for part in self.parts:
            _check_part(part)
            for name in self.names & part.__dict__.keys():
                _check_value(part.__dict__[name])
        for value in captures.found:
            if isinstance(value, ModuleType):
                _refuse(f"the module {value.__name__} as a value")
            if value is not captures.body:
                _check_value(value)
        for name in dir(_core.Tensor):
            found = getattr(_core.Tensor, name)
            if name.startswith("__") and isinstance(found, FunctionType) and _is_users(found):
                _refuse(f"another {name}")
        for function, owner in captures.functions:
            self.check_code(function.__code__, function, owner)

    def check_code(self, code: CodeType, function: FunctionType, owner: Any) -> None:
        """Look at each instruction, with what the one before has loaded."""
        stored = {one for step in dis.get_instructions(code) for one in _stored(step)}
        first = code.co_varnames[0] if code.co_argcount else None
        if owner is MISSING or code is not function.__code__ or first in stored:
            first = None
        at_hand: Any = _UNKNOWN
        before: dis.Instruction | None = None
        for step in dis.get_instructions(code):
            if step.is_jump_target:
                at_hand, before = _UNKNOWN, None
            _check_instruction(step, before, code)
            if step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                at_hand = self.take_attribute(at_hand, step.argval)
            elif step.opname == "LOAD_GLOBAL":
                at_hand = _global(function, step.argval)
                _check_value(at_hand)
            elif step.opname == "LOAD_DEREF":
                at_hand = _closed_over(function, step.argval)
            elif "LOAD_FAST" in step.opname and first and _last(step.argval) == first:
                at_hand = owner
            elif step.opname not in ("CACHE", "EXTENDED_ARG"):
                at_hand = _UNKNOWN
            before = step
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self.check_code(constant, function, owner)

    def take_attribute(self, value: Any, name: str) -> Any:
        """Return what an attribute is, if that is known."""
        if value is _UNKNOWN:
            if name not in self.names:
                _refuse(f"{name} of something")
        elif isinstance(value, ModuleType):
            found = getattr(value, name, _UNKNOWN)
            _check_value(found)
            if not _is_users_module(value) and callable(found) and _is_users(found):
                _refuse(f"another {name}")
            return found
        elif isinstance(value, _core.Forward):
            if name in value.__dict__:
                return value.__dict__[name]
            found = getattr(type(value), name, None)
            if callable(found) and not _is_users(found) and not _is_op(found):
                _refuse(f"the method {name} of a module")
        elif isinstance(value, _core.Tensor):
            if name not in self.tensor_names:
                _refuse(f"{name} of a tensor")
        elif type(value) in (list, tuple, dict):
            if name not in _READS:
                _refuse(f"{name} of a container")
        elif type(value) not in _CONSTANTS:
            _refuse(f"{name} of a {type(value).__name__}")
        return _UNKNOWN


def _fields(part: Any) -> Iterator[str]:
    """Return the names of a module's attributes that are data."""
    for name, value in part.__dict__.items():
        if isinstance(value, (_core.Tensor, _core.Forward)) or type(value) in _CONSTANTS:
            yield name


def _methods(kind: Any) -> Iterator[str]:
    """Return the names of methods that a class of modules has from Weft."""
    for base in kind.__mro__:
        if not _is_users(base):
            yield from (name for name, value in base.__dict__.items() if callable(value))


def _last(names: Any) -> Any:
    """Return the name that is loaded last: some instructions load two."""
    return cast("tuple[str, ...]", names)[-1] if isinstance(names, tuple) else names


def _stored(step: dis.Instruction) -> tuple[str, ...]:
    if "STORE_FAST" not in step.opname and step.opname != "DELETE_FAST":
        return ()
    names = step.argval
    return cast("tuple[str, ...]", names) if isinstance(names, tuple) else (names,)


def _check_instruction(
    step: dis.Instruction, before: dis.Instruction | None, code: CodeType
) -> None:
    name = step.opname
    if name.startswith("POP_JUMP"):
        return
    if name not in _INSTRUCTIONS:
        _refuse(name)
    if name in ("YIELD_VALUE", "RETURN_GENERATOR") and code.co_name != "<genexpr>":
        _refuse("a generator")
    if name == "STORE_DEREF" and step.argval in code.co_freevars:
        _refuse("a variable of a function around it")
    by_constant = before is not None and before.opname.startswith(("LOAD_CONST", "LOAD_SMALL_INT"))
    if name in ("IS_OP", "CONTAINS_OP") and not by_constant:
        _refuse("what is the same object")
    # `count += 1` is a new number; of a list or a tensor it would be a write.
    by_number = by_constant and before is not None and isinstance(before.argval, (int, float))
    writes = name == "BINARY_OP" and step.argrepr.endswith("=")
    if writes and (step.argrepr == "*=" or not by_number):
        _refuse(step.argrepr)


def _global(function: FunctionType, name: str) -> Any:
    found = function.__globals__.get(name, _UNKNOWN)
    return getattr(builtins, name, _UNKNOWN) if found is _UNKNOWN else found


def _closed_over(function: FunctionType, name: str) -> Any:
    closure = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    try:
        return closure[name].cell_contents if name in closure else _UNKNOWN
    except ValueError:
        return _UNKNOWN


def _check_value(value: Any) -> None:
    """Refuse what does more than compute when it is called, or when an operator meets it."""
    kind = cast("Any", type(value))
    if isinstance(value, type):
        is_error = issubclass(value, Exception) and value.__module__ == "builtins"
        known = value in _CALLS or is_error
    elif isinstance(value, BuiltinFunctionType):
        known = value in _CALLS or value.__self__ in (math, operator)
    elif isinstance(value, FunctionType):
        # Code of the user's is looked at where it is found.
        known = _is_op(value) or _is_users(value)
    elif isinstance(value, MethodType):
        known = isinstance(value.__self__, _core.Forward) and _is_users(value.__func__)
    elif isinstance(value, _core.Tensor):
        known = not _is_users(kind)
    else:
        known = kind in _PLAIN_KINDS or isinstance(value, (_core.Forward, ModuleType))
        known = known or value is _tensor_function()
    if not known:
        _refuse(getattr(cast("Any", value), "__qualname__", f"a {kind.__name__}"))


def _is_users(thing: Any) -> bool:
    """Tell whether it is code of the user's, which is looked at where it is found."""
    return where_made(thing).partition(".")[0] not in ("weft", "numpy", "builtins")


@cache
def _tensor_function() -> Any:
    from weft._tensor import tensor  # noqa: PLC0415 - it is a function, and this a module of its own

    return tensor


def _is_users_module(module: ModuleType) -> bool:
    return module.__name__.partition(".")[0] != "weft"


def check_classes(module: Any) -> None:
    """Refuse modules of classes whose attributes run code when they are looked at."""
    for part in module.modules():
        _check_class(type(part))


def _check_part(part: Any) -> None:
    kind = cast("Any", type(part))
    _check_class(kind)
    if "forward" in part.__dict__:
        _refuse("a forward of its own")
    own = [base for base in kind.__mro__ if _is_users(base)]
    if _is_users(kind.forward) or where_made(kind.forward) == "weft.nn.module":  # or there is none
        return
    # What it runs is Weft's: that may call what others have put there.
    methods = [name for base in own for name, value in base.__dict__.items() if callable(value)]
    if set(methods) - _PLAIN:
        _refuse(f"{kind.__name__}.{methods[0]}")
    for name, value in part.__dict__.items():
        if callable(value) and not isinstance(value, _core.Forward) and _is_users(value):
            _refuse(f"{kind.__name__}.{name}")


def _check_class(kind: Any) -> None:
    """Refuse a class whose operators, calls or attributes are the user's own."""
    for base in kind.__mro__:
        if not _is_users(base):
            for name, value in base.__dict__.items():
                if isinstance(value, FunctionType) and _is_users(value):
                    _refuse(f"another {base.__name__}.{name}")
            continue
        for name, value in base.__dict__.items():
            is_code = callable(value) or hasattr(cast("Any", type(value)), "__get__")
            is_own = name.startswith("__") and name not in _PLAIN
            if is_code and (is_own or not isinstance(value, _METHODS)) and name not in _PLAIN:
                _refuse(f"{base.__name__}.{name}")


_METHODS = (FunctionType, staticmethod, property, type, _core.Cell, _core.CellForward)
_PLAIN = {"__init__", "__doc__", "__dict__", "__weakref__", "__init_subclass__"}


def why_not_pure(captures: Captures) -> str:
    """Return what keeps a body from being known to be pure; empty if nothing does."""
    try:
        Proof(captures).run(captures)
    except NotKnownError as reason:
        return str(reason)
    return ""
