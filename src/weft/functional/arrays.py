"""What NumPy's functions do with tensors (docs/decisions/0051).

NumPy asks the tensor: `__array_ufunc__` for its element-wise functions and for operators with an
array on the left, `__array_function__` for most others. Nothing here imports NumPy before somebody
has called one of its functions with a tensor.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any, cast

from weft import _core
from weft._core import Tensor
from weft._tensor import dtype_of_numpy, from_numpy
from weft.functional.facts import result_type
from weft.functional.output import takes_out

ops = _core.ops

_Function = Callable[..., Any]

# --- which function of ours has the meaning of a ufunc --------------------------------------------


def _matmul(a: Any, b: Any) -> Any:
    # A product wants one dtype, and arrays are float64 more often than tensors are.
    if isinstance(a, Tensor) and isinstance(b, Tensor) and a.dtype is not b.dtype:
        wider = _core.promote_types(a.dtype, b.dtype)
        a, b = a.to(wider), b.to(wider)
    return a @ b


def _divmod(a: Any, b: Any) -> Any:
    return a // b, a % b


_python: Any = operator  # whose parameters have no types
_OPERATORS: dict[str, _Function] = {
    "add": _python.add,
    "bitwise_and": _python.and_,
    "bitwise_or": _python.or_,
    "bitwise_xor": _python.xor,
    "divide": _python.truediv,
    "equal": _python.eq,
    "floor_divide": _python.floordiv,
    "greater": _python.gt,
    "greater_equal": _python.ge,
    "invert": _python.invert,
    "left_shift": _python.lshift,
    "less": _python.lt,
    "less_equal": _python.le,
    "matmul": _matmul,
    "multiply": _python.mul,
    "not_equal": _python.ne,
    "power": _python.pow,
    "remainder": _python.mod,
    "right_shift": _python.rshift,
    "subtract": _python.sub,
    "divmod": _divmod,
}
# Of those, the tensor's own methods with the tensor on the left and on the right.
_SLOTS = {
    "add": "add radd",
    "bitwise_and": "and rand",
    "bitwise_or": "or ror",
    "bitwise_xor": "xor rxor",
    "divide": "truediv rtruediv",
    "equal": "eq eq",
    "floor_divide": "floordiv rfloordiv",
    "greater": "gt lt",
    "greater_equal": "ge le",
    "left_shift": "lshift rlshift",
    "less": "lt gt",
    "less_equal": "le ge",
    "matmul": "matmul rmatmul",
    "multiply": "mul rmul",
    "not_equal": "ne ne",
    "power": "pow rpow",
    "remainder": "mod rmod",
    "right_shift": "rshift rrshift",
    "subtract": "sub rsub",
}
_COMPARISONS = frozenset(("equal", "greater", "greater_equal", "less", "less_equal", "not_equal"))
_SAME_NAME = """
ceil copysign cos cosh deg2rad exp exp2 expm1 float_power floor fmax fmin fmod gcd heaviside
hypot isfinite isinf isnan lcm log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not
logical_or logical_xor maximum minimum negative positive rad2deg reciprocal sign signbit
sin sinh sqrt square tan tanh trunc
arccos arccosh arcsin arcsinh arctan arctan2 arctanh
""".split()
_OTHER_NAMES = {
    "absolute": "abs",
    "degrees": "rad2deg",
    "fabs": "abs",
    "radians": "deg2rad",
    "rint": "round",
}
_REDUCTIONS = {
    "add": "sum",
    "logical_and": "all",
    "logical_or": "any",
    "maximum": "amax",
    "minimum": "amin",
    "multiply": "prod",
}
_ACCUMULATIONS = {"add": "cumsum", "multiply": "cumprod"}

# Functions whose results depend on no element smoothly: nothing is lost.
_WITHOUT_GRADIENT = frozenset(
    """
    allclose argpartition argwhere array2string array_equal array_equiv array_repr array_str
    can_cast count_nonzero digitize empty_like flatnonzero full_like isclose iscomplex
    iscomplexobj isin isneginf isposinf isreal isrealobj lexsort may_share_memory nonzero
    ones_like result_type searchsorted shares_memory zeros_like
    """.split()
)

# Where a function of the same name is not of the same meaning.
_NOT_OURS = frozenset(("copy", "save", "load"))

_functions: dict[str, _Function] = {}


class _UnusualError(Exception):
    """Arguments that only NumPy's own function knows."""


