"""What can be called: every public function, method, module class and optimizer."""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import weft
from scripts.generate_docs import public_names
from tests.ops.row import Dtype, Fixed, Sample
from weft import _core

MODULES = (
    "weft",
    "weft.nn.functional",
    "weft.nn.init",
    "weft.nn.utils",
    "weft.nn.utils.rnn",
    "weft.autograd",
    "weft.autograd.functional",
    "weft.autograd.graph",
    "weft.batching",
    "weft.debug",
    "weft.func",
    "weft.random",
    "weft.pytree",
    "weft.utils.checkpoint",
)
# They take a function and call it, or are covered by forms of their own.
SKIPPED = {"weft.Tensor"}


@dataclass(frozen=True)
class Parameter:
    name: str
    kind: str  # tensor, number, tensors, int, ints, float, bool, str, dtype, generator, any
    required: bool = True
    by_name: bool = False
    several: bool = False


@dataclass(frozen=True)
class Target:
    """Something to call. `form` says how: function, method, module (then forward), optimizer."""

    name: str
    form: str
    parameters: tuple[Parameter, ...]


KINDS = {
    "Tensor": "tensor",
    "Tensor|Number": "number",
    "Tensor[]": "tensors",
    "Number": "number",
    "int[]": "ints",
    "Generator": "generator",
}
LISTED = frozenset(
    "size shape sizes dims kernel_size stride padding dilation output_size output_padding"
    " normalized_shape repeats pad shifts split_size_or_sections sections".split()
)
COUNTED = frozenset(
    "dim axis dim0 dim1 start_dim end_dim k n groups num_groups num_classes chunks index start end"
    " in_features out_features in_channels out_channels hidden_size input_size num_embeddings"
    " embedding_dim num_layers num_features offset step diagonal upscale_factor length".split()
)


@cache
def op_table() -> dict[str, dict[str, Any]]:
    table = {op["name"]: op for op in _core.describe_ops()}
    return table | {f"{name}_": op for name, op in table.items() if op["in_place"]}


def op_parameters(name: str) -> tuple[Parameter, ...]:
    return tuple(
        Parameter(
            given["name"],
            KINDS.get(given["type"], given["type"]),
            given["default"] is None and given["type"] != "Generator",
            given["keyword_only"],
            given["variadic"],
        )
        for given in op_table()[name]["parameters"]
    )


def guess_kind(name: str, annotation: str) -> str:
    """Guess what a parameter takes, from its name and annotation."""
    if name in LISTED:
        return "ints"
    if name in COUNTED:
        return "int"
    if "Sequence[Tensor" in annotation or name in ("tensors", "parameters", "params"):
        return "tensors"
    if "Tensor" in annotation:
        return "number" if "float" in annotation else "tensor"
    for kind in ("bool", "int", "float", "str", "dtype"):
        if kind in annotation:
            return kind
    return "generator" if "Generator" in annotation else "any"


def python_parameters(function: Any, drop_first: bool) -> tuple[Parameter, ...]:
    try:
        given = list(inspect.signature(function).parameters.values())[int(drop_first) :]
    except (TypeError, ValueError):
        return tuple(Parameter(f"argument{i}", "any", required=i == 0) for i in range(3))
    found = []
    for parameter in given:
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        found.append(
            Parameter(
                parameter.name,
                guess_kind(parameter.name, str(parameter.annotation)),
                parameter.default is parameter.empty,
                parameter.kind is parameter.KEYWORD_ONLY,
                parameter.kind is parameter.VAR_POSITIONAL,
            )
        )
    return tuple(found)


def parameters_of(value: Any, drop_first: bool = False) -> tuple[Parameter, ...]:
    value = inspect.unwrap(value)
    if isinstance(value, _core.OpFunction):
        return op_parameters(value.__name__)[int(drop_first) :]
    return python_parameters(value, drop_first and not isinstance(value, type))


def functions() -> list[Target]:
    found: list[Target] = []
    for module_name in MODULES:
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError:
            continue
        for name in public_names(module):
            value = getattr(module, name)
            full = f"{module_name}.{name}"
            if callable(value) and full not in SKIPPED:
                found.append(Target(full, "function", parameters_of(value)))
    return found


def methods() -> list[Target]:
    found: list[Target] = []
    for name in sorted(dir(weft.Tensor)):
        value = inspect.getattr_static(weft.Tensor, name)
        if name.startswith("_") or not callable(value):
            continue
        found.append(Target(name, "method", parameters_of(value, drop_first=True)))
    return found


def classes(module_name: str, base: type, form: str) -> list[Target]:
    module = importlib.import_module(module_name)
    found: list[Target] = []
    for name in public_names(module):
        value = getattr(module, name)
        if isinstance(value, type) and issubclass(value, base):
            found.append(Target(f"{module_name}.{name}", form, python_parameters(value, False)))
    return found


def all_targets() -> dict[str, list[Target]]:
    """Return the targets by their form."""
    return {
        "function": functions(),
        "method": methods(),
        "module": classes("weft.nn", weft.nn.Module, "module"),
        "optimizer": classes("weft.optim", weft.optim.Optimizer, "optimizer"),
    }


# ---- calls that are right, from the table of the op tests ----------------------------------------


@dataclass(frozen=True)
class Slot:
    """A tensor in a sample: its shape, dtype and, for integers, its range."""

    sizes: tuple[int, ...]
    dtype: str
    low: int = 0
    high: int = 1

    def text(self) -> str:
        if self.dtype == "bool":
            return f"(weft.rand({list(self.sizes)}) < 0.5)"
        if self.dtype.startswith("float"):
            made = f"weft.randn({list(self.sizes)})"
        else:
            made = f"weft.randint({self.low}, {self.high}, {list(self.sizes)})"
        return made if self.dtype in ("float32", "int64") else f"{made}.to(weft.{self.dtype})"


Argument = Slot | str | list[Any]


class NotPlain(Exception):
    """A sample has an argument that cannot be written down."""


def argument(value: Any) -> Argument:
    if isinstance(value, Fixed):
        return argument(value.array)
    if isinstance(value, Dtype):
        return f"weft.{value.name}"
    if isinstance(value, np.ndarray):
        kind = str(value.dtype)
        whole = value.size and value.dtype.kind in "iu"
        low, high = (int(value.min()), int(value.max()) + 1) if whole else (0, 1)
        return Slot(value.shape, kind, low, high)
    if isinstance(value, list | tuple):
        return [argument(item) for item in value]
    if value is None or isinstance(value, bool | int | str):
        return repr(value)
    if isinstance(value, float):
        return repr(value)
    raise NotPlain


@dataclass(frozen=True)
class Example:
    name: str
    args: tuple[Argument, ...]
    kwargs: tuple[tuple[str, Argument], ...]


def example(name: str, sample: Sample) -> Example | None:
    try:
        args = tuple(argument(value) for value in sample.args)
        kwargs = tuple((key, argument(value)) for key, value in sample.kwargs.items())
    except NotPlain:
        return None
    return Example(f"weft.{name}", args, kwargs)


def examples() -> list[Example]:
    """Return the samples of the op tests as calls that can be written down."""
    from tests.ops.table import TABLE

    found = []
    for row in TABLE:
        made = [example(row.name, sample) for sample in row.calls(row.dtypes[0])]
        found += [call for call in made if call is not None]
    return found
