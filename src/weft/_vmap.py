"""`vmap`: a function over one example, run once for many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, NamedTuple

from weft import _core
from weft._tensor import Tensor
from weft.pytree import TreeSpec, tree_flatten, tree_leaves, tree_unflatten

RANDOMNESS = ("error", "same", "different")  # as the core numbers them


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Turn a function over one example into one over many, which runs them together.

    The function is called once. Its tensors have the shape of one example and stand for all of
    them; each op runs by its batch rule, and one that has none runs example by example. What is
    read from a tensor (`if`, `item()`) cannot differ between examples: `weft.map` can do that.
    Keyword arguments are handed on as they are.

    Args:
        func: Takes and returns tensors, or any nesting of them.
        in_dims: Along which dimension of an argument its examples lie; None for an argument that
            all share. An int for all, or nested like the arguments, where an int or None stands for
            all that is inside.
        out_dims: Where the results have the dimension of examples, in the same way; None hands on
            what is the same for all.
        randomness: What random ops do: "error" raises, "different" draws for each example, "same"
            draws once for all.
        chunk_size: How many examples run together at most; None means all.

    Returns:
        The function over many examples.

    Raises:
        ValueError: If in_dims or out_dims do not fit, or sizes differ.
        RuntimeError: If the function reads a value, or draws random numbers unasked.

    Example:
        >>> import weft
        >>> dot = weft.vmap(lambda x, y: (x * y).sum())
        >>> dot(weft.tensor([[1.0, 2.0], [3.0, 4.0]]), weft.tensor([[1.0, 1.0], [2.0, 2.0]]))
        tensor([ 3., 14.])
    """
    if randomness not in RANDOMNESS:
        raise _core.GradientError(
            f"vmap: randomness must be 'error', 'different' or 'same', not {randomness!r}"
        )
    if chunk_size is not None and chunk_size < 1:
        raise ValueError(f"vmap: chunk_size must be None or greater than 0, got {chunk_size}")

    @wraps(func, updated=())
    def mapped(*args: Any, **kwargs: Any) -> Any:
        given = _Arguments.of(in_dims, args)
        if chunk_size is None or given.rows <= chunk_size:
            return _Results.of(func, given, kwargs, randomness).placed(out_dims)
        parts: list[_Results] = []
        for chunk in given.chunks(chunk_size):
            state = _core.default_generator.get_state()
            if parts and randomness == "same":
                _core.default_generator.set_state(parts[0].began)
            parts.append(_Results.of(func, chunk, kwargs, randomness)._replace(began=state))
        return _Results.joined(parts).placed(out_dims)

    return mapped


class _Arguments(NamedTuple):
    """A call's arguments: those with examples have them in dimension 0."""

    leaves: list[Any]
    has_rows: list[bool]
    spec: TreeSpec
    rows: int

    @staticmethod
    def of(in_dims: Any, args: tuple[Any, ...]) -> _Arguments:
        """Find the examples of each argument.

        Args:
            in_dims: As `vmap` takes it.
            args: The arguments.
        """
        if not args:
            raise ValueError("vmap: the function needs at least one argument to map over")
        if not isinstance(in_dims, int | tuple | list):
            raise ValueError(  # noqa: TRY004 - PyTorch's
                f"vmap: in_dims must be an int or a tuple like the arguments, not {in_dims!r}"
            )
        leaves, spec = tree_flatten(args)
        prefix = tuple(in_dims) if isinstance(in_dims, list) else in_dims  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        dims = _spread_dims(prefix, args, "in_dims", "the arguments")
        moved = [
            leaf if dim is None else _moved_to_front(leaf, dim)
            for leaf, dim in zip(leaves, dims, strict=True)
        ]
        has_rows = [dim is not None for dim in dims]
        sizes = {leaf.shape[0] for leaf, has in zip(moved, has_rows, strict=True) if has}
        if not sizes:
            raise ValueError("vmap: at least one argument must have examples, but in_dims are None")
        if len(sizes) > 1:
            found = [leaf.shape[0] for leaf, has in zip(moved, has_rows, strict=True) if has]
            raise ValueError(
                f"vmap: expected all tensors to have the same size in the mapped dimension, got "
                f"sizes {found}"
            )
        return _Arguments(moved, has_rows, spec, sizes.pop())

    def chunks(self, size: int) -> Iterator[_Arguments]:
        """Give the arguments of `size` examples at a time.

        Args:
            size: How many.
        """
        for start in range(0, self.rows, size):
            stop = min(start + size, self.rows)
            part = [
                leaf[start:stop] if has else leaf
                for leaf, has in zip(self.leaves, self.has_rows, strict=True)
            ]
            yield self._replace(leaves=part, rows=stop - start)


