"""Say why a module has no such name, and what is near."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

# Why names of PyTorch are missing: the patterns of each kind, of which the first that is found
# counts, and what an error says.
KINDS: dict[str, tuple[str, str]] = {
    "deprecated in PyTorch": (
        "PyTorch has given it up, too",
        r"""
        torch\.nn\.init\.\w+[a-z]$ nn\.utils\.(clip_grad_norm|weight_norm|spectral_norm|remove_\w+)$
        nn\.Container$ torch\.(range|chain_matmul)$ nn\.Module\.register_backward_hook$
        (torch|Tensor)\.(lu|qr|svd|cholesky|triangular_solve|symeig|lstsq|solve|matrix_rank)$
        Tensor\.(volatile|reinforce|new|name)$ autograd\.(variable|NestedIOFunction)$
        """,
    ),
    "sparse tensors": (
        "there are no sparse tensors",
        r"""
        sparse Sparse coalesce (crow|ccol|col|row)_indices \.(indices|values)(_copy)?$ dense
        \.(hs|s|ss|ds)p?mm$ addmm$
        """,
    ),
    "complex numbers": (
        "complex numbers are not supported yet",
        r"""
        complex Complex \.imag$ polar view_as_real cdouble cfloat chalf stft conj_physical_$
        \.eig(vals)?$ torch\.fft\.(?!.*freq|.*shift)
        """,
    ),
    "quantization": (
        "there are no quantized tensors",
        r"quant \.q_ qint quint qscheme int_repr per_channel per_tensor qparams",
    ),
    "devices and builds of PyTorch": (
        "it asks about devices or builds of PyTorch",
        r"""
        cuda cudnn mkldnn xpu ipu mtia xla maia vulkan [sS]tream \.Event get_device_module cxx11
        Accelerator device_states DefaultDeviceType has_(mkl|openmp|lapack|spectral)
        """,
    ),
    "several devices or processes": (
        "a model runs in one process, on one device",
        r"Distributed SyncBatchNorm DataParallel thread_safe_generator",
    ),
    "PyTorch's own machinery": (
        "it belongs to PyTorch's own machinery",
        r"""
        Script \.sym_ \.Sym[A-Z] FatalError JITException ir_module parse_ type_comment unify_type
        \.fork$ \.wait$ torch\.cond$ while_loop DispatchKey \.AVG$ \.SUM$ torch\.Tag$
        AggregationType PRIVATE_OPS USE_ TYPE_CHECKING LoggerBase classproperty get_file_path
        multiprocessing_environment from_file init_num_threads SAC_ GraphExec functionalize
        memory_budget [sS]elective CheckpointPolicy factory_kwargs debug_unwrap grouped_mm scaled_mm
        """,
    ),
    "storages as objects": (
        "storages are no objects",
        r"[sS]torage \.set_$ const_data_ptr is_set_to",
    ),
    "data pipes, which PyTorch gave up": (
        "there are no data pipes, which PyTorch gave up",
        r"DataPipe datapipe DataChunk validation non_deterministic",
    ),
    "more dtypes": (
        "there is no such dtype",
        r"\.u?int\d$ \.uint(16|32|64)$ float8 float4 \.bits \.bit$",
    ),
    "wrong in PyTorch (it never drops the first channel); see LocalResponseNorm": (
        "it is wrong in PyTorch; see LocalResponseNorm",
        r"CrossMapLRN2d",
    ),
}

# What no pattern says.
REASONS: dict[str, str] = {
    **{
        f"torch.{name}": KINDS["complex numbers"][0]
        for name in ("cdouble", "cfloat", "chalf", "complex32", "complex64", "complex128")
    },
    **{f"torch.uint{bits}": KINDS["more dtypes"][0] for bits in (16, 32, 64)},
    "torch.fft": "complex numbers are not supported yet",
    "torch.fx": "there is no symbolic tracer; weft.tracing records runs",
    "torch.hub": "nothing is fetched from the network",
    "torch.sparse": "there are no sparse tensors",
    "torch.utils.cpp_extension": "PyTorch's C++ extensions need PyTorch itself",
    "torch.utils.tensorboard": "`weft view` shows a run; the package tensorboardX writes its files",
}

# Modules that users know by another name.
_SHORT = {
    f"weft.functional.{name}": f"weft.{name}" for name in ("linalg", "masked", "signal", "special")
}
# Where else a name may be; of two, the first is meant.
_PLACES = (
    "weft",
    "weft.nn",
    "weft.nn.functional",
    "weft.optim",
    "weft.optim.lr_scheduler",
    "weft.functional.linalg",
    "weft.functional.special",
    "weft.nn.init",
    "weft.nn.utils",
    "weft.nn.utils.rnn",
    "weft.utils.data",
    "weft.utils.checkpoint",
    "weft.autograd",
    "weft.autograd.functional",
    "weft.distributions",
    "weft.func",
)
_OWN_PLACES = ("weft.debug", "weft.viewer", "weft.tracing")  # which PyTorch has nothing like


class MissingName(AttributeError):  # noqa: N818 - it is called AttributeError
    """Words itself when it is read: most of those who ask for a name only ask whether it is there.

    Args:
        module: Whose name is missing.
        name: The name.
        head: What the sentence begins with, if not as Python's.
    """

    def __init__(self, module: ModuleType, name: str, head: str = "") -> None:
        # An object of its own, or Python would add a guess to the sentence.
        super().__init__(name, name=name, obj=None)
        self._module = module
        self._asked = name
        self._head = head

    def __str__(self) -> str:
        place = _SHORT.get(self._module.__name__, self._module.__name__)
        head = self._head or f"module {place!r} has no attribute {self._asked!r}"
        return head + why_missing(place, self._asked, self._module)

    def __reduce__(self) -> Any:
        return AttributeError, (str(self),)


MissingName.__name__ = MissingName.__qualname__ = "AttributeError"
MissingName.__module__ = "builtins"


def explain_missing(module: str) -> None:
    """Let a module say what is near when it is asked for a name that it lacks."""
    itself = sys.modules[module]

    def missing(name: str) -> Any:
        raise MissingName(itself, name)

    vars(itself)["__getattr__"] = missing  # not by a statement, which type checkers would believe


def why_missing(place: str, name: str, module: ModuleType | None = None) -> str:
    """Say why a module lacks a name if that is known, and else what is near.

    Example:
        >>> why_missing("torch", "sparse")
        ': there are no sparse tensors'
    """
    if name.startswith("__"):
        return ""
    full = re.sub(r"^weft\b", "torch", f"{place}.{name}")
    if full in REASONS:
        return f": {REASONS[full]}"
    elsewhere = next(_elsewhere(place, name), None)
    if elsewhere is not None:
        return f"; there is {elsewhere}"
    near = _near(name, [] if module is None else [*dir(module), *getattr(module, "__all__", ())])
    if near:
        names = ", ".join(f"{place}.{each}" for each in near)
        return f"; near {'are' if len(near) > 1 else 'is'} {names}"
    kind = kind_of(full)
    return f": {KINDS[kind][0]}" if kind else ""


def kind_of(name: str) -> str:
    """Say which kind of names that are missing one belongs to, such as "torch.imag"; "" if none.

    Example:
        >>> kind_of("torch.imag")
        'complex numbers'
    """
    for kind, (_, patterns) in KINDS.items():
        if re.search("|".join(patterns.split()), name):
            return kind
    return ""


def _elsewhere(place: str, name: str) -> Iterator[str]:
    """Yield where a name is public, written as the one who asks writes modules."""
    root = place.partition(".")[0]
    for each in (*_PLACES, *_OWN_PLACES):
        module = sys.modules.get(each)
        if module is not None and name in getattr(module, "__all__", ()):
            written = f"{_SHORT.get(each, each)}.{name}"
            yield written if each in _OWN_PLACES else written.replace("weft", root, 1)


def _near(name: str, names: list[str]) -> list[str]:
    public = [each for each in names if not each.startswith("_")]
    plain = set(public)
    # Of softmax and softmax_ one is enough.
    by_lower = {each.lower(): each for each in public if not _is_in_place(each, plain)}
    cutoff = 0.75 if len(name) > 4 else 0.65
    difflib = import_module("difflib")  # which programs that know their names do not wait for
    found = difflib.get_close_matches(name.lower(), by_lower, n=3, cutoff=cutoff)
    if not found and len(name) > 4:
        found = sorted(each for each in by_lower if each.startswith(name.lower()))[:3]
    return [by_lower[each] for each in found]


def _is_in_place(name: str, names: set[str]) -> bool:
    return name.endswith("_") and name[:-1] in names
