"""Orthogonal polynomials, by their recurrences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft import _core
from weft._core import Tensor
from weft._tensor import as_tensor
from weft.functional.row_by_row import row_by_row

ops = _core.ops

_HIGHEST = 100_000  # each degree is a step
# From the degree k, x, the polynomial of degree k and the one before: the next one.
_Next = Callable[[int, Tensor, Tensor, Tensor], Tensor]


@row_by_row
def _polynomial(input: Any, n: Any, first: Callable[[Tensor], Tensor], following: _Next) -> Tensor:
    """Evaluate polynomials whose degrees may differ from element to element."""
    degrees = as_tensor(n)
    x = as_tensor(input)
    if not x.is_floating_point():
        x = x.to(degrees.dtype if degrees.is_floating_point() else _core.get_default_dtype())
    degrees = ops.trunc(degrees.to(_core.float64)).to(_core.int64)
    before = x * 0.0 + 1.0
    here = first(x)
    result = ops.where(ops.lt(degrees, 0), 0.0 * before, before)
    highest = int(ops.amax(degrees)) if degrees.numel() else 0
    if highest > _HIGHEST:
        raise _core.ArgumentError(f"n must be at most {_HIGHEST}; it is {highest}.")
    for degree in range(1, highest + 1):
        result = ops.where(ops.eq(degrees, degree), here, result)
        before, here = here, following(degree, x, here, before)
    return result


def _chebyshev(k: int, x: Tensor, here: Tensor, before: Tensor) -> Tensor:
    del k
    return 2 * x * here - before


def chebyshev_polynomial_t(input: Any, n: Any) -> Tensor:
    """Return Chebyshev polynomials of the first kind, of degree `n`.

    Example:
        >>> import weft
        >>> weft.special.chebyshev_polynomial_t(weft.tensor([0.5]), 3)  # 4x^3 - 3x
        tensor([-1.])
    """
    return _polynomial(input, n, lambda x: x, _chebyshev)


def chebyshev_polynomial_u(input: Any, n: Any) -> Tensor:
    """Return Chebyshev polynomials of the second kind, of degree `n`.

    Example:
        >>> import weft
        >>> weft.special.chebyshev_polynomial_u(weft.tensor([0.5]), 2)  # 4x^2 - 1
        tensor([0.])
    """
    return _polynomial(input, n, lambda x: 2 * x, _chebyshev)


def chebyshev_polynomial_v(input: Any, n: Any) -> Tensor:
    """Return Chebyshev polynomials of the third kind, of degree `n`.

    Example:
        >>> import weft
        >>> weft.special.chebyshev_polynomial_v(weft.tensor([0.5]), 1)  # 2x - 1
        tensor([0.])
    """
    return _polynomial(input, n, lambda x: 2 * x - 1, _chebyshev)


def chebyshev_polynomial_w(input: Any, n: Any) -> Tensor:
    """Return Chebyshev polynomials of the fourth kind, of degree `n`.

    Example:
        >>> import weft
        >>> weft.special.chebyshev_polynomial_w(weft.tensor([0.5]), 1)  # 2x + 1
        tensor([2.])
    """
    return _polynomial(input, n, lambda x: 2 * x + 1, _chebyshev)


def _shifted(input: Any) -> Any:
    x = as_tensor(input)
    return (x if x.is_floating_point() else x.to(_core.get_default_dtype())) * 2 - 1


def shifted_chebyshev_polynomial_t(input: Any, n: Any) -> Tensor:
    """Return Chebyshev polynomials of the first kind for [0, 1], of degree `n`.

    Example:
        >>> import weft
        >>> weft.special.shifted_chebyshev_polynomial_t(weft.tensor([0.75]), 1)  # at 2x - 1
        tensor([0.5000])
    """
    return chebyshev_polynomial_t(_shifted(input), n)


def shifted_chebyshev_polynomial_u(input: Any, n: Any) -> Tensor:
    """Return Chebyshev polynomials of the second kind for [0, 1], of degree `n`.

    Example:
        >>> import weft
        >>> weft.special.shifted_chebyshev_polynomial_u(weft.tensor([0.75]), 1)
        tensor([1.])
    """
    return chebyshev_polynomial_u(_shifted(input), n)


def shifted_chebyshev_polynomial_v(input: Any, n: Any) -> Tensor:
    """Return Chebyshev polynomials of the third kind for [0, 1], of degree `n`.

    Example:
        >>> import weft
        >>> weft.special.shifted_chebyshev_polynomial_v(weft.tensor([0.75]), 1)
        tensor([0.])
    """
    return chebyshev_polynomial_v(_shifted(input), n)


def shifted_chebyshev_polynomial_w(input: Any, n: Any) -> Tensor:
    """Return Chebyshev polynomials of the fourth kind for [0, 1], of degree `n`.

    Example:
        >>> import weft
        >>> weft.special.shifted_chebyshev_polynomial_w(weft.tensor([0.75]), 1)
        tensor([2.])
    """
    return chebyshev_polynomial_w(_shifted(input), n)


def hermite_polynomial_h(input: Any, n: Any) -> Tensor:
    """Return the physicist's Hermite polynomials of degree `n`.

    Example:
        >>> import weft
        >>> weft.special.hermite_polynomial_h(weft.tensor([2.0]), 2)  # 4x^2 - 2
        tensor([14.])
    """
    return _polynomial(
        input, n, lambda x: 2 * x, lambda k, x, here, before: 2 * (x * here - k * before)
    )


def hermite_polynomial_he(input: Any, n: Any) -> Tensor:
    """Return the probabilist's Hermite polynomials of degree `n`.

    Example:
        >>> import weft
        >>> weft.special.hermite_polynomial_he(weft.tensor([2.0]), 2)  # x^2 - 1
        tensor([3.])
    """
    return _polynomial(input, n, lambda x: x, lambda k, x, here, before: x * here - k * before)


def laguerre_polynomial_l(input: Any, n: Any) -> Tensor:
    """Return Laguerre polynomials of degree `n`.

    Example:
        >>> import weft
        >>> weft.special.laguerre_polynomial_l(weft.tensor([2.0]), 2)  # (x^2 - 4x + 2) / 2
        tensor([-1.])
    """
    return _polynomial(
        input,
        n,
        lambda x: 1 - x,
        lambda k, x, here, before: ((2 * k + 1 - x) * here - k * before) / (k + 1),
    )


def legendre_polynomial_p(input: Any, n: Any) -> Tensor:
    """Return Legendre polynomials of degree `n`.

    Example:
        >>> import weft
        >>> weft.special.legendre_polynomial_p(weft.tensor([2.0]), 2)  # (3x^2 - 1) / 2
        tensor([5.5000])
    """
    return _polynomial(
        input,
        n,
        lambda x: x,
        lambda k, x, here, before: ((2 * k + 1) * x * here - k * before) / (k + 1),
    )
