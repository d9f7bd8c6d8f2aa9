"""What one row of the op table says, and how its samples become tensors."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

FLOAT = ("float64", "float32", "float16", "bfloat16")
INTEGER = ("int64", "int32", "int16", "int8", "uint8")
BOOL = ("bool",)
NUMBER = FLOAT + INTEGER
ALL = NUMBER + BOOL

# (relative, absolute) error that rounding alone may cause, by the dtype of the arguments.
TOLERANCE = {
    "float64": (1e-9, 1e-10),
    "float32": (3e-5, 3e-6),
    "float16": (5e-3, 5e-3),
    "bfloat16": (4e-2, 4e-2),
}


@dataclass(frozen=True)
class Dtype:
    """A dtype in a sample: `weft.<name>` for the op, NumPy's for the reference."""

    name: str

    @property
    def numpy(self) -> np.dtype:
        return np.dtype({"bfloat16": "float32"}.get(self.name, self.name))


@dataclass(frozen=True)
class Fixed:
    """An array that becomes a tensor without a gradient (a target, a mask of weights)."""

    array: np.ndarray


class Sample:
    """One call: arrays become tensors, everything else is passed as it is."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args = args
        self.kwargs = kwargs
        self.order: int | None = None

    def smooth(self, order: int) -> Sample:
        """Limit how often this sample may be differentiated, where its row allows more."""
        self.order = order
        return self

    def __repr__(self) -> str:
        parts = [_describe(value) for value in self.args]
        parts += [f"{name}={_describe(value)}" for name, value in self.kwargs.items()]
        return f"({', '.join(parts)})"


def _describe(value: Any) -> str:
    if isinstance(value, Fixed):
        return _describe(value.array)
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_describe(item) for item in value)}]"
    return repr(value)


@dataclass(frozen=True)
class Bad:
    """A call that must raise `error`, with a message that has every fragment in it.

    The op's own name is a fragment of every message and is not repeated here.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    error: type[Exception]
    fragments: tuple[str, ...]


def bad(*args: Any, error: type[Exception], says: Sequence[str] = (), **kwargs: Any) -> Bad:
    """Write down a call that must fail."""
    return Bad(args, kwargs, error, tuple(says))


