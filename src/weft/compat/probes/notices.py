"""Say something once."""

from __future__ import annotations

import logging

_said: set[str] = set()
_log = logging.getLogger("weft")


def say_once(text: str) -> None:
    """Log a sentence, which without settings goes to stderr, unless it was said before."""
    if text not in _said:
        _said.add(text)
        _log.warning("weft: %s", text)
