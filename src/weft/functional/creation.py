"""Make new tensors, with the keyword arguments that PyTorch's functions have."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from weft import _core
from weft._core import Tensor
from weft._tensor import device as device_type
from weft.functional.checks import broadcast_shapes
from weft.functional.composite import composite
from weft.functional.facts import iinfo

ops = _core.ops


def finished(tensor: Tensor, device: Any, requires_grad: bool) -> Tensor:
    """Give a new tensor what its maker asked for besides values."""
    if device is not None:
        device_type(device)  # raises for what is not the CPU
    return tensor.requires_grad_() if requires_grad else tensor


def zeros(
    *size: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """Make a tensor of zeros.

    Args:
        size: the sizes, one by one or as a sequence.
        dtype: the element type; the default one if not given.
        device: only "cpu".
        requires_grad: whether gradients are wanted.
        ignored: `layout` and `pin_memory`, for PyTorch programs.

    Example:
        >>> import weft
        >>> weft.zeros(2, 3)
        tensor([[0., 0., 0.],
                [0., 0., 0.]])
        >>> weft.zeros((2,), dtype=weft.int64)
        tensor([0, 0])
    """
    size = _sizes("zeros", size, ignored)
    return finished(ops.zeros(*size, dtype=dtype), device, requires_grad)


_HARMLESS = frozenset({"layout", "memory_format", "names", "pin_memory"})


def _check(name: str, ignored: dict[str, Any]) -> None:
    for key in ignored:
        if key not in _HARMLESS:
            raise TypeError(f"{name}() got an unexpected keyword argument {key!r}.")


def _sizes(name: str, size: tuple[Any, ...], others: dict[str, Any]) -> tuple[Any, ...]:
    """Return the sizes, which may be the keyword `size`, after a check of the other keywords."""
    if not size and "size" in others:
        size = (others.pop("size"),)
    _check(name, others)
    return size


def ones(
    *size: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """Make a tensor of ones; arguments as for `zeros`.

    Example:
        >>> import weft
        >>> weft.ones(2, requires_grad=True)
        tensor([1., 1.], requires_grad=True)
    """
    size = _sizes("ones", size, ignored)
    return finished(ops.ones(*size, dtype=dtype), device, requires_grad)


@composite()
def empty(
    *size: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """Make a tensor that is meant to be overwritten (of zeros); arguments as for `zeros`.

    Example:
        >>> import weft
        >>> weft.empty(2, 3).shape  # the values are whatever the memory held
        weft.Size([2, 3])
    """
    size = _sizes("empty", size, ignored)
    return finished(ops.zeros(*size, dtype=dtype), device, requires_grad)


def full(
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """Make a tensor of one value; the value gives the dtype if none is given.

    Example:
        >>> import weft
        >>> weft.full((2, 2), 7.5)
        tensor([[7.5000, 7.5000],
                [7.5000, 7.5000]])
    """
    _check("full", ignored)
    if isinstance(fill_value, Tensor):
        dtype = fill_value.dtype if dtype is None else dtype
        fill_value = fill_value.item()
    return finished(ops.full(size, fill_value, dtype=dtype), device, requires_grad)


def zeros_like(
    input: Tensor,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """Make a tensor of zeros with the shape and dtype of another.

    Example:
        >>> import weft
        >>> weft.zeros_like(weft.tensor([1, 2]), dtype=weft.float32)
        tensor([0., 0.])
    """
    _check("zeros_like", ignored)
    return finished(ops.zeros_like(input, dtype=dtype), device, requires_grad)


def ones_like(
    input: Tensor,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """Make a tensor of ones with the shape and dtype of another.

    Example:
        >>> import weft
        >>> weft.ones_like(weft.tensor([[5, 6]]))
        tensor([[1, 1]])
    """
    _check("ones_like", ignored)
    return finished(ops.ones(input.shape, dtype=dtype or input.dtype), device, requires_grad)


def empty_like(
    input: Tensor,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """Make a tensor like another that is meant to be overwritten (of zeros).

    Example:
        >>> import weft
        >>> weft.empty_like(weft.zeros(2, 3)).shape
        weft.Size([2, 3])
    """
    _check("empty_like", ignored)
    return finished(ops.zeros_like(input, dtype=dtype), device, requires_grad)


@composite()
def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """Make a tensor of one value with the shape and dtype of another.

    Example:
        >>> import weft
        >>> weft.full_like(weft.zeros(2), 3)
        tensor([3., 3.])
    """
    _check("full_like", ignored)
    made = ops.full(input.shape, _number(fill_value), dtype=dtype or input.dtype)
    return finished(made, device, requires_grad)


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) else value


def _exact(value: Any) -> int | float:
    """Return a number as an int if it is one, otherwise as a float."""
    value = _number(value)
    return operator.index(value) if hasattr(value, "__index__") else float(value)


def arange(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """Make the numbers from `start` to before `end`; with one argument, from 0 to before it.

    Args:
        start: the first number.
        end: where to stop.
        step: the distance between numbers.
        dtype: int64 if all numbers are integers, otherwise the default one.
        device: only "cpu".
        requires_grad: whether gradients are wanted.
        ignored: `layout` and `pin_memory`, for PyTorch programs.

    Example:
        >>> import weft
        >>> weft.arange(3)
        tensor([0, 1, 2])
        >>> weft.arange(1, 2, 0.25)
        tensor([1.0000, 1.2500, 1.5000, 1.7500])
    """
    _check("arange", ignored)
    first, last = (0, _exact(start)) if end is None else (_exact(start), _exact(end))
    distance = _exact(step)
    if distance == 0:
        raise _core.ArgumentError("arange(): step must be nonzero.")
    if not (math.isfinite(first) and math.isfinite(last)) or math.isnan(distance):
        raise _core.ArgumentError(f"arange(): unsupported range: from {first} to {last}.")
    if first != last and (first < last) != (distance > 0):
        raise _core.ArgumentError(
            f"arange(): upper bound and lower bound are inconsistent with the sign of step: from "
            f"{first} to {last} by {distance}."
        )
    whole = all(isinstance(number, int) for number in (first, last, distance))
    # Integers of any size divide exactly.
    count = int(-((first - last) // distance)) if whole else math.ceil((last - first) / distance)
    if dtype is None:
        dtype = _core.int64 if whole else _core.get_default_dtype()
    return finished(ops.arange(first, distance, count, dtype=dtype), device, requires_grad)


def _spaced(start: Any, end: Any, steps: int) -> Tensor:
    """Return evenly spaced numbers in float64; the second half counts from the end."""
    if steps < 0:
        raise _core.ArgumentError(f"steps must not be negative; steps is {steps}.")
    first, last = float(_number(start)), float(_number(end))
    step = (last - first) / (steps - 1) if steps > 1 else 0.0
    half = max(steps // 2, min(steps, 1))
    before = ops.arange(first, step, half, dtype=_core.float64)
    left = ops.arange(float(steps - 1 - half), -1.0, steps - half, dtype=_core.float64)
    return ops.cat([before, last - left * step])


@composite()
def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """Make `steps` numbers from `start` to `end`, both included, equally far apart.

    Example:
        >>> import weft
        >>> weft.linspace(0, 1, 5)  # both ends are in it
        tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    _check("linspace", ignored)
    made = _spaced(start, end, steps).to(dtype or _core.get_default_dtype())
    return finished(made, device, requires_grad)


