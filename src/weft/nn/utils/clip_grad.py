"""Keep gradients small."""

from __future__ import annotations

from collections.abc import Iterable

from weft import _core
from weft._core import Tensor
from weft.autograd import no_grad
from weft.functional.creation import scalar_tensor
from weft.functional.reductions import vector_norm


def _gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    several = [parameters] if isinstance(parameters, Tensor) else parameters
    return [parameter.grad for parameter in several if parameter.grad is not None]


def get_total_norm(
    tensors: Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """Return the norm of all tensors as if they were one vector.

    Args:
        tensors: the tensors.
        norm_type: which norm.
        error_if_nonfinite: whether an infinite or NaN norm raises an error.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.utils.get_total_norm([weft.tensor([3.0]), weft.tensor([4.0])])
        tensor(5.)
    """
    several = list(tensors)
    if not several:
        return scalar_tensor(0.0)
    norms = [vector_norm(tensor, float(norm_type)) for tensor in several]
    total = vector_norm(_core.ops.stack(norms, 0), float(norm_type))
    if error_if_nonfinite and not bool(_core.ops.isfinite(total)):
        raise RuntimeError(
            f"The total norm of order {norm_type} of the gradients is {float(total)}, so they "
            "cannot be clipped. Pass error_if_nonfinite=False to go on regardless."
        )
    return total


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor
) -> None:
    """Scale gradients in place so that `total_norm` would become at most `max_norm`.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> weight = weft.zeros(1, requires_grad=True)
        >>> (weight * 4).sum().backward()
        >>> nn.utils.clip_grads_with_norm_([weight], max_norm=1.0, total_norm=weft.tensor(8.0))
        >>> weight.grad
        tensor([0.5000])
    """
    gradients = _gradients(parameters)
    with no_grad():
        # Multiplying by 1 is cheaper than asking whether the norm is too large.
        factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        for gradient in gradients:
            gradient.mul_(factor.to(gradient.dtype))


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients in place so that their common norm is at most `max_norm`.

    Args:
        parameters: whose gradients to scale; those without one are left out.
        max_norm: the largest norm.
        norm_type: which norm.
        error_if_nonfinite: whether an infinite or NaN norm raises an error.
        foreach: accepted for PyTorch programs; it changes nothing.

    Returns:
        The norm before.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> weight = weft.zeros(2, requires_grad=True)
        >>> (weight * weft.tensor([3.0, 4.0])).sum().backward()
        >>> nn.utils.clip_grad_norm_([weight], max_norm=1.0)  # the norm before
        tensor(5.)
        >>> weight.grad
        tensor([0.6000, 0.8000])
    """
    del foreach
    several = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    with no_grad():
        total = get_total_norm(_gradients(several), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(several, max_norm, total)
    return total


def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Clamp every element of the gradients in place to [-clip_value, clip_value].

    Example:
        >>> import weft
        >>> from weft import nn
        >>> weight = weft.zeros(2, requires_grad=True)
        >>> (weight * weft.tensor([3.0, -4.0])).sum().backward()
        >>> nn.utils.clip_grad_value_([weight], 3.5)
        >>> weight.grad
        tensor([ 3.0000, -3.5000])
    """
    del foreach
    limit = float(clip_value)
    with no_grad():
        for gradient in _gradients(parameters):
            gradient.clamp_(-limit, limit)
