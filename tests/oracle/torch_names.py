"""Write PyTorch's public names down, so that docs and tests can be made without PyTorch.

    python -m tests.oracle.torch_names

A line of scripts/torch_names.txt is a name and, of what can be called, its parameters, after "*"
those that are given by name only or have no fixed place. "?" stands before what PyTorch does not
document. The last section has the Module classes.
"""

from __future__ import annotations

import importlib
import inspect
import types
from pathlib import Path
from typing import Any

import torch

FILE = Path(__file__).parents[2] / "scripts" / "torch_names.txt"
PLACES = """
torch torch.Tensor torch.nn torch.nn.Module torch.nn.functional torch.nn.init torch.nn.utils
torch.nn.utils.rnn torch.nn.utils.parametrize torch.nn.utils.parametrizations torch.optim
torch.optim.Optimizer torch.optim.lr_scheduler torch.optim.swa_utils torch.autograd
torch.autograd.functional torch.autograd.graph torch.func torch.linalg torch.special torch.fft
torch.random torch.utils.data torch.utils.checkpoint torch.distributions
torch.distributions.constraints torch.amp
""".split()
# What the names begin with on the C++ side.
_PREFIXES = {"torch.linalg": "linalg_", "torch.special": "special_", "torch.fft": "fft_"}
_HELPERS = ("handle_torch_function", "has_torch_function", "boolean_dispatch", "assert_int_or_pair")


def place(name: str) -> Any:
    """Return a module, or a class in one."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        parent, _, last = name.rpartition(".")
        return getattr(importlib.import_module(parent), last)


def names(where: Any) -> list[str]:
    """Return what PyTorch offers in a place."""
    listed = None if where is torch else getattr(where, "__all__", None)
    found = []
    for name in listed or dir(where):
        value = getattr(where, name, None)
        home = str(getattr(value, "__module__", None) or "torch")
        inner = isinstance(value, types.ModuleType | dict | str) or name.startswith(_HELPERS)
        # Types that a module of functions uses itself.
        inner |= where in (torch.nn.functional, torch.fft) and not name.islower()
        if not name.startswith("_") and not inner and home.startswith(("torch", "builtins")):
            found.append(name)
    return sorted(set(found))


def parameters(where: str, name: str, value: Any) -> list[str] | None:
    """Return the names of parameters, after "*" those by name only; None if they are not known."""
    if isinstance(value, types.FunctionType | type):
        try:
            given = inspect.signature(value).parameters.values()
        except (TypeError, ValueError):
            return None
        stars = {inspect.Parameter.VAR_KEYWORD: "**", inspect.Parameter.VAR_POSITIONAL: "*"}
        by_name = {f"{stars.get(p.kind, '')}{p.name}": p.kind == p.KEYWORD_ONLY for p in given}
    else:
        by_name = by_schema(f"aten::{_PREFIXES.get(where, '')}{name}")
    if inspect.isclass(place(where)):
        by_name.pop("self", None)
    positional = [each for each, only in by_name.items() if not only]
    others = [each for each, only in by_name.items() if only]
    return [*positional, *(["*"] if others else []), *others] if by_name else None


def by_schema(op: str) -> dict[str, bool]:
    """Return the parameters of all forms of an op, and which have no place in all of them."""
    forms = [
        schema.arguments
        for schema in torch._C._jit_get_schemas_for_operator(op)
        # Others are of the compiler's numbers and lists, of named dimensions, or write into `out`.
        if schema.arguments
        and str(schema.arguments[0].type) == "Tensor"
        and "Dimname" not in str(schema)
        and not any(argument.is_out for argument in schema.arguments)
    ]
    found: dict[str, bool] = {}
    for form in forms:
        for place, argument in enumerate(form):
            fixed = all(len(each) > place and each[place].name == argument.name for each in forms)
            found.setdefault(argument.name, argument.kwarg_only or not fixed)
    return found


def line(where: str, name: str) -> str:
    value = getattr(place(where), name)
    documented = not callable(value) or bool(inspect.getdoc(value))
    given = parameters(where, name, value) if callable(value) else None
    given = given and ["input" if each == "self" else each for each in given]
    shown = f"({', '.join(given)})" if given else ""
    return f"{'' if documented else '?'}{name}{shown}"


def text() -> str:
    """Return what the file must say."""
    sections = [
        "\n".join([f"[{where}]", *(line(where, name) for name in names(place(where)))])
        for where in PLACES
    ]
    modules = [
        name
        for name in names(torch.nn)
        if inspect.isclass(value := getattr(torch.nn, name)) and issubclass(value, torch.nn.Module)
    ]
    sections.append("\n".join(["[Module classes of torch.nn]", *modules]))
    return "\n\n".join(sections) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
