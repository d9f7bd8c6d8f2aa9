"""Special functions, under the names of `torch.special`."""

from __future__ import annotations

import math
from typing import Any

from weft import _core
from weft._core import Tensor
from weft.functional.elementwise import exp2, logit, sinc
from weft.functional.polynomials import (
    chebyshev_polynomial_t,
    chebyshev_polynomial_u,
    chebyshev_polynomial_v,
    chebyshev_polynomial_w,
    hermite_polynomial_h,
    hermite_polynomial_he,
    laguerre_polynomial_l,
    legendre_polynomial_p,
    shifted_chebyshev_polynomial_t,
    shifted_chebyshev_polynomial_u,
    shifted_chebyshev_polynomial_v,
    shifted_chebyshev_polynomial_w,
)
from weft.functional.reductions import logsumexp
from weft.functional.statistics import mvlgamma

ops = _core.ops

digamma = psi = ops.digamma
erf, erfc, erfinv = ops.erf, ops.erfc, ops.erfinv
expm1, log1p = ops.expm1, ops.log1p
expit, gammaln, round = ops.sigmoid, ops.lgamma, ops.round
log_softmax, softmax, xlogy = ops.log_softmax, ops.softmax, ops.xlogy
multigammaln = mvlgamma


def _floats(input: Tensor) -> Tensor:
    return input if input.is_floating_point() else input.to(_core.get_default_dtype())


def entr(input: Tensor) -> Tensor:
    """Return `-x log x`: 0 at 0, and minus infinity below.

    Example:
        >>> import weft
        >>> weft.special.entr(weft.tensor([0.5, 0.0]))
        tensor([0.3466, 0.0000])
    """
    x = _floats(input)
    inside = ops.where(x > 0, x, 1.0)
    values = ops.where(x > 0, -inside * ops.log(inside), ops.where(x < 0, -math.inf, 0.0))
    return ops.where(ops.isnan(x), x, values).to(x.dtype)


def ndtr(input: Tensor) -> Tensor:
    """Return the share of a standard normal distribution below each element.

    Example:
        >>> import weft
        >>> weft.special.ndtr(weft.tensor([0.0, 1.96]))
        tensor([0.5000, 0.9750])
    """
    return ops.erfc(_floats(input) * -math.sqrt(0.5)) * 0.5


def ndtri(input: Tensor) -> Tensor:
    """Return where a share of a standard normal distribution lies below: the way back of `ndtr`.

    Example:
        >>> import weft
        >>> weft.special.ndtri(weft.tensor([0.5, 0.975]))
        tensor([0.0000, 1.9600])
    """
    return ops.erfinv(_floats(input) * 2 - 1) * math.sqrt(2.0)


def xlog1py(input: Any, other: Any) -> Tensor:
    """Return `x log(1 + y)`, which is 0 where x is 0 and y is a number.

    Example:
        >>> import weft
        >>> weft.special.xlog1py(weft.tensor([0.0, 2.0]), weft.tensor([-1.0, 1.0]))
        tensor([0.0000, 1.3863])
    """
    return xlogy(input, 1 + other) if not _floating(other) else _xlog1py(input, other)


def _floating(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


def _xlog1py(x: Any, y: Tensor) -> Tensor:
    is_zero = ops.logical_and(ops.eq(x, 0) if isinstance(x, Tensor) else _flag(x == 0, y),
                              ops.logical_not(ops.isnan(y)))  # fmt: skip
    inside = ops.where(is_zero, 0.0, y).to(y.dtype)
    return x * ops.log1p(inside)


def _flag(value: bool, like: Tensor) -> Tensor:
    return ops.full(like.shape, value, dtype=_core.bool)


__all__ = [
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammaln",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "log1p",
    "log_softmax",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "psi",
    "round",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
    "sinc",
    "softmax",
    "xlog1py",
    "xlogy",
]
