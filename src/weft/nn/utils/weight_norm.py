"""Weight norm and spectral norm as hooks that set the weight before each forward.

PyTorch has these beside the newer ones of `parametrizations`; they name parameters differently.
"""

from __future__ import annotations

from typing import Any

from weft._core import Tensor, ops
from weft.autograd import no_grad
from weft.batching.scope import at_once
from weft.nn.functional import normalize
from weft.nn.module import Module
from weft.nn.parameter import Parameter
from weft.nn.utils.parametrizations import TRANSPOSED, norm_except

__all__ = ["remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"]


class WeightNorm:
    """Computes a weight from a length and a direction.

    Args:
        name: the weight's name.
        dim: the dimension along which lengths are; None for one length.
    """

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = dim

    def compute_weight(self, module: Module) -> Tensor:
        """Return the weight."""
        length = getattr(module, f"{self.name}_g")
        direction = getattr(module, f"{self.name}_v")
        return direction * (length / norm_except(direction, self.dim))

    def __call__(self, module: Module, inputs: Any) -> None:  # noqa: ARG002 - a hook's signature
        """Set the weight: what runs before forward."""
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Keep a weight as a length `weight_g` and a direction `weight_v`.

    Args:
        module: whose weight.
        name: the weight's name.
        dim: the dimension along which lengths are; None for one length.

    Example:
        >>> import weft
        >>> layer = weft.nn.utils.weight_norm(weft.nn.Linear(2, 3))
        >>> sorted(name for name, _ in layer.named_parameters())
        ['bias', 'weight_g', 'weight_v']
    """
    hook = WeightNorm(name, dim)
    weight = getattr(module, name)
    delattr(module, name)
    module.register_parameter(f"{name}_g", Parameter(norm_except(weight.detach(), dim)))
    module.register_parameter(f"{name}_v", Parameter(weight.detach()))
    hook(module, None)
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Make a weight that `weight_norm` split one parameter again.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> layer = nn.utils.weight_norm(nn.Linear(2, 3))
        >>> [name for name, _ in nn.utils.remove_weight_norm(layer).named_parameters()]
        ['bias', 'weight']
    """
    hook = _taken(module, WeightNorm, name)
    weight = hook.compute_weight(module).detach()
    delattr(module, name)
    delattr(module, f"{name}_g")
    delattr(module, f"{name}_v")
    module.register_parameter(name, Parameter(weight))
    return module


class SpectralNorm:
    """Divides a weight by its greatest singular value.

    Args:
        name: the weight's name.
        n_power_iterations: iterations at each forward of a training module.
        dim: the dimension that counts as rows.
        eps: least norm of the vectors.
    """

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        self.name = name
        self.n_power_iterations = n_power_iterations
        self.dim = dim
        self.eps = eps

    def matrix(self, weight: Tensor) -> Tensor:
        """Return the weight as a matrix."""
        return weight.movedim(self.dim, 0).flatten(1) if self.dim else weight.flatten(1)

    def compute_weight(self, module: Module, iterate: bool) -> Tensor:
        """Return the weight, after some iterations if asked."""
        weight = getattr(module, f"{self.name}_orig")
        u, v = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        matrix = self.matrix(weight)
        if iterate:
            with no_grad(), at_once(matrix, u, v):
                for _ in range(self.n_power_iterations):
                    v.copy_(normalize(matrix.mT.mv(u), dim=0, eps=self.eps))
                    u.copy_(normalize(matrix.mv(v), dim=0, eps=self.eps))
            # Copies: the next forward writes the buffers while this one's graph may still be used.
            u, v = u.clone(), v.clone()
        return weight / ops.dot(u, matrix.mv(v))

    def __call__(self, module: Module, inputs: Any) -> None:  # noqa: ARG002 - a hook's signature
        """Set the weight: what runs before forward."""
        setattr(module, self.name, self.compute_weight(module, iterate=module.training))


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a weight by its greatest singular value, found by power iteration.

    Args:
        module: whose weight.
        name: the weight's name.
        n_power_iterations: iterations at each forward of a training module.
        eps: least norm of the vectors.
        dim: the dimension that counts as rows; the outputs' by default.

    Example:
        >>> import weft
        >>> layer = weft.nn.utils.spectral_norm(weft.nn.Linear(2, 3))
        >>> sorted(name for name, _ in layer.named_parameters())
        ['bias', 'weight_orig']
    """
    if dim is None:
        dim = 1 if isinstance(module, TRANSPOSED) else 0
    hook = SpectralNorm(name, n_power_iterations, dim, eps)
    weight = getattr(module, name)
    matrix = hook.matrix(weight.detach())
    u, v = (ops.gaussian_(matrix.new_empty(size), 0.0, 1.0) for size in matrix.shape)
    delattr(module, name)
    module.register_parameter(f"{name}_orig", weight)
    setattr(module, name, weight.data)
    module.register_buffer(f"{name}_u", normalize(u, dim=0, eps=eps))
    module.register_buffer(f"{name}_v", normalize(v, dim=0, eps=eps))
    module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Make a weight that `spectral_norm` divides an ordinary parameter again.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> layer = nn.utils.spectral_norm(nn.Linear(2, 3))
        >>> [name for name, _ in nn.utils.remove_spectral_norm(layer).named_parameters()]
        ['bias', 'weight']
    """
    hook = _taken(module, SpectralNorm, name)
    weight = hook.compute_weight(module, iterate=False).detach()
    for part in (name, f"{name}_u", f"{name}_v", f"{name}_orig"):
        delattr(module, part)
    module.register_parameter(name, Parameter(weight))
    return module


def _taken(module: Any, kind: type, name: str) -> Any:
    """Take away the hook of one kind and name, and return it."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:
            del module._forward_pre_hooks[key]
            return hook
    raise ValueError(f"{kind.__name__} of {name!r} not found in {module}")
