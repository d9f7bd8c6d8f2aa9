"""Questions about the types of values that came from a file or go into one."""

from __future__ import annotations

from typing import Any, cast

from weft._core import dtype
from weft._tensor import Size

_SCALARS = (str, int, float, bool, bytes, type(None))


def is_exactly(value: object, *kinds: type) -> bool:
    """Tell whether a value is of one of these types, and of no type derived from them."""
    return cast("type", type(value)) in kinds


def is_key(value: Any) -> bool:
    """Tell whether a value may be a key or lie in a set: its hash is quick and calls nothing."""
    if is_exactly(value, tuple, Size):
        return all(is_exactly(item, *_SCALARS) for item in value)
    return is_exactly(value, *_SCALARS, dtype)