def install(functions: Mapping[str, _Function]) -> None:
    """Let NumPy's functions take tensors.

    Args:
        functions: the package's functions by name.
    """
    _functions.update(functions)
    _functions["absolute"] = _functions["abs"]
    kind: Any = Tensor
    kind.__array_ufunc__ = _array_ufunc
    kind.__array_function__ = _array_function


# --- operands -------------------------------------------------------------------------------------


def _needs_graph(values: Any) -> bool:
    return _core.is_grad_enabled() and _requires_grad(values)


def _requires_grad(values: Any) -> bool:
    return any(isinstance(value, Tensor) and value.requires_grad for value in values)


def _operand(given: Any, kept: bool) -> Any:
    """Return a tensor or a Python number for what stands beside a tensor; None if it is neither."""
    if isinstance(given, Tensor) or type(given) in (int, float, bool):
        return given
    import numpy as np  # noqa: PLC0415 - it is there: it has called this

    if isinstance(given, np.generic):
        given = cast("Any", given).item()
    if isinstance(given, (bool, int, float)):
        return given
    if type(given) in (list, tuple):
        given = np.asarray(_as_arrays("np.asarray", given))
    return _core.array_operand(given, kept)


def _as_number(given: Any) -> Any:
    """Return the number that NumPy's comparisons have made an array of."""
    return given.item() if getattr(given, "ndim", 1) == 0 and hasattr(given, "flags") else given


def _tensors(operands: list[Any]) -> list[Tensor]:
    """Make tensors of numbers that stand beside tensors, without a change of the result's dtype."""
    beside = next((each for each in operands if isinstance(each, Tensor)), None)
    return [
        each
        if isinstance(each, Tensor)
        else _core.tensor(each, None if beside is None else result_type(beside, each))
        for each in operands
    ]


def _as_arrays(what: str, given: Any) -> Any:
    """Replace tensors inside lists, tuples and dicts by arrays over their memory."""
    if isinstance(given, Tensor):
        _refuse_gradient(what, given)
        return given.numpy()
    if isinstance(given, (list, tuple)):
        items = [_as_arrays(what, item) for item in cast("list[Any]", given)]
        kind = cast("Any", type(cast("Any", given)))
        return kind(*items) if hasattr(kind, "_fields") else kind(items)
    if type(given) is dict:
        named = cast("dict[Any, Any]", given)
        return {key: _as_arrays(what, item) for key, item in named.items()}
    return given


def _refuse_gradient(what: str, given: Tensor) -> None:
    if not given.requires_grad:
        return
    name = what.removeprefix("np.")
    ours = f"use weft.{name}(), or " if _is_ours(name) else ""
    raise _core.GradientError(
        f"{what}() would lose the gradient of a tensor that requires one: {ours}call "
        "tensor.detach() first"
    )


def _is_ours(name: str) -> bool:
    family, _, short = name.rpartition(".")
    if not family:
        return name in _functions and name not in _NOT_OURS
    return family == "linalg" and hasattr(_functions["linalg"], short)


def _as_tensors(result: Any) -> Any:
    """Make tensors of arrays and NumPy's numbers; what no tensor can hold stays as it is."""
    if isinstance(result, tuple):
        return tuple(map(_as_tensors, cast("tuple[Any, ...]", result)))
    kind = getattr(result, "dtype", None)
    if kind is None or isinstance(result, Tensor) or dtype_of_numpy(kind) is None:
        return result
    return _core.array_operand(result, False) if result.ndim else _core.tensor(result, None)