@composite()
def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """Make `steps` powers of `base`, their exponents equally far apart.

    Example:
        >>> import weft
        >>> weft.logspace(0, 2, 3)
        tensor([  1.,  10., 100.])
    """
    _check("logspace", ignored)
    made = ops.pow(float(base), _spaced(start, end, steps))
    made = made.to(dtype or _core.get_default_dtype())
    return finished(made, device, requires_grad)


@composite()
def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """Make a matrix with ones on its diagonal and zeros elsewhere.

    Example:
        >>> import weft
        >>> weft.eye(2, 3)
        tensor([[1., 0., 0.],
                [0., 1., 0.]])
    """
    _check("eye", ignored)
    made = ops.zeros((n, n if m is None else m), dtype=dtype)
    length, columns = min(made.shape), made.shape[1]
    ops.fill_(ops.strided_view(made, (length,), (columns + 1,), 0, made.stride(), 0), 1)
    return finished(made, device, requires_grad)


def scalar_tensor(
    s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **ignored: Any
) -> Tensor:
    """Make a tensor without dimensions; the default dtype if none is given.

    Example:
        >>> import weft
        >>> weft.scalar_tensor(2.5).shape
        weft.Size([])
    """
    _check("scalar_tensor", ignored)
    made = ops.full((), s, dtype=dtype or _core.get_default_dtype())
    return finished(made, device, requires_grad)


