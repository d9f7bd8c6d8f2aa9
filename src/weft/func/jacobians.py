"""Whole Jacobians and Hessians, each by one pass over all its rows or columns."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from itertools import accumulate
from typing import Any

from weft._tensor import Tensor
from weft._vmap import vmap
from weft.func.derivatives import ArgNums, enter, pushforward, split_aux, tensors_of
from weft.functional.creation import eye
from weft.pytree import tree_leaves, tree_structure, tree_unflatten


def jacrev(
    func: Callable[..., Any],
    argnums: ArgNums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Turn a function into one that returns its Jacobian, computed row by row of the outputs.

    Args:
        func: Takes and returns tensors, or nestings of them.
        argnums: Which argument, or a tuple of them.
        has_aux: The function returns a pair, of which only the first is differentiated.
        chunk_size: How many rows run together at most; None means all.

    Returns:
        The function that returns the Jacobian: nested like the output, each part nested like the
        argument, with shape (*output.shape, *input.shape); with has_aux, a pair of that and the
        rest.

    Example:
        >>> import weft
        >>> weft.func.jacrev(lambda x: x**2)(weft.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """

    @wraps(func, updated=())
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        level, spec, given = enter(args, argnums, "jacrev")
        returned, aux = split_aux(level.run(func, *given, **kwargs), has_aux, "jacrev")
        outputs, output_spec = tensors_of(returned, "jacrev: the function")

        def pull(*vectors: Tensor) -> list[Tensor]:
            return level.pull(outputs, vectors)

        rows = level.run(vmap(pull, chunk_size=chunk_size), *_basis(outputs))
        blocks = [_cut(column, outputs) for column in rows]
        result = tree_unflatten(
            [
                tree_unflatten(
                    [
                        block[number].reshape((*output.shape, *one.shape))
                        for block, one in zip(blocks, level.inputs, strict=True)
                    ],
                    spec,
                )
                for number, output in enumerate(outputs)
            ],
            output_spec,
        )
        return (result, level.outside(aux)) if has_aux else result

    return jacobian


def jacfwd(
    func: Callable[..., Any],
    argnums: ArgNums = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """Turn a function into one that returns its Jacobian, computed column by column of the inputs.

    Args:
        func: Takes and returns tensors, or nestings of them.
        argnums: Which argument, or a tuple of them.
        has_aux: The function returns a pair, of which only the first is differentiated.
        randomness: Accepted and not used: the function is called once.

    Returns:
        The function that returns the Jacobian, as `jacrev` gives it.

    Example:
        >>> import weft
        >>> weft.func.jacfwd(lambda x: x**2)(weft.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    del randomness

    @wraps(func, updated=())
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        def with_kwargs(*given: Any) -> Any:
            return func(*given, **kwargs)

        output, push, aux = pushforward(with_kwargs, args, "jacfwd", argnums, has_aux=has_aux)
        chosen = tuple(args[i] for i in argnums) if isinstance(argnums, tuple) else args[argnums]
        spec, inputs = tree_structure(chosen), tree_leaves(chosen)

        def push_flat(*vectors: Tensor) -> list[Tensor]:
            tangents = tree_unflatten(vectors, spec)
            return tree_leaves(push(*tangents) if isinstance(argnums, tuple) else push(tangents))

        columns = vmap(push_flat)(*_basis(inputs))
        result = tree_unflatten(
            [
                tree_unflatten(
                    [
                        block.movedim(0, -1).reshape((*block.shape[1:], *one.shape))
                        for block, one in zip(_cut(column, inputs), inputs, strict=True)
                    ],
                    spec,
                )
                for column in columns
            ],
            tree_structure(output),
        )
        return (result, aux) if has_aux else result

    return jacobian


def hessian(func: Callable[..., Any], argnums: ArgNums = 0) -> Callable[..., Any]:
    """Turn a function into one that returns its second derivatives.

    Args:
        func: Takes and returns tensors, or nestings of them.
        argnums: Which argument, or a tuple of them.

    Returns:
        The function that returns the Jacobian of the Jacobian.

    Example:
        >>> import weft
        >>> weft.func.hessian(lambda x: (x**3).sum())(weft.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    return jacrev(jacrev(func, argnums), argnums)


def _basis(tensors: list[Tensor]) -> list[Tensor]:
    """Return the vectors with one 1, first those of the first tensor, as rows of each tensor."""
    count = sum(tensor.numel() for tensor in tensors)
    ends = accumulate(tensor.numel() for tensor in tensors)
    return [
        eye(count, dtype=tensor.dtype)[:, end - tensor.numel() : end].reshape(
            (count, *tensor.shape)
        )
        for tensor, end in zip(tensors, ends, strict=True)
    ]


def _cut(rows: Tensor, tensors: list[Tensor]) -> tuple[Tensor, ...]:
    """Cut rows into those that belong to each of the tensors."""
    return rows.split([tensor.numel() for tensor in tensors])
