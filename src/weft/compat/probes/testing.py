"""`torch.testing`."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft import _core
from weft._core import Tensor
from weft._tensor import as_tensor

__all__ = ["assert_close"]

# (relative, absolute) as PyTorch chooses them.
_TOLERANCES = {
    _core.float64: (1e-7, 1e-7),
    _core.float32: (1.3e-6, 1e-5),
    _core.float16: (1e-3, 1e-5),
    _core.bfloat16: (1.6e-2, 1e-5),
}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_dtype: bool = True,
    msg: Any = None,
    **options: Any,
) -> None:
    """Raise AssertionError unless two tensors, numbers or sequences of them are close.

    Args:
        actual: what was computed.
        expected: what it should be.
        rtol: the relative error that may be; by default one that fits the dtype.
        atol: the absolute error that may be; by default one that fits the dtype.
        equal_nan: whether NaN equals NaN.
        check_dtype: whether dtypes must be equal too.
        msg: a text for the error, or a function that makes it.
        options: accepted for PyTorch programs.
    """
    del options
    if isinstance(actual, (list, tuple)):
        assert len(actual) == len(expected), f"the lengths differ: {actual}, {expected}"  # pyright: ignore[reportUnknownArgumentType]
        for left, right in zip(actual, expected, strict=True):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            assert_close(
                left, right, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=check_dtype
            )
        return
    left, right = as_tensor(actual).detach(), as_tensor(expected).detach()
    complaint = _complaint(left, right, rtol, atol, equal_nan, check_dtype)
    if complaint is not None:
        raise AssertionError(msg(complaint) if callable(msg) else msg or complaint)


def _complaint(
    left: Tensor,
    right: Tensor,
    rtol: float | None,
    atol: float | None,
    equal_nan: bool,
    check_dtype: bool,
) -> str | None:
    if left.shape != right.shape:
        return f"The shapes differ: {tuple(left.shape)} and {tuple(right.shape)}."
    if check_dtype and left.dtype is not right.dtype:
        return f"The dtypes differ: {left.dtype} and {right.dtype}."
    relative, absolute = _TOLERANCES.get(left.dtype, (0.0, 0.0))
    relative = relative if rtol is None else rtol
    absolute = absolute if atol is None else atol
    got, wanted = left.double().numpy(), right.double().numpy()
    off = ~np.isclose(got, wanted, relative, absolute, equal_nan)
    if not off.any():
        return None
    greatest = float(np.nanmax(np.abs(got - wanted)))
    return (
        f"{int(off.sum())} of {off.size} elements are not close; the greatest difference is "
        f"{greatest} (rtol {relative}, atol {absolute})."
    )