# --- ufuncs ---------------------------------------------------------------------------------------


def _array_ufunc(
    self: Tensor,  # noqa: ARG001 - one of the inputs
    ufunc: Any,
    method: str,
    *inputs: Any,
    **kwargs: Any,
) -> Any:
    """Apply a ufunc of NumPy's to tensors; the result is a tensor.

    Where Weft has an op of that meaning, that is applied, and gradients go through it. NumPy
    computes the others.

    Raises:
        RuntimeError: if NumPy would have to compute with a tensor that requires a gradient.
    """
    if method == "__call__" and not kwargs:
        result = _quick_ufunc(ufunc)(*inputs)
        if result is not NotImplemented:
            return result
    out = kwargs.get("out", ())
    kept = _needs_graph(inputs)
    if ufunc.__name__ in _COMPARISONS:
        inputs = tuple(map(_as_number, inputs))
    operands = [_operand(each, kept) for each in inputs]
    if any(each is None for each in operands):
        if not all(_is_readable(each) for each in (*inputs, *out)):
            return NotImplemented
        return _ufunc_by_numpy(ufunc, method, inputs, kwargs)
    if all(isinstance(each, Tensor) for each in out):
        function = _ufunc_of_ours(ufunc, method)
        options = {name: each for name, each in kwargs.items() if name != "out"}
        if function is not None:
            try:
                return _into(function, out)(*operands, **options)
            except _UnusualError:
                pass
    return _ufunc_by_numpy(ufunc, method, inputs, kwargs)


@functools.lru_cache(maxsize=512)
def _quick_ufunc(ufunc: Any) -> _Function:
    """Find what to call with the operands as they are; it may give NotImplemented."""
    name = ufunc.__name__
    if _ufunc_of_ours(ufunc, "__call__") is None:
        return lambda *_: NotImplemented
    if name in _SLOTS:
        forward, backward = (getattr(Tensor, f"__{each}__") for each in _SLOTS[name].split())
        is_comparison = name in _COMPARISONS

        def operate(a: Any, b: Any) -> Any:
            if isinstance(a, Tensor):
                return forward(a, b)
            return NotImplemented if is_comparison and not a.ndim else backward(b, a)

        return operate
    if ufunc.nin == 1 and (name in _SAME_NAME or name in _OTHER_NAMES):
        return _functions[_OTHER_NAMES.get(name, name)]
    return lambda *_: NotImplemented


def _is_readable(given: Any) -> bool:
    """Tell whether NumPy can compute with it: objects of others may know better themselves."""
    asked = getattr(cast("Any", type(given)), "__array_ufunc__", None)
    import numpy as np  # noqa: PLC0415

    return (
        asked is None
        or isinstance(given, (Tensor, np.generic))
        or asked is getattr(np.ndarray, "__array_ufunc__")  # noqa: B009 - a slot wrapper
    )


def _into(function: _Function, out: tuple[Any, ...]) -> _Function:
    if not out:
        return function
    target = out[0] if len(out) == 1 else out
    return functools.partial(takes_out(function), out=target)


@functools.lru_cache(maxsize=512)
def _ufunc_of_ours(ufunc: Any, method: str) -> _Function | None:
    """Find the function that has the meaning of a ufunc or of its method."""
    import numpy as np  # noqa: PLC0415

    name = ufunc.__name__
    if getattr(np, name, None) is not ufunc:
        return None
    if method == "reduce" and name in _REDUCTIONS:
        return functools.partial(_reduced, _REDUCTIONS[name])
    if method == "accumulate" and name in _ACCUMULATIONS:
        return functools.partial(_accumulated, _ACCUMULATIONS[name])
    if method not in ("__call__", "outer"):
        return None
    if name in _OPERATORS:
        elementwise = _on_operands(_OPERATORS[name])
    elif name in _SAME_NAME or name in _OTHER_NAMES:
        elementwise = _on_tensors(_functions[_OTHER_NAMES.get(name, name)])
    elif name == "conjugate":
        elementwise = _on_tensors(_functions["positive"])
    else:
        return None
    return elementwise if method == "__call__" else _outer(elementwise)


