"""Derivatives of functions: products with Jacobians and Hessians, and these matrices themselves."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from weft import _core
from weft._missing import explain_missing
from weft._tensor import Tensor
from weft._vmap import vmap
from weft.autograd.grad_mode import enable_grad

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

_ops = _core.ops

# Of a Jacobian: what the machine has. Rows would be computed for hours before memory ends.
_MOST_BYTES = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
Tensors: TypeAlias = tuple[Tensor, ...]
Function: TypeAlias = "Callable[..., Any]"


def _as_tensors(given: Any, what: str, where: str) -> tuple[Tensors, bool]:
    """Return one or several tensors as a tuple, and whether they were several."""
    several = isinstance(given, (tuple, list))
    items: tuple[Any, ...] = tuple(cast("Any", given)) if several else (given,)
    for number, item in enumerate(items):
        if not isinstance(item, Tensor):
            place = f"the value at index {number} of {what}" if several else what
            raise TypeError(
                f"{where}: {what} must be a Tensor or a tuple of Tensors, but {place} is of type "
                f"{type(item).__name__}"
            )
    return items, several


def _prepare(inputs: Tensors, create_graph: bool) -> Tensors:
    """Make inputs whose derivatives can be asked for without touching the caller's graph."""
    if create_graph:
        # A view of the same memory: connected with the caller's tensor, yet a tensor of its own.
        return tuple(
            _ops.alias(item) if item.requires_grad else item.detach().requires_grad_()
            for item in inputs
        )
    return tuple(item.detach().requires_grad_() for item in inputs)


def _run(func: Function, inputs: Tensors, where: str) -> tuple[Tensors, bool]:
    return _as_tensors(func(*inputs), "what the function returns", where)


def _check_vector(vector: Any, like: Tensors, several: bool, where: str, of: str) -> Tensors:
    """Return the vector that a matrix is multiplied with, one tensor for each of `like`."""
    if vector is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise _core.GradientError(
                f"{where}: the vector v can only be None if {of} is a single tensor of one element"
            )
        return (_ops.ones(like[0].shape, dtype=like[0].dtype),)
    vectors, _ = _as_tensors(vector, "v", where)
    if len(vectors) != len(like):
        kind = "a tuple of " if several else ""
        raise _core.GradientError(
            f"{where}: v has {len(vectors)} tensors, but {of} is {kind}{len(like)}"
        )
    for number, (one, other) in enumerate(zip(vectors, like, strict=True)):
        if one.shape != other.shape:
            raise _core.ShapeError(
                f"{where}: v[{number}] must have the shape of {of}[{number}]; it is "
                f"{tuple(one.shape)}, the other is {tuple(other.shape)}"
            )
    return tuple(one.detach() for one in vectors)


def _gradients(
    outputs: Tensors, inputs: Tensors, vectors: Sequence[Tensor | None], create_graph: bool
) -> tuple[Tensor | None, ...]:
    """Return gradients, None where there is no path; outputs without a graph add nothing."""
    pairs = [
        (output, vector)
        for output, vector in zip(outputs, vectors, strict=True)
        if output.requires_grad
    ]
    if not pairs:
        return (None,) * len(inputs)
    roots = tuple(output for output, _ in pairs)
    given = tuple(vector for _, vector in pairs)
    return _core.run_backward(roots, given, inputs, True, create_graph, False)


def _fill(
    results: Sequence[Tensor | None], like: Tensors, strict: bool, create_graph: bool, where: str
) -> Tensors:
    """Put zeros where a derivative is missing; with strict, raise instead."""
    filled: list[Tensor] = []
    for number, (result, other) in enumerate(zip(results, like, strict=True)):
        if result is None:
            if strict:
                raise _core.GradientError(
                    f"{where}: the output of the user-provided function is independent of input "
                    f"{number}. This is not allowed in strict mode."
                )
            result = _ops.zeros_like(other.detach())
        elif strict and create_graph and not result.requires_grad:
            raise _core.GradientError(
                f"{where}: the derivative with respect to input {number} is independent of that "
                "input. This is not allowed in strict mode when create_graph=True."
            )
        filled.append(result if create_graph else result.detach())
    return tuple(filled)


def _check_outputs(outputs: Tensors, strict: bool, where: str) -> None:
    if not strict:
        return
    for number, output in enumerate(outputs):
        if not output.requires_grad:
            raise _core.GradientError(
                f"{where}: output {number} of the user-provided function does not require "
                "gradients: it is independent of the inputs. This is not allowed in strict mode."
            )


def _hand_back(results: Tensors, several: bool, create_graph: bool = True) -> Any:
    if not create_graph:
        results = tuple(item.detach() for item in results)
    return results if several else results[0]


