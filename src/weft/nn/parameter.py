"""Tensors that a module owns and an optimizer changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from weft._core import Tensor
from weft.functional.creation import empty


class Parameter(Tensor):
    """A tensor that registers itself when it is assigned to an attribute of a Module.

    Args:
        data: the values; they are shared, not copied.
        requires_grad: whether gradients flow into it.

    Example:
        >>> import weft
        >>> weft.nn.Parameter(weft.zeros(2))
        Parameter containing:
        tensor([0., 0.], requires_grad=True)
    """

    _is_parameter = True  # what printing looks at

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Self:
        """Make a leaf that shares the memory of `data`."""
        if data is None:
            data = empty((0,))
        return Tensor._make_subclass(cls, data, requires_grad)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuild, (type(self), self.detach().clone(), self.requires_grad)


def _rebuild(kind: type[Parameter], data: Tensor, requires_grad: bool) -> Parameter:
    return kind(data, requires_grad)


class Buffer:
    """Wrap a tensor so that assigning it to an attribute of a Module registers a buffer.

    Args:
        data: the values.
        persistent: whether the buffer is a part of the module's state_dict.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> model = nn.Module()
        >>> model.mean = nn.Buffer(weft.zeros(2))
        >>> list(model.state_dict()), list(model.parameters())
        (['mean'], [])
    """

    __slots__ = ("data", "persistent")

    if TYPE_CHECKING:
        # What the module has under the attribute's name is the tensor.
        def __new__(cls, data: Tensor, persistent: bool = True) -> Tensor:  # noqa: D102
            ...

    def __init__(self, data: Tensor, persistent: bool = True) -> None:
        self.data = data
        self.persistent = persistent
