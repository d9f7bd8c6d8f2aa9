"""Write the type stubs of the core and of the package from what the built module has.

Writes src/weft/_core.pyi and src/weft/__init__.pyi. Ops come from the op table, methods that Python
adds to Tensor from their own signatures; only the fixed part of the core is written down here, and
a name that the module has and the text lacks is an error.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import keyword
import math
import sys
import textwrap
import types
from functools import cache
from pathlib import Path
from typing import Any

import weft
from weft import _core
from weft._core_docs import examples

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "weft"
COLUMNS = 100

# Written over: the package's own names for element types and Tensor's methods hide the builtins.
BUILTINS = {
    "int": "_int",
    "float": "_float",
    "bool": "_bool",
    "type": "builtins.type",
    "dtype": "_dtype",
    "device": "_device",
}

NOTE = """\
# Written by scripts/generate_stub.py (`make stub`) from the op table; do not edit.
# ruff: noqa
# fmt: off
# pyright: reportPrivateUsage=false, reportSelfClsParameterName=false
"""

CORE_HEADER = '''\
"""The C++ core: tensors, ops, the graph."""

import builtins
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self, TypeAlias, TypeVar, final, overload

import numpy as np

from weft._tensor import RemovableHandle, Size
from weft._tensor import device as _device

_int: TypeAlias = builtins.int
_float: TypeAlias = builtins.float
_bool: TypeAlias = builtins.bool
_Number: TypeAlias = builtins.int | builtins.float | builtins.bool
_Index: TypeAlias = Any
_dtype: TypeAlias = "dtype"
_Result = TypeVar("_Result")

# ---- errors --------------------------------------------------------------------------------------

class ShapeError(ValueError, RuntimeError): ...
class DTypeError(TypeError, RuntimeError): ...
class OutOfRangeError(IndexError, RuntimeError): ...
class ArgumentError(ValueError, RuntimeError): ...
class OutOfMemoryError(MemoryError, RuntimeError): ...
class GradientError(RuntimeError): ...
class UnsupportedError(NotImplementedError): ...
class LinAlgError(RuntimeError): ...
class InternalError(RuntimeError): ...

# ---- element types -------------------------------------------------------------------------------

@final
class dtype:
    @property
    def is_floating_point(self) -> _bool: ...
    @property
    def is_complex(self) -> _bool: ...
    @property
    def is_signed(self) -> _bool: ...
    @property
    def itemsize(self) -> _int: ...
    @property
    def name(self) -> str: ...

float32: dtype
float64: dtype
float16: dtype
bfloat16: dtype
int8: dtype
int16: dtype
int32: dtype
int64: dtype
uint8: dtype
bool: dtype

# ---- random streams ------------------------------------------------------------------------------

class Generator:
    def __init__(self, device: Any = "cpu") -> None: ...
    def manual_seed(self, seed: _int) -> Self: ...
    def initial_seed(self) -> _int: ...
    def seed(self) -> _int: ...
    def get_state(self) -> Tensor: ...
    def set_state(self, state: Tensor) -> Self: ...

default_generator: Generator

# ---- the graph -----------------------------------------------------------------------------------

class Node:
    @property
    def next_functions(self) -> tuple[tuple[Node | None, _int], ...]: ...
    @property
    def variable(self) -> Tensor: ...
    @property
    def _position(self) -> _int: ...
    @property
    def _op(self) -> str | None: ...
    @property
    def _saved_tensors(self) -> tuple[Tensor, ...]: ...
    @property
    def _saved_bytes(self) -> _int: ...
    @property
    def _attributes(self) -> dict[str, str]: ...
    @property
    def _values(self) -> tuple[Tensor, ...]: ...
    @property
    def _gradients(self) -> tuple[Tensor | None, ...]: ...
    @property
    def _outputs(self) -> list[tuple[Size, dtype]]: ...
    def name(self) -> str: ...
    def _sequence_nr(self) -> _int: ...

@final
class NodeLink: ...

class Forward:
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

@final
class Cell:
    def __init__(
        self,
        body: Callable[..., Any],
        name: str,
        renew: Callable[[_bool], tuple[list[Tensor], Sequence[Any]] | str | None],
        undeclared: _bool = False,
        /,
    ) -> None: ...
    @property
    def note(self) -> str: ...
    @property
    def programs(self) -> list[str]: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

@final
class CellForward:
    def __init__(
        self, body: Callable[..., Any], name: str, make: Callable[[Any], Cell], /
    ) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

@final
class Routine:
    @property
    def name(self) -> str: ...
    @property
    def registers(self) -> _int: ...
    @property
    def variables(self) -> list[str]: ...
    @property
    def code(self) -> list[_int]: ...
    @property
    def offsets(self) -> list[_int]: ...
    @property
    def names(self) -> list[str]: ...
    @property
    def constants(self) -> list[Any]: ...
    @property
    def nested(self) -> list[Routine]: ...
    @property
    def handlers(self) -> list[tuple[_int, _int, _int, _int]]: ...

class CompiledCall:
    def __init__(self, target: Callable[..., Any], /) -> None: ...
    @property
    def _target(self) -> Callable[..., Any]: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

def make_routine(
    *,
    name: str,
    source: Any,
    positional: _int,
    keyword_only: _int,
    has_rest: _bool,
    has_options: _bool,
    is_comprehension: _bool,
    is_inlined: _bool,
    registers: _int,
    free_begin: _int,
    free_count: _int,
    variables: list[str],
    names: tuple[str, ...],
    constants: tuple[Any, ...],
    code: Sequence[_int],
    offsets: Sequence[_int],
    nested: list[Routine],
    handlers: Sequence[Sequence[_int]],
) -> Routine: ...
def routine_of(function: Callable[..., Any]) -> Routine | None: ...
def routine_instructions() -> list[tuple[str, str, str]]: ...
def set_composite(function: Callable[..., Any], /) -> None: ...
def is_composite(object: object, /) -> _bool: ...
def set_front_end(function: Callable[[Any], Routine | None] | None) -> Any: ...
def enable_compiled(wanted: _bool) -> _bool: ...
def runs_routines() -> _bool: ...
def let_step_aside(wanted: _bool) -> _bool: ...
def routine_counts() -> tuple[_int, _int, _int]: ...
def set_switch_type(type: type) -> None: ...
def set_compiled_module_type(type: type) -> None: ...

@final
class Tasks:
    def __init__(self, function: CompiledCall) -> None: ...
    @property
    def alive(self) -> _int: ...
    @property
    def has_more(self) -> _bool: ...
    def drive(self, fibers: Any) -> _bool: ...
    def rest(self) -> None: ...
    def wake(self) -> None: ...
    def end(self, exception: type[BaseException]) -> None: ...

@final
class Recorder:
    def __init__(
        self,
        values: _bool,
        on_node: Callable[[_int], object] | None = None,
        on_event: Callable[[str], object] | None = None,
    ) -> None: ...
    parts: _bool
    at_once: _bool
    wants_rules: _bool
    @property
    def inputs(self) -> tuple[Tensor | None, ...]: ...
    @property
    def outputs(self) -> tuple[Tensor | None, ...]: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def clear(self) -> None: ...
    def nodes(self, first: _int = 0) -> list[tuple[Any, ...]]: ...
    def statistics(self) -> list[tuple[Any, ...]]: ...
    def plans(self) -> list[tuple[Any, ...]]: ...
    def backwards(self) -> list[tuple[Any, ...]]: ...
    def frames(self) -> list[tuple[_int, _int]]: ...
    def modules(self) -> list[tuple[Any, _int, _int]]: ...
    def reads(self) -> list[tuple[Any, ...]]: ...
    def node_of(self, tensor: Tensor, /) -> _int: ...
    def __len__(self) -> _int: ...

@final
class NumberFunction:
    def __init__(self, body: Callable[..., Any], name: str, unused: None, /) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

@final
class OpForward:
    def __init__(
        self,
        body: Callable[..., Any],
        name: str,
        call: tuple[Callable[..., Any], tuple[str, ...], tuple[str | None, ...]],
        /,
    ) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

@final
class OpFunction:
    __name__: str
    @property
    def signature(self) -> str: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
'''

# Functions of the module, except ops.
CORE_FUNCTIONS = """\
# ---- functions -----------------------------------------------------------------------------------

