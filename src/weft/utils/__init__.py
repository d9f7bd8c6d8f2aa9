"""Helpers that stand beside the library: checkpointing, and loading data."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from weft._missing import MissingName
from weft.utils import checkpoint

if TYPE_CHECKING:
    from weft.utils import data

__all__ = ["checkpoint", "data"]


def __getattr__(name: str) -> Any:
    if name == "data":  # only programs that load data wait for it
        return importlib.import_module("weft.utils.data")
    raise MissingName(sys.modules[__name__], name)
