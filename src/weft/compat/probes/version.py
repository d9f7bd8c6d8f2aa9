"""PyTorch's version, as scripts ask for it."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import Any, cast

cuda: str | None = None
hip: str | None = None
xpu: str | None = None
git_version = "unknown"
debug = False


class Version(str):
    """A version that compares by its numbers: "2.13" comes after "2.9"."""

    __slots__ = ()

    def _compare(self, other: Any) -> int:
        text = ".".join(map(str, cast("Any", other))) if isinstance(other, tuple) else str(other)
        for own, others in zip_longest(_numbers(self), _numbers(text), fillvalue=0):
            if own != others:
                return 1 if own > others else -1
        return 0

    def __lt__(self, other: Any) -> bool:
        return self._compare(other) < 0

    def __le__(self, other: Any) -> bool:
        return self._compare(other) <= 0

    def __gt__(self, other: Any) -> bool:
        return self._compare(other) > 0

    def __ge__(self, other: Any) -> bool:
        return self._compare(other) >= 0


def _numbers(text: str) -> list[int]:
    """Return the release's numbers: 2, 13, 0 of "2.13.0+weft"."""
    release = re.match(r"\d+(\.\d+)*", text)
    return [int(part) for part in release[0].split(".")] if release else []


__version__ = Version("2.13.0+weft")