def tensor(data: Any, dtype: dtype | None = None, /) -> Tensor: ...
def get_default_dtype() -> dtype: ...
def set_default_dtype(d: dtype, /) -> None: ...
def as_dtype(dtype: Any, /) -> dtype: ...
def promote_types(type1: dtype, type2: dtype, /) -> dtype: ...
def set_error_namer(namer: Callable[[BaseException, Any], object], /) -> None: ...
def set_shown_package(name: str, /) -> str: ...
def shown_package() -> str: ...
def set_size_type(type: builtins.type[tuple[_int, ...]], /) -> None: ...
def describe_ops() -> list[dict[str, Any]]: ...
def resolve_position(position: _int, /) -> tuple[str, _int, str]: ...
def position_offset(position: _int, /) -> _int: ...
def statistics(tensor: Tensor, /) -> tuple[Any, ...]: ...
def last_reads(after: _int, /) -> list[tuple[str, str, _int, _int]]: ...
def set_own_folder(folder: str, /) -> None: ...
def positions_now() -> list[_int]: ...
def position_count() -> _int: ...
def position_now() -> _int: ...
def array_of(tensor: Tensor, /) -> np.ndarray[Any, Any]: ...
def array_operand(array: Any, is_kept: builtins.bool, /) -> Tensor | None: ...
def set_array_reader(
    reader: Callable[[Any, dtype | None], Tensor | None], /
) -> None: ...
def from_array(array: Any, /) -> Tensor | None: ...
def from_buffer(buffer: Any, dtype: dtype, /) -> Tensor: ...
def to_dlpack(tensor: Tensor, /) -> Any: ...
def from_dlpack(capsule: Any, /) -> Tensor: ...
def run_backward(
    tensors: Sequence[Tensor],
    gradients: Sequence[Tensor | None],
    inputs: Sequence[Tensor] | None,
    retain_graph: _bool,
    create_graph: _bool,
    accumulate: _bool,
    /,
) -> tuple[Any, ...]: ...
def vmap(
    function: Callable[..., Sequence[Tensor]],
    tensors: Sequence[Tensor],
    rows: _int,
    randomness: _int,
    /,
) -> tuple[list[Tensor], list[_bool]]: ...
def outside_vmap(
    function: Callable[[_int, _int, list[_bool], list[Tensor]], Sequence[Tensor]],
    tensors: Sequence[Tensor],
    /,
) -> tuple[Tensor, ...]: ...
def call_outside(function: Callable[..., Any], /, *args: Any) -> Any: ...
def take_rows(tensor: Tensor, other: Tensor, /) -> None: ...
def has_rows(object: Any, /) -> _bool: ...
def is_row(object: Any, /) -> _bool: ...
def backward_of_one(tensor: Tensor, /) -> None: ...
def map_cell(
    function: Callable[[Any], Any], examples: Sequence[Any], width: _int, /
) -> list[Any] | None: ...
def find_forward(module: Any, /) -> Any: ...
def bump_epoch() -> None: ...
def draw_map() -> _int: ...
def start_stream(outside: Stream, map: _int, index: _int, /) -> None: ...
class Stream: ...

