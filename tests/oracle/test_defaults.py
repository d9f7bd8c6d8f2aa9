"""What is not said means what it means in PyTorch: every default of every public name."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import torch

import weft

MODULES = """
    autograd autograd.functional autograd.graph distributions func nn nn.functional nn.init
    nn.utils nn.utils.parametrizations nn.utils.parametrize nn.utils.prune nn.utils.rnn optim
    optim.lr_scheduler optim.swa_utils random utils.checkpoint utils.data
""".split()
# The same behaviour, spelled otherwise.
SPELLED_OTHERWISE = {
    ("cdist", "compute_mode"): "there is one way to compute it",
    ("meshgrid", "indexing"): "PyTorch's None means 'ij', with a warning",
    ("autograd.gradgradcheck", "masked"): "there are no sparse tensors",
    ("autograd.graph.save_on_cpu", "device_type"): "there is only the CPU",
}


def parameters(thing: Any) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(thing).parameters
    except (TypeError, ValueError):
        return {}


def module_of(package: Any, path: str) -> Any:
    return importlib.import_module(f"{package.__name__}.{path}" if path else package.__name__)


def in_both(ours: Any, theirs: Any, where: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the public functions and classes that both have, and the classes' methods."""
    for name in (name for name in dir(ours) if not name.startswith("_")):
        one, other = getattr(ours, name), getattr(theirs, name, None)
        if inspect.ismodule(one) or not callable(one) or other is None:
            continue
        path = f"{where}.{name}" if where else name
        yield path, one, other
        if isinstance(one, type) and not isinstance(ours, type):
            yield from in_both(one, other, path)


@pytest.mark.parametrize("module", ["", *MODULES])
def test_defaults(module: str) -> None:
    compared = 0
    for path, one, other in in_both(module_of(weft, module), module_of(torch, module), module):
        theirs = parameters(other)
        for name, parameter in parameters(one).items():
            wanted = theirs[name].default if name in theirs else parameter.empty
            if parameter.empty in (wanted, parameter.default):
                continue
            if (path, name) in SPELLED_OTHERWISE:
                assert parameter.default != wanted
            elif isinstance(wanted, bool | int | float | str | tuple | None):
                assert parameter.default == wanted, f"{path}({name}=...)"
            compared += 1
    assert compared > 0
