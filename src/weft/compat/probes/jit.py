"""`torch.jit`: `script` compiles as `torch.compile` does; the rest returns what it is given."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, NoReturn

from weft._core import UnsupportedError
from weft.compat.probes.notices import say_once
from weft.compiling import CompiledModule, compile
from weft.nn import Module

__all__ = [
    "Final",
    "ScriptModule",
    "annotate",
    "compile",
    "disable",
    "export",
    "fork",
    "freeze",
    "ignore",
    "is_scripting",
    "is_tracing",
    "load",
    "optimize_for_inference",
    "optimized_execution",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

ScriptModule = Module


class ScriptedModule(CompiledModule):
    """A compiled module whose parts and state_dict are named as those of the module."""


def _of_module(name: str) -> Callable[..., Any]:
    def call(self: ScriptedModule, *args: Any, **kwargs: Any) -> Any:
        return getattr(vars(self)["_orig_mod"], name)(*args, **kwargs)

    return call


for _name in (
    "state_dict load_state_dict named_parameters parameters named_buffers buffers named_modules "
    "modules named_children children get_submodule get_parameter get_buffer"
).split():
    setattr(ScriptedModule, _name, _of_module(_name))


def script(obj: Any, *_: Any, **__: Any) -> Any:
    """Compile a function or module; a class is returned as it is."""
    if isinstance(obj, Module):
        return ScriptedModule(obj)
    return obj if isinstance(obj, type) else compile(obj)


def trace(func: Any, *_: Any, **__: Any) -> Any:
    """Return the function or module as it is, and say so once."""
    say_once("torch.jit.trace returns its argument: Weft runs the Python as it stands.")
    return func


def _same(obj: Any, *_: Any, **__: Any) -> Any:
    """Return the argument."""
    return obj


trace_module = trace
script_method = script_if_tracing = export = freeze = optimize_for_inference = _same


def ignore(drop: Any = False, **_: Any) -> Any:
    """Return the function as it is; also a decorator with arguments."""
    return drop if callable(drop) else _same


unused = _same
disable = ignore


def annotate(the_type: Any, the_value: Any) -> Any:
    """Return the value."""
    del the_type
    return the_value


def is_scripting() -> bool:
    """Return False."""
    return False


is_tracing = is_scripting


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function at once and return its result, for `wait`."""
    return func(*args, **kwargs)


def wait(future: Any) -> Any:
    """Return what `fork` returned."""
    return future


def optimized_execution(should_optimize: bool) -> AbstractContextManager[None]:
    """Return a context that does nothing."""
    del should_optimize
    return nullcontext()


def _refuse(*_: Any, **__: Any) -> NoReturn:
    """Raise: there are no compiled programs to read or write."""
    raise UnsupportedError(
        "torch.jit: TorchScript files are neither read nor written; save the state_dict."
    )


load = save = _refuse