def get_stream() -> Stream: ...
def set_stream(stream: Stream, /) -> None: ...
def set_lazy(wanted: _bool, /) -> _bool: ...
def is_lazy() -> _bool: ...
def is_plain() -> _bool: ...
def is_look() -> _bool: ...
def start_fiber(example: _int, park: Callable[[], None], /) -> None: ...
class LazyScope:
    def __init__(self, enabled: _bool, /) -> None: ...
    @property
    def enabled(self) -> _bool: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...
def describe_modes() -> tuple[_int, ...]: ...
def keep_stacks() -> None: ...
def refuse_inside_locks() -> None: ...
def is_debugged() -> _bool: ...
def keep_prints_whole() -> None: ...
def run_then(run: Callable[[], _Result], end: Callable[[], object], /) -> _Result: ...
def keep_modes() -> Any: ...
def give_modes(modes: Any, /) -> None: ...
def run_demanded() -> None: ...
def forget_demanded() -> None: ...
def ran_counts() -> tuple[_int, _int, _int, _int, _int, _int, _int]: ...
def watch_map(examples: _int, /) -> None: ...
def run_tensors(tensors: Sequence[Tensor], examples: _int = 8, /) -> None: ...
def set_pending_limit(bytes: _int, /) -> _int: ...
def set_strand_threshold(times: _int, /) -> _int: ...
def pending_count() -> _int: ...
inlined_cells: dict[str, str]

