"""Turn parameters into one vector and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from weft import _core
from weft._core import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Join the elements of all parameters into one vector.

    Example:
        >>> from weft import nn
        >>> nn.utils.parameters_to_vector(nn.Linear(3, 2).parameters()).shape
        weft.Size([8])
    """
    return _core.ops.cat([parameter.reshape(-1) for parameter in parameters], 0)


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Set the parameters to slices of a vector, in order.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> layer = nn.Linear(2, 1)
        >>> nn.utils.vector_to_parameters(weft.tensor([1.0, 2.0, 3.0]), layer.parameters())
        >>> layer.bias
        Parameter containing:
        tensor([3.], requires_grad=True)
    """
    if not isinstance(cast("object", vec), Tensor):
        raise TypeError(
            f"vector_to_parameters(): vec must be a tensor, not a {type(vec).__name__}."
        )
    start = 0
    for parameter in parameters:
        end = start + parameter.numel()
        parameter.data = vec[start:end].reshape(parameter.shape).detach()
        start = end
