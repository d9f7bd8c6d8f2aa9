"""Weft: a define-by-run deep-learning library whose graphs follow your data.

The names are PyTorch's: `import weft as torch` runs PyTorch programs.
"""

# Every name imported here is public, used in this file or not. Type checkers read __init__.pyi, so
# they need not follow how `__all__` is made from the op table.
# ruff: noqa: F401
# pyright: reportUnusedImport=false, reportUnsupportedDunderAll=false

from __future__ import annotations

import importlib as _importlib
import os as _os
import sys as _sys
from importlib import util as _util
from math import e, inf, nan, pi
from typing import Any as _Any

from weft import _core
from weft._core import (
    ArgumentError,
    DTypeError,
    GradientError,
    InternalError,
    LinAlgError,
    OutOfMemoryError,
    OutOfRangeError,
    ShapeError,
    UnsupportedError,
    bfloat16,
    bool,
    float16,
    float32,
    float64,
    get_default_dtype,
    get_num_threads,
    int8,
    int16,
    int32,
    int64,
    is_grad_enabled,
    is_inference_mode_enabled,
    promote_types,
    set_default_dtype,
    set_num_threads,
    uint8,
)

__version__ = "0.2.0"

_core.set_own_folder(_os.path.dirname(__file__) + _os.sep)  # noqa: PTH120 - pathlib is slow to import
_blas = _util.find_spec("scipy_openblas32")
if _blas is not None and _blas.submodule_search_locations:
    _core.set_blas_path(_os.path.join(_blas.submodule_search_locations[0], "lib"))  # noqa: PTH118

from weft import _core_docs, autograd, batching, functional, nn, optim, pytree, random, utils  # noqa: E402
from weft._missing import MissingName as _MissingName  # noqa: E402
from weft._printing import set_printoptions  # noqa: E402
from weft._tensor import (  # noqa: E402
    Size,
    Tensor,
    as_tensor,
    asarray,
    device,
    dtype,
    from_dlpack,
    from_numpy,
    tensor,
)
from weft._vmap import vmap  # noqa: E402
from weft.autograd import enable_grad, inference_mode, no_grad, set_grad_enabled  # noqa: E402
from weft.batching import cell, explain, lazy, map  # noqa: E402
from weft.batching.replaying import ask_compiler as _ask_compiler  # noqa: E402
from weft.random import (  # noqa: E402
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)


def _is_all_compiled(function: _Any) -> _Any:
    return _importlib.import_module("weft.compiling.explaining").is_all_compiled(function)


_ask_compiler(_is_all_compiled)

float = float32
double = float64
half = float16
int = int32
long = int64
short = int16
newaxis = None

# Every op of the table is a function of the package; overloads replace some of them.
_names = [name for name in vars(_core.ops) if not name.startswith("_")]
globals().update({name: getattr(_core.ops, name) for name in _names})
globals().update(functional.OVERLOADS)

__all__ = [name for name in globals() if not name.startswith("_") and name != "annotations"]


# Found when first used, so that importing the package does not wait for what many programs lack.
_LATER = {
    "compile": "weft.compiling",
    "diff": "weft.viewer",
    "graph": "weft.viewer",
    "load": "weft.serialization",
    "merge": "weft.viewer",
    "save": "weft.serialization",
}
__all__ += list(_LATER)


def __getattr__(name: str) -> _Any:
    if name in _LATER:
        value = globals()[name] = getattr(_importlib.import_module(_LATER[name]), name)
        return value
    if name in {
        "compiling",
        "debug",
        "distributions",
        "func",
        "serialization",
        "tracing",
    }:  # not every program needs them
        return _importlib.import_module(f"weft.{name}")
    if not name.startswith("_"):  # what PyTorch's programs ask about the machine
        probes = _importlib.import_module("weft.compat.probes.top")
        if name in probes.__all__:
            return getattr(probes, name)
    raise _MissingName(_sys.modules["weft"], name)