def dropped_count() -> _int: ...
def is_pending(tensor: Tensor, /) -> _bool: ...
def last_plans() -> list[dict[str, Any]]: ...
def forget_plans() -> None: ...
def add_hook(tensor: Tensor, function: Callable[[Tensor], Any], /) -> _int: ...
def add_post_accumulate_hook(tensor: Tensor, function: Callable[[Tensor], Any], /) -> _int: ...
def remove_hook(id: _int, /) -> None: ...
def gradient_edge(tensor: Tensor, /) -> tuple[Node, _int]: ...
def retain_grad(tensor: Tensor, /) -> None: ...
def retains_grad(tensor: Tensor, /) -> _bool: ...
def attach_function(
    name: str,
    backward: Callable[..., Any],
    inputs: tuple[Tensor, ...],
    outputs: tuple[Tensor, ...],
    kinds: tuple[_int, ...],
    saved: tuple[Tensor | None, ...],
    materialize: _bool,
    /,
) -> tuple[NodeLink, tuple[Tensor, ...]]: ...
def saved_tensors(link: NodeLink, /) -> tuple[Any, ...]: ...
def push_save_hooks(pack: Callable[[Tensor], Any], unpack: Callable[[Any], Tensor], /) -> None: ...
def pop_save_hooks() -> None: ...
def is_grad_enabled() -> _bool: ...
def set_grad_enabled(mode: _bool, /) -> _bool: ...
def is_inference_mode_enabled() -> _bool: ...
def set_inference_mode(mode: _bool, /) -> _bool: ...
def set_keep_values(mode: _bool, /) -> _bool: ...
def has_other_leaves(tensor: Tensor, leaves: Sequence[Tensor], /) -> _bool: ...
def live_nodes() -> _int: ...
def become(tensor: Tensor, view: Tensor, /) -> None: ...
def set_out_writer(function: Any, /) -> None: ...
def show_as(tensor: Tensor, name: str, /) -> None: ...
def bump_version(tensor: Tensor, /) -> None: ...
def adam_step(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    exp_avgs: Sequence[Tensor],
    exp_avg_sqs: Sequence[Tensor],
    max_exp_avg_sqs: Sequence[Tensor] | None,
    step: _int,
    lr: _float,
    beta1: _float,
    beta2: _float,
    eps: _float,
    weight_decay: _float,
    decoupled: _bool,
    maximize: _bool,
    /,
) -> None: ...
def sgd_step(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    momentum_buffers: Sequence[Tensor] | None,
    first: _bool,
    lr: _float,
    momentum: _float,
    dampening: _float,
    weight_decay: _float,
    nesterov: _bool,
    maximize: _bool,
    /,
) -> None: ...
def seal_op_functions() -> None: ...
def trim_batches() -> None: ...
def live_bytes() -> _int: ...
def peak_bytes() -> _int: ...
def reset_peak_bytes() -> None: ...
def cached_bytes() -> _int: ...
def fail_allocations(after: _int, count: _int) -> _int: ...
def release_cached_memory() -> None: ...
def get_num_threads() -> _int: ...
def set_num_threads(count: _int) -> None: ...
def set_blas_path(path: str) -> None: ...
def instruction_set() -> str: ...
def compiler() -> str: ...
"""

# The part of Tensor that C++ defines and that is no op.
TENSOR_FIXED = """\
@property
def shape(self) -> Size: ...
@property
def dtype(self) -> _dtype: ...
@property
def ndim(self) -> _int: ...
requires_grad: _bool
@property
def is_leaf(self) -> _bool: ...
@property
def grad_fn(self) -> Node | None: ...
grad: Tensor | None
data: Tensor
@property
def _base(self) -> Tensor | None: ...
@property
def _version(self) -> _int: ...
@property
def _position(self) -> _int: ...
@property
def _cut(self) -> tuple[str, _int]: ...
@property
def _inference(self) -> _bool: ...
@property
def T(self) -> Tensor: ...
@property
def mT(self) -> Tensor: ...
@property
def itemsize(self) -> _int: ...