class _Results(NamedTuple):
    """What the function returned: leaves with examples have them in dimension 0."""

    leaves: list[Any]
    has_rows: list[bool]
    tree: Any  # what the function itself returned
    rows: int
    began: Any = None  # of a chunk: the state of the random numbers before it

    @staticmethod
    def of(
        func: Callable[..., Any], given: _Arguments, kwargs: dict[str, Any], randomness: str
    ) -> _Results:
        """Call the function once for all examples.

        Args:
            func: The function over one example.
            given: Its arguments.
            kwargs: Those that are handed on as they are.
            randomness: As `vmap` takes it.
        """
        returned: list[Any] = []

        def run(*rows: Tensor) -> list[Tensor]:
            supply = iter(rows)
            one = [
                next(supply) if has else leaf
                for leaf, has in zip(given.leaves, given.has_rows, strict=True)
            ]
            returned.append(func(*tree_unflatten(one, given.spec), **kwargs))
            return [leaf for leaf in tree_leaves(returned[0]) if isinstance(leaf, Tensor)]

        tensors = [leaf for leaf, has in zip(given.leaves, given.has_rows, strict=True) if has]
        results, has_rows = _core.vmap(run, tensors, given.rows, RANDOMNESS.index(randomness))
        supply = iter(zip(results, has_rows, strict=True))
        pairs = [
            next(supply) if isinstance(leaf, Tensor) else (leaf, False)
            for leaf in tree_leaves(returned[0])
        ]
        return _Results(
            [leaf for leaf, _ in pairs], [has for _, has in pairs], returned[0], given.rows
        )

    @staticmethod
    def joined(parts: list[_Results]) -> _Results:
        """Put the results of chunks together.

        Args:
            parts: The results, in order.
        """
        columns = zip(*(part.leaves for part in parts), strict=True)
        leaves = [
            _core.ops.cat(list(column), 0) if has else column[0]
            for column, has in zip(columns, parts[0].has_rows, strict=True)
        ]
        return parts[0]._replace(leaves=leaves, rows=sum(part.rows for part in parts))

    def placed(self, out_dims: Any) -> Any:
        """Return the results with their examples where out_dims says.

        Args:
            out_dims: As `vmap` takes it.
        """
        # One result may have its dimension in a tuple.
        tree = (self.tree,) if isinstance(self.tree, Tensor) else self.tree
        dims = _spread_dims(out_dims, tree, "out_dims", "the results")
        placed = [
            self._place(leaf, has, dim)
            for leaf, has, dim in zip(self.leaves, self.has_rows, dims, strict=True)
        ]
        return tree_unflatten(placed, tree_flatten(self.tree)[1])

    def _place(self, leaf: Any, has_rows: bool, dim: int | None) -> Any:
        if dim is None:
            if has_rows:
                raise ValueError(
                    "vmap: out_dims is None for a result that differs from example to example; say "
                    "where its examples are to lie"
                )
            return leaf
        if not isinstance(leaf, Tensor):
            raise ValueError(  # noqa: TRY004 - PyTorch's
                f"vmap: the function must return tensors, not {type(leaf).__name__}; out_dims=None "
                "hands on what is the same for all examples"
            )
        rows = leaf if has_rows else leaf.expand(self.rows, *leaf.shape)
        return rows if dim == 0 else rows.movedim(0, dim)


def _spread_dims(dims: Any, tree: Any, name: str, what: str) -> list[int | None]:
    """Return the dimension of each leaf: one that stands for a container holds for all inside."""
    leaves, spec = tree_flatten(dims)
    for dim in leaves:
        if dim is not None and (not isinstance(dim, int) or isinstance(dim, bool)):
            raise ValueError(f"vmap: {name} must be ints or None, not {dim!r}")
    try:
        parts = spec.flatten_up_to(tree)
    except ValueError as error:
        raise ValueError(
            f"vmap: {name} is not compatible with the structure of {what}: {error}"
        ) from None
    return [
        dim for dim, part in zip(leaves, parts, strict=True) for _ in range(len(tree_leaves(part)))
    ]


def _moved_to_front(leaf: Any, dim: int) -> Tensor:
    if not isinstance(leaf, Tensor):
        raise ValueError(  # noqa: TRY004 - PyTorch's
            f"vmap: in_dims is {dim} for an argument of type {type(leaf).__name__}; only tensors "
            "have examples, say None for others"
        )
    if not -leaf.ndim <= dim < leaf.ndim:
        raise ValueError(
            f"vmap: in_dims is {dim} for a tensor of {leaf.ndim} dimensions; it must be at least "
            f"{-leaf.ndim} and less than {leaf.ndim}"
        )
    return leaf if dim == 0 else leaf.movedim(dim, 0)
