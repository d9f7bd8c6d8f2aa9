"""Write PyTorch's public names down, so that docs and tests can be made without PyTorch.

    python -m tests.oracle.torch_names

A line of scripts/torch_names.txt is a name and, of what can be called, the names of its parameters;
"?" stands before what PyTorch does not document. The last section has the Module classes.
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
    """Return the names of parameters; None if they are not known."""
    of_class = inspect.isclass(place(where))
    schemas = torch._C._jit_get_schemas_for_operator(f"aten::{_PREFIXES.get(where, '')}{name}")
    if isinstance(value, types.FunctionType | type):
        try:
            found = inspect.signature(value).parameters.values()
        except (TypeError, ValueError):
            return None
        stars = {inspect.Parameter.VAR_KEYWORD: "**", inspect.Parameter.VAR_POSITIONAL: "*"}
        return [f"{stars.get(each.kind, '')}{each.name}" for each in found if each.name != "self"]
    known: dict[str, None] = {}
    for schema in schemas:
        arguments = schema.arguments
        # Others are of the compiler's numbers and lists.
        of_tensors = arguments and str(arguments[0].type) == "Tensor"
        if of_tensors and not any(argument.is_out for argument in arguments):
            known.update(dict.fromkeys(argument.name for argument in arguments))
    if of_class:
        known.pop("self", None)
    return ["input" if each == "self" else each for each in known] if known else None


def line(where: str, name: str) -> str:
    value = getattr(place(where), name)
    documented = not callable(value) or bool(inspect.getdoc(value))
    given = parameters(where, name, value) if callable(value) else None
    shown = "" if given is None else f"({', '.join(given)})"
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
