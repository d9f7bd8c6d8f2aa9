"""Special functions, under the names of `torch.special`."""

from __future__ import annotations

import math
from typing import Any

from weft import _core
from weft._core import Tensor
from weft._missing import explain_missing
from weft.functional.elementwise import exp2, logit, round, sinc
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

airy_ai = ops.special_airy_ai
bessel_j0, bessel_j1 = ops.special_bessel_j0, ops.special_bessel_j1
bessel_y0, bessel_y1 = ops.special_bessel_y0, ops.special_bessel_y1
digamma = psi = ops.digamma
erf, erfc, erfcx, erfinv = ops.erf, ops.erfc, ops.special_erfcx, ops.erfinv
expm1, log1p = ops.expm1, ops.log1p
expit, gammaln = ops.sigmoid, ops.lgamma
gammainc, gammaincc, polygamma = ops.igamma, ops.igammac, ops.polygamma
i0 = modified_bessel_i0 = ops.i0
i1 = modified_bessel_i1 = ops.special_i1
i0e, i1e, log_ndtr, ndtri = (
    ops.special_i0e,
    ops.special_i1e,
    ops.special_log_ndtr,
    ops.special_ndtri,
)
modified_bessel_k0 = ops.special_modified_bessel_k0
modified_bessel_k1 = ops.special_modified_bessel_k1
scaled_modified_bessel_k0 = ops.special_scaled_modified_bessel_k0
scaled_modified_bessel_k1 = ops.special_scaled_modified_bessel_k1
log_softmax, softmax, xlogy = ops.log_softmax, ops.softmax, ops.xlogy
multigammaln = mvlgamma
zeta = ops.special_zeta


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


def spherical_bessel_j0(x: Tensor) -> Tensor:
    """Return sin(x) / x, which is 1 at zero.

    Example:
        >>> import weft
        >>> weft.special.spherical_bessel_j0(weft.tensor([0.0, 1.0]))
        tensor([1.0000, 0.8415])
    """
    return sinc(_floats(x) / math.pi)


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
    "airy_ai",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammainc",
    "gammaincc",
    "gammaln",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "log1p",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "round",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
    "sinc",
    "softmax",
    "spherical_bessel_j0",
    "xlog1py",
    "xlogy",
    "zeta",
]

explain_missing(__name__)
