"""What `weft.compile` returns: a function or module that runs as routines."""

from __future__ import annotations

import copy
import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from types import FunctionType, MethodType
from typing import Any, ParamSpec, Self, TypeVar, cast, overload

from weft import _core
from weft._core import UnsupportedError
from weft.compiling.explaining import Explanation, explain, refusals_within
from weft.compiling.listing import Listing, listing
from weft.nn import Module

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")
_Compiled = TypeVar("_Compiled")

# Attributes that are the function's own wherever they are written.
_OF_FUNCTION = frozenset({"__code__", "__defaults__", "__kwdefaults__"})


def function_of(target: object) -> FunctionType | None:
    """Return the Python function that runs when something is called, if one does."""
    if isinstance(target, _core.CompiledCall):
        target = target._target
    if isinstance(target, Module):
        target = target.forward if _is_plain(target) else target.__call__
    if isinstance(target, MethodType):
        target = target.__func__
    return target if isinstance(target, FunctionType) else None


def _is_plain(module: Module) -> bool:
    return type(module).__call__ is Module.__call__


class CompiledFunction(_core.CompiledCall):
    """A function that runs as a routine; `compile` makes them."""

    __wrapped__: Callable[..., Any]

    def __init__(self, function: Callable[..., Any], /) -> None:
        functools.update_wrapper(self, function)

    def explain(self) -> Explanation:
        """Say what is compiled, what runs as Python and why, and what is read from outside."""
        return explain(self._target)

    def code(self) -> Listing:
        """Return the instructions, with the lines of the source beside them."""
        return listing(function_of(self))

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        if name == "__wrapped__":  # a copy that is being made
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OF_FUNCTION:
            setattr(self.__wrapped__, name, value)
        else:
            super().__setattr__(name, value)

    def __repr__(self) -> str:
        return f"<compiled {self.__wrapped__!r}>"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        if isinstance(self.__wrapped__, FunctionType):
            return self
        return type(self)(copy.deepcopy(self.__wrapped__, memo))

    def __reduce__(self) -> Any:
        """Say where pickle finds it: by its name if that is its own, else by its function."""
        found: Any = sys.modules.get(self.__module__)
        for name in getattr(self, "__qualname__", "<none>").split("."):
            found = getattr(found, name, None)
        return self.__qualname__ if found is self else (type(self), (self.__wrapped__,))


class CompiledModule(Module):
    """A module whose forward runs as a routine; `compile` makes them.

    As in PyTorch it has the module as `_orig_mod`: parameters and the state_dict are named so. All
    other attributes are those of the module.
    """

    _orig_mod: Module

    def __init__(self, module: Module) -> None:
        super().__init__()
        self._orig_mod = module

    def explain(self) -> Explanation:
        """Say what is compiled, what runs as Python and why, and what is read from outside."""
        return explain(self._orig_mod)

    def code(self) -> Listing:
        """Return the instructions, with the lines of the source beside them."""
        return listing(function_of(self._orig_mod))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the module's forward, with its hooks."""
        module = self._orig_mod
        if not _is_plain(module):
            return _core.CompiledCall(module.__call__)(*args, **kwargs)
        if module.__dict__.get("_hooks") is not None:
            return _call_with_hooks(module, args, kwargs)
        return _core.CompiledCall(module)(*args, **kwargs)

    def _as_call(self) -> _core.CompiledCall | None:
        """Return what a map calls for each example; None: hooks are called around it."""
        module = self._orig_mod
        is_plain = _is_plain(module) and not (self.__dict__.get("_hooks") or module._hooks)
        return _core.CompiledCall(module) if is_plain else None

    def __getattribute__(self, name: str) -> Any:
        if name == "training":
            return self._orig_mod.training
        return super().__getattribute__(name)

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":  # a copy that is being made
            raise AttributeError(name)
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __getitem__(self, key: Any) -> Any:
        return cast("Any", self._orig_mod)[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(cast("Any", self._orig_mod))

    def __len__(self) -> int:
        return len(cast("Any", self._orig_mod))

    def __bool__(self) -> bool:
        return True


_core.set_compiled_module_type(CompiledModule)
_call_with_hooks = _core.CompiledCall(vars(Module)["_call_with_hooks"])


@overload
def compile(
    model: Callable[_Given, _Result],
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Callable[_Given, _Result]: ...
@overload
def compile(
    model: None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Callable[[_Compiled], _Compiled]: ...
def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """Compile a function or module: all of it, with every branch, loop and call.

    What is compiled does what Python does: the same values, gradients, effects and errors. What it
    cannot do exactly, Python runs, at that place; `explain()` of what is returned says where. A
    debugger, tracer, profiler or coverage tool, and `WEFT_COMPILE=0`, let Python run all of it.

    It pays where ops follow one another, which are recorded as one from the second time on. What
    lies between takes longer than in Python. So calls are looked at: where more is lost than won,
    Python runs them for a while. That goes by counts, not by time.

    Args:
        model: a function, a method, a module, or None: then this returns a decorator.
        fullgraph: raise for what Python would have to run, all of it at once.
        dynamic: for PyTorch's programs; routines hold for all sizes.
        backend: the same; there is one.
        mode: the same; there is one.
        options: the same; there are none.
        disable: return the model as it is.

    Returns:
        What is called like the model: a module for a module, else a function.

    Raises:
        UnsupportedError: With `fullgraph`, something has no instructions.

    Example:
        >>> import weft
        >>> @weft.compile
        ... def fit(x, steps):
        ...     for _ in range(steps):
        ...         x = x - 0.5 * x
        ...     return x
        >>> fit(weft.tensor([8.0]), 3)
        tensor([1.])
    """
    if model is None:
        return functools.partial(
            compile,
            fullgraph=fullgraph,
            dynamic=dynamic,
            backend=backend,
            mode=mode,
            options=options,
            disable=disable,
        )
    if mode is not None and options is not None:
        raise RuntimeError("compile(): mode and options say the same; give one of them.")
    if disable:
        return model
    if isinstance(model, (staticmethod, classmethod)):
        method = cast("Any", model)
        return type(method)(compile(method.__func__, fullgraph=fullgraph))
    if not callable(model):
        raise TypeError(f"compile(): {type(model).__name__} is no function or module.")
    if fullgraph:
        refusals = refusals_within(model)
        if refusals:
            raise UnsupportedError("\n".join(str(refusal) for refusal in refusals))
    if isinstance(model, (CompiledFunction, CompiledModule)):
        return model
    if isinstance(model, Module):
        return CompiledModule(model)
    is_function = inspect.isroutine(model) or isinstance(model, type)
    call: Any = model if is_function else getattr(model, "__call__", model)  # noqa: B004
    return CompiledFunction(call if isinstance(call, MethodType) else model)
