"""Old names of `torch.autograd`."""

from __future__ import annotations

from typing import Any

from weft._core import Tensor

__all__ = ["Variable"]


class _TensorKind(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_TensorKind):
    """Every tensor is one; called, it gives a tensor over the same memory, as PyTorch's does."""

    def __new__(  # noqa: D102
        cls, data: Tensor, requires_grad: bool = False, volatile: bool = False
    ) -> Any:
        del volatile
        return data.detach().requires_grad_() if requires_grad else data
