"""Functions over the op table: PyTorch's overloads, and functions made of several ops.

An op that PyTorch's users can call as it is needs nothing here. `OVERLOADS` names the functions
that stand in the package beside the ops or in the place of one of the same name; `METHODS` names
those that Tensor has too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft import _core
from weft._core import Tensor
from weft._missing import explain_missing
from weft.functional import (  # noqa: F401 (their composites register themselves)
    activations,  # pyright: ignore[reportUnusedImport]
    arrays,
    checks,  # pyright: ignore[reportUnusedImport]
    convolution,  # pyright: ignore[reportUnusedImport]
    copies,  # pyright: ignore[reportUnusedImport]
    counting,  # pyright: ignore[reportUnusedImport]
    einstein,  # pyright: ignore[reportUnusedImport]
    elementwise,  # pyright: ignore[reportUnusedImport]
    grids,  # pyright: ignore[reportUnusedImport]
    linalg,
    linalg_aliases,  # pyright: ignore[reportUnusedImport]
    losses,  # pyright: ignore[reportUnusedImport]
    masked,
    normalization,  # pyright: ignore[reportUnusedImport]
    return_types,
    signal,
    special,
    statistics,  # pyright: ignore[reportUnusedImport]
    volumes,  # pyright: ignore[reportUnusedImport]
)
from weft.functional.arithmetic import (
    add,
    add_,
    div,
    div_,
    equal,
    float_power,
    isreal,
    positive,
    renamed,
    rsub,
    sub,
    sub_,
)
from weft.functional.composite import COMPOSITE_METHODS, COMPOSITES, WRITERS
from weft.functional.creation import (
    arange,
    empty_like,
    full,
    ones,
    ones_like,
    poisson,
    rand,
    rand_like,
    randint,
    randint_like,
    randn,
    randn_like,
    scalar_tensor,
    zeros,
    zeros_like,
)
from weft.functional.facts import (
    can_cast,
    finfo,
    iinfo,
    is_complex,
    is_floating_point,
    is_nonzero,
    is_tensor,
    numel,
    result_type,
)
from weft.functional.joining import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    block_diag,
    broadcast_tensors,
    cartesian_prod,
    column_stack,
    combinations,
    dsplit,
    dstack,
    hsplit,
    hstack,
    meshgrid,
    split,
    tensor_split,
    vsplit,
    vstack,
)
from weft.functional.linear_algebra import (
    bilinear,
    cdist,
    cosine_similarity,
    cross,
    dist,
    inner,
    kron,
    norm,
    pairwise_distance,
    tensordot,
    vdot,
)
from weft.functional.output import takes_out
from weft.functional.real_numbers import PROPERTIES
from weft.functional.reductions import (
    aminmax,
    diff,
    max,
    min,
    mode,
    nanmean,
    quantile,
    trace,
    var,
)
from weft.functional.selection import (
    argsort,
    argwhere,
    index_put,
    index_put_,
    msort,
    nonzero,
    scatter,
    scatter_,
    scatter_add,
    scatter_add_,
    sort,
    topk,
    where,
    where_method,
)
from weft.functional.shaping import (
    BECOMING,
    apply_,
    expand_as,
    exponential_,
    fill_diagonal_,
    map_,
    random_,
    reshape_as,
    resize_,
    resize_as_,
    type_as,
    view_as,
)

ops = _core.ops

# Other names of ops, and of functions above.
_ALIASES = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "clip": "clamp",
    "concat": "cat",
    "concatenate": "cat",
    "divide": "div",
    "fix": "trunc",
    "ger": "outer",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "moveaxis": "movedim",
    "multiply": "mul",
    "negative": "neg",
    "not_equal": "ne",
    "subtract": "sub",
    "swapaxes": "transpose",
    "swapdims": "transpose",
    "true_divide": "div",
}

_FUNCTIONS: tuple[Callable[..., Any], ...] = (
    add,
    aminmax,
    arange,
    argsort,
    argwhere,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    bilinear,
    block_diag,
    broadcast_tensors,
    can_cast,
    cartesian_prod,
    cdist,
    column_stack,
    combinations,
    cosine_similarity,
    cross,
    dist,
    div,
    dsplit,
    dstack,
    empty_like,
    equal,
    finfo,
    float_power,
    full,
    hsplit,
    hstack,
    iinfo,
    index_put,
    inner,
    is_complex,
    is_floating_point,
    is_nonzero,
    is_tensor,
    isreal,
    kron,
    max,
    meshgrid,
    min,
    mode,
    msort,
    nanmean,
    nonzero,
    norm,
    numel,
    ones,
    ones_like,
    pairwise_distance,
    poisson,
    positive,
    quantile,
    rand,
    rand_like,
    randint,
    randint_like,
    randn,
    randn_like,
    result_type,
    rsub,
    scalar_tensor,
    scatter,
    scatter_add,
    sort,
    split,
    sub,
    tensor_split,
    tensordot,
    topk,
    trace,
    var,
    vdot,
    vsplit,
    vstack,
    where,
    zeros,
    zeros_like,
)

# What PyTorch gives the keyword `out` and is neither an op nor a composite.
_TAKING_OUT = """
add argsort bilinear cross div dstack float_power hstack inner kron max min mode msort nanmean
nonzero norm quantile scatter scatter_add sort sub tensordot topk vdot vstack where
""".split()

OVERLOADS: dict[str, Any] = {function.__name__: function for function in _FUNCTIONS}
for _name in _TAKING_OUT:
    OVERLOADS[_name] = takes_out(OVERLOADS[_name])
OVERLOADS.update(COMPOSITES)
OVERLOADS.update(WRITERS)
for _alias, _name in _ALIASES.items():
    OVERLOADS[_alias] = renamed(OVERLOADS.get(_name) or getattr(ops, _name), _name, _alias)
OVERLOADS["row_stack"] = vstack
OVERLOADS["linalg"] = linalg
OVERLOADS["masked"] = masked
OVERLOADS["return_types"] = return_types
OVERLOADS["signal"] = signal
OVERLOADS["special"] = special

_METHOD_NAMES = """
add aminmax argsort argwhere cross dist div dsplit equal float_power hsplit index_put inner
isreal kron max min mode msort nanmean nonzero norm positive quantile scatter scatter_add sort
split sub tensor_split topk trace var vdot vsplit
""".split()

METHODS: dict[str, Any] = {
    **{name: OVERLOADS[name] for name in _METHOD_NAMES},
    **COMPOSITE_METHODS,
    **WRITERS,
    **BECOMING,
    "add_": add_,
    "apply_": apply_,
    # The package's `diff` is the viewer's, which takes graphs as well.
    "diff": diff,
    "div_": div_,
    "exponential_": exponential_,
    "expand_as": expand_as,
    "fill_diagonal_": fill_diagonal_,
    "index_put_": index_put_,
    "is_nonzero": is_nonzero,
    "map_": map_,
    "normal_": ops.gaussian_,
    "random_": random_,
    "reshape_as": reshape_as,
    "resize_": resize_,
    "resize_as_": resize_as_,
    "scatter_": scatter_,
    "scatter_add_": scatter_add_,
    "sub_": sub_,
    "type_as": type_as,
    "view_as": view_as,
    "where": where_method,
}
for _alias, _name in _ALIASES.items():
    if _name == "cat":
        continue
    METHODS[_alias] = OVERLOADS[_alias]
    _written = METHODS.get(f"{_name}_") or getattr(ops, f"{_name}_", None)
    if _written is not None:
        METHODS[f"{_alias}_"] = renamed(_written, f"{_name}_", f"{_alias}_")

# A function that writes its first argument takes what the method takes, not what the op does.
OVERLOADS.update(
    {name: METHODS[name] for name in METHODS if name.endswith("_") and hasattr(ops, name)}
)
METHODS.update(PROPERTIES)

for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)

arrays.install({**vars(ops), **OVERLOADS})

__all__ = ["METHODS", "OVERLOADS", "linalg", "masked", "return_types", "signal", "special"]

explain_missing(__name__)
