"""Old names of `torch.autograd`."""

from __future__ import annotations

from weft._core import Tensor

__all__ = ["Variable"]


def Variable(data: Tensor, requires_grad: bool = False, volatile: bool = False) -> Tensor:
    """Return a tensor over the same memory that may ask for a gradient: what PyTorch does today."""
    del volatile
    if not requires_grad:
        return data
    return data.detach().requires_grad_()