def _on_operands(function: _Function) -> _Function:
    @functools.wraps(function)
    def call(*operands: Any, **options: Any) -> Any:
        if options:
            raise _UnusualError
        if not any(isinstance(each, Tensor) for each in operands):
            operands = tuple(_tensors(list(operands)))
        return function(*operands)

    return call


def _on_tensors(function: _Function) -> _Function:
    @functools.wraps(function)
    def call(*operands: Any, **options: Any) -> Any:
        if options:
            raise _UnusualError
        return function(*_tensors(list(operands)))

    return call


def _outer(function: _Function) -> _Function:
    def outer(a: Any, b: Any, **options: Any) -> Any:
        a, b = _tensors([a, b])
        return function(a.reshape((*a.shape, *(1,) * b.ndim)), b, **options)

    return outer


def _ufunc_by_numpy(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: Any) -> Any:
    what = f"np.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
    out: tuple[Any, ...] = kwargs.get("out", ())
    if any(not isinstance(each, Tensor) for each in out) and _requires_grad(inputs):
        raise _core.GradientError(
            f"{what}() would write into an array, which holds no gradients, from a tensor that "
            "requires one: write `array = array + tensor` for `array += tensor`, or call "
            "tensor.detach() first"
        )
    kwargs = {name: _as_arrays(what, each) for name, each in kwargs.items() if name != "out"}
    arrays = [_as_arrays(what, each) for each in inputs]
    if method == "at":
        return _written_at(ufunc, inputs[0], arrays)
    if not out:
        return _as_tensors(getattr(ufunc, method)(*arrays, **kwargs))
    # A tensor is written by an op: what has saved it hears of that.
    targets = tuple(
        _as_arrays(what, each).copy() if isinstance(each, Tensor) else each for each in out
    )
    getattr(ufunc, method)(*arrays, **kwargs, out=targets)
    for each, written in zip(out, targets, strict=True):
        if isinstance(each, Tensor):
            each.copy_(from_numpy(written))
    return out[0] if len(out) == 1 else out


def _written_at(ufunc: Any, target: Any, arrays: list[Any]) -> None:
    if not isinstance(target, Tensor):
        ufunc.at(*arrays)
        return
    written = target.numpy().copy()  # now: computing the others may have let other examples go on
    ufunc.at(written, *arrays[1:])
    target.copy_(from_numpy(written))


# --- functions that NumPy hands over to a method of its argument ----------------------------------


def _dims(a: Tensor, axis: Any) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(a.ndim))
    return _ints(axis)


def _ints(given: Any) -> tuple[int, ...]:
    if isinstance(given, (tuple, list)):
        return tuple(cast("list[int]", given))
    return (operator.index(given),)


def _converted(a: Tensor, wanted: Any, *, real: bool = False) -> Tensor:
    """Return a tensor in a dtype of NumPy's or ours, or in floating point if it must be real."""
    if wanted is None:
        return a if not real or a.is_floating_point() else a.to(_core.get_default_dtype())
    kind = wanted if isinstance(wanted, _core.dtype) else dtype_of_numpy(wanted)
    if kind is None:
        raise _UnusualError
    return a.to(kind)


def _reduced(
    name: str, a: Any, axis: Any = 0, dtype: Any = None, keepdims: Any = False, **unusual: Any
) -> Any:
    if unusual:
        raise _UnusualError
    [a] = _tensors([a])
    a = _converted(a, dtype)
    dims = _dims(a, axis)
    function = _functions[name]
    if name != "prod" or not dims:
        return function(a, dims, bool(keepdims)) if dims else function(a)
    for dim in dims:
        a = function(a, dim, True)
    return a if keepdims else _functions["squeeze"](a, dims)


