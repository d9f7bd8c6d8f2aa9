"""One differentiation: inputs of its own, and what of it is to be seen outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from weft import _core
from weft._tensor import Tensor
from weft.pytree import tree_map

Vectors = Sequence[Tensor | None]


class Level:
    """Inputs that are differentiated for, apart from what the caller differentiates.

    An input that has a gradient outside is connected with it; the others are leaves that nobody
    outside knows. Results are connected with the graph outside, and with that alone.

    Args:
        given: The caller's tensors.
        where: The name of the public function, for messages.
    """

    def __init__(self, given: Sequence[Any], where: str) -> None:
        for item in given:
            if not isinstance(item, Tensor):
                raise _core.GradientError(
                    f"{where}: only tensors can be differentiated for, not {type(item).__name__}"
                )
        self.is_recorded = _core.is_grad_enabled()
        _core.set_grad_enabled(True)
        try:
            self.inputs = [
                _core.ops.alias(item) if item.requires_grad else item.detach().requires_grad_()
                for item in given
            ]
        finally:
            _core.set_grad_enabled(self.is_recorded)
        self.leaves = [
            new for new, old in zip(self.inputs, given, strict=True) if not old.requires_grad
        ]

    def run(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function with gradients on.

        Args:
            func: The function.
            args: Its arguments.
            kwargs: Its keyword arguments.
        """
        before = _core.set_grad_enabled(True)
        try:
            return func(*args, **kwargs)
        finally:
            _core.set_grad_enabled(before)

    def is_seen(self, tensor: Tensor) -> bool:
        """Tell whether a tensor depends on something that has a gradient outside.

        Args:
            tensor: A result.
        """
        return tensor.requires_grad and _core.has_other_leaves(tensor, self.leaves)

    def outside(self, tree: Any) -> Any:
        """Return results as the caller may see them.

        Args:
            tree: Tensors, or a nesting of them.
        """

        def seen(leaf: Any) -> Any:
            if not isinstance(leaf, Tensor) or not leaf.requires_grad:
                return leaf
            return leaf if self.is_recorded and self.is_seen(leaf) else leaf.detach()

        return tree_map(seen, tree)

    def pull(self, outputs: Sequence[Tensor], vectors: Vectors) -> list[Tensor]:
        """Return gradients of the inputs, as the caller may see them.

        Args:
            outputs: What the function returned.
            vectors: Their gradients; None for one of one element.
        """
        recorded = _core.is_grad_enabled() and any(
            self.is_seen(output) or (vector is not None and vector.requires_grad)
            for output, vector in zip(outputs, vectors, strict=True)
        )
        return self.outside(gradients(outputs, self.inputs, vectors, recorded))


def gradients(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], vectors: Vectors, create_graph: bool
) -> list[Tensor]:
    """Return gradients, zeros where there is no path.

    Args:
        outputs: What is differentiated.
        inputs: With respect to what.
        vectors: Gradients of the outputs; None for one of one element.
        create_graph: Record the computation.
    """
    pairs = [
        (output, vector)
        for output, vector in zip(outputs, vectors, strict=True)
        if output.requires_grad
    ]
    found: Sequence[Tensor | None] = [None] * len(inputs)
    if pairs:
        roots, given = zip(*pairs, strict=True)
        found = _core.run_backward(roots, given, list(inputs), True, create_graph, False)
    return [
        _core.ops.zeros_like(one.detach()) if result is None else result
        for result, one in zip(found, inputs, strict=True)
    ]
