"""What `torch.signal` holds."""

from __future__ import annotations

from weft._missing import explain_missing
from weft.functional import windows

__all__ = ["windows"]

explain_missing(__name__)
