"""Helpers that stand beside the library: checkpointing."""

from __future__ import annotations

from weft.utils import checkpoint

__all__ = ["checkpoint"]