class Make:
    """Draws the arrays of one row for one dtype; the same row always gets the same numbers."""

    def __init__(self, dtype: str, name: str) -> None:
        self.dtype = dtype
        self.random = np.random.default_rng(zlib.crc32(name.encode()))

    def __call__(self, *shape: int, low: float = -3.0, high: float = 3.0, gap: float = 0.0):
        """Return values in [low, high], for floats at least `gap` away from zero."""
        if self.dtype == "bool":
            return np.asarray(self.random.integers(0, 2, shape).astype(bool))
        if self.dtype in INTEGER:
            start, stop = int(np.ceil(low)), int(np.floor(high))
            start = max(start, 0) if self.dtype == "uint8" else start
            values = self.random.integers(start, max(stop, start) + 1, shape)
            if gap:
                values = np.where(values == 0, 1, values)
            return np.asarray(values.astype(self.dtype))
        values = self.random.uniform(low, high, shape)
        if gap:
            values = np.where(
                np.abs(values) < gap, np.copysign(gap + np.abs(values), values), values
            )
        return self._round(values)

    def spread(self, *shape: int, step: float = 0.25) -> np.ndarray:
        """Return distinct values in random order, far enough apart for finite differences."""
        count = int(np.prod(shape))
        values = (self.random.permutation(count) - count // 2).reshape(shape)
        if self.dtype == "bool":
            return np.asarray(values % 2 == 0)
        if self.dtype in INTEGER:
            return np.asarray(np.abs(values) if self.dtype == "uint8" else values, self.dtype)
        return self._round(values * step + 0.1)

    def array(self, values: Any) -> np.ndarray:
        """Return exactly these values in the dtype at hand."""
        return (
            self._round(np.asarray(values))
            if self.dtype in FLOAT
            else np.asarray(values, self.dtype)
        )

    def index(self, *shape: int, below: int) -> np.ndarray:
        """Return int64 indices in [0, below)."""
        return np.asarray(self.random.integers(0, below, shape), np.int64)

    def mask(self, *shape: int) -> np.ndarray:
        """Return random booleans."""
        return np.asarray(self.random.integers(0, 2, shape), bool)

    def _round(self, values: np.ndarray) -> np.ndarray:
        if self.dtype != "bfloat16":
            return np.asarray(values, self.dtype)
        return round_bfloat16(np.asarray(values, np.float32))


def round_bfloat16(values: np.ndarray) -> np.ndarray:
    """Round float32 values to the nearest bfloat16, ties to even; NumPy has no bfloat16 itself."""
    bits = values.astype(np.float32).view(np.uint32)
    rounded = bits + 0x7FFF + ((bits >> 16) & 1)
    return np.asarray((rounded & 0xFFFF0000).astype(np.uint32).view(np.float32))


Samples = Callable[[Make], Sequence[Sample]]


@dataclass(frozen=True)
class Row:
    """Everything the tests know of one op.

    Arguments:
        name: its public name below `weft`, such as `tanh` or `nn.functional.gelu`.
        samples: builds the sample calls from a `Make`.
        reference: takes a sample's arguments as NumPy arrays and returns what the op must return;
            None for ops whose values are free (random, uninitialised), which then need `check`.
        dtypes: the dtypes that the samples' arrays may have; most tests use the first.
        order: how often the op can be differentiated in the samples: 0, 1 or 2.
        errors: calls that must fail.
        method: whether `Tensor` has it as a method too.
        in_place: whether `Tensor` has the method with a trailing underscore.
        result: the dtype of a result where it does not follow from the reference's; "exact" where
            it is exactly the reference's.
        tolerance: a factor on the usual tolerance.
        check: a free check of the result, given (module, result, sample).
        oracle: a reason not to compare with PyTorch, or None.
        alias: the op that this name is another name for; error messages then say that op's name.
        tags: "contiguous" where non-contiguous arguments are an error, "writes" where the op
            changes an argument; other words only tell rows of one op apart.
    """

    name: str
    samples: Samples
    reference: Callable[..., Any] | None = None
    dtypes: tuple[str, ...] = FLOAT
    order: int = 2
    errors: tuple[Bad, ...] = ()
    method: bool = False
    in_place: bool = False
    result: str | None = None
    tolerance: float = 1.0
    check: Callable[..., None] | None = None
    oracle: str | None = None
    alias: str | None = None
    tags: tuple[str, ...] = field(default=())

    @property
    def short_name(self) -> str:
        return self.name.rsplit(".", 1)[-1]

    def calls(self, dtype: str) -> Sequence[Sample]:
        return self.samples(Make(dtype, self.name))

    def function(self, module: Any) -> Callable[..., Any]:
        return reduce(getattr, self.name.split("."), module)


LAYOUTS = ("contiguous", "strided", "transposed")


def to_tensor(module: Any, array: np.ndarray, dtype: str, layout: str = "contiguous") -> Any:
    """Make a tensor of `array`'s values, in the given memory layout.

    In a bfloat16 sample the float32 arrays stand for bfloat16.
    """
    if layout == "strided" and array.ndim:
        # Every second element of a larger tensor, from an offset.
        wide = np.full((*array.shape[:-1], 2 * array.shape[-1] + 1), 7).astype(array.dtype)
        wide[..., 1::2] = array
        tensor = _plain(module, wide, dtype)
        return tensor[..., 1::2]
    if layout == "transposed" and array.ndim > 1:
        order = tuple(reversed(range(array.ndim)))
        return _plain(module, np.ascontiguousarray(array.transpose(order)), dtype).permute(order)
    return _plain(module, array, dtype)


def _plain(module: Any, array: np.ndarray, dtype: str) -> Any:
    # A copy, so that an op that writes its argument cannot reach the sample.
    tensor = module.tensor(np.ascontiguousarray(array).reshape(array.shape).copy())
    return (
        tensor.to(module.bfloat16) if dtype == "bfloat16" and array.dtype == np.float32 else tensor
    )


@dataclass
class Call:
    """A sample's arguments as tensors; `leaves` are those that ask for a gradient."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    leaves: list[Any]


def to_call(
    module: Any,
    sample: Sample | Bad,
    dtype: str,
    layout: str = "contiguous",
    gradient: bool = False,
) -> Call:
    """Build the arguments of a sample as tensors of `module`."""
    leaves: list[Any] = []

    def convert(value: Any) -> Any:
        if isinstance(value, Dtype):
            return getattr(module, value.name)
        if isinstance(value, Fixed):
            return to_tensor(module, value.array, dtype, layout)
        if isinstance(value, np.ndarray):
            tensor = to_tensor(module, value, dtype, layout)
            if gradient and value.dtype.kind == "f":
                leaves.append(tensor.requires_grad_())
            return tensor
        if isinstance(value, list):
            return [convert(item) for item in value]
        if isinstance(value, tuple):
            return tuple(convert(item) for item in value)
        return value

    args = tuple(convert(value) for value in sample.args)
    kwargs = {name: convert(value) for name, value in sample.kwargs.items()}
    return Call(args, kwargs, leaves)


def to_arrays(sample: Sample, widen: bool = True) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return a sample's arguments for the reference: fresh arrays, floats in float64."""

    def convert(value: Any) -> Any:
        if isinstance(value, Dtype):
            return value.numpy
        if isinstance(value, Fixed):
            return convert(value.array)
        if isinstance(value, np.ndarray):
            return value.astype(np.float64) if widen and value.dtype.kind == "f" else value.copy()
        if isinstance(value, list):
            return [convert(item) for item in value]
        if isinstance(value, tuple):
            return tuple(convert(item) for item in value)
        return value

    args = tuple(convert(value) for value in sample.args)
    return args, {name: convert(value) for name, value in sample.kwargs.items()}


def flatten(result: Any) -> Iterator[Any]:
    """Walk the leaves of a result: tensors, arrays or Python numbers."""
    if isinstance(result, list | tuple):
        for item in result:
            yield from flatten(item)
    elif result is not None:
        yield result


def is_tensor(value: Any) -> bool:
    return hasattr(value, "requires_grad")


def is_floating(tensor: Any) -> bool:
    return dtype_name(tensor) in FLOAT


def dtype_name(tensor: Any) -> str:
    """Return `float32` for a tensor whose dtype prints as `weft.float32` or `torch.float32`."""
    return str(tensor.dtype).rsplit(".", 1)[-1]


def to_array(value: Any) -> np.ndarray:
    """Return a result's values as NumPy sees them; half precision floats widen to float32."""
    if not is_tensor(value):
        return np.asarray(value)
    value = value.detach()
    return np.array(
        (value.float() if dtype_name(value) in ("float16", "bfloat16") else value).numpy()
    )


def assert_close(
    actual: Any, expected: Any, dtype: str, factor: float = 1.0, what: str = "values"
) -> None:
    """Compare two results leaf by leaf: shapes exactly, floats within rounding."""
    actual_leaves, expected_leaves = list(flatten(actual)), list(flatten(expected))
    assert len(actual_leaves) == len(expected_leaves), f"{what}: another number of results"
    relative, absolute = (factor * bound for bound in TOLERANCE.get(dtype, TOLERANCE["float32"]))
    for left, right in zip(actual_leaves, expected_leaves, strict=True):
        got, want = to_array(left), to_array(right)
        assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
        if got.dtype.kind == "f" or want.dtype.kind == "f":
            np.testing.assert_allclose(
                got.astype(np.float64), want.astype(np.float64), relative, absolute, err_msg=what
            )
        else:
            np.testing.assert_array_equal(got, want, err_msg=what)


def expected_dtype(row: Row, reference: Any, dtype: str) -> str:
    """Return the dtype that a result must have, from the reference's result and the arguments'."""
    if row.result not in (None, "exact"):
        return str(row.result)
    kind = np.asarray(reference).dtype
    if kind.kind == "f" and row.result != "exact":
        return dtype if dtype in FLOAT else "float32"
    return "int64" if kind == np.uint64 else str(kind)