def __new__(cls, *args: Any) -> Self: ...
@overload
def size(self) -> Size: ...
@overload
def size(self, dim: _int) -> _int: ...
@overload
def stride(self) -> tuple[_int, ...]: ...
@overload
def stride(self, dim: _int) -> _int: ...
def dim(self) -> _int: ...
def numel(self) -> _int: ...
def nelement(self) -> _int: ...
def storage_offset(self) -> _int: ...
def data_ptr(self) -> _int: ...
def is_contiguous(self) -> _bool: ...
def item(self) -> Any: ...
def tolist(self) -> Any: ...
def detach(self) -> Tensor: ...
def detach_(self) -> Self: ...
def requires_grad_(self, requires_grad: _bool = True) -> Self: ...
@staticmethod
def _make_subclass(cls: builtins.type[Any], data: Tensor, require_grad: _bool = False) -> Any: ...

def __len__(self) -> _int: ...
def __iter__(self) -> Iterator[Tensor]: ...
def __getitem__(self, index: _Index, /) -> Tensor: ...
def __setitem__(self, index: _Index, value: Any, /) -> None: ...
def __hash__(self) -> _int: ...
def __bool__(self) -> _bool: ...
def __int__(self) -> _int: ...
def __float__(self) -> _float: ...
def __index__(self) -> _int: ...
def __neg__(self) -> Tensor: ...
def __pos__(self) -> Tensor: ...
def __abs__(self) -> Tensor: ...
def __invert__(self) -> Tensor: ...
"""
COMPARISONS = ("__lt__", "__le__", "__gt__", "__ge__")
OPERATORS = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift divmod".split()

TYPES = {
    "Tensor": "Tensor",
    "Tensor|Number": "Tensor | _Number",
    "Tensor[]": "Sequence[Tensor]",
    "Number": "Tensor | _Number",
    "int": "_int",
    "int[]": "_int | Sequence[_int]",
    "float": "_float",
    "bool": "_bool",
    "str": "str",
    "dtype": "_dtype",
    "Generator": "Generator",
}


class StubError(Exception):
    """Something in the module that the stub cannot say."""


# ---- text ----------------------------------------------------------------------------------------


def definition(
    name: str,
    parameters: list[str],
    result: str,
    *,
    decorators: tuple[str, ...] = (),
    doc: str = "",
    comment: str = "",
) -> str:
    """Return one function of a stub, on one line where it fits."""
    body = " ..." if not doc else ""
    line = f"def {name}({', '.join(parameters)}) -> {result}:{body}"
    if len(line) + 4 > COLUMNS:
        inner = "".join(f"    {parameter},\n" for parameter in parameters)
        line = f"def {name}(\n{inner}) -> {result}:{body}"
    text = "".join(f"@{decorator}\n" for decorator in decorators) + line + comment + "\n"
    return text + (textwrap.indent(docstring(doc), "    ") if doc else "")


def docstring(doc: str) -> str:
    """Return a docstring: the first sentence, an empty line, the rest, wrapped; then an example."""
    doc, _, example = doc.partition("\n\nExample:\n")
    paragraphs = [part for part in inspect.cleandoc(doc).split("\n\n") if part.strip()]
    first, _, rest = paragraphs[0].partition(". ")
    lines = [first.rstrip(".") + "."] + ([rest] if rest else []) + paragraphs[1:]
    wrapped = ["\n".join(textwrap.wrap(" ".join(line.split()), COLUMNS - 8)) for line in lines]
    if example:
        wrapped.append(f"Example:\n{textwrap.indent(example, '    ')}")
    text = "\n\n".join(wrapped).replace("\\", "\\\\").replace('"""', "'''")
    end = "\n" if "\n" in text or len(text) > COLUMNS - 14 else ""
    return f'"""{text}{end}"""\n'