def _accumulated(name: str, a: Any, axis: Any = 0, dtype: Any = None, **unusual: Any) -> Any:
    if unusual:
        raise _UnusualError
    [a] = _tensors([a])
    a = _converted(a, dtype)
    return _functions[name](a.flatten() if axis is None else a, 0 if axis is None else axis)


def _reduction(name: str) -> _Function:
    def reduction(a: Any, axis: Any = None, dtype: Any = None, **options: Any) -> Any:
        return _reduced(name, a, axis, dtype, **options)

    return reduction


def _comparison(name: str) -> _Function:
    def comparison(a: Any, axis: Any = None, **options: Any) -> Any:
        return _reduced(name, a, axis, **options)

    return comparison


def _accumulation(name: str) -> _Function:
    def accumulation(a: Any, axis: Any = None, dtype: Any = None, **unusual: Any) -> Any:
        return _accumulated(name, a, axis, dtype, **unusual)

    return accumulation


def _mean(a: Tensor, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> Tensor:
    a = _converted(a, dtype, real=True)
    return _functions["mean"](a, _dims(a, axis), bool(keepdims)) if a.ndim else a.clone()


def _spread(name: str) -> _Function:
    def spread(
        a: Tensor,
        axis: Any = None,
        dtype: Any = None,
        *,
        ddof: Any = 0,
        correction: Any = None,
        keepdims: Any = False,
    ) -> Tensor:
        a = _converted(a, dtype, real=True)
        less = ddof if correction is None else correction
        return _functions[name](a, _dims(a, axis), correction=less, keepdim=bool(keepdims))

    return spread


def _place(name: str) -> _Function:
    def place(a: Tensor, axis: Any = None, *, keepdims: Any = False) -> Tensor:
        return _functions[name](a, axis, bool(keepdims))

    return place


def _argsort(a: Tensor, axis: Any = -1, kind: Any = None, *, stable: Any = None) -> Tensor:
    if axis is None:
        a, axis = a.flatten(), -1
    return _functions["argsort"](
        a, dim=axis, stable=bool(stable) or kind in ("stable", "mergesort")
    )


_MISSING = object()


def _clip(
    a: Tensor,
    a_min: Any = _MISSING,
    a_max: Any = _MISSING,
    *,
    min: Any = None,
    max: Any = None,
) -> Any:
    least, most = (
        bound if given is _MISSING else given for given, bound in ((a_min, min), (a_max, max))
    )
    if least is None and most is None:
        return a.clone()
    bounds = [bound if bound is None else _operand(bound, True) for bound in (least, most)]
    if any(isinstance(bound, Tensor) for bound in bounds):
        bounds = [bound if bound is None else _tensors([a, bound])[1] for bound in bounds]
    return _functions["clamp"](a, *bounds)


def _ptp(a: Tensor, axis: Any = None, *, keepdims: Any = False) -> Tensor:
    return _reduced("amax", a, axis, keepdims=keepdims) - _reduced(
        "amin", a, axis, keepdims=keepdims
    )


def _repeat(a: Tensor, repeats: Any, axis: Any = None) -> Tensor:
    times = _operand(repeats, True)
    return _functions["repeat_interleave"](a, times, axis)


def _reshape(a: Tensor, shape: Any, order: str = "C", *, copy: bool | None = None) -> Tensor:
    if order != "C" or copy is False:
        raise _UnusualError
    reshaped = a.reshape(_ints(shape))
    return reshaped.clone() if copy else reshaped


def _round(a: Tensor, decimals: int = 0) -> Tensor:
    return _functions["round"](a, decimals=decimals)


def _squeeze(a: Tensor, axis: Any = None) -> Tensor:
    if axis is None:
        return _functions["squeeze"](a)
    if any(a.shape[dim] != 1 for dim in _dims(a, axis)):
        raise ValueError("np.squeeze(): only dimensions of size 1 can be taken away")
    return _functions["squeeze"](a, _dims(a, axis))


def _take(a: Tensor, indices: Any, axis: Any = None) -> Tensor:
    where = _operand(indices, True)
    if axis is None:
        a, axis = a.flatten(), 0
    return a[(slice(None),) * (axis % a.ndim) + (where,)]


def _transpose(a: Tensor, axes: Any = None) -> Tensor:
    return a.permute(tuple(reversed(range(a.ndim))) if axes is None else tuple(axes))


def _swapaxes(a: Tensor, axis1: int, axis2: int) -> Tensor:
    return _functions["transpose"](a, axis1, axis2)


def _size(a: Tensor, axis: Any = None) -> int:
    count = 1
    for dim in _dims(a, axis):
        count *= a.shape[dim]
    return count


_HANDED_OVER: dict[str, _Function] = {
    "all": _comparison("all"),
    "amax": _comparison("amax"),
    "amin": _comparison("amin"),
    "any": _comparison("any"),
    "argmax": _place("argmax"),
    "argmin": _place("argmin"),
    "argsort": _argsort,
    "around": _round,
    "clip": _clip,
    "cumprod": _accumulation("cumprod"),
    "cumsum": _accumulation("cumsum"),
    "max": _comparison("amax"),
    "mean": _mean,
    "min": _comparison("amin"),
    "ndim": operator.attrgetter("ndim"),
    "prod": _reduction("prod"),
    "ptp": _ptp,
    "repeat": _repeat,
    "reshape": _reshape,
    "round": _round,
    "shape": operator.attrgetter("shape"),
    "size": _size,
    "squeeze": _squeeze,
    "std": _spread("std"),
    "sum": _reduction("sum"),
    "swapaxes": _swapaxes,
    "take": _take,
    "transpose": _transpose,
    "var": _spread("var"),
}


# --- all other functions --------------------------------------------------------------------------


def _array_function(
    self: Tensor,  # noqa: ARG001 - one of the arguments
    function: Any,
    types: Any,  # noqa: ARG001 - the function asks the others itself
    args: Any,
    kwargs: Any,
) -> Any:
    """Call a function of NumPy's with tensors.

    What NumPy hands over to a method of its argument (`np.sum`, `np.reshape`) is done by ops and
    gives tensors. All others see arrays over the tensors' memory, and give what they give.

    Raises:
        RuntimeError: if a gradient would be lost.
    """
    name = _name_of(function)
    handed_over = _handed_over().get(function)
    if handed_over is None:
        if name in _WITHOUT_GRADIENT:
            args, kwargs = _detached(args), _detached(kwargs)
        what = f"np.{name}"
        return function(*_as_arrays(what, args), **_as_arrays(what, kwargs))
    options = {
        key: each
        for key, each in kwargs.items()
        if type(each).__name__ != "_NoValueType" and (each is not None or key == "axis")
    }
    out = options.pop("out", None)
    try:
        if out is not None and not isinstance(out, Tensor):
            raise _UnusualError
        first, *others = args or (options.pop("a"),)
        first = _tensors([_operand(first, _needs_graph((*args, *options.values())))])[0]
        bound = _into(handed_over, () if out is None else (out,))
        return bound(first, *others, **options)
    except _UnusualError:
        what = f"np.{name}"
        result = function(*_as_arrays(what, args), **_as_arrays(what, kwargs))
        return result if out is not None else _as_tensors(result)


def _name_of(function: Any) -> str:
    family = (function.__module__ or "").removeprefix("numpy").strip(".")
    return f"{family}.{function.__name__}" if family and "_" not in family else function.__name__


@functools.cache
def _handed_over() -> dict[Any, _Function]:
    """Return what is handed over, by NumPy's functions: some go by several names."""
    import numpy as np  # noqa: PLC0415

    return {getattr(np, name): function for name, function in _HANDED_OVER.items()}


def _detached(given: Any) -> Any:
    if isinstance(given, Tensor):
        return given.detach()
    if type(given) in (list, tuple):
        return type(given)(_detached(item) for item in given)
    if type(given) is dict:
        named = cast("dict[Any, Any]", given)
        return {key: _detached(item) for key, item in named.items()}
    return given