def vjp(
    func: Function,
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Multiply a vector with the Jacobian of a function: `v^T J`.

    Args:
        func: Takes tensors, returns a tensor or a tuple of them.
        inputs: Where the Jacobian is taken: a tensor or a tuple of them.
        v: The vector, shaped as the outputs; may be missing for one output of one element.
        create_graph: Record the computation, so that the result can be differentiated.
        strict: Raise if an output does not depend on an input, instead of returning zeros.

    Returns:
        What the function returned, and the product, shaped as the inputs.

    Example:
        >>> import weft
        >>> weft.autograd.functional.vjp(lambda x: (x**2).sum(), weft.tensor([1.0, 2.0]))
        (tensor(5.), tensor([2., 4.]))
    """
    with enable_grad():
        given, several_inputs = _as_tensors(inputs, "inputs", "vjp")
        prepared = _prepare(given, create_graph)
        outputs, several_outputs = _run(func, prepared, "vjp")
        _check_outputs(outputs, strict, "vjp")
        vectors = _check_vector(v, outputs, several_outputs, "vjp", "the output")
    results = _gradients(outputs, prepared, vectors, create_graph)
    filled = _fill(results, prepared, strict, create_graph, "vjp")
    return _hand_back(outputs, several_outputs, create_graph), _hand_back(filled, several_inputs)


def jvp(
    func: Function,
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Multiply the Jacobian of a function with a vector: `J v`.

    It is computed by differentiating `w -> w^T J`, which is linear in w, with respect to w.

    Args:
        func: Takes tensors, returns a tensor or a tuple of them.
        inputs: Where the Jacobian is taken: a tensor or a tuple of them.
        v: The vector, shaped as the inputs; may be missing for one input of one element.
        create_graph: Record the computation, so that the result can be differentiated.
        strict: Raise if an output does not depend on an input, instead of returning zeros.

    Returns:
        What the function returned, and the product, shaped as the outputs.

    Example:
        >>> import weft
        >>> weft.autograd.functional.jvp(lambda x: x**2, weft.tensor([1.0, 2.0]), weft.ones(2))
        (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        given, several_inputs = _as_tensors(inputs, "inputs", "jvp")
        prepared = _prepare(given, create_graph)
        vectors = _check_vector(v, prepared, several_inputs, "jvp", "the input")
        outputs, several_outputs = _run(func, prepared, "jvp")
        _check_outputs(outputs, strict, "jvp")
        weights = tuple(_ops.zeros_like(output.detach()).requires_grad_() for output in outputs)
        products = _gradients(outputs, prepared, weights, create_graph=True)
        filled = _fill(products, prepared, strict, True, "jvp")
    results = _gradients(filled, weights, vectors, create_graph)
    derivatives = _fill(results, weights, strict, create_graph, "jvp")
    return (
        _hand_back(outputs, several_outputs, create_graph),
        _hand_back(derivatives, several_outputs),
    )


def jacobian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Compute the Jacobian of a function.

    Args:
        func: Takes tensors, returns a tensor or a tuple of them.
        inputs: Where the Jacobian is taken: a tensor or a tuple of them.
        create_graph: Record the computation, so that the result can be differentiated.
        strict: Raise if an output does not depend on an input, instead of returning zeros.
        vectorize: Compute all rows in one pass; faster, and it takes the memory of all of them.
        strategy: "reverse-mode"; "forward-mode" gives the same numbers the same way.

    Returns:
        For one output and one input a tensor of shape (*output.shape, *input.shape); a tuple over
        inputs and a tuple over outputs around it where there are several.

    Example:
        >>> import weft
        >>> weft.autograd.functional.jacobian(lambda x: x**2, weft.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    if strict and vectorize:
        raise _core.GradientError("jacobian: strict=True and vectorize=True do not go together")
    if strategy not in {"forward-mode", "reverse-mode"}:
        raise ValueError(
            f"jacobian: strategy must be 'reverse-mode' or 'forward-mode', not {strategy!r}"
        )
    with enable_grad():
        given, several_inputs = _as_tensors(inputs, "inputs", "jacobian")
        prepared = _prepare(given, create_graph)
        outputs, several_outputs = _run(func, prepared, "jacobian")
        _check_outputs(outputs, strict, "jacobian")
    rows = tuple(
        _hand_back(_jacobian_of(output, prepared, create_graph, strict, vectorize), several_inputs)
        for output in outputs
    )
    return rows if several_outputs else rows[0]


def _jacobian_of(
    output: Tensor, inputs: Tensors, create_graph: bool, strict: bool, vectorize: bool
) -> Tensors:
    """Compute the Jacobian of one output, one of its elements at a time or all at once."""
    needed = sum(output.numel() * item.numel() * item.element_size() for item in inputs)
    if needed > _MOST_BYTES:
        raise _core.OutOfMemoryError(f"jacobian: the result would take {needed} bytes")
    if vectorize:
        numbers = _ops.arange(0, 1, output.numel(), dtype=_core.int64)
        units = (numbers[:, None] == numbers).to(output.dtype)

        def pull(vector: Tensor) -> Tensors:
            results = _gradients((output,), inputs, (vector,), create_graph)
            return _fill(results, inputs, strict, create_graph, "jacobian")

        columns = vmap(pull)(units.reshape((output.numel(), *output.shape)))
        return tuple(
            column.reshape((*output.shape, *item.shape))
            for column, item in zip(columns, inputs, strict=True)
        )
    rows: list[Tensors] = []
    for number in range(output.numel()):
        vector = _ops.zeros(output.numel(), dtype=output.dtype)
        vector[number] = 1
        results = _gradients((output,), inputs, (vector.reshape(output.shape),), create_graph)
        rows.append(_fill(results, inputs, strict, create_graph, "jacobian"))
    if not rows:
        return tuple(item.new_zeros((*output.shape, *item.shape)) for item in inputs)
    return tuple(
        _ops.stack(list(column)).reshape((*output.shape, *item.shape))
        for column, item in zip(zip(*rows, strict=True), inputs, strict=True)
    )


def _single(func: Function, where: str) -> Function:
    """Wrap a function so that it must return one element."""

    def checked(*inputs: Tensor) -> Tensor:
        output = func(*inputs)
        if not isinstance(output, Tensor):
            raise TypeError(
                f"{where}: the function must return a single Tensor, not {type(output).__name__}"
            )
        if output.numel() != 1:
            raise _core.ShapeError(
                f"{where}: the Tensor returned by the function must have one element; its shape is "
                f"{tuple(output.shape)}"
            )
        return output.reshape(())

    return checked


def hessian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Compute the Hessian of a function that returns one element.

    Args:
        func: Takes tensors, returns a tensor of one element.
        inputs: Where the Hessian is taken: a tensor or a tuple of them.
        create_graph: Record the computation, so that the result can be differentiated.
        strict: Raise if a derivative does not depend on an input, instead of returning zeros.
        vectorize: As in `jacobian`.
        outer_jacobian_strategy: As `jacobian`'s strategy.

    Returns:
        For one input a tensor of shape (*input.shape, *input.shape); for several a tuple of tuples.

    Example:
        >>> import weft
        >>> weft.autograd.functional.hessian(lambda x: (x**3).sum(), weft.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    given, several = _as_tensors(inputs, "inputs", "hessian")
    checked = _single(func, "hessian")

    def gradient(*items: Tensor) -> Any:
        return jacobian(checked, items, create_graph=True, strict=strict)

    result = jacobian(gradient, given, create_graph, strict, vectorize, outer_jacobian_strategy)
    return result if several else result[0][0]


def vhp(
    func: Function,
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Multiply a vector with the Hessian of a function that returns one element: `v^T H`.

    Args:
        func: Takes tensors, returns a tensor of one element.
        inputs: Where the Hessian is taken: a tensor or a tuple of them.
        v: The vector, shaped as the inputs; may be missing for one input of one element.
        create_graph: Record the computation, so that the result can be differentiated.
        strict: Raise if a derivative does not depend on an input, instead of returning zeros.

    Returns:
        What the function returned, and the product, shaped as the inputs.

    Example:
        >>> import weft
        >>> x, v = weft.tensor([1.0, 2.0]), weft.tensor([1.0, 0.0])
        >>> weft.autograd.functional.vhp(lambda x: (x**3).sum(), x, v)
        (tensor(9.), tensor([6., 0.]))
    """
    with enable_grad():
        given, several = _as_tensors(inputs, "inputs", "vhp")
        prepared = _prepare(given, create_graph)
        vectors = _check_vector(v, prepared, several, "vhp", "the input")
        outputs, _ = _run(_single(func, "vhp"), prepared, "vhp")
        _check_outputs(outputs, strict, "vhp")
        first = _fill(
            _gradients(outputs, prepared, (None,), create_graph=True), prepared, strict, True, "vhp"
        )
    results = _gradients(first, prepared, vectors, create_graph)
    filled = _fill(results, prepared, strict, create_graph, "vhp")
    return _hand_back(outputs, False, create_graph), _hand_back(filled, several)


def hvp(
    func: Function,
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Multiply the Hessian of a function that returns one element with a vector: `H v`.

    A Hessian is symmetric, so this is `vhp`.

    Args:
        func: Takes tensors, returns a tensor of one element.
        inputs: Where the Hessian is taken: a tensor or a tuple of them.
        v: The vector, shaped as the inputs; may be missing for one input of one element.
        create_graph: Record the computation, so that the result can be differentiated.
        strict: Raise if a derivative does not depend on an input, instead of returning zeros.

    Returns:
        What the function returned, and the product, shaped as the inputs.

    Example:
        >>> import weft
        >>> weft.autograd.functional.hvp(
        ...     lambda x: (x**3).sum(), weft.tensor([1.0, 2.0]), weft.ones(2)
        ... )
        (tensor(9.), tensor([ 6., 12.]))
    """
    return vhp(func, inputs, v, create_graph, strict)


explain_missing(__name__)
