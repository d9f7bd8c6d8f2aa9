"""Derivatives of functions: `grad`, products with Jacobians, and the two as functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from weft import _core
from weft._tensor import Tensor
from weft.autograd.level import Level, gradients
from weft.pytree import TreeSpec, tree_flatten, tree_unflatten

ArgNums = int | tuple[int, ...]


def grad(
    func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Turn a function that returns one number into one that returns its gradient.

    No `.grad` is touched. Tensors that the function closes over are constants here; if they have a
    gradient outside, the result can be differentiated for them.

    Args:
        func: Takes tensors or nestings of them, returns a tensor without dimensions.
        argnums: Which argument, or a tuple of them.
        has_aux: The function returns a pair, of which only the first is differentiated.

    Returns:
        The function that returns the gradient, nested like the argument; with has_aux, a pair of
        the gradient and the rest.

    Example:
        >>> import weft
        >>> from weft.func import grad, vmap
        >>> grad(lambda x: x.sin())(weft.tensor(0.0))
        tensor(1.)
        >>> vmap(grad(grad(lambda x: x**3)))(weft.tensor([1.0, 2.0]))
        tensor([ 6., 12.])
    """
    both = grad_and_value(func, argnums, has_aux)

    @wraps(func, updated=())
    def gradient(*args: Any, **kwargs: Any) -> Any:
        result, value = both(*args, **kwargs)
        return (result, value[1]) if has_aux else result

    return gradient