def rand(
    *size: Any,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """Draw from the uniform distribution over [0, 1).

    Example:
        >>> import weft
        >>> _ = weft.manual_seed(0)
        >>> weft.rand(3)
        tensor([0.4963, 0.7682, 0.0885])
    """
    size = _sizes("rand", size, ignored)
    made = ops.rand(*size, generator=generator, dtype=dtype)
    return finished(made, device, requires_grad)


def randn(
    *size: Any,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """Draw from the normal distribution with mean 0 and deviation 1.

    Example:
        >>> import weft
        >>> _ = weft.manual_seed(0)
        >>> weft.randn(3)
        tensor([ 1.5410, -0.2934, -2.1788])
    """
    size = _sizes("randn", size, ignored)
    made = ops.randn(*size, generator=generator, dtype=dtype)
    return finished(made, device, requires_grad)


def in_memory_order(like: Tensor, draw: Callable[[list[int]], Tensor]) -> Tensor:
    """Fill the shape of a tensor in the order of its memory, as PyTorch draws, unless stretched.

    Args:
        like: the tensor.
        draw: makes a tensor of a shape, filled in the order of its indices.
    """
    axes = range(like.dim())
    order = sorted(axes, key=lambda axis: -like.stride(axis))
    if order == list(axes) or 0 in like.stride():
        return draw(list(like.shape))
    return draw([like.shape[axis] for axis in order]).permute([order.index(axis) for axis in axes])


def rand_like(
    input: Tensor,
    *,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """Draw uniformly from [0, 1), with the shape and dtype of another tensor.

    Example:
        >>> import weft
        >>> weft.rand_like(weft.zeros(2, 3)).shape
        weft.Size([2, 3])
    """
    _check("rand_like", ignored)
    made = in_memory_order(
        input, lambda size: ops.rand(size, generator=generator, dtype=dtype or input.dtype)
    )
    return finished(made, device, requires_grad)


def randn_like(
    input: Tensor,
    *,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """Draw normally, with the shape and dtype of another tensor.

    Example:
        >>> import weft
        >>> weft.randn_like(weft.zeros(2, 3)).shape
        weft.Size([2, 3])
    """
    _check("randn_like", ignored)
    dtype = dtype or input.dtype
    if input.is_contiguous():
        made = ops.randn(input.shape, generator=generator, dtype=dtype)
    else:
        place = in_memory_order(input, lambda size: ops.zeros(size, dtype=dtype))
        made = ops.gaussian(place, generator=generator)
    return finished(made, device, requires_grad)


def _check_limits(name: str, lowest: int, highest: int, dtype: Any) -> None:
    """Refuse integers that a dtype cannot hold."""
    kind = None if dtype is None else _core.as_dtype(dtype)
    if kind is None or kind.is_floating_point:
        return
    least, largest = (0, 1) if kind is _core.bool else (iinfo(kind).min, iinfo(kind).max)
    if lowest < least or highest > largest:
        raise _core.ArgumentError(
            f"{name}(): the numbers from {lowest} to {highest} do not fit into {kind}."
        )


def randint(
    low: Any = 0,
    high: Any = None,
    size: Any = None,
    *,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """Draw integers from `low` to before `high`; `randint(high, size)` begins with 0.

    Args:
        low: the least integer; 0 if only `high` is given.
        high: where integers stop.
        size: the sizes.
        generator: the source of randomness.
        dtype: int64 if not given.
        device: only "cpu".
        requires_grad: whether gradients are wanted.
        ignored: `layout` and `pin_memory`, for PyTorch programs.

    Example:
        >>> import weft
        >>> _ = weft.manual_seed(0)
        >>> weft.randint(0, 10, (4,))  # 10 is not in it
        tensor([4, 9, 3, 0])
    """
    _check("randint", ignored)
    if size is None:
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    _check_limits("randint", low, high - 1, dtype)
    made = ops.randint(low, high, size, generator=generator, dtype=dtype)
    return finished(made, device, requires_grad)


def randint_like(
    input: Tensor, low: int, high: int | None = None, *, dtype: Any = None, **options: Any
) -> Tensor:
    """Draw integers from `low` to before `high`, with the shape and dtype of another tensor.

    Example:
        >>> import weft
        >>> weft.randint_like(weft.zeros(2, 3), 10).shape
        weft.Size([2, 3])
    """
    if high is None:
        low, high = 0, low
    return in_memory_order(
        input, lambda size: randint(low, high, size, dtype=dtype or input.dtype, **options)
    )


@composite()
def randperm(
    n: int,
    *,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """Return the integers from 0 to before `n` in random order.

    Example:
        >>> import weft
        >>> _ = weft.manual_seed(0)
        >>> weft.randperm(5)
        tensor([4, 0, 1, 3, 2])
    """
    _check("randperm", ignored)
    _check_limits("randperm", 0, n - 1, dtype)
    made = ops.permutation(n, generator=generator)
    made = made if dtype is None else made.to(dtype)
    return finished(made, device, requires_grad)


@composite()
def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """Draw from normal distributions.

    Args:
        mean: a number, or the mean of each element.
        std: a number, or the deviation of each element.
        size: the sizes, if mean and std are numbers.
        generator: the source of randomness.
        dtype: the element type.
        device: only "cpu".
        requires_grad: whether gradients are wanted.
        ignored: `layout` and `pin_memory`, for PyTorch programs.

    Example:
        >>> import weft
        >>> _ = weft.manual_seed(0)
        >>> weft.normal(mean=10.0, std=weft.tensor([0.0, 1.0]))
        tensor([10.0000,  9.7066])
    """
    _check("normal", ignored)
    least = std if not isinstance(std, Tensor) else float(ops.amin(std)) if std.numel() else 0
    if least < 0:
        raise _core.ArgumentError(f"normal(): std must not be negative; std is {least}.")
    if size is None:
        given = [value for value in (mean, std) if isinstance(value, Tensor)]
        size = broadcast_shapes(*(value.shape for value in given))
        if given and given[0].is_floating_point():
            dtype = given[0].dtype
    drawn = ops.randn(size, generator=generator, dtype=dtype)
    made = ops.add(ops.mul(drawn, _plain(std)), _plain(mean)).to(drawn.dtype)
    return finished(made, device, requires_grad)


def _plain(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) else value


def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """Draw counts from Poisson distributions with the given rates.

    Args:
        input: the rates.
        generator: the source of randomness.

    Example:
        >>> import weft
        >>> weft.poisson(weft.tensor([0.0, 0.0]))  # of these rates
        tensor([0., 0.])
    """
    import numpy as np  # noqa: PLC0415 (NumPy has the algorithm; imports of weft stay light)

    if bool(ops.any(ops.lt(input, 0))):
        raise _core.ArgumentError("poisson(input): input must not be negative.")
    # One number of Weft's stream seeds NumPy's, so that a seed still decides everything.
    seed = int(ops.randint(0, 2**62, (), generator=generator))
    counts = np.random.default_rng(seed).poisson(
        np.array(input.detach().to(_core.float64).tolist())
    )
    return _core.tensor(counts.tolist(), input.dtype)
