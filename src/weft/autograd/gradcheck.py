"""Check gradients against differences: gradcheck and gradgradcheck."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from weft import _core
from weft._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]

_ops = _core.ops


class GradcheckError(RuntimeError):
    """A gradient that gradcheck found to be wrong."""


def gradcheck(
    func: Callable[..., Any],
    inputs: Tensor | tuple[Any, ...] | list[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the gradients of a function with central differences.

    Args:
        func: Takes the inputs, returns a tensor or a tuple of them.
        inputs: Tensors and other arguments; those that require grad should be float64.
        eps: The step of the differences.
        atol: How far a derivative may be off.
        rtol: How far it may be off in proportion to its size.
        raise_exception: Raise what is wrong instead of returning False.
        nondet_tol: How far two runs of the same backward may be apart.
        check_undefined_grad: Accepted: each output is differentiated alone, so that a backward
            which cannot do without the gradients of the others fails anyway.
        check_grad_dtypes: Check that gradients have the dtypes of the inputs.
        check_batched_grad: Not supported yet.
        check_batched_forward_grad: Not supported yet.
        check_forward_ad: Not supported yet.
        check_backward_ad: False checks nothing.
        fast_mode: Accepted; the full check runs.
        masked: Accepted and not used.

    Returns:
        True if all gradients are right.

    Raises:
        GradcheckError: If one is wrong, saying which and by how much.

    Example:
        >>> import weft
        >>> x = weft.randn(3, dtype=weft.float64, requires_grad=True)
        >>> weft.autograd.gradcheck(weft.tanh, (x,))
        True
    """
    del check_undefined_grad, fast_mode, masked
    if check_batched_grad or check_batched_forward_grad or check_forward_ad:
        raise _core.UnsupportedError(
            "gradcheck: batched gradients and forward-mode differentiation are not supported yet"
        )
    if not check_backward_ad:
        return True
    arguments = _as_tuple(inputs)
    try:
        _check(func, arguments, eps, atol, rtol, nondet_tol, check_grad_dtypes)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Tensor | tuple[Any, ...] | list[Any],
    grad_outputs: Tensor | tuple[Tensor, ...] | list[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the gradients of a function's gradients with central differences.

    Args:
        func: Takes the inputs, returns a tensor or a tuple of them.
        inputs: Tensors and other arguments; those that require grad should be float64.
        grad_outputs: Gradients of the outputs to start from; random ones by default.
        eps: The step of the differences.
        atol: How far a derivative may be off.
        rtol: How far it may be off in proportion to its size.
        gen_non_contig_grad_outputs: Make the random gradients non-contiguous.
        raise_exception: Raise what is wrong instead of returning False.
        nondet_tol: How far two runs of the same backward may be apart.
        check_undefined_grad: As in `gradcheck`.
        check_grad_dtypes: Check that gradients have the dtypes of the inputs.
        check_batched_grad: Not supported yet.
        check_fwd_over_rev: Not supported yet.
        check_rev_over_rev: False checks nothing.
        fast_mode: Accepted; the full check runs.
        masked: Accepted and not used.

    Returns:
        True if all second derivatives are right.

    Raises:
        GradcheckError: If one is wrong, saying which and by how much.

    Example:
        >>> import weft
        >>> x = weft.tensor([0.3, 0.7], dtype=weft.float64, requires_grad=True)
        >>> weft.autograd.gradgradcheck(weft.tanh, (x,))
        True
    """
    if check_fwd_over_rev:
        raise _core.UnsupportedError("gradgradcheck: forward-mode differentiation is not supported")
    if not check_rev_over_rev:
        return True
    arguments = _as_tuple(inputs)
    if grad_outputs is None:
        starts = tuple(
            _random_like(output, gen_non_contig_grad_outputs)
            for output in _outputs(func, arguments)
            if output.requires_grad
        )
    else:
        starts = _as_tuple(grad_outputs)
    count = len(arguments)

    def gradients(*everything: Any) -> tuple[Tensor, ...]:
        outputs = tuple(o for o in _outputs(func, everything[:count]) if o.requires_grad)
        wanted = tuple(i for i in everything[:count] if isinstance(i, Tensor) and i.requires_grad)
        results = _core.run_backward(outputs, everything[count:], wanted, True, True, False)
        return tuple(result for result in results if result is not None)

    return gradcheck(
        gradients,
        arguments + starts,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        fast_mode=fast_mode,
        masked=masked,
    )


def _as_tuple(given: Any) -> tuple[Any, ...]:
    return (given,) if isinstance(given, Tensor) else tuple(given)


def _random_like(output: Tensor, non_contiguous: bool) -> Tensor:
    if non_contiguous and output.ndim > 0:
        shape = [*output.shape[:-1], 2 * output.shape[-1]]
        return _ops.randn(shape, dtype=output.dtype)[..., ::2].requires_grad_()
    return _ops.randn(list(output.shape), dtype=output.dtype).requires_grad_()


def _outputs(func: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Tensor, ...]:
    given: Any = func(*arguments)
    is_several = isinstance(given, (tuple, list))
    several: tuple[Any, ...] = tuple(cast("Any", given)) if is_several else (given,)
    for number, output in enumerate(several):
        if not isinstance(output, Tensor):
            raise TypeError(
                f"gradcheck: output {number} of the function is no Tensor but "
                f"{type(output).__name__}"
            )
    return several


def _differentiable(arguments: tuple[Any, ...]) -> dict[int, Tensor]:
    """Return the arguments to check, by their positions."""
    chosen: dict[int, Tensor] = {}
    for position, item in enumerate(arguments):
        if not isinstance(item, Tensor) or not item.requires_grad:
            continue
        if item.dtype is not _core.float64:
            import warnings  # noqa: PLC0415 - rarely needed

            warnings.warn(
                f"Input #{position} requires gradient and is not a double precision floating point."
                " This check will likely fail if all the inputs are not of double precision.",
                stacklevel=4,
            )
        strides = item.stride()
        if any(step == 0 and size > 1 for step, size in zip(strides, item.shape, strict=True)):
            raise RuntimeError(
                f"gradcheck: input {position} has a dimension with stride 0: several elements "
                "share one place in memory. Call .clone() or .contiguous() on it."
            )
        chosen[position] = item
    if not chosen:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them "
            "have requires_grad=True."
        )
    return chosen


def _places(tensor: Tensor) -> Iterator[tuple[int, ...]]:
    """Go through the index of each element, in order."""
    index = [0] * tensor.ndim
    for _ in range(tensor.numel()):
        yield tuple(index)
        for dim in reversed(range(tensor.ndim)):
            index[dim] += 1
            if index[dim] < tensor.shape[dim]:
                break
            index[dim] = 0


_MOST_ELEMENTS = 2**26


def _numerical(
    func: Callable[..., Any], arguments: tuple[Any, ...], tensor: Tensor, eps: float
) -> list[list[list[float]]]:
    """Return, for each output, for each element of the tensor, the derivatives of all elements."""
    memory = tensor.detach()
    columns: list[list[list[float]]] = []
    for place in _places(tensor):
        before = memory[place].item()
        sides: list[list[list[float]]] = []
        for step in (eps, -eps):
            memory[place] = before + step
            outputs = _outputs(func, arguments)
            sides.append(
                [_ops.cast(o.detach(), _core.float64).reshape(-1).tolist() for o in outputs]
            )
        memory[place] = before
        columns.append(
            [
                [(up - down) / (2 * eps) for up, down in zip(plus, minus, strict=True)]
                for plus, minus in zip(*sides, strict=True)
            ]
        )
    count = len(columns[0]) if columns else 0
    return [[column[number] for column in columns] for number in range(count)]


def _analytical(
    output: Tensor, tensors: tuple[Tensor, ...], check_dtypes: bool
) -> list[list[list[float]]]:
    """Return, for each tensor, for each element of the output, the gradient."""
    rows: list[list[list[float]]] = [[] for _ in tensors]
    for number in range(output.numel()):
        start = _ops.zeros(output.numel(), dtype=output.dtype)
        start[number] = 1
        results = _core.run_backward(
            (output,), (start.reshape(output.shape),), tensors, True, False, False
        )
        for row, result, tensor in zip(rows, results, tensors, strict=True):
            if result is None:
                row.append([0.0] * tensor.numel())
                continue
            if result.shape != tensor.shape:
                raise GradcheckError(
                    f"Analytical gradient has incorrect size: {tuple(result.shape)} for an input "
                    f"of shape {tuple(tensor.shape)}"
                )
            if check_dtypes and result.dtype is not tensor.dtype:
                raise GradcheckError(
                    f"Analytical gradient has dtype {result.dtype}, its input {tensor.dtype}"
                )
            row.append(_ops.cast(result, _core.float64).reshape(-1).tolist())
    return rows


def _is_close(a: float, b: float, atol: float, rtol: float) -> bool:
    if a == b or (a != a and b != b):  # noqa: PLR0124 - infinities are equal; NaN is not itself
        return True
    return abs(a - b) <= atol + rtol * abs(b)


def _check(
    func: Callable[..., Any],
    arguments: tuple[Any, ...],
    eps: float,
    atol: float,
    rtol: float,
    nondet_tol: float,
    check_dtypes: bool,
) -> None:
    chosen = _differentiable(arguments)
    tensors = tuple(chosen.values())
    rows = sum(output.numel() for output in _outputs(func, arguments))
    for place, tensor in chosen.items():
        if rows * tensor.numel() > _MOST_ELEMENTS:
            raise ValueError(
                f"gradcheck: the Jacobian for input {place} has {rows} x {tensor.numel()} "
                "elements, which would take hours; check a smaller input"
            )
    expected = {place: _numerical(func, arguments, tensor, eps) for place, tensor in chosen.items()}
    for number, output in enumerate(_outputs(func, arguments)):
        if not output.requires_grad:
            for place, numerical in expected.items():
                if numerical and any(any(column) for column in numerical[number]):
                    raise GradcheckError(
                        f"Numerical gradient for function expected to be zero: output {number} "
                        f"does not require grad, but it changes with input {place}"
                    )
            continue
        rows = _analytical(output, tensors, check_dtypes)
        again = _analytical(output, tensors, check_dtypes)
        for which, (place, numerical) in enumerate(expected.items()):
            if numerical:
                _compare(rows[which], numerical[number], number, place, atol, rtol)
            _compare_runs(rows[which], again[which], number, place, nondet_tol)


def _compare(
    rows: list[list[float]],
    columns: list[list[float]],
    number: int,
    place: int,
    atol: float,
    rtol: float,
) -> None:
    for row, gradient in enumerate(rows):
        for column, found in enumerate(gradient):
            wanted = columns[column][row]
            if not _is_close(found, wanted, atol, rtol):
                raise GradcheckError(
                    f"Jacobian mismatch for output {number} with respect to input {place}: the "
                    f"derivative of element {row} with respect to element {column} is {found:.9g} "
                    f"by backward and {wanted:.9g} by differences (they differ by "
                    f"{abs(found - wanted):.3g}, allowed are {atol + rtol * abs(wanted):.3g}).\n"
                    f"numerical: {_matrix([list(line) for line in zip(*columns, strict=True)])}\n"
                    f"analytical: {_matrix(rows)}"
                )


def _matrix(rows: list[list[float]], limit: int = 8) -> str:
    shown = [
        "[" + ", ".join(f"{x:.5g}" for x in row[:limit]) + (", ...]" if len(row) > limit else "]")
        for row in rows[:limit]
    ]
    return "[" + ", ".join(shown) + (", ...]" if len(rows) > limit else "]")


def _compare_runs(
    rows: list[list[float]], again: list[list[float]], number: int, place: int, tolerance: float
) -> None:
    for one, other in zip(rows, again, strict=True):
        for a, b in zip(one, other, strict=True):
            if not _is_close(a, b, tolerance, 0.0):
                raise GradcheckError(
                    f"Backward is not reentrant, i.e., running backward with same input and grad_"
                    f"output multiple times gives different values, although analytical gradient "
                    f"matches numerical gradient (output {number}, input {place}: {a:.9g} and "
                    f"{b:.9g}). The tolerance for nondeterminism was {tolerance}."
                )