def grad_and_value(
    func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False
) -> Callable[..., tuple[Any, Any]]:
    """Turn a function that returns one number into one that returns its gradient and the number.

    Args:
        func: As in `grad`.
        argnums: Which argument, or a tuple of them.
        has_aux: The function returns a pair, of which only the first is differentiated.

    Returns:
        The function that returns the gradient and what the function returned.

    Example:
        >>> import weft
        >>> weft.func.grad_and_value(lambda x: x**2)(weft.tensor(3.0))
        (tensor(6.), tensor(9.))
    """

    @wraps(func, updated=())
    def both(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        level, spec, given = enter(args, argnums, "grad")
        returned = level.run(func, *given, **kwargs)
        output, aux = split_aux(returned, has_aux, "grad")
        if not isinstance(output, Tensor):
            raise _core.GradientError(
                f"grad: the function must return a tensor, not {type(output).__name__}"
            )
        if output.ndim:
            raise _core.GradientError(
                f"grad: the function must return a tensor without dimensions; its shape is "
                f"{tuple(output.shape)}. vjp and jacrev take functions that return more"
            )
        result = tree_unflatten(level.pull([output], [None]), spec)
        value = level.outside((output, aux))
        return result, value if has_aux else value[0]

    return both


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Return what a function gives, and a function that multiplies vectors with its Jacobian.

    Args:
        func: Takes and returns tensors, or nestings of them.
        primals: Its arguments.
        has_aux: The function returns a pair, of which only the first is differentiated.

    Returns:
        The output; the function from gradients of the output to a tuple of gradients, one for each
        primal; with has_aux, also the rest.

    Example:
        >>> import weft
        >>> output, pull = weft.func.vjp(lambda x: x**2, weft.tensor([1.0, 2.0]))
        >>> pull(weft.ones(2))
        (tensor([2., 4.]),)
    """
    level, spec, given = enter(primals, tuple(range(len(primals))), "vjp")
    returned, aux = split_aux(level.run(func, *given), has_aux, "vjp")
    outputs, output_spec = tensors_of(returned, "vjp: the function")

    def pull(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        del retain_graph, create_graph
        vectors = like(cotangents, output_spec, outputs, "vjp: the cotangents", "the output")
        return tree_unflatten(level.run(level.pull, outputs, vectors), spec)

    seen = level.outside(returned)
    return (seen, pull, level.outside(aux)) if has_aux else (seen, pull)


def jvp(
    func: Callable[..., Any],
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """Return what a function gives, and the product of its Jacobian with a vector.

    Args:
        func: Takes and returns tensors, or nestings of them.
        primals: Its arguments.
        tangents: The vector, nested like the primals.
        strict: Raise if an output does not depend on the primals, instead of giving zeros.
        has_aux: The function returns a pair, of which only the first is differentiated.

    Returns:
        The output and the product, nested like it; with has_aux, also the rest.

    Example:
        >>> import weft
        >>> weft.func.jvp(lambda x: x**2, (weft.tensor([1.0, 2.0]),), (weft.ones(2),))
        (tensor([1., 4.]), tensor([2., 4.]))
    """
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, tuple):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _core.GradientError(
                f"jvp: {name} must be a tuple, one for each argument, not {type(given).__name__}"
            )
    output, push, aux = pushforward(func, primals, "jvp", strict=strict, has_aux=has_aux)
    product = push(*tangents)
    return (output, product, aux) if has_aux else (output, product)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Return what a function gives, and a function that multiplies its Jacobian with vectors.

    The function itself is not called again by the second.

    Args:
        func: Takes and returns tensors, or nestings of them.
        primals: Its arguments.

    Returns:
        The output; the function from tangents, one for each primal, to the tangent of the output.

    Example:
        >>> import weft
        >>> output, push = weft.func.linearize(lambda x: x**2, weft.tensor([1.0, 2.0]))
        >>> push(weft.ones(2))
        tensor([2., 4.])
    """
    output, push, _ = pushforward(func, primals, "linearize")
    return output, push


def pushforward(
    func: Callable[..., Any],
    primals: tuple[Any, ...],
    where: str,
    argnums: ArgNums | None = None,
    strict: bool = False,
    has_aux: bool = False,
) -> tuple[Any, Callable[..., Any], Any]:
    """Return the output, the function that multiplies with the Jacobian, and the rest.

    `w -> w^T J` is linear in w; its derivative for w, multiplied with v, is `J v`.

    Args:
        func: The function.
        primals: Its arguments.
        where: The name of the public function, for messages.
        argnums: Which arguments the Jacobian is for; None means all.
        strict: Raise if an output does not depend on the primals.
        has_aux: Whether the function returns a pair, of which the second is the rest.
    """
    chosen = tuple(range(len(primals))) if argnums is None else argnums
    level, spec, given = enter(primals, chosen, where)
    returned, aux = split_aux(level.run(func, *given), has_aux, where)
    outputs, output_spec = tensors_of(returned, f"{where}: the function")
    if strict and not all(output.requires_grad for output in outputs):
        raise _core.GradientError(
            f"{where}: an output does not depend on the primals, which strict=True does not allow"
        )
    weights = [
        _core.ops.zeros_like(output.detach()).requires_grad_(output.requires_grad)
        for output in outputs
    ]
    products = level.run(gradients, outputs, level.inputs, weights, True)
    level.leaves += [weight for weight in weights if weight.requires_grad]

    def push(*tangents: Any) -> Any:
        packed = tangents if isinstance(chosen, tuple) else tangents[0]
        vectors = like(packed, spec, level.inputs, f"{where}: the tangents", "the primals")
        recorded = _core.is_grad_enabled() and any(
            level.is_seen(product) or vector.requires_grad
            for product, vector in zip(products, vectors, strict=True)
        )
        wanted = [weight for weight in weights if weight.requires_grad]
        found = iter(gradients(products, wanted, vectors, recorded))
        results = [next(found) if weight.requires_grad else weight for weight in weights]
        return tree_unflatten(level.outside(results), output_spec)

    return level.outside(returned), push, level.outside(aux)


def enter(args: tuple[Any, ...], argnums: ArgNums, where: str) -> tuple[Level, TreeSpec, list[Any]]:
    """Begin to differentiate: return the level, how its inputs nest, and the new arguments.

    Args:
        args: The caller's arguments.
        argnums: Which of them are differentiated for.
        where: The name of the public function, for messages.
    """
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    for number in numbers:
        if not -len(args) <= number < len(args):
            raise _core.GradientError(
                f"{where}: argnums has {number}, but there are {len(args)} positional arguments"
            )
    chosen = tuple(args[number] for number in numbers)
    leaves, spec = tree_flatten(chosen if isinstance(argnums, tuple) else chosen[0])
    level = Level(leaves, where)
    nested = tree_unflatten(level.inputs, spec)
    given = list(args)
    for number, new in zip(
        numbers, nested if isinstance(argnums, tuple) else (nested,), strict=True
    ):
        given[number] = new
    return level, spec, given


def split_aux(returned: Any, has_aux: bool, where: str) -> tuple[Any, Any]:
    """Return what is differentiated and the rest.

    Args:
        returned: What the function returned.
        has_aux: Whether it must be a pair.
        where: The name of the public function, for messages.
    """
    if not has_aux:
        return returned, None
    if not isinstance(returned, tuple) or len(returned) != 2:  # pyright: ignore[reportUnknownArgumentType]
        raise _core.GradientError(
            f"{where}: with has_aux=True the function must return a pair (output, rest)"
        )
    return returned  # pyright: ignore[reportUnknownVariableType]


def tensors_of(tree: Any, what: str) -> tuple[list[Tensor], TreeSpec]:
    """Return the tensors of a nesting that has nothing else.

    Args:
        tree: The nesting.
        what: Its name, for messages.
    """
    leaves, spec = tree_flatten(tree)
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise _core.GradientError(f"{what} must give tensors only, not {type(leaf).__name__}")
    return leaves, spec


def like(tree: Any, spec: TreeSpec, others: list[Tensor], what: str, of: str) -> list[Tensor]:
    """Return the tensors of a vector, checked to fit what it is multiplied with.

    Args:
        tree: The vector.
        spec: How it must be nested.
        others: The tensors whose shapes it must have.
        what: Its name, for messages.
        of: Theirs.
    """
    leaves, found = tensors_of(tree, what)
    if found != spec:
        raise _core.GradientError(f"{what} must be nested like {of}: {found} is not {spec}")
    for leaf, other in zip(leaves, others, strict=True):
        if leaf.shape != other.shape:
            raise _core.ShapeError(
                f"{what} must have the shapes of {of}; one has shape {tuple(leaf.shape)} for "
                f"{tuple(other.shape)}"
            )
    return leaves