# ---- ops -----------------------------------------------------------------------------------------


def default_text(parameter: dict[str, Any]) -> str | None:
    """Return the default value as Python would write it, or None when there is none."""
    text = parameter["default"]
    if text is None:
        return "None" if parameter["type"] == "Generator" else None
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text if parameter["type"] == "dtype" else "..."
    return text


def parameter_text(parameter: dict[str, Any]) -> str:
    annotation = TYPES[parameter["type"]]
    if parameter["optional"]:
        annotation += " | None"
    default = default_text(parameter)
    suffix = "" if default is None else f" = {default}"
    return f"{parameter['name']}: {annotation}{suffix}"


def check_names(op: dict[str, Any]) -> None:
    for parameter in op["parameters"]:
        if keyword.iskeyword(parameter["name"]):
            raise StubError(f"{op['name']}: Python cannot name a parameter {parameter['name']!r}")


def parameter_lists(op: dict[str, Any], method: bool) -> list[list[str]]:
    """Return the ways to call an op: one, or two where sizes may also stand one by one."""
    check_names(op)
    given = op["parameters"][1:] if method else op["parameters"]

    def written(variadic: bool) -> list[str]:
        parts = ["self"] if method else []
        by_name = False
        for parameter in given:
            if variadic and parameter["variadic"]:
                parts.append(f"*{parameter['name']}: _int")
                by_name = True
                continue
            if parameter["keyword_only"] and not by_name:
                parts.append("*")
                by_name = True
            parts.append(parameter_text(parameter))
        return parts

    lists = [written(variadic=False)]
    if any(parameter["variadic"] for parameter in given):
        lists.append(written(variadic=True))
    return lists


def result_text(op: dict[str, Any]) -> str:
    if op["returns_list"]:
        return "tuple[Tensor, ...]"
    count = len(op["outputs"])
    return "Tensor" if count == 1 else f"tuple[{', '.join(['Tensor'] * count)}]"


def op_text(
    function: Any, name: str, *, method: bool = False, static: bool = False, doc: str = ""
) -> str:
    """Return an op's function under a name, which may be another one than its own."""
    op = op_table()[function.__name__]
    in_place = function.__name__ != op["name"]
    result = ("Self" if method else "Tensor") if in_place else result_text(op)
    lists = parameter_lists(op, method)
    decorators = (["overload"] if len(lists) > 1 else []) + (["staticmethod"] if static else [])
    texts = [
        definition(name, parameters, result, decorators=tuple(decorators), doc=doc)
        for parameters in lists
    ]
    return "".join(texts)


@cache
def op_table() -> dict[str, dict[str, Any]]:
    """Return the rows of the op table, and those of in-place forms, by Python name."""
    table: dict[str, dict[str, Any]] = {}
    for op in _core.describe_ops():
        table[op["name"]] = op
    return table | {f"{name}_": op for name, op in table.items() if op["in_place"]}


# ---- methods that Python adds --------------------------------------------------------------------


@cache
def imported_names(module: str) -> dict[str, str]:
    """Return import statements of the names that a module imports or defines at its top level."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = alias.asname or alias.name
                found[name] = f"from {node.module} import {alias.name} as {name}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name] = (
                    f"import {alias.name} as {alias.asname or alias.name}"
                )
    for node in tree.body:
        targets: list[ast.expr] = []
        if isinstance(node, ast.ClassDef):
            targets = [ast.Name(node.name)]
        elif isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        for target in targets:
            if isinstance(target, ast.Name):
                found[target.id] = f"from {module} import {target.id} as {target.id}"
    return found


class Annotations(ast.NodeTransformer):
    """Rewrites a module's annotations for the stub, and gathers what they need to import."""

    def __init__(self, known: set[str]) -> None:
        self.known = known
        self.imports: set[str] = set()
        self.module = ""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in BUILTINS:
            return ast.parse(BUILTINS[node.id], mode="eval").body
        if node.id not in self.known and not hasattr(builtins, node.id):
            names = imported_names(self.module)
            if node.id not in names:
                raise StubError(f"{self.module}: cannot find where {node.id} comes from")
            self.imports.add(names[node.id])
        return node

    def rewrite(self, annotation: Any, module: str) -> str:
        if annotation is inspect.Parameter.empty:
            return "Any"
        if not isinstance(annotation, str):
            return "None" if annotation is None else "Any"
        self.module = module
        tree = ast.parse(annotation, mode="eval")
        return ast.unparse(ast.fix_missing_locations(self.visit(tree)))


