"""Turn a tensor's values and facts into text, in the layout that PyTorch users know.

Nothing here knows the Tensor type: the caller hands over a NumPy array and the few facts that the
text shows. When a tensor is too large to print in full, only the elements that appear are read.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from math import inf, isfinite
from typing import Any, TypeAlias, cast

import numpy as np

from weft import _core

Array: TypeAlias = "np.ndarray[Any, Any]"

_PREFIX = "tensor("
# Beyond these bounds a column of plain decimals would be too wide or would lose its digits.
_LARGEST_PLAIN = 1e8
_SMALLEST_PLAIN = 1e-4
_LARGEST_RATIO = 1000.0


@dataclass(frozen=True)
class PrintOptions:
    """Say how tensors are printed; see `set_printoptions`."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_PROFILES = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=inf),
}
_options = PrintOptions()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed; what is not given keeps its value.

    Args:
        precision: digits after the decimal point (4 at first).
        threshold: more elements than this are shown in summary (1000).
        edgeitems: how many items a summary shows at each end of a dimension (3).
        linewidth: characters on a line (80).
        profile: a base for the other arguments: "default", "short" or "full".
        sci_mode: True or False to force or forbid scientific notation. Leaving it out goes back
            to choosing per tensor.

    Raises:
        ValueError: if the profile has no such name, or a number is out of its range.

    Example:
        >>> import weft
        >>> weft.set_printoptions(precision=2)
        >>> weft.tensor([1.23456])
        tensor([1.23])
        >>> weft.set_printoptions(profile="default")
    """
    global _options  # noqa: PLW0603 (one setting for the whole process, as in PyTorch)
    options = _options
    if profile is not None:
        if profile not in _PROFILES:
            names = ", ".join(_PROFILES)
            raise ValueError(f"set_printoptions: profile must be one of {names}; it is {profile!r}")
        options = _PROFILES[profile]
    given: dict[str, Any] = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    for name, value in given.items():
        if value is not None and not value >= 0:
            raise ValueError(f"set_printoptions: {name} must not be negative; it is {value}")
    changes = {name: value for name, value in given.items() if value is not None}
    _options = replace(options, **changes, sci_mode=sci_mode)


def get_printoptions() -> dict[str, Any]:
    """Return the options that printing uses now, by name.

    Example:
        >>> get_printoptions()["linewidth"]
        80
    """
    return asdict(_options)


@contextmanager
def printoptions(**changes: Any) -> Generator[None]:
    """Set print options inside a `with` block; takes what `set_printoptions` takes.

    Example:
        >>> with printoptions(precision=1):
        ...     get_printoptions()["precision"]
        1
    """
    global _options  # noqa: PLW0603 (one setting for the whole process, as in PyTorch)
    before = _options
    set_printoptions(**changes)
    try:
        yield
    finally:
        _options = before


@dataclass(frozen=True)
class _NumberStyle:
    """How each number of one tensor is written: one style keeps the columns aligned."""

    notation: str  # "plain" is str(); "whole" is 3.; "fixed" is 3.1000; "scientific" is 3.1000e+00
    precision: int
    width: int = 1

    def bare(self, value: Any) -> str:
        """Write a number without the padding."""
        if self.notation == "plain":
            return str(value)
        if self.notation == "whole":
            return f"{value:.0f}." if isfinite(value) else f"{value:.0f}"
        return f"{value:.{self.precision}{'e' if self.notation == 'scientific' else 'f'}}"

    def text(self, value: Any) -> str:
        return self.bare(value).rjust(self.width)


def _choose_style(values: Sequence[Any], is_floating: bool, options: PrintOptions) -> _NumberStyle:
    """Choose one style for all the values that will appear."""
    if not is_floating:
        return _fitted(_NumberStyle("plain", options.precision), values)
    # Zeros, infinities and NaNs look the same in every style, so they have no say.
    telling: list[float] = [value for value in values if value != 0 and isfinite(value)]
    if not telling:
        return _NumberStyle("whole", options.precision)
    smallest: float = min(map(abs, telling))
    largest: float = max(map(abs, telling))
    notation = "whole" if all(map(float.is_integer, telling)) else "fixed"
    if options.sci_mode is None:
        is_scientific = (
            largest > _LARGEST_PLAIN
            or largest / smallest > _LARGEST_RATIO
            or (notation == "fixed" and smallest < _SMALLEST_PLAIN)
        )
    else:
        is_scientific = options.sci_mode
    if is_scientific:
        notation = "scientific"
    return _fitted(_NumberStyle(notation, options.precision), telling)


def _fitted(style: _NumberStyle, values: Sequence[Any]) -> _NumberStyle:
    """Return the style made wide enough for all the values."""
    return replace(style, width=max((len(style.bare(value)) for value in values), default=1))


def _is_cut(size: int, summarise: bool, options: PrintOptions) -> bool:
    """Tell whether the middle of a dimension is left out."""
    return summarise and size > 2 * options.edgeitems


def _shown_part(data: Array, options: PrintOptions) -> Array:
    """Copy the corners that a summary shows, reading nothing else."""
    edge = options.edgeitems
    kept: list[list[int]] = []
    for size in cast("tuple[int, ...]", data.shape):
        is_cut = _is_cut(size, True, options)
        kept.append([*range(edge), *range(size - edge, size)] if is_cut else list(range(size)))
    return data[np.ix_(*kept)]


def _layout(
    cells: Iterator[str], shape: Sequence[int], width: int, summarise: bool, options: PrintOptions
) -> str:
    """Lay out written numbers, given in memory order, as nested and wrapped brackets."""
    edge = options.edgeitems
    if not shape:
        return next(cells)

    def block(dimension: int) -> str:
        indent = len(_PREFIX) + dimension
        is_row = dimension == len(shape) - 1
        is_cut = _is_cut(shape[dimension], summarise, options)
        count = 2 * edge if is_cut else shape[dimension]
        parts = [next(cells) if is_row else block(dimension + 1) for _ in range(count)]
        if is_cut:
            parts.insert(edge, " ..." if is_row and edge else "...")
        if not is_row:
            gap = "\n" * (len(shape) - dimension - 1) + " " * (indent + 1)
            return "[" + f",{gap}".join(parts) + "]"
        per_line = max(1, (options.linewidth - indent) // (width + 2))
        lines = [", ".join(parts[i : i + per_line]) for i in range(0, len(parts), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"

    return block(0)


def _format_values(data: Array, is_bits: bool, options: PrintOptions) -> str:
    """Write the values of a tensor that has at least one element."""
    summarise = data.size > options.threshold
    shown = _shown_part(data, options) if summarise and data.ndim else data
    if is_bits:
        shown = (shown.astype(np.uint32) << 16).view(np.float32)
    values: list[Any] = shown.reshape(-1).tolist()
    style = _choose_style(values, shown.dtype.kind == "f", options)
    return _layout(map(style.text, values), data.shape, style.width, summarise, options)


def _with_suffixes(text: str, suffixes: Sequence[str], options: PrintOptions) -> str:
    """Add the facts behind the values, on a new line where the last one is full."""
    pieces = [text]
    # Two more than the characters really there: the line breaks must fall where PyTorch's do.
    used = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if used + len(suffix) + 2 > options.linewidth:
            pieces.append(",\n" + " " * len(_PREFIX) + suffix)
            used = len(_PREFIX) + len(suffix)
        else:
            pieces.append(", " + suffix)
            used += len(suffix) + 2
    return "".join(pieces) + ")"


def format_tensor(
    data: Array,
    *,
    dtype_name: str,
    shape: Sequence[int],
    requires_grad: bool = False,
    grad_fn_name: str | None = None,
    is_parameter: bool = False,
    default_dtype_name: str = "float32",
) -> str:
    """Write a tensor as text.

    Args:
        data: the values, of the tensor's shape; any strides. float16 and bfloat16 may come as
            float32. bfloat16 may also come as its bits in uint16, so that a huge tensor need not
            be converted to show a few of its elements.
        dtype_name: the tensor's dtype, such as "float64".
        shape: the tensor's shape.
        requires_grad: whether it is a leaf that collects a gradient.
        grad_fn_name: the class name of its grad_fn, such as "MulBackward0".
        is_parameter: whether it is a parameter of a module.
        default_dtype_name: the default floating dtype, which goes without saying.

    Returns:
        The text, without a line break at its end.

    Raises:
        ValueError: if the values do not have the given shape.

    Example:
        >>> print(format_tensor(np.ones((2, 2)), dtype_name="float64", shape=(2, 2)))
        tensor([[1., 1.],
                [1., 1.]], dtype=weft.float64)
    """
    if data.shape != tuple(shape):
        raise ValueError(f"format_tensor: data has shape {data.shape}, not {tuple(shape)}")
    options = _options
    suffixes: list[str] = []
    self_evident = {default_dtype_name}
    if 0 in shape:
        values = "[]"
        is_size_shown = len(shape) != 1
    else:
        is_size_shown = options.edgeitems == 0
        is_bits = dtype_name == "bfloat16" and data.dtype == np.uint16
        values = _format_values(data, is_bits, options)
        # The way the numbers are written tells these two; without numbers nothing does.
        self_evident |= {"int64", "bool"}
    if is_size_shown:
        suffixes.append(f"size={tuple(shape)}")
    if dtype_name not in self_evident:
        suffixes.append(f"dtype={_core.shown_package()}.{dtype_name}")
    if grad_fn_name is not None:
        suffixes.append(f"grad_fn=<{grad_fn_name}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    text = _with_suffixes(_PREFIX + values, suffixes, options)
    return f"Parameter containing:\n{text}" if is_parameter else text
