"""What `torch.signal` holds."""

from __future__ import annotations

from weft.functional import windows

__all__ = ["windows"]