def python_parameter(parameter: inspect.Parameter, annotation: str) -> str:
    prefix = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    text = f"{prefix}{parameter.name}: {annotation}"
    if parameter.default is parameter.empty:
        return text
    default = parameter.default
    simple = default is None or isinstance(default, bool | int | str)
    if isinstance(default, float):
        simple = math.isfinite(default)
    return f"{text} = {default!r}" if simple else f"{text} = ..."


def python_method(name: str, function: types.FunctionType, annotations: Annotations) -> str:
    """Return a method that Python code put onto Tensor."""
    signature = inspect.signature(function)
    module = function.__module__
    parts: list[str] = []
    by_name = False
    for position, parameter in enumerate(signature.parameters.values()):
        if position == 0:
            parts.append("self")
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not by_name:
            parts.append("*")
        by_name = by_name or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        parts.append(python_parameter(parameter, annotations.rewrite(parameter.annotation, module)))
    result = annotations.rewrite(signature.return_annotation, module)
    return definition(name, parts, result)


def python_property(name: str, value: property, annotations: Annotations) -> str:
    function = value.fget
    known = {"device": "_device", "nbytes": "_int", "retains_grad": "_bool"}
    result = known.get(name)
    if result is None and function is not None:
        result = annotations.rewrite(
            inspect.signature(function).return_annotation, function.__module__
        )
    return f"@property\ndef {name}(self) -> {result}: ...\n"


def operator_text() -> str:
    comment = "  # pyright: ignore[reportIncompatibleMethodOverride]"
    other = "other: Tensor | _Number, /"
    lines = [
        definition(name, ["self", "other: Any", "/"], "Tensor", comment=comment)
        for name in ("__eq__", "__ne__")
    ]
    lines += [definition(name, ["self", other], "Tensor") for name in COMPARISONS]
    for name in OPERATORS:
        for form in (f"__{name}__", f"__r{name}__"):
            if hasattr(weft.Tensor, form):
                lines.append(definition(form, ["self", other], "Tensor"))
        if hasattr(weft.Tensor, f"__i{name}__"):
            lines.append(definition(f"__i{name}__", ["self", other], "Self"))
    return "".join(lines)


# ---- the two files -------------------------------------------------------------------------------


def declared(text: str) -> set[str]:
    """Return the names that a stub's text declares at its top level."""
    found: set[str] = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
    return found


def tensor_text(annotations: Annotations) -> str:
    """Return the class Tensor."""
    fixed = TENSOR_FIXED + operator_text()
    derived: list[str] = []
    done = declared(fixed)
    for name, found in sorted(vars(weft.Tensor).items()):
        value = inspect.unwrap(found) if callable(found) else found
        if name in done or name in ("__module__", "__dir__", "__doc__", "__reduce_ex__"):
            continue
        if isinstance(value, _core.OpFunction):
            derived.append(op_text(value, name, method=True))
        elif isinstance(value, types.FunctionType):
            derived.append(python_method(name, value, annotations))
        elif isinstance(value, property):
            derived.append(python_property(name, value, annotations))
        elif isinstance(value, bool | int | str):
            kind = BUILTINS.get(type(value).__name__, type(value).__name__)
            derived.append(f"{name}: {kind}\n")
        elif not name.startswith("__"):
            raise StubError(f"Tensor.{name} is missing in TENSOR_FIXED")
    return "class Tensor:\n" + textwrap.indent(fixed + "\n" + "".join(derived), "    ")


