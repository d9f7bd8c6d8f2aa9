"""`torch.nn.attention`: there is one way to compute attention."""

from __future__ import annotations

import enum
from contextlib import AbstractContextManager, nullcontext
from typing import Any

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(enum.IntEnum):
    """The kernels that PyTorch has for attention."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


def sdpa_kernel(backends: Any, set_priority: bool = False) -> AbstractContextManager[None]:
    """Return a context that does nothing."""
    del backends, set_priority
    return nullcontext()
