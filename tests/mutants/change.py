"""One small change of one source file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    """Put `text` in the place of the bytes from `start` to `stop`."""

    start: int
    stop: int
    text: str


@dataclass(frozen=True)
class Change:
    """One change: its edits, as a reader sees it, and the definition that it is in."""

    file: str
    line: int
    before: str
    after: str
    edits: tuple[Edit, ...]
    inside: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """What stays the same while other lines of the file change."""
        return self.file, self.before, self.after

    def apply(self, source: bytes) -> bytes:
        """Return the source with this change made."""
        return _apply(source, self.edits)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}\n    - {self.before}\n    + {self.after}"


def _apply(source: bytes, edits: tuple[Edit, ...]) -> bytes:
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        source = source[: edit.start] + edit.text.encode() + source[edit.stop :]
    return source


def make_change(file: str, source: bytes, edits: tuple[Edit, ...], inside: str = "") -> Change:
    """Describe edits by the first line that they change."""
    start = min(edit.start for edit in edits)
    line = source.count(b"\n", 0, start)
    before, after = (
        text.decode().split("\n")[line].strip() for text in (source, _apply(source, edits))
    )
    return Change(file, line + 1, before, after, edits, inside)
