"""Look into the graph, and decide how it keeps tensors for backward."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

from weft import _core
from weft._core import Node
from weft._missing import explain_missing
from weft._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = [
    "GradientEdge",
    "Node",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "save_on_cpu",
    "saved_tensors_hooks",
    "walk",
]

# Why hooks may not be used now, innermost last; examples of a map have a context each.
_disabled: ContextVar[tuple[str, ...]] = ContextVar("disabled", default=())


class saved_tensors_hooks:  # noqa: N801 - PyTorch's name
    """Take tensors that ops save for backward, and give them back when backward reads them.

    Args:
        pack_hook: Takes the tensor; returns anything, which is kept instead.
        unpack_hook: Takes what pack_hook returned; returns a tensor of the same shape and dtype.

    Example:
        >>> import weft
        >>> x = weft.tensor(3.0, requires_grad=True)
        >>> with weft.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), weft.tensor):
        ...     y = x * x
        >>> y.backward()
        >>> x.grad
        tensor(6.)
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if reasons := _disabled.get():
            raise RuntimeError(reasons[-1])
        _core.push_save_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *_: object) -> None:
        _core.pop_save_hooks()


class save_on_cpu(saved_tensors_hooks):  # noqa: N801
    """Keep saved tensors in the CPU's memory: where they are already, so far.

    Args:
        pin_memory: Not used on a CPU.
        device_type: Not used on a CPU.

    Example:
        >>> import weft
        >>> x = weft.ones(2, requires_grad=True)
        >>> with weft.autograd.graph.save_on_cpu():
        ...     y = x.exp().sum()
        >>> y.backward()
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cpu") -> None:  # noqa: ARG002
        super().__init__(_core.ops.clone, _same)


def _same(tensor: Tensor) -> Tensor:
    return tensor


class disable_saved_tensors_hooks:  # noqa: N801
    """Refuse `saved_tensors_hooks` inside a block.

    Args:
        error_message: What the refusal says.

    Example:
        >>> import weft
        >>> with weft.autograd.graph.disable_saved_tensors_hooks("not here"):
        ...     y = weft.ones(2, requires_grad=True).exp()
    """

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message

    def __enter__(self) -> None:
        _disabled.set((*_disabled.get(), self.error_message))

    def __exit__(self, *_: object) -> None:
        _disabled.set(_disabled.get()[:-1])


class GradientEdge(NamedTuple):
    """The place in the graph that a tensor's gradient arrives at.

    Example:
        >>> import weft
        >>> x = weft.ones(2, requires_grad=True)
        >>> edge = weft.autograd.graph.get_gradient_edge(x.exp())
        >>> edge.node.name(), edge.output_nr
        ('ExpBackward0', 0)
    """

    node: Node
    output_nr: int


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return the node and the number of its output that a tensor is.

    Args:
        tensor: A tensor that requires grad.

    Raises:
        RuntimeError: If it does not.

    Example:
        >>> import weft
        >>> x = weft.ones(2, requires_grad=True)
        >>> weft.autograd.graph.get_gradient_edge(x * 2).node.name()
        'MulBackward0'
    """
    if not tensor.requires_grad:
        raise _core.GradientError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    return GradientEdge(*_core.gradient_edge(tensor))


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count an in-place write that Weft did not see, such as one through NumPy.

    Args:
        tensor: The tensor or tensors whose memory was written.

    Example:
        >>> import weft
        >>> x = weft.zeros(2)
        >>> x.numpy()[0] = 1.0
        >>> weft.autograd.graph.increment_version(x)
        >>> x._version
        1
    """
    for one in (tensor,) if isinstance(tensor, Tensor) else tensor:
        _core.bump_version(one)


def walk(start: Tensor | Node | None) -> Iterator[Node]:
    """Go through the nodes of a graph, each once, from results to leaves.

    Args:
        start: A tensor or one of its graph's nodes.

    Yields:
        Nodes, each before those that it passes gradients to that were not met before.

    Example:
        >>> import weft
        >>> x = weft.ones(2, requires_grad=True)
        >>> [node.name() for node in weft.autograd.graph.walk((x * x).sum())]
        ['SumBackward0', 'MulBackward0', 'AccumulateGrad']
    """
    if isinstance(start, Tensor):
        start = get_gradient_edge(start).node if start.requires_grad else None
    if start is None:
        return
    seen = {start}
    waiting = [start]
    while waiting:
        node = waiting.pop()
        yield node
        for function, _ in reversed(node.next_functions):
            if function is not None and function not in seen:
                seen.add(function)
                waiting.append(function)


explain_missing(__name__)
