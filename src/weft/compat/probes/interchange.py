"""`torch.utils.dlpack`."""

from __future__ import annotations

from typing import Any

from weft._core import Tensor
from weft._tensor import from_dlpack

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """Return a DLPack capsule over the tensor's memory."""
    return tensor.__dlpack__()
