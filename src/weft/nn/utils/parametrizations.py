"""Parametrizations that are known by name: weight norm and spectral norm."""

from __future__ import annotations

from weft._core import Tensor, ops
from weft._missing import explain_missing
from weft.autograd import no_grad
from weft.batching.scope import at_once
from weft.nn.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from weft.nn.functional import normalize
from weft.nn.module import Module
from weft.nn.utils import parametrize

__all__ = ["spectral_norm", "weight_norm"]

TRANSPOSED = (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)


def norm_except(tensor: Tensor, dim: int | None) -> Tensor:
    """Return the norms of a tensor's parts along `dim`, or its whole norm."""
    if dim is None or dim == -1:
        return (tensor * tensor).sum().sqrt()
    others = tuple(i for i in range(tensor.ndim) if i != dim)
    return (tensor * tensor).sum(others, keepdim=True).sqrt() if others else tensor.abs()


class _WeightNorm(Module):
    def __init__(self, dim: int | None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / norm_except(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Keep a weight as a length and a direction.

    Args:
        module: whose weight.
        name: the weight's name.
        dim: the dimension along which lengths are; None for one length.

    Example:
        >>> import weft
        >>> layer = weft.nn.utils.parametrizations.weight_norm(weft.nn.Linear(2, 3))
        >>> layer.parametrizations.weight.original0.shape
        weft.Size([3, 1])
    """
    return parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, steps: int, dim: int, eps: float) -> None:
        super().__init__()
        self.dim = dim if dim >= 0 else dim + weight.ndim
        self.eps = eps
        self.n_power_iterations = steps
        if weight.ndim > 1:
            matrix = self._matrix(weight.detach())
            rows, columns = matrix.shape
            u = ops.gaussian_(matrix.new_empty(rows), 0.0, 1.0)
            v = ops.gaussian_(matrix.new_empty(columns), 0.0, 1.0)
            self.register_buffer("_u", normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", normalize(v, dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        return weight.movedim(self.dim, 0).flatten(1) if self.dim else weight.flatten(1)

    def _iterate(self, matrix: Tensor, steps: int) -> None:
        with no_grad(), at_once(matrix, self._u, self._v):
            for _ in range(steps):
                self._u.copy_(normalize(matrix.mv(self._v), dim=0, eps=self.eps))
                self._v.copy_(normalize(matrix.mT.mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        # Copies: the next forward writes the buffers while this one's graph may still be used.
        u, v = self._u.clone(), self._v.clone()
        return weight / ops.dot(u, matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


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
        >>> layer = weft.nn.utils.parametrizations.spectral_norm(weft.nn.Linear(2, 1))
        >>> layer.weight.norm()
        tensor(1., grad_fn=<LinalgVectorNormBackward0>)
    """
    weight = getattr(module, name)
    if dim is None:
        dim = 1 if isinstance(module, TRANSPOSED) else 0
    step = _SpectralNorm(weight, n_power_iterations, dim, eps)
    return parametrize.register_parametrization(module, name, step)


explain_missing(__name__)