def core_stub() -> str:
    """Return the text of _core.pyi."""
    annotations = Annotations(declared(CORE_HEADER) | {"Tensor"})
    tensor = tensor_text(annotations)
    operations = "".join(
        op_text(getattr(_core.ops, name), name, static=True) for name in sorted(op_table())
    )
    extra = "".join(f"{line}\n" for line in sorted(annotations.imports))
    header = CORE_HEADER.replace("\n_int: TypeAlias", f"{extra}\n_int: TypeAlias", 1)
    banner = "# ---- {} " + "-" * 80
    text = "\n".join(
        [
            NOTE + header,
            banner.format("tensors")[:COLUMNS],
            "",
            tensor,
            banner.format("ops")[:COLUMNS],
            "",
            "@final\nclass _Operations:\n" + textwrap.indent(operations, "    "),
            "ops: _Operations\n",
            CORE_FUNCTIONS,
        ]
    )
    missing = {name for name in vars(_core) if not name.startswith("__")} - declared(text)
    if missing:
        raise StubError(f"the core has names that the stub lacks: {', '.join(sorted(missing))}")
    return text


def public_names() -> list[str]:
    return sorted(name for name in weft.__all__ if not name.startswith("_"))


def import_line(name: str, value: Any) -> str | None:
    """Return how to import a public name from where it is defined, or None if nobody defines it."""
    if isinstance(value, types.ModuleType):
        parent, _, last = value.__name__.rpartition(".")
        return f"from {parent} import {last} as {name}"
    for candidate in (name, getattr(value, "__name__", name)):
        if vars(_core).get(candidate) is value:
            return f"from weft._core import {candidate} as {name}"
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    original = getattr(value, "__qualname__", "")
    found = getattr(module, original, None)
    if module is not None and callable(found) and inspect.unwrap(found) is value:
        return f"from {module.__name__} import {original} as {name}"
    return None


def package_stub() -> str:
    """Return the text of __init__.pyi."""
    imports, variables, functions = [], ["__version__: str\n"], []
    for name in public_names():
        value = inspect.unwrap(getattr(weft, name))
        if isinstance(value, _core.OpFunction):
            functions.append(op_text(value, name, doc=op_doc(value)))
        elif isinstance(value, _core.dtype):
            variables.append(f"{name}: dtype\n")
        elif value is None:
            variables.append(f"{name}: None\n")
        elif line := import_line(name, value):
            imports.append(line + "\n")
        elif isinstance(value, bool | int | float | str):
            kind = type(value).__name__
            variables.append(f"{name}: {BUILTINS.get(kind, kind)}\n")
        else:
            raise StubError(f"weft.{name}: do not know how to declare {value!r}")
    # Found when first used: they are no names of the package before.
    later = ("debug", "distributions", "serialization", "tracing")
    imports += [f"from weft import {name} as {name}\n" for name in later]
    head = (
        f'"""{(weft.__doc__ or "").strip()}\n"""\n\n'
        "from collections.abc import Sequence\nfrom typing import overload\n\n"
        "from weft._core import _bool, _dtype, _float, _int, _Number\n"
    )
    listed = "".join(f"    {name!r},\n".replace("'", '"') for name in public_names())
    names = f"__all__ = [\n{listed}]\n"
    parts = [NOTE + head + "".join(imports), names, "".join(variables), "".join(functions)]
    return "\n".join(parts)


def op_doc(function: Any) -> str:
    op = op_table()[function.__name__]
    if function.__name__ == op["name"]:
        return f"{op['doc']}\n\nExample:\n{examples().get(op['name'], '')}"
    return f"Write the result of {op['name']} over input and return it."


def stubs() -> dict[Path, str]:
    """Return what each stub file must say."""
    return {PACKAGE / "_core.pyi": core_stub(), PACKAGE / "__init__.pyi": package_stub()}


def main() -> None:
    """Write the files that differ."""
    for path, text in stubs().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(PACKAGE.parent.parent)}")


if __name__ == "__main__":
    main()
