"""Say something once."""

from __future__ import annotations

import sys

_said: set[str] = set()


def say_once(text: str) -> None:
    """Print a sentence to stderr unless it was printed before."""
    if text not in _said:
        _said.add(text)
        print(f"weft: {text}", file=sys.stderr)
